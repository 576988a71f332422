/* For ci/watch_cost.py: programs that do nothing but what the argument says, on two threads. Each line of input is answered with the
 * work done and the processor time taken so far. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, LINE = 64, BATCH = 1000 };

typedef volatile uint64_t Word;

/* Work that threads have done, in batches, each on lines of its own. */
static struct {
    Word batches;
    char rest[4 * LINE - sizeof(Word)];
} done[THREADS] __attribute__((aligned(4 * LINE)));

static Word together[THREADS] __attribute__((aligned(4 * LINE)));
static Word one __attribute__((aligned(4 * LINE)));
static pthread_mutex_t mutex __attribute__((aligned(4 * LINE))) = PTHREAD_MUTEX_INITIALIZER;

static void adjacent(int thread) { together[thread] = together[thread] + 1; }
static void one_word(int thread) {
    (void)thread;
    __atomic_fetch_add(&one, 1, __ATOMIC_RELAXED);
}
static void lock(int thread) {
    (void)thread;
    pthread_mutex_lock(&mutex);
    one = one + 1;
    pthread_mutex_unlock(&mutex);
}
static struct {
    Word word;
    char rest[4 * LINE - sizeof(Word)];
} apart_words[THREADS] __attribute__((aligned(4 * LINE)));
static void apart(int thread) { apart_words[thread].word = apart_words[thread].word + 1; }
static void work(int thread) {
    static __thread uint64_t it = 1;
    it = it * 6364136223846793005u + thread;
    __asm__ volatile("" : : "r"(it));
}

static const struct {
    const char *name;
    void (*step)(int);
} cases[] = {{"adjacent", adjacent}, {"one_word", one_word}, {"lock", lock}, {"apart", apart}, {"work", work}};
static void (*step)(int);

static void *run(void *argument) {
    int thread = (int)(intptr_t)argument;
    for (;;) {
        for (int i = 0; i < BATCH; i++)
            step(thread);
        done[thread].batches = done[thread].batches + 1;
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(argv[1], cases[i].name))
            step = cases[i].step;
    if (!step)
        return 2;
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, (void *)i);
    }
    while (getchar() != EOF) {
        struct timespec time;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        uint64_t batches = 0;
        for (int i = 0; i < THREADS; i++)
            batches += done[i].batches;
        printf("%llu %.9f\n", (unsigned long long)batches, time.tv_sec + time.tv_nsec / 1e9);
        fflush(stdout);
    }
    return 0;
}
