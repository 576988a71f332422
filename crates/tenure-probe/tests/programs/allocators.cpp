// All ways in which C and C++ allocate, under an allocator that is not the C library's: each block goes back to the allocator
// that it came from. Two threads add to one object, whose size says whether the runtime knows it.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct Shared {
    std::atomic<long> hits{0};
    char rest[600];
};
struct Small {
    int words[8];
};
struct alignas(64) Aligned {
    char bytes[192];
};
struct Counted {
    long value = 7;
    ~Counted() { value = 0; }
};

template <class T> static void objects() {
    T *volatile one = new T;
    delete one;
    T *volatile many = new T[3];
    delete[] many;
    one = new (std::nothrow) T;
    ::operator delete(one, std::nothrow);
    many = new (std::nothrow) T[5];
    if (std::is_trivially_destructible<T>::value)
        ::operator delete[](many, std::nothrow);
    else
        delete[] many;
}

static bool blocks() {
    for (size_t size : {1, 8, 24, 100, 5000, 70000, 3000000}) {
        char *block = static_cast<char *>(malloc(size));
        memset(block, 1, malloc_usable_size(block));
        block = static_cast<char *>(realloc(block, size * 2));
        block = static_cast<char *>(reallocarray(block, size, 3));
        if (!block || block[0] != 1)
            return false;
        free(block);
        char *zeros = static_cast<char *>(calloc(size, 2));
        if (zeros[2 * size - 1] != 0)
            return false;
        free(zeros);
        void *aligned;
        if (posix_memalign(&aligned, 64, size) != 0 || reinterpret_cast<uintptr_t>(aligned) % 64 != 0)
            return false;
        free(aligned);
        for (void *other : {aligned_alloc(64, (size + 63) / 64 * 64), memalign(128, size), valloc(size)}) {
            if (!other)
                return false;
            free(other);
        }
    }
    void *never;
    return posix_memalign(&never, 3, 8) != 0;
}

int main() {
    auto shared = std::make_unique<Shared>();
    std::atomic<bool> are_well{true};
    auto work = [&] {
        for (int round = 0; round < 20; round++) {
            objects<Small>();
            objects<Aligned>();
            objects<Counted>();
            objects<std::string>();
            if (!blocks())
                are_well = false;
        }
        for (int round = 0; round < 200000; round++)
            shared->hits++;
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    // Blocks that one library has allocated, and another frees.
    free(strdup("text"));
    char *line = nullptr;
    size_t room = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || getline(&line, &room, file) < 0)
        return 2;
    free(line);
    fclose(file);
    return are_well && shared->hits == 400000 ? 0 : 1;
}
