/* memsplit.c - places blocks in two memories, a small fast one and a large slow one, as microcontrollers have them.
 *
 * Greedy: blocks are offered to the fast memory one by one, those first that use it best, and each stays if memplan.c
 * still finds a place for all that are there. A block is written and read a few times however long it lives, so
 * short-lived ones use their bytes best: scratch, then values between neighbours, and a value that waits for a distant
 * step last; of the same length, the smaller ones, as more of them fit. */
#include <stdlib.h>

#include "runtime/core/plan/plan.h"

typedef struct offer {
    uint64_t steps, bytes; /* that a block lives and takes */
    int32_t block;
} offer;

static int compare_offers(const void *a, const void *b) {
    const offer *x = a, *y = b;
    if (x->steps != y->steps) return x->steps < y->steps ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* Plans the blocks that are in one of the memories by themselves, from `base` on; `part` and `place` have room for all.
 * Returns the end of their bytes. */
static uint64_t plan_part(const tort_env *env, tort_block *blocks, const bool *fast, int32_t count, uint64_t align,
                          bool which, uint64_t base, tort_block *part, int32_t *place) {
    int32_t in = 0;
    uint32_t order = 0;
    for (int32_t i = 0; i < count; i++) place[i] = fast[i] == which ? in++ : -1;
    for (int32_t i = 0; i < count; i++) {
        if (place[i] < 0) continue;
        part[place[i]] = blocks[i];
        const int32_t over = blocks[i].over ? place[blocks[i].over - 1] : -1;
        part[place[i]].over = over + 1;
    }
    const uint64_t total = tort_memory_plan(env, part, in, align, &order);
    for (int32_t i = 0; i < count && total != UINT64_MAX; i++) {
        if (place[i] < 0) continue;
        blocks[i].offset = base + part[place[i]].offset;
        blocks[i].bytes = part[place[i]].bytes;
    }
    return total < UINT64_MAX - base ? base + total : UINT64_MAX;
}

uint64_t tort_memory_split(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align,
                           uint64_t fast_bytes) {
    const size_t n = (size_t)count + 1;
    tort_block *part = tort_alloc(env, n * sizeof *part);
    offer *offers = tort_alloc(env, n * sizeof *offers);
    int32_t *place = tort_alloc(env, n * sizeof *place);
    bool *fast = tort_alloc(env, n * sizeof *fast);
    uint64_t total = UINT64_MAX;
    if (part && offers && place && fast) {
        for (int32_t i = 0; i < count; i++) {
            offers[i] = (offer){(uint64_t)(blocks[i].last - blocks[i].first), blocks[i].bytes, i};
            fast[i] = false;
        }
        qsort(offers, (size_t)count, sizeof *offers, compare_offers);
        for (int32_t i = 0; i < count; i++) {
            fast[offers[i].block] = true;
            const uint64_t bytes = plan_part(env, blocks, fast, count, align, true, 0, part, place);
            fast[offers[i].block] = bytes <= fast_bytes;
        }
        plan_part(env, blocks, fast, count, align, true, 0, part, place);
        total = plan_part(env, blocks, fast, count, align, false, fast_bytes, part, place);
    }
    tort_free(env, part, n * sizeof *part);
    tort_free(env, offers, n * sizeof *offers);
    tort_free(env, place, n * sizeof *place);
    tort_free(env, fast, n * sizeof *fast);
    return total;
}
