// Threads that call functions which no thread has called before: `together`, or while another thread is in a constructor that
// dlopen of argv[1] runs, and waits for them.
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static std::atomic<int> waiting, done;

static void check(void *block) {
    if (!block)
        abort();
    free(block);
}

static void *call_all(void *) {
    enum { CALLERS = 4 };
    waiting++;
    while (waiting < CALLERS)
        ;
    void *aligned = nullptr;
    if (posix_memalign(&aligned, 64, 100) != 0)
        abort();
    check(aligned);
    check(aligned_alloc(64, 128));
    check(memalign(64, 100));
    check(valloc(100));
    check(pvalloc(100));
    check(reallocarray(nullptr, 3, 100));
    struct alignas(64) Line {
        long words[8];
    };
    delete new Line;
    delete[] new Line[2];
    delete new (std::nothrow) long;
    ::operator delete[](::operator new[](100, std::nothrow), std::nothrow);
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_trylock(&mutex) == 0)
        pthread_mutex_unlock(&mutex);
    static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
    if (pthread_rwlock_tryrdlock(&both) == 0)
        pthread_rwlock_unlock(&both);
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    done++;
    return nullptr;
}

// The constructor of constructor.c calls it, with the loader's lock.
extern "C" void wait_for_all() {
    waiting++;
    while (done < 3)
        ;
}

int main(int, char **words) {
    bool together = strcmp(words[1], "together") == 0;
    pthread_t threads[4];
    for (int i = 0; i < 3 + together; i++)
        pthread_create(&threads[i], nullptr, call_all, nullptr);
    if (!together && !dlopen(words[1], RTLD_NOW))
        return 1;
    for (int i = 0; i < 3 + together; i++)
        pthread_join(threads[i], nullptr);
    return 0;
}
