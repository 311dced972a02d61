/* quantized.c - operands and results of products of quantized tensors. */
#include "ops/quantized.h"

#include "ops/quantize.h"

void tort_operands_of(const tort_node_view *node, int32_t count, const int32_t *from, tort_operands *operands) {
    operands->view = *node;
    operands->view.inputs = operands->inputs;
    operands->view.input_count = count;
    for (int32_t i = 0; i < count; i++) {
        bool there = from[i] < node->input_count;
        operands->inputs[i] = there ? node->inputs[from[i]] : (tort_info){.type = TORT_UNDEFINED, .rank = -1};
    }
}

tort_status tort_operands_infer(tort_infer *infer, int32_t count, const int32_t *from, tort_type type,
                                tort_status (*family)(tort_infer *infer)) {
    tort_operands operands;
    tort_operands_of(infer->node, count, from, &operands);
    tort_infer inner = *infer;
    inner.node = &operands.view;
    tort_status status = family(&inner);
    infer->outputs[0].type = type;
    return status;
}

tort_status tort_operands_resolve(tort_resolve *resolve, int32_t count, const int32_t *from,
                                  tort_status (*family)(tort_resolve *resolve)) {
    tort_operands operands;
    tort_operands_of(resolve->node, count, from, &operands);
    tort_resolve inner = *resolve;
    inner.node = &operands.view;
    tort_status status = family(&inner);
    if (status != TORT_OK) return status;
    if (tort_operands_scratch(&operands.inputs[0], &operands.inputs[1], &resolve->scratch_bytes)) return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

static bool add_floats(const tort_info *info, size_t *bytes) {
    size_t size = sizeof(float);
    for (int32_t d = 0; d < info->rank; d++) {
        if (!tort_dim_known(info->dims[d])) return true;
        if (!tort_mul_size(size, (uint64_t)info->dims[d], &size)) return false;
    }
    return tort_add_size(*bytes, size, bytes);
}

bool tort_operands_scratch(const tort_info *a, const tort_info *b, size_t *bytes) {
    *bytes = 0;
    return add_floats(a, bytes) && add_floats(b, bytes);
}

typedef struct difference {
    const tort_tensor *x, *zero_point;
    float *out;
} difference;

static void subtract_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const difference *d = arg;
    float *out = d->out + first;
    tort_load_floats(d->x->type, d->x->data, first, count, out);
    if (d->zero_point == NULL) return;
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        float zero[TORT_BLOCK];
        int64_t n = tort_block_count(count, at), step = loop->steps[0];
        tort_load_floats(d->zero_point->type, d->zero_point->data, offsets[0] + at * step, step ? n : 1, zero);
        for (int64_t i = 0; i < n; i++) out[at + i] -= zero[i * step];
    }
}

void tort_subtract_zero_point(const tort_call *call, const tort_tensor *x, const tort_tensor *zero_point, float *out) {
    difference d = {x, zero_point, out};
    tort_loop loop = tort_loop_broadcast(x, zero_point, zero_point != NULL);
    tort_loop_parallel(call, &loop, 16, subtract_row, &d);
}

const tort_tensor *tort_optional_input(const tort_call *call, int32_t i, int32_t trailing, tort_tensor *copy) {
    if (i < 0 || i >= call->input_count || !tort_present(&call->inputs[i])) return NULL;
    *copy = call->inputs[i];
    while (trailing-- > 0 && copy->rank < TORT_MAX_RANK) copy->dims[copy->rank++] = 1;
    return copy;
}

void tort_requantize(const tort_tensor *y, int64_t first, int64_t count, const double *acc, const float *factor,
                     const float *zero_point) {
    static const tort_quantize params = {.precision = TORT_FLOAT, .saturate = true};
    float scaled[TORT_BLOCK], one[TORT_BLOCK];
    for (int64_t i = 0; i < count; i++) {
        scaled[i] = (float)(acc[i] * (double)factor[i]);
        one[i] = 1;
    }
    tort_quantize_block(&params, y->type, y->data, first, count, scaled, one, zero_point);
}
