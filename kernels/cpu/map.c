/* map.c - functions of single elements in fp32: the activations, Exp, Erf and Tanh.
 *
 * Read next: simd/maps.c. */
#include "kernels/cpu/cpu.h"
#include "ops/microsoft/bias.h"

#include <string.h>

typedef struct map_job {
    tort_map_loop loop;
    float alpha, beta;
    const float *x;
    float *y;
} map_job;

static void map_range(void *arg, int64_t begin, int64_t end) {
    const map_job *job = arg;
    job->loop(job->alpha, job->beta, job->x + begin, job->y + begin, end - begin);
}

/* `map` is a tort_activation or a tort_map_kind. */
static tort_status run_map(const tort_call *call, int32_t map, float alpha, float beta) {
    const tort_cpu_device *device = call->device;
    map_job job = {.loop = device->simd->maps[map],
                   .alpha = alpha,
                   .beta = beta,
                   .x = call->inputs[0].data,
                   .y = call->outputs[0].data};
    tort_parallel(call, tort_count(&call->outputs[0]), 1, map_range, &job);
    return TORT_OK;
}

static tort_status run_exp(const tort_call *call) {
    return run_map(call, TORT_MAP_EXP, 0, 0);
}

static tort_status run_erf(const tort_call *call) {
    return run_map(call, TORT_MAP_ERF, 0, 0);
}

static tort_status run_abs(const tort_call *call) {
    return run_map(call, TORT_MAP_ABS, 0, 0);
}

static tort_status run_neg(const tort_call *call) {
    return run_map(call, TORT_MAP_NEG, 0, 0);
}

static tort_status run_floor(const tort_call *call) {
    return run_map(call, TORT_MAP_FLOOR, 0, 0);
}

static tort_status run_ceil(const tort_call *call) {
    return run_map(call, TORT_MAP_CEIL, 0, 0);
}

static tort_status run_round(const tort_call *call) {
    return run_map(call, TORT_MAP_ROUND, 0, 0);
}

static tort_status run_sqrt(const tort_call *call) {
    return run_map(call, TORT_MAP_SQRT, 0, 0);
}

static tort_status run_reciprocal(const tort_call *call) {
    return run_map(call, TORT_MAP_RECIPROCAL, 0, 0);
}

static tort_status run_log(const tort_call *call) {
    return run_map(call, TORT_MAP_LOG, 0, 0);
}

static tort_status run_tanh(const tort_call *call) {
    return run_map(call, TORT_ACTIVATION_TANH, 0, 0);
}

static tort_status run_relu(const tort_call *call) {
    return run_map(call, TORT_ACTIVATION_RELU, 0, 0);
}

static tort_status run_sigmoid(const tort_call *call) {
    return run_map(call, TORT_ACTIVATION_SIGMOID, 0, 0);
}

static tort_status run_hard_swish(const tort_call *call) {
    return run_map(call, TORT_ACTIVATION_HARD_SWISH, 0, 0);
}

/* ---- with attributes --------------------------------------------------------------------------------------------- */

static tort_status run_with_params(const tort_call *call, int32_t map) {
    const tort_activation_params *params = call->params;
    return run_map(call, map, params->alpha, params->beta);
}

static tort_status run_leaky_relu(const tort_call *call) {
    return run_with_params(call, TORT_ACTIVATION_LEAKY_RELU);
}

static tort_status run_hard_sigmoid(const tort_call *call) {
    return run_with_params(call, TORT_ACTIVATION_HARD_SIGMOID);
}

static tort_status run_swish(const tort_call *call) {
    return run_with_params(call, TORT_MAP_SWISH);
}

static tort_status run_gelu(const tort_call *call) {
    const tort_activation_params *params = call->params;
    return run_map(call, params->tanh ? TORT_ACTIVATION_GELU_TANH : TORT_ACTIVATION_GELU, 0, 0);
}

