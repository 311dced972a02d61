/* training.c - Adagrad, Adam, Momentum: one step of an optimizer over any number of tensors.
 *
 * Inputs are the learning rate R, the number T of steps so far, then groups of as many tensors each: the values X,
 * their gradients G, and one or two states of the optimizer. Outputs are the new X and the new states, in the same
 * groups. Computed in double and rounded once. Sources: ONNX operators Adagrad-1, Adam-1 and Momentum-1 of
 * ai.onnx.preview.training. */
#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { RATE, STEPS, TENSORS, MAX_STATES = 2 }; /* inputs */

typedef struct training_params {
    int32_t tensors, states; /* tensors per group; number of groups of states */
    bool nesterov;
    double norm, norm_post, alpha, beta, epsilon, decay;
} training_params;

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static int32_t states_of(const tort_node_view *node) {
    return strcmp(node->op->name, "Adam") ? 1 : 2;
}

/* Counts the tensors of a group; TORT_E_MODEL if the inputs are not whole groups. */
static tort_status count_tensors(const tort_node_view *node, int32_t *tensors, tort_error *error) {
    const int32_t groups = 2 + states_of(node), given = node->input_count - TENSORS;
    *tensors = given / groups;
    if (given > 0 && given % groups == 0) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "has %d tensors; expected %d for each that is optimized", (int)given,
                     (int)groups);
}

/* Checks that input i has the type and shape of the X to which it belongs. */
static tort_status check_tensor(const tort_infer *infer, int32_t x, int32_t i) {
    const tort_info *value = &infer->node->inputs[x], *other = &infer->node->inputs[i];
    if (!tort_has_input(infer->node, i)) return tort_fail(infer->error, TORT_E_MODEL, "input %d is missing", (int)i);
    bool fits = value->type == other->type && (value->rank < 0 || other->rank < 0 || value->rank == other->rank);
    for (int32_t d = 0; fits && d < value->rank && d < other->rank; d++) {
        const int64_t a = tort_known_dim(value, d), b = tort_known_dim(other, d);
        fits = a < 0 || b < 0 || a == b;
    }
    if (fits) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "input %d has not the type and shape of input %d, to which it belongs",
                     (int)i, (int)x);
}

static tort_status training_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    int32_t tensors;
    tort_status status = count_tensors(node, &tensors, infer->error);
    if (!status) status = tort_check_single(node, RATE, "R", infer->error);
    if (!status) status = tort_check_single(node, STEPS, "T", infer->error);
    for (int32_t i = TENSORS; !status && i < node->input_count; i++)
        status = check_tensor(infer, TENSORS + (i - TENSORS) % tensors, i);
    if (status) return status;
    if (node->output_count > tensors * (1 + states_of(node)))
        return tort_fail(infer->error, TORT_E_MODEL, "has %d outputs, but %d tensors to optimize", node->output_count,
                         (int)tensors);
    for (int32_t o = 0; o < node->output_count; o++) tort_infer_same(infer, o, TENSORS + o % tensors);
    return TORT_OK;
}

static double number(const tort_node_view *node, const char *name) {
    return tort_attr(node, name) ? (double)tort_attr_float(node, name) : 0;
}

static tort_status training_resolve(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    training_params *params = resolve->params;
    params->states = states_of(node);
    params->norm = number(node, "norm_coefficient");
    params->norm_post = number(node, "norm_coefficient_post");
    params->alpha = number(node, "alpha");
    params->beta = number(node, "beta");
    params->epsilon = number(node, "epsilon");
    params->decay = number(node, "decay_factor");
    tort_status status = count_tensors(node, &params->tensors, resolve->error);
    if (status || !tort_attr(node, "mode")) return status;
    const char *mode = tort_attr_string(node, "mode");
    params->nesterov = !strcmp(mode, "nesterov");
    if (params->nesterov || !strcmp(mode, "standard")) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "mode \"%.40s\" is not standard or nesterov", mode);
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

/* Update of one tensor. `rate`: learning rate, computed from R and T; `gradient`: weight of a gradient in the
 * momentum. */
typedef struct update {
    const tort_call *call;
    const training_params *params;
    double rate, gradient;
    void (*apply)(const struct update *u, double g, double *x, double *states);
    int32_t tensor;
} update;

static void adagrad(const update *u, double g, double *x, double *states) {
    states[0] += g * g;
    *x -= u->rate * g / (sqrt(states[0]) + u->params->epsilon);
}

static void adam(const update *u, double g, double *x, double *states) {
    const training_params *p = u->params;
    states[0] = p->alpha * states[0] + (1 - p->alpha) * g;
    states[1] = p->beta * states[1] + (1 - p->beta) * g * g;
    *x = (1 - p->norm_post) * (*x - u->rate * states[0] / (sqrt(states[1]) + p->epsilon));
}

