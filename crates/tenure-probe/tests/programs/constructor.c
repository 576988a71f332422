/* A library that first.cpp loads. */
void wait_for_all(void);
__attribute__((constructor)) static void construct(void) { wait_for_all(); }
