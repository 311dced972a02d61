/* trees.c - walks down decision trees, several at a time, so that loads of one walk overlap those of the others.
 *
 * Without vectors: gathering 16 records and 16 features by a vector instruction takes longer than 16 loads. Records:
 * ../trees_pack.h. */
#include "kernels/cpu/simd/vector.h"
#include "kernels/cpu/ml/trees_pack.h"

enum { LANES = TORT_TREE_LANES, LEVELS = 4 };

/* Moves one level down. A leaf links to itself, so a walk that has arrived stays. */
INLINE uint32_t step(const tort_tree_record *tree, uint32_t at, const float *x, int64_t stride, uint32_t bits) {
    const tort_tree_record record = tree[at];
    const uint32_t column = record.link & ((1u << bits) - 1);
    return (record.link >> bits) + (x[(int64_t)column * stride] <= record.value ? 0 : 1);
}

/* Walks LEVELS levels at a time, until no walk moves. */
INLINE void walk(const tort_tree_record *const *trees, const float *x, int64_t stride, bool rows, uint32_t bits,
                 float *leaves) {
    uint32_t at[LANES] = {0}, moved;
    do {
        for (int level = 1; level < LEVELS; level++)
            for (int i = 0; i < LANES; i++) at[i] = step(trees[rows ? 0 : i], at[i], x + (rows ? i : 0), stride, bits);
        moved = 0;
        for (int i = 0; i < LANES; i++) {
            const uint32_t next = step(trees[rows ? 0 : i], at[i], x + (rows ? i : 0), stride, bits);
            moved |= next ^ at[i];
            at[i] = next;
        }
    } while (moved);
    for (int i = 0; i < LANES; i++) leaves[i] = trees[rows ? 0 : i][at[i]].value;
}

void SIMD(tort_simd_walk_rows)(const tort_tree_record *tree, const float *x, uint32_t bits, float *leaves) {
    walk(&tree, x, LANES, true, bits, leaves);
}

void SIMD(tort_simd_walk_trees)(const tort_tree_record *const *trees, const float *x, uint32_t bits, float *leaves) {
    walk(trees, x, 1, false, bits, leaves);
}
