/* cast.c - Cast, CastLike and BitCast between all types but complex.
 *
 * Float to integer truncates; a value that does not fit loses its high bits, as integers do (beyond int64: the nearest
 * int64; NaN: 0). To a float type there is one rounding, except from 64-bit integers to floats of up to 16 bits, which
 * go through float. Text is read by locale.c, written by number_text.c; a bool is written "1" or "0". Text that is not
 * a number is an error that quotes it. */
#include "ops/cast.h"

#include <stdio.h>
#include <string.h>

#include "ops/extent.h"
#include "ops/number_text.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "runtime/core/base/locale.h"

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Keeps integers computed from shapes: as they are in int32 and int64, compared with 0 in bool. */
static tort_status cast_elements(tort_infer *infer, tort_type type) {
    if (type == TORT_INT32 || type == TORT_INT64) return tort_infer_forward_elements(infer, 0, 0);
    tort_scalar values[TORT_MAX_ELEMENTS];
    int32_t count;
    if (type != TORT_BOOL || !tort_infer_integers(infer, 0, values, &count)) return TORT_OK;
    for (int32_t i = 0; i < count; i++) {
        if (values[i].symbolic) {
            values[i] = tort_scalar_unknown_of(infer->dims, values[i], values[i]);
        } else {
            values[i].value = values[i].value != 0;
        }
    }
    return tort_infer_set_integers(infer, 0, values, count);
}

static tort_status infer_cast(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = tort_attr_type(infer->node, "to");
    return cast_elements(infer, infer->outputs[0].type);
}

static tort_status infer_cast_like(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = infer->node->inputs[1].type;
    return cast_elements(infer, infer->node->inputs[1].type);
}

