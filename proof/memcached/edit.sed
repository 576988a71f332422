# memcached 1.6: each lock of lists and of items on a line of its own. For crawler.c, items.c, items.h and thread.c.
s/&(lru_locks|item_locks)\[([^]]*)\]/\&\1[\2].lock/g
s/^extern pthread_mutex_t lru_locks/typedef struct { pthread_mutex_t lock; } __attribute__((aligned(64))) padded_lock;\nextern padded_lock lru_locks/
s/^pthread_mutex_t lru_locks/padded_lock lru_locks/
s/^static pthread_mutex_t \*item/static padded_lock *item/
s/calloc\(item_lock_count, sizeof\(pthread_mutex_t\)\)/aligned_alloc(64, item_lock_count * sizeof(padded_lock))/
