/* deform_conv.c - row of DeformConv over two axes: the samples that a filter sees are a matrix in scratch memory, which
 * the tiled product of MatMul multiplies by the filters. Kernels: deform_conv.cu, matmul.cu. */
#include "kernels/cuda/deform_conv.h"

#include "kernels/cuda/matmul.h"
#include "ops/deform_conv.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_deform_conv_params *p = node->params;
    if (p->window.axes != 2)
        return tort_no(TORT_NO_SHAPE, "", "%d spatial axes, the kernel has 2", (int)p->window.axes);
    if (p->channels < 0 || p->filters < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "the number of channels or filters is not known");
    return tort_cuda_claim_float(target, node);
}

static int64_t positions_of(const tort_deform_conv_params *p) {
    return p->window.kernel[0] * p->window.kernel[1];
}

/* Filters of a group by its samples; the bias has a number for each row. */
static gpu_matmul product_of(const tort_deform_conv_params *p) {
    const int64_t pixels = p->window.output[0] * p->window.output[1], per_group = p->group ? p->channels / p->group : 0,
                  rows = p->group ? p->filters / p->group : 0, depth = per_group * positions_of(p);
    return (gpu_matmul){.m = rows,
                        .n = pixels,
                        .k = depth,
                        .batches = p->batch * p->group,
                        .a_row = depth,
                        .a_column = 1,
                        .b_row = pixels,
                        .b_column = 1,
                        .batch_rank = 2,
                        .batch_dims = {p->batch, p->group},
                        .a_batch = {0, rows * depth},
                        .b_batch = {p->group * depth * pixels, depth * pixels},
                        .c_batch = {0, rows},
                        .c_row = 1,
                        .alpha = 1.0f,
                        .beta = 1.0f};
}

static gpu_tiling tiling_of(gpu_board board, tort_type type, const gpu_matmul *p) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), p->m, p->n, p->k, p->batches);
}

/* Scratch memory: sums of parts of the product, and the samples from a multiple of 256 on. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_type type = node->inputs[0].type;
    const tort_deform_conv_params *p = node->params;
    const gpu_matmul product = product_of(p);
    const size_t element = gpu_type_bytes(gpu_type_of(type));
    size_t samples;
    if (tort_mul_size((uint64_t)(p->batch * p->channels), (uint64_t)positions_of(p), &samples) &&
        tort_mul_size(samples, (uint64_t)product.n, &samples) && tort_mul_size(samples, element, &samples) &&
        tort_align_size(tiling_of(tort_cuda_board_of(target), type, &product).scratch, TORT_DEVICE_ALIGN, scratch) &&
        tort_add_size(*scratch, samples, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    const tort_status status = cuda_loaded(p, gpu_load_deform_samples(gpu_type_of(p->node->inputs[0].type)));
    return status ? status : cuda_loaded(p, gpu_load_matmul(cuda_prepared_type(p)));
}

static gpu_deform samples_of(const tort_call *call, const gpu_matmul *product, void *samples) {
    const tort_deform_conv_params *p = call->params;
    const tort_sliding *w = &p->window;
    const int64_t positions = positions_of(p);
    gpu_deform d = {.offset_group = p->offset_group,
                    .count = (uint64_t)(p->batch * p->channels * positions * product->n),
                    .x = call->inputs[TORT_DEFORM_X].data,
                    .offset = call->inputs[TORT_DEFORM_OFFSET].data,
                    .mask = cuda_input(call, TORT_DEFORM_MASK),
                    .samples = samples};
    for (int i = 0; i < 2; i++) {
        d.in[i] = w->input[i], d.out[i] = w->output[i], d.kernel[i] = w->kernel[i];
        d.stride[i] = w->strides[i], d.dilation[i] = w->dilations[i], d.pad[i] = w->begin[i];
    }
    d.pixels = gpu_divisor_of(product->n, d.count);
    d.width = gpu_divisor_of(w->output[1], d.count);
    d.positions = gpu_divisor_of(positions, d.count);
    d.kernel_width = gpu_divisor_of(w->kernel[1], d.count);
    d.channel = gpu_divisor_of(p->channels, d.count);
    d.moved = gpu_divisor_of(p->channels / p->offset_group, d.count);
    return d;
}

static tort_status run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const tort_type type = call->inputs[0].type;
    const gpu_matmul product = product_of(call->params);
    const gpu_tiling tiling = tiling_of(stream->device->board, type, &product);
    void *samples = (char *)call->scratch + gpu_pieces((int64_t)tiling.scratch, TORT_DEVICE_ALIGN) * TORT_DEVICE_ALIGN;
    const gpu_parts parts = {call->scratch, stream->arrivals};
    const gpu_matmul_operands operands = {.a = call->inputs[TORT_DEFORM_W].data,
                                          .b = samples,
                                          .c = cuda_input(call, TORT_DEFORM_B),
                                          .y = call->outputs[0].data};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const gpu_deform deform = samples_of(call, &product, samples);
    cudaError_t code =
        deform.count ? gpu_run_deform_samples(cuda_stream_of(call), gpu_type_of(type), &deform) : cudaSuccess;
    if (code == cudaSuccess)
        code = gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &product, &operands, &tiling, &parts);
    return cuda_launched(call, code);
}
#endif

const tort_kernel tort_cuda_deform_conv_kernels[] = {
    {"", "DeformConv", "deform_conv", .claim = claim, .size = size, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run)},
    {.op = NULL},
};
