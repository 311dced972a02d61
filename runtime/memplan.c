/* memplan.c - gives every block of memory its offset.
 *
 * Greedy by size: the largest block first, each into the smallest gap that is free during its life time (Pisarchyk and
 * Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). A pure function of life times, tested alone;
 * it knows neither values nor steps. Read next: plan_check.c. */
#include <stdlib.h>

#include "runtime/plan.h"

typedef struct placed_block {
    uint64_t bytes; /* rounded up to the alignment */
    int32_t index;
} placed_block;

static int compare_size(const void *a, const void *b) {
    const placed_block *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool meet(const tort_block *a, const tort_block *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* Where a block fits among those already placed, which are sorted by offset. */
static uint64_t best_gap(const tort_block *blocks, const placed_block *placed, int32_t count, int32_t index,
                         uint64_t bytes) {
    uint64_t free_from = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (int32_t i = 0; i < count; i++) {
        const tort_block *other = &blocks[placed[i].index];
        if (!meet(&blocks[index], other)) continue;
        uint64_t gap = other->offset > free_from ? other->offset - free_from : 0;
        if (gap >= bytes && gap < best_size) best = free_from, best_size = gap;
        if (other->offset + placed[i].bytes > free_from) free_from = other->offset + placed[i].bytes;
    }
    return best != UINT64_MAX ? best : free_from;
}

static void insert_sorted(const tort_block *blocks, placed_block *placed, int32_t count, placed_block block) {
    int32_t at = count;
    for (; at > 0 && blocks[placed[at - 1].index].offset > blocks[block.index].offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = block;
}

uint64_t tort_memory_plan(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align) {
    size_t bytes = (size_t)count * sizeof(placed_block);
    placed_block *order = tort_alloc(env, bytes + 1), *placed = tort_alloc(env, bytes + 1);
    uint64_t total = order && placed ? 0 : UINT64_MAX;
    for (int32_t i = 0; total != UINT64_MAX && i < count; i++) {
        if (blocks[i].bytes > (UINT64_MAX >> 16)) total = UINT64_MAX;
        order[i] = (placed_block){(blocks[i].bytes + align - 1) & ~(align - 1), i};
    }
    if (total != UINT64_MAX) qsort(order, (size_t)count, sizeof *order, compare_size);
    for (int32_t i = 0; total != UINT64_MAX && i < count; i++) {
        tort_block *block = &blocks[order[i].index];
        block->offset = best_gap(blocks, placed, i, order[i].index, order[i].bytes);
        insert_sorted(blocks, placed, i, order[i]);
        uint64_t end = block->offset + order[i].bytes;
        total = end < block->offset ? UINT64_MAX : end > total ? end : total;
    }
    tort_free(env, order, bytes + 1);
    tort_free(env, placed, bytes + 1);
    return total;
}
