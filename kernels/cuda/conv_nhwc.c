/* conv_nhwc.c - Conv and FusedConv of images whose channels are last (nhwc.h): a matrix product of windows by
 * weights on tensor cores (implicit GEMM), and a direct kernel if every channel is a group.
 *
 * A window is the channels of its first position, then those of the next, and so on: pieces of 16 bytes, whose
 * offsets are a table made once per plan. Weights are packed in that order. A 1x1 kernel without strides and padding
 * needs no table: its windows are the rows of X.
 *
 * Patches, as transformers for images cut them (16x16 with strides of 16), need no channels last: the pieces of a
 * window are those of its rows, in planes too. For the kernel they are images of one channel of a 1x1 kernel, with a
 * table of their own. Read next: conv_nhwc.cu. */
#include <limits.h>
#include <string.h>

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/nhwc.h"
#include "ops/conv.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_image(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, GPU_CONV_AXES);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_nhwc(target, node, params->channels);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_nhwc(target, node, params->filters);
    if (verdict.code != TORT_YES) return verdict;
    if (!node->inputs[1].constant) return tort_no(TORT_NO_DYNAMIC, "", "W is not constant, so it cannot be packed");
    if (tort_sliding_positions(&params->window) <= GPU_NHWC_POSITIONS) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a kernel of more than %d positions", GPU_NHWC_POSITIONS);
}

tort_verdict tort_cuda_conv_nhwc_claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_verdict verdict = claim_image(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->channels / params->group % GPU_NHWC_PIECE == 0 && params->filters / params->group % GPU_NHWC_PIECE == 0)
        return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "channels and filters of a group do not come in eights");
}

tort_verdict tort_cuda_conv_nhwc_claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_verdict verdict = claim_image(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->group == params->channels && params->filters == params->channels) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a group has more than one channel or filter");
}

tort_verdict tort_cuda_claim_planes(const tort_target *target, const tort_node_view *node, int32_t axes) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_nhwc(target, node, params->filters);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_window(node, &params->window, axes);
    if (verdict.code != TORT_YES || node->inputs[1].constant) return verdict;
    return tort_no(TORT_NO_DYNAMIC, "", "W is not constant, so it cannot be packed");
}

/* Rows of windows are whole pieces, which lie inside: windows neither overlap by half a piece nor reach into padding.
 */
tort_verdict tort_cuda_conv_patches_claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_sliding *window = &params->window;
    const int32_t last = window->axes - 1;
    const tort_verdict verdict = tort_cuda_claim_planes(target, node, GPU_CONV_AXES);
    if (verdict.code != TORT_YES) return verdict;
    bool pieces = last >= 0 && params->group == 1 && params->channels > 0 && window->dilations[last] == 1 &&
                  window->kernel[last] % GPU_NHWC_PIECE == 0 && window->strides[last] % GPU_NHWC_PIECE == 0 &&
                  window->input[last] % GPU_NHWC_PIECE == 0;
    for (int32_t i = 0; i <= last; i++)
        pieces = pieces && window->input[i] > 0 && window->kernel[i] > 0 && !window->begin[i] && !window->end[i];
    return pieces ? tort_yes() : tort_no(TORT_NO_SHAPE, "", "windows are no patches of whole pieces of 8");
}

/* True if sums are long enough that two conversions pay: the plain kernel is slower, as it cannot copy single 16-bit
 * elements asynchronously. */
bool tort_cuda_conv_nhwc_pays_alone(const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    return params->channels / params->group * tort_sliding_positions(&params->window) >= 64;
}

/* ---- as a product ------------------------------------------------------------------------------------------------ */

gpu_nhwc_conv tort_cuda_nhwc_images_of(const tort_conv_params *params) {
    const tort_sliding *window = &params->window;
    gpu_nhwc_conv p = {.group = params->group,
                       .channels = params->channels / params->group,
                       .filters = params->filters / params->group,
                       .pixels = 1,
                       .in_pixels = 1,
                       .in = {1, 1, 1},
                       .out = {1, 1, 1},
                       .stride = {1, 1, 1},
                       .kernel = {1, 1, 1},
                       .dilation = {1, 1, 1},
                       .epilogue = params->epilogue};
    for (int32_t i = 0; i < window->axes; i++) {
        const int32_t axis = GPU_CONV_AXES - window->axes + i;
        p.in[axis] = (int32_t)window->input[i];
        p.out[axis] = (int32_t)window->output[i];
        p.stride[axis] = (int32_t)window->strides[i];
        p.pad[axis] = (int32_t)window->begin[i];
        p.kernel[axis] = (int32_t)window->kernel[i];
        p.dilation[axis] = (int32_t)window->dilations[i];
        p.pixels *= window->output[i];
        p.in_pixels *= window->input[i];
    }
    p.rows = params->batch * p.pixels;
    p.length = p.channels * tort_sliding_positions(window);
    return p;
}

