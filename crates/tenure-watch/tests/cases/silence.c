/* Programs of which a watcher sees little, or nothing that is contended. Each runs until it is killed. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LINE = 64, THREADS = 2 };

typedef volatile uint64_t Word;

/* All time is the kernel's. */
static void *open_and_close(void *unused) {
    for (;;)
        close(open("/dev/null", O_RDONLY));
    return unused;
}

/* Looks up a table by an index that the load overwrites, and stores to a word beside the table. */
static struct {
    uint64_t table[4];
    uint64_t seen;
} shared __attribute__((aligned(LINE))) = {{1, 2, 3, 4}, 0};

static void *look_up(void *result) {
    uint64_t sum = 0;
    for (uint64_t i = 0;; i++) {
        sum += *(Word *)&shared.table[i & 3];
        *(Word *)&shared.seen = 1;
        if (i == UINT64_MAX)
            *(Word *)result = sum;
    }
    return NULL;
}

/* Walks along a ring, with a load that overwrites the node it loads from. */
static struct Node {
    uint64_t seen;
    struct Node *volatile next;
} __attribute__((aligned(LINE))) ring[8];

static void *walk(void *unused) {
    struct Node *node = ring;
    for (;;)
        node = node->next;
    return unused;
}

/* A line for each thread. */
static void *add(void *word) {
    for (;;)
        ++*(Word *)word;
    return NULL;
}

static void run(void *(*work)(void *)) {
    static uint64_t words[THREADS][LINE / sizeof(uint64_t)] __attribute__((aligned(LINE)));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, words[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Two processes add to neighbouring words. */
static void processes(void) {
    uint64_t *words =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int is_parent = fork() != 0;
    /* A child has no alarm, and goes on when its parent is killed. */
    if (!is_parent)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    add((void *)&words[is_parent]);
}

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    /* Whatever becomes of the test. */
    alarm(120);
    if (!strcmp(name, "kernel"))
        run(open_and_close);
    else if (!strcmp(name, "table"))
        run(look_up);
    else if (!strcmp(name, "ring")) {
        for (int i = 0; i < 8; i++)
            ring[i].next = &ring[(i + 1) % 8];
        run(walk);
    } else if (!strcmp(name, "apart"))
        run(add);
    else if (!strcmp(name, "processes"))
        processes();
    else if (!strcmp(name, "asleep"))
        pause();
    else
        abort();
}
