/* quantize.c - rows and claims of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Kernels: quantize.cu,
 * quantize_any.cu; ops/quantize.h tells how an axis divides a tensor. */
#include "kernels/cuda/quantize.h"

#include "kernels/cuda/move.h"
#include "ops/quantize.h"

/* Variant of the rows that dequantize. */
enum { DEQUANTIZE = 1 };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_one(const tort_target *target, const tort_node_view *node) {
    const tort_quantize *p = node->params;
    (void)target;
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

gpu_code tort_cuda_code_of(tort_type type) {
    const tort_float_format *format = tort_float_format_of(type);
    gpu_code code = {.kind = type == TORT_FLOAT        ? GPU_CODE_FLOAT
                             : type == TORT_FLOAT8E8M0 ? GPU_CODE_E8M0
                             : format                  ? GPU_CODE_SMALL_FLOAT
                                                       : GPU_CODE_INTEGER,
                     .bits = tort_type_bits(type),
                     .is_signed = tort_type_is_signed(type)};
    if (format) code.format = *format;
    return code;
}

#ifdef CUDA_DEVICE
/* Types of the floats and of what stands for them. */
typedef struct operands {
    bool back;
    tort_type real, scale, quantized;
} operands;

static operands operands_of(const tort_kernel *row, tort_type x, tort_type scale, tort_type y) {
    const bool back = (row->variant & DEQUANTIZE) != 0;
    return (operands){.back = back, .real = back ? y : x, .scale = scale, .quantized = back ? x : y};
}

/* True if quantize.cu serves them: bytes, with a scale in the type of the floats for all or each index of an axis. */
static bool is_common(const tort_quantize *q, const operands *o) {
    const bool real = o->real == TORT_FLOAT || o->real == TORT_FLOAT16 || o->real == TORT_BFLOAT16;
    const bool bytes = o->quantized == TORT_INT8 || o->quantized == TORT_UINT8;
    const bool precise = o->back || q->precision == o->real || q->precision == TORT_FLOAT;
    return real && bytes && precise && o->scale == o->real && q->block == 0;
}

/* With channels last, x or y may have to be converted: by copying boxes. */
static cudaError_t load_common(const operands *o) {
    const gpu_type real = gpu_type_of(o->real);
    const bool is_signed = o->quantized == TORT_INT8;
    cudaError_t code = gpu_load_copy_box(cuda_element_bytes(o->real));
    if (code == cudaSuccess) code = gpu_load_copy_box(cuda_element_bytes(o->quantized));
    if (code != cudaSuccess) return code;
    return o->back ? gpu_load_dequantize(is_signed, real) : gpu_load_quantize(real, is_signed);
}

static tort_status prepare(tort_prepare *p) {
    const tort_node_view *node = p->node;
    const operands o = operands_of(node->kernel, node->inputs[0].type, node->inputs[1].type, node->outputs[0].type);
    if (is_common(node->params, &o)) return cuda_loaded(p, load_common(&o));
    return cuda_loaded(p, o.back ? gpu_load_dequantize_any(gpu_type_of(o.real)) : gpu_load_quantize_any());
}

static gpu_quantize linear_of(const tort_call *call) {
    const tort_quantize *q = call->params;
    const tort_tensor *x = &call->inputs[0];
    const int64_t count = tort_count(x);
    const bool one = q->granularity == TORT_PER_TENSOR;
    return (gpu_quantize){.count = (size_t)count,
                          .inner = gpu_divisor_of(one ? count : q->inner, (uint64_t)count),
                          .length = gpu_divisor_of(one ? 1 : q->length, (uint64_t)count),
                          .rounds = q->precision == x->type,
                          .scale = call->inputs[1].data,
                          .zero = cuda_input(call, 2),
                          .x = x->data,
                          .y = call->outputs[0].data};
}

static tort_status run_any(const tort_call *call, const operands *o) {
    const tort_quantize *q = call->params;
    const gpu_linear_any p = {.linear = linear_of(call),
                              .real = tort_cuda_code_of(o->real),
                              .scale = tort_cuda_code_of(o->scale),
                              .quantized = tort_cuda_code_of(o->quantized),
                              .precision = gpu_type_of(q->precision),
                              .saturate = q->saturate,
                              .block = gpu_divisor_of(q->block < q->length ? q->block : q->length, (uint64_t)q->length),
                              .blocks = q->granularity == TORT_PER_BLOCK ? (uint64_t)q->blocks : 0};
    return cuda_launched(call, o->back ? gpu_run_dequantize_any(cuda_stream_of(call), gpu_type_of(o->real), &p)
                                       : gpu_run_quantize_any(cuda_stream_of(call), &p));
}

static tort_status run(const tort_call *call) {
    const operands o = operands_of(call->kernel, call->inputs[0].type, call->inputs[1].type, call->outputs[0].type);
    const gpu_type real = gpu_type_of(o.real);
    const bool is_signed = o.quantized == TORT_INT8;
    if (!is_common(call->params, &o)) return run_any(call, &o);
    const gpu_quantize p = linear_of(call);
    return cuda_launched(call, o.back ? gpu_run_dequantize(cuda_stream_of(call), is_signed, real, &p)
                                      : gpu_run_quantize(cuda_stream_of(call), real, is_signed, &p));
}

tort_status tort_cuda_prepare_dynamic(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_quantize_dynamically());
}

