/* dropout.c - Dropout, every version: the identity for inference; in training mode, elements become 0 at random.
 *
 * Training mode is is_test=0 before opset 7, and an input from 12 on; opsets 7 to 11 only infer. The mask is true for
 * kept elements, which are scaled by 1 / (1 - ratio) to keep the mean. */
#include "ops/dropout.h"
#include "ops/extent.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

static tort_status infer_dropout(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    tort_infer_same(infer, 1, 0);
    if (infer->node->op->since >= 10 && infer->node->output_count > 1) infer->outputs[1].type = TORT_BOOL;
    tort_status status = tort_check_single(infer->node, 1, "ratio", infer->error);
    return status != TORT_OK ? status : tort_check_single(infer->node, 2, "training_mode", infer->error);
}

static tort_status resolve_dropout(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_dropout_params *params = resolve->params;
    tort_resolve_seed(node, &params->seed);
    params->by_inputs = node->op->since >= 12;
    params->is_training = node->op->until < 7 && tort_attr_int(node, "is_test") == 0;
    params->ratio = tort_attr_float(node, "ratio");
    return TORT_OK;
}

/* Sets *ratio to the share of elements to drop; 0 outside training mode. */
static tort_status ratio_of(const tort_call *call, double *ratio) {
    const tort_dropout_params *params = call->params;
    const tort_tensor *given = params->by_inputs ? tort_call_input(call, 1) : NULL;
    const tort_tensor *mode = params->by_inputs ? tort_call_input(call, 2) : NULL;
    const bool training = mode ? *(const uint8_t *)mode->data : params->is_training;
    *ratio = given ? tort_element_at(given, 0) : params->by_inputs ? 0.5 : params->ratio;
    if (!training) *ratio = 0;
    if (*ratio >= 0 && *ratio < 1) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN, "ratio is %g, expected a number from 0 to below 1", *ratio);
}

static void drop(const tort_call *call, double ratio, const tort_tensor *mask) {
    const tort_dropout_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t count = tort_count(x);
    tort_generator generator;
    tort_generator_start(&generator, &params->seed);
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
        const double kept = tort_generator_uniform(&generator) >= ratio;
        const double value = kept * tort_element_at(x, i) * (1 / (1 - ratio));
        tort_store_doubles(out->type, out->data, i, 1, &value);
        if (mask) tort_store_doubles(mask->type, mask->data, i, 1, &kept);
    }
}

static tort_status run_dropout(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *mask = tort_call_output(call, 1);
    double ratio;
    tort_status status = ratio_of(call, &ratio);
    if (status != TORT_OK) return status;
    if (ratio > 0) {
        drop(call, ratio, mask);
        return TORT_OK;
    }
    tort_fill_tensor(call, &call->outputs[0], x->data, 1);
    if (!mask) return TORT_OK;
    int64_t one_element[2] = {0, 0};
    tort_store_integers(mask->type, one_element, 0, 1, &(int64_t){1});
    tort_fill_tensor(call, mask, one_element, 0);
    return TORT_OK;
}

#define BY_DROPOUT                                                                                                     \
    .flags = TORT_OP_RANDOM, .params_size = sizeof(tort_dropout_params), infer_dropout, resolve_dropout, run_dropout

const tort_op tort_ops_dropout[] = {
    {"", "Dropout", 1, 5, "data:T", "output:T mask?:T", "T=floats",
     "consumed_inputs:ints is_test:int=0 ratio:float=0.5", BY_DROPOUT},
    {"", "Dropout", 6, 6, "data:T", "output:T mask?:T", "T=floats", "is_test:int=0 ratio:float=0.5", BY_DROPOUT},
    {"", "Dropout", 7, 9, "data:T", "output:T mask?:T", "T=floats", "ratio:float=0.5", BY_DROPOUT},
    {"", "Dropout", 10, 11, "data:T", "output:T mask?:T1", "T=floats T1=bool", "ratio:float=0.5", BY_DROPOUT},
    {"", "Dropout", 12, 12, "data:T ratio?:T1 training_mode?:T2", "output:T mask?:T2", "T=floats T1=floats T2=bool",
     "seed:int", BY_DROPOUT},
    {"", "Dropout", 13, 21, "data:T ratio?:T1 training_mode?:T2", "output:T mask?:T2", "T=floats13 T1=floats T2=bool",
     "seed:int", BY_DROPOUT},
    {"", "Dropout", 22, TORT_NEWEST_OPSET, "data:T ratio?:T1 training_mode?:T2", "output:T mask?:T2",
     "T=floats13|float8 T1=floats13|float8 T2=bool", "seed:int", BY_DROPOUT},
    {0},
};
