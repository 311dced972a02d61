/* counting_env.h - an allocator that counts, fails on request, and checks the sizes that it is handed back. Threads may
 * use it at once: contexts of one session do. */
#ifndef TORT_TESTS_COUNTING_ENV_H
#define TORT_TESTS_COUNTING_ENV_H

#include "runtime/include/tinyort.h"

typedef struct tort_counting_env {
    tort_env env; /* to hand to the library */
    _Atomic int64_t allocations;
    int64_t fail_at; /* the allocation of this number (from 1) and all after it fail; 0: none */
    bool fail_once;  /* only the allocation of that number fails */
    size_t min_size; /* smaller ones are not counted, and do not fail */
    _Atomic int64_t live_blocks;
    _Atomic size_t live_bytes, max_bytes;
    _Atomic int64_t wrong_sizes; /* frees and growths with a size that was not the block's */
} tort_counting_env;

void tort_counting_env_init(tort_counting_env *counting);

#endif
