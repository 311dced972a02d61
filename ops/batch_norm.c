/* batch_norm.c - BatchNormalization: every channel is shifted and scaled by its mean and variance.
 *
 * Inference takes the statistics from inputs. Training takes them from the batch and outputs running ones: from version
 * 14 on with training_mode, before that if the node has more than one output. With spatial=0 (below version 9) every
 * activation of a sample has its own statistics. Computed in double, rounded once. */
#include "ops/extent.h"
#include "ops/norm.h"

#include <math.h>

static bool is_training(const tort_node_view *node) {
    if (node->op->since >= 14) return tort_attr_int(node, "training_mode") != 0;
    if (tort_attr_int(node, "is_test") != 0) return false;
    for (int32_t i = 1; i < node->output_count; i++)
        if (tort_has_output(node, i)) return true;
    return false;
}

static tort_status infer_batch_norm(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    if (x->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "X is a scalar; expected (batch, channels, ...)");
    tort_infer_same(infer, 0, 0);
    for (int32_t o = 1; o <= 4; o++) tort_infer_same(infer, o, o % 2 == 1 ? 3 : 4);
    return TORT_OK;
}

static tort_status resolve_batch_norm(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *x = &node->inputs[0];
    tort_batch_norm_params *params = resolve->params;
    params->epsilon = (double)tort_attr_float(node, "epsilon");
    params->momentum = (double)tort_attr_float(node, "momentum");
    params->training = is_training(node);
    for (int32_t o = 1; o < node->output_count && node->op->since >= 14 && !params->training; o++)
        if (tort_has_output(node, o))
            return tort_fail(resolve->error, TORT_E_MODEL, "output %d is only there with training_mode=1", o);
    if (!tort_shape_known(x)) return TORT_OK;
    /* X of rank 1 is a batch with one channel. */
    int32_t channel_end = x->rank > 1 ? 2 : 1;
    const bool spatial = node->op->since >= 9 || tort_attr_int(node, "spatial") != 0;
    if (!spatial) channel_end = x->rank;
    params->batch = x->dims[0];
    params->channels = tort_extent(x->dims, 1, channel_end);
    params->inner = tort_extent(x->dims, channel_end, x->rank);
    for (int32_t i = 1; i <= 4; i++)
        if (tort_shape_known(&node->inputs[i]) &&
            ((spatial && node->inputs[i].rank != 1) ||
             tort_extent(node->inputs[i].dims, 0, node->inputs[i].rank) != params->channels))
            return tort_fail(resolve->error, TORT_E_MODEL, "input %d must be a list of %lld elements, one a channel", i,
                             (long long)params->channels);
    return TORT_OK;
}

/* Mean of (x - center)^power over a channel of the whole batch; power 1 (center is then ignored) or 2. */
static double channel_moment(const tort_call *call, int64_t channel, double center, int power) {
    const tort_batch_norm_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    int64_t done = 0;
    double block[TORT_BLOCK], sum = 0;
    for (int64_t n = 0; n < params->batch; n++) {
        int64_t base = (n * params->channels + channel) * params->inner;
        for (int64_t first = 0; first < params->inner; first += TORT_BLOCK) {
            int64_t count = tort_block_count(params->inner, first);
            if (!tort_row_goes_on(call->watch, done += TORT_BLOCK)) return sum;
            tort_load_doubles(x->type, x->data, base + first, count, block);
            for (int64_t i = 0; i < count; i++)
                sum += power == 1 ? block[i] : (block[i] - center) * (block[i] - center);
        }
    }
    return sum / (double)(params->batch * params->inner);
}

/* Stores a channel's entry of an output that may be absent. */
static void put_entry(const tort_call *call, int32_t output, int64_t channel, double value) {
    const tort_tensor *tensor = tort_call_output(call, output);
    if (tensor) tort_store_doubles(tensor->type, tensor->data, channel, 1, &value);
}

