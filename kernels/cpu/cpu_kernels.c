/* cpu_kernels.c - the tables of kernels of the provider `cpu` in this build; OPS=FILE keeps those of its operators.
 *
 * Fast rows come first; the last table has one row for any operator, which runs the plain loop of ops/. So this
 * provider claims every operator that has a plain loop, and the report names the fast rows that refused. A build
 * with CPU=plain has only that row. Read next: conv.c for a family with packed weights. */
#include "kernels/cpu/widened.h"

static tort_verdict claim_reference(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->op && node->op->reference) return tort_yes();
    return tort_no(TORT_NO_OP, "", "this operator has no plain loop in this build");
}

static const tort_kernel reference_kernels[] = {
    {"", "*", "reference", .claim = claim_reference},
    {.op = NULL},
};

/* Rows are asked in this order: a node that every fast row refuses goes to the reference row. */
// clang-format off
const tort_kernel *const tort_cpu_kernels[] = {
#ifndef TORT_CPU_PLAIN
    tort_cpu_blocked_window,
    tort_cpu_blocked_channels,
    tort_cpu_blocked_winograd,
    tort_cpu_blocked_conv,
    tort_cpu_conv,
    tort_cpu_point_transpose,
    tort_cpu_blocked_transpose,
    tort_cpu_conv_transpose,
    tort_cpu_blocked_byte_conv,
    tort_cpu_blocked_byte_window,
    tort_cpu_byte_depthwise,
    tort_cpu_byte_conv,
    tort_cpu_gemm,
    tort_cpu_matmul,
    tort_cpu_pool,
    tort_cpu_byte_pool,
    tort_cpu_map,
    tort_cpu_rows,
    tort_cpu_qlinear_matmul,
    tort_cpu_einsum,
    tort_cpu_channels,
    tort_cpu_resize,
    tort_cpu_rotary,
    tort_cpu_grid_sample,
    tort_cpu_roi_align,
    tort_cpu_topk,
    tort_cpu_deform_conv,
#ifdef TORT_OPS_MICROSOFT
    tort_cpu_heads,
    tort_cpu_matmul_nbits,
#endif
#ifdef TORT_OPS_ML
    tort_cpu_trees,
#endif
#ifdef TORT_OPS_MICROSOFT
    tort_cpu_qgemm,
    tort_cpu_qlinear_binary,
#endif
    tort_cpu_byte_table,
    tort_cpu_elements,
    tort_cpu_reduce,
    tort_cpu_move,
    tort_cpu_halves,
    tort_cpu_rnn,
#ifdef TORT_OPS_MICROSOFT
    tort_cpu_quantized_lstm,
#endif
    tort_cpu_quantize,
#endif
    reference_kernels,
    NULL,
};
// clang-format on
