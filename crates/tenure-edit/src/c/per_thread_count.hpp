#ifndef PER_THREAD_COUNT
#define PER_THREAD_COUNT 32
// A count: each thread adds to a line of its own, and a read sums them. Threads share the lines if they are more than these.
template <typename T>
class PerThreadCount {
public:
    constexpr PerThreadCount(T first = 0) : first_(first), before_(), lines_() {}
    PerThreadCount(const PerThreadCount &other) : PerThreadCount(other.load()) {}
    PerThreadCount &operator=(const PerThreadCount &) = delete;
    template <typename... Order> void fetch_add(T n, Order...) { add(n); }
    template <typename... Order> void fetch_sub(T n, Order...) { add(0 - n); }
    template <typename... Order> T load(Order...) const {
        T sum = first_;
        for (const Line &line : lines_) sum += __atomic_load_n(&line.n, __ATOMIC_ACQUIRE);
        return sum;
    }
    operator T() const { return load(); }
    void operator+=(T n) { add(n); }
    void operator-=(T n) { add(0 - n); }
    void operator++() { add(1); }
    void operator++(int) { add(1); }
    void operator--() { add(0 - T(1)); }
    void operator--(int) { add(0 - T(1)); }
private:
    struct Line { T n; char rest[64 - sizeof(T)]; };
    void add(T n) {
        static unsigned threads;
        static thread_local unsigned thread = __atomic_fetch_add(&threads, 1u, __ATOMIC_RELAXED);
        __atomic_fetch_add(&lines_[thread % PER_THREAD_COUNT].n, n, __ATOMIC_RELEASE);
    }
    T first_;
    char before_[64];
    Line lines_[PER_THREAD_COUNT];
};
#endif

