/* transpose.c - Transpose, DepthToSpace, SpaceToDepth: copies between two orders of the same dimensions. */
#include "ops/transpose.h"

#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

/* ---- Transpose ----------------------------------------------------------------------------------------------- */

static tort_status read_perm(const tort_node_view *node, tort_error *error, int32_t rank, int32_t *perm) {
    int32_t count = 0;
    const int64_t *given = tort_attr_ints(node, "perm", &count);
    if (!tort_attr(node, "perm")) {
        for (int32_t k = 0; k < rank; k++) perm[k] = rank - 1 - k;
        return TORT_OK;
    }
    int64_t axes[TORT_MAX_RANK];
    if (count != rank) {
        return tort_fail(error, TORT_E_MODEL, "perm has %d entries for an input of rank %d", (int)count, (int)rank);
    }
    for (int32_t k = 0; k < rank; k++) axes[k] = given[k];
    for (int32_t k = 0; k < count; k++)
        if (given[k] < 0)
            return tort_fail(error, TORT_E_MODEL, "perm has %lld, expected axes from 0", (long long)given[k]);
    tort_status status = tort_normalize_axes(error, axes, count, rank);
    for (int32_t k = 0; k < rank && !status; k++) perm[k] = (int32_t)axes[k];
    return status;
}

static tort_status transpose_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    int32_t perm[TORT_MAX_RANK];
    tort_dim dims[TORT_MAX_RANK];
    tort_infer_unknown(infer, 0, data->type);
    if (data->rank < 0) return TORT_OK;
    tort_status status = read_perm(infer->node, infer->error, data->rank, perm);
    if (status) return status;
    for (int32_t k = 0; k < data->rank; k++) dims[k] = data->dims[perm[k]];
    tort_infer_shape(infer, 0, data->type, data->rank, dims);
    return data->rank <= 1 ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

/* True if all axes longer than 1 keep their order, so that the output has the bytes of the input. */
static bool keeps_bytes(const tort_info *data, const int32_t *perm) {
    int32_t last = -1;
    bool keeps = data->rank > 0 && tort_shape_known(data);
    for (int32_t k = 0; keeps && k < data->rank; k++) {
        if (data->dims[perm[k]] == 1) continue;
        keeps = perm[k] > last;
        last = perm[k];
    }
    return keeps;
}

static tort_status transpose_resolve(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0];
    tort_permutation *params = resolve->params;
    params->parts.axis = -1;
    params->rank = data->rank;
    if (params->rank < 0) return TORT_OK;
    const tort_status status = read_perm(resolve->node, resolve->error, params->rank, params->perm);
    if (!status && keeps_bytes(data, params->perm)) params->parts.axis = 0;
    return status;
}

tort_status tort_move_transpose(const tort_call *call, tort_box_mover move) {
    const tort_permutation *params = call->params;
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    tort_strides(input->rank, input->dims, src_strides);
    tort_strides(output->rank, output->dims, dst_strides);
    tort_box box = {0};
    for (int32_t k = 0; k < params->rank; k++) {
        tort_box_add(&box, output->dims[k], dst_strides[k], src_strides[params->perm[k]]);
    }
    return move(call, input->type, output->data, input->data, &box);
}

static tort_status transpose_reference(const tort_call *call) {
    return tort_move_transpose(call, tort_copy_box);
}

/* ---- DepthToSpace, SpaceToDepth ------------------------------------------------------------------------------ */

static tort_status read_depth_space(const tort_node_view *node, tort_error *error, tort_depth_space_params *out) {
    const char *mode = tort_attr_string(node, "mode"); /* "" in versions without one */
    out->block = tort_attr_int(node, "blocksize");
    out->channel_first = !strcmp(mode, "CRD");
    if (out->block < 1 || out->block > INT32_MAX) {
        return tort_fail(error, TORT_E_MODEL, "blocksize %lld is not in [1, 2^31)", (long long)out->block);
    }
    if (tort_attr(node, "mode") && !out->channel_first && strcmp(mode, "DCR")) {
        return tort_fail(error, TORT_E_MODEL, "mode \"%s\" is neither DCR nor CRD", mode);
    }
    return TORT_OK;
}

static tort_status depth_space_resolve(tort_resolve *resolve) {
    return read_depth_space(resolve->node, resolve->error, resolve->params);
}

static tort_status divide(const tort_infer *infer, int32_t axis, tort_dim d, int64_t by, tort_dim *out) {
    if (tort_dim_known(d) && d % by) {
        return tort_fail(infer->error, TORT_E_MODEL, "axis %d has %lld elements, not a multiple of %lld", (int)axis,
                         (long long)d, (long long)by);
    }
    *out = tort_dim_floordiv(infer->dims, d, by);
    return TORT_OK;
}

static tort_status multiply(const tort_infer *infer, tort_dim d, int64_t by, tort_dim *out) {
    if (tort_dim_known(d)) return tort_size_mul(infer->error, d, by, out);
    *out = tort_dim_mul(infer->dims, d, by);
    return TORT_OK;
}

enum { SPACE_TO_DEPTH, DEPTH_TO_SPACE };

