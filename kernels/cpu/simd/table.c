/* table.c - the table of one instruction set. Read next: gemm.c, rows.c. */
#include "kernels/cpu/simd/vector.h"

extern const tort_simd SIMD(tort_simd);

const tort_simd SIMD(tort_simd) = {
    .name = TEXT(TORT_SIMD),
    .instructions = INSTRUCTIONS,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .width = WIDTH,
    .tile = SIMD(tort_simd_tile),
    .pack_runs = SIMD(tort_simd_pack_runs),
    .pack_lanes = SIMD(tort_simd_pack_lanes),
    .store_planes = SIMD(tort_simd_store_planes),
    .weighted_sum = SIMD(tort_simd_weighted_sum),
    .maximum = SIMD(tort_simd_maximum),
    .row_product = SIMD(tort_simd_row_product),
    .row_dots = SIMD(tort_simd_row_dots),
    .maps = SIMD(tort_simd_maps),
    .finish = SIMD(tort_simd_finish),
    .add_whole = SIMD(tort_simd_add_whole),
    .nbits_rows = SIMD(tort_simd_nbits_rows),
    .nbits_unpack = SIMD(tort_simd_nbits_unpack),
    .linear_pair = SIMD(tort_simd_linear_pair),
    .requantize = SIMD(tort_simd_requantize),
    .softmax_row = SIMD(tort_simd_softmax_row),
    .log_softmax_row = SIMD(tort_simd_log_softmax_row),
    .normalize_row = SIMD(tort_simd_normalize_row),
    .row_sum = SIMD(tort_simd_row_sum),
    .shift_row = SIMD(tort_simd_shift_row),
    .shift_columns = SIMD(tort_simd_shift_columns),
    .walk_rows = SIMD(tort_simd_walk_rows),
    .walk_trees = SIMD(tort_simd_walk_trees),
    .multiply_adds = SIMD(tort_simd_multiply_adds),
};
