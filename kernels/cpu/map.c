/* map.c - functions of single elements in fp32 whose cost is arithmetic, not memory: Exp, Erf, Tanh, Sigmoid, Gelu.
 *
 * Read next: simd/maps.c. */
#include "kernels/cpu/cpu.h"
#include "ops/activation.h"

typedef struct map_job {
    void (*map)(const float *x, float *y, int64_t count);
    const float *x;
    float *y;
} map_job;

static void map_range(void *arg, int64_t begin, int64_t end) {
    const map_job *job = arg;
    job->map(job->x + begin, job->y + begin, end - begin);
}

static tort_status run_map(const tort_call *call, tort_map_kind kind) {
    const tort_cpu_device *device = call->device;
    map_job job = {.map = device->simd->maps[kind], .x = call->inputs[0].data, .y = call->outputs[0].data};
    tort_parallel(call, tort_count(&call->outputs[0]), 1, map_range, &job);
    return TORT_OK;
}

static tort_status run_exp(const tort_call *call) {
    return run_map(call, TORT_MAP_EXP);
}

static tort_status run_erf(const tort_call *call) {
    return run_map(call, TORT_MAP_ERF);
}

static tort_status run_tanh(const tort_call *call) {
    return run_map(call, TORT_MAP_TANH);
}

static tort_status run_sigmoid(const tort_call *call) {
    return run_map(call, TORT_MAP_SIGMOID);
}

static tort_status run_gelu(const tort_call *call) {
    const tort_activation_params *params = call->params;
    return run_map(call, params->tanh ? TORT_MAP_GELU_TANH : TORT_MAP_GELU);
}

#define MAP_ROW(op_, name_, run_)                                                                                      \
    { .domain = "", .op = op_, .name = name_, .claim = tort_cpu_claim_float, .run = run_ }

const tort_kernel tort_cpu_map[] = {
    MAP_ROW("Exp", "exp_vectors", run_exp),    MAP_ROW("Erf", "erf_vectors", run_erf),
    MAP_ROW("Tanh", "tanh_vectors", run_tanh), MAP_ROW("Sigmoid", "sigmoid_vectors", run_sigmoid),
    MAP_ROW("Gelu", "gelu_vectors", run_gelu), {.op = NULL},
};
