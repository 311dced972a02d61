/* center_crop_pad.c - CenterCropPad: crops each axis or pads it with zeros to a size, around its centre. */
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

static tort_status crop_axes(const tort_node_view *node, tort_error *error, tort_numbers *axes) {
    int32_t rank = node->inputs[0].rank;
    tort_status status = tort_read_numbers(node, -1, "axes", axes, error);
    if (axes->known == TORT_ABSENT) {
        for (axes->count = 0; axes->count < rank; axes->count++) axes->values[axes->count] = axes->count;
    }
    return status ? status : tort_normalize_axes(error, axes->values, axes->count, rank);
}

static tort_status crop_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_symbols shape;
    tort_numbers axes;
    tort_infer_unknown(infer, 0, input->type);
    tort_status status = tort_read_shape(infer, 1, "shape", 0, &shape);
    if (status || input->rank < 0) return status;
    status = crop_axes(infer->node, infer->error, &axes);
    if (!status) status = tort_check_entries(infer->error, "shape", shape.count, axes.count);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < input->rank; k++) dims[k] = input->dims[k];
    for (int32_t k = 0; k < axes.count; k++) {
        dims[axes.values[k]] = shape.known == TORT_KNOWN ? tort_scalar_to_dim(infer->dims, shape.values[k])
                                                         : tort_dim_fresh(infer->dims, true);
    }
    tort_infer_shape(infer, 0, input->type, input->rank, dims);
    return TORT_OK;
}

/* Copies the centred window: half of the excess is cut, or half of the lack is padded, at the front rounded down. The
 * two shapes determine it, so there are no params. */
static tort_status crop_reference(const tort_call *call) {
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    const uint64_t zero[2] = {0, 0}; /* zero of any type */
    tort_strides(input->rank, input->dims, src_strides);
    tort_strides(output->rank, output->dims, dst_strides);
    tort_box box = {0};
    bool pads = false;
    for (int32_t k = 0; k < input->rank; k++) {
        int64_t have = input->dims[k], want = output->dims[k];
        if (have > want) {
            box.src_first += (have - want) / 2 * src_strides[k];
        } else {
            box.dst_first += (want - have) / 2 * dst_strides[k];
        }
        tort_box_add(&box, have < want ? have : want, dst_strides[k], src_strides[k]);
        pads = pads || have < want;
    }
    if (pads) tort_fill_tensor(call, output, zero, 0);
    tort_copy_box(call, input->type, output->data, input->data, &box);
    return TORT_OK;
}

const tort_op tort_ops_center_crop_pad[] = {
    {"", "CenterCropPad", 18, TORT_NEWEST_OPSET, "input_data:T shape:Tind", "output_data:T", "T=all13 Tind=int32|int64",
     "axes:ints", .shape_inputs = 1u << 1, .infer = crop_infer, .reference = crop_reference},
    {0},
};
