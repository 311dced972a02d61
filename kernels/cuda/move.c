/* move.c - rows and claims of data movement: Transpose, Slice, Concat, Split, Expand, Tile and the like, and
 * Dropout.
 *
 * ops/ decodes each into boxes (strided.h); here a kernel moves a box instead of loops. Elements are moved by size:
 * float, half and every integer type alike. */
#include "kernels/cuda/move.h"

#include <string.h>

#include "ops/concat.h"
#include "ops/dropout.h"
#include "ops/extent.h"
#include "ops/numeric.h"
#include "ops/strided.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Claims Dropout as the identity; in training it would drop elements at random. */
static tort_verdict claim_dropout(const tort_target *target, const tort_node_view *node) {
    const tort_dropout_params *params = node->params;
    const bool asked = params->by_inputs && tort_has_input(node, 2);
    const uint8_t *training = asked ? node->inputs[2].data : NULL;
    if (asked && !training)
        return tort_no(TORT_NO_ATTR, "export the model for inference", "training_mode is known only while running");
    if (asked ? *training : params->is_training)
        return tort_no(TORT_NO_ATTR, "export the model for inference", "training mode, the kernel infers");
    return tort_cuda_claim_movable(target, node);
}

static void restride_concat(const tort_node_view *node, void *params, int32_t input, const int64_t *strides) {
    tort_concat_params *concat = params;
    memcpy(concat->strides[input], strides, (size_t)node->inputs[input].rank * sizeof *strides);
}

#ifdef CUDA_DEVICE
static tort_status prepare_move(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_copy_box(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status prepare_concat(tort_prepare *p) {
    const int bytes = cuda_element_bytes(p->node->inputs[0].type);
    const cudaError_t code = gpu_load_join_rows(bytes);
    return cuda_loaded(p, code == cudaSuccess ? gpu_load_copy_box(bytes) : code);
}

/* Loads the kernel that fills the mask; CUDA itself copies X. */
static tort_status prepare_dropout(tort_prepare *p) {
    if (!tort_has_output(p->node, 1)) return TORT_OK;
    return cuda_loaded(p, gpu_load_fill(cuda_element_bytes(p->node->outputs[1].type)));
}

tort_status tort_cuda_move_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    tort_box simple;
    int bytes = cuda_element_bytes(type);
    if (!tort_box_simplify(box, &simple)) return TORT_OK;
    gpu_box moved = {.rank = simple.rank};
    memcpy(moved.dims, simple.dims, sizeof moved.dims);
    memcpy(moved.dst_strides, simple.dst_strides, sizeof moved.dst_strides);
    memcpy(moved.src_strides, simple.src_strides, sizeof moved.src_strides);
    return cuda_launched(call, gpu_copy_box(cuda_stream_of(call), bytes, (char *)dst + simple.dst_first * bytes,
                                            (const char *)src + simple.src_first * bytes, &moved));
}

/* Sets the parts that are not empty. False: there are too many, or one is read by strides. */
static bool set_parts(const tort_call *call, gpu_joined_rows *j) {
    const tort_concat_params *params = call->params;
    const int32_t axis = params->parts.axis;
    for (int32_t i = 0; i < call->input_count; i++) {
        const tort_tensor *x = &call->inputs[i];
        const size_t bytes = (size_t)(tort_extent(x->dims, axis, x->rank) * cuda_element_bytes(x->type));
        if (i < TORT_CONCAT_STRIDED && params->strides[i][0]) return false;
        if (!bytes) continue;
        if (j->count == GPU_JOINED_PARTS) return false;
        j->parts[j->count] = x->data;
        j->first[j->count + 1] = j->first[j->count] + bytes;
        j->count++;
    }
    return true;
}

tort_status tort_cuda_concat(const tort_call *call, tort_box_mover move) {
    const tort_concat_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    gpu_joined_rows j = {.rows = (size_t)tort_extent(y->dims, 0, params->parts.axis), .y = y->data};
    if (!tort_count(y)) return TORT_OK;
    if (!set_parts(call, &j)) return tort_move_concat(call, move);
    return cuda_launched(call, gpu_join_rows(cuda_stream_of(call), cuda_element_bytes(y->type), &j));
}

static tort_status run_concat(const tort_call *call) {
    return tort_cuda_concat(call, tort_cuda_move_box);
}

#define MOVE(name)                                                                                                     \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return tort_move_##name(call, tort_cuda_move_box);                                                             \
    }
MOVE(transpose)
MOVE(depth_to_space)
MOVE(space_to_depth)
MOVE(slice)
MOVE(split)
MOVE(expand)
MOVE(tile)

static tort_status run_dropout(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *mask = tort_call_output(call, 1);
    const int64_t one = 1;
    uint64_t kept = 0;
    size_t bytes = 0;
    tort_status status = TORT_OK;
    (void)tort_tensor_bytes(x, &bytes);
    if (!bytes) return TORT_OK;
    if (mask) {
        tort_store_integers(mask->type, &kept, 0, 1, &one);
        status = cuda_launched(call, gpu_fill(cuda_stream_of(call), cuda_element_bytes(mask->type), mask->data,
                                              (size_t)tort_count(mask), &kept));
    }
    if (status) return status;
    return cuda_copied(call, call->outputs[0].data, x->data, bytes);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, kernel_name, claims, host, prepares, runs)                                                        \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = kernel_name, .host_inputs = host, .claim = claims,                        \
        .prepare = CUDA_ONLY(prepares), .run = CUDA_ONLY(runs)                                                         \
    }
#define MOVED(op_name, host, name) ROW(op_name, "move_box", tort_cuda_claim_movable, host, prepare_move, run_##name)

const tort_kernel tort_cuda_move_kernels[] = {
    MOVED("Transpose", 0, transpose),
    MOVED("DepthToSpace", 0, depth_to_space),
    MOVED("SpaceToDepth", 0, space_to_depth),
    MOVED("Slice", 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, slice),
    {.domain = "",
     .op = "Concat",
     .name = "move_box",
     .claim = tort_cuda_claim_movable,
     .strides.inputs = (1u << TORT_CONCAT_STRIDED) - 1,
     .strides.restride = restride_concat,
     .prepare = CUDA_ONLY(prepare_concat),
     .run = CUDA_ONLY(run_concat)},
    MOVED("Split", 1u << 1, split),
    MOVED("Expand", 1u << 1, expand),
    MOVED("Tile", 1u << 1 | 1u << 2, tile),
    ROW("Dropout", "copy", claim_dropout, 1u << 1 | 1u << 2, prepare_dropout, run_dropout),
    {.op = NULL},
};
