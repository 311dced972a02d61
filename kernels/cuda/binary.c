/* binary.c - rows and claims of functions of two tensors with broadcasting: arithmetic, comparisons, logic; Max, Min
 * and Sum of any number. Old forms of broadcasting are decoded by ops/elementwise.h. Kernels: binary.cu, power.cu. */
#include "kernels/cuda/binary.h"

#include "ops/elementwise.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

#define NUMBERS "floats of 16 to 64 bits and integers of 8 to 64"

static tort_verdict claim_types(const tort_node_view *node, gpu_binary function, const char *expected) {
    if (!gpu_has_binary(function, gpu_number_of(node->inputs[0].type))) return tort_cuda_no_type(node, 0, expected);
    for (int32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i].type != node->inputs[0].type) return tort_cuda_not_alike(node, i, 0);
    return tort_yes();
}

static tort_verdict claim_numbers(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_types(node, GPU_ADD, NUMBERS);
}

/* Base and exponent may be of different types. */
static tort_verdict claim_pow(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cuda_claim_number(target, node);
    if (verdict.code != TORT_YES || gpu_number_of(node->inputs[1].type) <= GPU_NUMBER_UINT64) return verdict;
    return tort_cuda_no_type(node, 1, NUMBERS);
}

static tort_verdict claim_equal(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_types(node, GPU_EQUAL, NUMBERS ", or bool");
}

static tort_verdict claim_bools(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_types(node, GPU_AND, "bool");
}

static tort_verdict claim_integers(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_types(node, GPU_BIT_AND, "integers of 8 to 64 bits");
}

