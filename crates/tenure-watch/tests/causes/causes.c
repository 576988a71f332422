// Programs of which it is known what holds them back. Usage: causes CAUSE[:TIMES][,CAUSE[:TIMES]] SECONDS [WITHOUT]
//
// Each thread repeats an iteration until the time is over, and the program prints how many were done. Two causes are done one
// after the other in each, so many times. WITHOUT is the number of the cause that is left out: the same work is done without it,
// so that two runs measure what it costs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, LINE = 64, PAGE = 4096 };

// On a line of its own.
typedef struct { _Alignas(LINE) _Atomic long count; } apart_t;

static int threads;
static apart_t done[THREADS], apart[THREADS];

// Whether the cause that runs is left out.
static _Thread_local int off;

// About a nanosecond a round, on nothing shared.
static void work(long rounds) {
    for (volatile long left = rounds; left > 0;) left -= 1;
}

// What threads share.
static struct { _Alignas(LINE) _Atomic long mine[THREADS]; } beside;
static apart_t hot;
static struct { _Alignas(LINE) _Atomic int held; } spin;
static struct { _Alignas(LINE) _Atomic unsigned next; _Alignas(LINE) _Atomic unsigned now; } ticket;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;
static pthread_barrier_t barrier;
static sem_t items;
static int pipes[THREADS][2], sockets[THREADS][2];

static void add(_Atomic long *word) { for (int i = 0; i < 20; i++) { *word += 1; work(2); } }
static void false_sharing(int id) { add(off ? &apart[id].count : &beside.mine[id]); }
static void counter(int id) { add(off ? &apart[id].count : &hot.count); }

static void pause_once(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}
static void spin_lock(int id) {
    (void)id;
    while (!off && atomic_exchange_explicit(&spin.held, 1, memory_order_acquire)) while (spin.held) pause_once();
    work(300);
    if (!off) atomic_store_explicit(&spin.held, 0, memory_order_release);
}
static void ticket_lock(int id) {
    (void)id;
    if (!off) for (unsigned mine = ticket.next++; ticket.now != mine;) pause_once();
    work(300);
    if (!off) ticket.now += 1;
}

static void locked(long rounds) {
    if (!off) pthread_mutex_lock(&mutex);
    work(rounds);
    if (!off) pthread_mutex_unlock(&mutex);
}
static void mutexes(int id) { (void)id; locked(20000); }
static void short_mutex(int id) { (void)id; locked(1000); }
static void writers(int id) {
    (void)id;
    if (!off) pthread_rwlock_wrlock(&rwlock);
    work(20000);
    if (!off) pthread_rwlock_unlock(&rwlock);
}

static void condition(int id) {
    if (!off) {
        pthread_mutex_lock(&turn_lock);
        while (turn % threads != id) pthread_cond_wait(&turn_changed, &turn_lock);
        pthread_mutex_unlock(&turn_lock);
    }
    work(4000);
    if (!off) {
        pthread_mutex_lock(&turn_lock);
        turn += 1;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&turn_lock);
    }
    work(1000);
}
static void slow_one(int id) { work(off ? 210000 : id == 0 ? 400000 : 20000); pthread_barrier_wait(&barrier); }
static void semaphore(int id) {
    if (off) work(10000);
    else if (id == 0) { work(20000); sem_post(&items); }
    else sem_wait(&items);
}

// With the other thread of a pair.
static void echo(int ends[][2], int id) {
    char byte = 0;
    if (!off && (write(ends[id ^ 1][1], &byte, 1) != 1 || read(ends[id][0], &byte, 1) != 1)) abort();
    work(2000);
}
static void pipe_echo(int id) { echo(pipes, id); }
static void socket_echo(int id) { echo(sockets, id); }
static void file_sync(int id) {
    static _Thread_local int file = -1;
    (void)id;
    if (file < 0) file = open(".", O_TMPFILE | O_RDWR, 0600);
    if (pwrite(file, "x", 1, 0) == 1 && !off) fsync(file);
}
static void sleeps(int id) { (void)id; if (!off) usleep(1000); work(2000); }

