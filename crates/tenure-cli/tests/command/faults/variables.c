#include "threads.h"

/* Each of two threads counts in one. */
static volatile long requests __attribute__((aligned(16)));
static volatile long errors;

static void *request(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        requests++;
    }
    return unused;
}

static void *error(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        errors++;
    }
    return unused;
}

int main(void) {
    run(request, error);
    return requests + errors != 2 * TIMES;
}
