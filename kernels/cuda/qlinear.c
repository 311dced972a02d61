/* qlinear.c - rows and claims of com.microsoft's operators on bytes with a scale and a zero point that stand between
 * the products of quantized networks: QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu, QLinearConcat and
 * QLinearWhere; and of ByteTable, which the core puts in place of several. Results are those of the plain loops, byte
 * by byte. Kernels: qlinear.cu. Read first: ops/microsoft/qlinear.h. */
#include "kernels/cuda/qlinear.h"

#include "kernels/cuda/move.h"
#include "kernels/cuda/nhwc.h"
#include "ops/extent.h"
#include "ops/microsoft/qlinear.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Accepts every node: the operators themselves are for int8 and uint8 alone. */
static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return tort_yes();
}

static tort_verdict claim_table(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->inputs[1].rank != 1 || node->inputs[1].dims[0] != 256)
        return tort_no(TORT_NO_SHAPE, "", "is for a table of 256 bytes");
    return tort_yes();
}

/* Claims images with channels last. Parts beyond the first ten are no bits of the row's mask. */
static tort_verdict claim_concat_nhwc(const tort_target *target, const tort_node_view *node) {
    const tort_info *x = &node->inputs[TORT_QLINEAR_PART];
    (void)target;
    if (x->rank < 3 || x->rank > 2 + GPU_CONV_AXES) return tort_no(TORT_NO_SHAPE, "", "is for images of 1 to 3 axes");
    if (node->input_count > 32) return tort_no(TORT_NO_SHAPE, "", "is for at most 10 parts");
    return tort_yes();
}

#ifdef CUDA_DEVICE
/* ---- run --------------------------------------------------------------------------------------------------------- */

static gpu_linear linear_of(const tort_call *call, int32_t scale) {
    return (gpu_linear){call->inputs[scale].data, cuda_input(call, scale + 1)};
}

static tort_status prepare_binary(tort_prepare *p) {
    return cuda_loaded(
        p, gpu_load_linear_binary((gpu_linear_binary)p->node->kernel->variant, p->node->inputs[0].type == TORT_INT8));
}

static tort_status run_binary(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    const tort_tensor pair[2] = {call->inputs[TORT_QLINEAR_A], call->inputs[TORT_QLINEAR_B]};
    const gpu_linear_pair numbers = {linear_of(call, TORT_QLINEAR_A + 1), linear_of(call, TORT_QLINEAR_B + 1),
                                     linear_of(call, TORT_QLINEAR_C)};
    const gpu_loop loop = gpu_loop_broadcast(y, pair, 2);
    return cuda_launched(call, gpu_run_linear_binary(cuda_stream_of(call), (gpu_linear_binary)call->kernel->variant,
                                                     y->type == TORT_INT8, &loop, &numbers, pair[0].data, pair[1].data,
                                                     y->data));
}

static tort_status prepare_map(tort_prepare *p) {
    return cuda_loaded(
        p, gpu_load_byte_map((gpu_byte_function)p->node->kernel->variant, p->node->inputs[0].type == TORT_INT8));
}

static tort_status run_map(const tort_call *call) {
    const gpu_byte_function function = (gpu_byte_function)call->kernel->variant;
    const tort_tensor *x = &call->inputs[0];
    gpu_byte_map map = {.table = call->inputs[1].data};
    if (function != GPU_BYTE_TABLE) map = (gpu_byte_map){.from = linear_of(call, 1), .to = linear_of(call, 3)};
    if (function == GPU_BYTE_LEAKY_RELU) map.alpha = ((const tort_qlinear_leaky *)call->params)->alpha;
    return cuda_launched(call, gpu_run_byte_map(cuda_stream_of(call), function, x->type == TORT_INT8, &map,
                                                (size_t)tort_count(x), x->data, call->outputs[0].data));
}

static tort_status prepare_concat(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_linear_concat(p->node->inputs[1].type == TORT_INT8));
}

/* Conversions of the layout copy boxes of bytes. */
static tort_status prepare_concat_nhwc(tort_prepare *p) {
    const cudaError_t code = gpu_load_linear_concat(p->node->inputs[1].type == TORT_INT8);
    return cuda_loaded(p, code == cudaSuccess ? gpu_load_copy_box(1) : code);
}

/* Elements that a tensor has side by side along the axis, in memory. */
static int64_t run_of(const tort_tensor *x, int32_t axis, bool channels_last) {
    if (!channels_last || axis == 0) return tort_extent(x->dims, axis, x->rank);
    return axis == 1 ? x->dims[1] : tort_extent(x->dims, axis, x->rank) * x->dims[1];
}