static tort_status run_clip(const tort_call *call) {
    const tort_clip *params = call->params;
    const tort_tensor *low = tort_call_input(call, 1), *high = tort_call_input(call, 2);
    return run_map(call, TORT_ACTIVATION_CLIP, low ? *(const float *)low->data : params->low,
                   high ? *(const float *)high->data : params->high);
}

/* ---- with a bias ------------------------------------------------------------------------------------------------- */

typedef struct bias_job {
    const tort_simd *simd;
    tort_epilogue epilogue;
    const float *x, *bias;
    float *y;
    int64_t columns;
} bias_job;

static void bias_rows(void *arg, int64_t begin, int64_t end) {
    const bias_job *job = arg;
    for (int64_t row = begin; row < end; row++) {
        float *y = job->y + row * job->columns;
        const float *x = job->x + row * job->columns;
        if (x != y) memcpy(y, x, (size_t)job->columns * sizeof(float));
        job->simd->finish(&job->epilogue, job->bias, y, job->columns);
    }
}

static tort_status run_bias_gelu(const tort_call *call) {
    const tort_bias_params *params = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *bias = tort_call_input(call, 1);
    if (!bias) return run_gelu(call);
    bias_job job = {.simd = device->simd,
                    .epilogue.activation = params->gelu.tanh ? TORT_ACTIVATION_GELU_TANH : TORT_ACTIVATION_GELU,
                    .x = call->inputs[0].data,
                    .bias = bias->data,
                    .y = call->outputs[0].data,
                    .columns = params->columns};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, params->rows, params->columns, bias_rows, &job);
    return TORT_OK;
}

#define MAP_ROW(op_, name_, run_) MAP_ROW_OF("", op_, name_, run_)
#define MAP_ROW_OF(domain_, op_, name_, run_)                                                                          \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .claim = tort_cpu_claim_float, .run = run_, .in_place = 1,        \
        .layout = TORT_ANY_LAYOUT, .layout_inputs = 1, .layout_outputs = 1                                             \
    }
#define BIAS_ROW(op_)                                                                                                  \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "bias_gelu_vectors", .claim = tort_cpu_claim_float,              \
        .run = run_bias_gelu, .in_place = 1                                                                            \
    }

const tort_kernel tort_cpu_map[] = {
    MAP_ROW("Exp", "exp_vectors", run_exp),
    MAP_ROW("Erf", "erf_vectors", run_erf),
    MAP_ROW("Tanh", "tanh_vectors", run_tanh),
    MAP_ROW("Abs", "abs_vectors", run_abs),
    MAP_ROW("Neg", "neg_vectors", run_neg),
    MAP_ROW("Floor", "floor_vectors", run_floor),
    MAP_ROW("Ceil", "ceil_vectors", run_ceil),
    MAP_ROW("Round", "round_vectors", run_round),
    MAP_ROW("Sqrt", "sqrt_vectors", run_sqrt),
    MAP_ROW("Reciprocal", "reciprocal_vectors", run_reciprocal),
    MAP_ROW("Log", "log_vectors", run_log),
    MAP_ROW("Relu", "relu_vectors", run_relu),
    MAP_ROW("LeakyRelu", "leaky_relu_vectors", run_leaky_relu),
    MAP_ROW("Clip", "clip_vectors", run_clip),
    MAP_ROW("Sigmoid", "sigmoid_vectors", run_sigmoid),
    MAP_ROW("Swish", "swish_vectors", run_swish),
    MAP_ROW("HardSigmoid", "hard_sigmoid_vectors", run_hard_sigmoid),
    MAP_ROW("HardSwish", "hard_swish_vectors", run_hard_swish),
    MAP_ROW("Gelu", "gelu_vectors", run_gelu),
    MAP_ROW_OF("com.microsoft", "Gelu", "gelu_vectors", run_gelu),
    MAP_ROW_OF("com.microsoft", "QuickGelu", "swish_vectors", run_swish),
    BIAS_ROW("FastGelu"),
    BIAS_ROW("BiasGelu"),
    {.op = NULL},
};
