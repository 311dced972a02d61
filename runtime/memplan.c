/* memplan.c - gives every block of memory its offset.
 *
 * Greedy by size: the largest block first, each into the smallest gap that is free during its life time (Pisarchyk and
 * Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). A block that meets very many others goes on
 * top of them, so that the time stays n log n. A pure function of life times, tested alone; it knows neither values nor
 * steps. Read next: plan_check.c. */
#include <stdlib.h>

#include "runtime/plan.h"
#include "runtime/timeline.h"

#define MOST_MET 256 /* blocks placed already among which a gap is looked for; networks have some ten */

typedef struct planner {
    tort_block *blocks;
    int32_t count;
    int32_t *by_size;  /* blocks, the largest first */
    int32_t *by_first; /* blocks, by the step in which they begin ... */
    int32_t *rank;     /* ... and where in by_first each block stands */
    int32_t *latest;   /* a tree over by_first: the last step of any placed block below a node; -1 */
    int32_t leaves;
    const tort_env *env;
    int32_t steps, placed; /* blocks placed, the first of by_size */
    tort_timeline top;     /* of what is placed: once a block met too many others */
    bool has_top, failed;  /* out of memory */
    int32_t met[MOST_MET + 1];
    int32_t met_count;
} planner;

static uint64_t end_of(const tort_block *block) {
    return block->offset + block->bytes;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct sorted_block {
    uint64_t key;
    int32_t index;
} sorted_block;

static int compare_keys(const void *a, const void *b) {
    const sorted_block *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Blocks mostly come in the order of their life times: then there is nothing to sort. */
static void sort_blocks(const planner *p, sorted_block *scratch, bool by_size, int32_t *out) {
    bool sorted = true;
    for (int32_t i = 0; i < p->count; i++) {
        scratch[i] = (sorted_block){by_size ? UINT64_MAX - p->blocks[i].bytes : (uint64_t)p->blocks[i].first, i};
        sorted = sorted && (i == 0 || scratch[i - 1].key <= scratch[i].key);
    }
    if (!sorted) qsort(scratch, (size_t)p->count, sizeof *scratch, compare_keys);
    for (int32_t i = 0; i < p->count; i++) out[i] = scratch[i].index;
}

/* ---- which placed blocks live at the same time ------------------------------------------------------------------- */

/* Blocks that begin no later than step `last`: so many of by_first. */
static int32_t begun_by(const planner *p, int32_t last) {
    int32_t low = 0, high = p->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (p->blocks[p->by_first[middle]].first <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Collects placed blocks among by_first[0..begun) that end no earlier than step `first`, one too many at most. */
static void collect(planner *p, int32_t node, int32_t begin, int32_t end, int32_t begun, int32_t first) {
    if (begin >= begun || p->latest[node] < first || p->met_count > MOST_MET) return;
    if (end - begin == 1) {
        p->met[p->met_count++] = p->by_first[begin];
        return;
    }
    const int32_t middle = begin + (end - begin) / 2;
    collect(p, 2 * node, begin, middle, begun, first);
    collect(p, 2 * node + 1, middle, end, begun, first);
}

static void mark_placed(planner *p, int32_t index) {
    const tort_block *block = &p->blocks[index];
    for (int32_t node = p->leaves + p->rank[index]; node; node /= 2)
        if (p->latest[node] < block->last) p->latest[node] = block->last;
    if (p->has_top) tort_timeline_raise(&p->top, block->first, block->last, end_of(block));
}

/* On top of all that it meets. */
static uint64_t top_of(planner *p, const tort_block *block) {
    if (!p->has_top && !tort_timeline_open(&p->top, p->env, p->steps)) {
        p->failed = true;
        return 0;
    }
    for (int32_t i = 0; !p->has_top && i < p->placed; i++) {
        const tort_block *other = &p->blocks[p->by_size[i]];
        if (other->bytes) tort_timeline_raise(&p->top, other->first, other->last, end_of(other));
    }
    p->has_top = true;
    return tort_timeline_highest(&p->top, block->first, block->last);
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

static void sort_by_offset(planner *p) {
    sorted_block sorted[MOST_MET];
    for (int32_t i = 0; i < p->met_count; i++) sorted[i] = (sorted_block){p->blocks[p->met[i]].offset, p->met[i]};
    qsort(sorted, (size_t)p->met_count, sizeof *sorted, compare_keys);
    for (int32_t i = 0; i < p->met_count; i++) p->met[i] = sorted[i].index;
}

static uint64_t best_gap(planner *p, const tort_block *block) {
    p->met_count = 0;
    collect(p, 1, 0, p->leaves, begun_by(p, block->last), block->first);
    if (p->met_count > MOST_MET) return top_of(p, block);
    sort_by_offset(p);
    uint64_t free_from = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (int32_t i = 0; i < p->met_count; i++) {
        const tort_block *other = &p->blocks[p->met[i]];
        const uint64_t gap = other->offset > free_from ? other->offset - free_from : 0;
        if (gap >= block->bytes && gap < best_size) best = free_from, best_size = gap;
        if (end_of(other) > free_from) free_from = end_of(other);
    }
    return best != UINT64_MAX ? best : free_from;
}

static uint64_t place_all(planner *p) {
    uint64_t total = 0;
    for (p->placed = 0; p->placed < p->count; p->placed++) {
        tort_block *block = &p->blocks[p->by_size[p->placed]];
        if (!block->bytes) continue; /* it is anywhere */
        block->offset = best_gap(p, block);
        if (p->failed || end_of(block) < block->offset) return UINT64_MAX;
        if (end_of(block) > total) total = end_of(block);
        mark_placed(p, p->by_size[p->placed]);
    }
    return total;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Sizes become multiples of `align`. False: a size is beyond all bounds. */
static bool round_sizes(const planner *p, uint64_t align, int32_t *steps) {
    *steps = 1;
    for (int32_t i = 0; i < p->count; i++) {
        tort_block *block = &p->blocks[i];
        if (block->bytes > (UINT64_MAX >> 16)) return false;
        block->bytes = (block->bytes + align - 1) & ~(align - 1);
        block->offset = 0;
        if (block->last >= *steps) *steps = block->last + 1;
    }
    return true;
}

static uint64_t plan(planner *p, sorted_block *scratch) {
    sort_blocks(p, scratch, true, p->by_size);
    sort_blocks(p, scratch, false, p->by_first);
    for (int32_t i = 0; i < p->count; i++) p->rank[p->by_first[i]] = i;
    for (int32_t i = 0; i < 2 * p->leaves; i++) p->latest[i] = -1;
    return place_all(p);
}

uint64_t tort_memory_plan(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align) {
    planner p = {.blocks = blocks, .count = count, .leaves = 1, .env = env};
    while (p.leaves < count) p.leaves *= 2;
    if (!round_sizes(&p, align, &p.steps)) return UINT64_MAX;
    const size_t n = (size_t)count + 1, tree = 2 * (size_t)p.leaves;
    int32_t *indices = tort_alloc(env, (3 * n + tree) * sizeof *indices);
    sorted_block *scratch = tort_alloc(env, n * sizeof *scratch);
    uint64_t total = UINT64_MAX;
    if (indices && scratch) {
        p.by_size = indices;
        p.by_first = p.by_size + n;
        p.rank = p.by_first + n;
        p.latest = p.rank + n;
        total = plan(&p, scratch);
        if (p.has_top) tort_timeline_close(&p.top, env);
    }
    tort_free(env, indices, (3 * n + tree) * sizeof *indices);
    tort_free(env, scratch, n * sizeof *scratch);
    return total;
}
