#include "threads.h"

/* Each of two threads has a lock and what it guards. */
struct port {
    pthread_spinlock_t in_lock;
    int in_count;
    pthread_spinlock_t out_lock;
    int out_count;
    char name[120]; /* set once */
};

static struct port port __attribute__((aligned(64)));

static void *receive(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        pthread_spin_lock(&port.in_lock);
        port.in_count++;
        pthread_spin_unlock(&port.in_lock);
    }
    return unused;
}

static void *transmit(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        meet(i);
        pthread_spin_lock(&port.out_lock);
        port.out_count++;
        pthread_spin_unlock(&port.out_lock);
    }
    return unused;
}

int main(int count, char **words) {
    port.name[0] = count > 1 ? *words[1] : '-';
    pthread_spin_init(&port.in_lock, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&port.out_lock, PTHREAD_PROCESS_PRIVATE);
    run(receive, transmit);
    return port.in_count + port.out_count != 2 * TIMES;
}
