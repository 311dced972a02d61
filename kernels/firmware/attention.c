/* attention.c - Attention, and FlexAttention without graphs, of floats. The present is made first, where it is an
 * output: queries then read the keys and values there. */
#include "kernels/firmware/code/attention.h"
#include "kernels/firmware/code/move.h"
#include "kernels/firmware/firmware.h"
#include "ops/heads.h"
#include "ops/index.h"

enum { MASK = 3, PAST_KEY, PAST_VALUE, PRESENT_KEY = 1, PRESENT_VALUE, FURTHEST = 1 << 30 };

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < node->input_count && i <= PAST_VALUE; i++) {
        const tort_type type = node->inputs[i].type;
        if (tort_has_input(node, i) && type != TORT_FLOAT && (i != MASK || type != TORT_BOOL))
            return tort_no(TORT_NO_TYPE, "export the model in float32", "input %d is %s, firmware computes in float",
                           (int)i, tort_type_name(type));
    }
    if (tort_has_input(node, PAST_KEY) && !(tort_has_output(node, PRESENT_KEY) && tort_has_output(node, PRESENT_VALUE)))
        return tort_no(TORT_NO_ATTR, "name them", "joins past and new keys in outputs 1 and 2, which are absent");
    return tort_yes();
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    (void)target;
    (void)error;
    *scratch = (size_t)tort_heads_capacity(node->params) * sizeof(float);
    return TORT_OK;
}

static void fill_steps(int32_t *steps, const tort_head_strides *strides) {
    *steps++ = (int32_t)strides->batch;
    *steps++ = (int32_t)strides->head;
    *steps = (int32_t)strides->position;
}

/* Rows (batch, head, position) of `size` floats without gaps. */
static tort_head_strides packed(const tort_heads_params *p, int64_t length, int64_t size) {
    return (tort_head_strides){p->key_heads * length * size, length * size, size, 1};
}

/* Moves `length` rows of each head to the present, from row `first` on. */
static tort_status join(const tort_call *call, const tort_head_strides *strides, int64_t first, int64_t length,
                        int64_t size, const void *x, void *present) {
    const tort_heads_params *p = call->params;
    const tort_head_strides all = packed(p, tort_heads_capacity(p), size);
    const int32_t bytes = (int32_t)sizeof(float);
    tinyort_move_shape shape = {.element_bytes = (int32_t)size * bytes,
                                .y_first = (int32_t)(first * size) * bytes,
                                .rank = 3,
                                .dims = {(int32_t)p->batch, (int32_t)p->key_heads, (int32_t)length}};
    fill_steps(shape.xs, strides);
    fill_steps(shape.ys, &all);
    for (int32_t i = 0; i < 3; i++) {
        shape.xs[i] *= bytes;
        shape.ys[i] *= bytes;
    }
    return length ? TORT_FIRMWARE_CALL(call, tinyort_move, &shape, x, present) : TORT_OK;
}

/* Finds keys or values and their steps: in output `present`, once they are joined there, or in the input. */
static tort_status find(const tort_call *call, const tort_heads_rows *rows, int32_t past, int32_t present, int64_t size,
                        const void **data, int32_t *steps) {
    const tort_heads_params *p = call->params;
    const tort_head_strides before = packed(p, p->past_length, size), all = packed(p, tort_heads_capacity(p), size);
    void *joined = tort_firmware_output(call, present);
    *data = call->inputs[rows->operand].data;
    fill_steps(steps, joined ? &all : &rows->strides);
    if (!joined) return TORT_OK;
    tort_status status = join(call, &before, 0, p->past_length, size, tort_firmware_input(call, past), joined);
    if (!status) status = join(call, &rows->strides, p->past_length, p->new_keys, size, *data, joined);
    *data = joined;
    return status;
}

/* Before a run on the host. */
static tort_status check_valid(const tort_call *call) {
    const tort_heads_params *p = call->params;
    for (int64_t b = 0; p->valid >= 0 && b < p->batch && !tort_firmware_emit_of(call); b++) {
        const int64_t valid = tort_index_at(&call->inputs[p->valid], b);
        if (valid < 0 || valid > tort_heads_capacity(p))
            return tort_fail(call->error, TORT_E_RUN, "nonpad_kv_seqlen[%lld] is %lld; expected 0 to %lld",
                             (long long)b, (long long)valid, (long long)tort_heads_capacity(p));
    }
    return TORT_OK;
}

static int32_t window(int64_t size) {
    return size < FURTHEST ? (int32_t)size : FURTHEST;
}

static tinyort_attention_shape shape_of(const tort_heads_params *p) {
    const tort_head_strides *mask = &p->keep_strides;
    tinyort_attention_shape shape = {.batch = (int32_t)p->batch,
                                     .heads = (int32_t)p->query_heads,
                                     .group = (int32_t)tort_heads_group(p),
                                     .queries = (int32_t)p->queries,
                                     .keys = (int32_t)tort_heads_capacity(p),
                                     .key_size = (int32_t)p->key_size,
                                     .value_size = (int32_t)p->value_size,
                                     .before = (int32_t)p->past_length,
                                     .end = window(p->end),
                                     .left = window(p->left_window),
                                     .right = p->causal ? 0 : window(p->right_window),
                                     .stage = (int32_t)p->scores_stage,
                                     .mask[3] = (int32_t)mask->element};
    fill_steps(shape.query, &p->query.strides);
    fill_steps(shape.output, &p->output.strides);
    fill_steps(shape.mask, mask);
    return shape;
}

static tort_status run_attention(const tort_call *call) {
    const tort_heads_params *p = call->params;
    const void *keys = NULL, *values = NULL, *keep = tort_firmware_input(call, (int32_t)p->keep);
    const void *bias = tort_firmware_input(call, (int32_t)p->score_bias);
    const void *valid = tort_firmware_input(call, (int32_t)p->valid);
    float *scores = tort_firmware_output(call, (int32_t)p->scores);
    float (*cap)(float) = NULL;
    tinyort_attention_shape shape = shape_of(p);
    if (p->softcap > 0) cap = (float (*)(float))tort_firmware_function_of("tinyort_tanh");
    tort_status status = check_valid(call);
    if (!status) status = find(call, &p->key, PAST_KEY, PRESENT_KEY, p->key_size, &keys, shape.key);
    if (!status) status = find(call, &p->value, PAST_VALUE, PRESENT_VALUE, p->value_size, &values, shape.value);
    if (status) return status;
    return TORT_FIRMWARE_CALL_WITH(
        call, tinyort_attention, &shape,
        (call->inputs[0].data, keys, values, keep, bias, valid, call->outputs[0].data, scores, call->scratch, cap),
        (float)p->scale, (float)p->softcap);
}

#define ROW(domain_, op_)                                                                                              \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "attention", .claim = claim_attention, .run = run_attention,             \
        .size = size_attention, .emit = tort_firmware_emit                                                             \
    }

const tort_kernel tort_firmware_attention[] = {
    ROW("", "Attention"),
    ROW("ai.onnx.preview", "FlexAttention"),
    {.op = NULL},
};
