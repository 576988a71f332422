// What programs do that runtimes trip over; argv[1] says what.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static atomic_long shared;
static volatile long plain[8];
static const char *self;

static void *work(void *rounds) {
    for (long round = 0; round < (long)rounds; round++) {
        atomic_fetch_add(&shared, 1);
        plain[1]++;
        if (round % 64 == 0)
            free(malloc(round % 1000));
    }
    return 0;
}

static void start(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), long argument) {
    CHECK(pthread_create(thread, attributes, routine, (void *)argument) == 0);
}

static void contend(long rounds) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        start(&threads[i], 0, work, rounds);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}

static void wait_for(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

// Children that share memory until they call exec.
static void vforks(void) {
    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();
        if (child == 0) {
            plain[2]++;
            execl(self, self, "nothing", (char *)0);
            _exit(9);
        }
        wait_for(child);
    }
}

// A fork that the C library does not see: no handler of pthread_atfork is called.
static void clones(void) {
    contend(200000);
    for (int i = 0; i < 20; i++) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            work((void *)10000);
            _exit(0);
        }
        work((void *)10000);
        wait_for(child);
    }
    contend(200000);
}

static void handle(int number) {
    (void)number;
    plain[3]++;
    atomic_fetch_add(&shared, 1);
}

static void handlers_on_their_own_stack(void) {
    stack_t stack = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
    CHECK(sigaltstack(&stack, 0) == 0);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, 0) == 0);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    contend(1000000);
    setitimer(ITIMER_REAL, &never, 0);
}

// A handler that does not return to what it interrupted: lines that nobody has used yet.
static sigjmp_buf back;
static atomic_int jumps;
static pthread_t jumper;
static volatile long *fresh;
enum { FRESH = 64 << 20 };
static void jump(int number) {
    if (pthread_equal(pthread_self(), jumper)) {
        jumps++;
        siglongjmp(back, number);
    }
}
static atomic_int is_over;
static void *use_fresh(void *unused) {
    for (long at = 0; !is_over; at = (at + 8) % (FRESH / 8))
        fresh[at]++;
    return unused;
}
static void handlers_that_jump(void) {
    fresh = mmap(0, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fresh != MAP_FAILED);
    jumper = pthread_self();
    pthread_t other;
    start(&other, 0, use_fresh, 0);
    signal(SIGALRM, jump);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    static volatile long at;
    sigsetjmp(back, 1);
    while (jumps < 5000) {
        at = (at + 8) % (FRESH / 8);
        fresh[at]++;
    }
    setitimer(ITIMER_REAL, &never, 0);
    is_over = 1;
    pthread_join(other, 0);
}

static void *cancelled(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (long at = 0;; at = (at + 8) % (FRESH / 8))
        fresh[at]++;
    return unused;
}
static void threads_that_are_cancelled(void) {
    fresh = mmap(0, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fresh != MAP_FAILED);
    pthread_t other;
    start(&other, 0, use_fresh, 0);
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        start(&thread, 0, cancelled, 0);
        usleep(i % 7 * 50);
        pthread_cancel(thread);
        pthread_join(thread, 0);
    }
    is_over = 1;
    pthread_join(other, 0);
}

// Limits that come after the start.
static void limits(void) {
    struct rlimit little = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    struct rlimit now = {8 << 20, 8 << 20};
    CHECK(setrlimit(RLIMIT_STACK, &now) == 0);
    contend(100000);
    struct rlimit space = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_AS, &space) == 0);
    work((void *)100000);
}

static void small_stacks(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    CHECK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
    pthread_t threads[50];
    for (int i = 0; i < 50; i++)
        start(&threads[i], &small, work, 1000);
    for (int i = 0; i < 50; i++)
        pthread_join(threads[i], 0);
    CHECK(shared == 50 * 1000);
}

static void *leave_by_exec(void *unused) {
    execl(self, self, "nothing", (char *)0);
    return unused;
}
static void exec_of_a_thread(void) {
    pthread_t others[4], thread;
    for (int i = 0; i < 4; i++)
        start(&others[i], 0, work, LONG_MAX);
    usleep(20000);
    start(&thread, 0, leave_by_exec, 0);
    pthread_join(thread, 0);
    exit(9);
}

static pthread_barrier_t all;
static void *meet(void *unused) {
    pthread_barrier_wait(&all);
    work((void *)100);
    pthread_barrier_wait(&all);
    return unused;
}
static void many_threads(void) {
    enum { MANY = 5000 };
    static pthread_t threads[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all, 0, MANY);
    for (int i = 0; i < MANY; i++)
        start(&threads[i], &small, meet, 0);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], 0);
    CHECK(shared == MANY * 100);
}

// Memory that goes away and comes back: each thread has it alone in its turn.
static void *fill(void *lock) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(lock);
        size_t bytes = 1 << 20;
        volatile long *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        for (int j = 0; j < 2000; j++)
            memory[j % 64]++;
        memory = mremap((void *)memory, bytes, 4 * bytes, MREMAP_MAYMOVE);
        CHECK(memory != MAP_FAILED && memory[0] > 0);
        for (int j = 0; j < 2000; j++)
            memory[j % 64]++;
        munmap((void *)memory, 4 * bytes);
        pthread_mutex_unlock(lock);
    }
    return 0;
}
static void moves(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        start(&threads[i], 0, fill, (long)&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    // Lengths and addresses that no memory has.
    volatile size_t most = (size_t)-1;
    CHECK(munmap((void *)4096, most - 8191) == -1);
    CHECK(munmap((void *)(most & ~(size_t)4095), 4096) == -1);
    CHECK(mremap((void *)4096, 4096, 4096, 0) == MAP_FAILED);
}

static void unloads(void) {
    for (int i = 0; i < 100; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        CHECK(library);
        contend(100);
        dlclose(library);
    }
}

// The runtime's `syscall` is between the program and the C library's.
static void system_calls(void) {
    CHECK(syscall(SYS_getpid) == getpid());
    errno = 0;
    CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
    char *page = (char *)syscall(SYS_mmap, 0L, 4096L, (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    CHECK(page != MAP_FAILED);
    page[0] = 1;
    static unsigned word = 1;
    CHECK(syscall(SYS_futex, &word, 1, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_futex, &word, 0, 2, 0, 0, 0) == -1 && errno == EAGAIN);
    CHECK(sched_yield() == 0);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all_of_them[] = {
        {"vforks", vforks},
        {"clones", clones},
        {"handlers_on_their_own_stack", handlers_on_their_own_stack},
        {"handlers_that_jump", handlers_that_jump},
        {"threads_that_are_cancelled", threads_that_are_cancelled},
        {"limits", limits},
        {"small_stacks", small_stacks},
        {"exec_of_a_thread", exec_of_a_thread},
        {"many_threads", many_threads},
        {"moves", moves},
        {"unloads", unloads},
        {"system_calls", system_calls},
    };
    self = arguments[0];
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "nothing"))
        return 0;
    // Locks all of the memory there is, and then dies with a core file, if the system writes any.
    if (!strcmp(what, "locks_and_dumps")) {
        CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
        contend(100000);
        struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
        setrlimit(RLIMIT_CORE, &any);
        abort();
    }
    for (size_t i = 0; i < sizeof all_of_them / sizeof all_of_them[0]; i++)
        if (!strcmp(what, all_of_them[i].name)) {
            all_of_them[i].run();
            return 0;
        }
    return 2;
}
