/* expand.c - Expand and Tile: repeat a tensor, by broadcasting or as a whole. */
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

/* ---- Expand -------------------------------------------------------------------------------------------------- */

/* Gives the output the known contents of a short list, repeated to `count` entries. */
static tort_status repeat_elements(const tort_infer *infer, tort_dim count) {
    tort_scalar values[TORT_MAX_ELEMENTS];
    int32_t have = 0;
    if (!tort_dim_known(count) || count > TORT_MAX_ELEMENTS) return TORT_OK;
    if (!tort_infer_integers(infer, 0, values, &have) || have == 0) return TORT_OK;
    for (int32_t k = have; k < count; k++) values[k] = values[k - have];
    return tort_infer_set_integers(infer, 0, values, (int32_t)count);
}

static tort_status expand_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_symbols requested;
    tort_info shape = {0}, output = *input;
    tort_infer_unknown(infer, 0, input->type);
    tort_status status = tort_read_shape(infer, 1, "shape", 0, &requested);
    if (status || input->rank < 0 || requested.known != TORT_KNOWN) return status;
    shape.rank = requested.count;
    for (int32_t k = 0; k < shape.rank; k++) shape.dims[k] = tort_scalar_to_dim(infer->dims, requested.values[k]);
    status = tort_infer_broadcast(infer, input, &shape, &output);
    if (status) return status;
    tort_infer_shape(infer, 0, input->type, output.rank, output.dims);
    if (output.rank > 1) return TORT_OK;
    return repeat_elements(infer, output.rank == 0 ? 1 : output.dims[0]);
}

tort_status tort_move_expand(const tort_call *call, tort_box_mover move) {
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    tort_broadcast_strides(input->rank, input->dims, output->rank, output->dims, src_strides);
    tort_strides(output->rank, output->dims, dst_strides);
    tort_box box = {0};
    for (int32_t k = 0; k < output->rank; k++) tort_box_add(&box, output->dims[k], dst_strides[k], src_strides[k]);
    return move(call, input->type, output->data, input->data, &box);
}

static tort_status expand_reference(const tort_call *call) {
    return tort_move_expand(call, tort_copy_box);
}

/* ---- Tile ---------------------------------------------------------------------------------------------------- */

static tort_status tile_dims(const tort_infer *infer, const tort_scalar *repeats) {
    const tort_info *input = &infer->node->inputs[0];
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < input->rank; k++) {
        tort_dim d = input->dims[k];
        if (!repeats[k].symbolic && repeats[k].value < 0) {
            return tort_fail(infer->error, TORT_E_MODEL, "axis %d is repeated %lld times", (int)k,
                             (long long)repeats[k].value);
        }
        if (!repeats[k].symbolic && tort_dim_known(d)) {
            tort_status status = tort_size_mul(infer->error, d, repeats[k].value, &dims[k]);
            if (status) return status;
        } else {
            tort_scalar product = tort_scalar_mul(infer->dims, tort_scalar_of_dim(d), repeats[k]);
            dims[k] = tort_scalar_to_dim(infer->dims, product);
        }
    }
    tort_infer_shape(infer, 0, input->type, input->rank, dims);
    return input->rank == 1 ? repeat_elements(infer, dims[0]) : TORT_OK;
}

static tort_status tile_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_symbols repeats;
    tort_infer_unknown(infer, 0, input->type);
    tort_status status = tort_read_symbols(infer->node, infer->dims, 1, "repeats", &repeats, infer->error);
    if (status || input->rank < 0) return status;
    status = tort_check_entries(infer->error, "repeats", repeats.count, input->rank);
    if (status) return status;
    if (repeats.known == TORT_KNOWN) return tile_dims(infer, repeats.values);
    tort_infer_unknown_dims(infer, 0, input->type, input->rank);
    return TORT_OK;
}

/* Tile-1: the number of copies and the one axis are inputs, of the (float) type of the data. */
static tort_status tile_axis_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_scalar repeats[TORT_MAX_RANK];
    int64_t tiles, number;
    bool tiles_known, axis_known;
    tort_infer_unknown(infer, 0, input->type);
    tort_status status = tort_read_number(infer->node, 1, "tiles", &tiles, &tiles_known, infer->error);
    if (!status) status = tort_read_number(infer->node, 2, "axis", &number, &axis_known, infer->error);
    if (status || input->rank < 0) return status;
    tort_infer_unknown_dims(infer, 0, input->type, input->rank);
    if (!tiles_known || !axis_known) return TORT_OK;
    int32_t axis = 0;
    status = tort_normalize_axis(infer->error, number, input->rank, &axis);
    if (status) return status;
    for (int32_t k = 0; k < input->rank; k++) repeats[k] = tort_scalar_known(k == axis ? tiles : 1);
    return tile_dims(infer, repeats);
}

/* Views the output as [repeats[0], dims[0], repeats[1], dims[1], ...]: the input has stride 0 along the repeats. */
tort_status tort_move_tile(const tort_call *call, tort_box_mover move) {
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    if (tort_count(output) == 0) return TORT_OK;
    tort_strides(input->rank, input->dims, src_strides);
    tort_strides(output->rank, output->dims, dst_strides);
    tort_box box = {0};
    for (int32_t k = 0; k < input->rank; k++) {
        tort_box_add(&box, output->dims[k] / input->dims[k], dst_strides[k] * input->dims[k], 0);
        tort_box_add(&box, input->dims[k], dst_strides[k], src_strides[k]);
    }
    return move(call, input->type, output->data, input->data, &box);
}

static tort_status tile_reference(const tort_call *call) {
    return tort_move_tile(call, tort_copy_box);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define EXPAND(SINCE, UNTIL, ALL)                                                                                      \
    {                                                                                                                  \
        "", "Expand", SINCE, UNTIL, "input:T shape:int64", "output:T", "T=" ALL, "",                                   \
            .shape_inputs = 1u << 1, .flags = TORT_OP_BULKY | TORT_OP_CHOOSES, .infer = expand_infer,                  \
            .reference = expand_reference                                                                              \
    }
#define TILE(SINCE, UNTIL, ALL)                                                                                        \
    {                                                                                                                  \
        "", "Tile", SINCE, UNTIL, "input:T repeats:T1", "output:T", "T=" ALL " T1=int64", "",                          \
            .shape_inputs = 1u << 1, .flags = TORT_OP_BULKY | TORT_OP_CHOOSES, .infer = tile_infer,                    \
            .reference = tile_reference                                                                                \
    }

const tort_op tort_ops_expand[] = {
    EXPAND(8, 12, "all"),
    EXPAND(13, TORT_NEWEST_OPSET, "all13"),
    {"", "Tile", 1, 5, "input:T tiles:T axis:T", "output:T", "T=floats T1=int64", "", .shape_inputs = 1u << 1 | 1u << 2,
     .flags = TORT_OP_BULKY | TORT_OP_CHOOSES, .infer = tile_axis_infer, .reference = tile_reference},
    TILE(6, 12, "all"),
    TILE(13, TORT_NEWEST_OPSET, "all13"),
    {0},
};
