/* linear_attention.c - LinearAttention and CausalConvWithState: layers that carry a state from token to token.
 *
 * LinearAttention keeps a matrix of [key size, value size] for each key head: each token decays it and writes its value
 * under its key; queries read it. CausalConvWithState is a depthwise convolution over past and present positions, whose
 * state is the last kernel - 1 positions. Computed in double, rounded once. */
#include "ops/linear_attention.h"
#include "ops/extent.h"

#include <math.h>

/* ---- LinearAttention --------------------------------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, PAST_STATE, DECAY, BETA }; /* inputs */

static tort_status check_heads(const tort_infer *infer, const char *what, const tort_info *info, const char *name,
                               int64_t heads) {
    if (!tort_dim_known(info->dims[2]) || info->dims[2] % heads == 0) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "the last dimension of %s is %lld, not a multiple of %s %lld", what,
                     (long long)info->dims[2], name, (long long)heads);
}

static tort_status infer_linear(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *query = &node->inputs[QUERY], *key = &node->inputs[KEY], *value = &node->inputs[VALUE];
    int64_t query_heads = tort_attr_int(node, "q_num_heads"), key_heads = tort_attr_int(node, "kv_num_heads");
    infer->outputs[0].type = query->type;
    infer->outputs[1].type = tort_has_input(node, PAST_STATE) ? node->inputs[PAST_STATE].type : query->type;
    if (query_heads < 1 || key_heads < 1 || query_heads % key_heads != 0)
        return tort_fail(infer->error, TORT_E_MODEL, "q_num_heads %lld must be a multiple of kv_num_heads %lld",
                         (long long)query_heads, (long long)key_heads);
    if (query->rank < 0 || key->rank < 0 || value->rank < 0) return TORT_OK;
    if (query->rank != 3 || key->rank != 3 || value->rank != 3)
        return tort_fail(infer->error, TORT_E_MODEL, "query, key and value have ranks %d, %d, %d; expected 3",
                         query->rank, key->rank, value->rank);
    tort_status status = check_heads(infer, "query", query, "q_num_heads", query_heads);
    if (!status) status = check_heads(infer, "value", value, "kv_num_heads", key_heads);
    if (status) return status;
    tort_dim key_size = tort_dim_floordiv(infer->dims, query->dims[2], query_heads);
    tort_dim value_size = tort_dim_floordiv(infer->dims, value->dims[2], key_heads);
    const tort_dim output[3] = {query->dims[0], query->dims[1], tort_dim_mul(infer->dims, value_size, query_heads)};
    const tort_dim state[4] = {query->dims[0], key_heads, key_size, value_size};
    tort_infer_shape(infer, 0, infer->outputs[0].type, 3, output);
    tort_infer_shape(infer, 1, infer->outputs[1].type, 4, state);
    return TORT_OK;
}

static tort_status resolve_rule(tort_resolve *resolve, tort_linear_params *params) {
    const char *rule = tort_attr_string(resolve->node, "update_rule");
    params->decays = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    params->corrects = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!params->decays && !params->corrects && strcmp(rule, "linear") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "update_rule \"%s\" is not known", rule);
    if (params->decays != tort_has_input(resolve->node, DECAY) ||
        params->corrects != tort_has_input(resolve->node, BETA))
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "update_rule \"%s\" takes %s decay and %s beta; the node's inputs do not fit", rule,
                         params->decays ? "a" : "no", params->corrects ? "a" : "no");
    return TORT_OK;
}

/* Reads the sizes of query, key and value; false if they do not fit each other. */
static bool resolve_heads(const tort_node_view *node, tort_linear_params *params) {
    const tort_info *query = &node->inputs[QUERY], *key = &node->inputs[KEY], *value = &node->inputs[VALUE];
    params->batch = query->dims[0];
    params->length = query->dims[1];
    params->key_size = query->dims[2] / params->query_heads;
    params->value_size = value->dims[2] / params->key_heads;
    bool fits = query->dims[2] == params->key_size * params->query_heads &&
                key->dims[2] == params->key_size * params->key_heads &&
                value->dims[2] == params->value_size * params->key_heads;
    for (int32_t d = 0; d < 2; d++) fits = fits && key->dims[d] == query->dims[d] && value->dims[d] == query->dims[d];
    return fits;
}

