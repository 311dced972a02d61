/* map.c - elementwise functions in fp32: the activations, and Exp, Erf, Sqrt and the like; Not, BitwiseNot and IsNaN.
 *
 * Read next: simd/maps.c. */
#include "kernels/cpu/cpu.h"
#include "ops/microsoft/bias.h"

#include <string.h>

typedef struct map_job {
    const tort_simd *simd;
    int32_t kind;
    float alpha, beta;
    const float *x;
    float *y;
} map_job;

static void map_range(void *arg, int64_t begin, int64_t end) {
    const map_job *job = arg;
    job->simd->map(job->kind, job->alpha, job->beta, job->x + begin, job->y + begin, end - begin);
}

static tort_status map(const tort_call *call, int32_t kind, float alpha, float beta) {
    const tort_cpu_device *device = call->device;
    map_job job = {.simd = device->simd,
                   .kind = kind,
                   .alpha = alpha,
                   .beta = beta,
                   .x = call->inputs[0].data,
                   .y = call->outputs[0].data};
    tort_parallel(call, tort_count(&call->outputs[0]), 1, map_range, &job);
    return TORT_OK;
}

/* Runs rows whose variant is a tort_activation or a tort_map_kind. */
static tort_status run_map(const tort_call *call) {
    return map(call, call->kernel->variant, 0, 0);
}

static tort_status run_with_attributes(const tort_call *call) {
    const tort_activation_params *params = call->params;
    return map(call, call->kernel->variant, params->alpha, params->beta);
}

static tort_status run_gelu(const tort_call *call) {
    const tort_activation_params *params = call->params;
    return map(call, params->tanh ? TORT_ACTIVATION_GELU_TANH : TORT_ACTIVATION_GELU, 0, 0);
}

static tort_status run_clip(const tort_call *call) {
    const tort_clip *params = call->params;
    const tort_tensor *low = tort_call_input(call, 1), *high = tort_call_input(call, 2);
    return map(call, TORT_ACTIVATION_CLIP, low ? *(const float *)low->data : params->low,
               high ? *(const float *)high->data : params->high);
}

/* ---- to bits and bools ------------------------------------------------------------------------------------------- */

typedef struct byte_job {
    const tort_simd *simd;
    const void *x;
    uint8_t *y;
    uint8_t bits;
} byte_job;

static void flip_range(void *arg, int64_t begin, int64_t end) {
    const byte_job *job = arg;
    job->simd->flip((const uint8_t *)job->x + begin, job->y + begin, end - begin, job->bits);
}

static void is_nan_range(void *arg, int64_t begin, int64_t end) {
    const byte_job *job = arg;
    job->simd->is_nan((const float *)job->x + begin, job->y + begin, end - begin);
}

static tort_status run_bytes(const tort_call *call, int64_t count, void (*range)(void *, int64_t, int64_t)) {
    byte_job job = {((const tort_cpu_device *)call->device)->simd, call->inputs[0].data, call->outputs[0].data,
                    (uint8_t)call->kernel->variant};
    tort_parallel(call, count, 1, range, &job);
    return TORT_OK;
}

static tort_status run_flip(const tort_call *call) {
    return run_bytes(call, tort_count(&call->inputs[0]) * (tort_type_bits(call->inputs[0].type) / 8), flip_range);
}

static tort_status run_is_nan(const tort_call *call) {
    return run_bytes(call, tort_count(&call->inputs[0]), is_nan_range);
}

static tort_verdict claim_is_nan(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[0].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, the input is %s", tort_type_name(node->inputs[0].type));
    return tort_cpu_claim_processor(target);
}

/* ---- with a bias ------------------------------------------------------------------------------------------------- */

typedef struct bias_job {
    const tort_call *call;
    const tort_simd *simd;
    tort_epilogue epilogue;
    const float *x, *bias;
    float *y;
    int64_t columns;
} bias_job;

static void bias_rows(void *arg, int64_t begin, int64_t end) {
    const bias_job *job = arg;
    int64_t done = 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t at = 0; at < job->columns; at += TORT_PART) {
            const int64_t count = tort_part_count(job->columns, at);
            float *y = job->y + row * job->columns + at;
            const float *x = job->x + row * job->columns + at;
            if (!tort_work_goes_on(job->call->watch, &done, count)) return;
            if (x != y) memcpy(y, x, (size_t)count * sizeof(float));
            job->simd->finish(&job->epilogue, job->bias + at, y, count);
        }
}

static tort_status run_bias_gelu(const tort_call *call) {
    const tort_bias_params *params = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 1);
    if (!bias) return run_gelu(call);
    bias_job job = {.call = call,
                    .simd = device->simd,
                    .epilogue.activation = params->gelu.tanh ? TORT_ACTIVATION_GELU_TANH : TORT_ACTIVATION_GELU,
                    .x = call->inputs[0].data,
                    .bias = bias->data,
                    .y = call->outputs[0].data,
                    .columns = params->columns};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, params->rows, params->columns, bias_rows, &job);
    return TORT_OK;
}

