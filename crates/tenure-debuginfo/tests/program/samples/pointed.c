#include "hook.h"
#include <pthread.h>

struct peer {
    long id;
    volatile long hits;
};

struct owner {
    char name[24];
    struct peer *peer;
};

struct row {
    struct peer peers[4];
};

struct guarded {
    long count;
    pthread_spinlock_t lock;
};

static struct peer one;
static struct row row;
static struct guarded guarded;
/* Not known when it is compiled. */
static volatile long chosen = 2;
struct peer *current = &one;

/* An instruction with the operand that the compiler chose, and its end. */
#define ADD(place, name) __asm__ volatile("lock incl %0\nend_" #name ":" : "+m"(place))
#define TELL(name) \
    do { \
        extern char end_##name[]; \
        printf("code " #name " %lx\n", (unsigned long)(end_##name - __ehdr_start)); \
    } while (0)

static __attribute__((noinline, noclone)) void of_parameter(struct peer *peer)
{
    ADD(peer->hits, parameter);
}

static __attribute__((noinline, noclone)) void of_member(struct owner *owner)
{
    ADD(owner->peer->hits, member);
}

static __attribute__((noinline, noclone)) void of_variable(void)
{
    ADD(current->hits, variable);
}

static inline __attribute__((always_inline)) void inner(struct peer *inlined)
{
    ADD(inlined->hits, inlined);
}

static __attribute__((noinline, noclone)) void of_inlined(struct owner *owner)
{
    inner(owner->peer);
}

static __attribute__((noinline, noclone)) void of_element(struct peer *peers, long index)
{
    ADD(peers[index].hits, element);
}

static __attribute__((noinline, noclone)) void of_row(struct row *row, long index)
{
    ADD(row->peers[index].hits, row);
}

static inline __attribute__((always_inline)) void take(pthread_spinlock_t *lock)
{
    ADD(*lock, lock);
}

static __attribute__((noinline, noclone)) void of_lock(struct guarded *guarded)
{
    take(&guarded->lock);
}

static __attribute__((noinline, noclone)) void of_number(volatile long *number)
{
    ADD(*number, number);
}

int main(void)
{
    static struct owner owner;
    owner.peer = current;
    of_parameter(&one);
    of_member(&owner);
    of_variable();
    of_inlined(&owner);
    of_element(row.peers, chosen);
    of_row(&row, chosen);
    of_lock(&guarded);
    of_number(&one.hits);
    TELL(parameter);
    TELL(member);
    TELL(variable);
    TELL(inlined);
    TELL(element);
    TELL(row);
    TELL(lock);
    TELL(number);
    return one.hits != 5 || row.peers[2].hits != 2;
}