/* y = (x - mean) * factor + offset in one channel. */
static void normalize_channel(const tort_call *call, int64_t channel, double mean, double factor, double offset) {
    const tort_batch_norm_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    int64_t done = 0;
    double block[TORT_BLOCK];
    for (int64_t n = 0; n < params->batch; n++) {
        int64_t base = (n * params->channels + channel) * params->inner;
        for (int64_t first = 0; first < params->inner; first += TORT_BLOCK) {
            int64_t count = tort_block_count(params->inner, first);
            if (!tort_row_goes_on(call->watch, done += TORT_BLOCK)) return;
            tort_load_doubles(x->type, x->data, base + first, count, block);
            for (int64_t i = 0; i < count; i++) block[i] = (block[i] - mean) * factor + offset;
            tort_store_doubles(y->type, y->data, base + first, count, block);
        }
    }
}

static void normalize_channels(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_batch_norm_params *params = call->params;
    for (int64_t c = begin; c < end; c++) {
        double mean = tort_element_at(&call->inputs[3], c), variance = tort_element_at(&call->inputs[4], c);
        double batch_mean = mean, batch_variance = variance;
        if (params->training) {
            const double momentum = params->momentum;
            batch_mean = channel_moment(call, c, 0, 1);
            batch_variance = channel_moment(call, c, batch_mean, 2);
            mean = mean * momentum + batch_mean * (1 - momentum);
            variance = variance * momentum + batch_variance * (1 - momentum);
        }
        put_entry(call, 1, c, mean);
        put_entry(call, 2, c, variance);
        put_entry(call, 3, c, batch_mean); /* saved_mean and saved_var, below version 14 */
        put_entry(call, 4, c, batch_variance);
        double factor = tort_element_at(&call->inputs[1], c) / sqrt(batch_variance + params->epsilon);
        normalize_channel(call, c, batch_mean, factor, tort_element_at(&call->inputs[2], c));
    }
}

static tort_status batch_norm(const tort_call *call) {
    const tort_batch_norm_params *params = call->params;
    int64_t elements = params->batch * params->inner;
    tort_parallel(call, params->channels, 50 + elements * 2, normalize_channels, (void *)call);
    return TORT_OK;
}

#define BY .params_size = sizeof(tort_batch_norm_params), infer_batch_norm, resolve_batch_norm, batch_norm
#define INPUTS "X:T scale:T B:T mean:T var:T"
#define FIVE_OUTPUTS "Y:T mean?:T var?:T saved_mean?:T saved_var?:T"

const tort_op tort_ops_batch_norm[] = {
    {"", "BatchNormalization", 1, 5, INPUTS, FIVE_OUTPUTS, "T=floats",
     "consumed_inputs:ints! epsilon:float=1e-05 is_test:int=0 momentum:float=0.9 spatial:int=1", BY},
    {"", "BatchNormalization", 6, 6, INPUTS, FIVE_OUTPUTS, "T=floats",
     "epsilon:float=1e-05 is_test:int=0 momentum:float=0.9 spatial:int=1", BY},
    {"", "BatchNormalization", 7, 8, INPUTS, FIVE_OUTPUTS, "T=floats",
     "epsilon:float=1e-05 momentum:float=0.9 spatial:int=1", BY},
    {"", "BatchNormalization", 9, 13, INPUTS, FIVE_OUTPUTS, "T=floats", "epsilon:float=1e-05 momentum:float=0.9", BY},
    {"", "BatchNormalization", 14, 14, "X:T scale:T B:T input_mean:U input_var:U", "Y:T running_mean?:U running_var?:U",
     "T=floats13 U=floats13", "epsilon:float=1e-05 momentum:float=0.9 training_mode:int=0", BY},
    {"", "BatchNormalization", 15, TORT_NEWEST_OPSET, "X:T scale:T1 B:T1 input_mean:T2 input_var:T2",
     "Y:T running_mean?:T2 running_var?:T2", "T=floats13 T1=floats13 T2=floats13",
     "epsilon:float=1e-05 momentum:float=0.9 training_mode:int=0", BY},
    {0},
};
