/* conv.c - rows and claims of Conv and FusedConv: a direct kernel if every channel is a group (depthwise), then
 * cuDNN if it is found (conv_cudnn.c), else a matrix product whose right operand are the windows of the input
 * (implicit GEMM: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014).
 *
 * The im2col matrix is never stored. Where a window's elements are does not depend on the window, so a table of
 * offsets is made once per plan and kept on the device, and the kernel never divides to find them. A 1x1 kernel
 * without strides and padding needs no table: its windows are the pixels, and the product is one of matrices.
 * Cost: filters * channels / group * kernel positions * pixels multiply-adds. Example: 3x3 on 64 channels: a table
 * of 576 entries. */
#include "kernels/cuda/conv.h"

#include <limits.h>
#include <string.h>

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/nhwc.h"
#include "ops/conv.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_window(const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    return tort_cuda_claim_window(node, &params->window, GPU_CONV_AXES);
}

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_window(node);
    return verdict.code == TORT_YES ? tort_cuda_claim_product(target, node) : verdict;
}

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_info *w = &node->inputs[1];
    const tort_conv_params *params = node->params;
    tort_verdict verdict = claim_window(node);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_real(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->window.axes > 2) return tort_no(TORT_NO_SHAPE, "", "3 spatial axes, the kernel has 1 to 2");
    if (w->rank > 1 && w->dims[1] == 1) return verdict;
    return tort_no(TORT_NO_SHAPE, "", "a group has more than one channel");
}

/* ---- as a product ------------------------------------------------------------------------------------------------ */

static gpu_conv_product product_of(const tort_conv_params *params) {
    const tort_sliding *window = &params->window;
    gpu_conv_product p = {.batch = params->batch,
                          .group = params->group,
                          .channels = params->channels / params->group,
                          .filters = params->filters / params->group,
                          .length = params->channels / params->group,
                          .pixels = 1,
                          .in_pixels = 1,
                          .in = {1, 1, 1},
                          .out = {1, 1, 1},
                          .stride = {1, 1, 1},
                          .epilogue = params->epilogue};
    for (int32_t i = 0; i < window->axes; i++) {
        const int32_t axis = GPU_CONV_AXES - window->axes + i;
        p.in[axis] = (int32_t)window->input[i];
        p.out[axis] = (int32_t)window->output[i];
        p.stride[axis] = (int32_t)window->strides[i];
        p.pad[axis] = (int32_t)window->begin[i];
        p.length *= window->kernel[i];
        p.pixels *= window->output[i];
        p.in_pixels *= window->input[i];
    }
    return p;
}

/* True if the windows are the pixels, one by one. */
static bool is_pointwise(const tort_sliding *window) {
    for (int32_t i = 0; i < window->axes; i++)
        if (window->kernel[i] != 1 || window->strides[i] != 1 || window->begin[i] || window->end[i]) return false;
    return true;
}

/* Floats that cp.async copies one by one, into their windows, are multiplied exactly: tensor cores would wait. */
static gpu_type type_of(const tort_conv_params *params, gpu_board board, tort_type type) {
    return is_pointwise(&params->window) ? gpu_product_type_of(board, type) : gpu_type_of(type);
}

static gpu_tiling tiling_of(const gpu_conv_product *p, gpu_board board, gpu_type type) {
    return tort_cuda_tiling_of(board, gpu_unit_of(type), p->filters, p->pixels, p->length, p->batch * p->group);
}

/* Checks that offsets fit 32 bits. */
static tort_status check_sizes(const tort_conv_params *params, tort_error *error) {
    const tort_sliding *window = &params->window;
    bool fits = params->channels < INT_MAX;
    int64_t elements = params->channels > 0 ? params->channels : 1;
    for (int32_t i = 0; i < window->axes; i++) {
        fits = fits && !__builtin_mul_overflow(elements, window->input[i] > 0 ? window->input[i] : 1, &elements) &&
               elements < INT_MAX && window->begin[i] < INT_MAX / 4 && window->strides[i] < INT_MAX / 4 &&
               window->kernel[i] * window->dilations[i] < INT_MAX / 4;
    }
    return fits ? TORT_OK
                : tort_fail(error, TORT_E_UNSUPPORTED, "an image has more than 2^31 elements; pin the node to cpu");
}

tort_status tort_cuda_conv_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const gpu_conv_product p = product_of(node->params);
    const gpu_board board = tort_cuda_board_of(target);
    *scratch = tiling_of(&p, board, type_of(node->params, board, node->inputs[0].type)).scratch;
    return check_sizes(node->params, error);
}

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"

