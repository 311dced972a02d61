/* saved_plan.h - what tests and the fuzzer of saved plans share: a plan in memory, and one whose checksums are right
 * again, so that what is behind them is reached. */
#ifndef TORT_TESTS_SAVED_PLAN_H
#define TORT_TESTS_SAVED_PLAN_H

#include "runtime/include/tinyort_plan.h"

typedef struct saved_bytes {
    uint8_t *data; /* malloc'ed */
    size_t size, capacity;
} saved_bytes;

/* Appends to the saved_bytes that it writes to. */
tort_writer saved_writer(saved_bytes *bytes);
/* Puts the checksums right, as far as the bytes still tell where they are. */
void saved_reseal(uint8_t *data, size_t size);

#endif
