#include <stdatomic.h>
#include "threads.h"

/* Both threads set it, again and again. */
static atomic_int is_dirty;

static void *touch(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        atomic_store_explicit(&is_dirty, 1, memory_order_relaxed);
    }
    return unused;
}

int main(void) {
    run(touch, touch);
    return atomic_load(&is_dirty) != 1;
}
