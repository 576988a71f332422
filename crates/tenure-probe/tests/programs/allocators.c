/* What allocators.cpp does with C's functions alone: the program has no C++ library. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct shared {
    long hits;
    char rest[600];
};
static struct shared *shared;

static void *work(void *unused) {
    for (int round = 0; round < 5000; round++) {
        char *block = malloc(round % 3000 + 1);
        memset(block, 1, malloc_usable_size(block));
        block = realloc(block, 2 * (round % 3000) + 2);
        free(block);
        free(calloc(3, round % 100 + 1));
        void *aligned;
        if (posix_memalign(&aligned, 64, 100) != 0)
            abort();
        free(aligned);
        free(aligned_alloc(64, 128));
    }
    for (int round = 0; round < 200000; round++)
        __atomic_fetch_add(&shared->hits, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(void) {
    shared = calloc(1, sizeof *shared);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    free(strdup("text"));
    int failed = shared->hits != 400000;
    free(shared);
    return failed;
}