static void calls(int id) { (void)id; for (int i = 0; i < 50; i++) if (!off) syscall(SYS_getppid); work(500); }
static void futexes(int id) {
    for (int i = 0; i < 50; i++) if (!off) syscall(SYS_futex, &apart[id].count, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    work(500);
}
static void yields(int id) { (void)id; for (int i = 0; i < 20; i++) if (!off) sched_yield(); work(500); }
static void touch(char *pages) { for (int i = 0; i < 4 * PAGE; i += PAGE) pages[i] = 1; }
static void maps(int id) {
    (void)id;
    if (!off) {
        char *pages = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch(pages);
        munmap(pages, 4 * PAGE);
    }
    work(1000);
}
static void faults(int id) {
    static _Thread_local char *pages;
    (void)id;
    if (!pages) pages = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(pages);
    if (!off) madvise(pages, 4 * PAGE, MADV_DONTNEED);
    work(500);
}
static void reads(int id) {
    static _Thread_local int file = -1;
    char bytes[PAGE];
    (void)id;
    if (file < 0) file = open("/proc/self/exe", O_RDONLY);
    for (int i = 0; i < 10; i++) if (!off && pread(file, bytes, sizeof bytes, 0) < 0) abort();
    work(500);
}

static void own(int id) { (void)id; work(20000); }
static void memory(int id) {
    enum { BYTES = 1 << 25 };
    static _Thread_local char *bytes;
    static _Thread_local uint64_t at = 1;
    (void)id;
    if (!bytes) { bytes = malloc(BYTES); memset(bytes, 1, BYTES); }
    for (int i = 0; i < 100; i++) { at = at * 6364136223846793005ull + 1442695040888963407ull; bytes[at >> 39] += 1; }
}
static void allocate(int id) {
    void *blocks[64];
    (void)id;
    for (int i = 0; i < 64; i++) blocks[i] = malloc(2000);
    for (int i = 0; i < 64; i++) free(blocks[i]);
}

static const struct cause { const char *name; void (*run)(int); int threads; } causes[] = {
    {"false_sharing", false_sharing, 2}, {"counter", counter, 2}, {"spin_lock", spin_lock, 2}, {"ticket_lock", ticket_lock, 2},
    {"mutex", mutexes, 4}, {"short_mutex", short_mutex, 4}, {"rwlock", writers, 4}, {"condition", condition, 2}, {"barrier", slow_one, 2},
    {"semaphore", semaphore, 2}, {"pipe", pipe_echo, 2}, {"socket", socket_echo, 2}, {"fsync", file_sync, 2}, {"sleep", sleeps, 2},
    {"calls", calls, 2}, {"futexes", futexes, 2}, {"yield", yields, 2}, {"maps", maps, 2}, {"faults", faults, 2}, {"read", reads, 2},
    {"own", own, 2}, {"memory", memory, 2}, {"allocate", allocate, 2}, {"one_arena", allocate, 4}, {"too_many", own, 8}, {"one_thread", own, 1},
};

static struct { const struct cause *cause; int times; } chosen[2];
static int without;

static void *thread(void *of) {
    int id = (int)(intptr_t)of;
    for (;;) {
        for (int at = 0; at < 2 && chosen[at].cause; at++) {
            off = without == at + 1;
            for (int i = 0; i < chosen[at].times; i++) chosen[at].cause->run(id);
        }
        done[id].count += 1;
    }
    return 0;
}

static void *half(void *of) { (void)of; work(20000000); return 0; }

// One thread works while the others do not exist, then all do.
static void phases(double seconds) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        if (!without) work(20000000);
        pthread_t all[2];
        for (int id = 0; id < 2; id++) pthread_create(&all[id], 0, half, 0);
        for (int id = 0; id < 2; id++) pthread_join(all[id], 0);
        done[0].count += 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - from.tv_sec + (now.tv_nsec - from.tv_nsec) / 1e9 < seconds);
}

int main(int count, char **arguments) {
    if (count < 3) { fprintf(stderr, "usage: causes CAUSE[:TIMES][,CAUSE[:TIMES]] SECONDS [WITHOUT]\n"); return 2; }
    double seconds = atof(arguments[2]);
    without = count > 3 ? atoi(arguments[3]) : 0;
    if (!strcmp(arguments[1], "phases")) { phases(seconds); printf("%ld\n", done[0].count); return 0; }
    char *name = strtok(arguments[1], ",");
    for (int at = 0; name && at < 2; at++, name = strtok(0, ",")) {
        char *times = strchr(name, ':');
        if (times) *times++ = 0;
        chosen[at].times = times ? atoi(times) : 1;
        for (unsigned i = 0; i < sizeof causes / sizeof *causes; i++) if (!strcmp(causes[i].name, name)) chosen[at].cause = &causes[i];
        if (!chosen[at].cause) { fprintf(stderr, "causes: no cause %s\n", name); return 2; }
        if (chosen[at].cause->threads > threads) threads = chosen[at].cause->threads;
        if (!strcmp(name, "one_arena") && !without) mallopt(M_ARENA_MAX, 1);
    }
    pthread_barrier_init(&barrier, 0, threads);
    sem_init(&items, 0, 0);
    for (int id = 0; id < THREADS; id++) if (pipe(pipes[id]) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[id])) return 1;
    pthread_t all[THREADS];
    for (intptr_t id = 0; id < threads; id++) pthread_create(&all[id], 0, thread, (void *)id);
    usleep((useconds_t)(seconds * 1e6));
    long sum = 0;
    for (int id = 0; id < threads; id++) sum += done[id].count;
    printf("%ld\n", sum);
    fflush(stdout);
    // Threads may wait for each other.
    _exit(0);
}
