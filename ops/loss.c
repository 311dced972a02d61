/* loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: minus the (logarithmic) probability of the target
 * class of each sample, weighted by class, and its sum or mean.
 *
 * A target equal to ignore_index has weight 0. Computed in double, rounded once. */
#include "ops/loss.h"
#include "ops/index.h"

#include <math.h>

enum { SCORES, TARGETS, WEIGHTS }; /* inputs */

enum { NEGATIVE_LOG_LIKELIHOOD, SOFTMAX_CROSS_ENTROPY }; /* values of tort_op.variant */

static tort_status infer_loss(tort_infer *infer) {
    const tort_info *scores = &infer->node->inputs[SCORES], *targets = &infer->node->inputs[TARGETS];
    const char *reduction = tort_attr_string(infer->node, "reduction");
    tort_infer_same(infer, 1, SCORES); /* log_prob */
    infer->outputs[0].type = scores->type;
    if (scores->rank >= 0 && scores->rank < 2)
        return tort_fail(infer->error, TORT_E_MODEL, "input 0 has rank %d; expected (batch, classes, ...)",
                         scores->rank);
    if (scores->rank >= 0 && targets->rank >= 0 && targets->rank != scores->rank - 1)
        return tort_fail(infer->error, TORT_E_MODEL, "input 1 has rank %d; expected %d", targets->rank,
                         scores->rank - 1);
    if (strcmp(reduction, "none") == 0)
        tort_infer_shape(infer, 0, scores->type, targets->rank, targets->dims);
    else
        tort_infer_shape(infer, 0, scores->type, 0, NULL);
    return TORT_OK;
}

static tort_status resolve_loss(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *scores = &node->inputs[SCORES], *targets = &node->inputs[TARGETS];
    const char *reduction = tort_attr_string(node, "reduction");
    tort_loss_params *params = resolve->params;
    params->reduction = TORT_LOSS_NONE;
    if (strcmp(reduction, "sum") == 0)
        params->reduction = TORT_LOSS_SUM;
    else if (strcmp(reduction, "mean") == 0)
        params->reduction = TORT_LOSS_MEAN;
    else if (strcmp(reduction, "none") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "reduction \"%s\" is not known", reduction);
    params->ignores = tort_attr(node, "ignore_index") != NULL;
    params->ignore_index = tort_attr_int(node, "ignore_index");
    if (!tort_shape_known(scores) || !tort_shape_known(targets)) return TORT_OK;
    params->batch = scores->dims[0];
    params->classes = scores->dims[1];
    params->inner = tort_extent(scores->dims, 2, scores->rank);
    bool fits = targets->dims[0] == scores->dims[0];
    for (int32_t d = 1; fits && d < targets->rank; d++) fits = targets->dims[d] == scores->dims[d + 1];
    if (!fits)
        return tort_fail(resolve->error, TORT_E_MODEL, "the shape of input 1 is not that of input 0 without classes");
    if (tort_has_input(node, WEIGHTS) && tort_shape_known(&node->inputs[WEIGHTS]) &&
        (node->inputs[WEIGHTS].rank != 1 || node->inputs[WEIGHTS].dims[0] != params->classes))
        return tort_fail(resolve->error, TORT_E_MODEL, "weights must have shape [%lld], one a class",
                         (long long)params->classes);
    return TORT_OK;
}

/* Minus the score of a sample's class, 0 for target -1; with softmax, minus its log probability. Writes the scores or
 * log probabilities of all classes to log_prob unless it is NULL. */
