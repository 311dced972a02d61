/* quantize.c - QuantizeLinear, DequantizeLinear (per tensor, per axis, blocked; every type) and DynamicQuantizeLinear.
 *
 * All arithmetic is in float (of int32 in double), a block at a time: the scales and zero points of the block are laid
 * out beside its elements, so that the loops have no cases for the granularity. */
#include "ops/quantize.h"

#include <math.h>

#include "ops/extent.h"
#include "ops/shapes.h"

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Number of elements that a blocked scale must have along dimension d. */
static tort_dim scales_along(tort_infer *infer, int32_t d, int32_t axis, int64_t block) {
    tort_dim length = infer->node->inputs[0].dims[d];
    return d == axis ? tort_dim_ceildiv(infer->dims, length, block) : length;
}

static tort_status mismatch(tort_infer *infer, const char *what, int32_t d, tort_dim found, tort_dim expected) {
    char found_text[64], expected_text[64];
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %s elements along dimension %d, expected %s", what,
                     tort_dim_text(infer->dims, found, found_text, sizeof found_text), d,
                     tort_dim_text(infer->dims, expected, expected_text, sizeof expected_text));
}

/* Attribute axis; without it 1 in com.microsoft, whose schemas have no default, and 0 in version 10, which has no
 * axis. */
static int64_t axis_of(const tort_node_view *node) {
    return tort_attr(node, "axis") ? tort_attr_int(node, "axis") : *node->op->domain ? 1 : 0;
}

/* Checks scale or zero point, input i, against the shape of x. */
static tort_status check_scale(tort_infer *infer, int32_t i, const char *what) {
    const tort_node_view *node = infer->node;
    const tort_info *x = &node->inputs[0], *scale = &node->inputs[i];
    if (!tort_has_input(node, i) || x->rank < 0 || scale->rank < 0) return TORT_OK;
    int64_t block = tort_attr_int(node, "block_size");
    if (block < 0) return tort_fail(infer->error, TORT_E_MODEL, "block_size is %lld", (long long)block);
    if (block == 0 && scale->rank > 1)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected 0 or 1 without block_size", what,
                         scale->rank);
    /* A single scale, or an unknown number of them: there is no axis to check. */
    if (block == 0 && (scale->rank == 0 || scale->dims[0] == 1 || !tort_dim_known(scale->dims[0]))) return TORT_OK;
    int32_t axis = 0;
    if (x->rank != 1 || axis_of(node) < 1) {
        tort_status status = tort_normalize_axis(infer->error, axis_of(node), x->rank, &axis);
        if (status != TORT_OK) return status;
    }
    if (block == 0) {
        tort_dim expected = x->dims[axis];
        bool known = tort_dim_known(scale->dims[0]) && tort_dim_known(expected);
        return known && scale->dims[0] != expected ? mismatch(infer, what, 0, scale->dims[0], expected) : TORT_OK;
    }
    if (scale->rank != x->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected that of x, %d, with block_size", what,
                         scale->rank, x->rank);
    for (int32_t d = 0; d < x->rank; d++) {
        tort_dim expected = scales_along(infer, d, axis, block), found = scale->dims[d];
        if (tort_dim_known(found) && tort_dim_known(expected) && found != expected)
            return mismatch(infer, what, d, found, expected);
    }
    return TORT_OK;
}

/* Checks that there is a zero point for each scale. */
static tort_status check_pairs(tort_infer *infer) {
    const tort_info *scale = &infer->node->inputs[1], *zero = &infer->node->inputs[2];
    if (!tort_has_input(infer->node, 2) || !tort_shape_known(scale) || !tort_shape_known(zero)) return TORT_OK;
    int64_t scales = tort_extent(scale->dims, 0, scale->rank), zeros = tort_extent(zero->dims, 0, zero->rank);
    if (scales == zeros) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "the zero point has %lld elements, the scale %lld", (long long)zeros,
                     (long long)scales);
}

