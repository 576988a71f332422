#include <stdio.h>
#include "threads.h"

/* What each of two threads counts. */
struct stats {
    volatile long read;    /* of the first */
    volatile long written; /* of the second */
};

static struct stats stats;

static void *reads(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        stats.read++;
    }
    return unused;
}

static void *writes(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        stats.written++;
    }
    return unused;
}

int main(void) {
    run(reads, writes);
    return stats.read + stats.written != 2 * TIMES;
}
