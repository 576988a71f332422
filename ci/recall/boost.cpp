// Uses Boost's pool of spin locks, whose elements share lines: for ci/recall.sh.
#include <boost/shared_ptr.hpp>
#include <boost/make_shared.hpp>
#include <thread>

static boost::shared_ptr<int> pointers[8];

static void turn(int number)
{
    for (int at = 0; at < 1000; at++) {
        boost::atomic_store(&pointers[number], boost::make_shared<int>(at));
        boost::shared_ptr<int> loaded = boost::atomic_load(&pointers[7 - number]);
    }
}

int main()
{
    std::thread first(turn, 1), second(turn, 2);
    first.join();
    second.join();
}
