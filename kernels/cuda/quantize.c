/* quantize.c - rows and claims of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Kernels: quantize.cu;
 * ops/quantize.h tells how an axis divides a tensor. */
#include "kernels/cuda/quantize.h"

#include "kernels/cuda/move.h"
#include "ops/quantize.h"

/* Variants: which way, and that only one scale is served, which takes any layout. */
enum { DEQUANTIZE = 1, ONE_SCALE = 2 };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

static bool is_real(tort_type type) {
    return type == TORT_FLOAT || type == TORT_FLOAT16 || type == TORT_BFLOAT16;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_quantize *p = node->params;
    const bool back = (node->kernel->variant & DEQUANTIZE) != 0;
    const tort_type x = node->inputs[0].type, y = node->outputs[0].type, scale = node->inputs[1].type;
    (void)target;
    if (!is_byte(back ? x : y) || !is_real(scale) || scale != (back ? y : x))
        return tort_no(TORT_NO_TYPE, "pin the node to cpu",
                       "makes %s of %s and %s, the kernel is for int8, uint8 and one float", tort_type_name(y),
                       tort_type_name(x), tort_type_name(scale));
    if (p->precision != TORT_FLOAT && p->precision != scale)
        return tort_no(TORT_NO_ATTR, "pin the node to cpu", "precision is %s", tort_type_name(p->precision));
    if (p->block > 0) return tort_no(TORT_NO_ATTR, "pin the node to cpu", "block_size is for a scale a tensor or axis");
    if (!(node->kernel->variant & ONE_SCALE)) return tort_yes();
    if (node->inputs[0].rank < 0 || node->inputs[1].rank < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "the rank of x or of its scale is not known");
    return p->granularity == TORT_PER_TENSOR ? tort_yes() : tort_no(TORT_NO_SHAPE, "", "is for one scale");
}

static tort_status size_dynamic(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = sizeof(gpu_byte_scale);
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
/* With channels last, x or y may have to be converted: by copying boxes. */
static tort_status prepare(tort_prepare *p) {
    const tort_type x = p->node->inputs[0].type, y = p->node->outputs[0].type;
    const int32_t variant = p->node->kernel->variant;
    cudaError_t code = variant & DEQUANTIZE ? gpu_load_dequantize(x == TORT_INT8, gpu_type_of(y))
                                            : gpu_load_quantize(gpu_type_of(x), y == TORT_INT8);
    if (code == cudaSuccess && variant & ONE_SCALE) code = gpu_load_copy_box(cuda_element_bytes(x));
    if (code == cudaSuccess && variant & ONE_SCALE) code = gpu_load_copy_box(cuda_element_bytes(y));
    return cuda_loaded(p, code);
}

static tort_status run(const tort_call *call) {
    const tort_quantize *q = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t count = tort_count(x);
    const bool one = q->granularity == TORT_PER_TENSOR;
    const gpu_linear p = {.count = (size_t)count,
                          .inner = gpu_divisor_of(one ? count : q->inner, (uint64_t)count),
                          .length = gpu_divisor_of(one ? 1 : q->length, (uint64_t)count),
                          .rounds = q->precision == x->type,
                          .scale = call->inputs[1].data,
                          .zero = cuda_input(call, 2),
                          .x = x->data,
                          .y = y->data};
    return cuda_launched(call,
                         call->kernel->variant & DEQUANTIZE
                             ? gpu_run_dequantize(cuda_stream_of(call), x->type == TORT_INT8, gpu_type_of(y->type), &p)
                             : gpu_run_quantize(cuda_stream_of(call), gpu_type_of(x->type), y->type == TORT_INT8, &p));
}

static tort_status prepare_dynamic(tort_prepare *p) {
    const cudaError_t code = gpu_load_byte_scale(GPU_FLOAT);
    return cuda_loaded(p, code ? code : gpu_load_quantize(GPU_FLOAT, false));
}

static tort_status run_dynamic(const tort_call *call) {
    const int64_t count = tort_count(&call->inputs[0]);
    const cuda_stream *stream = call->stream;
    gpu_byte_scale *scratch = call->scratch;
    float *scale = cuda_output(call, 1);
    uint8_t *zero = cuda_output(call, 2);
    if (!scale) scale = &scratch->scale;
    if (!zero) zero = &scratch->zero;
    const gpu_linear p = {.count = (size_t)count,
                          .inner = gpu_divisor_of(count, (uint64_t)count),
                          .length = gpu_divisor_of(1, (uint64_t)count),
                          .scale = &scratch->divisor,
                          .zero = zero,
                          .x = call->inputs[0].data,
                          .y = cuda_output(call, 0)};
    const cudaError_t code =
        gpu_run_byte_scale(cuda_stream_of(call), GPU_FLOAT, p.x, p.count, scratch, stream->arrivals, scale, zero);
    if (code || !p.y) return cuda_launched(call, code);
    return cuda_launched(call, gpu_run_quantize(cuda_stream_of(call), GPU_FLOAT, false, &p));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define LINEAR .claim = claim, .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run)
#define ONE_IN_ANY_ORDER(variant_)                                                                                     \
    .variant = ONE_SCALE | (variant_), .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1, .layout.outputs = 1

const tort_kernel tort_cuda_quantize_kernels[] = {
    {"", "QuantizeLinear", "quantize", LINEAR, ONE_IN_ANY_ORDER(0)},
    {"", "DequantizeLinear", "dequantize", LINEAR, ONE_IN_ANY_ORDER(DEQUANTIZE)},
    {"", "QuantizeLinear", "quantize_axis", LINEAR},
    {"", "DequantizeLinear", "dequantize_axis", LINEAR, .variant = DEQUANTIZE},
    {"com.microsoft", "QuantizeLinear", "quantize", LINEAR, ONE_IN_ANY_ORDER(0)},
    {"com.microsoft", "DequantizeLinear", "dequantize", LINEAR, ONE_IN_ANY_ORDER(DEQUANTIZE)},
    {"com.microsoft", "QuantizeLinear", "quantize_axis", LINEAR},
    {"com.microsoft", "DequantizeLinear", "dequantize_axis", LINEAR, .variant = DEQUANTIZE},
    {"", "DynamicQuantizeLinear", "quantize_dynamically", .size = size_dynamic, .prepare = CUDA_ONLY(prepare_dynamic),
     .run = CUDA_ONLY(run_dynamic)},
    {.op = NULL},
};
