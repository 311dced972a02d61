/* epilogue.c - the plain loop of the epilogues of fused operators, and their attributes; see epilogue.h.
 *
 * The loop runs over a result already rounded to its type, as separate operators would have rounded it. */
#include "ops/epilogue.h"
#include "ops/extent.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

tort_status tort_infer_added(const tort_infer *infer, int32_t input, const char *name) {
    if (!tort_has_input(infer->node, input)) return TORT_OK;
    const tort_info *z = &infer->node->inputs[input], *y = &infer->outputs[0];
    if (z->rank < 0 || y->rank < 0) return TORT_OK;
    if (z->rank != y->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected %d as Y has", name, (int)z->rank,
                         (int)y->rank);
    for (int32_t i = 0; i < y->rank; i++)
        if (tort_dim_known(z->dims[i]) && tort_dim_known(y->dims[i]) && z->dims[i] != y->dims[i])
            return tort_fail(infer->error, TORT_E_MODEL,
                             "%s has size %" PRId64 " along axis %d, expected %" PRId64 " as Y has", name, z->dims[i],
                             (int)i, y->dims[i]);
    return TORT_OK;
}

static const char *const names[TORT_ACTIVATION_COUNT] = {
    [TORT_ACTIVATION_NONE] = "none",
    [TORT_ACTIVATION_RELU] = "relu",
    [TORT_ACTIVATION_LEAKY_RELU] = "leaky_relu",
    [TORT_ACTIVATION_CLIP] = "clip",
    [TORT_ACTIVATION_SIGMOID] = "sigmoid",
    [TORT_ACTIVATION_SILU] = "silu",
    [TORT_ACTIVATION_HARD_SIGMOID] = "hard_sigmoid",
    [TORT_ACTIVATION_HARD_SWISH] = "hard_swish",
    [TORT_ACTIVATION_GELU] = "gelu",
    [TORT_ACTIVATION_GELU_TANH] = "gelu_tanh",
    [TORT_ACTIVATION_TANH] = "tanh",
    [TORT_ACTIVATION_ELU] = "elu",
    [TORT_ACTIVATION_SELU] = "selu",
    [TORT_ACTIVATION_CELU] = "celu",
    [TORT_ACTIVATION_SOFTPLUS] = "softplus",
    [TORT_ACTIVATION_SOFTSIGN] = "softsign",
    [TORT_ACTIVATION_THRESHOLDED_RELU] = "thresholded_relu",
};

tort_status tort_epilogue_resolve(const tort_resolve *resolve, tort_epilogue *epilogue) {
    const char *name = tort_attr_string(resolve->node, "activation");
    int32_t found = 0;
    while (found < TORT_ACTIVATION_COUNT && strcmp(names[found], name) != 0) found++;
    if (found == TORT_ACTIVATION_COUNT)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "activation is \"%.32s\", expected none, relu, leaky_relu, clip, sigmoid, silu, hard_sigmoid, "
                         "hard_swish, gelu, gelu_tanh, tanh, elu, selu, celu, softplus, softsign or thresholded_relu",
                         name);
    epilogue->activation = (tort_activation)found;
    epilogue->alpha = tort_attr_float(resolve->node, "activation_alpha");
    epilogue->beta = tort_attr_float(resolve->node, "activation_beta");
    epilogue->residual = tort_has_input(resolve->node, TORT_EPILOGUE_Z);
    return TORT_OK;
}

/* ---- com.microsoft ----------------------------------------------------------------------------------------------- */

/* An operator that `activation` can name, and the attributes of FusedGemm with its numbers; NULL: it takes fewer. */
typedef struct activation_operator {
    const char *name;
    tort_activation activation;
    const char *alpha, *beta;
} activation_operator;

static const activation_operator operators[] = {
    {"", TORT_ACTIVATION_NONE, NULL, NULL},
    {"Celu", TORT_ACTIVATION_CELU, "activation_alpha", NULL},
    {"Clip", TORT_ACTIVATION_CLIP, "activation_alpha", "activation_beta"},
    {"Elu", TORT_ACTIVATION_ELU, "activation_alpha", NULL},
    {"HardSigmoid", TORT_ACTIVATION_HARD_SIGMOID, "activation_alpha", "activation_beta"},
    {"HardSwish", TORT_ACTIVATION_HARD_SWISH, NULL, NULL},
    {"LeakyRelu", TORT_ACTIVATION_LEAKY_RELU, "activation_alpha", NULL},
    {"Relu", TORT_ACTIVATION_RELU, NULL, NULL},
    {"Selu", TORT_ACTIVATION_SELU, "activation_alpha", "activation_gamma"},
    {"Sigmoid", TORT_ACTIVATION_SIGMOID, NULL, NULL},
    {"Softplus", TORT_ACTIVATION_SOFTPLUS, NULL, NULL},
    {"Softsign", TORT_ACTIVATION_SOFTSIGN, NULL, NULL},
    {"Tanh", TORT_ACTIVATION_TANH, NULL, NULL},
    {"ThresholdedRelu", TORT_ACTIVATION_THRESHOLDED_RELU, "activation_alpha", NULL},
};