static bool state_fits(const tort_node_view *node, const tort_linear_params *params) {
    if (!tort_has_input(node, PAST_STATE)) return true;
    const tort_info *past = &node->inputs[PAST_STATE];
    return past->rank == 4 && past->dims[0] == params->batch && past->dims[1] == params->key_heads &&
           past->dims[2] == params->key_size && past->dims[3] == params->value_size;
}

/* Reads how many numbers decay or beta has per head; false if its shape does not fit. */
static bool resolve_gate(const tort_node_view *node, int32_t input, tort_linear_params *params) {
    const tort_info *gate = &node->inputs[input];
    if (!tort_has_input(node, input)) return true;
    if (gate->rank != 3 || gate->dims[0] != params->batch || gate->dims[1] != params->length) return false;
    const int64_t columns = gate->dims[2];
    if (input == BETA) {
        params->beta_columns = columns;
        return columns == 1 || columns == params->key_heads;
    }
    params->decay_columns = columns == params->key_heads ? 1 : params->key_size;
    return columns == params->key_heads * params->decay_columns;
}

/* Scratch: a state and a value for each (batch, key head). */
static tort_status count_state(tort_resolve *resolve, const tort_linear_params *params) {
    size_t bytes;
    if (!tort_mul_size((uint64_t)params->key_size + 1, (uint64_t)params->value_size, &bytes) ||
        !tort_mul_size(bytes, (uint64_t)(params->batch * params->key_heads), &bytes) ||
        !tort_mul_size(bytes, sizeof(double), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "the state does not fit in memory");
    return TORT_OK;
}

static tort_status resolve_linear(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_linear_params *params = resolve->params;
    params->query_heads = tort_attr_int(node, "q_num_heads");
    params->key_heads = tort_attr_int(node, "kv_num_heads");
    tort_status status = resolve_rule(resolve, params);
    if (status != TORT_OK) return status;
    if (!tort_inputs_known(node)) return TORT_OK;
    if (!resolve_heads(node, params) || !state_fits(node, params) || !resolve_gate(node, DECAY, params) ||
        !resolve_gate(node, BETA, params))
        return tort_fail(resolve->error, TORT_E_MODEL, "the shapes of the inputs do not fit each other");
    params->scale = (double)tort_attr_float(node, "scale");
    if (params->scale == 0) params->scale = params->key_size > 0 ? 1 / sqrt((double)params->key_size) : 1;
    return count_state(resolve, params);
}

/* Updates the state of one (batch, key head) with one token: state = decayed state + key x value. */
static void update_state(const tort_call *call, int64_t batch, int64_t head, int64_t token, double *state,
                         double *value) {
    const tort_linear_params *params = call->params;
    const int64_t rows = params->key_size, columns = params->value_size, at = batch * params->length + token;
    const int64_t key = (at * params->key_heads + head) * rows;
    for (int64_t i = 0; params->decays && i < rows; i++) {
        int64_t gate = (at * params->key_heads + head) * params->decay_columns + (params->decay_columns > 1 ? i : 0);
        double decay = exp(tort_element_at(&call->inputs[DECAY], gate));
        for (int64_t j = 0; j < columns; j++) state[i * columns + j] *= decay;
    }
    tort_load_doubles(call->inputs[VALUE].type, call->inputs[VALUE].data, (at * params->key_heads + head) * columns,
                      columns, value);
    if (params->corrects) {
        /* The delta rule writes only the difference to the value that the state holds under this key. */
        double beta =
            tort_element_at(&call->inputs[BETA], at * params->beta_columns + (params->beta_columns > 1 ? head : 0));
        for (int64_t i = 0; i < rows; i++) {
            double k = tort_element_at(&call->inputs[KEY], key + i);
            for (int64_t j = 0; j < columns; j++) value[j] -= state[i * columns + j] * k;
        }
        for (int64_t j = 0; j < columns; j++) value[j] *= beta;
    }
    for (int64_t i = 0; i < rows; i++) {
        double k = tort_element_at(&call->inputs[KEY], key + i);
        for (int64_t j = 0; j < columns; j++) state[i * columns + j] += k * value[j];
    }
}

/* Runs all tokens of (batch, key head) number begin .. end-1. */
static void scan_heads(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_linear_params *params = call->params;
    const tort_tensor *query = &call->inputs[QUERY], *past = tort_call_input(call, PAST_STATE);
    const tort_tensor *output = &call->outputs[0], *present = tort_call_output(call, 1);
    const int64_t rows = params->key_size, columns = params->value_size;
    const int64_t group = params->query_heads / params->key_heads;
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / params->key_heads, head = item % params->key_heads;
        double *state = (double *)call->scratch + item * (rows + 1) * columns, *value = state + rows * columns;
        if (past)
            tort_load_doubles(past->type, past->data, item * rows * columns, rows * columns, state);
        else
            memset(state, 0, (size_t)(rows * columns) * sizeof *state);
        for (int64_t t = 0; t < params->length; t++) {
            if (!tort_work_goes_on(call->watch, &done, (group + 2) * rows * columns)) return;
            update_state(call, batch, head, t, state, value);
            for (int64_t g = 0; g < group; g++) {
                int64_t at = (batch * params->length + t) * params->query_heads + head * group + g;
                for (int64_t j = 0; j < columns; j++) value[j] = 0;
                for (int64_t i = 0; i < rows; i++) {
                    double q = params->scale * tort_element_at(query, at * rows + i);
                    for (int64_t j = 0; j < columns; j++) value[j] += q * state[i * columns + j];
                }
                tort_store_doubles(output->type, output->data, at * columns, columns, value);
            }
        }
        if (present) tort_store_doubles(present->type, present->data, item * rows * columns, rows * columns, state);
    }
}

