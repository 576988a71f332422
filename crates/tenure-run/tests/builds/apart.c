/* Two threads count for some seconds, each on lines of its own: what is contended is the runtime's. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static struct {
    _Alignas(256) unsigned long count;
    volatile char last;
} own[2];
static time_t end;

static void *work(void *mine) {
    unsigned long *count = mine;
    while (time(0) < end)
        for (int i = 0; i < 100000; i++) {
            __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
            *(volatile char *)(count + 1) = i;
        }
    return 0;
}

int main(int words, char **word) {
    end = time(0) + (words > 1 ? atoi(word[1]) : 1);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &own[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
