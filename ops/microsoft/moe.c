/* moe.c - MoE and QMoE: each token goes through the few experts that a router chose for it, two or three products each;
 * the result is the weighted sum of their outputs. The weights of QMoE have 2, 4 or 8 bits.
 *
 * ONNX Runtime's CPU provider is followed: MoE weighs by the softmax over all experts, QMoE by that over the chosen
 * ones or by router_weights; of equal experts the last is chosen; use_sparse_mixer and weights_prepacked change
 * nothing. Read next: moe_matrix.h. */
#include "ops/microsoft/moe_matrix.h"

#include <inttypes.h>
#include <math.h>

#include "ops/extent.h"
#include "ops/shapes.h"

enum { MAX_PARTS = 16 }; /* parts of the work, each with its own buffers */

typedef enum moe_activation { MOE_RELU, MOE_GELU, MOE_SILU, MOE_IDENTITY, MOE_SWIGLU } moe_activation;

typedef struct moe_params {
    int64_t tokens, hidden, inter, experts, chosen;
    moe_activation activation;
    int32_t fusion; /* of SwiGLU: 1 gates and values interleaved, 2 gates, then values */
    float alpha, beta, limit;
    bool normalizes, quantized;
    tort_moe_matrix fc[3];
} moe_params;

/* Input indices of a product: weights, scales, zero points, bias. */
static const int32_t plain_inputs[3][4] = {{2, -1, -1, 3}, {4, -1, -1, 5}, {6, -1, -1, 7}};
static const int32_t quantized_inputs[3][4] = {{2, 3, 11, 4}, {5, 6, 12, 7}, {8, 9, 13, 10}};
enum { INPUT, ROUTER, ROUTER_WEIGHTS = 14 };

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_moe(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[INPUT];
    tort_infer_same(infer, 0, 0);
    if (x->rank < 0 || x->rank == 2 || x->rank == 3) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "input has rank %d, expected 2 or 3", (int)x->rank);
}

static tort_status read_activation(const tort_resolve *resolve, moe_params *p) {
    static const char *const names[] = {"relu", "gelu", "silu", "identity", "swiglu"};
    const tort_node_view *node = resolve->node;
    const char *name = tort_attr_string(node, "activation_type");
    int32_t i = 0;
    while (i < 5 && strcmp(names[i], name) != 0) i++;
    if (i == 5)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "activation_type \"%s\" is not relu, gelu, silu, swiglu or identity", name);
    p->activation = (moe_activation)i;
    p->alpha = tort_attr_float(node, "activation_alpha");
    p->beta = tort_attr_float(node, "activation_beta");
    p->limit = tort_attr(node, "swiglu_limit") ? tort_attr_float(node, "swiglu_limit") : INFINITY;
    p->normalizes = tort_attr_int(node, "normalize_routing_weights") != 0;
    const int64_t fusion = tort_attr_int(node, "swiglu_fusion");
    if (fusion < 0 || fusion > 2)
        return tort_fail(resolve->error, TORT_E_MODEL, "swiglu_fusion is %" PRId64 ", expected 0, 1 or 2", fusion);
    p->fusion = p->activation == MOE_SWIGLU ? (int32_t)fusion : 0;
    return TORT_OK;
}

static tort_status read_kind(const tort_resolve *resolve) {
    const char *kind = tort_attr_string(resolve->node, "quant_type");
    if (strcmp(kind, "int") == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_UNSUPPORTED,
                     "quant_type \"%s\" is for GPUs alone; quantize the experts to integers (quant_type int)", kind);
}

/* Checks an input that has one row per token, of one element per expert. */
static tort_status check_router(const tort_resolve *resolve, const moe_params *p, int32_t i, const char *name) {
    const tort_info *info = &resolve->node->inputs[i];
    if (!tort_has_input(resolve->node, i)) return TORT_OK;
    if (info->rank == 2 && info->dims[0] == p->tokens && info->dims[1] == p->experts) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s has not the shape (%" PRId64 " tokens, %" PRId64 " experts)",
                     name, p->tokens, p->experts);
}

static tort_status read_matrices(const tort_resolve *resolve, moe_params *p) {
    const tort_node_view *node = resolve->node;
    const int32_t(*inputs)[4] = p->quantized ? quantized_inputs : plain_inputs;
    const int64_t rows[3] = {p->inter * (p->fusion ? 2 : 1), p->hidden, p->inter};
    const int64_t depth[3] = {p->hidden, p->inter, p->hidden};
    for (int32_t i = 0; i < 3; i++) {
        if (i == 2 && !tort_has_input(node, inputs[i][0])) break;
        tort_status status = tort_moe_matrix_read(resolve, i, inputs[i], p->experts, rows[i], depth[i], &p->fc[i]);
        if (status != TORT_OK) return status;
    }
    if (p->activation == MOE_SWIGLU && !p->fusion && p->fc[2].rows == 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "swiglu with swiglu_fusion 0 needs fc3_experts_weights");
    if (p->fusion && p->fc[2].rows)
        return tort_fail(resolve->error, TORT_E_MODEL, "fc3_experts_weights is given, but swiglu_fusion has it in fc1");
    return TORT_OK;
}

