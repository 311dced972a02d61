/* matrices.c - rows of Det, com.microsoft's Inverse and CDist. Kernels: matrices.cu. */
#include "kernels/cuda/matrices.h"

#include "ops/extent.h"
#include "ops/microsoft/distance.h"

enum { DETERMINANT, INVERSE };

/* Scratch memory: for each block a matrix, for inverses two, and a column. */
static tort_status size_matrices(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    const tort_info *x = &node->inputs[0];
    const uint64_t n = (uint64_t)x->dims[x->rank - 1], count = (uint64_t)tort_extent(x->dims, 0, x->rank - 2);
    size_t room;
    (void)target;
    if (tort_mul_size(n, n * (node->kernel->variant == INVERSE ? 2 : 1) + 1, &room) &&
        tort_mul_size(room, count < GPU_MATRICES_BLOCKS ? count : GPU_MATRICES_BLOCKS, &room) &&
        tort_mul_size(room, sizeof(double), scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare_matrices(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_matrices(gpu_type_of(p->node->inputs[0].type), p->node->kernel->variant == INVERSE));
}

static tort_status run_matrices(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    const gpu_matrices p = {.count = (size_t)tort_extent(x->dims, 0, x->rank - 2),
                            .n = (size_t)x->dims[x->rank - 1],
                            .x = x->data,
                            .work = call->scratch,
                            .y = call->outputs[0].data};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    return cuda_launched(
        call, gpu_run_matrices(cuda_stream_of(call), gpu_type_of(x->type), call->kernel->variant == INVERSE, &p));
}

static tort_status prepare_distances(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_distances(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_distances(const tort_call *call) {
    const tort_distance_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    const gpu_distances p = {.count = (size_t)tort_count(y),
                             .columns = (size_t)params->columns,
                             .b_rows = gpu_divisor_of(params->b_rows, (uint64_t)tort_count(y)),
                             .root = params->root,
                             .a = call->inputs[0].data,
                             .b = call->inputs[1].data,
                             .y = y->data};
    if (!p.count) return TORT_OK;
    return cuda_launched(call, gpu_run_distances(cuda_stream_of(call), gpu_type_of(y->type), &p));
}
#endif

#define MATRICES(domain_, op_, variant_)                                                                               \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "matrices", .claim = tort_cuda_claim_real, .size = size_matrices,        \
        .prepare = CUDA_ONLY(prepare_matrices), .run = CUDA_ONLY(run_matrices), .variant = variant_                    \
    }

const tort_kernel tort_cuda_matrices_kernels[] = {
    MATRICES("", "Det", DETERMINANT),
    MATRICES("com.microsoft", "Inverse", INVERSE),
    {"com.microsoft", "CDist", "distances", .claim = tort_cuda_claim_real, .prepare = CUDA_ONLY(prepare_distances),
     .run = CUDA_ONLY(run_distances)},
    {.op = NULL},
};