static tort_status linear_attention(const tort_call *call) {
    const tort_linear_params *params = call->params;
    int64_t work = params->length * params->key_size * (params->value_size + 1) * 4;
    if (params->value_size == 0) return TORT_OK; /* neither states nor outputs have elements */
    tort_parallel(call, params->batch * params->key_heads, work, scan_heads, (void *)call);
    return TORT_OK;
}

/* ---- CausalConvWithState ----------------------------------------------------------------------------------------- */

enum { INPUT, WEIGHT, BIAS, PAST }; /* inputs */

static tort_status infer_causal(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[INPUT], *weight = &infer->node->inputs[WEIGHT];
    tort_infer_same(infer, 0, INPUT);
    infer->outputs[1].type = input->type;
    if ((input->rank >= 0 && input->rank != 3) || (weight->rank >= 0 && weight->rank != 3))
        return tort_fail(infer->error, TORT_E_MODEL, "input has rank %d and weight %d; expected 3 and 3", input->rank,
                         weight->rank);
    if (input->rank < 0 || weight->rank < 0) return TORT_OK;
    if (weight->dims[2] == 0) return tort_fail(infer->error, TORT_E_MODEL, "the kernel is empty");
    const tort_dim state[3] = {input->dims[0], input->dims[1], tort_dim_add_const(infer->dims, weight->dims[2], -1)};
    tort_infer_shape(infer, 1, input->type, 3, state);
    return TORT_OK;
}

