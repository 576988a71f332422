/* What `tenure watch` has to find and to be silent about, beside the cases of `tenure run`. Each runs until it is killed. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, LINE = 64 };

typedef volatile uint64_t Word;

static void run(void *(*work)(void *), void *arguments, size_t stride) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (char *)arguments + i * stride);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A spinlock, taken and given back. */
static struct {
    volatile int held;
    Word guarded;
} spinlock __attribute__((aligned(LINE)));
static void *spin(void *unused) {
    for (;;) {
        int free = 0;
        while (!__atomic_compare_exchange_n(&spinlock.held, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            free = 0;
        spinlock.guarded = spinlock.guarded + 1;
        __atomic_store_n(&spinlock.held, 0, __ATOMIC_RELEASE);
    }
    return unused;
}
static void spinning(void) { run(spin, &spinlock, 0); }

/* A count that is taken by a compare-exchange in a loop. */
static Word taken __attribute__((aligned(LINE)));
static void *take(void *unused) {
    for (;;) {
        uint64_t now = __atomic_load_n(&taken, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&taken, &now, now + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    }
    return unused;
}
static void loop(void) { run(take, (void *)&taken, 0); }

/* Objects that the allocator puts next to each other: glibc's are 32 bytes apart here. */
static void *use(void *argument) {
    Word *mine = *(Word **)argument;
    for (;;)
        *mine = *mine + 1;
    return NULL;
}
static void neighbours(void) {
    Word *objects[THREADS] = {NULL, malloc(16)};
    do {
        objects[0] = objects[1];
        objects[1] = malloc(16);
    } while ((uintptr_t)objects[0] / LINE != (uintptr_t)objects[1] / LINE);
    run(use, objects, sizeof objects[0]);
}

/* A function that one caller calls nine times as often as another. No call is the last thing that its caller does. */
static Word called __attribute__((aligned(LINE)));
static __attribute__((noinline)) void bump(void) { __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED); }
static __attribute__((noinline)) void often(void) {
    for (int i = 0; i < 9; i++)
        bump();
    __asm__ volatile("");
}
static __attribute__((noinline)) void seldom(void) {
    bump();
    __asm__ volatile("");
}
static void *call(void *unused) {
    for (;;) {
        often();
        seldom();
    }
    return unused;
}
static void calls(void) { run(call, (void *)&called, 0); }

/* Controls: a thread-local counter, cache misses, work without memory, and a flag that is read often and written rarely. */
static __thread Word own;
static void *count_own(void *unused) {
    for (;;)
        own = own + 1;
    return unused;
}
static void thread_local_word(void) { run(count_own, (void *)&own, 0); }

enum { MANY = 1 << 23 };
static void *miss(void *argument) {
    uint64_t *table = argument, at = 0, sum = 0;
    for (uint64_t i = 0;; i++) {
        at = at * 6364136223846793005u + 1442695040888963407u;
        sum += table[(at >> 33) % MANY] + i;
        if (sum == 1)
            table[0] = sum;
    }
    return NULL;
}
static void misses(void) { run(miss, calloc(MANY, sizeof(uint64_t)), 0); }

static void *compute(void *unused) {
    uint64_t it = 1;
    while (it)
        it = it * 6364136223846793005u + 1442695040888963407u;
    return unused;
}
static void work(void) { run(compute, NULL, 0); }

static Word stop __attribute__((aligned(LINE)));
static void *rarely(void *argument) {
    if (*(char *)argument)
        for (;;) {
            usleep(200000);
            stop = 2;
        }
    uint64_t rounds = 0;
    while (stop != 1)
        rounds++;
    return (void *)(uintptr_t)rounds;
}
static void flag(void) {
    char which[THREADS] = {0, 1};
    run(rarely, which, 1);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"spinning", spinning}, {"loop", loop}, {"neighbours", neighbours}, {"thread_local_word", thread_local_word},
        {"misses", misses},     {"work", work}, {"flag", flag},
        {"calls", calls},
    };
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(cases[i].name, argv[1])) {
            cases[i].run();
            return 0;
        }
    return 2;
}