/* Floats of a part: a token, fc1, fc3, the activation, fc2, the sum of outputs, the router's choice and its weights. */
static int64_t part_floats(const moe_params *p) {
    return 2 * p->hidden + p->fc[0].rows + 2 * p->inter + 2 * p->chosen + p->hidden;
}

static int64_t part_count(const moe_params *p) {
    return p->tokens < MAX_PARTS ? p->tokens : MAX_PARTS;
}

static tort_status resolve_moe(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    moe_params *p = resolve->params;
    const tort_info *x = &node->inputs[INPUT], *router = &node->inputs[ROUTER];
    p->quantized = strcmp(node->op->name, "QMoE") == 0;
    const int32_t(*inputs)[4] = p->quantized ? quantized_inputs : plain_inputs;
    const tort_info *fc2 = &node->inputs[inputs[1][0]];
    tort_status status = p->quantized ? read_kind(resolve) : TORT_OK;
    if (status == TORT_OK) status = read_activation(resolve, p);
    if (status != TORT_OK || !tort_inputs_known(node)) return status;
    if (router->rank != 2 || fc2->rank != 3)
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "router_probs has rank %d and fc2_experts_weights %d, expected 2 "
                         "and 3",
                         (int)router->rank, (int)fc2->rank);
    p->tokens = tort_extent(x->dims, 0, x->rank - 1);
    p->hidden = x->dims[x->rank - 1];
    p->experts = router->dims[1];
    p->inter = fc2->dims[2] * (p->quantized ? 8 / tort_moe_bits(node, 1) : 1);
    p->chosen = tort_attr_int(node, "k");
    if (p->chosen < 1 || p->chosen > p->experts)
        return tort_fail(resolve->error, TORT_E_MODEL, "k is %" PRId64 ", expected 1 to %" PRId64 " experts", p->chosen,
                         p->experts);
    status = check_router(resolve, p, ROUTER, "router_probs");
    if (status == TORT_OK && p->quantized) status = check_router(resolve, p, ROUTER_WEIGHTS, "router_weights");
    if (status == TORT_OK) status = read_matrices(resolve, p);
    resolve->scratch_bytes = (size_t)(part_floats(p) * part_count(p)) * sizeof(float);
    return status;
}

/* ---- the router -------------------------------------------------------------------------------------------------- */

static float element(const tort_tensor *tensor, int64_t i) {
    return (float)tort_element_at(tensor, i);
}

/* Chooses the experts with the largest numbers, the largest first. */
static void choose(const tort_call *call, int64_t token, float *experts) {
    const moe_params *p = call->params;
    const tort_tensor *router = &call->inputs[ROUTER];
    for (int64_t i = 0; i < p->chosen; i++) {
        int64_t best = -1;
        for (int64_t e = 0; e < p->experts; e++) {
            bool taken = false;
            for (int64_t j = 0; j < i; j++) taken = taken || (int64_t)experts[j] == e;
            if (taken) continue;
            if (best < 0 || element(router, token * p->experts + e) >= element(router, token * p->experts + best))
                best = e;
        }
        experts[i] = (float)best;
    }
}

static void weigh(const tort_call *call, int64_t token, const float *experts, float *weights) {
    const moe_params *p = call->params;
    const tort_tensor *router = &call->inputs[ROUTER];
    const tort_tensor *given = p->quantized ? tort_call_input(call, ROUTER_WEIGHTS) : NULL;
    const int64_t first = token * p->experts;
    const double largest = (double)element(router, first + (int64_t)experts[0]);
    double all = 0, chosen = 0;
    for (int64_t e = 0; e < p->experts; e++) all += exp((double)element(router, first + e) - largest);
    for (int64_t i = 0; i < p->chosen; i++) {
        const int64_t at = first + (int64_t)experts[i];
        weights[i] = given ? element(given, at) : (float)exp((double)element(router, at) - largest);
        chosen += (double)weights[i];
    }
    const bool divides = given ? p->normalizes : true;
    const double divisor = given || p->normalizes || p->quantized ? chosen : all;
    for (int64_t i = 0; i < p->chosen && divides; i++)
        weights[i] = divisor != 0 ? (float)((double)weights[i] / divisor) : 0;
}

/* ---- an expert --------------------------------------------------------------------------------------------------- */

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

static float activate(moe_activation activation, float x) {
    switch (activation) {
    case MOE_RELU: return x > 0 ? x : 0;
    case MOE_GELU: return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    case MOE_SILU: return x * sigmoid(x);
    default: return x;
    }
}

