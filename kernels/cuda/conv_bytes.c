/* conv_bytes.c - rows and claims of QLinearConv, alone and with a QLinearAdd behind it, and ConvInteger: convolutions
 * of 8-bit images with exact sums.
 *
 * Images with channels last are products of windows by filters on tensor cores, as in conv_nhwc.c, or depthwise; the
 * first convolution of a network takes planes, of few channels, and makes channels last of them. What is none of these,
 * such as a head of 255 filters, is computed element by element. Kernels: conv_bytes.cu; read first: integer.h. */
#include "kernels/cuda/conv_bytes.h"

#include <limits.h>
#include <string.h>

#include "ops/conv.h"
#include "ops/extent.h"
#include "ops/integer_conv.h"
#include "ops/integer_matmul.h"
#include "runtime/core/base/memory.h"

/* Kinds of rows. SHIFTED: of a W with another zero point. Its windows are packed twice, as W (less 128 of uint8) and as
 * the zero point, negative, for each weight; so the difference, of 9 bits, is the sum of two products. */
enum { CHANNELS_LAST = 1, DEPTHWISE, PLANES, DIRECT, KIND = 7, SHIFTED = 8, AS_IS = 16, SUM = 32 };
enum { CHANNELS = 16 /* of a position of a packed window: a multiple */, PADDING = 16 };

