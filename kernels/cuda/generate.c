/* generate.c - rows and claims of Range, ConstantOfShape, OneHot and Trilu. Inputs that determine shapes, and the
 * diagonal of Trilu, are read on the host. Kernels: generate.cu, and the fill kernel of move.cu. */
#include "kernels/cuda/generate.h"

#include "kernels/cuda/move.h"
#include "ops/constant.h"
#include "ops/extent.h"
#include "ops/generate.h"
#include "ops/select.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_fill(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (tort_cuda_is_movable(node->outputs[0].type)) return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "value is %s, the kernel takes elements of 1, 2, 4 or 8 bytes",
                   tort_type_name(node->outputs[0].type));
}

static tort_verdict claim_one_hot(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cuda_claim_number(target, node);
    return verdict.code == TORT_YES ? tort_cuda_claim_moved(node, 2) : verdict;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare_range(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_range(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_range(const tort_call *call) {
    const tort_tensor *start = &call->inputs[0], *step = tort_call_input(call, 2), *output = &call->outputs[0];
    gpu_range range = {.step = 1, .real_step = 1};
    if (tort_type_is_float(output->type)) {
        tort_load_doubles(start->type, start->data, 0, 1, &range.real_start);
        if (step) tort_load_doubles(step->type, step->data, 0, 1, &range.real_step);
    } else {
        tort_load_integers(start->type, start->data, 0, 1, &range.start);
        if (step) tort_load_integers(step->type, step->data, 0, 1, &range.step);
    }
    return cuda_launched(call, gpu_run_range(cuda_stream_of(call), gpu_number_of(output->type), &range, output->data,
                                             (size_t)tort_count(output)));
}

static tort_status prepare_fill(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_fill(cuda_element_bytes(p->node->outputs[0].type)));
}

static tort_status run_fill(const tort_call *call) {
    const tort_fill_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    return cuda_launched(call, gpu_fill(cuda_stream_of(call), cuda_element_bytes(output->type), output->data,
                                        (size_t)tort_count(output), params->value));
}

static tort_status prepare_one_hot(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_one_hot(cuda_element_bytes(p->node->inputs[2].type)));
}

static tort_status run_one_hot(const tort_call *call) {
    const tort_one_hot_params *params = call->params;
    const tort_tensor *indices = &call->inputs[0], *output = &call->outputs[0];
    const gpu_one_hot one_hot = {.count = (size_t)tort_count(output),
                                 .inner = (size_t)tort_extent(output->dims, params->axis + 1, output->rank),
                                 .depth = output->dims[params->axis]};
    return cuda_launched(call, gpu_run_one_hot(cuda_stream_of(call), gpu_number_of(indices->type),
                                               cuda_element_bytes(output->type), &one_hot, indices->data,
                                               call->inputs[2].data, output->data));
}

static tort_status prepare_triangle(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_triangle(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_triangle(const tort_call *call) {
    const tort_trilu_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *k = tort_call_input(call, 1);
    gpu_triangle triangle = {.count = (size_t)tort_count(x),
                             .rows = x->dims[x->rank - 2],
                             .columns = x->dims[x->rank - 1],
                             .diagonal = k ? *(const int64_t *)k->data : 0,
                             .upper = params->upper};
    /* Clamped, as sums with larger values could overflow; the result is the same. */
    if (triangle.diagonal > triangle.columns) triangle.diagonal = triangle.columns;
    if (triangle.diagonal < -triangle.rows) triangle.diagonal = -triangle.rows;
    return cuda_launched(call, gpu_run_triangle(cuda_stream_of(call), cuda_element_bytes(x->type), &triangle, x->data,
                                                call->outputs[0].data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define RANGE                                                                                                          \
    "Range", "range", .host_inputs = 7, .claim = tort_cuda_claim_number, .prepare = CUDA_ONLY(prepare_range),          \
                      .run = CUDA_ONLY(run_range)
#define TRILU                                                                                                          \
    "Trilu", "triangle", .host_inputs = 1u << 1, .claim = tort_cuda_claim_movable,                                     \
                         .prepare = CUDA_ONLY(prepare_triangle), .run = CUDA_ONLY(run_triangle)

const tort_kernel tort_cuda_generate_kernels[] = {
    {"", RANGE},
    {"com.microsoft", RANGE},
    {"", "ConstantOfShape", "fill", .host_inputs = 1u << 0, .claim = claim_fill, .prepare = CUDA_ONLY(prepare_fill),
     .run = CUDA_ONLY(run_fill)},
    {"", "OneHot", "one_hot", .host_inputs = 1u << 1, .claim = claim_one_hot, .prepare = CUDA_ONLY(prepare_one_hot),
     .run = CUDA_ONLY(run_one_hot)},
    {"", TRILU},
    {"com.microsoft", TRILU},
    {.op = NULL},
};