static float swiglu(const moe_params *p, float gate, float value) {
    gate = gate > p->limit ? p->limit : gate;
    value = value > p->limit ? p->limit : value < -p->limit ? -p->limit : value;
    return gate * sigmoid(p->alpha * gate) * (value + p->beta);
}

/* Applies the activation between the products: h has the sums of fc1, `linear` those of fc3. */
static void combine(const moe_params *p, const float *h, const float *linear, float *out) {
    const int64_t inter = p->inter;
    for (int64_t i = 0; i < inter; i++) {
        if (p->fusion == 1)
            out[i] = swiglu(p, h[2 * i], h[2 * i + 1]);
        else if (p->fusion == 2)
            out[i] = swiglu(p, h[i], h[inter + i]);
        else if (p->activation == MOE_SWIGLU)
            out[i] = swiglu(p, h[i], linear[i]);
        else
            out[i] = activate(p->activation, h[i]) * (p->fc[2].rows ? linear[i] : 1);
    }
}

static void run_token(const tort_call *call, int64_t token, float *buffer) {
    const moe_params *p = call->params;
    const tort_tensor *input = &call->inputs[INPUT], *output = &call->outputs[0];
    float *x = buffer, *h = x + p->hidden, *linear = h + p->fc[0].rows, *between = linear + p->inter;
    float *part = between + p->inter, *sum = part + p->hidden, *experts = sum + p->hidden;
    float *weights = experts + p->chosen;
    tort_load_floats(input->type, input->data, token * p->hidden, p->hidden, x);
    choose(call, token, experts);
    weigh(call, token, experts, weights);
    memset(sum, 0, (size_t)p->hidden * sizeof *sum);
    for (int64_t i = 0; i < p->chosen; i++) {
        const int64_t e = (int64_t)experts[i];
        tort_moe_matrix_multiply(call, &p->fc[0], e, x, h);
        if (p->fc[2].rows) tort_moe_matrix_multiply(call, &p->fc[2], e, x, linear);
        combine(p, h, linear, between);
        tort_moe_matrix_multiply(call, &p->fc[1], e, between, part);
        for (int64_t j = 0; j < p->hidden; j++) sum[j] += weights[i] * part[j];
    }
    tort_store_floats(output->type, output->data, token * p->hidden, p->hidden, sum);
}

static void run_parts(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const moe_params *p = call->params;
    const int64_t parts = part_count(p);
    for (int64_t part = begin; part < end; part++)
        for (int64_t token = p->tokens * part / parts; token < p->tokens * (part + 1) / parts; token++)
            if (tort_call_goes_on(call, 0)) run_token(call, token, (float *)call->scratch + part * part_floats(p));
}

static tort_status run_moe(const tort_call *call) {
    const moe_params *p = call->params;
    tort_call copy = *call;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_parallel(call, part_count(p), p->hidden * p->inter, run_parts, &copy);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define COMMON                                                                                                         \
    "activation_alpha:float=1.0 activation_beta:float=0.0 activation_type:string=relu k:int=1 "                        \
    "normalize_routing_weights:int=0 swiglu_fusion:int=0 swiglu_limit:float use_sparse_mixer:int=0"

const tort_op tort_ops_moe[] = {
    {"com.microsoft", "MoE", 1, 1,
     "input:T router_probs:T fc1_experts_weights:T fc1_experts_bias?:T fc2_experts_weights:T fc2_experts_bias?:T "
     "fc3_experts_weights?:T fc3_experts_bias?:T",
     "output:T", "T=float|float16|bfloat16", COMMON, .params_size = sizeof(moe_params), infer_moe, resolve_moe,
     run_moe},
    {"com.microsoft", "QMoE", 1, 1,
     "input:T router_probs:T fc1_experts_weights:T1 fc1_scales?:T2 fc1_experts_bias?:T fc2_experts_weights:T1 "
     "fc2_scales?:T2 fc2_experts_bias?:T fc3_experts_weights?:T1 fc3_scales?:T2 fc3_experts_bias?:T "
     "fc1_zero_points?:T1 fc2_zero_points?:T1 fc3_zero_points?:T1 router_weights?:T fc1_global_scale?:T4 "
     "fc2_global_scale?:T4 fc1_act_scale?:T4 fc2_act_scale?:T4 fc1_act_block_scale?:T2 fc2_act_block_scale?:T2",
     "output:T",
     "T=float|float16|bfloat16 T1=uint8|float8e4m3fn T2=float|float16|bfloat16|float8e8m0|float8e4m3fn T4=float",
     COMMON " accuracy_level:int=0 block_size:int expert_weight_bits:int=4 fc1_expert_weight_bits:int "
            "fc2_expert_weight_bits:int fc3_expert_weight_bits:int quant_type:string=int weights_prepacked:int=-1",
     .params_size = sizeof(moe_params), infer_moe, resolve_moe, run_moe},
    {0},
};