/* Product of a row: of images with channels last, or of patches of planes. */
static gpu_nhwc_conv product_of(const tort_kernel *row, const tort_conv_params *params) {
    gpu_nhwc_conv p = tort_cuda_nhwc_images_of(params);
    if (row->variant != GPU_NHWC_PATCHES) return p;
    p.in_pixels *= p.channels;
    p.channels = 1;
    for (int32_t i = 0; i < GPU_CONV_AXES; i++) p.kernel[i] = 1;
    return p;
}

static gpu_tiling tiling_of(const gpu_nhwc_conv *p, gpu_board board, tort_type type) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), p->rows, p->filters, p->length,
                               p->group);
}

tort_status tort_cuda_conv_nhwc_check(const tort_conv_params *params, tort_error *error) {
    int64_t elements = params->channels, outputs = params->batch;
    bool fits = true;
    for (int32_t i = 0; i < params->window.axes; i++) {
        fits = fits && !__builtin_mul_overflow(elements, params->window.input[i] + 1, &elements) &&
               !__builtin_mul_overflow(outputs, params->window.output[i] + 1, &outputs) && elements < INT_MAX &&
               outputs < INT_MAX && params->window.begin[i] < INT_MAX / 4 && params->window.strides[i] < INT_MAX / 4 &&
               params->window.kernel[i] * params->window.dilations[i] < INT_MAX / 4;
    }
    if (fits) return TORT_OK;
    return tort_fail(error, TORT_E_UNSUPPORTED, "an image has more than 2^31 elements; pin the node to cpu");
}

tort_status tort_cuda_conv_nhwc_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                     tort_error *error) {
    const tort_conv_params *params = node->params;
    const tort_status status = tort_cuda_conv_nhwc_check(params, error);
    if (status) return status;
    const gpu_nhwc_conv p = product_of(node->kernel, params);
    *scratch = tiling_of(&p, tort_cuda_board_of(target), node->inputs[0].type).scratch;
    return TORT_OK;
}

