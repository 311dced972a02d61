/* unary.c - rows and claims of functions of one tensor; the family to read first.
 *
 * A family is this: rows at the end, each with the claim and the run that belong together; claims are plain C and in
 * every build; run hands the tensors to a launcher of unary.cu. Params are those that ops/ decoded (activation.h). */
#include "kernels/cuda/unary.h"

#include <string.h>

#include "ops/activation.h"

#ifdef CUDA_DEVICE
/* Loads the kernel's code, so that the first run does not. */
static tort_status prepare(tort_prepare *p, gpu_unary function) {
    return cuda_status(p->error, gpu_load_unary(function, gpu_type_of(p->node->inputs[0].type)), "loading a kernel");
}

static tort_status run(const tort_call *call, gpu_unary function, float alpha, float beta) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    return cuda_launched(call, gpu_run_unary(cuda_stream_of(call), function, gpu_type_of(x->type), x->data, y->data,
                                             (size_t)tort_count(x), alpha, beta));
}

#define PLAIN(name, function)                                                                                          \
    static tort_status prepare_##name(tort_prepare *p) {                                                               \
        return prepare(p, function);                                                                                   \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return run(call, function, 0.0f, 0.0f);                                                                        \
    }
#define WITH_PARAMS(name, function)                                                                                    \
    static tort_status prepare_##name(tort_prepare *p) {                                                               \
        return prepare(p, function);                                                                                   \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        const tort_activation *params = call->params;                                                                  \
        return run(call, function, params->alpha, params->beta);                                                       \
    }
PLAIN(abs, GPU_ABS)
PLAIN(ceil, GPU_CEIL)
PLAIN(cos, GPU_COS)
PLAIN(erf, GPU_ERF)
PLAIN(exp, GPU_EXP)
PLAIN(floor, GPU_FLOOR)
PLAIN(hard_swish, GPU_HARD_SWISH)
PLAIN(log, GPU_LOG)
PLAIN(neg, GPU_NEG)
PLAIN(reciprocal, GPU_RECIPROCAL)
PLAIN(relu, GPU_RELU)
PLAIN(sigmoid, GPU_SIGMOID)
PLAIN(sin, GPU_SIN)
PLAIN(softplus, GPU_SOFTPLUS)
PLAIN(sqrt, GPU_SQRT)
PLAIN(tanh, GPU_TANH)
WITH_PARAMS(elu, GPU_ELU)
WITH_PARAMS(hard_sigmoid, GPU_HARD_SIGMOID)
WITH_PARAMS(leaky_relu, GPU_LEAKY_RELU)

static gpu_unary gelu_of(const tort_activation *params) {
    return params->tanh ? GPU_GELU_TANH : GPU_GELU;
}

static tort_status prepare_gelu(tort_prepare *p) {
    return prepare(p, gelu_of(p->node->params));
}

static tort_status run_gelu(const tort_call *call) {
    return run(call, gelu_of(call->params), 0.0f, 0.0f);
}
#endif

#define ROW(op_name, function)                                                                                         \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "unary", .claim = tort_cuda_claim_float,                                  \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function)                                     \
    }

const tort_kernel tort_cuda_unary_kernels[] = {
    ROW("Abs", abs),
    ROW("Ceil", ceil),
    ROW("Cos", cos),
    ROW("Elu", elu),
    ROW("Erf", erf),
    ROW("Exp", exp),
    ROW("Floor", floor),
    ROW("Gelu", gelu),
    ROW("HardSigmoid", hard_sigmoid),
    ROW("HardSwish", hard_swish),
    ROW("LeakyRelu", leaky_relu),
    ROW("Log", log),
    ROW("Neg", neg),
    ROW("Reciprocal", reciprocal),
    ROW("Relu", relu),
    ROW("Sigmoid", sigmoid),
    ROW("Sin", sin),
    ROW("Softplus", softplus),
    ROW("Sqrt", sqrt),
    ROW("Tanh", tanh),
    {.op = NULL},
};
