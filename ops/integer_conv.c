/* integer_conv.c - ConvInteger and QLinearConv: Conv of quantized tensors; com.microsoft's may have the channels last,
 * and then runs on transposed copies. QLinearConvAdd is QLinearConv and the QLinearAdd behind it, byte by byte.
 *
 * The weights have one zero point and scale, or one per filter. Padding counts as the zero point of x. The sum of
 * ConvInteger wraps to int32. Read next: quantized.h, conv.c. */
#include "ops/integer_conv.h"

#include "ops/extent.h"
#include "ops/microsoft/channels_last.h"
#include "ops/microsoft/qlinear.h"
#include "ops/quantized.h"

#include <inttypes.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static const int32_t integer_operands[] = {0, 1}, linear_operands[] = {0, 3, 8};

/* Checks that input i has one element, or one per filter. */
static tort_status check_filters(tort_infer *infer, int32_t w, int32_t i, const char *name) {
    if (!tort_has_input(infer->node, i)) return TORT_OK;
    const tort_info *weights = &infer->node->inputs[w], *numbers = &infer->node->inputs[i];
    if (numbers->rank > 1 || weights->rank == 0) return tort_check_single(infer->node, i, name, infer->error);
    int64_t size = tort_known_dim(numbers, 0), filters = tort_known_dim(weights, 0);
    if (size < 0 || filters < 0 || size == 1 || size == filters) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %" PRId64 " elements, expected 1 or %" PRId64 " filters", name,
                     size, filters);
}

static tort_status infer_integer(tort_infer *infer) {
    tort_status status = tort_operands_infer(infer, 2, integer_operands, TORT_INT32, tort_infer_conv);
    if (status == TORT_OK) status = tort_check_single(infer->node, 2, "x_zero_point", infer->error);
    return status != TORT_OK ? status : check_filters(infer, 1, 3, "w_zero_point");
}

static tort_status infer_linear(tort_infer *infer) {
    tort_status status = tort_operands_infer(infer, 3, linear_operands, infer->node->inputs[7].type, tort_infer_conv);
    if (status == TORT_OK) status = tort_check_single(infer->node, 1, "x_scale", infer->error);
    if (status == TORT_OK) status = tort_check_single(infer->node, 2, "x_zero_point", infer->error);
    if (status == TORT_OK) status = check_filters(infer, 3, 4, "w_scale");
    if (status == TORT_OK) status = check_filters(infer, 3, 5, "w_zero_point");
    if (status == TORT_OK) status = tort_check_single(infer->node, 6, "y_scale", infer->error);
    return status != TORT_OK ? status : tort_check_single(infer->node, 7, "y_zero_point", infer->error);
}

static tort_status resolve_integer(tort_resolve *resolve) {
    return tort_operands_resolve(resolve, 2, integer_operands, tort_resolve_conv);
}
static tort_status resolve_linear(tort_resolve *resolve) {
    return tort_operands_resolve(resolve, 3, linear_operands, tort_resolve_conv);
}

/* QLinearConvTranspose: scale and zero point of W are one, or one for each filter of a group, its axis 1. */
static tort_status infer_transpose(tort_infer *infer) {
    tort_status status =
        tort_operands_infer(infer, 3, linear_operands, infer->node->inputs[7].type, tort_infer_conv_transpose);
    for (int32_t i = 4; i <= 5 && !status; i++) {
        const int64_t size = tort_known_dim(&infer->node->inputs[i], 0),
                      filters = tort_known_dim(&infer->node->inputs[3], 1);
        if (infer->node->inputs[i].rank == 1 && size > 1 && filters >= 0 && size != filters)
            status = tort_fail(infer->error, TORT_E_MODEL, "input %d has %" PRId64 " elements, expected 1 or %" PRId64,
                               (int)i, size, filters);
    }
    return status;
}

static tort_status resolve_transpose(tort_resolve *resolve) {
    return tort_operands_resolve(resolve, 3, linear_operands, tort_resolve_conv_transpose);
}

static tort_status infer_add(tort_infer *infer) {
    tort_status status = infer_linear(infer);
    if (status == TORT_OK) status = tort_linear_check(infer, 0xf << (TORT_CONV_ADD_S + 1));
    return status ? status : tort_infer_added(infer, TORT_CONV_ADD_S, "s");
}