/* The inputs of ConvInteger and QLinearConv lie as those of the products: X as A, W as B, a bias last. */
static const tort_integer_inputs *inputs_of(const tort_op *op) {
    const bool integers = !strcmp(op->name, "ConvInteger");
    return &tort_integer_matmul_inputs[integers ? TORT_MATMUL_INTEGER : TORT_MATMUL_BIASED];
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static int32_t kind_of(const tort_kernel *row) {
    return row->variant & KIND;
}

static bool is_direct(const tort_node_view *node) {
    return kind_of(node->kernel) == DIRECT;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_integer_inputs *in = inputs_of(node->op);
    (void)target;
    const tort_verdict verdict = tort_cuda_claim_window(node, &params->window, GPU_CONV_AXES);
    if (verdict.code != TORT_YES) return verdict;
    const bool as_is = node->kernel->variant & AS_IS;
    if (!strcmp(node->op->domain, "com.microsoft") && ((const tort_either_conv *)node->params)->channels_last != as_is)
        return tort_no(TORT_NO_ATTR, "channels_last", "is for the other order of channels");
    if (params->channels < 0 || params->filters < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "the number of channels or filters is not known");
    const int64_t products = params->channels / params->group * tort_sliding_positions(&params->window);
    const tort_verdict fits = in->y_scale < 0 ? tort_yes() : tort_cuda_claim_byte_sums(products);
    if (fits.code != TORT_YES || is_direct(node)) return fits;
    if (!node->inputs[in->b].constant) return tort_no(TORT_NO_DYNAMIC, "", "W is not constant, so it cannot be packed");
    if (in->y_scale < 0) return tort_no(TORT_NO_OP, "", "sums have no channels last");
    if (params->filters % GPU_NHWC_PIECE)
        return tort_no(TORT_NO_SHAPE, "", "%lld filters, channels last come in eights", (long long)params->filters);
    return tort_yes();
}

/* Claim of a product on tensor cores. */
static tort_verdict claim_product(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim(target, node);
    const tort_integer_inputs *in = inputs_of(node->op);
    if (verdict.code != TORT_YES) return verdict;
    if (!node->inputs[in->a_zero].uniform)
        return tort_no(TORT_NO_DYNAMIC, "", "the zero point of X is not constant, so the padding is not known");
    int32_t zero;
    if (!tort_cuda_byte_zero(node, in, &zero))
        return tort_no(TORT_NO_ATTR, "quantize weights symmetrically", "filters have different zero points");
    if (!zero || (node->kernel->variant & SHIFTED && zero > -128)) return verdict;
    return tort_no(TORT_NO_ATTR, "quantize weights symmetrically",
                   "is for a zero point of W of 0, or 128 of uint8, not %d more", (int)zero);
}

static tort_verdict claim_positions(const tort_conv_params *params) {
    if (tort_sliding_positions(&params->window) <= GPU_NHWC_POSITIONS) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a kernel of more than %d positions", GPU_NHWC_POSITIONS);
}

static tort_verdict claim_channels_last(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_verdict verdict = claim_product(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->channels / params->group % GPU_NHWC_PIECE || params->filters / params->group % GPU_NHWC_PIECE)
        return tort_no(TORT_NO_SHAPE, "", "channels and filters of a group do not come in eights");
    return claim_positions(params);
}

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_verdict verdict = claim(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (params->group != params->channels || params->filters != params->channels)
        return tort_no(TORT_NO_SHAPE, "", "a group has more than one channel or filter");
    return claim_positions(params);
}

/* Conversions of X and Y cost less than the direct kernel. */
static bool pays_alone(const tort_node_view *node) {
    (void)node;
    return true;
}

static tort_verdict claim_planes(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    const tort_verdict verdict = claim_product(target, node);
    if (verdict.code != TORT_YES || params->group == 1) return verdict;
    return tort_no(TORT_NO_SHAPE, "", "%lld groups", (long long)params->group);
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* Elements of a window of W, with padding: in planes those of W, else so many channels of each position. */
static int64_t window_length(const tort_kernel *row, const tort_conv_params *params) {
    const int64_t channels = params->channels / params->group, positions = tort_sliding_positions(&params->window);
    if (kind_of(row) == PLANES) return gpu_byte_line(channels * positions);
    return positions * gpu_pieces(channels, CHANNELS) * CHANNELS;
}

static int64_t packed_length(const tort_kernel *row, const tort_conv_params *params) {
    return window_length(row, params) * (row->variant & SHIFTED ? 2 : 1);
}

static gpu_nhwc_conv images_of(const tort_kernel *row, const tort_conv_params *params) {
    gpu_nhwc_conv images = tort_cuda_nhwc_images_of(params);
    images.length = packed_length(row, params);
    return images;
}

static gpu_tiling tiling_of(const gpu_nhwc_conv *p, gpu_board board) {
    return tort_cuda_tiling_of(board, GPU_MMA_BYTES, p->rows, p->filters, p->length, p->group);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_info *x = &node->inputs[0];
    *scratch = 0;
    if (kind_of(node->kernel) == CHANNELS_LAST) {
        const gpu_nhwc_conv images = images_of(node->kernel, node->params);
        *scratch = tiling_of(&images, tort_cuda_board_of(target)).scratch;
    }
    if (node->kernel->variant & AS_IS && !is_direct(node) &&
        !(tort_align_size(*scratch, TORT_DEVICE_ALIGN, scratch) &&
          tort_add_size(*scratch, (uint64_t)tort_extent(x->dims, 0, x->rank), scratch)))
        return tort_out_of_memory(error, SIZE_MAX);
    return tort_cuda_conv_nhwc_check(node->params, error);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *params = node->params;
    const int64_t positions = tort_sliding_positions(&params->window);
    const bool depthwise = kind_of(node->kernel) == DEPTHWISE;
    const int64_t filter = depthwise ? positions * (int64_t)sizeof(int16_t)
                                     : packed_length(node->kernel, params) + (int64_t)sizeof(int32_t);
    (void)target;
    *consumed = 1u << inputs_of(node->op)->b;
    return tort_mul_size((uint64_t)params->filters, (uint64_t)filter, bytes) &&
                   tort_add_size(*bytes, depthwise ? 0 : PADDING, bytes)
               ? TORT_OK
               : tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"

static int32_t byte_at(const tort_info *bytes, int64_t at) {
    return bytes->type == TORT_INT8 ? ((const int8_t *)bytes->data)[at] : ((const uint8_t *)bytes->data)[at];
}

/* The zero point of a filter's weights. */
static int32_t zero_of(const tort_node_view *node, const tort_integer_inputs *in, int64_t filter) {
    if (!tort_has_input(node, in->b_zero)) return 0;
    const tort_info *zero = &node->inputs[in->b_zero];
    return byte_at(zero, tort_extent(zero->dims, 0, zero->rank) == 1 ? 0 : filter);
}

/* Writes a filter's windows; returns their sum. */
static int32_t pack_filter(const tort_node_view *node, const tort_integer_inputs *in, int64_t filter, int8_t *to) {
    const tort_conv_params *params = node->params;
    const int64_t channels = params->channels / params->group, positions = tort_sliding_positions(&params->window);
    const int64_t padded = gpu_pieces(channels, CHANNELS) * CHANNELS, first = filter * channels * positions;
    const int32_t base = node->inputs[in->b].type == TORT_INT8 ? 0 : 128;
    const bool planes = kind_of(node->kernel) == PLANES;
    int8_t *second = node->kernel->variant & SHIFTED ? to + window_length(node->kernel, params) : NULL;
    int32_t sum = 0, zero;
    (void)tort_cuda_byte_zero(node, in, &zero);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < positions; i++) {
            const int64_t at = planes ? c * positions + i : i * padded + c;
            const int32_t weight = byte_at(&node->inputs[in->b], first + c * positions + i) - base;
            to[at] = (int8_t)weight;
            if (second) second[at] = (int8_t)-zero;
            sum += weight - zero;
        }
    return sum;
}

static void pack_depthwise(const tort_node_view *node, const tort_integer_inputs *in, int16_t *to) {
    const tort_conv_params *params = node->params;
    const int64_t positions = tort_sliding_positions(&params->window);
    for (int64_t f = 0; f < params->filters; f++) {
        const int32_t zero = zero_of(node, in, f);
        for (int64_t i = 0; i < positions; i++)
            to[i * params->filters + f] = (int16_t)(byte_at(&node->inputs[in->b], f * positions + i) - zero);
    }
}

static tort_status prepare(tort_prepare *p) {
    const tort_conv_params *params = p->node->params;
    const tort_integer_inputs *in = inputs_of(p->node->op);
    uint32_t consumed;
    size_t bytes;
    tort_status status = pack_size(p->target, p->node, &bytes, &consumed, p->error);
    if (status) return status;
    void *packed = tort_alloc_zero(p->env, bytes + !bytes, 1);
    if (!packed) return tort_out_of_memory(p->error, bytes);
    const int64_t length = packed_length(p->node->kernel, params);
    int32_t *sums = (int32_t *)(void *)((char *)packed + params->filters * length);
    if (kind_of(p->node->kernel) == DEPTHWISE) {
        pack_depthwise(p->node, in, packed);
    } else {
        for (int64_t f = 0; f < params->filters; f++)
            sums[f] = pack_filter(p->node, in, f, (int8_t *)packed + f * length);
        memset(sums + params->filters, p->node->inputs[in->a_zero].byte, PADDING);
    }
    status = cuda_copy(p->device, NULL, p->packed, packed, bytes, TORT_TO_DEVICE, p->error);
    tort_free(p->env, packed, bytes + !bytes);
    return status;
}

static tort_status ready(tort_prepare *p) {
    const bool is_signed = p->node->inputs[0].type == TORT_INT8;
    return tort_cuda_nhwc_loaded(p, kind_of(p->node->kernel) == DEPTHWISE
                                        ? gpu_load_bytes_depthwise(is_signed)
                                        : gpu_load_bytes_conv(is_signed, kind_of(p->node->kernel) == PLANES));
}

static tort_status prepare_direct(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_bytes_direct());
}

/* ---- tables of offsets ------------------------------------------------------------------------------------------- */

/* Channels that are copied at once. */
static int64_t part_of(const gpu_nhwc_conv *p) {
    return p->channels % CHANNELS ? CHANNELS / 2 : CHANNELS;
}

static void fill_offsets(const tort_node_view *node, void *entries) {
    const gpu_nhwc_conv p = images_of(node->kernel, node->params);
    const int64_t window = window_length(node->kernel, node->params);
    const int64_t part = part_of(&p), padded = gpu_pieces(p.channels, CHANNELS) * CHANNELS;
    gpu_nhwc_offset *offsets = entries;
    for (int64_t k = 0; k < p.length; k += part) {
        const int64_t position = k % window / padded, channel = k % padded;
        if (channel < p.channels) /* else zeros of the packed window */
            offsets[k / part] = tort_cuda_nhwc_offset(&p, position, channel);
    }
}

/* Elements beyond the window are outside of any image: their weights are zeros. */
static void fill_planes(const tort_node_view *node, void *entries) {
    const tort_conv_params *params = node->params;
    const int64_t positions = tort_sliding_positions(&params->window), elements = params->channels * positions;
    const int64_t window = window_length(node->kernel, params), length = packed_length(node->kernel, params);
    gpu_conv_offset *offsets = entries;
    for (int64_t k = 0; k < gpu_conv_offset_count(length); k++) {
        const int64_t at = k % window;
        offsets[k] = k < length && at < elements
                         ? tort_cuda_conv_offset(&params->window, at / positions, at % positions)
                         : (gpu_conv_offset){0, {INT_MAX / 2, INT_MAX / 2, INT_MAX / 2}};
    }
}

static tort_status fit(tort_fit *fit) {
    const gpu_nhwc_conv p = images_of(fit->node->kernel, fit->node->params);
    const size_t count = (size_t)gpu_conv_offset_count(p.length);
    if (!p.rows) return TORT_OK;
    if (kind_of(fit->node->kernel) == PLANES) return cuda_table_fit(fit, count * sizeof(gpu_conv_offset), fill_planes);
    return cuda_table_fit(fit, (count / (size_t)part_of(&p) + 2 * GPU_NHWC_AHEAD) * sizeof(gpu_nhwc_offset),
                          fill_offsets);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static gpu_linear linear_of(const tort_call *call, int32_t scale) {
    return (gpu_linear){cuda_input(call, scale), cuda_input(call, scale + 1)};
}

static gpu_bytes_conv conv_of(const tort_call *call) {
    gpu_bytes_conv conv = {.images = tort_cuda_nhwc_images_of(call->params),
                           .sums = tort_cuda_sums_of(call, inputs_of(call->op))};
    if (call->kernel->variant & SUM)
        conv.sums.added = (gpu_added){.bytes = cuda_input(call, TORT_CONV_ADD_S),
                                      .second = ((const tort_conv_add *)call->params)->second,
                                      .from = linear_of(call, TORT_CONV_ADD_S + 1),
                                      .to = linear_of(call, TORT_CONV_ADD_Y)};
    return conv;
}

/* X for kernels that load pieces: a copy, behind so many bytes of scratch memory, of one in the model's order that does
 * not begin at one, as a part of another tensor may. */
static tort_status aligned_input(const tort_call *call, size_t behind, const void **x) {
    const tort_tensor *given = &call->inputs[0];
    *x = given->data;
    if (!(call->kernel->variant & AS_IS) || (uintptr_t)given->data % 16 == 0) return TORT_OK;
    char *copy = (char *)call->scratch + (behind + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN;
    *x = copy;
    return cuda_copied(call, copy, given->data, (size_t)tort_count(given));
}

static tort_status run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const cuda_table *table = call->fitted;
    const tort_conv_params *params = call->params;
    gpu_bytes_conv p = conv_of(call);
    if (!p.images.rows || !table) return TORT_OK;
    p.images.length = packed_length(call->kernel, params);
    p.padding = (const char *)call->packed + params->filters * (p.images.length + (int64_t)sizeof(int32_t));
    if (kind_of(call->kernel) == PLANES)
        p.planes = table->entries;
    else
        p.images.offsets = table->entries;
    const gpu_tiling tiling = tiling_of(&p.images, stream->device->board);
    const gpu_parts parts = {call->scratch, stream->arrivals};
    gpu_byte_operands o = {.packed = call->packed, .y = call->outputs[0].data};
    const tort_status status = aligned_input(call, tiling.scratch, &o.a);
    return status ? status : cuda_launched(call, gpu_run_bytes_conv(cuda_stream_of(call), &p, &o, &tiling, &parts));
}

static tort_status run_depthwise(const tort_call *call) {
    const gpu_bytes_conv p = conv_of(call);
    const void *x;
    const tort_status status = aligned_input(call, 0, &x);
    if (status) return status;
    return cuda_launched(call,
                         gpu_run_bytes_depthwise(cuda_stream_of(call), &p, x, call->packed, call->outputs[0].data));
}

static tort_status run_direct(const tort_call *call) {
    gpu_bytes_conv p = conv_of(call);
    p.last = call->kernel->variant & AS_IS;
    return cuda_launched(call, gpu_run_bytes_direct(cuda_stream_of(call), &p, call->inputs[0].data,
                                                    call->inputs[inputs_of(call->op)->b].data, call->outputs[0].data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PACKED(domain_, op_, name_, variant_, claim_, run_)                                                            \
    .domain = domain_, .op = op_, .name = name_, .variant = (variant_), .claim = claim_, .size = size,                 \
    .pack.size = pack_size, .pack.ready = CUDA_ONLY(ready), .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run_),     \
    .in_place = (variant_)&SUM ? 1u << TORT_CONV_ADD_S : 0
#define FITTED .fit = CUDA_ONLY(fit), .unfit = CUDA_ONLY(cuda_table_unfit)
#define IN_LAYOUT(images)                                                                                              \
    .layout.id = GPU_NHWC, .layout.inputs = images, .layout.outputs = 1, .layout.alone = pays_alone
#define DIRECTLY(domain_, op_, name_, more)                                                                            \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .variant = DIRECT | (more), .claim = claim, .size = size,         \
        .prepare = CUDA_ONLY(prepare_direct), .run = CUDA_ONLY(run_direct)                                             \
    }
/* added: the mask of the input that is added. */
#define ROWS(domain_, op_, more, added)                                                                                \
    {PACKED(domain_, op_, "conv_bytes_depthwise", DEPTHWISE | (more), claim_depthwise, run_depthwise),                 \
     IN_LAYOUT(1 | (added))},                                                                                          \
        {PACKED(domain_, op_, "conv_bytes", CHANNELS_LAST | (more), claim_channels_last, run), FITTED,                 \
         IN_LAYOUT(1 | (added))},                                                                                      \
        {PACKED(domain_, op_, "conv_bytes_planes", PLANES | (more), claim_planes, run), FITTED, IN_LAYOUT(added)},     \
        {PACKED(domain_, op_, "conv_bytes_shifted", CHANNELS_LAST | SHIFTED | (more), claim_channels_last, run),       \
         FITTED, IN_LAYOUT(1 | (added))},                                                                              \
        {PACKED(domain_, op_, "conv_bytes_planes_shifted", PLANES | SHIFTED | (more), claim_planes, run), FITTED,      \
         IN_LAYOUT(added)},                                                                                            \
        DIRECTLY(domain_, op_, "conv_bytes_direct", more)

const tort_kernel tort_cuda_conv_bytes_kernels[] = {
    ROWS("", "QLinearConv", 0, 0),
    ROWS("com.microsoft", "QLinearConv", 0, 0),
    ROWS("tinyort", "QLinearConvAdd", SUM, 1u << TORT_CONV_ADD_S),
    {PACKED("com.microsoft", "QLinearConv", "conv_bytes_depthwise_as_is", DEPTHWISE | AS_IS, claim_depthwise,
            run_depthwise)},
    {PACKED("com.microsoft", "QLinearConv", "conv_bytes_as_is", CHANNELS_LAST | AS_IS, claim_channels_last, run),
     FITTED},
    {PACKED("com.microsoft", "QLinearConv", "conv_bytes_shifted_as_is", CHANNELS_LAST | SHIFTED | AS_IS,
            claim_channels_last, run),
     FITTED},
    DIRECTLY("com.microsoft", "QLinearConv", "conv_bytes_direct_as_is", AS_IS),
    DIRECTLY("", "ConvInteger", "conv_bytes_direct", 0),
    {.op = NULL},
};
