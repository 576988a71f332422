/* A program that is not instrumented, and calls a plugin that is from two threads. `close` unloads it again. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void (*bump)(int);

static void *work(void *which) {
    for (long i = 0; i < 2000000; i++)
        bump(which != 0);
    return 0;
}

int main(int count, char **words) {
    if (count < 2)
        return 0;
    void *plugin = dlopen(words[1], RTLD_NOW);
    if (!plugin) {
        puts(dlerror());
        return 1;
    }
    bump = (void (*)(int))dlsym(plugin, "bump");
    pthread_t one, other;
    pthread_create(&one, 0, work, 0);
    pthread_create(&other, 0, work, (void *)1);
    pthread_join(one, 0);
    pthread_join(other, 0);
    if (count > 2 && strcmp(words[2], "close") == 0 && dlclose(plugin) != 0)
        return 2;
    /* Memory of a thread that ends after the plugin is gone. */
    pthread_create(&one, 0, (void *(*)(void *))puts, "ended");
    pthread_join(one, 0);
    return 0;
}