static void momentum(const update *u, double g, double *x, double *states) {
    const training_params *p = u->params;
    states[0] = p->alpha * states[0] + u->gradient * g;
    *x -= u->rate * (p->nesterov ? g + p->alpha * states[0] : states[0]);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static void load(const update *u, int32_t group, int64_t first, int64_t count, double *out) {
    const tort_tensor *tensor = &u->call->inputs[TENSORS + group * u->params->tensors + u->tensor];
    tort_load_doubles(tensor->type, tensor->data, first, count, out);
}

static void store(const update *u, int32_t group, int64_t first, int64_t count, const double *in) {
    const tort_tensor *tensor = tort_call_output(u->call, group * u->params->tensors + u->tensor);
    if (tensor) tort_store_doubles(tensor->type, tensor->data, first, count, in);
}

static void update_blocks(void *arg, int64_t begin, int64_t end) {
    const update *u = arg;
    const int64_t total = tort_count(&u->call->inputs[TENSORS + u->tensor]);
    double x[TORT_BLOCK], gradients[TORT_BLOCK], states[MAX_STATES][TORT_BLOCK] = {{0}};
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * TORT_BLOCK, count = tort_block_count(total, first);
        load(u, 0, first, count, x);
        load(u, 1, first, count, gradients);
        for (int32_t s = 0; s < u->params->states; s++) load(u, 2 + s, first, count, states[s]);
        for (int64_t i = 0; i < count; i++) {
            double of_element[MAX_STATES] = {0};
            for (int32_t s = 0; s < u->params->states; s++) of_element[s] = states[s][i];
            u->apply(u, u->params->norm * x[i] + gradients[i], &x[i], of_element);
            for (int32_t s = 0; s < u->params->states; s++) states[s][i] = of_element[s];
        }
        store(u, 0, first, count, x);
        for (int32_t s = 0; s < u->params->states; s++) store(u, 1 + s, first, count, states[s]);
    }
}

static tort_status update_tensors(const tort_call *call, update *u) {
    for (u->tensor = 0; u->tensor < u->params->tensors; u->tensor++) {
        const int64_t blocks = (tort_count(&call->inputs[TENSORS + u->tensor]) + TORT_BLOCK - 1) / TORT_BLOCK;
        tort_parallel(call, blocks, 10 * (int64_t)TORT_BLOCK, update_blocks, u);
    }
    return TORT_OK;
}

static double steps_before(const tort_call *call) {
    return (double)*(const int64_t *)call->inputs[STEPS].data;
}

static tort_status run_adagrad(const tort_call *call) {
    const training_params *p = call->params;
    update u = {.call = call, .params = p, .apply = adagrad};
    u.rate = tort_element_at(&call->inputs[RATE], 0) / (1 + steps_before(call) * p->decay);
    return update_tensors(call, &u);
}

static tort_status run_adam(const tort_call *call) {
    const training_params *p = call->params;
    const double t = steps_before(call);
    update u = {.call = call, .params = p, .apply = adam, .rate = tort_element_at(&call->inputs[RATE], 0)};
    if (t > 0) u.rate *= sqrt(1 - pow(p->beta, t)) / (1 - pow(p->alpha, t));
    return update_tensors(call, &u);
}

static tort_status run_momentum(const tort_call *call) {
    const training_params *p = call->params;
    update u = {.call = call, .params = p, .apply = momentum, .rate = tort_element_at(&call->inputs[RATE], 0)};
    u.gradient = steps_before(call) > 0 ? p->beta : 1;
    return update_tensors(call, &u);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(NAME, ATTRIBUTES, RUN)                                                                                     \
    {                                                                                                                  \
        "ai.onnx.preview.training", NAME, 1, 1, "R:T1 T:T2 inputs+:T3", "outputs+:T3",                                 \
            "T1=float|double T2=int64 T3=float|double", ATTRIBUTES, .params_size = sizeof(training_params),            \
                                                                    training_infer, training_resolve, RUN              \
    }

const tort_op tort_ops_training[] = {
    ROW("Adagrad", "decay_factor:float=0 epsilon:float=1e-06 norm_coefficient:float=0", run_adagrad),
    ROW("Adam",
        "alpha:float=0.9 beta:float=0.999 epsilon:float=1e-06 norm_coefficient:float=0 norm_coefficient_post:float=0",
        run_adam),
    ROW("Momentum", "alpha:float! beta:float! mode:string! norm_coefficient:float!", run_momentum),
    {0},
};
