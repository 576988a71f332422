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

static __attribute__((noinline)) double measure(void)
{
    add("measured");
    return (double)sum;
}

struct pair {
    long first, second;
};

static __attribute__((noinline)) struct pair pair_up(void)
{
    struct pair result = {add("paired"), sum};
    return result;
}

struct small {
    int first, second;
};

static __attribute__((noinline)) struct small shrink(void)
{
    struct small result = {(int)sum, 1};
    return result;
}

struct large {
    long all[3];
};

static __attribute__((noinline)) struct large enlarge(void)
{
    struct large result = {{sum, 1, 2}};
    return result;
}

typedef const __int128 wide;

static __attribute__((noinline)) wide widen(void)
{
    return (wide)sum << 64;
}

int main(int count, char **words)
{
    (void)words;
    sum += (long)measure() + pair_up().second + shrink().second + enlarge().all[1] + (long)widen();
    lose();
    end();
    compare(count > 1);
    store();
    return pass() != 7;
}