static tort_status infer_shapes(tort_infer *infer, tort_type type) {
    tort_status status = check_scale(infer, 1, "the scale");
    if (status == TORT_OK) status = check_scale(infer, 2, "the zero point");
    if (status == TORT_OK) status = check_pairs(infer);
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = type;
    return status;
}

static tort_status infer_quantize(tort_infer *infer) {
    tort_type type = tort_attr_type(infer->node, "output_dtype");
    if (tort_has_input(infer->node, 2)) {
        tort_type zero = infer->node->inputs[2].type;
        if (type != TORT_UNDEFINED && type != zero)
            return tort_fail(infer->error, TORT_E_MODEL, "output_dtype is %s, but the zero point is %s",
                             tort_type_name(type), tort_type_name(zero));
        type = zero;
    }
    return infer_shapes(infer, type == TORT_UNDEFINED ? TORT_UINT8 : type);
}

static tort_status infer_dequantize(tort_infer *infer) {
    tort_type type = tort_attr_type(infer->node, "output_dtype");
    if (!*infer->node->op->domain && infer->node->op->until < 19) type = TORT_FLOAT;
    return infer_shapes(infer, type == TORT_UNDEFINED ? infer->node->inputs[1].type : type);
}

static tort_status infer_dynamic_quantize(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = TORT_UINT8;
    tort_infer_shape(infer, 1, TORT_FLOAT, 0, NULL);
    tort_infer_shape(infer, 2, TORT_UINT8, 0, NULL);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_quantize(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *x = &node->inputs[0], *scale = &node->inputs[1];
    tort_quantize *params = resolve->params;
    const tort_attribute *saturate = tort_attr(node, "saturate");
    params->saturate = saturate == NULL || saturate->u.i != 0;
    params->precision = tort_attr_type(node, "precision");
    if (params->precision == TORT_UNDEFINED) params->precision = *node->op->domain ? TORT_FLOAT : scale->type;
    params->block = tort_attr_int(node, "block_size");
    if (x->rank < 0 || scale->rank < 0) return TORT_OK;
    bool single = true;
    for (int32_t d = 0; d < scale->rank; d++) single = single && scale->dims[d] == 1;
    if (params->block > 0) {
        params->granularity = TORT_PER_BLOCK;
    } else if (!single) {
        params->granularity = TORT_PER_AXIS;
    }
    int64_t axis = x->rank == 1 ? 0 : axis_of(node);
    if (axis < 0) axis += x->rank;
    params->outer = params->length = params->inner = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        int64_t *size = d < axis ? &params->outer : d == axis ? &params->length : &params->inner;
        *size = x->dims[d] < 0 || *size < 0 ? -1 : *size * x->dims[d];
    }
    if (params->block > 0 && params->length >= 0)
        params->blocks = params->length / params->block + (params->length % params->block != 0);
    return TORT_OK;
}

/* ---- scales beside their elements -------------------------------------------------------------------------------- */

/* out[k] = the one of `values` (scales or zero points) that belongs to element first + k. */
#define LAY_OUT(name, ctype, load)                                                                                     \
    static void name(const tort_quantize *p, const tort_tensor *values, int64_t first, int64_t count, ctype *out) {    \
        const int64_t inner = p->inner, length = p->length;                                                            \
        if (p->granularity == TORT_PER_TENSOR) {                                                                       \
            load(values->type, values->data, 0, 1, out);                                                               \
            for (int64_t k = 1; k < count; k++) out[k] = out[0];                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t k = 0; k < count;) {                                                                              \
            const int64_t i = (first + k) % inner, a = (first + k) / inner % length, o = (first + k) / inner / length; \
            const bool blocked = p->granularity == TORT_PER_BLOCK, last = inner == 1; /* the axis is the innermost */  \
            const int64_t at = blocked ? (o * p->blocks + a / p->block) * inner + i : a;                               \
            int64_t run = !last ? inner - i : blocked ? p->block - a % p->block : length - a;                          \
            if (last && run > length - a) run = length - a;                                                            \
            if (run > count - k) run = count - k;                                                                      \
            if (blocked != last) { /* each neighbour has its own number */                                             \
                load(values->type, values->data, at, run, out + k);                                                    \
            } else {                                                                                                   \
                load(values->type, values->data, at, 1, out + k);                                                      \
                for (int64_t r = 1; r < run; r++) out[k + r] = out[k];                                                 \
            }                                                                                                          \
            k += run;                                                                                                  \
        }                                                                                                              \
    }
