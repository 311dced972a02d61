/* unary.c - kernel table and claims of elementwise functions of one tensor; the family to read first.
 *
 * Structure of every family: the table at the end has rows of a claim, a run and a variant that selects the
 * function; claims are plain C and in every build; run passes the tensors to a launcher of the .cu file. ops/
 * decodes the params (here activation.h). */
#include "kernels/cuda/unary.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/elementwise.h"

/* Variants of the rows: a gpu_unary, or one of these, which the node's attributes resolve to a function. */
enum { ANY_GELU = GPU_UNARY_COUNT, ANY_INFINITY };

#ifdef CUDA_DEVICE
static gpu_unary function_of(const tort_kernel *row, const void *params) {
    const tort_activation_params *activation = params;
    if (row->variant == ANY_GELU) return activation->tanh ? GPU_GELU_TANH : GPU_GELU;
    return (gpu_unary)row->variant;
}

/* Loads the kernel's code, so that the first run does not pay for it. */
static tort_status prepare(tort_prepare *p) {
    const gpu_unary function = function_of(p->node->kernel, p->node->params);
    return cuda_loaded(p, gpu_load_unary(function, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_with(const tort_call *call, float alpha, float beta) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const gpu_unary function = function_of(call->kernel, call->params);
    return cuda_launched(call, gpu_run_unary(cuda_stream_of(call), function, gpu_number_of(x->type), x->data, y->data,
                                             (size_t)tort_count(x), alpha, beta));
}

static tort_status run(const tort_call *call) {
    return run_with(call, 0, 0);
}

static tort_status run_with_attributes(const tort_call *call) {
    const tort_activation_params *params = call->params;
    return run_with(call, params->alpha, params->beta);
}

/* The predicate for the signs of infinity that the node asks for. */
static gpu_predicate predicate_of(const tort_infinities *asked) {
    if (asked->negative && asked->positive) return GPU_IS_INF;
    return asked->negative ? GPU_IS_MINUS_INF : asked->positive ? GPU_IS_PLUS_INF : GPU_IS_NEVER;
}

static tort_status prepare_predicate(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_predicate(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_predicate(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int32_t variant = call->kernel->variant;
    const gpu_predicate predicate = variant == ANY_INFINITY ? predicate_of(call->params) : (gpu_predicate)variant;
    return cuda_launched(call, gpu_run_predicate(cuda_stream_of(call), predicate, gpu_type_of(x->type), x->data,
                                                 y->data, (size_t)tort_count(x)));
}
#endif

/* Claims FastGelu without bias: it then runs as Gelu, since its params begin with Gelu's. */
static tort_verdict claim_no_bias(const tort_target *target, const tort_node_view *node) {
    if (tort_has_input(node, 1)) return tort_no(TORT_NO_ATTR, "", "adds no bias");
    return tort_cuda_claim_real(target, node);
}

#define ROW(domain_, op_, claim_, run_, variant_)                                                                      \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "unary", .claim = claim_, .prepare = CUDA_ONLY(prepare),                 \
        .run = CUDA_ONLY(run_), .variant = variant_, .in_place = 1, .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1,  \
        .layout.outputs = 1                                                                                            \
    }
#define FLOATS(op_, variant_) ROW("", op_, tort_cuda_claim_real, run, variant_)
#define NUMBERS(op_, variant_) ROW("", op_, tort_cuda_claim_number, run, variant_)
#define WITH_ATTRIBUTES(op_, variant_) ROW("", op_, tort_cuda_claim_real, run_with_attributes, variant_)
#define PREDICATE(op_, variant_)                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "predicate", .claim = tort_cuda_claim_real,                                   \
        .prepare = CUDA_ONLY(prepare_predicate), .run = CUDA_ONLY(run_predicate), .variant = variant_                  \
    }

const tort_kernel tort_cuda_unary_kernels[] = {
    NUMBERS("Abs", GPU_ABS),
    FLOATS("Acos", GPU_ACOS),
    FLOATS("Acosh", GPU_ACOSH),
    FLOATS("Asin", GPU_ASIN),
    FLOATS("Asinh", GPU_ASINH),
    FLOATS("Atan", GPU_ATAN),
    FLOATS("Atanh", GPU_ATANH),
    FLOATS("Ceil", GPU_CEIL),
    WITH_ATTRIBUTES("Celu", GPU_CELU),
    FLOATS("Cos", GPU_COS),
    FLOATS("Cosh", GPU_COSH),
    WITH_ATTRIBUTES("Elu", GPU_ELU),
    FLOATS("Erf", GPU_ERF),
    FLOATS("Exp", GPU_EXP),
    FLOATS("Floor", GPU_FLOOR),
    FLOATS("Gelu", ANY_GELU),
    WITH_ATTRIBUTES("HardSigmoid", GPU_HARD_SIGMOID),
    FLOATS("HardSwish", GPU_HARD_SWISH),
    WITH_ATTRIBUTES("LeakyRelu", GPU_LEAKY_RELU),
    FLOATS("Log", GPU_LOG),
    FLOATS("Mish", GPU_MISH),
    NUMBERS("Neg", GPU_NEG),
    FLOATS("Reciprocal", GPU_RECIPROCAL),
    NUMBERS("Relu", GPU_RELU),
    FLOATS("Round", GPU_ROUND),
    WITH_ATTRIBUTES("Selu", GPU_SELU),
    WITH_ATTRIBUTES("Shrink", GPU_SHRINK),
    FLOATS("Sigmoid", GPU_SIGMOID),
    NUMBERS("Sign", GPU_SIGN),
    FLOATS("Sin", GPU_SIN),
    FLOATS("Sinh", GPU_SINH),
    FLOATS("Softplus", GPU_SOFTPLUS),
    FLOATS("Softsign", GPU_SOFTSIGN),
    FLOATS("Sqrt", GPU_SQRT),
    WITH_ATTRIBUTES("Swish", GPU_SWISH),
    FLOATS("Tan", GPU_TAN),
    FLOATS("Tanh", GPU_TANH),
    WITH_ATTRIBUTES("ThresholdedRelu", GPU_THRESHOLDED_RELU),
    PREDICATE("IsInf", ANY_INFINITY),
    PREDICATE("IsNaN", GPU_IS_NAN),
    ROW("com.microsoft", "FastGelu", claim_no_bias, run, ANY_GELU),
    ROW("com.microsoft", "Gelu", tort_cuda_claim_real, run, ANY_GELU),
    ROW("com.microsoft", "QuickGelu", tort_cuda_claim_real, run_with_attributes, GPU_SWISH),
    {.op = NULL},
};
