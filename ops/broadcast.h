/* broadcast.h - one loop over tensors of different shapes: numpy's broadcasting, or any strides, row by row.
 *
 * A tort_loop walks the elements of an output in order; every operand has a stride for each dimension. Dimensions along
 * which all operands are contiguous are merged, so that tensors of equal shape are a single row, and a bias over
 * [N,C,H,W] is N*C rows of H*W. The body gets a row as element offsets and steps, which for broadcasting are 1 or 0
 * (repeated). The loop knows no element types; see numeric.h for those. */
#ifndef TORT_OPS_BROADCAST_H
#define TORT_OPS_BROADCAST_H

#include "ops/numeric.h"

#define TORT_LOOP_OPERANDS 4
#define TORT_LOOP_RANK (TORT_MAX_RANK + 2) /* one axis may be split into blocks */

typedef struct tort_loop {
    int32_t rank, operands;
    int64_t count; /* elements of the output */
    int64_t dims[TORT_LOOP_RANK];
    int64_t strides[TORT_LOOP_OPERANDS][TORT_LOOP_RANK];
    int64_t steps[TORT_LOOP_OPERANDS]; /* strides of the innermost dimension */
} tort_loop;

/* Body for elements first .. first+count-1 of the output, which lie in one row; element i of operand k is at offsets[k]
 * + i * loop->steps[k]. */
typedef void (*tort_row)(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets);

/* To build a loop: tort_loop_begin with the shape of the output, tort_loop_operand for each operand,
 * tort_loop_ready. */
void tort_loop_begin(tort_loop *loop, int32_t rank, const int64_t *dims);
void tort_loop_operand(tort_loop *loop, const int64_t *strides); /* in elements, one per dimension */
void tort_loop_ready(tort_loop *loop);                           /* merges dimensions */

/* Builds the whole loop: `count` inputs broadcast to the shape of `out`, to which they are known to fit. */
tort_loop tort_loop_broadcast(const tort_tensor *out, const tort_tensor *inputs, int32_t count);

/* True if rows are so short that it pays to copy operands into contiguous blocks first, by tort_loop_gather. */
bool tort_loop_short(const tort_loop *loop);
/* Copies elements first .. first+count-1: out[i] = the element of operand k, of `size` bytes (1, 2, 4, 8, 16). */
void tort_loop_gather(const tort_loop *loop, int32_t k, int64_t first, int64_t count, size_t size, const void *data,
                      void *out);

/* Runs `row` over elements begin .. end-1 of the output. */
void tort_loop_run(const tort_loop *loop, int64_t begin, int64_t end, tort_row row, void *arg);
/* Runs `row` over all elements, on several threads where that pays; `work` is the rough cost of an element in
 * nanoseconds times 16. Threads share no byte of a packed output. */
void tort_loop_parallel(const tort_call *call, const tort_loop *loop, int64_t work, tort_row row, void *arg);

/* Body for elements first .. first+count-1 of the output, at most TORT_BLOCK, which may span rows. */
typedef void (*tort_piece)(void *arg, const tort_loop *loop, int64_t first, int64_t count);
/* Like tort_loop_parallel by pieces, for short rows. */
void tort_loop_pieces(const tort_call *call, const tort_loop *loop, int64_t work, tort_piece piece, void *arg);

#endif