static tort_status resolve_add(tort_resolve *resolve) {
    tort_conv_add *params = resolve->params;
    params->second = tort_attr_int(resolve->node, "second") != 0;
    return resolve_linear(resolve);
}

static tort_status infer_either(tort_infer *infer) {
    return tort_planar_infer(infer, tort_channels_last(infer->node), infer_linear);
}

tort_status tort_either_conv_size(const tort_node_view *node, const tort_either_conv *params, size_t *scratch,
                                  tort_error *error) {
    if (!params->channels_last || tort_planar_scratch(node, TORT_PLANAR_X, scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status resolve_either(tort_resolve *resolve) {
    tort_either_conv *params = resolve->params;
    params->channels_last = tort_channels_last(resolve->node);
    tort_status status = tort_planar_resolve(resolve, params->channels_last, &params->conv, resolve_linear);
    return status ? status : tort_either_conv_size(resolve->node, params, &resolve->scratch_bytes, resolve->error);
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

/* Operands of QLinearConv beside X and W. */
typedef struct linear {
    const tort_tensor *w_scale, *bias; /* bias NULL: none */
    float x_scale, y_scale, y_zero_point;
} linear;

static void store_integers(const tort_conv_loop *loop, int64_t m, int64_t first, int64_t count, const double *acc) {
    (void)m;
    int32_t *y = loop->y->data;
    for (int64_t i = 0; i < count; i++) y[first + i] = (int32_t)(uint32_t)(int64_t)acc[i];
}

static void store_linear(const tort_conv_loop *loop, int64_t m, int64_t first, int64_t count, const double *acc) {
    const linear *l = loop->arg;
    float w_scale, factor[TORT_BLOCK], zero_point[TORT_BLOCK];
    double sums[TORT_BLOCK], bias = l->bias ? ((const int32_t *)l->bias->data)[m] : 0;
    tort_load_floats(TORT_FLOAT, l->w_scale->data, m % tort_count(l->w_scale), 1, &w_scale);
    for (int64_t i = 0; i < count; i++) {
        sums[i] = acc[i] + bias;
        factor[i] = l->x_scale * w_scale / l->y_scale;
        zero_point[i] = l->y_zero_point;
    }
    tort_requantize(loop->y, first, count, sums, factor, zero_point);
}

/* Puts X and W, inputs number x and w, less their zero points, as floats into scratch; W has its filters along `axis`.
 */
static void widen(const tort_call *call, int32_t x, int32_t x_zero, int32_t w, int32_t w_zero, int32_t axis,
                  tort_conv_loop *loop) {
    tort_tensor zero;
    const tort_tensor *data = &call->inputs[x], *weights = &call->inputs[w];
    float *x_out = call->scratch, *w_out = x_out + tort_count(data);
    tort_subtract_zero_point(call, data, tort_optional_input(call, x_zero, 0, &zero), x_out);
    bool vector = w_zero < call->input_count && call->inputs[w_zero].rank == 1;
    int32_t inner = vector ? weights->rank - 1 - axis : 0; /* one per filter */
    tort_subtract_zero_point(call, weights, tort_optional_input(call, w_zero, inner, &zero), w_out);
    loop->type = TORT_FLOAT;
    loop->data[0] = x_out;
    loop->data[1] = w_out;
}

static tort_status run_integer(const tort_call *call) {
    tort_conv_loop loop = {.call = call, .params = call->params, .y = &call->outputs[0]};
    widen(call, 0, 2, 1, 3, 0, &loop);
    tort_conv_rows(call, &loop, tort_conv_row_of, store_integers);
    return TORT_OK;
}

static tort_status run_loop(const tort_call *call, int32_t axis, tort_conv_row row) {
    const tort_tensor *in = call->inputs;
    linear l = {.w_scale = &in[4], .bias = call->input_count > 8 && tort_present(&in[8]) ? &in[8] : NULL};
    tort_load_floats(in[1].type, in[1].data, 0, 1, &l.x_scale);
    tort_load_floats(in[6].type, in[6].data, 0, 1, &l.y_scale);
    tort_load_floats(in[7].type, in[7].data, 0, 1, &l.y_zero_point);
    tort_conv_loop loop = {.call = call, .params = call->params, .y = &call->outputs[0], .arg = &l};
    widen(call, 0, 2, 3, 5, axis, &loop);
    tort_conv_rows(call, &loop, row, store_linear);
    return TORT_OK;
}

static tort_status run_linear(const tort_call *call) {
    return run_loop(call, 0, tort_conv_row_of);
}

/* Adds S to the bytes of the convolution, which are in Y. */
static void add_range(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const bool second = ((const tort_conv_add *)call->params)->second;
    const tort_tensor *y = &call->outputs[0], *s = &call->inputs[TORT_CONV_ADD_S];
    const tort_linear conv = tort_linear_of(call, 6, 7),
                      other = tort_linear_of(call, TORT_CONV_ADD_S + 1, TORT_CONV_ADD_S + 2),
                      to = tort_linear_of(call, TORT_CONV_ADD_Y, TORT_CONV_ADD_Y + 1);
    const tort_sum_of_linear sum = second ? tort_linear_sum(other, conv, to) : tort_linear_sum(conv, other, to);
    float a[TORT_BLOCK], b[TORT_BLOCK];
    for (int64_t at = begin; at < end; at += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, at);
        tort_load_floats(y->type, y->data, at, count, second ? b : a);
        tort_load_floats(s->type, s->data, at, count, second ? a : b);
        for (int64_t i = 0; i < count; i++) a[i] = a[i] * sum.a + (b[i] * sum.b + sum.fixed);
        tort_linear_store(y, at, count, a, 0);
    }
}

static tort_status run_add(const tort_call *call) {
    const tort_status status = run_linear(call);
    if (!status && tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, tort_count(&call->outputs[0]), 4, add_range, (void *)call);
    return status;
}

static tort_status run_transpose(const tort_call *call) {
    return run_loop(call, 1, tort_conv_transpose_row);
}

tort_status tort_either_conv_run(const tort_call *call, tort_status (*run)(const tort_call *call)) {
    const tort_either_conv *params = call->params;
    return params->channels_last ? tort_planar_run(call, TORT_PLANAR_X, run) : run(call);
}

static tort_status run_either(const tort_call *call) {
    return tort_either_conv_run(call, run_linear);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_integer_conv[] = {
    {"", "ConvInteger", 10, TORT_NEWEST_OPSET, "x:T1 w:T2 x_zero_point?:T1 w_zero_point?:T2", "y:T3",
     "T1=int8|uint8 T2=int8|uint8 T3=int32",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints",
     .params_size = sizeof(tort_conv_params), infer_integer, resolve_integer, run_integer},
    {"", "QLinearConv", 10, TORT_NEWEST_OPSET,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float y_zero_point:T3 B?:T4",
     "y:T3", "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8 T4=int32",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints",
     .params_size = sizeof(tort_conv_params), infer_linear, resolve_linear, run_linear},
    {"tinyort", "QLinearConvAdd", 1, 1,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 c_scale:float c_zero_point:T3 B?:T4 s:T3 "
     "s_scale:float s_zero_point?:T3 y_scale:float y_zero_point?:T3",
     "y:T3", "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8 T4=int32",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints second:int=0 strides:ints",
     .params_size = sizeof(tort_conv_add), infer_add, resolve_add, run_add},
    {"tinyort", "QLinearConvTranspose", 1, 1,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float y_zero_point:T3 B?:T4",
     "y:T3", "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8 T4=int32",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints output_padding:ints output_shape:ints "
     "pads:ints strides:ints",
     .params_size = sizeof(tort_conv_params), infer_transpose, resolve_transpose, run_transpose},
    {"com.microsoft", "QLinearConv", 1, 1,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float y_zero_point:T3 B?:T4",
     "y:T3", "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8 T4=int32",
     "auto_pad:string=NOTSET channels_last:int=0 dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints",
     .params_size = sizeof(tort_either_conv), infer_either, resolve_either, run_either},
    {0},
};
