#ifndef PER_THREAD_COUNT
#define PER_THREAD_COUNT 32
/* A count: each thread adds to a line of its own, and a read sums them. Threads share the lines if they are more than these. */
struct per_thread_count {
    char before[64];
    struct { unsigned long long n; char rest[64 - sizeof(long long)]; } lines[PER_THREAD_COUNT];
};
__attribute__((unused)) static __inline void per_thread_count_add(struct per_thread_count *count, unsigned long long n)
{
    static unsigned threads;
    static __thread unsigned thread;
    if (thread == 0)
        thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&count->lines[thread % PER_THREAD_COUNT].n, n, __ATOMIC_RELEASE);
}
__attribute__((unused)) static __inline unsigned long long per_thread_count_sum(const struct per_thread_count *count)
{
    unsigned long long sum = 0;
    int line;
    for (line = 0; line < PER_THREAD_COUNT; line++)
        sum += __atomic_load_n(&count->lines[line].n, __ATOMIC_ACQUIRE);
    return sum;
}
#endif