LAY_OUT(lay_out, float, tort_load_floats)
LAY_OUT(lay_out_wide, double, tort_load_doubles)

typedef struct beside {
    float scale[TORT_BLOCK], zero_point[TORT_BLOCK];
} beside;

/* Lays out the scale and zero point of each element of a block. Per tensor they are the same in every block: `begun`
 * says that a block before, never a shorter one, has set them. */
static void lay_out_both(const tort_call *call, int64_t first, int64_t count, bool begun, beside *b) {
    const tort_quantize *params = call->params;
    if (begun && params->granularity == TORT_PER_TENSOR) return;
    lay_out(params, &call->inputs[1], first, count, b->scale);
    if (tort_call_input(call, 2))
        lay_out(params, &call->inputs[2], first, count, b->zero_point);
    else
        memset(b->zero_point, 0, sizeof b->zero_point);
}

/* ---- QuantizeLinear ---------------------------------------------------------------------------------------------- */

static void round_to(tort_type precision, int64_t count, float *x) {
    uint16_t rounded[TORT_BLOCK];
    if (precision != TORT_FLOAT16 && precision != TORT_BFLOAT16) return;
    tort_store_floats(precision, rounded, 0, count, x);
    tort_load_floats(precision, rounded, 0, count, x);
}

static void integer_range(tort_type type, float *low, float *high) {
    int bits = tort_type_bits(type);
    bool is_signed = tort_type_is_signed(type);
    *low = is_signed ? -(float)(1 << (bits - 1)) : 0.0f;
    *high = (float)((1 << (is_signed ? bits - 1 : bits)) - 1);
}

void tort_quantize_block(const tort_quantize *params, tort_type type, void *out, int64_t first, int64_t count, float *x,
                         const float *scale, const float *zero_point) {
    for (int64_t i = 0; i < count; i++) x[i] /= scale[i];
    round_to(params->precision, count, x);
    if (tort_type_is_float(type)) {
        for (int64_t i = 0; i < count; i++) {
            uint32_t code = tort_encode_float(type, x[i] + zero_point[i], params->saturate);
            tort_set_bits(tort_type_bits(type), out, first + i, code);
        }
        return;
    }
    float low, high;
    const float round = 0x1.8p23f; /* adding and subtracting it rounds |x| < 2^22 to an integer */
    int32_t integers[TORT_BLOCK];
    integer_range(type, &low, &high);
    for (int64_t i = 0; i < count; i++) {
        float min = low - zero_point[i], max = high - zero_point[i];
        float q = x[i] > min ? x[i] : min;
        q = q < max ? q : max;
        integers[i] = (int32_t)((q + round) - round + zero_point[i]);
    }
    if (type == TORT_UINT8) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)out)[first + i] = (uint8_t)integers[i];
    } else if (type == TORT_INT8) {
        for (int64_t i = 0; i < count; i++) ((int8_t *)out)[first + i] = (int8_t)integers[i];
    } else {
        for (int64_t i = 0; i < count; i++) tort_store_integers(type, out, first + i, 1, &(int64_t){integers[i]});
    }
}

static void quantize_blocks(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_quantize *params = call->params;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    const int64_t total = tort_count(x);
    float block[TORT_BLOCK];
    beside numbers;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * TORT_BLOCK, count = tort_block_count(total, first);
        tort_load_floats(x->type, x->data, first, count, block);
        lay_out_both(call, first, count, b > begin, &numbers);
        tort_quantize_block(params, out->type, out->data, first, count, block, numbers.scale, numbers.zero_point);
    }
}

