/* qlinear.c - scales, zero points and tables of 8-bit numbers (qlinear.h). */
#include "ops/microsoft/qlinear.h"

#include "ops/quantize.h"
#include "ops/shapes.h"

enum { BYTES = 256 };

tort_linear tort_linear_of(const tort_call *call, int32_t scale, int32_t zero) {
    tort_linear linear = {.zero = 0};
    const tort_tensor *scales = &call->inputs[scale], *zeros = tort_call_input(call, zero);
    tort_load_floats(scales->type, scales->data, 0, 1, &linear.scale);
    if (zeros) tort_load_floats(zeros->type, zeros->data, 0, 1, &linear.zero);
    return linear;
}

tort_status tort_linear_check(const tort_infer *infer, uint32_t inputs) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < infer->node->input_count && status == TORT_OK; i++)
        if (inputs >> i & 1) status = tort_check_single(infer->node, i, "a scale or zero point", infer->error);
    return status;
}

void tort_linear_values(tort_type type, tort_linear from, float *values) {
    uint8_t bytes[BYTES];
    for (int32_t i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    tort_load_floats(type, bytes, 0, BYTES, values);
    for (int32_t i = 0; i < BYTES; i++) values[i] = (values[i] - from.zero) * from.scale;
}

void tort_linear_table(tort_type type, const float *values, tort_linear to, uint8_t *out) {
    static const tort_quantize params = {.precision = TORT_FLOAT, .saturate = true};
    float x[BYTES], scale[BYTES], zero[BYTES];
    for (int32_t i = 0; i < BYTES; i++) {
        x[i] = values[i];
        scale[i] = to.scale;
        zero[i] = to.zero;
    }
    tort_quantize_block(&params, type, out, 0, BYTES, x, scale, zero);
}

void tort_linear_convert(tort_type type, tort_linear from, tort_linear to, uint8_t *out) {
    float values[BYTES];
    if (from.scale == to.scale && from.zero == to.zero) {
        for (int32_t i = 0; i < BYTES; i++) out[i] = (uint8_t)i;
        return;
    }
    tort_linear_values(type, from, values);
    tort_linear_table(type, values, to, out);
}

void tort_linear_store(const tort_tensor *y, int64_t first, int64_t count, const float *x, float zero) {
    const bool is_signed = y->type == TORT_INT8;
    const float min = (is_signed ? -128 : 0) - zero, max = (is_signed ? 127 : 255) - zero, round = 0x1.8p23f;
    uint8_t *out = (uint8_t *)y->data + first;
    for (int64_t i = 0; i < count; i++) {
        const float above = x[i] > min ? x[i] : min, within = above < max ? above : max;
        out[i] = (uint8_t)(int32_t)((within + round) - round + zero);
    }
}

typedef struct map_job {
    const uint8_t *table, *x;
    uint8_t *y;
} map_job;

static void map_bytes(void *arg, int64_t begin, int64_t end) {
    const map_job *job = arg;
    for (int64_t i = begin; i < end; i++) job->y[i] = job->table[job->x[i]];
}

void tort_linear_map(const tort_call *call, const uint8_t *table, const void *x, void *y, int64_t count) {
    map_job job = {.table = table, .x = x, .y = y};
    if (count > 0) tort_parallel(call, count, 1, map_bytes, &job);
}
