# ZeroMQ 4.3: in a pipe, what the writer keeps, what the reader keeps, and what they share, on lines of their own. For src/yqueue.hpp and
# src/ypipe.hpp.
s/^    chunk_t \*_(begin|back)_chunk;/    alignas (ZMQ_CACHELINE_SIZE) chunk_t *_\1_chunk;/
s/^    atomic_ptr_t<chunk_t> _spare/    alignas (ZMQ_CACHELINE_SIZE) atomic_ptr_t<chunk_t> _spare/
s/^    T \*_(w|r|f);/    alignas (ZMQ_CACHELINE_SIZE) T *_\1;/
s/^    atomic_ptr_t<T> _c;/    alignas (ZMQ_CACHELINE_SIZE) atomic_ptr_t<T> _c;/
