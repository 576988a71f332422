/* What `tenure run` has to find, and what it has to be silent about. C and C++: the case is the argument. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ci/run_cost.py asks for more than a start takes. */
#ifdef LONG
static const uint64_t TIMES = 20000000;
/* For `tenure watch`, which ends it. */
#elif defined(ENDLESS)
static const uint64_t TIMES = UINT64_MAX;
#else
static const uint64_t TIMES = 2000000;
#endif
enum { THREADS = 2, LINE = 64 };

typedef volatile uint64_t Word;

static uint64_t add(Word *word) { return __atomic_fetch_add(word, 1, __ATOMIC_RELAXED); }

struct Start {
    void *(*work)(void *);
    void *argument;
};
static pthread_barrier_t all_are_there;
static void *start(void *argument) {
    struct Start *start = (struct Start *)argument;
    pthread_barrier_wait(&all_are_there);
    return start->work(start->argument);
}

/* Runs `work(argument)` on all threads at once, each with its own argument. */
static void run(void *(*work)(void *), void *arguments, size_t stride) {
    pthread_t threads[THREADS];
    struct Start starts[THREADS];
    pthread_barrier_init(&all_are_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        starts[i].work = work;
        starts[i].argument = (char *)arguments + i * stride;
        pthread_create(&threads[i], NULL, start, &starts[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void *count(void *argument) {
    Word *word = (Word *)argument;
    for (uint64_t i = 0; i < TIMES; i++)
        *word = *word + 1;
    return NULL;
}

/* Adjacent counters in a static array. */
static Word counters[THREADS] __attribute__((aligned(LINE)));
static void adjacent(void) { run(count, (void *)counters, sizeof counters[0]); }

/* Per-thread elements of an array. */
struct Worker {
    Word done;
    uint64_t id;
    Word failed;
};
static void *work(void *argument) {
    struct Worker *worker = (struct Worker *)argument;
    for (uint64_t i = 0; i < TIMES; i++) {
        worker->done = worker->done + 1;
        if (worker->done % 8 == 0)
            worker->failed = worker->failed + 1;
    }
    return NULL;
}
static void elements(void) {
    struct Worker *workers = (struct Worker *)calloc(THREADS, sizeof *workers);
    run(work, workers, sizeof *workers);
    free(workers);
}

/* A count beside fields that are mostly read. */
struct Session {
    Word refs;
    Word limit;
    Word flags;
} __attribute__((aligned(LINE)));
static void *use(void *argument) {
    struct Session *session = (struct Session *)argument;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < TIMES; i++) {
        add(&session->refs);
        sum += session->limit + session->flags;
    }
    return (void *)(uintptr_t)(sum & 1);
}
static void beside(void) {
    struct Session *session = (struct Session *)aligned_alloc(LINE, sizeof *session);
    memset((void *)session, 0, sizeof *session);
    run(use, session, 0);
    free(session);
}

/* Two locks on a line. */
static struct {
    pthread_mutex_t one;
    pthread_mutex_t other;
} locks __attribute__((aligned(LINE))) = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *lock(void *argument) {
    pthread_mutex_t *mutex = (pthread_mutex_t *)argument;
    for (uint64_t i = 0; i < TIMES; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}
static void two_locks(void) { run(lock, &locks, sizeof locks.one); }

/* A queue's head and tail. */
struct Queue {
    Word head;
    Word tail;
    Word *slots;
};
enum { SLOTS = 1024 };
static struct Queue queue;
static void *produce(void) {
    for (uint64_t i = 0; i < TIMES; i++) {
        while (i - __atomic_load_n(&queue.head, __ATOMIC_ACQUIRE) >= SLOTS)
            sched_yield();
        queue.slots[i % SLOTS] = i;
        __atomic_store_n(&queue.tail, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}
static void *consume(void) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < TIMES; i++) {
        while (__atomic_load_n(&queue.tail, __ATOMIC_ACQUIRE) == i)
            sched_yield();
        sum += queue.slots[i % SLOTS];
        __atomic_store_n(&queue.head, i + 1, __ATOMIC_RELEASE);
    }
    return (void *)(uintptr_t)(sum & 1);
}
static void *either(void *argument) { return *(char *)argument ? produce() : consume(); }
static void head_and_tail(void) {
    char which[THREADS] = {0, 1};
    queue.slots = (Word *)calloc(SLOTS, sizeof *queue.slots);
    run(either, which, 1);
}

/* True sharing: one word, and a counter under a lock. */
static Word hot __attribute__((aligned(LINE)));
static void *hit(void *argument) {
    for (uint64_t i = 0; i < TIMES; i++)
        add((Word *)argument);
    return NULL;
}
static void one_word(void) { run(hit, (void *)&hot, 0); }

struct Guarded {
    pthread_mutex_t mutex;
    uint64_t value;
};
static struct Guarded guarded __attribute__((aligned(LINE))) = {PTHREAD_MUTEX_INITIALIZER, 0};
static void *increment(void *argument) {
    struct Guarded *of = (struct Guarded *)argument;
    for (uint64_t i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&of->mutex);
        of->value++;
        pthread_mutex_unlock(&of->mutex);
    }
    return NULL;
}
static void mutex(void) { run(increment, &guarded, 0); }

/* A lock that is taken and given back by compare-exchanges, as parking_lot's, beside what it guards. */
static struct {
    uint32_t state;
    uint64_t value;
    uint64_t step;
} spin __attribute__((aligned(LINE))) = {0, 0, 1};
static void *add_step(void *argument) {
    (void)argument;
    for (uint64_t i = 0; i < TIMES / 4; i++) {
        uint32_t is_free = 0;
        while (!__atomic_compare_exchange_n(&spin.state, &is_free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            is_free = 0;
            sched_yield();
        }
        spin.value += spin.step;
        uint32_t is_held = 1;
        __atomic_compare_exchange_n(&spin.state, &is_held, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
    return NULL;
}
static void exchanged(void) { run(add_step, NULL, 0); }

/* The end of a process that crashes. */
static void crash(void) {
    mutex();
    abort();
}

/* To be silent about. */
static struct {
    Word word;
    char rest[LINE - sizeof(Word)];
} padded[THREADS] __attribute__((aligned(LINE)));
static void apart(void) { run(count, (void *)padded, sizeof padded[0]); }

static Word table[8] __attribute__((aligned(LINE)));
static void *read_all(void *argument) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < TIMES; i++)
        sum += ((Word *)argument)[i % 8];
    return (void *)(uintptr_t)(sum & 1);
}
static void read_only(void) {
    for (int i = 0; i < 8; i++)
        table[i] = i;
    run(read_all, (void *)table, 0);
}

static void *own_heap(void *argument) {
    (void)argument;
    for (uint64_t i = 0; i < TIMES / 100; i++) {
        Word *words = (Word *)malloc(LINE);
        for (int j = 0; j < 100; j++)
            words[j % 8] = j;
        free((void *)words);
    }
    return NULL;
}
static void private_heap(void) { run(own_heap, NULL, 0); }

static void *finish(void *argument) {
    Word *words = (Word *)argument;
    for (uint64_t i = 0; i < TIMES; i++)
        words[i % 8] = words[i % 8] + 1;
    return NULL;
}
static void hand_over(void) {
    Word *words[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        words[i] = (Word *)aligned_alloc(LINE, LINE);
        finish((void *)words[i]);
        pthread_create(&threads[i], NULL, finish, (void *)words[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        finish((void *)words[i]);
        free((void *)words[i]);
    }
}

static pthread_mutex_t pool_lock __attribute__((aligned(LINE))) = PTHREAD_MUTEX_INITIALIZER;
static void *reuse_one(void *argument) {
    (void)argument;
    for (int i = 0; i < 20; i++) {
        /* One at a time, so that the allocator gives both threads the same memory. */
        pthread_mutex_lock(&pool_lock);
        Word *words = (Word *)malloc(4096);
        for (uint64_t j = 0; j < TIMES / 20; j++)
            words[j % 512] = j;
        free((void *)words);
        pthread_mutex_unlock(&pool_lock);
    }
    return NULL;
}
static void reused(void) { run(reuse_one, NULL, 0); }

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"adjacent", adjacent},         {"elements", elements}, {"beside", beside},       {"two_locks", two_locks},
    {"head_and_tail", head_and_tail}, {"one_word", one_word}, {"mutex", mutex},         {"exchanged", exchanged}, {"crash", crash},         {"apart", apart},
    {"read_only", read_only},       {"private_heap", private_heap}, {"hand_over", hand_over}, {"reused", reused},
};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "usage: cases CASE\n");
    return 2;
}
