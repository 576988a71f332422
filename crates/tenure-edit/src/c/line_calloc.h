#ifndef LINE_CALLOC
#define LINE_CALLOC
/* calloc for types that are aligned to cache lines, which it does not do itself. free() frees the memory. */
__attribute__((unused)) static __inline void *line_calloc(__SIZE_TYPE__ count, __SIZE_TYPE__ size)
{
    __SIZE_TYPE__ bytes;
    void *memory = __builtin_mul_overflow(count, size, &bytes) ? 0 : aligned_alloc(64, bytes);
    return memory ? __builtin_memset(memory, 0, bytes) : 0;
}
#endif