/* Sums of more than two go through the output, which in float16 would round more than once; so in bfloat16. */
static tort_verdict claim_sum(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    if (node->input_count > 2 && (type == TORT_FLOAT16 || type == TORT_BFLOAT16))
        return tort_no(TORT_NO_TYPE, "write it as Add nodes",
                       "%d inputs of %s: the kernel adds two at a time and would round each time", node->input_count,
                       tort_type_name(type));
    return claim_numbers(target, node);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p, gpu_binary function) {
    return cuda_loaded(p, gpu_load_binary(function, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status launch_pair(const tort_call *call, gpu_binary function, const tort_tensor pair[2]) {
    const tort_tensor *y = &call->outputs[0];
    const gpu_loop loop = gpu_loop_broadcast(y, pair, 2);
    return cuda_launched(call, gpu_run_binary(cuda_stream_of(call), function, gpu_number_of(pair[0].type), &loop,
                                              pair[0].data, pair[1].data, y->data));
}

/* Floats to the power of floats of their type are a function like others. */
static bool is_plain_power(tort_type base, tort_type exponent) {
    return base == exponent && gpu_has_binary(GPU_POW, gpu_number_of(base));
}

static tort_status launch_power(const tort_call *call, const tort_tensor pair[2]) {
    const tort_tensor *y = &call->outputs[0];
    const gpu_loop loop = gpu_loop_broadcast(y, pair, 2);
    return cuda_launched(call, gpu_run_power(cuda_stream_of(call), gpu_number_of(pair[0].type),
                                             gpu_number_of(pair[1].type), &loop, pair[0].data, pair[1].data, y->data));
}

/* `first` is the index of the input that is the function's a: 1 makes Greater of Less. */
static tort_status run_pair(const tort_call *call, gpu_binary function, int32_t first) {
    const tort_binary *params = call->params;
    tort_tensor a = call->inputs[0], b = call->inputs[1];
    for (int32_t i = 0; i < params->trailing; i++) b.dims[b.rank++] = 1;
    const tort_tensor pair[2] = {first ? b : a, first ? a : b};
    if (function == GPU_POW && !is_plain_power(a.type, b.type)) return launch_power(call, pair);
    return launch_pair(call, function, pair);
}

/* Joins one input after the other to the output. */
static tort_status run_all(const tort_call *call, gpu_binary function) {
    const tort_tensor *y = &call->outputs[0];
    size_t bytes = 0;
    if (call->input_count == 1) {
        (void)tort_tensor_bytes(y, &bytes);
        if (!bytes || y->data == call->inputs[0].data) return TORT_OK;
        return cuda_copied(call, y->data, call->inputs[0].data, bytes);
    }
    tort_status status = launch_pair(call, function, call->inputs);
    for (int32_t i = 2; !status && i < call->input_count; i++) {
        const tort_tensor pair[2] = {*y, call->inputs[i]};
        status = launch_pair(call, function, pair);
    }
    return status;
}

static tort_status prepare_not(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_not());
}

static tort_status run_not(const tort_call *call) {
    return cuda_launched(call, gpu_run_not(cuda_stream_of(call), call->inputs[0].data, call->outputs[0].data,
                                           (size_t)tort_count(&call->outputs[0])));
}

#define RUN(name, function, body)                                                                                      \
    static tort_status prepare_##name(tort_prepare *p) {                                                               \
        return prepare(p, function);                                                                                   \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return body;                                                                                                   \
    }
RUN(add, GPU_ADD, run_pair(call, GPU_ADD, 0))
RUN(sub, GPU_SUB, run_pair(call, GPU_SUB, 0))
RUN(mul, GPU_MUL, run_pair(call, GPU_MUL, 0))
RUN(div, GPU_DIV, run_pair(call, GPU_DIV, 0))
RUN(prelu, GPU_PRELU, run_pair(call, GPU_PRELU, 0))
RUN(bit_and, GPU_BIT_AND, run_pair(call, GPU_BIT_AND, 0))
RUN(bit_or, GPU_BIT_OR, run_pair(call, GPU_BIT_OR, 0))
RUN(bit_xor, GPU_BIT_XOR, run_pair(call, GPU_BIT_XOR, 0))
RUN(equal, GPU_EQUAL, run_pair(call, GPU_EQUAL, 0))
RUN(less, GPU_LESS, run_pair(call, GPU_LESS, 0))
RUN(less_or_equal, GPU_LESS_OR_EQUAL, run_pair(call, GPU_LESS_OR_EQUAL, 0))
RUN(greater, GPU_LESS, run_pair(call, GPU_LESS, 1))
RUN(greater_or_equal, GPU_LESS_OR_EQUAL, run_pair(call, GPU_LESS_OR_EQUAL, 1))
RUN(and, GPU_AND, run_pair(call, GPU_AND, 0))
RUN(or, GPU_OR, run_pair(call, GPU_OR, 0))
RUN(xor, GPU_XOR, run_pair(call, GPU_XOR, 0))
RUN(max, GPU_MAX, run_all(call, GPU_MAX))
RUN(min, GPU_MIN, run_all(call, GPU_MIN))
RUN(sum, GPU_ADD, run_all(call, GPU_ADD))

static tort_status prepare_pow(tort_prepare *p) {
    const tort_info *in = p->node->inputs;
    if (is_plain_power(in[0].type, in[1].type)) return prepare(p, GPU_POW);
    return cuda_loaded(p, gpu_load_power(gpu_number_of(in[0].type)));
}

static tort_status run_pow(const tort_call *call) {
    return run_pair(call, GPU_POW, 0);
}

static gpu_binary mod_of(const tort_modulo *params) {
    return params->c_like ? GPU_REMAINDER : GPU_MODULO;
}

static tort_status prepare_mod(tort_prepare *p) {
    return prepare(p, mod_of(p->node->params));
}

static tort_status run_mod(const tort_call *call) {
    return run_pair(call, mod_of(call->params), 0);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, claims, function)                                                                                 \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "binary", .claim = claims, .prepare = CUDA_ONLY(prepare_##function),      \
        .run = CUDA_ONLY(run_##function), .in_place = 3, .layout = TORT_ANY_LAYOUT, .layout_inputs = 3,                \
        .layout_outputs = 1                                                                                            \
    }

const tort_kernel tort_cuda_binary_kernels[] = {
    ROW("Add", claim_numbers, add),
    ROW("Sub", claim_numbers, sub),
    ROW("Mul", claim_numbers, mul),
    ROW("Div", claim_numbers, div),
    ROW("Pow", claim_pow, pow),
    ROW("PRelu", claim_numbers, prelu),
    ROW("Mod", claim_numbers, mod),
    ROW("BitwiseAnd", claim_integers, bit_and),
    ROW("BitwiseOr", claim_integers, bit_or),
    ROW("BitwiseXor", claim_integers, bit_xor),
    ROW("Equal", claim_equal, equal),
    ROW("Less", claim_numbers, less),
    ROW("LessOrEqual", claim_numbers, less_or_equal),
    ROW("Greater", claim_numbers, greater),
    ROW("GreaterOrEqual", claim_numbers, greater_or_equal),
    ROW("And", claim_bools, and),
    ROW("Or", claim_bools, or),
    ROW("Xor", claim_bools, xor),
    ROW("Max", claim_numbers, max),
    ROW("Min", claim_numbers, min),
    ROW("Sum", claim_sum, sum),
    {.domain = "",
     .op = "Not",
     .name = "not",
     .claim = claim_bools,
     .prepare = CUDA_ONLY(prepare_not),
     .run = CUDA_ONLY(run_not),
     .in_place = 1},
    {.op = NULL},
};
