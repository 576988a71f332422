/* What a sample prints of itself: addresses of its own file. */
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
extern char __ehdr_start[];
#ifdef __cplusplus
}
#endif

/* "code NAME ADDRESS...": the return addresses from here, the innermost first. */
static __attribute__((noinline, unused)) void code(const char *name)
{
    void *stack[16];
    int count = backtrace(stack, 16);
    printf("code %s", name);
    for (int i = 1; i < count; i++)
        printf(" %lx", (unsigned long)((char *)stack[i] - __ehdr_start));
    printf("\n");
}

/* "data NAME ADDRESS" */
static __attribute__((noinline, unused)) void data(const char *name, const volatile void *at)
{
    printf("data %s %lx\n", name, (unsigned long)((char *)at - __ehdr_start));
}

/* "access NAME OFFSET SIZE ADDRESS...": of an allocation, by the code around. */
static __attribute__((noinline, unused)) void touch(const char *name, const volatile void *base,
                                                    const volatile void *at, unsigned size)
{
    void *stack[2];
    backtrace(stack, 2);
    printf("access %s %lx %x %lx\n", name, (unsigned long)((char *)at - (char *)base), size,
           (unsigned long)((char *)stack[1] - __ehdr_start));
    __asm__ volatile("" ::: "memory");
}

#define AFTER __asm__ volatile("" ::: "memory")
