#include "hook.h"

/* Prints where it returns to, as `touch` does. */
static __attribute__((noinline)) long add(const char *name)
{
    printf("code %s %lx\n", name, (unsigned long)((char *)__builtin_return_address(0) - __ehdr_start));
    AFTER;
    return 7;
}

static volatile long sum;

static __attribute__((noinline)) void lose(void)
{
    add("lost");
    sum++;
}

static __attribute__((noinline)) void end(void)
{
    sum++;
    add("ends");
    AFTER;
}

static __attribute__((noinline)) long pass(void)
{
    long result = add("returned");
    AFTER;
    return result;
}

static __attribute__((noinline)) void compare(int is_rare)
{
    long result = add("compared");
    if (is_rare)
        sum += result == 1;
    else
        sum--;
}

static __attribute__((noinline)) void store(void)
{
    sum = add("stored");
}

int main(int count, char **words)
{
    (void)words;
    lose();
    end();
    compare(count > 1);
    store();
    return pass() != 7;
}
