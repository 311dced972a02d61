/* qlinear.c - rows and claims of QLinearAdd and QLinearMul of com.microsoft: operators on bytes with a scale and a zero
 * point, between the products of quantized networks. Results are those of the plain loops, byte by byte. Kernels:
 * qlinear.cu. Read first: ops/microsoft/qlinear.h. */
#include "kernels/cuda/qlinear.h"

#include "ops/microsoft/qlinear.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Accepts every node: the operators themselves are for int8 and uint8 alone. */
static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
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
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { OPERANDS = 1 << TORT_QLINEAR_A | 1 << TORT_QLINEAR_B };

#define BINARY(op_, variant_)                                                                                          \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "qlinear_binary", .claim = claim,                                \
        .prepare = CUDA_ONLY(prepare_binary), .run = CUDA_ONLY(run_binary), .variant = variant_, .in_place = OPERANDS, \
        .layout.id = TORT_ANY_LAYOUT, .layout.inputs = OPERANDS, .layout.outputs = 1                                   \
    }

const tort_kernel tort_cuda_qlinear_kernels[] = {
    BINARY("QLinearAdd", GPU_LINEAR_ADD),
    BINARY("QLinearMul", GPU_LINEAR_MUL),
    {.op = NULL},
};
