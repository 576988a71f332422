// What the types of shared memory are called: `named CASE`.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

// Calls `work` with the number of the thread, again and again. All have begun before one goes on, and each lets the
// others run now and then, so that they meet on a busy machine too.
template <class F> static void on_threads(int count, F work)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, nullptr, count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back([=, &start] {
            pthread_barrier_wait(&start);
            for (long n = 1; n <= 200000; n++) {
                work(i);
                if (n % 1000 == 0)
                    std::this_thread::yield();
            }
        });
    for (auto &thread : threads)
        thread.join();
}

// Reached by a global pointer, from the wrappers that `std::thread` has around a lambda.
struct Stats {
    std::atomic<unsigned long> rx{0}, tx{0};
};
static Stats *stats;

static void lambda()
{
    stats = new Stats;
    on_threads(2, [](int i) {
        if (i)
            stats->tx.fetch_add(1, std::memory_order_relaxed);
        else
            stats->rx.fetch_sub(1, std::memory_order_relaxed);
    });
}

// Locks and what they guard, in a row that is all that a class has.
class Shard {
    size_t capacity = 1 << 20;
    int *table = new int[64]();
    std::mutex mutex;
    size_t usage = 0, peak = 0;

public:
    bool has_room() const { return capacity > 100; }
    void use(int key)
    {
        std::lock_guard<std::mutex> lock(mutex);
        usage += ++table[key & 63];
        peak = usage > peak ? usage : peak;
    }
};
class Cache {
    Shard shards[4];

public:
    Shard &of(unsigned key) { return shards[key & 3]; }
};

static void shards()
{
    Cache *cache = new Cache;
    on_threads(3, [=](int i) {
        static thread_local unsigned x = i + 1;
        x = x * 1103515245 + 12345;
        Shard &shard = cache->of(x >> 16);
        if (shard.has_room())
            shard.use(x >> 18);
    });
}

// Locks of one byte, of which every fourth is used.
struct Spin {
    std::atomic<unsigned char> taken;
};
static struct alignas(64) {
    Spin of[64];
} pool;

static void bytes()
{
    on_threads(4, [](int i) {
        Spin &spin = pool.of[i * 4 + 4];
        while (spin.taken.exchange(1, std::memory_order_acquire))
            ;
        spin.taken.store(0, std::memory_order_release);
    });
}

// More bytes than the struct has, on a line of its own.
struct store {
    pthread_rwlock_t lock;
    int n;
    int table[8];
};

static void aligned()
{
    store *shared = static_cast<store *>(aligned_alloc(64, 128));
    memset(shared, 0, sizeof *shared);
    pthread_rwlock_init(&shared->lock, nullptr);
    on_threads(3, [=](int) {
        volatile long sum = 0;
        pthread_rwlock_rdlock(&shared->lock);
        sum = sum + shared->table[0] + shared->n;
        pthread_rwlock_unlock(&shared->lock);
    });
}

int main(int, char **arguments)
{
    const char *name = arguments[1];
    if (!strcmp(name, "lambda"))
        lambda();
    else if (!strcmp(name, "shards"))
        shards();
    else if (!strcmp(name, "bytes"))
        bytes();
    else if (!strcmp(name, "aligned"))
        aligned();
    else
        return 2;
}