static tort_status run_quantize(const tort_call *call) {
    tort_call copy = *call;
    int64_t blocks = (tort_count(&call->inputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK;
    tort_parallel(call, blocks, 2 * TORT_BLOCK, quantize_blocks, &copy);
    return TORT_OK;
}

/* ---- DequantizeLinear -------------------------------------------------------------------------------------------- */

/* Computes in double: int32 and its differences do not fit a float. */
static void dequantize_wide(const tort_call *call, int64_t first, int64_t count) {
    const tort_quantize *params = call->params;
    const bool shifted = tort_call_input(call, 2) != NULL;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    double block[TORT_BLOCK], scale[TORT_BLOCK], zero_point[TORT_BLOCK] = {0};
    tort_load_doubles(x->type, x->data, first, count, block);
    lay_out_wide(params, &call->inputs[1], first, count, scale);
    if (shifted) lay_out_wide(params, &call->inputs[2], first, count, zero_point);
    for (int64_t i = 0; i < count; i++) block[i] = (block[i] - zero_point[i]) * scale[i];
    tort_store_doubles(out->type, out->data, first, count, block);
}

static void dequantize_blocks(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    const int64_t total = tort_count(x);
    float block[TORT_BLOCK];
    beside numbers;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * TORT_BLOCK, count = tort_block_count(total, first);
        if (x->type == TORT_INT32) {
            dequantize_wide(call, first, count);
            continue;
        }
        tort_load_floats(x->type, x->data, first, count, block);
        lay_out_both(call, first, count, b > begin, &numbers);
        for (int64_t i = 0; i < count; i++) block[i] = (block[i] - numbers.zero_point[i]) * numbers.scale[i];
        tort_store_floats(out->type, out->data, first, count, block);
    }
}

static tort_status run_dequantize(const tort_call *call) {
    tort_call copy = *call;
    int64_t blocks = (tort_count(&call->inputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK;
    tort_parallel(call, blocks, TORT_BLOCK, dequantize_blocks, &copy);
    return TORT_OK;
}

/* ---- DynamicQuantizeLinear --------------------------------------------------------------------------------------- */

/* Range of x, widened to hold 0, ignoring NaN; in parallel lanes, so that the compiler can vectorize it. */
static void range_with_zero(const float *x, int64_t count, float *low, float *high) {
    enum { LANES = 16 };
    float min[LANES] = {0}, max[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            min[l] = x[i + l] < min[l] ? x[i + l] : min[l];
            max[l] = x[i + l] > max[l] ? x[i + l] : max[l];
        }
    }
    for (; i < count; i++) {
        min[0] = x[i] < min[0] ? x[i] : min[0];
        max[0] = x[i] > max[0] ? x[i] : max[0];
    }
    *low = *high = 0;
    for (int l = 0; l < LANES; l++) {
        *low = min[l] < *low ? min[l] : *low;
        *high = max[l] > *high ? max[l] : *high;
    }
}

typedef struct dynamic {
    const tort_call *call;
    float scale, zero_point;
} dynamic;

static void dynamic_blocks(void *arg, int64_t begin, int64_t end) {
    static const tort_quantize params = {.precision = TORT_FLOAT};
    const dynamic *d = arg;
    const tort_tensor *x = &d->call->inputs[0];
    int64_t total = tort_count(x);
    float scale[TORT_BLOCK], zero_point[TORT_BLOCK], block[TORT_BLOCK];
    for (int64_t i = 0; i < TORT_BLOCK; i++) scale[i] = d->scale, zero_point[i] = d->zero_point;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * TORT_BLOCK, count = tort_block_count(total, first);
        tort_load_floats(TORT_FLOAT, x->data, first, count, block);
        tort_quantize_block(&params, TORT_UINT8, d->call->outputs[0].data, first, count, block, scale, zero_point);
    }
}

/* If x is empty or all 0, ONNX's formula divides 0 by 0: the scale is 1 then, and the zero point 0. */
void tort_scale_of_range(float low, float high, float *scale, float *zero_point) {
    *scale = high > low ? (high - low) / 255.0f : 1;
    const float zero = *scale > 0 ? rintf(-low / *scale) : 0;
    *zero_point = zero < 0 ? 0 : zero > 255 ? 255 : zero;
}

void tort_range_in_parts(struct tort_watch *watch, void (*range)(const float *x, int64_t n, float *low, float *high),
                         const float *x, int64_t count, float *low, float *high) {
    *low = *high = 0;
    for (int64_t at = 0; at < count && tort_row_goes_on(watch, at); at += TORT_PART) {
        float part_low, part_high;
        range(x + at, tort_part_count(count, at), &part_low, &part_high);
        *low = part_low < *low ? part_low : *low;
        *high = part_high > *high ? part_high : *high;
    }
}

void tort_dynamic_scale(struct tort_watch *watch, const float *x, int64_t count, float *scale, float *zero_point) {
    float low, high;
    tort_range_in_parts(watch, range_with_zero, x, count, &low, &high);
    tort_scale_of_range(low, high, scale, zero_point);
}

static tort_status run_dynamic_quantize(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    const int64_t count = tort_count(x);
    float scale, zero_point;
    tort_dynamic_scale(call->watch, x->data, count, &scale, &zero_point);
    const tort_tensor *y_scale = tort_call_output(call, 1), *y_zero_point = tort_call_output(call, 2);
    if (y_scale) *(float *)y_scale->data = scale;
    if (y_zero_point) *(uint8_t *)y_zero_point->data = (uint8_t)zero_point;
    if (!tort_call_output(call, 0)) return TORT_OK;
    dynamic d = {call, scale > 0 ? scale : 1, zero_point};
    tort_parallel(call, (count + TORT_BLOCK - 1) / TORT_BLOCK, 2 * TORT_BLOCK, dynamic_blocks, &d);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define QUANTIZE(SINCE, UNTIL, FORMALS, TYPES, ATTRIBUTES)                                                             \
    {                                                                                                                  \
        "", "QuantizeLinear", SINCE, UNTIL, FORMALS, TYPES, ATTRIBUTES,                                                \
            .flags = TORT_OP_NARROWS, .params_size = sizeof(tort_quantize), infer_quantize, resolve_quantize,          \
            run_quantize                                                                                               \
    }
#define DEQUANTIZE(SINCE, UNTIL, FORMALS, TYPES, ATTRIBUTES)                                                           \
    {                                                                                                                  \
        "", "DequantizeLinear", SINCE, UNTIL, FORMALS, TYPES, ATTRIBUTES,                                              \
            .flags = TORT_OP_LATE | TORT_OP_WIDENS, .params_size = sizeof(tort_quantize), infer_dequantize,            \
            resolve_quantize, run_dequantize                                                                           \
    }
#define Q_FLOAT_SCALE "x:T1 y_scale:float y_zero_point?:T2", "y:T2"
#define Q_SAME_SCALE "x:T1 y_scale:T1 y_zero_point?:T2", "y:T2"
#define Q_OWN_SCALE "x:T1 y_scale:T2 y_zero_point?:T3", "y:T3"
#define DQ_FLOAT_SCALE "x:T x_scale:float x_zero_point?:T", "y:float"
#define DQ_SCALE_OUT "x:T1 x_scale:T2 x_zero_point?:T1", "y:T2"
#define DQ_ANY_OUT "x:T1 x_scale:T2 x_zero_point?:T1", "y:T3"
#define FLOATS "floats13|-double"
#define SCALED "axis:int=1 block_size:int=0 output_dtype:int(T2)=0 saturate:int=1"
#define PRECISE "axis:int=1 block_size:int=0 output_dtype:int(T3)=0 precision:int(" FLOATS ")=0 saturate:int=1"
#define BLOCKED "axis:int=1 block_size:int=0"

const tort_op tort_ops_quantize[] = {
    QUANTIZE(10, 12, Q_FLOAT_SCALE, "T1=int32|float T2=int8|uint8", ""),
    QUANTIZE(13, 18, Q_FLOAT_SCALE, "T1=int32|float T2=int8|uint8", "axis:int=1"),
    QUANTIZE(19, 20, Q_SAME_SCALE, "T1=int32|" FLOATS " T2=quantized19", "axis:int=1 saturate:int=1"),
    QUANTIZE(21, 22, Q_SAME_SCALE, "T1=int32|" FLOATS " T2=quantized21", SCALED),
    QUANTIZE(23, 23, Q_OWN_SCALE, "T1=int32|" FLOATS " T2=int32|" FLOATS " T3=quantized23", PRECISE),
    QUANTIZE(24, 24, Q_OWN_SCALE, "T1=int32|" FLOATS " T2=int32|float8e8m0|" FLOATS " T3=quantized23", PRECISE),
    QUANTIZE(25, 27, Q_OWN_SCALE, "T1=int32|" FLOATS " T2=int32|float8e8m0|" FLOATS " T3=quantized25", PRECISE),
    QUANTIZE(28, TORT_NEWEST_OPSET, Q_OWN_SCALE, "T1=int32|" FLOATS " T2=int32|float8e8m0|" FLOATS " T3=quantized28",
             PRECISE),
    DEQUANTIZE(10, 12, DQ_FLOAT_SCALE, "T=int8|int32|uint8", ""),
    DEQUANTIZE(13, 18, DQ_FLOAT_SCALE, "T=int8|int32|uint8", "axis:int=1"),
    DEQUANTIZE(19, 20, DQ_SCALE_OUT, "T1=int32|quantized19 T2=" FLOATS, "axis:int=1"),
    DEQUANTIZE(21, 22, DQ_SCALE_OUT, "T1=int32|quantized21 T2=" FLOATS, BLOCKED),
    DEQUANTIZE(23, 23, DQ_ANY_OUT, "T1=int32|quantized23 T2=" FLOATS " T3=" FLOATS, BLOCKED " output_dtype:int(T3)=0"),
    DEQUANTIZE(24, 24, DQ_ANY_OUT, "T1=int32|quantized23 T2=float8e8m0|" FLOATS " T3=" FLOATS,
               BLOCKED " output_dtype:int(T3)=0"),
    DEQUANTIZE(25, 27, DQ_ANY_OUT, "T1=int32|quantized25 T2=float8e8m0|" FLOATS " T3=" FLOATS,
               BLOCKED " output_dtype:int(T3)=0"),
    DEQUANTIZE(28, TORT_NEWEST_OPSET, DQ_ANY_OUT, "T1=int32|quantized28 T2=float8e8m0|" FLOATS " T3=" FLOATS,
               BLOCKED " output_dtype:int(T3)=0"),
    {"", "DynamicQuantizeLinear", 11, TORT_NEWEST_OPSET, "x:T1", "y:T2 y_scale:float y_zero_point:T2",
     "T1=float T2=uint8", "", .infer = infer_dynamic_quantize, .reference = run_dynamic_quantize},
    {"com.microsoft", "QuantizeLinear", 1, 1, Q_SAME_SCALE, "T1=float16|float T2=int8|uint8|int16|uint16|int4|uint4",
     "axis:int", .flags = TORT_OP_NARROWS, .params_size = sizeof(tort_quantize), infer_quantize, resolve_quantize,
     run_quantize},
    {"com.microsoft", "DequantizeLinear", 1, 1, DQ_SCALE_OUT,
     "T1=int8|uint8|int16|uint16|int32|int4|uint4 T2=float16|float", "axis:int", .flags = TORT_OP_LATE | TORT_OP_WIDENS,
     .params_size = sizeof(tort_quantize), infer_dequantize, resolve_quantize, run_dequantize},
    {0},
};
