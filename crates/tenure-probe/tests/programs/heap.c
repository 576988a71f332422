// Prints where blocks lie in their pages: the heap begins at a page that the kernel chooses.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *block) { return block; }

int main(void) {
    void *blocks[8];
    pthread_t thread;
    for (int i = 0; i < 8; i++)
        blocks[i] = i % 2 ? calloc(1, 40 << i) : malloc(40 << i);
    blocks[0] = realloc(blocks[0], 9000);
    for (int i = 0; i < 8; i++)
        printf("%lu\n", (unsigned long)blocks[i] % 4096);
    pthread_create(&thread, NULL, work, blocks[0]);
    printf("after a thread: %lu\n", (unsigned long)malloc(5000) % 4096);
    return pthread_join(thread, NULL);
}
