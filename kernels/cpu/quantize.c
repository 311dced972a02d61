/* quantize.c - QuantizeLinear and DequantizeLinear between floats and 8-bit integers, per tensor and per axis, and
 * DynamicQuantizeLinear.
 *
 * Read next: simd/integers.c; ops/quantize.h for how an axis divides a tensor. */
#include "kernels/cpu/quantize.h"

#include "ops/quantize.h"

/* The variants of the rows: which way, and that only one scale is served (a kernel that takes any layout). */
enum { DEQUANTIZE = 1, ONE_SCALE = 2 };

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_quantize *p = node->params;
    const bool back = (node->kernel->variant & DEQUANTIZE) != 0;
    const tort_type x = node->inputs[0].type, y = node->outputs[0].type, floats = back ? y : x, bytes = back ? x : y;
    if (floats != TORT_FLOAT || !tort_is_byte(bytes))
        return tort_no(TORT_NO_TYPE, "", "is for float and int8 or uint8, not for %s and %s", tort_type_name(floats),
                       tort_type_name(bytes));
    if (p->precision == TORT_FLOAT16 || p->precision == TORT_BFLOAT16)
        return tort_no(TORT_NO_ATTR, "precision", "rounds as float does, not as %s", tort_type_name(p->precision));
    if (node->inputs[0].rank < 0 || node->inputs[1].rank < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "the rank of x or of its scale is not known");
    if (p->granularity == TORT_PER_BLOCK) return tort_no(TORT_NO_ATTR, "block_size", "is for a scale a tensor or axis");
    if (p->granularity == TORT_PER_AXIS && p->inner == 1)
        return tort_no(TORT_NO_SHAPE, "", "is for an axis that is not the last");
    if (node->kernel->variant & ONE_SCALE && p->granularity != TORT_PER_TENSOR)
        return tort_no(TORT_NO_SHAPE, "", "is for one scale");
    return tort_cpu_claim_processor(target);
}

/* ---- rows of one scale ------------------------------------------------------------------------------------------- */

typedef struct row_job {
    const tort_call *call;
    const tort_simd *simd;
    const tort_quantize *params;
    bool is_signed;
} row_job;

/* Returns the scale and zero point for index `index` of the axis. */
static tort_linear_bytes scale_of(const row_job *job, int64_t index) {
    const tort_tensor *zero = tort_call_input(job->call, 2);
    const int64_t i = job->params->granularity == TORT_PER_AXIS ? index : 0;
    return (tort_linear_bytes){.scale = tort_cpu_number(&job->call->inputs[1], i),
                               .zero_point = zero ? tort_cpu_number(zero, i) : 0,
                               .is_signed = job->is_signed};
}

/* Calls body for elements begin..end, split where the scale changes. */
static void each_row(const row_job *job, int64_t begin, int64_t end,
                     void (*body)(const row_job *, const tort_linear_bytes *, int64_t, int64_t)) {
    const bool one = job->params->granularity == TORT_PER_TENSOR;
    const int64_t inner = job->params->inner, length = job->params->length;
    while (begin < end) {
        const int64_t row_end = one ? end : (begin / inner + 1) * inner, last = row_end < end ? row_end : end;
        const tort_linear_bytes linear = scale_of(job, one ? 0 : begin / inner % length);
        body(job, &linear, begin, last - begin);
        begin = last;
    }
}

static void quantize(const row_job *job, const tort_linear_bytes *linear, int64_t first, int64_t count) {
    job->simd->quantize(linear, (const float *)job->call->inputs[0].data + first,
                        (uint8_t *)job->call->outputs[0].data + first, count);
}

static void dequantize(const row_job *job, const tort_linear_bytes *linear, int64_t first, int64_t count) {
    job->simd->dequantize(linear, (const uint8_t *)job->call->inputs[0].data + first,
                          (float *)job->call->outputs[0].data + first, count);
}

static void quantize_range(void *arg, int64_t begin, int64_t end) {
    each_row(arg, begin, end, quantize);
}

static void dequantize_range(void *arg, int64_t begin, int64_t end) {
    each_row(arg, begin, end, dequantize);
}

static tort_status run(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const bool back = (call->kernel->variant & DEQUANTIZE) != 0;
    const tort_type bytes = back ? call->inputs[0].type : call->outputs[0].type;
    row_job job = {.call = call, .simd = device->simd, .params = call->params, .is_signed = bytes == TORT_INT8};
    tort_parallel(call, tort_count(&call->outputs[0]), 1, back ? dequantize_range : quantize_range, &job);
    return TORT_OK;
}

/* ---- with a scale of its own ------------------------------------------------------------------------------------- */

typedef struct dynamic_job {
    const tort_simd *simd;
    const float *x;
    uint8_t *y;
    tort_linear_bytes linear;
} dynamic_job;

static void dynamic_range(void *arg, int64_t begin, int64_t end) {
    const dynamic_job *job = arg;
    job->simd->quantize(&job->linear, job->x + begin, job->y + begin, end - begin);
}

void tort_cpu_quantize_dynamically(const tort_call *call, const tort_tensor *x, uint8_t *y, float *scale,
                                   uint8_t *zero_point) {
    const tort_cpu_device *device = call->device;
    const int64_t count = tort_count(x);
    dynamic_job job = {.simd = device->simd, .x = x->data, .y = y};
    float low, high;
    tort_range_in_parts(call->watch, device->simd->range, x->data, count, &low, &high);
    tort_scale_of_range(low, high, scale, &job.linear.zero_point);
    *zero_point = (uint8_t)job.linear.zero_point;
    job.linear.scale = *scale > 0 ? *scale : 1;
    tort_parallel(call, count, 1, dynamic_range, &job);
}

static tort_verdict claim_dynamic(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 0; i < 3; i++)
        if (!tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "", "makes all three outputs");
    return tort_cpu_claim_processor(target);
}

static tort_status run_dynamic(const tort_call *call) {
    tort_cpu_quantize_dynamically(call, &call->inputs[0], call->outputs[0].data, call->outputs[1].data,
                                  call->outputs[2].data);
    return TORT_OK;
}

#define LINEAR .claim = claim, .run = run
#define IN_ANY_ORDER .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1, .layout.outputs = 1

const tort_kernel tort_cpu_quantize[] = {
    {"", "QuantizeLinear", "quantize_vectors", LINEAR, .variant = ONE_SCALE, IN_ANY_ORDER},
    {"", "DequantizeLinear", "dequantize_vectors", LINEAR, .variant = DEQUANTIZE | ONE_SCALE, IN_ANY_ORDER},
    {"", "QuantizeLinear", "quantize_vectors", LINEAR},
    {"", "DequantizeLinear", "dequantize_vectors", LINEAR, .variant = DEQUANTIZE},
    {"com.microsoft", "QuantizeLinear", "quantize_vectors", LINEAR, .variant = ONE_SCALE, IN_ANY_ORDER},
    {"com.microsoft", "DequantizeLinear", "dequantize_vectors", LINEAR, .variant = DEQUANTIZE | ONE_SCALE,
     IN_ANY_ORDER},
    {"com.microsoft", "QuantizeLinear", "quantize_vectors", LINEAR},
    {"com.microsoft", "DequantizeLinear", "dequantize_vectors", LINEAR, .variant = DEQUANTIZE},
    {"", "DynamicQuantizeLinear", "dynamic_quantize_vectors", .claim = claim_dynamic, .run = run_dynamic},
    {.op = NULL},
};