gpu_conv_operands tort_cuda_conv_operands(const tort_call *call) {
    return (gpu_conv_operands){.x = call->inputs[0].data,
                               .w = call->inputs[1].data,
                               .bias = cuda_input(call, 2),
                               .residual = cuda_input(call, TORT_EPILOGUE_Z),
                               .y = call->outputs[0].data};
}

/* ---- the table of offsets ---------------------------------------------------------------------------------------- */

gpu_conv_offset tort_cuda_conv_offset(const tort_sliding *window, int64_t channel, int64_t position) {
    gpu_conv_offset offset = {0};
    int64_t elements = 0, plane = 1;
    for (int32_t i = window->axes - 1; i >= 0; i--) {
        const int64_t at = position % window->kernel[i] * window->dilations[i];
        position /= window->kernel[i];
        offset.at[GPU_CONV_AXES - window->axes + i] = (int32_t)at;
        elements += at * plane;
        plane *= window->input[i];
    }
    offset.elements = (int32_t)(elements + channel * plane);
    return offset;
}

static void fill_table(const tort_node_view *node, void *entries) {
    const tort_conv_params *params = node->params;
    const gpu_conv_product p = product_of(params);
    const int64_t positions = p.length / p.channels, count = gpu_conv_offset_count(p.length);
    gpu_conv_offset *table = entries;
    for (int64_t i = 0; i < p.length; i++)
        table[i] = tort_cuda_conv_offset(&params->window, i / positions, i % positions);
    for (int64_t i = p.length; i < count; i++) table[i] = (gpu_conv_offset){.at = {INT_MAX / 2}};
}

tort_status tort_cuda_conv_fit(tort_fit *fit) {
    const tort_conv_params *params = fit->node->params;
    if (is_pointwise(&params->window)) return TORT_OK;
    const size_t count = (size_t)gpu_conv_offset_count(product_of(params).length);
    return cuda_table_fit(fit, count * sizeof(gpu_conv_offset), fill_table);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

cudaError_t tort_cuda_conv_load(gpu_board board, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const gpu_type type = type_of(params, board, node->inputs[0].type);
    const cudaError_t code = gpu_load_matmul(type);
    return code != cudaSuccess || is_pointwise(&params->window) ? code : gpu_load_conv(type);
}

static tort_status prepare_conv(tort_prepare *p) {
    const cuda_device *device = p->device;
    return cuda_loaded(p, tort_cuda_conv_load(device->board, p->node));
}

/* Returns the product of weights and pixels, for each image and group. */
static gpu_matmul pixels_product(const gpu_conv_product *p) {
    return (gpu_matmul){.m = p->filters,
                        .n = p->pixels,
                        .k = p->length,
                        .batches = p->batch * p->group,
                        .a_row = p->length,
                        .a_column = 1,
                        .b_row = p->pixels,
                        .b_column = 1,
                        .batch_rank = 2,
                        .batch_dims = {p->batch, p->group},
                        .a_batch = {0, p->filters * p->length},
                        .b_batch = {p->group * p->length * p->pixels, p->length * p->pixels},
                        .c_batch = {0, p->filters},
                        .c_row = 1,
                        .alpha = 1.0f,
                        .beta = 1.0f,
                        .epilogue = p->epilogue};
}

static tort_status run_pointwise(const tort_call *call, const gpu_conv_product *p, gpu_type type,
                                 const gpu_tiling *tiling, const gpu_parts *parts) {
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    const gpu_matmul product = pixels_product(p);
    const gpu_matmul_operands operands = {.a = o.w, .b = o.x, .c = o.bias, .residual = o.residual, .y = o.y};
    return cuda_launched(call, gpu_run_matmul(cuda_stream_of(call), type, &product, &operands, tiling, parts));
}

tort_status tort_cuda_conv_prepare_empty(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_matmul(gpu_type_of(p->node->inputs[0].type)));
}

tort_status tort_cuda_conv_run_empty(const tort_call *call) {
    gpu_conv_product p = product_of(call->params);
    p.length = 0;
    const gpu_type type = gpu_type_of(call->inputs[0].type);
    const gpu_tiling tiling = tiling_of(&p, (gpu_board){0}, type);
    return run_pointwise(call, &p, type, &tiling, &(gpu_parts){0});
}

tort_status tort_cuda_conv_run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const tort_conv_params *params = call->params;
    const cuda_table *table = call->fitted;
    const gpu_parts parts = {call->scratch, stream->arrivals};
    gpu_conv_product p = product_of(params);
    const gpu_type type = type_of(params, stream->device->board, call->inputs[0].type);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board, type);
    if (!table) return run_pointwise(call, &p, type, &tiling, &parts);
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    p.offsets = table->entries;
    return cuda_launched(call, gpu_run_conv(cuda_stream_of(call), type, &p, &o, &tiling, &parts));
}

