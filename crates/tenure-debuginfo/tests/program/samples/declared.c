/* Functions of which BTF declares the arguments, or does not say enough. */
#include "declared.h"

/* What the compiler calls first in each other function, as kernels have it: it keeps all registers. */
__attribute__((naked, no_instrument_function)) void __fentry__(void) { __asm__("ret"); }

API void second(long id, struct session *session) { __atomic_fetch_add(&session->refs, id, __ATOMIC_SEQ_CST); }

API void sixth(int a, int b, int c, int d, int e, struct session *session) { session->hits = a + b + c + d + e; }

API void on_stack(int a, int b, int c, int d, int e, int f, struct session *session) { session->hits = a + b + c + d + e + f; }

/* In a vector register, so the pointer is in the first of the others. */
API void behind_double(double by, struct session *session) { session->hits = (long)by; }

API void behind_struct(struct pair pair, struct session *session) { session->hits = pair.first; }

API void behind_wide(__int128 wide, struct session *session) { session->hits = (long)wide; }

/* The first register has the address of the result. */
API struct triple large(struct session *session) { return (struct triple){session->hits, 2, 3}; }

API long variable(struct session *session, ...) { return session->hits; }

API void undeclared(struct session *session) { session->hits = 1; }

API void several(struct session *session) { session->hits = 1; }

/* A compiler's variant. */
API void variant(struct session *session) __asm__("step.isra.0");
API void variant(struct session *session) { session->hits = 1; }
API void step(struct session *session) { session->refs = 1; }

/* Two names of one function. */
API void known(struct session *session) { session->hits = 1; }
void alias(struct session *session) __attribute__((alias("known")));

__attribute__((cold)) API void rare(void) { __asm__ volatile(""); }

API void seldom(struct session *session)
{
    if (__builtin_expect(session->refs == 7, 0)) {
        rare();
        session->hits = 3;
        rare();
    }
}

/* Habits of kernels: this section, and a warning that is a trap and returns. */
__asm__(".pushsection __bug_table,\"a\"; .long 0; .popsection");

API void warned(struct session *session)
{
    if (__builtin_expect(session->refs == 7, 0))
        __asm__ volatile("ud2");
    session->hits++;
    if (session->hits == 7)
        session->refs = 1;
}

static API void twin(struct session *session) { session->hits = 1; }

int main(int count, char **words)
{
    struct session *session = (struct session *)words;
    twin(session);
    other(session);
    return count;
}
