/* move_nhwc.c - rows of Concat, Split, Slice and Pad for images with channels last (nhwc.h), so that a network whose
 * convolutions have that layout does not convert images around them.
 *
 * Moving is the same in any order of axes: the plain functions get the operands' dimensions, and what the params say of
 * axes, in the order in which they lie in memory. Read first: move.c, pad.c. */
#include "kernels/cuda/move.h"

#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/pad.h"
#include "ops/concat.h"
#include "ops/slice.h"

enum { MAX_PARTS = 16 };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_move(const tort_target *target, const tort_node_view *node) {
    const tort_info *x = &node->inputs[0];
    const tort_verdict verdict = tort_cuda_claim_nhwc(target, node, x->rank > 1 ? x->dims[1] : 0);
    if (verdict.code != TORT_YES) return verdict;
    if (x->rank < 3 || x->rank > 2 + GPU_CONV_AXES) return tort_no(TORT_NO_SHAPE, "", "is for images of 1 to 3 axes");
    if (node->input_count > MAX_PARTS || node->output_count > MAX_PARTS)
        return tort_no(TORT_NO_SHAPE, "", "is for at most %d parts", MAX_PARTS);
    for (int32_t i = 0; i < node->output_count; i++)
        if (!tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "", "output %d is absent", (int)i);
    return verdict;
}

#ifdef CUDA_DEVICE
/* ---- the order of axes in memory --------------------------------------------------------------------------------- */

static int32_t place_of(int32_t axis, int32_t rank) {
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

static void order_axes(int32_t rank, const int64_t *from, int64_t *to) {
    for (int32_t d = 0; d < rank; d++) to[place_of(d, rank)] = from[d];
}

/* A call whose images have their dimensions in the order of memory. It lives as long as the original. */
typedef struct ordered_call {
    tort_call call;
    tort_tensor inputs[MAX_PARTS], outputs[MAX_PARTS];
} ordered_call;

static void order_images(int32_t rank, const tort_tensor *from, int32_t count, tort_tensor *to) {
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i];
        if (from[i].rank == rank) order_axes(rank, from[i].dims, to[i].dims);
    }
}

static void order_call(const tort_call *call, const void *params, ordered_call *ordered) {
    const int32_t rank = call->inputs[0].rank;
    ordered->call = *call;
    ordered->call.params = params;
    ordered->call.inputs = ordered->inputs;
    ordered->call.outputs = ordered->outputs;
    order_images(rank, call->inputs, call->input_count, ordered->inputs);
    order_images(rank, call->outputs, call->output_count, ordered->outputs);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static tort_status prepare_move(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, cudaSuccess); /* conversions copy boxes too */
}

static tort_status prepare_concat(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_join_rows(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status prepare_pad(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_pad(cuda_element_bytes(p->node->inputs[0].type)));
}

/* The params of Concat and of Split begin with the parts; what Split's have besides is for absent outputs, which the
 * claim refuses, and what Concat's have, for views. */
static tort_status run_parts(const tort_call *call, tort_status (*move)(const tort_call *call, tort_box_mover move)) {
    const tort_parts *plain = call->params;
    union {
        tort_concat_params concat;
        tort_split_params split;
    } params = {{.parts.axis = place_of(plain->axis, call->inputs[0].rank)}};
    ordered_call ordered;
    order_call(call, &params, &ordered);
    return move(&ordered.call, tort_cuda_move_box);
}

static tort_status run_concat(const tort_call *call) {
    return run_parts(call, tort_cuda_concat);
}

static tort_status run_split(const tort_call *call) {
    return run_parts(call, tort_move_split);
}

static tort_status run_slice(const tort_call *call) {
    const tort_slice_params *plain = call->params;
    tort_slice_params params = *plain;
    ordered_call ordered;
    order_axes(plain->rank, plain->starts, params.starts);
    order_axes(plain->rank, plain->steps, params.steps);
    order_call(call, &params, &ordered);
    return tort_move_slice(&ordered.call, tort_cuda_move_box);
}

static tort_status run_pad(const tort_call *call) {
    const tort_pad_params *plain = call->params;
    tort_pad_params params = *plain;
    ordered_call ordered;
    order_axes(plain->rank, plain->before, params.before);
    order_axes(plain->rank, plain->after, params.after);
    order_call(call, &params, &ordered);
    return tort_cuda_run_pad(&ordered.call);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, row_name, host, inputs_, outputs_, prepares, runs)                                                \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = row_name, .host_inputs = host, .claim = claim_move,                       \
        .prepare = CUDA_ONLY(prepares), .run = CUDA_ONLY(runs), .layout.id = GPU_NHWC, .layout.inputs = inputs_,       \
        .layout.outputs = outputs_, .layout.follows = true                                                             \
    }

const tort_kernel tort_cuda_move_nhwc_kernels[] = {
    ROW("Concat", "move_box_nhwc", 0, UINT32_MAX, 1, prepare_concat, run_concat),
    ROW("Split", "move_box_nhwc", 1u << 1, 1, UINT32_MAX, prepare_move, run_split),
    ROW("Slice", "move_box_nhwc", 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, 1, 1, prepare_move, run_slice),
    ROW("Pad", "pad_nhwc", 1u << 1 | 1u << 3, 1, 1, prepare_pad, run_pad),
    {.op = NULL},
};
