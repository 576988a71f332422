#include <stdatomic.h>
#include "threads.h"

/* Both threads add to it. */
static atomic_long hits;

static void *hit(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
    }
    return unused;
}

int main(void) {
    run(hit, hit);
    return atomic_load(&hits) != 2 * TIMES;
}
