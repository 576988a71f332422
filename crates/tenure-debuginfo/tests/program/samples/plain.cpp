#include <atomic>
#include <memory>
#include <vector>
#include "hook.h"

namespace app {

struct Counter { // Counter
    std::atomic<long> value{0};
    void *owner = nullptr;
};

class Queue {
public:
    virtual ~Queue() = default;
    void push();

    std::atomic<unsigned> head{0};
    std::atomic<unsigned> tail{0};
    Counter counters[2];
};

struct Shared {
    long reads = 0;
    Counter counter;
    char name[16] = {};
};

struct Counted { // Counted
    long hits = 0;
};

struct Entry : Counter, Counted { // Entry
    long misses = 0;
};

static Counter table[3]; // table
static Entry entry;

__attribute__((noinline)) void Queue::push()
{
    head.fetch_add(1);
    touch("queue", this, &head, 4);
    counters[1].value++;
    touch("queue", this, &counters[1].value, 8);
    code("push"); // push
    AFTER;
}

static __attribute__((noinline)) Queue *make()
{
    auto *queue = new Queue;
    code("allocate queue");
    AFTER;
    return queue;
}

static __attribute__((noinline)) void walk(std::vector<Counter> &all)
{
    for (auto &one : all) {
        one.value++;
        touch("vector", all.data(), &one.value, 8);
        AFTER;
    }
}

static __attribute__((noinline)) void read(const std::shared_ptr<Shared> &shared, const void *base)
{
    shared->reads++;
    touch("shared", base, &shared->reads, 8);
    AFTER;
}

} // namespace app

int main()
{
    data("table[1].owner", &app::table[1].owner);
    data("entry.hits", &app::entry.hits);
    data("entry.misses", &app::entry.misses);
    auto *queue = app::make();
    queue->push();
    std::vector<app::Counter> all(3);
    app::walk(all);
    auto shared = std::make_shared<app::Shared>();
    // Behind the table of virtual functions and the two counts.
    app::read(shared, reinterpret_cast<char *>(shared.get()) - 16);
    delete queue;
}
