/* memplan.c - gives every block of memory its offset.
 *
 * Greedy by size: the largest block first, each into the smallest gap that is free during its life time (Pisarchyk and
 * Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Where that needs more than what lives at one
 * step, other orders are tried; plans for further shapes begin with the one that was best before. A block that meets
 * very many others goes on top of them, so that the time stays n log n. A block that may overlap another one
 * (tort_overlap) sees it smaller than it is. A pure function of life times, tested alone; it knows neither values nor
 * steps. Read next: plan_check.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/plan/plan.h"
#include "runtime/core/plan/timeline.h"

enum { ROUNDS = 8, MAX_REORDERED = 4096 }; /* reorderings to try; for up to so many blocks */
#define MAX_MET 256                        /* live blocks among which a gap is searched; networks have about ten */

typedef struct planner {
    tort_block *blocks;
    int32_t count;
    int32_t *by_key;   /* blocks in the order in which they are placed */
    int32_t *by_first; /* blocks sorted by first step */
    int32_t *rank;     /* position of each block in by_first */
    int32_t *latest;   /* max tree over by_first: the last step of placed blocks below a node; -1: none */
    int32_t leaves;
    const tort_env *env;
    int32_t steps, placed; /* placed: how many blocks of by_key have an offset */
    tort_timeline top;     /* highest end per step; opened for crowded blocks */
    bool has_top, failed;  /* failed: out of memory */
    int32_t met[MAX_MET + 1];
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

static uint64_t by_first(const tort_block *block) {
    return (uint64_t)block->first;
}

static uint64_t largest_first(const tort_block *block) {
    return UINT64_MAX - block->bytes;
}

static uint64_t steps_of(const tort_block *block) {
    return (uint64_t)(block->last - block->first) + 1;
}

/* Long-lived blocks take the low offsets; short-lived ones go above, and can share bytes there. */
static uint64_t longest_first(const tort_block *block) {
    return UINT64_MAX - steps_of(block);
}

static uint64_t max_first(const tort_block *block) {
    uint64_t product;
    return __builtin_mul_overflow(block->bytes, steps_of(block), &product) ? 0 : UINT64_MAX - product;
}

/* Blocks often come sorted by lifetime already: then qsort is skipped. */
static void sort_blocks(const planner *p, sorted_block *scratch, uint64_t (*key)(const tort_block *), int32_t *out) {
    bool sorted = true;
    for (int32_t i = 0; i < p->count; i++) {
        scratch[i] = (sorted_block){key(&p->blocks[i]), i};
        sorted = sorted && (i == 0 || scratch[i - 1].key <= scratch[i].key);
    }
    if (!sorted) qsort(scratch, (size_t)p->count, sizeof *scratch, compare_keys);
    for (int32_t i = 0; i < p->count; i++) out[i] = scratch[i].index;
}

/* ---- placed blocks that are live at the same time ---------------------------------------------------------------- */

/* The number of blocks that begin no later than step `last`: a prefix of by_first. */
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

/* Collects the placed blocks among by_first[0..begun) that end no earlier than step `first`, and stops where they are
 * more than MAX_MET. */
static void collect(planner *p, int32_t node, int32_t begin, int32_t end, int32_t begun, int32_t first) {
    if (begin >= begun || p->latest[node] < first || p->met_count > MAX_MET) return;
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

/* The offset above all placed blocks that are live with the block. */
static uint64_t top_of(planner *p, const tort_block *block) {
    if (!p->has_top && !tort_timeline_open(&p->top, p->env, p->steps)) {
        p->failed = true;
        return 0;
    }
    for (int32_t i = 0; !p->has_top && i < p->placed; i++) {
        const tort_block *other = &p->blocks[p->by_key[i]];
        if (other->bytes) tort_timeline_raise(&p->top, other->first, other->last, end_of(other));
    }
    p->has_top = true;
    return tort_timeline_highest(&p->top, block->first, block->last);
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* Offsets that a block must not have: above `from` and below `to`. */
typedef struct obstacle {
    int64_t from, to;
} obstacle;

static int compare_obstacles(const void *a, const void *b) {
    const obstacle *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Offsets that a placed block forbids to `block`: all that meet its bytes, unless one of the two may overlap the other.
 */
static obstacle obstacle_of(const planner *p, const tort_block *block, const tort_block *other) {
    const int64_t at = (int64_t)other->offset;
    if (block->over == other - p->blocks + 1) return (obstacle){at - block->below, at + block->rise};
    if (other->over == block - p->blocks + 1) return (obstacle){at - other->rise, at + other->below};
    return (obstacle){at - (int64_t)block->bytes, at + (int64_t)other->bytes};
}

static uint64_t best_gap(planner *p, const tort_block *block) {
    p->met_count = 0;
    collect(p, 1, 0, p->leaves, begun_by(p, block->last), block->first);
    if (p->met_count > MAX_MET) return top_of(p, block);
    obstacle obstacles[MAX_MET];
    int32_t count = 0;
    for (int32_t i = 0; i < p->met_count; i++) {
        obstacles[count] = obstacle_of(p, block, &p->blocks[p->met[i]]);
        if (obstacles[count].from < obstacles[count].to) count++;
    }
    qsort(obstacles, (size_t)count, sizeof *obstacles, compare_obstacles);
    int64_t free_from = 0, best = -1, best_size = INT64_MAX;
    for (int32_t i = 0; i < count; i++) {
        const int64_t spare = obstacles[i].from - free_from;
        if (spare >= 0 && spare < best_size) best = free_from, best_size = spare;
        if (obstacles[i].to > free_from) free_from = obstacles[i].to;
    }
    return (uint64_t)(best >= 0 ? best : free_from);
}

static uint64_t place_all(planner *p) {
    uint64_t total = 0;
    for (p->placed = 0; p->placed < p->count; p->placed++) {
        tort_block *block = &p->blocks[p->by_key[p->placed]];
        if (!block->bytes) continue; /* an empty block needs no offset */
        block->offset = best_gap(p, block);
        if (p->failed || end_of(block) < block->offset) return UINT64_MAX;
        if (end_of(block) > total) total = end_of(block);
        mark_placed(p, p->by_key[p->placed]);
    }
    return total;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Rounds sizes up to multiples of `align`. False: a size is too large to be added up. */
static bool round_sizes(const planner *p, uint64_t align, int32_t *steps) {
    *steps = 1;
    for (int32_t i = 0; i < p->count; i++) {
        tort_block *block = &p->blocks[i];
        if (block->bytes > (UINT64_MAX >> 16)) return false;
        block->bytes = (block->bytes + align - 1) & ~(align - 1);
        block->offset = 0;
        block->below = (int64_t)(((uint64_t)block->below + align - 1) & ~(align - 1));
        block->rise = (int64_t)(((uint64_t)block->rise + align - 1) & ~(align - 1));
        if (block->last >= *steps) *steps = block->last + 1;
    }
    return true;
}

/* Places all blocks in the order of by_key; returns the bytes needed. */
static uint64_t plan(planner *p) {
    if (p->has_top) tort_timeline_close(&p->top, p->env);
    p->has_top = false;
    for (int32_t i = 0; i < 2 * p->leaves; i++) p->latest[i] = -1;
    return place_all(p);
}

/* The maximum over all steps of the bytes that are live: a lower bound of any placement. A block that may overlap
 * another counts from the step after, when the other one has gone. `sums` holds steps + 1 entries. */
static uint64_t min_of(const planner *p, uint64_t *sums) {
    uint64_t max = 0;
    for (int32_t i = 0; i <= p->steps; i++) sums[i] = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const bool later = p->blocks[i].over && p->blocks[i].last > p->blocks[i].first;
        sums[p->blocks[i].first + later] += p->blocks[i].bytes;
        sums[p->blocks[i].last + 1] -= p->blocks[i].bytes;
    }
    for (int32_t i = 0; i < p->steps; i++) {
        if (i) sums[i] += sums[i - 1];
        if (sums[i] > max) max = sums[i];
    }
    return max;
}

/* Moves the block with the highest end to the front of the order. */
static void put_highest_first(planner *p) {
    int32_t at = 0;
    for (int32_t i = 1; i < p->count; i++)
        if (end_of(&p->blocks[p->by_key[i]]) > end_of(&p->blocks[p->by_key[at]])) at = i;
    const int32_t index = p->by_key[at];
    memmove(p->by_key + 1, p->by_key, (size_t)at * sizeof *p->by_key);
    p->by_key[0] = index;
}

/* The fewest bytes that an order needs: blocks are placed as sorted, then again up to `rounds` times, each time with
 * the highest block moved to the front. Stops at the lower bound `min`. */
static uint64_t try_order(planner *p, sorted_block *scratch, uint64_t (*key)(const tort_block *), uint64_t min,
                          int32_t rounds, int32_t *best_round) {
    uint64_t best = UINT64_MAX;
    sort_blocks(p, scratch, key, p->by_key);
    for (int32_t round = 0; round <= rounds && best > min && !p->failed; round++) {
        if (round) put_highest_first(p);
        const uint64_t total = plan(p);
        if (total < best) best = total, *best_round = round;
    }
    return best;
}

/* Places blocks by the first order that reaches the lower bound, else by the best of all orders tried. A plan that is
 * not the first begins with the order that was best before, and may take a sixteenth more: it is made while a run
 * waits. */
static uint64_t plan_best(planner *p, sorted_block *scratch, uint64_t min, uint32_t *hint) {
    static uint64_t (*const orders[])(const tort_block *) = {largest_first, longest_first, max_first};
    enum { ORDERS = sizeof orders / sizeof *orders };
    const int32_t rounds = p->count <= MAX_REORDERED ? ROUNDS : 0;
    const uint64_t enough = *hint ? min + min / 16 : min;
    uint64_t best = UINT64_MAX;
    uint32_t order = *hint ? *hint : 1;
    int32_t best_round = 0, round = 0;
    for (int32_t i = 0; i < ORDERS && best > enough && !p->failed; i++) {
        const uint64_t total = try_order(p, scratch, orders[order - 1], enough, rounds, &round);
        if (total < best) best = total, *hint = order, best_round = round;
        order = order == ORDERS ? 1 : order + 1;
    }
    if (best > enough && !p->failed) best = try_order(p, scratch, orders[*hint - 1], best, best_round, &round);
    return p->failed ? UINT64_MAX : best;
}

uint64_t tort_memory_plan(const tort_env *env, tort_block *blocks, int32_t count, uint64_t align, uint32_t *hint) {
    planner p = {.blocks = blocks, .count = count, .leaves = 1, .env = env};
    while (p.leaves < count) p.leaves *= 2;
    if (!round_sizes(&p, align, &p.steps)) return UINT64_MAX;
    const size_t n = (size_t)count + 1, tree = 2 * (size_t)p.leaves, steps = (size_t)p.steps + 1;
    int32_t *indices = tort_alloc(env, (3 * n + tree) * sizeof *indices);
    sorted_block *scratch = tort_alloc(env, n * sizeof *scratch);
    uint64_t *sums = tort_alloc(env, steps * sizeof *sums), total = UINT64_MAX;
    if (indices && scratch && sums) {
        p.by_key = indices;
        p.by_first = p.by_key + n;
        p.rank = p.by_first + n;
        p.latest = p.rank + n;
        sort_blocks(&p, scratch, by_first, p.by_first);
        for (int32_t i = 0; i < count; i++) p.rank[p.by_first[i]] = i;
        total = plan_best(&p, scratch, min_of(&p, sums), hint);
        if (p.has_top) tort_timeline_close(&p.top, env);
    }
    tort_free(env, indices, (3 * n + tree) * sizeof *indices);
    tort_free(env, scratch, n * sizeof *scratch);
    tort_free(env, sums, steps * sizeof *sums);
    return total;
}
