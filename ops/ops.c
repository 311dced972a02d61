/* ops.c - the list of operator families in this build: edit it to shrink a firmware build.
 *
 * Each family is one file with its rows in a table at its end. */
#include "runtime/op.h"

extern const tort_op tort_ops_unary[], tort_ops_activation[], tort_ops_binary[], tort_ops_variadic[], tort_ops_where[],
    tort_ops_cast[], tort_ops_cumulative[], tort_ops_quantize[], tort_ops_dropout[], tort_ops_random[],
    tort_ops_metadata[], tort_ops_constant[], tort_ops_generate[], tort_ops_concat[], tort_ops_slice[], tort_ops_pad[],
    tort_ops_transpose[], tort_ops_expand[], tort_ops_gather[], tort_ops_scatter[], tort_ops_resize[], tort_ops_topk[],
    tort_ops_select[], tort_ops_reverse_sequence[], tort_ops_grid_sample[], tort_ops_conv[], tort_ops_conv_transpose[],
    tort_ops_pool[], tort_ops_max_unpool[], tort_ops_gemm[], tort_ops_matmul[], tort_ops_einsum[], tort_ops_norm[],
    tort_ops_softmax[], tort_ops_reduce[], tort_ops_integer_matmul[], tort_ops_attention[], tort_ops_window[];

const tort_op *const tort_op_families[] = {
    tort_ops_unary,       tort_ops_activation, tort_ops_binary,
    tort_ops_variadic,    tort_ops_where,      tort_ops_cast,
    tort_ops_cumulative,  tort_ops_quantize,   tort_ops_dropout,
    tort_ops_random,      tort_ops_metadata,   tort_ops_constant,
    tort_ops_generate,    tort_ops_concat,     tort_ops_slice,
    tort_ops_pad,         tort_ops_transpose,  tort_ops_expand,
    tort_ops_gather,      tort_ops_scatter,    tort_ops_resize,
    tort_ops_topk,        tort_ops_select,     tort_ops_reverse_sequence,
    tort_ops_grid_sample, tort_ops_conv,       tort_ops_conv_transpose,
    tort_ops_pool,        tort_ops_max_unpool, tort_ops_gemm,
    tort_ops_matmul,      tort_ops_einsum,     tort_ops_norm,
    tort_ops_softmax,     tort_ops_reduce,     tort_ops_integer_matmul,
    tort_ops_attention,   tort_ops_window,     NULL,
};
