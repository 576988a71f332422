#include <stdlib.h>
#include "threads.h"

/* What one thread has done. */
struct worker {
    volatile long done;
    volatile long failed;
};

static struct worker *workers;

static void *work(void *number) {
    struct worker *worker = &workers[*(char *)number];
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        worker->done++;
        worker->failed += i & 1;
    }
    return number;
}

int main(void) {
    workers = calloc(2, sizeof *workers);
    run(work, work);
    return workers[0].done + workers[1].done != 2 * TIMES;
}
