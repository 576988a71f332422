# Redis 7.0: the words that threads write, in front of the server's struct, on lines of their own, as `tenure layout --suggest` has them;
# and the number of bytes in use. For src/server.h and src/zmalloc.c.
/^    redisAtomic .*(lruclock|next_client_id|stat_net_|stat_total_|aof_bio_fsync_)/d
s/^struct redisServer \{/&\n    redisAtomic unsigned int lruclock __attribute__((aligned(64)));\n    redisAtomic uint64_t next_client_id;\n    redisAtomic long long stat_net_input_bytes, stat_net_output_bytes, stat_net_repl_input_bytes, stat_net_repl_output_bytes;\n    redisAtomic long long stat_total_reads_processed, stat_total_writes_processed;\n    redisAtomic int aof_bio_fsync_status, aof_bio_fsync_errno;/
s/^    pid_t pid; /    pid_t pid __attribute__((aligned(64)));/
s/^static redisAtomic size_t used_memory = 0;/static redisAtomic size_t used_memory_line[8] __attribute__((aligned(64)));\n#define used_memory (*used_memory_line)/