static tort_status resolve_causal(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *input = &node->inputs[INPUT], *weight = &node->inputs[WEIGHT];
    const char *activation = tort_attr_string(node, "activation");
    tort_causal_params *params = resolve->params;
    params->silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
    if (!params->silu && strcmp(activation, "none") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "activation \"%s\" is not known", activation);
    if (!tort_inputs_known(node)) return TORT_OK;
    params->batch = input->dims[0];
    params->channels = input->dims[1];
    params->length = input->dims[2];
    params->kernel = weight->dims[2];
    bool fits = weight->dims[0] == params->channels && weight->dims[1] == 1;
    if (tort_has_input(node, BIAS))
        fits = fits && node->inputs[BIAS].rank == 1 && node->inputs[BIAS].dims[0] == params->channels;
    if (tort_has_input(node, PAST)) {
        const tort_info *past = &node->inputs[PAST];
        fits = fits && past->rank == 3 && past->dims[0] == params->batch && past->dims[1] == params->channels &&
               past->dims[2] == params->kernel - 1;
    }
    if (!fits) return tort_fail(resolve->error, TORT_E_MODEL, "the shapes of the inputs do not fit each other");
    return TORT_OK;
}

/* Position p of a channel: below 0 it is in the past state, or zero. */
static double position_at(const tort_call *call, int64_t channel, int64_t p) {
    const tort_causal_params *params = call->params;
    if (p >= 0) return tort_element_at(&call->inputs[INPUT], channel * params->length + p);
    const tort_tensor *past = tort_call_input(call, PAST);
    const int64_t kept = params->kernel - 1;
    return past ? tort_element_at(past, channel * kept + kept + p) : 0;
}

/* Runs (batch, channel) number begin .. end-1. */
static void convolve_channels(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_causal_params *params = call->params;
    const tort_tensor *bias = tort_call_input(call, BIAS);
    const tort_tensor *output = &call->outputs[0], *present = tort_call_output(call, 1);
    const int64_t kept = params->kernel - 1;
    int64_t done = 0;
    for (int64_t channel = begin; channel < end; channel++) {
        const int64_t c = channel % params->channels;
        for (int64_t p = 0; p < params->length && !tort_is_over(call->watch); p++) {
            double sum = bias ? tort_element_at(bias, c) : 0;
            for (int64_t k = 0; k < params->kernel && tort_row_goes_on(call->watch, ++done); k++)
                sum += tort_element_at(&call->inputs[WEIGHT], c * params->kernel + k) *
                       position_at(call, channel, p - kept + k);
            if (params->silu) sum /= 1 + exp(-sum);
            tort_store_doubles(output->type, output->data, channel * params->length + p, 1, &sum);
        }
        for (int64_t k = 0; present && k < kept && tort_row_goes_on(call->watch, k); k++) {
            double value = position_at(call, channel, params->length - kept + k);
            tort_store_doubles(present->type, present->data, channel * kept + k, 1, &value);
        }
    }
}

static tort_status causal_conv(const tort_call *call) {
    const tort_causal_params *params = call->params;
    int64_t work = (params->length + 1) * params->kernel * 10;
    tort_parallel(call, params->batch * params->channels, work, convolve_channels, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_linear_attention[] = {
    {"", "LinearAttention", 27, TORT_NEWEST_OPSET, "query:T key:T value:T past_state?:S decay?:T beta?:T",
     "output:T present_state:S", "T=floats13|-double S=floats13|-double",
     "chunk_size:int=64 kv_num_heads:int! q_num_heads:int! scale:float=0 update_rule:string=gated_delta",
     .params_size = sizeof(tort_linear_params), infer_linear, resolve_linear, linear_attention},
    {"", "CausalConvWithState", 27, TORT_NEWEST_OPSET, "input:T weight:T bias?:T past_state?:T",
     "output:T present_state:T", "T=floats13|-double", "activation:string=none",
     .params_size = sizeof(tort_causal_params), infer_causal, resolve_causal, causal_conv},
    {0},
};
