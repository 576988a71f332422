#include <stdlib.h>
#include "hook.h"

struct worker {
    unsigned long hits;
    unsigned long misses;
    int state;
};

struct session {
    int refs;
    int flags;
    struct {
        long limit;
        long used;
    } quota;
    struct worker *owner;
    char name[24];
};

/* As many bytes as a session, other members. */
struct request {
    double when;
    char path[40];
    short status;
    short retries;
};

struct message {
    long length;
    long seen;
    char body[];
};

struct item {
    struct item *next;
    long times[2];
    union {
        long cas;
        char end;
    } data[];
};

static struct worker workers[4]; // workers
static unsigned long total;
struct request last;
struct session *current;

static inline __attribute__((always_inline)) void count(struct worker *worker)
{
    worker->hits++;
    code("count"); // count
    AFTER;
}

static __attribute__((noinline)) void step(struct worker *worker)
{
    count(worker); // step
    AFTER;
}

static __attribute__((noinline)) struct session *make(void)
{
    struct session *session = (struct session *)calloc(1, sizeof *session);
    code("allocate session"); // make
    AFTER;
    return session;
}

static __attribute__((noinline)) struct worker *pool(int n)
{
    struct worker *all = (struct worker *)calloc(n, sizeof *all);
    code("allocate workers");
    AFTER;
    return all;
}

static __attribute__((noinline)) void use(struct session *session, void *base)
{
    session->refs++;
    touch("session", base, &session->refs, 4);
    session->quota.used++;
    touch("session", base, &session->quota.used, 8);
    AFTER;
}

static __attribute__((noinline)) void work(struct worker *worker, void *base)
{
    worker->misses++;
    touch("workers", base, &worker->misses, 8);
    AFTER;
}

static __attribute__((noinline)) void see(struct message *message)
{
    message->seen++;
    touch("message", message, &message->seen, 8);
    message->body[3]++;
    touch("message", message, &message->body[3], 1);
    AFTER;
}

static __attribute__((noinline)) void store(struct item *item)
{
    item->data[1].cas++;
    touch("item", item, &item->data[1].cas, 8);
    AFTER;
}

/* Knows no more of it than where it is. */
static __attribute__((noinline)) void opaque(void *at)
{
    ((char *)at)[16] = 1;
    touch("opaque", at, (char *)at + 16, 8);
    AFTER;
}

int main(void)
{
    data("workers[2].misses", &workers[2].misses);
    data("total", &total);
    data("last.retries", &last.retries);
    step(&workers[1]); // main
    struct session *session = make();
    use(session, session);
    struct worker *all = pool(4);
    work(&all[3], all);
    work(&all[1], all);
    opaque(session);
    see((struct message *)calloc(1, sizeof(struct message) + 19));
    store((struct item *)calloc(1, sizeof(struct item) + 16));
    current = session;
    return (int)total;
}
