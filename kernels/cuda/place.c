/* place.c - kernel table and claims of ReverseSequence, TensorScatter, EyeLike, BitwiseNot and BitCast. Elements are
 * moved by size, whatever their type. Lengths and indices stay on the device; a wrong one is reported at the end of
 * the run (status.h). Kernels: place.cu. */
#include "kernels/cuda/place.h"

#include "ops/extent.h"
#include "ops/generate.h"
#include "ops/numeric.h"
#include "ops/reverse_sequence.h"
#include "ops/tensor_scatter.h"

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    if (!tort_cuda_is_movable(node->outputs[0].type))
        return tort_no(TORT_NO_TYPE, "", "the output is %s, the kernel makes elements of 1, 2, 4 or 8 bytes",
                       tort_type_name(node->outputs[0].type));
    return tort_cuda_claim_movable(target, node);
}

#ifdef CUDA_DEVICE
static tort_status prepare_reversal(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_reversal(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_reversal(const tort_call *call) {
    const tort_reverse_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const gpu_reversal reversal = {.count = (size_t)tort_count(x),
                                   .inner = (size_t)tort_extent(x->dims, 2, x->rank),
                                   .batches = x->dims[params->batch_first ? 0 : 1],
                                   .times = x->dims[params->batch_first ? 1 : 0],
                                   .batch_first = params->batch_first,
                                   .node = call->node,
                                   .lengths = call->inputs[1].data,
                                   .status = cuda_status_word(call)};
    return cuda_launched(call, gpu_run_reversal(cuda_stream_of(call), cuda_element_bytes(x->type), &reversal, x->data,
                                                call->outputs[0].data));
}

static tort_status prepare_cache(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_cache(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_cache(const tort_call *call) {
    const tort_tensor_scatter_params *params = call->params;
    const tort_tensor *past = &call->inputs[0], *update = &call->inputs[1];
    const void *first = cuda_input(call, 2);
    const size_t count = (size_t)tort_count(past);
    const gpu_cache cache = {.count = count,
                             .inner = gpu_divisor_of(tort_extent(past->dims, params->axis + 1, past->rank), count),
                             .length = gpu_divisor_of(past->dims[params->axis], count),
                             .fresh = gpu_divisor_of(update->dims[params->axis], count),
                             .lines = gpu_divisor_of(tort_extent(past->dims, 1, params->axis), count),
                             .circular = params->circular,
                             .node = call->node,
                             .first = first,
                             .status = first ? cuda_status_word(call) : NULL};
    return cuda_launched(call, gpu_run_cache(cuda_stream_of(call), cuda_element_bytes(past->type), &cache, past->data,
                                             update->data, call->outputs[0].data));
}

static tort_status prepare_eye(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_eye(cuda_element_bytes(p->node->outputs[0].type)));
}

static tort_status run_eye(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    const int64_t zero = 0, one = 1;
    gpu_eye eye = {.count = (size_t)tort_count(y),
                   .columns = y->dims[1],
                   .diagonal = ((const tort_eye_params *)call->params)->diagonal};
    tort_store_integers(y->type, &eye.zero, 0, 1, &zero);
    tort_store_integers(y->type, &eye.one, 0, 1, &one);
    return cuda_launched(call, gpu_run_eye(cuda_stream_of(call), cuda_element_bytes(y->type), &eye, y->data));
}

static tort_status prepare_complement(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_complement(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_complement(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    return cuda_launched(call, gpu_run_complement(cuda_stream_of(call), cuda_element_bytes(x->type),
                                                  (size_t)tort_count(x), x->data, call->outputs[0].data));
}

/* Copies the bits, which the output's type reinterprets. */
static tort_status run_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    const size_t bytes = (size_t)tort_count(x) * (size_t)cuda_element_bytes(x->type);
    return bytes ? cuda_copied(call, call->outputs[0].data, x->data, bytes) : TORT_OK;
}
#endif

const tort_kernel tort_cuda_place_kernels[] = {
    {"", "ReverseSequence", "reversal", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare_reversal),
     .run = CUDA_ONLY(run_reversal)},
    {"", "TensorScatter", "cache", .claim = tort_cuda_claim_movable, .prepare = CUDA_ONLY(prepare_cache),
     .run = CUDA_ONLY(run_cache), .in_place = 1},
    /* EyeLike and BitwiseNot refuse no type: all of theirs have whole bytes. */
    {"", "EyeLike", "eye", .prepare = CUDA_ONLY(prepare_eye), .run = CUDA_ONLY(run_eye)},
    {"", "BitwiseNot", "complement", .prepare = CUDA_ONLY(prepare_complement), .run = CUDA_ONLY(run_complement),
     .in_place = 1},
    {"", "BitCast", "copy", .claim = claim_cast, .run = CUDA_ONLY(run_cast)},
    {.op = NULL},
};
