/* Functions whose accesses are counted. Each does what its name says, and no more. */
struct lock {
    int word;
};

struct session {
    int refs;             /* an int, and contended */
    volatile long hits;
    void (*const *ops)(void);
    struct session *next;
    struct lock lock;
    long guarded;
    struct {
        long first, second;
    } pair;
    long table[4];
};

struct request {
    long id;
    struct session session;
    struct session *parent;
};

struct session global;
long plain_global;

#define API __attribute__((noinline, noclone))

API void get(struct session *session) { __atomic_fetch_add(&session->refs, 1, __ATOMIC_SEQ_CST); }

API int put(struct session *session) { return __atomic_sub_fetch(&session->refs, 1, __ATOMIC_SEQ_CST); }

API int try_get(struct session *session)
{
    int one = 1;
    return __atomic_compare_exchange_n(&session->refs, &one, 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

API int swap(struct session *session) { return __atomic_exchange_n(&session->refs, 7, __ATOMIC_SEQ_CST); }

API long next_hits(struct session *session) { return session->next->hits; }

API void call(struct session *session) { (*session->ops)(); }

API void embedded(struct request *request) { request->session.hits = 1; }

API long parent_guarded(struct request *request) { return request->parent->guarded; }

API void set_second(struct session *session) { session->pair.second = 3; }

API long loop(struct session *session)
{
    long sum = 0;
    for (struct session *at = session; at; at = at->next)
        sum += at->guarded;
    return sum;
}

API void set_element(struct session *session, long index) { session->table[index] = 1; }

API void of_global(void)
{
    __atomic_fetch_add(&global.refs, 1, __ATOMIC_RELAXED);
    plain_global = 1;
}

API void spin_lock(struct lock *lock) { __atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE); }

API void locked(struct session *session)
{
    spin_lock(&session->lock);
    session->guarded++;
}

API struct session *find(struct session *session) { return session->next; }

API void of_result(struct session *session) { find(session)->hits = 2; }

API long of_number(long *number) { return *number; }

static inline __attribute__((always_inline)) void inner(struct session *inlined) { inlined->guarded = 5; }

API void of_inlined(struct request *request) { inner(&request->session); }

int main(void)
{
    static struct request request;
    of_global();
    get(&global);
    put(&global);
    try_get(&global);
    swap(&global);
    return (int)(loop(0) + of_number(&plain_global));
}