static double sample_loss(const tort_call *call, int64_t sample, int64_t target, bool softmax,
                          const tort_tensor *log_prob) {
    const tort_loss_params *params = call->params;
    const tort_tensor *scores = &call->inputs[SCORES];
    const int64_t base = sample / params->inner * params->classes * params->inner + sample % params->inner;
    double shift = 0;
    if (softmax) {
        double max = -INFINITY, sum = 0;
        for (int64_t c = 0; c < params->classes && tort_row_goes_on(call->watch, c); c++)
            max = fmax(max, tort_element_at(scores, base + c * params->inner));
        for (int64_t c = 0; c < params->classes && tort_row_goes_on(call->watch, c); c++)
            sum += exp(tort_element_at(scores, base + c * params->inner) - max);
        shift = max + log(sum);
    }
    for (int64_t c = 0; log_prob && c < params->classes && tort_row_goes_on(call->watch, c); c++) {
        double value = tort_element_at(scores, base + c * params->inner) - shift;
        tort_store_doubles(log_prob->type, log_prob->data, base + c * params->inner, 1, &value);
    }
    return target < 0 ? 0 : shift - tort_element_at(scores, base + target * params->inner);
}

static tort_status run(const tort_call *call) {
    const bool softmax = call->op->variant == SOFTMAX_CROSS_ENTROPY;
    const tort_loss_params *params = call->params;
    const tort_tensor *targets = &call->inputs[TARGETS], *output = &call->outputs[0];
    const tort_tensor *weights = tort_call_input(call, WEIGHTS), *log_prob = tort_call_output(call, 1);
    double sum = 0, weight_sum = 0;
    int64_t done = 0;
    for (int64_t i = 0; i < params->batch * params->inner; i++) {
        if (!tort_work_goes_on(call->watch, &done, params->classes)) return TORT_OK;
        int64_t target = tort_index_at(targets, i);
        bool ignored = params->ignores && target == params->ignore_index;
        if (!ignored && (target < 0 || target >= params->classes))
            return tort_fail(call->error, TORT_E_RUN, "target %lld of sample %lld is not in [0, %lld)",
                             (long long)target, (long long)i, (long long)params->classes);
        double weight = ignored ? 0 : weights ? tort_element_at(weights, target) : 1;
        double loss = sample_loss(call, i, ignored ? -1 : target, softmax, log_prob);
        loss = ignored ? 0 : loss * weight;
        sum += loss;
        weight_sum += weight;
        if (params->reduction == TORT_LOSS_NONE) tort_store_doubles(output->type, output->data, i, 1, &loss);
    }
    if (params->reduction == TORT_LOSS_MEAN) sum /= weight_sum;
    if (params->reduction != TORT_LOSS_NONE) tort_store_doubles(output->type, output->data, 0, 1, &sum);
    return TORT_OK;
}

#define BY(kind)                                                                                                       \
    "ignore_index:int reduction:string=mean", .variant = kind, .params_size = sizeof(tort_loss_params),                \
                                              .infer = infer_loss, .resolve = resolve_loss, .reference = run
#define NLL "input:T target:Tind weight?:T", "loss:T"
#define SCE "scores:T labels:Tind weights?:T", "output:T log_prob?:T"

const tort_op tort_ops_loss[] = {
    {"", "NegativeLogLikelihoodLoss", 12, 12, NLL, "T=floats Tind=int32|int64", BY(NEGATIVE_LOG_LIKELIHOOD)},
    {"", "NegativeLogLikelihoodLoss", 13, 21, NLL, "T=floats Tind=int32|int64", BY(NEGATIVE_LOG_LIKELIHOOD)},
    {"", "NegativeLogLikelihoodLoss", 22, TORT_NEWEST_OPSET, NLL, "T=floats13 Tind=int32|int64",
     BY(NEGATIVE_LOG_LIKELIHOOD)},
    {"", "SoftmaxCrossEntropyLoss", 12, 12, SCE, "T=floats Tind=int32|int64", BY(SOFTMAX_CROSS_ENTROPY)},
    {"", "SoftmaxCrossEntropyLoss", 13, TORT_NEWEST_OPSET, SCE, "T=floats13 Tind=int32|int64",
     BY(SOFTMAX_CROSS_ENTROPY)},
    {0},
};
