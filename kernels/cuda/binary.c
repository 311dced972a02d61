/* binary.c - rows and claims of functions of two tensors with broadcasting: arithmetic, comparisons, logic; and Max,
 * Min, Sum and Mean of any number. ops/elementwise.h decodes old forms of broadcasting. Kernels: binary.cu, power.cu.
 */
#include "kernels/cuda/binary.h"

#include "kernels/cuda/move.h"
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

/* Claims Pow: base and exponent may have different types. */
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

/* Claims Sum. More than two inputs are added in the output, which in float16 or bfloat16 would round more than once. */
static tort_verdict claim_sum(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    if (node->input_count > 2 && (type == TORT_FLOAT16 || type == TORT_BFLOAT16))
        return tort_no(TORT_NO_TYPE, "write it as Add nodes",
                       "%d inputs of %s: the kernel adds two at a time and would round each time", node->input_count,
                       tort_type_name(type));
    return claim_numbers(target, node);
}

/* Not of 16 bits: a sum of them may be infinite where the mean is not. */
static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    (void)target;
    return type == TORT_FLOAT || type == TORT_DOUBLE ? tort_yes() : tort_cuda_no_type(node, 0, "float and double");
}

/* Scratch memory of a mean: the number of inputs. */
static tort_status size_mean(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = sizeof(double);
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* Variants of the rows: a gpu_binary, or one for which an attribute selects the function. */
enum { ANY_MODULO = GPU_BINARY_COUNT, ANY_SHIFT };

#ifdef CUDA_DEVICE
static gpu_binary function_of(const tort_kernel *row, const void *params) {
    const tort_modulo *modulo = params;
    const tort_shift *shift = params;
    if (row->variant == ANY_MODULO) return modulo->c_like ? GPU_REMAINDER : GPU_MODULO;
    if (row->variant == ANY_SHIFT) return shift->left ? GPU_SHIFT_LEFT : GPU_SHIFT_RIGHT;
    return (gpu_binary)row->variant;
}

static tort_status prepare(tort_prepare *p) {
    const gpu_binary function = function_of(p->node->kernel, p->node->params);
    return cuda_loaded(p, gpu_load_binary(function, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status launch_pair(const tort_call *call, gpu_binary function, const tort_tensor pair[2]) {
    const tort_tensor *y = &call->outputs[0];
    const gpu_loop loop = gpu_loop_broadcast(y, pair, 2);
    return cuda_launched(call, gpu_run_binary(cuda_stream_of(call), function, gpu_number_of(pair[0].type), &loop,
                                              pair[0].data, pair[1].data, y->data));
}

/* True if base and exponent have one float type: an ordinary gpu_binary then. */
static bool is_plain_power(tort_type base, tort_type exponent) {
    return base == exponent && gpu_has_binary(GPU_POW, gpu_number_of(base));
}

static tort_status launch_power(const tort_call *call, const tort_tensor pair[2]) {
    const tort_tensor *y = &call->outputs[0];
    const gpu_loop loop = gpu_loop_broadcast(y, pair, 2);
    return cuda_launched(call, gpu_run_power(cuda_stream_of(call), gpu_number_of(pair[0].type),
                                             gpu_number_of(pair[1].type), &loop, pair[0].data, pair[1].data, y->data));
}

/* Sets the two inputs; an old rule of broadcasting may append dims to the second. */
static void pair_of(const tort_call *call, tort_tensor pair[2]) {
    const tort_binary *params = call->params;
    pair[0] = call->inputs[0];
    pair[1] = call->inputs[1];
    for (int32_t i = 0; i < params->trailing; i++) pair[1].dims[pair[1].rank++] = 1;
}

static tort_status run_pair(const tort_call *call) {
    tort_tensor pair[2];
    pair_of(call, pair);
    return launch_pair(call, function_of(call->kernel, call->params), pair);
}

/* Runs Greater as Less with the inputs exchanged. */
static tort_status run_swapped(const tort_call *call) {
    tort_tensor pair[2];
    pair_of(call, pair);
    const tort_tensor swapped[2] = {pair[1], pair[0]};
    return launch_pair(call, function_of(call->kernel, call->params), swapped);
}

/* Joins the inputs in the output, one after the other. */
static tort_status run_all(const tort_call *call) {
    const gpu_binary function = (gpu_binary)call->kernel->variant;
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

static tort_status prepare_mean(tort_prepare *p) {
    const gpu_number type = gpu_number_of(p->node->inputs[0].type);
    cudaError_t code = gpu_load_binary(GPU_ADD, type);
    if (code == cudaSuccess) code = gpu_load_binary(GPU_DIV, type);
    if (code == cudaSuccess) code = gpu_load_fill(cuda_element_bytes(p->node->inputs[0].type));
    return cuda_loaded(p, code);
}

static tort_status run_mean(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    const double count = call->input_count;
    uint64_t bits = 0;
    tort_store_doubles(y->type, &bits, 0, 1, &count);
    const tort_tensor pair[2] = {*y, {.type = y->type, .data = call->scratch}};
    tort_status status = run_all(call);
    if (status || call->input_count == 1) return status;
    status = cuda_launched(call, gpu_fill(cuda_stream_of(call), cuda_element_bytes(y->type), call->scratch, 1, &bits));
    return status ? status : launch_pair(call, GPU_DIV, pair);
}

static tort_status prepare_not(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_not());
}

static tort_status run_not(const tort_call *call) {
    return cuda_launched(call, gpu_run_not(cuda_stream_of(call), call->inputs[0].data, call->outputs[0].data,
                                           (size_t)tort_count(&call->outputs[0])));
}

static tort_status prepare_pow(tort_prepare *p) {
    const tort_info *in = p->node->inputs;
    if (is_plain_power(in[0].type, in[1].type)) return prepare(p);
    return cuda_loaded(p, gpu_load_power(gpu_number_of(in[0].type)));
}

static tort_status run_pow(const tort_call *call) {
    tort_tensor pair[2];
    pair_of(call, pair);
    if (!is_plain_power(pair[0].type, pair[1].type)) return launch_power(call, pair);
    return launch_pair(call, GPU_POW, pair);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, claim_, prepare_, run_, variant_)                                                                     \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "binary", .claim = claim_, .prepare = CUDA_ONLY(prepare_),                    \
        .run = CUDA_ONLY(run_), .variant = variant_, .in_place = 3, .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 3,  \
        .layout.outputs = 1                                                                                            \
    }

const tort_kernel tort_cuda_binary_kernels[] = {
    ROW("Add", claim_numbers, prepare, run_pair, GPU_ADD),
    ROW("Sub", claim_numbers, prepare, run_pair, GPU_SUB),
    ROW("Mul", claim_numbers, prepare, run_pair, GPU_MUL),
    ROW("Div", claim_numbers, prepare, run_pair, GPU_DIV),
    ROW("Pow", claim_pow, prepare_pow, run_pow, GPU_POW),
    ROW("PRelu", claim_numbers, prepare, run_pair, GPU_PRELU),
    ROW("Mod", claim_numbers, prepare, run_pair, ANY_MODULO),
    ROW("BitwiseAnd", claim_integers, prepare, run_pair, GPU_BIT_AND),
    ROW("BitwiseOr", claim_integers, prepare, run_pair, GPU_BIT_OR),
    ROW("BitwiseXor", claim_integers, prepare, run_pair, GPU_BIT_XOR),
    ROW("BitShift", claim_integers, prepare, run_pair, ANY_SHIFT),
    ROW("Equal", claim_equal, prepare, run_pair, GPU_EQUAL),
    ROW("Less", claim_numbers, prepare, run_pair, GPU_LESS),
    ROW("LessOrEqual", claim_numbers, prepare, run_pair, GPU_LESS_OR_EQUAL),
    ROW("Greater", claim_numbers, prepare, run_swapped, GPU_LESS),
    ROW("GreaterOrEqual", claim_numbers, prepare, run_swapped, GPU_LESS_OR_EQUAL),
    ROW("And", claim_bools, prepare, run_pair, GPU_AND),
    ROW("Or", claim_bools, prepare, run_pair, GPU_OR),
    ROW("Xor", claim_bools, prepare, run_pair, GPU_XOR),
    ROW("Max", claim_numbers, prepare, run_all, GPU_MAX),
    ROW("Min", claim_numbers, prepare, run_all, GPU_MIN),
    ROW("Sum", claim_sum, prepare, run_all, GPU_ADD),
    {"", "Mean", "mean", .claim = claim_mean, .size = size_mean, .prepare = CUDA_ONLY(prepare_mean),
     .run = CUDA_ONLY(run_mean), .variant = GPU_ADD, .in_place = 3},
    {"", "Not", "not", .claim = claim_bools, .prepare = CUDA_ONLY(prepare_not), .run = CUDA_ONLY(run_not),
     .in_place = 1},
    {.op = NULL},
};
