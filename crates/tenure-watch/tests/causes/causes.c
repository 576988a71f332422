// Programs of which it is known what holds them back. Usage: causes CAUSE[,CAUSE] SECONDS [without]
//
// Each of four threads repeats an iteration until the time is over; the program prints how many were done. `without` leaves the
// cause out, so that its cost is measured by two runs. Two causes are done one after the other in each iteration.
#define _GNU_SOURCE
#include <fcntl.h>
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

enum { THREADS = 4, LINE = 64 };

static _Atomic int stop;
static int without;
static int threads = THREADS;
static int started;
static long done[THREADS * 4][16];

// About a nanosecond a round, on nothing shared.
static void work(long rounds) {
    for (volatile long left = rounds; left > 0;) left -= 1;
}

// What threads share.
static struct { _Atomic long mine[THREADS * 4]; } beside;
static struct { _Alignas(LINE) _Atomic long count; } hot;
static struct { _Alignas(LINE) _Atomic int held; } spin;
static struct { _Alignas(LINE) _Atomic unsigned next; _Alignas(LINE) _Atomic unsigned now; } ticket;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;
static pthread_barrier_t barrier;
static sem_t items;
static int pipes[THREADS * 4][2];
static int sockets[THREADS * 4][2];

static void false_sharing(int id) { for (int i = 0; i < 20; i++) { beside.mine[id] += 1; work(2); } }
static void counter(int id) { (void)id; for (int i = 0; i < 20; i++) { hot.count += 1; work(2); } }
static void spin_lock(int id) {
    (void)id;
    while (atomic_exchange_explicit(&spin.held, 1, memory_order_acquire)) while (spin.held) __builtin_ia32_pause();
    work(300);
    atomic_store_explicit(&spin.held, 0, memory_order_release);
}
static void ticket_lock(int id) {
    (void)id;
    unsigned mine = ticket.next++;
    while (ticket.now != mine) __builtin_ia32_pause();
    work(300);
    ticket.now += 1;
}
static void mutexes(int id) { (void)id; pthread_mutex_lock(&mutex); work(20000); pthread_mutex_unlock(&mutex); }
static void short_mutex(int id) { (void)id; pthread_mutex_lock(&mutex); work(1000); pthread_mutex_unlock(&mutex); }
static void writers(int id) { (void)id; pthread_rwlock_wrlock(&rwlock); work(20000); pthread_rwlock_unlock(&rwlock); }
static void condition(int id) {
    pthread_mutex_lock(&turn_lock);
    while (turn % threads != id && !stop) pthread_cond_wait(&turn_changed, &turn_lock);
    turn += 1;
    pthread_cond_broadcast(&turn_changed);
    pthread_mutex_unlock(&turn_lock);
    work(5000);
}
static void slow_one(int id) { work(id == 0 ? 400000 : 20000); pthread_barrier_wait(&barrier); }
static void semaphore(int id) { if (id == 0) { work(20000); sem_post(&items); } else sem_wait(&items); }
static void pipe_echo(int id) {
    char byte = 0;
    int from = id % 2 ? id - 1 : id + 1;
    if (write(pipes[from][1], &byte, 1) != 1 || read(pipes[id][0], &byte, 1) != 1) return;
    work(2000);
}
static void socket_echo(int id) {
    char byte = 0;
    int from = id % 2 ? id - 1 : id + 1;
    if (send(sockets[from][1], &byte, 1, 0) != 1 || recv(sockets[id][0], &byte, 1, 0) != 1) return;
    work(2000);
}
static void file_sync(int id) {
    static _Thread_local int file = -1;
    (void)id;
    if (file < 0) file = open(".", O_TMPFILE | O_RDWR, 0600);
    if (write(file, "x", 1) == 1) fsync(file);
}
static void sleeps(int id) { (void)id; usleep(1000); }
static void calls(int id) { (void)id; for (int i = 0; i < 50; i++) syscall(SYS_getppid); }
static void maps(int id) {
    (void)id;
    char *page = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 16384; i += 4096) page[i] = 1;
    munmap(page, 16384);
}
static void yields(int id) { (void)id; for (int i = 0; i < 20; i++) sched_yield(); }
static void reads(int id) {
    static _Thread_local int file = -1;
    char bytes[4096];
    (void)id;
    if (file < 0) file = open("/proc/self/exe", O_RDONLY);
    for (int i = 0; i < 10; i++) if (pread(file, bytes, sizeof bytes, 0) < 0) abort();
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
    {"calls", calls, 2}, {"maps", maps, 2}, {"yield", yields, 2}, {"read", reads, 2}, {"own", own, 2}, {"memory", memory, 2}, {"allocate", allocate, 2},
    {"too_many", own, 8}, {"one_thread", own, 1},
};

static const struct cause *chosen[2];
static int alone[2];

static void *thread(void *of) {
    int id = (int)(intptr_t)of;
    while (!stop) {
        for (int at = 0; at < 2; at++) {
            if (!chosen[at]) continue;
            if (without && at == 0) work(2000);
            else chosen[at]->run(id);
        }
        done[id][0] += 1;
    }
    return 0;
}

// One thread works while the others do not exist, then all do.
static void phases(double seconds, int serial) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        if (serial) work(20000000);
        pthread_t all[2];
        for (intptr_t id = 0; id < 2; id++) pthread_create(&all[id], 0, (void *(*)(void *))own, (void *)id);
        for (int id = 0; id < 2; id++) pthread_join(all[id], 0);
        done[0][0] += 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - from.tv_sec + (now.tv_nsec - from.tv_nsec) / 1e9 < seconds);
}

int main(int count, char **arguments) {
    if (count < 3) { fprintf(stderr, "usage: causes CAUSE[,CAUSE] SECONDS [without]\n"); return 2; }
    double seconds = atof(arguments[2]);
    without = count > 3;
    (void)alone; (void)started;
    if (!strcmp(arguments[1], "phases")) { phases(seconds, !without); printf("%ld\n", done[0][0]); return 0; }
    char *name = strtok(arguments[1], ",");
    threads = 0;
    for (int at = 0; name && at < 2; at++, name = strtok(0, ",")) {
        for (unsigned i = 0; i < sizeof causes / sizeof *causes; i++) if (!strcmp(causes[i].name, name)) chosen[at] = &causes[i];
        if (!chosen[at]) { fprintf(stderr, "causes: no cause %s\n", name); return 2; }
        if (chosen[at]->threads > threads) threads = chosen[at]->threads;
    }
    pthread_barrier_init(&barrier, 0, threads);
    sem_init(&items, 0, 0);
    for (int id = 0; id < threads; id++) if (pipe(pipes[id]) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[id])) return 1;
    pthread_t all[THREADS * 4];
    for (intptr_t id = 0; id < threads; id++) pthread_create(&all[id], 0, thread, (void *)id);
    usleep((useconds_t)(seconds * 1e6));
    stop = 1;
    long sum = 0;
    for (int id = 0; id < threads; id++) sum += done[id][0];
    printf("%ld\n", sum);
    fflush(stdout);
    // Threads may wait for each other.
    _exit(0);
}
