/* move.c - rows and claims of data movement: Transpose, Slice, Concat, Split, Expand, Tile, Pad and the like.
 *
 * ops/ decodes each into boxes (strided.h); here a box is moved by a kernel instead of by loops. Elements are moved by
 * size: float, half and every integer type alike. */
#include "kernels/cuda/move.h"

#include <string.h>

#include "ops/numeric.h"
#include "ops/pad.h"
#include "ops/strided.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_pad(const tort_target *target, const tort_node_view *node) {
    static const char *const mode_names[] = {"constant", "reflect", "edge", "wrap"};
    const tort_pad_params *params = node->params;
    if (params->mode != TORT_PAD_CONSTANT)
        return tort_no(TORT_NO_ATTR, "let cpu have the node", "mode is %s, the kernel has constant",
                       mode_names[params->mode]);
    return tort_cuda_claim_movable(target, node);
}

#ifdef CUDA_DEVICE
static int element_bytes(const tort_tensor *tensor) {
    return tort_type_bits(tensor->type) / 8;
}

/* The mover of device memory, for the decoders of ops/. */
static tort_status move_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    tort_box simple;
    int bytes = tort_type_bits(type) / 8;
    if (!tort_box_simplify(box, &simple)) return TORT_OK;
    gpu_box moved = {.rank = simple.rank};
    memcpy(moved.dims, simple.dims, sizeof moved.dims);
    memcpy(moved.dst_strides, simple.dst_strides, sizeof moved.dst_strides);
    memcpy(moved.src_strides, simple.src_strides, sizeof moved.src_strides);
    return cuda_launched(call, gpu_copy_box(cuda_stream_of(call), bytes, (char *)dst + simple.dst_first * bytes,
                                            (const char *)src + simple.src_first * bytes, &moved));
}

#define MOVE(name)                                                                                                     \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return tort_move_##name(call, move_box);                                                                       \
    }
MOVE(transpose)
MOVE(depth_to_space)
MOVE(space_to_depth)
MOVE(slice)
MOVE(concat)
MOVE(split)
MOVE(expand)
MOVE(tile)

/* Fills with the value, then moves what of the input is seen. The value is read on the host. */
static tort_status run_pad(const tort_call *call) {
    const tort_pad_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    bool given = call->input_count > 2 && tort_present(&call->inputs[2]);
    uint64_t value = 0;
    if (given)
        memcpy(&value, call->inputs[2].data, (size_t)element_bytes(y));
    else
        tort_store_floats(y->type, &value, 0, 1, &params->value);
    tort_status status =
        cuda_launched(call, gpu_fill(cuda_stream_of(call), element_bytes(y), y->data, (size_t)tort_count(y), &value));
    if (status) return status;
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    tort_box box = {0};
    tort_strides(x->rank, x->dims, src_strides);
    tort_strides(y->rank, y->dims, dst_strides);
    for (int32_t k = 0; k < x->rank; k++) {
        int64_t cut = params->before[k] < 0 ? -params->before[k] : 0;
        int64_t cut_after = params->after[k] < 0 ? -params->after[k] : 0;
        int64_t seen = x->dims[k] - cut - cut_after;
        box.src_first += cut * src_strides[k];
        box.dst_first += (params->before[k] > 0 ? params->before[k] : 0) * dst_strides[k];
        tort_box_add(&box, seen > 0 ? seen : 0, dst_strides[k], src_strides[k]);
    }
    return move_box(call, x->type, y->data, x->data, &box);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, kernel_name, claims, host, function)                                                              \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = kernel_name, .host_inputs = host, .claim = claims,                        \
        .run = CUDA_ONLY(function)                                                                                     \
    }

const tort_kernel tort_cuda_move_kernels[] = {
    ROW("Transpose", "move_box", tort_cuda_claim_movable, 0, run_transpose),
    ROW("DepthToSpace", "move_box", tort_cuda_claim_movable, 0, run_depth_to_space),
    ROW("SpaceToDepth", "move_box", tort_cuda_claim_movable, 0, run_space_to_depth),
    ROW("Slice", "move_box", tort_cuda_claim_movable, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, run_slice),
    ROW("Concat", "move_box", tort_cuda_claim_movable, 0, run_concat),
    ROW("Split", "move_box", tort_cuda_claim_movable, 1u << 1, run_split),
    ROW("Expand", "move_box", tort_cuda_claim_movable, 1u << 1, run_expand),
    ROW("Tile", "move_box", tort_cuda_claim_movable, 1u << 1 | 1u << 2, run_tile),
    ROW("Pad", "pad_constant", claim_pad, 1u << 1 | 1u << 2 | 1u << 3, run_pad),
    {.op = NULL},
};
