/* Elements of arrays that are written: by a variable, by the thread's own number, by a loop's, and by name. */
struct worker {
    long done;
    int state, id;
    void *queue;
};

struct pool {
    long size;
    unsigned int load[16];
    struct worker *workers;
};

long counts[64];
struct worker table[64];
__thread int own;

#define API __attribute__((noinline, noclone))

API void by_argument(long id) { counts[id]++; }

API void by_own(void) { counts[own] += 2; }

/* A number that the thread gets at the first time. */
API void by_own_first(void)
{
    static int next;
    if (own == 0)
        own = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
    counts[own] += 4;
}

API void by_name(void) { counts[5]++; }

API void by_loop(void)
{
    for (long id = 0; id < 64; id++)
        counts[id] += id * id;
}

/* The first element, or one that a variable chooses. The types of pointers would say more than the registers. */
API void of_either(long id, long which)
{
    unsigned long one = (unsigned long)counts, other = (unsigned long)&counts[id];
    asm volatile("test %1, %1\n\tcmovne %2, %0" : "+r"(one) : "r"(which), "r"(other) : "cc");
    *(long *)one = which;
}

API void by_list(struct worker *all, long step)
{
    for (struct worker *at = all; at; at = at->queue)
        table[at->id].state = (int)step;
}

/* In a loop that does not choose. */
API void in_loop(long id, volatile long *left)
{
    while (*left)
        counts[id]++;
}

API void of_struct(int id) { table[id].done += 3; }

API void of_member(struct pool *pool, int id) { pool->load[id]++; }

API void of_heap(struct pool *pool, long id) { pool->workers[id].state = 7; }

API void of_heap_loop(struct pool *pool)
{
    for (long id = 0; id < pool->size; id++)
        pool->workers[id].done += id;
}

API void update(struct pool *pool, long more) { pool->size += more; }

int pthread_mutex_lock(void *lock);
long lock_word[5];

API void with_lock(struct pool *pool)
{
    pthread_mutex_lock(lock_word);
    pool->size = 1;
}

int main(int count, char **all)
{
    by_argument(count);
    by_own();
    by_own_first();
    by_name();
    by_loop();
    of_either(count, count);
    return all[0] == (char *)counts;
}
