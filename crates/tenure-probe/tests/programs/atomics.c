// Every atomic operation of every width gives what C says. Exits with the line of the first that does not.
#include <stdbool.h>
#include <stdint.h>

#define CHECK(what) do { if (!(what)) return __LINE__ & 0xff ? __LINE__ & 0xff : 1; } while (0)

#define SUITE(name, type)                                                                    \
    static int name(void) {                                                                  \
        static type word;                                                                    \
        type expected;                                                                       \
        __atomic_store_n(&word, 40, __ATOMIC_RELEASE);                                       \
        CHECK(__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 40);                               \
        CHECK(__atomic_fetch_add(&word, 5, __ATOMIC_RELAXED) == 40);                         \
        CHECK(__atomic_fetch_sub(&word, 3, __ATOMIC_SEQ_CST) == 45);                         \
        CHECK(__atomic_fetch_and(&word, 0x2e, __ATOMIC_SEQ_CST) == 42);                      \
        CHECK(__atomic_fetch_or(&word, 0x11, __ATOMIC_SEQ_CST) == 42);                       \
        CHECK(__atomic_fetch_xor(&word, 0x3, __ATOMIC_SEQ_CST) == 0x3b);                     \
        CHECK(__atomic_fetch_nand(&word, 0x3c, __ATOMIC_SEQ_CST) == 0x38);                   \
        CHECK(__atomic_load_n(&word, __ATOMIC_RELAXED) == (type)~(type)0x38);                \
        CHECK(__atomic_exchange_n(&word, 7, __ATOMIC_ACQ_REL) == (type)~(type)0x38);         \
        expected = 8;                                                                        \
        CHECK(!__atomic_compare_exchange_n(&word, &expected, 9, false, 5, 5));               \
        CHECK(expected == 7);                                                                \
        CHECK(__atomic_compare_exchange_n(&word, &expected, 9, false, 5, 0));                \
        CHECK(__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 9);                                \
        expected = 9;                                                                        \
        while (!__atomic_compare_exchange_n(&word, &expected, 10, true, 4, 2))               \
            CHECK(expected == 9);                                                            \
        CHECK(__atomic_load_n(&word, __ATOMIC_CONSUME) == 10);                               \
        return 0;                                                                            \
    }

SUITE(of8, uint8_t)
SUITE(of16, uint16_t)
SUITE(of32, uint32_t)
SUITE(of64, uint64_t)

// Programs call these for 16 bytes when they are compiled for processors that have the instruction.
typedef unsigned __int128 wide;
#define VOID volatile void *
wide __tsan_atomic128_load(const VOID, int);
void __tsan_atomic128_store(VOID, wide, int);
wide __tsan_atomic128_exchange(VOID, wide, int);
wide __tsan_atomic128_fetch_add(VOID, wide, int);
wide __tsan_atomic128_fetch_sub(VOID, wide, int);
wide __tsan_atomic128_fetch_nand(VOID, wide, int);
wide __tsan_atomic128_compare_exchange_val(VOID, wide, wide, int, int);
bool __tsan_atomic128_compare_exchange_strong(VOID, void *, wide, int, int);

static int of128(void) {
    static wide word;
    const wide high = (wide)3 << 100;
    __tsan_atomic128_store(&word, high, 5);
    CHECK(__tsan_atomic128_load(&word, 5) == high);
    CHECK(__tsan_atomic128_fetch_add(&word, high + 1, 5) == high);
    CHECK(__tsan_atomic128_fetch_sub(&word, 2, 5) == 2 * high + 1);
    CHECK(__tsan_atomic128_exchange(&word, 5, 5) == 2 * high - 1);
    CHECK(__tsan_atomic128_fetch_nand(&word, 4, 5) == 5);
    CHECK(__tsan_atomic128_compare_exchange_val(&word, 1, 2, 5, 5) == ~(wide)4);
    CHECK(__tsan_atomic128_compare_exchange_val(&word, ~(wide)4, high, 5, 5) == ~(wide)4);
    wide expected = 1;
    CHECK(!__tsan_atomic128_compare_exchange_strong(&word, &expected, 9, 5, 5) && expected == high);
    CHECK(__tsan_atomic128_compare_exchange_strong(&word, &expected, 9, 5, 5));
    CHECK(__tsan_atomic128_load(&word, 5) == 9);
    return 0;
}

int main(void) {
    int failed = of8();
    if (!failed) failed = of16();
    if (!failed) failed = of32();
    if (!failed) failed = of64();
    if (!failed) failed = of128();
    return failed;
}
