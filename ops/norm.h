/* norm.h - params of the normalisations, for every provider. */
#ifndef TORT_OPS_NORM_H
#define TORT_OPS_NORM_H

#include "runtime/include/op.h"

/* LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization: X is `rows` contiguous rows of
 * `size` elements, each with statistics of its own: y = (x - mean) / sqrt(variance + epsilon) * scale + bias. scale and
 * bias broadcast to a view of X of shape dims[rank], by strides (0 where they repeat). */
typedef struct tort_norm_params {
    int64_t rows, size;
    double epsilon;
    bool centered; /* false: the mean counts as 0 (RMSNormalization) */
    int32_t rank;
    int64_t dims[TORT_MAX_RANK + 1]; /* GroupNormalization's view has one axis more than X */
    int64_t scale_strides[TORT_MAX_RANK + 1], bias_strides[TORT_MAX_RANK + 1];
} tort_norm_params;

/* Arguments of a run over all rows, on several threads where that pays. X is supplied by `load`: `count` elements of a
 * row from element `first` on. Tensors but y and scale may be NULL. */
typedef struct tort_norm_rows {
    const tort_call *call;
    const tort_norm_params *params;
    void (*load)(const struct tort_norm_rows *rows, int64_t row, int64_t first, int64_t count, double *values);
    const tort_tensor *x; /* for load */
    const void *arg;      /* for load */
    const tort_tensor *scale, *bias;
    const tort_tensor *y, *means, *inverses; /* means and inverses have one element per row */
    const tort_tensor *sums;                 /* receives X, as `load` supplies it */
} tort_norm_rows;

void tort_norm_run(const tort_norm_rows *rows);

/* BatchNormalization views X as [batch, channels, inner]; per-activation statistics (spatial=0) make every element
 * behind the batch a channel. Each channel: y = (x - mean) / sqrt(variance + epsilon) * scale + bias. */
typedef struct tort_batch_norm_params {
    int64_t batch, channels, inner;
    double epsilon, momentum;
    bool training; /* mean and variance are the batch's own; outputs 1 and 2 are the running ones */
} tort_batch_norm_params;

/* LpNormalization: lanes along an axis, as in softmax.h. */
typedef struct tort_lp_norm_params {
    int64_t outer, length, inner;
    int32_t p; /* 1 or 2 */
} tort_lp_norm_params;

/* LRN views X as [batch, channels, inner]; each element is divided by (bias + alpha / size * sum)^beta, where sum is
 * over the squares of channels c - before .. c + after. */
typedef struct tort_lrn_params {
    int64_t batch, channels, inner, before, after, size;
    double alpha, beta, bias;
} tort_lrn_params;

#endif
