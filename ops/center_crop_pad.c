/* center_crop_pad.c - CenterCropPad: each axis is cut or filled up with zeros to a size, around its centre. */
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

static tort_status crop_axes(const tort_node_view *node, tort_error *error, int64_t *axes, int32_t *count) {
    int32_t rank = node->inputs[0].rank;
    tort_known known = tort_read_list(node, -1, "axes", axes, TORT_MAX_RANK, count);
    if (known == TORT_UNKNOWN) return tort_fail(error, TORT_E_MODEL, "axes has more entries than the input dimensions");
    if (known == TORT_ABSENT) {
        for (*count = 0; *count < rank; ++*count) axes[*count] = *count;
    }
    return tort_normalize_axes(error, axes, *count, rank);
}

static tort_status crop_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0], *shape = &infer->node->inputs[1];
    tort_scalar sizes[TORT_MAX_RANK];
    int64_t axes[TORT_MAX_RANK];
    int32_t axis_count = 0, count = 0;
    tort_infer_unknown(infer, 0, input->type);
    if (input->rank < 0) return TORT_OK;
    tort_status status = crop_axes(infer->node, infer->error, axes, &axis_count);
    if (status) return status;
    if (shape->rank > 1 || (shape->rank == 1 && tort_dim_known(shape->dims[0]) && shape->dims[0] != axis_count)) {
        return tort_fail(infer->error, TORT_E_MODEL, "shape must be a list of %d sizes, one an axis", (int)axis_count);
    }
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < input->rank; k++) dims[k] = input->dims[k];
    bool known = tort_infer_entries(infer, 1, sizes, TORT_MAX_RANK, &count) && count == axis_count;
    for (int32_t k = 0; k < axis_count; k++) {
        if (known && !sizes[k].symbolic && sizes[k].value < 0) {
            return tort_fail(infer->error, TORT_E_MODEL, "shape has %lld at place %d", (long long)sizes[k].value,
                             (int)k);
        }
        dims[axes[k]] = known ? tort_scalar_to_dim(infer->dims, sizes[k]) : tort_dim_fresh(infer->dims, true);
    }
    tort_infer_shape(infer, 0, input->type, input->rank, dims);
    return TORT_OK;
}

/* The window: half of what is too much goes off, half of what is missing is added, at the front rounded down. All of
 * it follows from the two shapes. */
static tort_status crop_reference(const tort_call *call) {
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    const uint64_t zero[2] = {0, 0}; /* an element of any type */
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
    if (pads) tort_fill_elements(output->type, output->data, 0, tort_count(output), zero, 0);
    tort_copy_box(call, input->type, output->data, input->data, &box);
    return TORT_OK;
}

const tort_op tort_ops_center_crop_pad[] = {
    {"", "CenterCropPad", 18, 28, "input_data:T shape:Tind", "output_data:T", "T=all13 Tind=int32|int64", "axes:ints",
     1u << 1, 0, 0, crop_infer, NULL, crop_reference},
    {0},
};