/* Infers either operator: one divides what the other multiplies. */
static tort_status depth_space_infer(tort_infer *infer) {
    const bool to_space = infer->node->op->variant == DEPTH_TO_SPACE;
    const tort_info *input = &infer->node->inputs[0];
    tort_depth_space_params params;
    tort_dim dims[4];
    tort_status status = read_depth_space(infer->node, infer->error, &params);
    if (status) return status;
    if (input->rank < 0) {
        tort_infer_unknown_dims(infer, 0, input->type, 4);
        return TORT_OK;
    }
    if (input->rank != 4) {
        return tort_fail(infer->error, TORT_E_MODEL, "the input must be [N,C,H,W]; it has rank %d", (int)input->rank);
    }
    dims[0] = input->dims[0];
    for (int32_t k = 1; k < 4 && !status; k++) {
        int64_t by = k == 1 ? params.block * params.block : params.block;
        bool divides = (k == 1) == to_space;
        status =
            divides ? divide(infer, k, input->dims[k], by, &dims[k]) : multiply(infer, input->dims[k], by, &dims[k]);
    }
    if (!status) tort_infer_shape(infer, 0, input->type, 4, dims);
    return status;
}

/* The six dims that make up both tensors, and their strides in the deep [N, C*block*block, H, W] and in the wide [N, C,
 * H*block, W*block]. */
typedef struct six_dims {
    int64_t dims[6], deep[6], wide[6];
} six_dims;
enum { BATCH, CHANNEL, ROW, BLOCK_ROW, COLUMN, BLOCK_COLUMN };

static six_dims split_dims(const tort_tensor *wide, const tort_depth_space_params *params) {
    int64_t block = params->block, channels = wide->dims[1];
    int64_t rows = wide->dims[2] / block, columns = wide->dims[3] / block, plane = rows * columns;
    int64_t channel = params->channel_first ? block * block : 1; /* in planes */
    int64_t block_column = params->channel_first ? 1 : channels;
    return (six_dims){
        .dims = {wide->dims[0], channels, rows, block, columns, block},
        .deep = {channels * block * block * plane, channel * plane, columns, block * block_column * plane, 1,
                 block_column * plane},
        .wide = {channels * plane * block * block, plane * block * block, columns * block * block, columns * block,
                 block, 1},
    };
}

tort_status tort_move_depth_to_space(const tort_call *call, tort_box_mover move) {
    static const int order[6] = {BATCH, CHANNEL, ROW, BLOCK_ROW, COLUMN, BLOCK_COLUMN};
    six_dims d = split_dims(&call->outputs[0], call->params);
    tort_box box = {0};
    for (int32_t k = 0; k < 6; k++) tort_box_add(&box, d.dims[order[k]], d.wide[order[k]], d.deep[order[k]]);
    return move(call, call->inputs[0].type, call->outputs[0].data, call->inputs[0].data, &box);
}

tort_status tort_move_space_to_depth(const tort_call *call, tort_box_mover move) {
    static const int order[6] = {BATCH, BLOCK_ROW, BLOCK_COLUMN, CHANNEL, ROW, COLUMN};
    six_dims d = split_dims(&call->inputs[0], call->params);
    tort_box box = {0};
    for (int32_t k = 0; k < 6; k++) tort_box_add(&box, d.dims[order[k]], d.deep[order[k]], d.wide[order[k]]);
    return move(call, call->inputs[0].type, call->outputs[0].data, call->inputs[0].data, &box);
}

static tort_status depth_space_reference(const tort_call *call) {
    if (call->op->variant == DEPTH_TO_SPACE) return tort_move_depth_to_space(call, tort_copy_box);
    return tort_move_space_to_depth(call, tort_copy_box);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define TRANSPOSE(SINCE, UNTIL, ALL)                                                                                   \
    {                                                                                                                  \
        "", "Transpose", SINCE, UNTIL, "data:T", "transposed:T", "T=" ALL, "perm:ints",                                \
            .flags = TORT_OP_PARTS | TORT_OP_PERMUTES | TORT_OP_CHOOSES, .params_size = sizeof(tort_permutation),      \
            transpose_infer, transpose_resolve, transpose_reference                                                    \
    }
#define DEPTH_SPACE(NAME, KIND, SINCE, UNTIL, ALL, ATTRIBUTES)                                                         \
    {                                                                                                                  \
        "", NAME, SINCE, UNTIL, "input:T", "output:T", "T=" ALL, "blocksize:int!" ATTRIBUTES,                          \
            .flags = TORT_OP_CHOOSES, .variant = KIND, .params_size = sizeof(tort_depth_space_params),                 \
            .infer = depth_space_infer, .resolve = depth_space_resolve, depth_space_reference                          \
    }

const tort_op tort_ops_transpose[] = {
    TRANSPOSE(1, 12, "all"),
    TRANSPOSE(13, 20, "all13"),
    TRANSPOSE(21, 22, "all21"),
    TRANSPOSE(23, 23, "all23"),
    TRANSPOSE(24, 24, "all24"),
    TRANSPOSE(25, TORT_NEWEST_OPSET, "all25"),
    DEPTH_SPACE("DepthToSpace", DEPTH_TO_SPACE, 1, 10, "all", ""),
    DEPTH_SPACE("DepthToSpace", DEPTH_TO_SPACE, 11, 12, "all", " mode:string=DCR"),
    DEPTH_SPACE("DepthToSpace", DEPTH_TO_SPACE, 13, 27, "all13", " mode:string=DCR"),
    DEPTH_SPACE("DepthToSpace", DEPTH_TO_SPACE, 28, TORT_NEWEST_OPSET, "all13", " mode:string=DCR"),
    DEPTH_SPACE("SpaceToDepth", SPACE_TO_DEPTH, 1, 12, "all", ""),
    DEPTH_SPACE("SpaceToDepth", SPACE_TO_DEPTH, 13, 27, "all13", ""),
    DEPTH_SPACE("SpaceToDepth", SPACE_TO_DEPTH, 28, TORT_NEWEST_OPSET, "all13", " mode:string=DCR"),
    {0},
};
