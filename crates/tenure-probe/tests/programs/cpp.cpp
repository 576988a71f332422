// C++'s own ways to allocate, and to fail at it.
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

struct Session {
    std::atomic<long> references{0};
    volatile long limit = 7;
};
struct alignas(128) Wide {
    volatile long words[16];
};
struct Base {
    virtual ~Base() = default;
    virtual long value() { return 1; }
};
struct Derived : Base {
    long value() override { return 2; }
};

int main() {
    const long rounds = 2000000;
    auto *session = new Session;
    auto *wide = new Wide();
    Base *base = new Derived;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([=] {
            for (long round = 0; round < rounds; round++) {
                session->references.fetch_add(session->limit);
                wide->words[0] = wide->words[0] + base->value();
            }
        });
    for (auto &thread : threads)
        thread.join();
    if (reinterpret_cast<std::uintptr_t>(wide) % 128 != 0 || session->references != 2 * 7 * rounds)
        return 1;
    delete base;
    delete wide;
    delete session;
    volatile std::size_t much = SIZE_MAX / 4;
    char *volatile nothing = new (std::nothrow) char[much];
    if (nothing)
        return 2;
    try {
        char *volatile never = new char[much];
        return never ? 3 : 4;
    } catch (const std::bad_alloc &) {
    }
    try {
        struct alignas(256) Large {
            char bytes[256];
        };
        Large *volatile never = new Large[much / 512];
        return never ? 5 : 6;
    } catch (const std::bad_alloc &) {
    }
    return 0;
}
