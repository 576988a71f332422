// What processes do in their lives; argv[1] says which.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Enough that both threads exist for a while, also on a busy machine.
enum { MANY = 2000000 };

static atomic_long shared;
static volatile long plain[8];

static void *work(void *rounds) {
    for (long round = 0; round < (long)rounds; round++) {
        atomic_fetch_add(&shared, 1);
        plain[1]++;
    }
    return 0;
}

static void contend(long rounds) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)rounds);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}

static void handle(int number) {
    (void)number;
    plain[2]++;
    atomic_fetch_add(&shared, 1);
}

// One thread at a time has each block, at whatever alignment.
static void *fill_large(void *unused) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 3000; i++) {
        void *block = 0;
        pthread_mutex_lock(&lock);
        if (posix_memalign(&block, 16 << i % 8, 100000 + i))
            abort();
        for (int j = 0; j < 100; j++)
            ((volatile long *)block)[j % 16]++;
        free(block);
        pthread_mutex_unlock(&lock);
        if (i % 16 == 0)
            usleep(100);
    }
    return unused;
}

static void *leave(void *unused) {
    (void)unused;
    atomic_fetch_add(&shared, 1);
    pthread_exit(0);
}

// A destructor of a thread's end frees a large block: the runtime's own has run before.
enum { LARGE = 1 << 20, PAGE = 4096 };
static pthread_key_t key;
static void *keep_large(void *unused) {
    (void)unused;
    char *block = malloc(LARGE);
    pthread_setspecific(key, block);
    return block;
}

static void *count_in(void *words) {
    for (long round = 0; round < MANY; round++)
        ((volatile long *)words)[1]++;
    return 0;
}

// Objects that all threads use, and that any of them may free: at most SLOTS exist at once.
enum { SLOTS = 16, CHURNING = 6 };
static _Atomic(atomic_long *) slots[SLOTS];

static void *churn(void *rounds) {
    unsigned random = (unsigned)(size_t)pthread_self();
    for (long round = 0; round < (long)rounds; round++) {
        random = random * 1103515245 + 12345;
        unsigned slot = (random >> 16) % SLOTS;
        atomic_long *object = atomic_exchange(&slots[slot], 0);
        if (!object)
            object = aligned_alloc(64, 64);
        atomic_fetch_add(object, 1);
        if (round % 4 == 0) {
            free(object);
        } else {
            object = atomic_exchange(&slots[slot], object);
            if (object)
                free(object);
        }
    }
    return 0;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "fork")) {
        contend(MANY);
        for (int i = 0; i < 3; i++)
            if (fork() == 0) {
                contend(MANY);
                exit(shared == 4 * MANY ? 0 : 1);
            }
        int status, worst = 0;
        while (wait(&status) > 0)
            worst |= status;
        return worst ? 1 : 0;
    }
    if (!strcmp(what, "exec")) {
        contend(MANY);
        execl(arguments[0], arguments[0], "once", (char *)0);
        return 2;
    }
    if (!strcmp(what, "once"))
        contend(MANY);
    if (!strcmp(what, "threads")) {
        enum { MOST = 1000 };
        static pthread_t threads[MOST];
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 64 << 10);
        for (int i = 0; i < MOST; i++)
            if (pthread_create(&threads[i], &small, work, (void *)200))
                return 3;
        for (int i = 0; i < MOST; i++)
            pthread_join(threads[i], 0);
        return shared == MOST * 200 ? 0 : 1;
    }
    if (!strcmp(what, "churn")) {
        pthread_t threads[CHURNING];
        for (int i = 0; i < CHURNING; i++)
            pthread_create(&threads[i], 0, churn, (void *)200000);
        for (int i = 0; i < CHURNING; i++)
            pthread_join(threads[i], 0);
    }
    if (!strcmp(what, "exits"))
        for (int i = 0; i < 20000; i++) {
            pthread_t thread;
            if (pthread_create(&thread, 0, leave, 0))
                return 3;
            pthread_join(thread, 0);
        }
    if (!strcmp(what, "signals")) {
        signal(SIGALRM, handle);
        struct itimerval often = {{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &often, 0);
        for (int i = 0; i < 200; i++) {
            contend(2000);
            for (int j = 0; j < 100; j++)
                free(malloc(j * 40));
        }
    }
    if (!strcmp(what, "crash")) {
        contend(MANY);
        *(volatile int *)8 = 1;
    }
    if (!strcmp(what, "killed")) {
        contend(MANY);
        kill(getpid(), SIGKILL);
    }
    if (!strcmp(what, "closes")) {
        for (int i = 0; i < 1000; i++)
            close(i);
        contend(MANY);
        static char *blocks[100000];
        for (int i = 0; i < 100000; i++)
            blocks[i] = malloc(i % 100);
        for (int i = 0; i < 100000; i++)
            free(blocks[i]);
    }
    if (!strcmp(what, "realloc")) {
        char *text = 0;
        for (int i = 1; i < 300000; i += 1 + i / 8) {
            text = realloc(text, i);
            text[i - 1] = (char)i;
        }
        for (int i = 1; i < 300000; i += 1 + i / 8)
            if (text[i - 1] != (char)i)
                return 1;
        if (realloc(text, (size_t)-1 / 2))
            return 1;
        return text[0] != 1;
    }
    if (!strcmp(what, "destructor")) {
        pthread_t threads[2];
        void *block;
        pthread_key_create(&key, free);
        pthread_create(&threads[0], 0, keep_large, 0);
        pthread_join(threads[0], &block);
        // Memory where the block was, which is not the allocator's.
        char *page = (char *)((size_t)block / PAGE * PAGE);
        if (mmap(page, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != page)
            return 4;
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], 0, count_in, page + LARGE / 2);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], 0);
        printf("%zu\n", (size_t)page + LARGE / 2);
        return 0;
    }
    if (!strcmp(what, "large")) {
        // So that both get the same addresses.
        mallopt(M_ARENA_MAX, 1);
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            if (pthread_create(&threads[i], 0, fill_large, 0))
                return 3;
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], 0);
    }
    if (!strcmp(what, "library")) {
        void *math = dlopen("libm.so.6", RTLD_NOW);
        if (!math)
            return 3;
        contend(1000);
    }
    return 0;
}