/* Reads the numbers from the list activation_params, which is ignored if the activation takes none. */
static tort_status read_list(const tort_resolve *resolve, const activation_operator *found, tort_epilogue *epilogue) {
    int32_t count;
    const float *numbers = tort_attr_floats(resolve->node, "activation_params", &count);
    const int32_t wanted = (found->alpha != NULL) + (found->beta != NULL);
    if (wanted > 0 && count != wanted)
        return tort_fail(resolve->error, TORT_E_MODEL, "activation_params has %d numbers, expected %d for %s", count,
                         wanted, found->name);
    if (wanted > 0) epilogue->alpha = numbers[0];
    if (wanted > 1) epilogue->beta = numbers[1];
    return TORT_OK;
}

static tort_status read_number(const tort_resolve *resolve, const char *name, float *number) {
    if (!name) return TORT_OK;
    if (!tort_attr(resolve->node, name))
        return tort_fail(resolve->error, TORT_E_MODEL, "attribute %s is missing", name);
    *number = tort_attr_float(resolve->node, name);
    return TORT_OK;
}

static bool has_attribute(const tort_op *op, const char *name) {
    return strstr(op->attributes, name) != NULL;
}

tort_status tort_epilogue_resolve_operator(const tort_resolve *resolve, tort_epilogue *epilogue) {
    const tort_node_view *node = resolve->node;
    const char *name = tort_attr_string(node, "activation");
    const size_t count = sizeof operators / sizeof operators[0];
    size_t i = 0;
    while (i < count && strcmp(operators[i].name, name) != 0) i++;
    if (i == count)
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED,
                         "activation is \"%.32s\", expected Celu, Clip, Elu, HardSigmoid, HardSwish, LeakyRelu, Relu, "
                         "Selu, Sigmoid, Softplus, Softsign, Tanh or ThresholdedRelu",
                         name);
    if (tort_type_is_integer(node->inputs[0].type) && operators[i].activation > TORT_ACTIVATION_RELU)
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "activation is %s, expected none or Relu for %s", name,
                         tort_type_name(node->inputs[0].type));
    epilogue->activation = operators[i].activation;
    epilogue->residual = tort_has_input(node, TORT_EPILOGUE_Z);
    if (has_attribute(node->op, "activation_params")) return read_list(resolve, &operators[i], epilogue);
    tort_status status = read_number(resolve, operators[i].alpha, &epilogue->alpha);
    return status ? status : read_number(resolve, operators[i].beta, &epilogue->beta);
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

static double clip(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

double tort_epilogue_activate(const tort_epilogue *e, double x) {
    const double alpha = (double)e->alpha, beta = (double)e->beta;
    switch (e->activation) {
    case TORT_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case TORT_ACTIVATION_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case TORT_ACTIVATION_CLIP: return clip(x, alpha, beta);
    case TORT_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case TORT_ACTIVATION_SILU: return x / (1 + exp(-x));
    case TORT_ACTIVATION_HARD_SIGMOID: return clip(alpha * x + beta, 0, 1);
    case TORT_ACTIVATION_HARD_SWISH: return x * clip(x / 6 + 0.5, 0, 1);
    case TORT_ACTIVATION_GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752));
    case TORT_ACTIVATION_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case TORT_ACTIVATION_TANH: return tanh(x);
    case TORT_ACTIVATION_ELU: return x < 0 ? alpha * expm1(x) : x;
    case TORT_ACTIVATION_SELU: return beta * (x < 0 ? alpha * expm1(x) : x);
    case TORT_ACTIVATION_CELU: return x < 0 ? alpha * expm1(x / alpha) : x;
    case TORT_ACTIVATION_SOFTPLUS: return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    case TORT_ACTIVATION_SOFTSIGN: return x / (1 + fabs(x));
    case TORT_ACTIVATION_THRESHOLDED_RELU: return x > alpha ? x : 0;
    default: return x;
    }
}

typedef struct epilogue_job {
    const tort_epilogue *epilogue;
    const tort_tensor *y, *z, *bias; /* z and bias: NULL if absent */
    int64_t columns;                 /* elements of bias */
} epilogue_job;

static void add_bias(const epilogue_job *job, int64_t first, int64_t count, double *values) {
    while (count > 0) {
        const int64_t column = first % job->columns, left = job->columns - column;
        const int64_t length = count < left ? count : left;
        tort_add_elements(job->bias, column, length, values);
        values += length;
        first += length;
        count -= length;
    }
}

static void run_range(void *arg, int64_t begin, int64_t end) {
    const epilogue_job *job = arg;
    double values[TORT_BLOCK];
    for (int64_t first = begin; first < end; first += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, first);
        tort_load_doubles(job->y->type, job->y->data, first, count, values);
        if (job->bias) add_bias(job, first, count, values);
        if (job->z) tort_add_elements(job->z, first, count, values);
        for (int64_t i = 0; i < count; i++) values[i] = tort_epilogue_activate(job->epilogue, values[i]);
        tort_store_doubles(job->y->type, job->y->data, first, count, values);
    }
}

void tort_epilogue_run(const tort_call *call, const tort_epilogue *epilogue, const tort_tensor *bias) {
    epilogue_job job = {.epilogue = epilogue,
                        .y = &call->outputs[0],
                        .z = epilogue->residual ? &call->inputs[TORT_EPILOGUE_Z] : NULL,
                        .bias = bias,
                        .columns = bias ? tort_count(bias) : 0};
    const int64_t count = tort_count(job.y);
    if (count > 0 && (job.z || bias || epilogue->activation)) tort_parallel(call, count, 8, run_range, &job);
}
