// Two threads that each replace a shared_ptr of their own: Boost guards them by a pool of 41 spinlocks, one byte each.
#include <atomic>
#include <boost/shared_ptr.hpp>
#include <boost/smart_ptr/atomic_shared_ptr.hpp>
#include <boost/smart_ptr/shared_ptr.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

struct alignas(128) Own {
  boost::shared_ptr<int> pointer{new int(0)};
};

int main() {
  const long count = 20000000;
  Own own[2];
  auto start = std::chrono::steady_clock::now();
  auto run = [&](int which) {
    for (long it = 0; it < count; it++)
      boost::atomic_load(&own[which].pointer);
  };
  std::thread one(run, 0), other(run, 1);
  one.join();
  other.join();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%.0f loads/s\n", 2 * count / seconds.count());
}
