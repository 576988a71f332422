// Two threads, and every kind of line: argv[1] says how long.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE __attribute__((aligned(64)))
LINE static volatile long adjacent[2];
LINE static volatile long read_only[8] = {1, 2, 3};
LINE static atomic_long hot;
LINE static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct padded { LINE volatile long count; };
static struct padded padded[2];
static volatile long *object, *handed_over[2];
static long rounds;
static volatile long sink;

static void *work(void *which) {
    long me = (long)which;
    // A name that a thread gets after its first access.
    pthread_setname_np(pthread_self(), "worker");
    volatile long *mine = malloc(64 * 1024);
    for (long round = 0; round < rounds; round++) {
        adjacent[me]++;
        atomic_fetch_add(&hot, read_only[2]);
        padded[me].count++;
        mine[round % 8192]++;
        handed_over[me][round % 8]++;
        object[me]++;
        if (round % 16 == 0) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        // Freed, and at once another thread's.
        volatile long *passing = malloc(256);
        passing[9]++;
        free((void *)passing);
    }
    free((void *)mine);
    return 0;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atol(arguments[1]) : 200000;
    object = aligned_alloc(64, 64);
    memset((void *)object, 0, 64);
    for (int i = 0; i < 2; i++) {
        handed_over[i] = aligned_alloc(64, 64);
        for (int j = 0; j < 8; j++)
            handed_over[i][j] = 0;
    }
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    sink = handed_over[0][0] + handed_over[1][0];
    return 0;
}
