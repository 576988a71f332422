/* For ci/run_cost.py: what instrumented programs do most, as loops of nothing else. The argument says what. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;

/* Reads and writes of an array in the first cache. */
static void array(void) {
    static uint64_t words[1024];
    for (uint64_t i = 0; i < 300 << 20; i++)
        words[i & 1023] += i;
    sink = words[7];
}

/* The same of an array that no cache has. */
static void stream(void) {
    enum { WORDS = 32 << 20 };
    uint64_t *words = malloc(WORDS * sizeof *words);
    memset(words, 1, WORDS * sizeof *words);
    for (uint64_t round = 0; round < 6; round++)
        for (uint64_t i = 0; i < WORDS; i++)
            words[i] += round;
    sink = words[7];
    free(words);
}

/* Blocks of 4 KiB from here to there. */
static void copy(void) {
    static char from[4096], to[4096];
    for (uint64_t i = 0; i < 8 << 20; i++) {
        from[i & 4095]++;
        memcpy(to, from, sizeof to);
        sink = to[i & 4095];
    }
}

/* A sort, through a function that compares. */
static int compare(const void *one, const void *other) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return (left > right) - (left < right);
}
static void sort(void) {
    enum { MANY = 4 << 20 };
    uint32_t *numbers = malloc(MANY * sizeof *numbers), random = 1;
    for (int i = 0; i < MANY; i++)
        numbers[i] = random = random * 1664525 + 1013904223;
    qsort(numbers, MANY, sizeof *numbers, compare);
    sink = numbers[7];
    free(numbers);
}

/* A tree: small blocks that are allocated, linked, found and freed. */
struct node {
    struct node *child[2];
    uint32_t key, times;
};
static void free_all(struct node *node) {
    if (!node)
        return;
    free_all(node->child[0]);
    free_all(node->child[1]);
    free(node);
}
static void tree(void) {
    struct node *root = NULL;
    uint32_t random = 1;
    for (int i = 0; i < 1 << 20; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t key = random >> 12;
        struct node **at = &root;
        while (*at && (*at)->key != key)
            at = &(*at)->child[key > (*at)->key];
        if (!*at) {
            *at = calloc(1, sizeof **at);
            (*at)->key = key;
        }
        (*at)->times++;
    }
    sink = root->times;
    free_all(root);
}

/* A product of matrices. */
static void matrix(void) {
    enum { N = 640 };
    static double one[N][N], other[N][N], product[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            one[i][j] = i + j, other[i][j] = i - j;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                product[i][j] += one[i][k] * other[k][j];
    sink = (uint64_t)product[7][7];
}

/* Blocks that live for a moment. */
static void blocks(void) {
    for (int i = 0; i < 20 << 20; i++) {
        uint64_t *volatile block = malloc(16 + i % 500);
        block[1] = i;
        sink = block[1];
        free(block);
    }
}

/* Runs another program, and prints its processor time in seconds, its largest memory in KiB and its status. */
static int measure(char **command) {
    pid_t child = fork();
    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    struct rusage used;
    int status;
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 1;
    double seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    seconds += (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    fprintf(stderr, "%.3f %ld %d\n", seconds, used.ru_maxrss, status);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "measure") == 0)
        return measure(argv + 2);
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"array", array}, {"stream", stream}, {"copy", copy},     {"sort", sort},
        {"tree", tree},   {"matrix", matrix}, {"blocks", blocks},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (argc == 2 && strcmp(argv[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    return 2;
}
