/* Two threads that visit a word: they change it twice at a time, and then do something else. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t hot __attribute__((aligned(64)));

static void *visit(void *rounds) {
    for (uint64_t i = 0; i < (uintptr_t)rounds; i++) {
        __atomic_fetch_add(&hot, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&hot, 1, __ATOMIC_RELAXED);
        for (int work = 0; work < 3000; work++)
            __asm__ volatile("");
        volatile char *memory = malloc(100);
        memory[0] = 1;
        free((void *)memory);
    }
    return NULL;
}

int main(int argc, char **argv) {
    uintptr_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, visit, (void *)rounds);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
