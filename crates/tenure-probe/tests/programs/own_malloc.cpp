// A program with an allocator of its own, as jemalloc is linked: C's functions, and not C++'s. Blocks that come from
// another one are not its own.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static char arena[256 << 20];
static std::atomic<size_t> used{0};
static std::atomic<long> freed{0};

static bool is_own(const void *block) {
    return (const char *)block >= arena && (const char *)block < arena + sizeof arena;
}

extern "C" {
void *malloc(size_t size) {
    size_t rounded = (size + 31) / 16 * 16;
    size_t at = used.fetch_add(rounded);
    if (at + rounded > sizeof arena)
        abort();
    *(size_t *)(arena + at) = size;
    return arena + at + 16;
}
void free(void *block) {
    if (block && !is_own(block))
        abort();
    freed += block != nullptr;
}
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *old, size_t size) {
    if (old && !is_own(old))
        abort();
    void *block = malloc(size);
    if (old) {
        size_t before = *(size_t *)((char *)old - 16);
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}
}

struct Session {
    std::atomic<long> refs{0};
    std::string name = "a name that is too long to be kept inside";
};

int main() {
    std::vector<Session *> sessions;
    for (int i = 0; i < 100; i++)
        sessions.push_back(new Session);
    auto work = [&] {
        for (int i = 0; i < 100000; i++)
            sessions[i % 100]->refs++;
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    long sum = 0;
    for (Session *session : sessions) {
        sum += session->refs;
        delete session;
    }
    void *array = reallocarray(nullptr, 100, 8);
    array = reallocarray(array, 200, 8);
    free(array);
    free(strdup("text"));
    return sum == 200000 && freed > 100 ? 0 : 1;
}
