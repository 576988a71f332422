/* Programs of many threads, for `tenure watch`. Each runs until it is killed. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, SLEEPERS = 1000, PASSERS_A_SECOND = 200, LIFE_MS = 10 };

typedef volatile uint64_t Word;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void add(Word *word) {
    for (int i = 0; i < 1000; i++)
        *word = *word + 1;
}

/* Lives for some milliseconds, and adds to a word all the time. */
static void *live(void *word) {
    for (uint64_t end = now() + LIFE_MS * 1000000ull; now() < end;)
        add(word);
    return NULL;
}

/* Threads that follow each other, on a word that all of them use. */
static void *follow(void *word) {
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, NULL, live, word);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static struct {
    Word words[2];
} slots __attribute__((aligned(LINE)));

static void *endless(void *word) {
    for (;;)
        add(word);
    return NULL;
}

/* To be silent about: one word, and never two threads at a time. */
static void successors(void) { follow((void *)&slots.words[0]); }

/* Two rows of successors, each with a word of its own on one line. */
static void rows(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, follow, (void *)&slots.words[0]);
    follow((void *)&slots.words[1]);
}

static void *sleep_on(void *unused) {
    pause();
    return unused;
}

static void *pass_by(void *unused) {
    Word own = 0;
    usleep(1000);
    add(&own);
    return unused;
}

/* Two counters on a line, beside 1,000 threads that sleep and 200 a second that live for a millisecond. */
static void crowd(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_t thread;
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&thread, &small, sleep_on, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread, NULL, endless, (void *)&slots.words[i]);
    const uint64_t second = 1000000000;
    for (uint64_t next = now();; next += second / PASSERS_A_SECOND) {
        struct timespec until = {.tv_sec = next / second, .tv_nsec = next % second};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        pthread_create(&thread, &small, pass_by, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"successors", successors}, {"rows", rows}, {"crowd", crowd}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(cases[i].name, argv[1]))
            cases[i].run();
    return 2;
}
