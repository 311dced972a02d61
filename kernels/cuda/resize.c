/* resize.c - kernel table and claims of Resize and Upsample: all modes, transforms and axes. ops/resize.h decodes
 * all operator versions; scales, sizes and regions that are inputs are read on the host. Kernels: resize.cu. */
#include "kernels/cuda/resize.h"

#include "runtime/base/memory.h"

/* Number of entries in the tables of all axes before `axis`. */
static int64_t table_entries(const tort_resize_params *params, int32_t axis) {
    int64_t total = 0;
    for (int32_t d = 0; d < axis; d++)
        if (!params->axes[d].identity) total += params->axes[d].out * params->axes[d].taps;
    return total;
}

static tort_status size_resize(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_resize_params *params = node->params;
    (void)target;
    if (tort_mul_size((size_t)table_entries(params, params->rank), sizeof(gpu_tap), scratch)) return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "the tables of weights do not fit in memory");
}

#ifdef CUDA_DEVICE
static tort_status prepare_resize(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_resize(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_resize(const tort_call *call) {
    const tort_resize_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_resize resize = {.params = *params, .count = (size_t)tort_count(y), .combinations = 1, .taps = call->scratch};
    for (int32_t d = 0; d < params->rank; d++) {
        resize.tables[d] = params->axes[d].identity ? -1 : table_entries(params, d);
        if (!params->axes[d].identity) resize.combinations *= params->axes[d].taps;
    }
    return cuda_launched(call, gpu_run_resize(cuda_stream_of(call), gpu_number_of(x->type), &resize, x->data, y->data));
}
#endif

const tort_kernel tort_cuda_resize_kernels[] = {
    {"", "Resize", "resize", .host_inputs = 1u << 1 | 1u << 2 | 1u << 3, .claim = tort_cuda_claim_number,
     .size = size_resize, .prepare = CUDA_ONLY(prepare_resize), .run = CUDA_ONLY(run_resize)},
    {"", "Upsample", "resize", .host_inputs = 1u << 1, .claim = tort_cuda_claim_number, .size = size_resize,
     .prepare = CUDA_ONLY(prepare_resize), .run = CUDA_ONLY(run_resize)},
    {.op = NULL},
};