static tort_status infer_bit_cast(tort_infer *infer) {
    tort_type type = tort_attr_type(infer->node, "to"), from = infer->node->inputs[0].type;
    if (tort_type_bits(type) != tort_type_bits(from)) {
        return tort_fail(infer->error, TORT_E_MODEL, "%s has %d bits and cannot be seen as %s", tort_type_name(from),
                         tort_type_bits(from), tort_type_name(type));
    }
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = type;
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_cast(tort_resolve *resolve) {
    tort_cast *params = resolve->params;
    const tort_attribute *saturate = tort_attr(resolve->node, "saturate");
    const char *mode = tort_attr_string(resolve->node, "round_mode");
    params->parts.axis = resolve->node->inputs[0].type == resolve->node->outputs[0].type ? 0 : -1;
    params->saturate = saturate == NULL || saturate->u.i != 0;
    params->rounding = TORT_ROUND_UP;
    if (strcmp(mode, "nearest") == 0) {
        params->rounding = TORT_ROUND_NEAREST;
    } else if (strcmp(mode, "down") == 0) {
        params->rounding = TORT_ROUND_DOWN;
    } else if (tort_attr(resolve->node, "round_mode") && strcmp(mode, "up") != 0) {
        return tort_fail(resolve->error, TORT_E_MODEL, "round_mode is \"%s\", expected up, down or nearest", mode);
    }
    return TORT_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_float8_or_less(tort_type type) {
    return tort_type_is_float(type) && tort_type_bits(type) <= 8;
}

static void cast_to_float8(const tort_call *call, int64_t first, int64_t count) {
    const tort_cast *params = call->params;
    tort_type type = call->outputs[0].type;
    double block[TORT_BLOCK];
    tort_load_doubles(call->inputs[0].type, call->inputs[0].data, first, count, block);
    for (int64_t i = 0; i < count; i++) {
        uint32_t code = type == TORT_FLOAT8E8M0 ? tort_encode_float8e8m0(block[i], params->rounding, params->saturate)
                                                : tort_encode_float(type, block[i], params->saturate);
        tort_set_bits(tort_type_bits(type), call->outputs[0].data, first + i, code);
    }
}

/* Casts at most TORT_BLOCK elements, through a type that holds the values of both sides. */
static void cast_block(const tort_call *call, int64_t first, int64_t count) {
    const tort_tensor *in = &call->inputs[0], *out = &call->outputs[0];
    union {
        float f[TORT_BLOCK];
        double d[TORT_BLOCK];
        int64_t i[TORT_BLOCK];
    } block;
    bool from_float = tort_type_is_float(in->type);
    if (in->type == out->type) {
        tort_copy_elements(in->type, out->data, first, in->data, first, count);
    } else if (is_float8_or_less(out->type)) {
        cast_to_float8(call, first, count);
    } else if (in->type == TORT_FLOAT) {
        tort_store_floats(out->type, out->data, first, count, (const float *)in->data + first);
    } else if (out->type == TORT_FLOAT) {
        tort_load_floats(in->type, in->data, first, count, (float *)out->data + first);
    } else if (in->type == TORT_DOUBLE) {
        tort_store_doubles(out->type, out->data, first, count, (const double *)in->data + first);
    } else if (out->type == TORT_DOUBLE) {
        tort_load_doubles(in->type, in->data, first, count, (double *)out->data + first);
    } else if (from_float || tort_type_is_float(out->type)) {
        tort_load_floats(in->type, in->data, first, count, block.f);
        tort_store_floats(out->type, out->data, first, count, block.f);
    } else {
        tort_load_integers(in->type, in->data, first, count, block.i);
        tort_store_integers(out->type, out->data, first, count, block.i);
    }
}

static void cast_blocks(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    int64_t total = tort_count(&call->inputs[0]);
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * TORT_BLOCK;
        cast_block(call, first, tort_block_count(total, first));
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static tort_status numbers_to_text(const tort_call *call) {
    const tort_tensor *in = &call->inputs[0];
    tort_string *out = call->outputs[0].data;
    int64_t count = tort_count(in);
    tort_status status = TORT_OK;
    for (int64_t i = 0, done = 0; i < count && !status && tort_work_goes_on(call->watch, &done, 512); i++) {
        char text[TORT_NUMBER_TEXT];
        size_t length;
        if (tort_type_is_float(in->type)) {
            length = tort_float_to_text(in->type, tort_element_at(in, i), text);
        } else {
            int64_t value;
            tort_load_integers(in->type, in->data, i, 1, &value);
            const char *format = in->type == TORT_UINT64 ? "%llu" : "%lld";
            length = (size_t)snprintf(text, sizeof text, format, (long long)value);
        }
        status = tort_call_copy_text(call, (tort_string){text, length}, &out[i]);
    }
    return status;
}

static tort_status text_to_numbers(const tort_call *call) {
    const tort_tensor *out = &call->outputs[0];
    const tort_cast *params = call->params;
    const tort_string *in = call->inputs[0].data;
    int64_t count = tort_count(out);
    for (int64_t i = 0, done = 0; i < count && tort_work_goes_on(call->watch, &done, 512); i++) {
        int64_t integer;
        double value;
        if (!tort_type_is_float(out->type) && tort_read_int64(in[i], &integer)) {
            tort_store_integers(out->type, out->data, i, 1, &integer);
        } else if (!tort_read_double(in[i], &value)) {
            int shown = in[i].length < 64 ? (int)in[i].length : 64;
            return tort_fail(call->error, TORT_E_RUN, "element %lld is \"%.*s\", which is not a number to make %s of",
                             (long long)i, shown, in[i].length ? in[i].data : "", tort_type_name(out->type));
        } else if (is_float8_or_less(out->type)) {
            uint32_t code = out->type == TORT_FLOAT8E8M0
                                ? tort_encode_float8e8m0(value, params->rounding, params->saturate)
                                : tort_encode_float(out->type, value, params->saturate);
            tort_set_bits(tort_type_bits(out->type), out->data, i, code);
        } else {
            tort_store_doubles(out->type, out->data, i, 1, &value);
        }
    }
    return TORT_OK;
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static tort_status run_cast(const tort_call *call) {
    tort_type from = call->inputs[0].type, to = call->outputs[0].type;
    if (from == TORT_STRING && to != TORT_STRING) return text_to_numbers(call);
    if (to == TORT_STRING && from != TORT_STRING) return numbers_to_text(call);
    tort_call copy = *call;
    tort_parallel(call, (tort_count(&call->inputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK, TORT_BLOCK, cast_blocks, &copy);
    return TORT_OK;
}

static tort_status run_bit_cast(const tort_call *call) {
    const tort_tensor *in = &call->inputs[0], *out = &call->outputs[0];
    tort_fill_tensor(call, out, in->data, 1);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The attribute `to` names a type of T2. */
#define CAST(SINCE, UNTIL, TYPES, ATTRIBUTES)                                                                          \
    {                                                                                                                  \
        "", "Cast", SINCE, UNTIL, "input:T1", "output:T2", "T1=" TYPES " T2=" TYPES, ATTRIBUTES,                       \
            .flags = TORT_OP_PARTS, .params_size = sizeof(tort_cast), infer_cast, resolve_cast, run_cast               \
    }
#define CAST_LIKE(SINCE, UNTIL, TYPES, ATTRIBUTES)                                                                     \
    {                                                                                                                  \
        "", "CastLike", SINCE, UNTIL, "input:T1 target_type:T2", "output:T2", "T1=" TYPES " T2=" TYPES, ATTRIBUTES,    \
            .flags = TORT_OP_LIKE | TORT_OP_PARTS, .params_size = sizeof(tort_cast), infer_cast_like, resolve_cast,    \
            run_cast                                                                                                   \
    }
#define TO "to:int(T2)!"
#define SATURATE "saturate:int=1"
#define ROUNDS "round_mode:string=up saturate:int=1"

const tort_op tort_ops_cast[] = {
    CAST(1, 5, "numeric|bool", "to:string(T2)!"),
    CAST(6, 8, "numeric|bool", TO),
    CAST(9, 12, "numeric|bool|string", TO),
    CAST(13, 18, "numeric13|bool|string", TO),
    CAST(19, 20, "all19|-complex", SATURATE " " TO),
    CAST(21, 22, "all21|-complex", SATURATE " " TO),
    CAST(23, 23, "all23|-complex", SATURATE " " TO),
    CAST(24, 24, "all24|-complex", ROUNDS " " TO),
    CAST(25, 27, "all25|-complex", ROUNDS " " TO),
    CAST(28, TORT_NEWEST_OPSET, "all28|-complex", ROUNDS " " TO),
    CAST_LIKE(15, 18, "numeric13|bool|string", ""),
    CAST_LIKE(19, 20, "all19|-complex", SATURATE),
    CAST_LIKE(21, 22, "all21|-complex", SATURATE),
    CAST_LIKE(23, 23, "all23|-complex", SATURATE),
    CAST_LIKE(24, 24, "all24|-complex", ROUNDS),
    CAST_LIKE(25, TORT_NEWEST_OPSET, "all25|-complex", ROUNDS),
    {"", "BitCast", 26, TORT_NEWEST_OPSET, "input:T1", "output:T2", "T1=all25|-string T2=all25|-string", TO,
     .infer = infer_bit_cast, .reference = run_bit_cast},
    {0},
};