tort_status tort_cuda_quantize_dynamically(const tort_call *call, const tort_tensor *x, gpu_byte_scale *scratch,
                                           float *scale, uint8_t *zero, void *y) {
    const int64_t count = tort_count(x);
    const cuda_stream *stream = call->stream;
    const gpu_quantize p = {.count = (size_t)count,
                            .inner = gpu_divisor_of(count, (uint64_t)count),
                            .length = gpu_divisor_of(1, (uint64_t)count),
                            .scale = &scratch->divisor,
                            .zero = zero,
                            .x = x->data,
                            .y = y};
    return cuda_launched(
        call, gpu_run_quantize_dynamically(cuda_stream_of(call), &p, scratch, stream->arrivals, scale, zero));
}

static tort_status run_dynamic(const tort_call *call) {
    gpu_byte_scale *scratch = call->scratch;
    float *scale = cuda_output(call, 1);
    uint8_t *zero = cuda_output(call, 2);
    return tort_cuda_quantize_dynamically(call, &call->inputs[0], scratch, scale ? scale : &scratch->scale,
                                          zero ? zero : &scratch->zero, cuda_output(call, 0));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define LINEAR .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run)
#define ONE_IN_ANY_ORDER(variant_)                                                                                     \
    .claim = claim_one, .variant = (variant_), .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1, .layout.outputs = 1

const tort_kernel tort_cuda_quantize_kernels[] = {
    {"", "QuantizeLinear", "quantize", LINEAR, ONE_IN_ANY_ORDER(0)},
    {"", "DequantizeLinear", "dequantize", LINEAR, ONE_IN_ANY_ORDER(DEQUANTIZE)},
    {"", "QuantizeLinear", "quantize_axis", LINEAR},
    {"", "DequantizeLinear", "dequantize_axis", LINEAR, .variant = DEQUANTIZE},
    {"com.microsoft", "QuantizeLinear", "quantize", LINEAR, ONE_IN_ANY_ORDER(0)},
    {"com.microsoft", "DequantizeLinear", "dequantize", LINEAR, ONE_IN_ANY_ORDER(DEQUANTIZE)},
    {"com.microsoft", "QuantizeLinear", "quantize_axis", LINEAR},
    {"com.microsoft", "DequantizeLinear", "dequantize_axis", LINEAR, .variant = DEQUANTIZE},
    {"", "DynamicQuantizeLinear", "quantize_dynamically", .size = size_dynamic,
     .prepare = CUDA_ONLY(tort_cuda_prepare_dynamic), .run = CUDA_ONLY(run_dynamic)},
    {.op = NULL},
};
