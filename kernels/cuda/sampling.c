/* sampling.c - kernel table and claims of GridSample, AffineGrid, RoiAlign, CropAndResize and MaxRoiPool. A region's
 * batch index out of range is detected on the device and reported at the end of the run (status.h). Kernels:
 * sampling.cu. */
#include "kernels/cuda/sampling.h"

#include "ops/affine_grid.h"
#include "ops/extent.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_grid(const tort_target *target, const tort_node_view *node) {
    const tort_grid_params *params = node->params;
    return params->mode == TORT_GRID_NEAREST ? tort_cuda_claim_movable(target, node)
                                             : tort_cuda_claim_real(target, node);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_grid(tort_prepare *p) {
    const tort_grid_params *params = p->node->params;
    const tort_type type = p->node->inputs[0].type;
    return cuda_loaded(p, params->mode == TORT_GRID_NEAREST ? gpu_load_grid_nearest(cuda_element_bytes(type))
                                                            : gpu_load_grid(gpu_type_of(type)));
}

static tort_status run_grid(const tort_call *call) {
    const tort_grid_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    for (int32_t d = 0; d < params->spatial; d++)
        if (params->sizes[d] == 0)
            return tort_fail(call->error, TORT_E_RUN, "axis %d of X is empty: there is nothing to sample", d + 2);
    const gpu_grid grid = {.params = *params,
                           .grid_type = gpu_type_of(call->inputs[1].type),
                           .elements = (size_t)tort_extent(params->sizes, 0, params->spatial),
                           .x = x->data,
                           .grid = call->inputs[1].data,
                           .y = call->outputs[0].data};
    const gpu_stream stream = cuda_stream_of(call);
    return cuda_launched(call, params->mode == TORT_GRID_NEAREST
                                   ? gpu_run_grid_nearest(stream, cuda_element_bytes(x->type), &grid)
                                   : gpu_run_grid(stream, gpu_type_of(x->type), &grid));
}

static tort_status prepare_affine(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_affine(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_affine(const tort_call *call) {
    const tort_affine_grid_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    gpu_affine affine = {.count = (size_t)tort_count(y),
                         .spatial = y->rank - 2,
                         .align_corners = params->align_corners,
                         .theta = call->inputs[0].data,
                         .grid = y->data};
    for (int32_t d = 0; d < affine.spatial; d++) affine.sizes[d] = y->dims[y->rank - 2 - d];
    return cuda_launched(call, gpu_run_affine(cuda_stream_of(call), gpu_type_of(y->type), &affine));
}

/* The variant of a table row is a gpu_roi_kind. */
static tort_status prepare_roi(tort_prepare *p) {
    const gpu_roi_kind kind = (gpu_roi_kind)p->node->kernel->variant;
    return cuda_loaded(p, gpu_load_roi(kind, gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_roi(const tort_call *call) {
    const gpu_roi_kind kind = (gpu_roi_kind)call->kernel->variant;
    const tort_roi_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *batches = tort_call_input(call, 2);
    const gpu_roi roi = {.params = *params,
                         .count = (size_t)tort_count(&call->outputs[0]),
                         .node = call->node,
                         .narrow_batches = batches && batches->type == TORT_INT32,
                         .x = x->data,
                         .rois = call->inputs[1].data,
                         .batches = batches ? batches->data : NULL,
                         .y = call->outputs[0].data,
                         .status = cuda_status_word(call)};
    if (kind == GPU_ROI_ALIGN && roi.count && (params->height == 0 || params->width == 0))
        return tort_fail(call->error, TORT_E_RUN, "X is an empty image: there is nothing to sample");
    return cuda_launched(call, gpu_run_roi(cuda_stream_of(call), kind, gpu_type_of(x->type), &roi));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_domain, op_name, row_name, function, variant_, claims, host)                                            \
    {                                                                                                                  \
        .domain = op_domain, .op = op_name, .name = row_name, .host_inputs = host, .claim = claims,                    \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function), .variant = variant_                \
    }

const tort_kernel tort_cuda_sampling_kernels[] = {
    ROW("", "GridSample", "grid_sample", grid, 0, claim_grid, 0),
    ROW("com.microsoft", "GridSample", "grid_sample", grid, 0, claim_grid, 0),
    ROW("", "AffineGrid", "affine_grid", affine, 0, tort_cuda_claim_real, 1u << 1),
    ROW("", "RoiAlign", "roi_align", roi, GPU_ROI_ALIGN, tort_cuda_claim_real, 0),
    ROW("com.microsoft", "CropAndResize", "crop_and_resize", roi, GPU_ROI_CROP, tort_cuda_claim_real, 1u << 3),
    ROW("", "MaxRoiPool", "roi_pool", roi, GPU_ROI_POOL, tort_cuda_claim_real, 0),
    {.op = NULL},
};
