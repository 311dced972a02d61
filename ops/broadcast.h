/* broadcast.h - one loop over tensors of different shapes: numpy's broadcasting, or any strides, row by row.
 *
 * A tort_loop walks the elements of an output in order; every operand has a stride for each dimension. Dimensions that
 * all operands walk alike are merged, so that tensors of one shape are a single row, and a bias over [N,C,H,W] is N*C
 * rows of H*W. The body gets a row as element offsets and steps, which for broadcasting are 1 or 0 (repeated).
 * It knows no element types; see numeric.h for those. */
#ifndef TORT_OPS_BROADCAST_H
#define TORT_OPS_BROADCAST_H

#include "ops/numeric.h"

#define TORT_LOOP_OPERANDS 4
#define TORT_LOOP_RANK (TORT_MAX_RANK + 2) /* an axis may be split in blocks */

typedef struct tort_loop {
    int32_t rank, operands;
    int64_t count; /* elements of the output */
    int64_t dims[TORT_LOOP_RANK];
    int64_t strides[TORT_LOOP_OPERANDS][TORT_LOOP_RANK];
    int64_t steps[TORT_LOOP_OPERANDS]; /* strides of the innermost dimension */
} tort_loop;

/* Elements first .. first+count-1 of the output, which lie in one row; element i of operand k is at
 * offsets[k] + i * loop->steps[k]. */
typedef void (*tort_row)(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets);

/* A loop over the shape of an output; then an operand at a time; then tort_loop_ready. */
void tort_loop_begin(tort_loop *loop, int32_t rank, const int64_t *dims);
void tort_loop_operand(tort_loop *loop, const int64_t *strides); /* in elements, one a dimension */
void tort_loop_ready(tort_loop *loop);                           /* merges dimensions */

/* All of it: `count` inputs broadcast to the shape of `out`, to which they are known to fit. */
tort_loop tort_loop_broadcast(const tort_tensor *out, const tort_tensor *inputs, int32_t count);

/* Whether rows are so short that operands are better laid out beside each other first, by tort_loop_gather. */
bool tort_loop_short(const tort_loop *loop);
/* Elements first .. first+count-1 of the output: out[i] = the element of operand k, of `size` bytes (1, 2, 4, 8, 16).
 */
void tort_loop_gather(const tort_loop *loop, int32_t k, int64_t first, int64_t count, size_t size, const void *data,
                      void *out);

/* Elements begin .. end-1 of the output. */
void tort_loop_run(const tort_loop *loop, int64_t begin, int64_t end, tort_row row, void *arg);
/* All elements, on several threads where that pays; `work` is the rough cost of an element in nanoseconds times 16.
 * Threads share no byte of a packed output. */
void tort_loop_parallel(const tort_call *call, const tort_loop *loop, int64_t work, tort_row row, void *arg);

/* Elements first .. first+count-1 of the output, at most TORT_BLOCK, wherever rows end. */
typedef void (*tort_piece)(void *arg, const tort_loop *loop, int64_t first, int64_t count);
/* The same by pieces, for short rows. */
void tort_loop_pieces(const tort_call *call, const tort_loop *loop, int64_t work, tort_piece piece, void *arg);

#endif