#define ROW(domain_, op_, name_, run_, variant_)                                                                       \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .claim = tort_cpu_claim_float, .run = run_, .variant = variant_,  \
        .in_place = 1, .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1, .layout.outputs = 1                           \
    }
#define BIAS_ROW(op_)                                                                                                  \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "bias_gelu_vectors", .claim = tort_cpu_claim_float,              \
        .run = run_bias_gelu, .in_place = 1                                                                            \
    }

const tort_kernel tort_cpu_map[] = {
    ROW("", "Exp", "exp_vectors", run_map, TORT_MAP_EXP),
    ROW("", "Erf", "erf_vectors", run_map, TORT_MAP_ERF),
    ROW("", "Tanh", "tanh_vectors", run_map, TORT_ACTIVATION_TANH),
    ROW("", "Abs", "abs_vectors", run_map, TORT_MAP_ABS),
    ROW("", "Neg", "neg_vectors", run_map, TORT_MAP_NEG),
    ROW("", "Floor", "floor_vectors", run_map, TORT_MAP_FLOOR),
    ROW("", "Ceil", "ceil_vectors", run_map, TORT_MAP_CEIL),
    ROW("", "Round", "round_vectors", run_map, TORT_MAP_ROUND),
    ROW("", "Sqrt", "sqrt_vectors", run_map, TORT_MAP_SQRT),
    ROW("", "Reciprocal", "reciprocal_vectors", run_map, TORT_MAP_RECIPROCAL),
    ROW("", "Log", "log_vectors", run_map, TORT_MAP_LOG),
    ROW("", "Sin", "sin_vectors", run_map, TORT_MAP_SIN),
    ROW("", "Cos", "cos_vectors", run_map, TORT_MAP_COS),
    ROW("", "Tan", "tan_vectors", run_map, TORT_MAP_TAN),
    ROW("", "Atan", "atan_vectors", run_map, TORT_MAP_ATAN),
    ROW("", "Sign", "sign_vectors", run_map, TORT_MAP_SIGN),
    ROW("", "Relu", "relu_vectors", run_map, TORT_ACTIVATION_RELU),
    ROW("", "Sigmoid", "sigmoid_vectors", run_map, TORT_ACTIVATION_SIGMOID),
    ROW("", "HardSwish", "hard_swish_vectors", run_map, TORT_ACTIVATION_HARD_SWISH),
    ROW("", "Mish", "mish_vectors", run_map, TORT_MAP_MISH),
    ROW("", "Softplus", "softplus_vectors", run_map, TORT_ACTIVATION_SOFTPLUS),
    ROW("", "Softsign", "softsign_vectors", run_map, TORT_ACTIVATION_SOFTSIGN),
    ROW("", "LeakyRelu", "leaky_relu_vectors", run_with_attributes, TORT_ACTIVATION_LEAKY_RELU),
    ROW("", "HardSigmoid", "hard_sigmoid_vectors", run_with_attributes, TORT_ACTIVATION_HARD_SIGMOID),
    ROW("", "ThresholdedRelu", "thresholded_relu_vectors", run_with_attributes, TORT_ACTIVATION_THRESHOLDED_RELU),
    ROW("", "Elu", "elu_vectors", run_with_attributes, TORT_ACTIVATION_ELU),
    ROW("", "Selu", "selu_vectors", run_with_attributes, TORT_ACTIVATION_SELU),
    ROW("", "Celu", "celu_vectors", run_with_attributes, TORT_ACTIVATION_CELU),
    ROW("", "Swish", "swish_vectors", run_with_attributes, TORT_MAP_SWISH),
    ROW("com.microsoft", "QuickGelu", "swish_vectors", run_with_attributes, TORT_MAP_SWISH),
    ROW("", "Clip", "clip_vectors", run_clip, 0),
    ROW("", "Gelu", "gelu_vectors", run_gelu, 0),
    ROW("com.microsoft", "Gelu", "gelu_vectors", run_gelu, 0),
    {.domain = "",
     .op = "Not",
     .name = "not_vectors",
     .claim = tort_cpu_claim_any,
     .run = run_flip,
     .variant = 1,
     .in_place = 1},
    {.domain = "",
     .op = "BitwiseNot",
     .name = "not_vectors",
     .claim = tort_cpu_claim_any,
     .run = run_flip,
     .variant = 0xff,
     .in_place = 1},
    {.domain = "", .op = "IsNaN", .name = "is_nan_vectors", .claim = claim_is_nan, .run = run_is_nan},
    BIAS_ROW("FastGelu"),
    BIAS_ROW("BiasGelu"),
    {.op = NULL},
};