static tort_status concat(const tort_call *call, bool channels_last) {
    const int32_t axis = ((const tort_qlinear_concat *)call->params)->axis;
    const tort_tensor *y = &call->outputs[0];
    gpu_linear_concat concat = {.to = linear_of(call, 0), .row = run_of(y, axis, channels_last)};
    cudaError_t code = cudaSuccess;
    int64_t start = 0;
    for (int32_t i = TORT_QLINEAR_PART; i < call->input_count && code == cudaSuccess; i += TORT_QLINEAR_PARTS) {
        const tort_tensor *x = &call->inputs[i];
        const int64_t run = run_of(x, axis, channels_last), count = tort_count(x);
        concat.part[concat.parts++] = (gpu_linear_part){.from = linear_of(call, i + 1),
                                                        .x = x->data,
                                                        .run = gpu_divisor_of(run, (uint64_t)count),
                                                        .count = (size_t)count,
                                                        .start = start};
        start += run;
        if (concat.parts < GPU_LINEAR_PARTS && i + TORT_QLINEAR_PARTS < call->input_count) continue;
        code = gpu_run_linear_concat(cuda_stream_of(call), y->type == TORT_INT8, &concat, y->data);
        concat.parts = 0;
    }
    return cuda_launched(call, code);
}

static tort_status run_concat(const tort_call *call) {
    return concat(call, false);
}

static tort_status run_concat_nhwc(const tort_call *call) {
    return concat(call, true);
}

static tort_status prepare_where(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_linear_where(p->node->inputs[1].type == TORT_INT8));
}

static tort_status run_where(const tort_call *call) {
    const tort_tensor *z = &call->outputs[0], in[3] = {call->inputs[0], call->inputs[1], call->inputs[4]};
    const gpu_linear_pair numbers = {linear_of(call, 2), linear_of(call, 5), linear_of(call, 7)};
    const gpu_loop loop = gpu_loop_broadcast(z, in, 3);
    return cuda_launched(call, gpu_run_linear_where(cuda_stream_of(call), z->type == TORT_INT8, &loop, &numbers,
                                                    in[0].data, in[1].data, in[2].data, z->data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PARTS 0x24924924u /* of QLinearConcat: each third input, from TORT_QLINEAR_PART on */

enum { OPERANDS = 1 << TORT_QLINEAR_A | 1 << TORT_QLINEAR_B };

#define BINARY(op_, variant_)                                                                                          \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "qlinear_binary", .claim = claim,                                \
        .prepare = CUDA_ONLY(prepare_binary), .run = CUDA_ONLY(run_binary), .variant = variant_, .in_place = OPERANDS, \
        .layout.id = TORT_ANY_LAYOUT, .layout.inputs = OPERANDS, .layout.outputs = 1                                   \
    }

#define MAP(domain_, op_, claim_, variant_)                                                                            \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "byte_map", .claim = claim_, .prepare = CUDA_ONLY(prepare_map),          \
        .run = CUDA_ONLY(run_map), .variant = variant_, .in_place = 1, .layout.id = TORT_ANY_LAYOUT,                   \
        .layout.inputs = 1, .layout.outputs = 1                                                                        \
    }

const tort_kernel tort_cuda_qlinear_kernels[] = {
    BINARY("QLinearAdd", GPU_LINEAR_ADD),
    BINARY("QLinearMul", GPU_LINEAR_MUL),
    MAP("com.microsoft", "QLinearSigmoid", claim, GPU_BYTE_SIGMOID),
    MAP("com.microsoft", "QLinearLeakyRelu", claim, GPU_BYTE_LEAKY_RELU),
    MAP("tinyort", "ByteTable", claim_table, GPU_BYTE_TABLE),
    {"com.microsoft", "QLinearConcat", "qlinear_concat_nhwc", .claim = claim_concat_nhwc,
     .prepare = CUDA_ONLY(prepare_concat_nhwc), .run = CUDA_ONLY(run_concat_nhwc), .layout.id = GPU_NHWC,
     .layout.inputs = PARTS, .layout.outputs = 1, .layout.follows = true},
    {"com.microsoft", "QLinearConcat", "qlinear_concat", .claim = claim, .prepare = CUDA_ONLY(prepare_concat),
     .run = CUDA_ONLY(run_concat)},
    {"com.microsoft", "QLinearWhere", "qlinear_where", .claim = claim, .prepare = CUDA_ONLY(prepare_where),
     .run = CUDA_ONLY(run_where), .in_place = 1 << 1 | 1 << 4},
    {.op = NULL},
};
