/* qlinear_mean.c - rows and claims of QLinearGlobalAveragePool, QLinearAveragePool, QLinearReduceMean and
 * QLinearSoftmax of com.microsoft. Results are those of the plain loops, byte by byte. Kernels: qlinear_mean.cu. Read
 * first: qlinear.c. */
#include "kernels/cuda/qlinear_mean.h"

#include "kernels/cuda/nhwc.h"
#include "ops/extent.h"
#include "ops/microsoft/qlinear.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Accepts every node: the operators themselves are for int8 and uint8 alone. */
static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return tort_yes();
}

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_cuda_claim_window(node, &((const tort_qlinear_pool *)node->params)->pool.window, 2);
}

/* The layout is that of images whose channels are axis 1, which they are not with the attribute channels_last. */
static tort_verdict claim_nhwc(const tort_target *target, const tort_node_view *node) {
    const tort_qlinear_pool *params = node->params;
    if (params->channels_last) return tort_no(TORT_NO_ATTR, "", "channels_last=1: its images are plain");
    return tort_cuda_claim_nhwc(target, node, params->pool.channels);
}

static tort_verdict claim_pool_nhwc(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_pool(target, node);
    return verdict.code == TORT_YES ? claim_nhwc(target, node) : verdict;
}

#ifdef CUDA_DEVICE
/* ---- run --------------------------------------------------------------------------------------------------------- */

static bool is_signed(const tort_call *call) {
    return call->outputs[0].type == TORT_INT8;
}

static bool loads_signed(const tort_prepare *p) {
    return p->node->inputs[0].type == TORT_INT8;
}

static gpu_linear linear_of(const tort_call *call, int32_t scale) {
    return (gpu_linear){call->inputs[scale].data, cuda_input(call, scale + 1)};
}

static void append(gpu_loop *loop, int64_t size, int64_t stride) {
    loop->dims[loop->rank] = size;
    loop->strides[0][loop->rank++] = stride;
    loop->count *= (size_t)size;
}

static tort_status launch_mean(const tort_call *call, gpu_linear_mean *mean) {
    mean->from = linear_of(call, 1);
    mean->to = linear_of(call, 3);
    gpu_loop_ready(&mean->kept);
    gpu_loop_ready(&mean->reduced);
    return cuda_launched(call, gpu_run_linear_mean(cuda_stream_of(call), is_signed(call), mean, call->inputs[0].data,
                                                   call->outputs[0].data));
}

static tort_status prepare_mean(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_linear_mean(loads_signed(p)));
}

static tort_status prepare_global_nhwc(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_linear_mean(loads_signed(p)));
}

static tort_status global_pool(const tort_call *call, bool channels_last) {
    const tort_pool_params *p = &((const tort_qlinear_pool *)call->params)->pool;
    const int64_t size = tort_extent(p->window.input, 0, p->window.axes);
    gpu_linear_mean mean = {.kept.count = 1, .reduced.count = 1, .along = !channels_last};
    append(&mean.kept, p->batch, size * p->channels);
    append(&mean.kept, p->channels, channels_last ? 1 : size);
    append(&mean.reduced, size, channels_last ? p->channels : 1);
    return launch_mean(call, &mean);
}

static tort_status run_global(const tort_call *call) {
    const tort_qlinear_pool *p = call->params;
    return global_pool(call, p->channels_last && call->inputs[0].rank > 2);
}

static tort_status run_global_nhwc(const tort_call *call) {
    return global_pool(call, true);
}

static tort_status run_mean(const tort_call *call) {
    const tort_reduce_params *p = call->params;
    gpu_linear_mean mean = {.kept.count = 1, .reduced.count = 1, .along = p->rank > 0 && p->reduced[p->rank - 1]};
    for (int32_t d = 0; d < p->rank; d++) append(p->reduced[d] ? &mean.reduced : &mean.kept, p->dims[d], p->strides[d]);
    return launch_mean(call, &mean);
}

static tort_status prepare_pool(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_linear_pool(loads_signed(p)));
}

static tort_status prepare_pool_nhwc(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_linear_pool(loads_signed(p)));
}

static tort_status pool(const tort_call *call, bool channels_last) {
    const tort_pool_params *params = &((const tort_qlinear_pool *)call->params)->pool;
    gpu_linear_pool p = {.from = linear_of(call, 1),
                         .to = linear_of(call, 3),
                         .window = tort_cuda_window(&params->window),
                         .count = (size_t)tort_count(&call->outputs[0]),
                         .count_include_pad = params->count_include_pad};
    p.inner = gpu_divisor_of(channels_last ? params->channels : 1, p.count);
    p.out_w = gpu_divisor_of(p.window.out_w, p.count);
    p.out_h = gpu_divisor_of(p.window.out_h, p.count);
    return cuda_launched(call, gpu_run_linear_pool(cuda_stream_of(call), is_signed(call), &p, call->inputs[0].data,
                                                   call->outputs[0].data));
}

static tort_status run_pool(const tort_call *call) {
    return pool(call, ((const tort_qlinear_pool *)call->params)->channels_last);
}

static tort_status run_pool_nhwc(const tort_call *call) {
    return pool(call, true);
}

static tort_status prepare_softmax(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_linear_softmax(loads_signed(p)));
}

static tort_status run_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    gpu_linear_softmax s = {.from = linear_of(call, 1),
                            .to = linear_of(call, 3),
                            .length = p->length,
                            .lanes = (size_t)(p->outer * p->inner)};
    s.inner = gpu_divisor_of(p->inner, s.lanes);
    return cuda_launched(call, gpu_run_linear_softmax(cuda_stream_of(call), is_signed(call), &s, call->inputs[0].data,
                                                      call->outputs[0].data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, name_, claim_, prepare_, run_)                                                                        \
    .domain = "com.microsoft", .op = op_, .name = name_, .claim = claim_, .prepare = CUDA_ONLY(prepare_),              \
    .run = CUDA_ONLY(run_)
#define NHWC(outputs_) .layout.id = GPU_NHWC, .layout.inputs = 1, .layout.outputs = outputs_, .layout.follows = true

/* The output of a global pool is in the plain layout: a single pixel is the same in both. */
const tort_kernel tort_cuda_qlinear_mean_kernels[] = {
    {ROW("QLinearGlobalAveragePool", "qlinear_global_nhwc", claim_nhwc, prepare_global_nhwc, run_global_nhwc), NHWC(0)},
    {ROW("QLinearGlobalAveragePool", "qlinear_global", claim, prepare_mean, run_global)},
    {ROW("QLinearAveragePool", "qlinear_pool_nhwc", claim_pool_nhwc, prepare_pool_nhwc, run_pool_nhwc), NHWC(1)},
    {ROW("QLinearAveragePool", "qlinear_pool", claim_pool, prepare_pool, run_pool)},
    {ROW("QLinearReduceMean", "qlinear_mean", claim, prepare_mean, run_mean)},
    {ROW("QLinearSoftmax", "qlinear_softmax", claim, prepare_softmax, run_softmax)},
    {.op = NULL},
};
