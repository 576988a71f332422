#include <atomic>
#include "threads.h"

// What each of two threads counts.
class Counts {
protected:
    std::atomic<long> read_{0};     // of the first
    std::atomic<long> written_{0};  // of the second
};

class Stats : public Counts {
public:
    void add_read() { read_.fetch_add(1, std::memory_order_relaxed); }
    void add_written() { written_.fetch_add(1, std::memory_order_relaxed); }
    long sum() const { return read_ + written_; }
};

static Stats *stats;

static void *reads(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        stats->add_read();
    }
    return unused;
}

static void *writes(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        stats->add_written();
    }
    return unused;
}

int main() {
    stats = new Stats;
    run(reads, writes);
    return stats->sum() != 2 * TIMES;
}
