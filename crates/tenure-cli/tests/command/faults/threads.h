/* Two threads that run at once. */
#include <pthread.h>

enum { TIMES = 500000 };

static pthread_barrier_t both_are_there;

/* Now and then they wait for each other, so that neither is done before the other begins, however busy the machine is. */
static void meet(int i) {
    if (i % 1000 == 0)
        pthread_barrier_wait(&both_are_there);
}

static void run(void *(*one)(void *), void *(*other)(void *)) {
    static char numbers[2] = {0, 1};
    pthread_t threads[2];
    pthread_barrier_init(&both_are_there, NULL, 2);
    pthread_create(&threads[0], NULL, one, &numbers[0]);
    pthread_create(&threads[1], NULL, other, &numbers[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