tort_status tort_cuda_conv_nhwc_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                          uint32_t *consumed, tort_error *error) {
    enum { WEIGHTS = 1 << 1 };
    const tort_info *w = &node->inputs[1];
    size_t size = (size_t)cuda_element_bytes(w->type);
    (void)target;
    for (int32_t i = 0; i < w->rank; i++)
        if (__builtin_mul_overflow(size, (size_t)w->dims[i], &size)) return tort_out_of_memory(error, SIZE_MAX);
    *bytes = size;
    *consumed = WEIGHTS;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Rounds floats to the 10 bits that tensor cores take, ties to even. Infinity and NaN stay. */
static void round_floats(char *data, size_t count) {
    for (size_t i = 0; i < count; i++, data += sizeof(uint32_t)) {
        uint32_t bits;
        memcpy(&bits, data, sizeof bits);
        if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
        memcpy(data, &bits, sizeof bits);
    }
}

/* Transposes `matrices` matrices of (rows, columns), of elements of so many bytes. */
static void exchange(const char *from, char *to, size_t bytes, int64_t matrices, int64_t rows, int64_t columns) {
    for (int64_t m = 0; m < matrices; m++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++, from += bytes)
                memcpy(to + (size_t)((m * columns + c) * rows + r) * bytes, from, bytes);
}

static tort_status pack(tort_prepare *p, bool rounds, int64_t matrices, int64_t rows, int64_t columns) {
    const size_t element = (size_t)cuda_element_bytes(p->node->inputs[1].type),
                 bytes = (size_t)(matrices * rows * columns) * element;
    char *packed = tort_alloc(p->env, bytes);
    if (!packed) return tort_out_of_memory(p->error, bytes);
    exchange(p->node->inputs[1].data, packed, element, matrices, rows, columns);
    if (rounds) round_floats(packed, bytes / sizeof(float));
    const tort_status status = cuda_copy(p->device, NULL, p->packed, packed, bytes, TORT_TO_DEVICE, p->error);
    tort_free(p->env, packed, bytes);
    return status;
}

tort_status tort_cuda_conv_nhwc_ready(tort_prepare *p) {
    const gpu_type type = cuda_prepared_type(p);
    const cudaError_t code = gpu_load_matmul(type);
    return tort_cuda_nhwc_loaded(p, code == cudaSuccess ? gpu_load_nhwc_conv(type) : code);
}

tort_status tort_cuda_conv_nhwc_prepare(tort_prepare *p) {
    const tort_conv_params *params = p->node->params;
    const bool rounds = cuda_prepared_type(p) == GPU_TF32;
    const int64_t channels = params->channels / params->group, positions = tort_sliding_positions(&params->window);
    return p->node->kernel->variant == GPU_NHWC_PATCHES ? pack(p, rounds, 1, 1, params->filters * channels * positions)
                                                        : pack(p, rounds, params->filters, channels, positions);
}

tort_status tort_cuda_conv_nhwc_ready_depthwise(tort_prepare *p) {
    return tort_cuda_nhwc_loaded(p, gpu_load_nhwc_depthwise(cuda_prepared_type(p)));
}

tort_status tort_cuda_conv_nhwc_prepare_depthwise(tort_prepare *p) {
    const tort_conv_params *params = p->node->params;
    return pack(p, false, 1, params->filters, tort_sliding_positions(&params->window));
}

/* ---- the table of offsets ---------------------------------------------------------------------------------------- */

gpu_nhwc_offset tort_cuda_nhwc_offset(const gpu_nhwc_conv *p, int64_t position, int64_t channel) {
    int64_t rest = position, pixel = 0, plane = 1;
    for (int32_t i = GPU_CONV_AXES - 1; i >= 0; i--) {
        pixel += rest % p->kernel[i] * p->dilation[i] * plane;
        rest /= p->kernel[i];
        plane *= p->in[i];
    }
    return (gpu_nhwc_offset){.elements = (int32_t)(pixel * p->channels * p->group + channel), .bit = 1u << position};
}

/* True if X is a matrix of pixels by channels. */
static bool is_pointwise(const gpu_nhwc_conv *p) {
    bool all = p->group == 1;
    for (int32_t i = 0; i < GPU_CONV_AXES; i++)
        all = all && p->kernel[i] == 1 && p->stride[i] == 1 && !p->pad[i] && p->in[i] == p->out[i];
    return all;
}

/* Elements that are copied at once. */
static int64_t piece_of(const tort_node_view *node) {
    return 16 / cuda_element_bytes(node->inputs[0].type);
}

static void fill_table(const tort_node_view *node, void *entries) {
    const tort_conv_params *params = node->params;
    const gpu_nhwc_conv p = product_of(node->kernel, params);
    const bool patches = node->kernel->variant == GPU_NHWC_PATCHES;
    const int64_t positions = tort_sliding_positions(&params->window);
    const int64_t piece = piece_of(node);
    gpu_nhwc_offset *offsets = entries;
    for (int64_t k = 0; k + piece <= p.length; k += piece)
        offsets[k / piece] =
            patches
                ? (gpu_nhwc_offset){tort_cuda_conv_offset(&params->window, k / positions, k % positions).elements, 1}
                : tort_cuda_nhwc_offset(&p, k / p.channels, k % p.channels);
}

tort_status tort_cuda_conv_nhwc_fit(tort_fit *fit) {
    const gpu_nhwc_conv p = product_of(fit->node->kernel, fit->node->params);
    if (is_pointwise(&p) || !p.rows) return TORT_OK;
    const size_t count = (size_t)(gpu_conv_offset_count(p.length) / piece_of(fit->node)) + GPU_NHWC_AHEAD;
    return cuda_table_fit(fit, count * sizeof(gpu_nhwc_offset), fill_table);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static gpu_conv_operands operands_of(const tort_call *call) {
    gpu_conv_operands o = tort_cuda_conv_operands(call);
    o.w = call->packed;
    return o;
}

/* Multiplies pixels by weights. */
static cudaError_t run_pointwise(const tort_call *call, const gpu_nhwc_conv *p, const gpu_tiling *tiling,
                                 const gpu_parts *parts) {
    const gpu_conv_operands o = operands_of(call);
    const gpu_matmul product = {.m = p->rows,
                                .n = p->filters,
                                .k = p->length,
                                .batches = 1,
                                .a_row = p->length,
                                .a_column = 1,
                                .b_row = 1,
                                .b_column = p->length,
                                .c_column = 1,
                                .alpha = 1.0f,
                                .beta = 1.0f,
                                .epilogue = p->epilogue};
    const gpu_matmul_operands operands = {.a = o.x, .b = o.w, .c = o.bias, .residual = o.residual, .y = o.y};
    return gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &product, &operands, tiling, parts);
}

tort_status tort_cuda_conv_nhwc_run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const cuda_table *table = call->fitted;
    const gpu_parts parts = {call->scratch, stream->arrivals};
    gpu_nhwc_conv p = product_of(call->kernel, call->params);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board, call->inputs[0].type);
    if (!p.rows) return TORT_OK;
    if (!table) return cuda_launched(call, run_pointwise(call, &p, &tiling, &parts));
    const gpu_conv_operands o = operands_of(call);
    p.offsets = table->entries;
    return cuda_launched(call,
                         gpu_run_nhwc_conv(cuda_stream_of(call), cuda_product_type(call), &p, &o, &tiling, &parts));
}

tort_status tort_cuda_conv_nhwc_run_depthwise(const tort_call *call) {
    const gpu_nhwc_conv p = tort_cuda_nhwc_images_of(call->params);
    const gpu_conv_operands o = operands_of(call);
    return cuda_launched(call, gpu_run_nhwc_depthwise(cuda_stream_of(call), cuda_product_type(call), &p, &o));
}
#endif
