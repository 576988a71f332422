# ZeroMQ 4.3: the two words that both ends change, and nothing else, as `tenure layout --suggest` has it.
s/^    atomic_ptr_t<chunk_t> _spare/    alignas (ZMQ_CACHELINE_SIZE) atomic_ptr_t<chunk_t> _spare/
s/^    atomic_ptr_t<T> _c;/    alignas (ZMQ_CACHELINE_SIZE) atomic_ptr_t<T> _c;/
