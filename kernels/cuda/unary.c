/* unary.c - rows and claims of functions of one tensor; the family to read first.
 *
 * A family is this: rows at the end, each with the claim and the run that belong together; claims are plain C and in
 * every build; run hands the tensors to a launcher of unary.cu. Params are those that ops/ decoded (activation.h). */
#include "kernels/cuda/unary.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/elementwise.h"

#ifdef CUDA_DEVICE
/* Loads the kernel's code, so that the first run does not. */
static tort_status prepare(tort_prepare *p, gpu_unary function) {
    return cuda_loaded(p, gpu_load_unary(function, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call, gpu_unary function, float alpha, float beta) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    return cuda_launched(call, gpu_run_unary(cuda_stream_of(call), function, gpu_number_of(x->type), x->data, y->data,
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
        const tort_activation_params *params = call->params;                                                           \
        return run(call, function, params->alpha, params->beta);                                                       \
    }
PLAIN(acos, GPU_ACOS)
PLAIN(acosh, GPU_ACOSH)
PLAIN(asin, GPU_ASIN)
PLAIN(asinh, GPU_ASINH)
PLAIN(atan, GPU_ATAN)
PLAIN(atanh, GPU_ATANH)
PLAIN(ceil, GPU_CEIL)
PLAIN(cos, GPU_COS)
PLAIN(cosh, GPU_COSH)
PLAIN(erf, GPU_ERF)
PLAIN(exp, GPU_EXP)
PLAIN(floor, GPU_FLOOR)
PLAIN(hard_swish, GPU_HARD_SWISH)
PLAIN(log, GPU_LOG)
PLAIN(mish, GPU_MISH)
PLAIN(reciprocal, GPU_RECIPROCAL)
PLAIN(round, GPU_ROUND)
PLAIN(sigmoid, GPU_SIGMOID)
PLAIN(sin, GPU_SIN)
PLAIN(sinh, GPU_SINH)
PLAIN(softplus, GPU_SOFTPLUS)
PLAIN(softsign, GPU_SOFTSIGN)
PLAIN(sqrt, GPU_SQRT)
PLAIN(tan, GPU_TAN)
PLAIN(tanh, GPU_TANH)
PLAIN(abs, GPU_ABS)
PLAIN(neg, GPU_NEG)
PLAIN(relu, GPU_RELU)
PLAIN(sign, GPU_SIGN)
WITH_PARAMS(celu, GPU_CELU)
WITH_PARAMS(elu, GPU_ELU)
WITH_PARAMS(hard_sigmoid, GPU_HARD_SIGMOID)
WITH_PARAMS(leaky_relu, GPU_LEAKY_RELU)
WITH_PARAMS(selu, GPU_SELU)
WITH_PARAMS(shrink, GPU_SHRINK)
WITH_PARAMS(swish, GPU_SWISH)
WITH_PARAMS(thresholded_relu, GPU_THRESHOLDED_RELU)

static gpu_unary gelu_of(const tort_activation_params *params) {
    return params->tanh ? GPU_GELU_TANH : GPU_GELU;
}

static tort_status prepare_gelu(tort_prepare *p) {
    return prepare(p, gelu_of(p->node->params));
}

static tort_status run_gelu(const tort_call *call) {
    return run(call, gelu_of(call->params), 0.0f, 0.0f);
}

/* Infinities of the sign that the node asks for. */
static gpu_predicate predicate_of(const tort_infinities *asked) {
    if (asked->negative && asked->positive) return GPU_IS_INF;
    return asked->negative ? GPU_IS_MINUS_INF : asked->positive ? GPU_IS_PLUS_INF : GPU_IS_NEVER;
}

static tort_status prepare_predicate(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_predicate(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_predicate(const tort_call *call, gpu_predicate predicate) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    return cuda_launched(call, gpu_run_predicate(cuda_stream_of(call), predicate, gpu_type_of(x->type), x->data,
                                                 y->data, (size_t)tort_count(x)));
}

static tort_status run_is_nan(const tort_call *call) {
    return run_predicate(call, GPU_IS_NAN);
}

static tort_status run_is_inf(const tort_call *call) {
    return run_predicate(call, predicate_of(call->params));
}
#endif

/* FastGelu's params begin with those of Gelu. */
static tort_verdict claim_no_bias(const tort_target *target, const tort_node_view *node) {
    if (tort_has_input(node, 1)) return tort_no(TORT_NO_ATTR, "", "adds no bias");
    return tort_cuda_claim_real(target, node);
}

#define ROW(op_name, function, claims) ROW_OF("", op_name, function, claims)
#define ROW_OF(domain_name, op_name, function, claims)                                                                 \
    {                                                                                                                  \
        .domain = domain_name, .op = op_name, .name = "unary", .claim = claims,                                        \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function), .in_place = 1,                     \
        .layout = TORT_ANY_LAYOUT, .layout_inputs = 1, .layout_outputs = 1                                             \
    }
#define FLOATS(op_name, function) ROW(op_name, function, tort_cuda_claim_real)
#define NUMBERS(op_name, function) ROW(op_name, function, tort_cuda_claim_number)
#define PREDICATE(op_name, function)                                                                                   \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "predicate", .claim = tort_cuda_claim_real,                               \
        .prepare = CUDA_ONLY(prepare_predicate), .run = CUDA_ONLY(run_##function)                                      \
    }

const tort_kernel tort_cuda_unary_kernels[] = {
    NUMBERS("Abs", abs),
    FLOATS("Acos", acos),
    FLOATS("Acosh", acosh),
    FLOATS("Asin", asin),
    FLOATS("Asinh", asinh),
    FLOATS("Atan", atan),
    FLOATS("Atanh", atanh),
    FLOATS("Ceil", ceil),
    FLOATS("Celu", celu),
    FLOATS("Cos", cos),
    FLOATS("Cosh", cosh),
    FLOATS("Elu", elu),
    FLOATS("Erf", erf),
    FLOATS("Exp", exp),
    FLOATS("Floor", floor),
    FLOATS("Gelu", gelu),
    FLOATS("HardSigmoid", hard_sigmoid),
    FLOATS("HardSwish", hard_swish),
    FLOATS("LeakyRelu", leaky_relu),
    FLOATS("Log", log),
    FLOATS("Mish", mish),
    NUMBERS("Neg", neg),
    FLOATS("Reciprocal", reciprocal),
    NUMBERS("Relu", relu),
    FLOATS("Round", round),
    FLOATS("Selu", selu),
    FLOATS("Shrink", shrink),
    FLOATS("Sigmoid", sigmoid),
    NUMBERS("Sign", sign),
    FLOATS("Sin", sin),
    FLOATS("Sinh", sinh),
    FLOATS("Softplus", softplus),
    FLOATS("Softsign", softsign),
    FLOATS("Sqrt", sqrt),
    FLOATS("Swish", swish),
    FLOATS("Tan", tan),
    FLOATS("Tanh", tanh),
    FLOATS("ThresholdedRelu", thresholded_relu),
    PREDICATE("IsInf", is_inf),
    PREDICATE("IsNaN", is_nan),
    ROW_OF("com.microsoft", "FastGelu", gelu, claim_no_bias),
    ROW_OF("com.microsoft", "Gelu", gelu, tort_cuda_claim_real),
    ROW_OF("com.microsoft", "QuickGelu", swish, tort_cuda_claim_real),
    {.op = NULL},
};
