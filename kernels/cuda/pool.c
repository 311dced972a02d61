/* pool.c - kernel table and claims of MaxPool, AveragePool and the global pools, over one or two spatial axes. */
#include <limits.h>

#include "ops/extent.h"
#include "ops/pool.h"
#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/pool.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, 2);
    if (verdict.code != TORT_YES) return verdict;
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "the output Indices is wanted, the kernel has none");
    const tort_type type = node->inputs[0].type;
    return type == TORT_INT8 || type == TORT_UINT8 ? tort_yes() : tort_cuda_claim_real(target, node);
}

static tort_verdict claim_global(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cuda_claim_rank(node);
    return verdict.code == TORT_YES ? tort_cuda_claim_real(target, node) : verdict;
}

/* The claim of the channels-last kernel. */
static tort_verdict claim_pool_nhwc(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_pool(target, node);
    return verdict.code == TORT_YES
               ? tort_cuda_claim_nhwc(target, node, ((const tort_pool_params *)node->params)->channels)
               : verdict;
}

static tort_verdict claim_global_nhwc(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_global(target, node);
    return verdict.code == TORT_YES
               ? tort_cuda_claim_nhwc(target, node, ((const tort_pool_params *)node->params)->channels)
               : verdict;
}

#ifdef CUDA_DEVICE
static tort_status prepare_pool(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_pool(gpu_number_of(p->node->inputs[0].type)));
}

static gpu_pool pool_of(const tort_pool_params *params) {
    return (gpu_pool){.window = tort_cuda_window(&params->window),
                      .planes = params->batch * params->channels,
                      .maximum = params->kind == TORT_POOL_MAX,
                      .count_include_pad = params->count_include_pad};
}

/* True if every coordinate of the padded image fits an int, and those of windows. */
static bool counts_in_ints(const gpu_window *g) {
    enum { LARGEST = INT_MAX / 8 };
    const int64_t sizes[] = {g->in_h,     g->in_w,     g->kernel_h, g->kernel_w, g->dilation_h, g->dilation_w,
                             g->stride_h, g->stride_w, g->pad_h,    g->pad_w,    g->pad_h_end,  g->pad_w_end};
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) all = all && sizes[i] <= LARGEST;
    return all && g->kernel_h * g->dilation_h <= LARGEST && g->kernel_w * g->dilation_w <= LARGEST;
}

/* Chooses tiles, unless planes are too small for blocks: those of a few outputs from large windows. */
static void choose_tiles(gpu_pool *p, int element_bytes) {
    enum { MIN_OUTPUTS = 32 };
    const gpu_window *g = &p->window;
    const gpu_tiled_axis h = {g->in_h, g->out_h, (double)g->stride_h, (double)((g->kernel_h - 1) * g->dilation_h + 1)};
    const gpu_tiled_axis w = {g->in_w, g->out_w, (double)g->stride_w, (double)((g->kernel_w - 1) * g->dilation_w + 1)};
    p->tiled = p->planes * g->out_h * g->out_w > 0 && counts_in_ints(g) &&
               tort_cuda_plane_tiles(&h, &w, element_bytes, &p->tiles) &&
               p->tiles.rows * p->tiles.columns >= MIN_OUTPUTS;
}

static tort_status run_pool(const tort_call *call) {
    gpu_pool p = pool_of(call->params);
    choose_tiles(&p, cuda_element_bytes(call->inputs[0].type));
    return cuda_launched(call, gpu_run_pool(cuda_stream_of(call), gpu_number_of(call->inputs[0].type), &p,
                                            call->inputs[0].data, call->outputs[0].data));
}

static tort_status prepare_global(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_global_pool(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_global(const tort_call *call) {
    const tort_pool_params *params = call->params;
    int64_t planes = params->batch * params->channels;
    int64_t pixels = planes ? tort_count(&call->inputs[0]) / planes : 0;
    return cuda_launched(call, gpu_run_global_pool(cuda_stream_of(call), gpu_type_of(call->inputs[0].type),
                                                   params->kind == TORT_POOL_MAX, (size_t)planes, (size_t)pixels,
                                                   call->inputs[0].data, call->outputs[0].data));
}

static tort_status prepare_pool_nhwc(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_nhwc_pool(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_pool_nhwc(const tort_call *call) {
    const tort_pool_params *params = call->params;
    const gpu_pool p = pool_of(params);
    return cuda_launched(call, gpu_run_nhwc_pool(cuda_stream_of(call), gpu_number_of(call->inputs[0].type), &p,
                                                 params->channels, call->inputs[0].data, call->outputs[0].data));
}

static tort_status prepare_global_nhwc(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_nhwc_global_pool(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_global_nhwc(const tort_call *call) {
    const tort_pool_params *params = call->params;
    const int64_t pixels = tort_extent(call->inputs[0].dims, 2, call->inputs[0].rank);
    return cuda_launched(call, gpu_run_nhwc_global_pool(cuda_stream_of(call), gpu_type_of(call->inputs[0].type),
                                                        params->kind == TORT_POOL_MAX, params->batch, params->channels,
                                                        pixels, call->inputs[0].data, call->outputs[0].data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_name, row_name, claims, function)                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = row_name, .claim = claims, .prepare = CUDA_ONLY(prepare_##function),      \
        .run = CUDA_ONLY(run_##function)                                                                               \
    }

/* Outputs of a global pool are in the plain layout: a single pixel is the same in both. */
#define NHWC(op_name, row_name, function, outputs_)                                                                    \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = row_name, .claim = claim_##function##_nhwc,                               \
        .prepare = CUDA_ONLY(prepare_##function##_nhwc), .run = CUDA_ONLY(run_##function##_nhwc),                      \
        .layout.id = GPU_NHWC, .layout.inputs = 1, .layout.outputs = outputs_, .layout.follows = true                  \
    }

const tort_kernel tort_cuda_pool_kernels[] = {
    NHWC("MaxPool", "pool_window_nhwc", pool, 1),
    NHWC("AveragePool", "pool_window_nhwc", pool, 1),
    NHWC("GlobalAveragePool", "pool_global_nhwc", global, 0),
    NHWC("GlobalMaxPool", "pool_global_nhwc", global, 0),
    ROW("MaxPool", "pool_window", claim_pool, pool),
    ROW("AveragePool", "pool_window", claim_pool, pool),
    ROW("GlobalAveragePool", "pool_global", claim_global, global),
    ROW("GlobalMaxPool", "pool_global", claim_global, global),
    {.op = NULL},
};