static tort_status prepare_depthwise(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_conv_depthwise(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_depthwise(const tort_call *call) {
    const tort_conv_params *params = call->params;
    const gpu_conv p = {.window = tort_cuda_window(&params->window),
                        .batch = params->batch,
                        .group = params->group,
                        .channels = params->channels / params->group,
                        .filters = params->filters / params->group,
                        .epilogue = params->epilogue};
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    return cuda_launched(call, gpu_run_conv_depthwise(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, &o));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Depthwise precedes cuDNN: with one channel per group a matrix product gains nothing. The work is to read X and
 * write Y once, which the direct kernel does without workspace; cuDNN's general algorithms would run a product of
 * one row per group. */
#define DEPTHWISE(domain_, op_)                                                                                        \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_depthwise", .claim = claim_depthwise,                              \
        .prepare = CUDA_ONLY(prepare_depthwise), .run = CUDA_ONLY(run_depthwise)                                       \
    }
#define CUDNN(domain_, op_)                                                                                            \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_cudnn", .needs = "cuDNN", .claim = tort_cuda_conv_cudnn_claim,     \
        .size = tort_cuda_conv_cudnn_size, .prepare = CUDA_ONLY(tort_cuda_conv_cudnn_prepare),                         \
        .fit = CUDA_ONLY(tort_cuda_conv_cudnn_fit), .unfit = CUDA_ONLY(tort_cuda_conv_cudnn_unfit),                    \
        .run = CUDA_ONLY(tort_cuda_conv_cudnn_run)                                                                     \
    }
#define NHWC(domain_, op_, row_, suffix, images) NHWC_ROW(domain_, op_, row_, nhwc_claim##suffix, suffix, images, 0)
#define NHWC_ROW(domain_, op_, row_, claim_, suffix, images, variant_)                                                 \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = row_, .claim = tort_cuda_conv_##claim_, .variant = variant_,             \
        .pack.size = tort_cuda_conv_nhwc_pack_size, .pack.ready = CUDA_ONLY(tort_cuda_conv_nhwc_ready##suffix),        \
        .prepare = CUDA_ONLY(tort_cuda_conv_nhwc_prepare##suffix), .run = CUDA_ONLY(tort_cuda_conv_nhwc_run##suffix),  \
        .layout.id = GPU_NHWC, .layout.inputs = images, .layout.outputs = 1, NHWC_MORE##suffix                         \
    }
#define NHWC_MORE                                                                                                      \
    .layout.alone = tort_cuda_conv_nhwc_pays_alone, .size = tort_cuda_conv_nhwc_size,                                  \
    .fit = CUDA_ONLY(tort_cuda_conv_nhwc_fit), .unfit = CUDA_ONLY(cuda_table_unfit)
#define NHWC_MORE_depthwise .layout.follows = true
#define STEM(domain_, op_, images)                                                                                     \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_stem", .claim = tort_cuda_stem_claim, .size = tort_cuda_stem_size, \
        .pack.size = tort_cuda_stem_pack_size, .pack.ready = CUDA_ONLY(tort_cuda_stem_ready),                          \
        .prepare = CUDA_ONLY(tort_cuda_stem_prepare), .run = CUDA_ONLY(tort_cuda_stem_run), .layout.id = GPU_NHWC,     \
        .layout.inputs = images, .layout.outputs = 1, .layout.follows = true                                           \
    }
#define IMPLICIT_GEMM(domain_, op_)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_implicit_gemm", .claim = claim_conv, .size = tort_cuda_conv_size,  \
        .prepare = CUDA_ONLY(prepare_conv), .fit = CUDA_ONLY(tort_cuda_conv_fit),                                      \
        .unfit = CUDA_ONLY(cuda_table_unfit), .run = CUDA_ONLY(tort_cuda_conv_run)                                     \
    }

enum { Z = 1 << TORT_EPILOGUE_Z };

/* Rows of a domain's operator. Channels-last kernels precede cuDNN, whose calls would convert each image to its
 * layout and back. */
#define ROWS(domain_, op_, z)                                                                                          \
    NHWC(domain_, op_, "conv_depthwise_nhwc", _depthwise, 1 | z), NHWC(domain_, op_, "conv_nhwc", , 1 | z),            \
        STEM(domain_, op_, z), NHWC_ROW(domain_, op_, "conv_patches", patches_claim, , z, GPU_NHWC_PATCHES),           \
        DEPTHWISE(domain_, op_), CUDNN(domain_, op_), IMPLICIT_GEMM(domain_, op_)

const tort_kernel tort_cuda_conv_kernels[] = {
    ROWS("", "Conv", 0),
    ROWS("tinyort", "FusedConv", Z),
    ROWS("com.microsoft", "FusedConv", Z),
    {.op = NULL},
};
