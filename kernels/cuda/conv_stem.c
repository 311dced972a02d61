/* conv_stem.c - the first convolution of a network for images (its stem): up to 8 taps a row of few channels, which are
 * planes, to filters that are last in memory (nhwc.h). As windows of the layout it would multiply 8 channels where
 * there are 3; element by element it would be bound by instructions.
 *
 * Example: 64 filters of 7x7 for 3 channels, strides of 2 and padding of 3. Windows begin at odd columns, so that a row
 * has a padded tap in front and 7 others: 3 * 7 rows of 8 are 42 quads, padded to 44, or 11 operands of a tensor core.
 * A tile of 8 x 16 outputs sees 21 rows of 3 channels, of which 6 pieces are staged: 6 KiB. Read next: conv_stem.cu. */
#include "kernels/cuda/nhwc.h"
#include "ops/conv.h"

enum { TAPS = 2 * GPU_STEM_QUAD, PIECE = GPU_NHWC_PIECE };

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Columns from the piece in which the window of the first output begins to that window. */
static int32_t behind(const tort_sliding *window) {
    return (int32_t)((PIECE - window->begin[1] % PIECE) % PIECE);
}

static void place_taps(gpu_stem *p, const tort_sliding *window) {
    const int32_t shift = behind(window) % 2, taps = (int32_t)window->kernel[1];
    p->skip = behind(window) - shift;
    p->origin = -(int32_t)window->begin[1] - behind(window);
    p->width = taps + shift <= GPU_STEM_QUAD ? GPU_STEM_QUAD : TAPS;
    for (int32_t tap = shift; tap < shift + taps && tap < TAPS; tap++)
        p->masks[tap / 2] |= tap % 2 ? 0xffff0000u : 0xffffu;
}

static void place_quads(gpu_stem *p, int32_t kernel_rows) {
    const int32_t a_row = p->width / GPU_STEM_QUAD, used = p->channels * kernel_rows * a_row;
    p->quads = (used + 3) / 4 * 4;
    for (int32_t i = 0; i < p->quads && i < GPU_STEM_QUADS; i++) {
        const int32_t row = i / a_row, channel = row / kernel_rows;
        const int32_t staged_row = channel * p->rows + row % kernel_rows;
        if (i < used) p->places[i] = (gpu_stem_quad){staged_row * p->pieces * PIECE + i % a_row * GPU_STEM_QUAD, ~0u};
    }
}

/* The convolution as the kernel takes it. Sizes of the image may not be known yet. */
static gpu_stem stem_of(const tort_conv_params *params) {
    const tort_sliding *window = &params->window;
    gpu_stem p = {.filters = params->filters,
                  .batch = (int32_t)params->batch,
                  .channels = (int32_t)params->channels,
                  .in_h = (int32_t)window->input[0],
                  .in_w = (int32_t)window->input[1],
                  .out_h = (int32_t)window->output[0],
                  .out_w = (int32_t)window->output[1],
                  .stride_h = (int32_t)window->strides[0],
                  .stride_w = (int32_t)window->strides[1],
                  .pad_h = (int32_t)window->begin[0],
                  .epilogue = params->epilogue};
    p.across = (p.out_w + GPU_STEM_COLUMNS - 1) / GPU_STEM_COLUMNS;
    p.tiles = p.across * ((p.out_h + GPU_STEM_ROWS - 1) / GPU_STEM_ROWS);
    place_taps(&p, window);
    p.rows = (GPU_STEM_ROWS - 1) * p.stride_h + (int32_t)window->kernel[0];
    p.pieces = (p.skip + (GPU_STEM_COLUMNS - 1) * p.stride_w + p.width + PIECE) / PIECE;
    p.staged = p.channels * p.rows * p.pieces;
    p.by_rows = gpu_divisor_of(p.rows, GPU_NARROW_MAX);
    p.by_pieces = gpu_divisor_of(p.pieces, GPU_NARROW_MAX);
    place_quads(&p, (int32_t)window->kernel[0]);
    return p;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* True if windows are known, and small enough for the arithmetic of stem_of. */
static bool is_small(const tort_conv_params *params) {
    enum { MAX_CHANNELS = 64, MAX_STRIDE = 4, MAX_PAD = 64, MAX_OUTPUT = 1 << 15 };
    const tort_sliding *window = &params->window;
    bool small = params->channels > 0 && params->channels <= MAX_CHANNELS;
    for (int32_t i = 0; i < window->axes; i++) {
        small = small && window->kernel[i] >= 1 && window->kernel[i] <= TAPS && window->dilations[i] == 1 &&
                window->strides[i] <= MAX_STRIDE && window->begin[i] >= 0 && window->begin[i] <= MAX_PAD &&
                window->output[i] <= MAX_OUTPUT && (!tort_sliding_is_same(window) || window->input[i] > 0);
    }
    return small && window->strides[1] != 3 && behind(window) % 2 + window->kernel[1] <= TAPS;
}

tort_verdict tort_cuda_stem_claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    tort_verdict verdict = tort_cuda_claim_planes(target, node, 2);
    if (verdict.code != TORT_YES) return verdict;
    if (node->inputs[0].type == TORT_FLOAT) return tort_no(TORT_NO_TYPE, "", "float, the kernel takes 16-bit elements");
    if (params->group != 1)
        return tort_no(TORT_NO_ATTR, "", "group=%lld, the kernel has one", (long long)params->group);
    if (params->window.axes == 2 && is_small(params)) {
        const gpu_stem p = stem_of(params);
        if (p.quads <= GPU_STEM_QUADS && gpu_stem_shared(&p) <= GPU_STEM_SHARED) return tort_yes();
    }
    return tort_no(
        TORT_NO_SHAPE, "",
        "windows of more than %d taps a row or %d in all, strides beside 1, 2 and 4, or outputs beyond 2^15 a side",
        TAPS, GPU_STEM_QUADS * GPU_STEM_QUAD);
}

tort_status tort_cuda_stem_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target;
    *scratch = 0;
    return tort_cuda_conv_nhwc_check(node->params, error);
}

static size_t packed_filters(const gpu_stem *p) {
    return (size_t)gpu_pieces(p->filters, GPU_STEM_FILTERS) * GPU_STEM_FILTERS;
}

/* Elements of a window, padded. */
static size_t length_of(const gpu_stem *p) {
    return (size_t)p->quads * GPU_STEM_QUAD;
}

tort_status tort_cuda_stem_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                     uint32_t *consumed, tort_error *error) {
    enum { WEIGHTS = 1 << 1 };
    const gpu_stem p = stem_of(node->params);
    (void)target;
    *consumed = WEIGHTS;
    if (__builtin_mul_overflow(packed_filters(&p), 2 * length_of(&p), bytes))
        return tort_out_of_memory(error, SIZE_MAX);
    return TORT_OK;
}

#ifdef CUDA_DEVICE
#include "runtime/core/base/memory.h"

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* Where element `at` of a filter's windows is packed. */
static size_t place_of(const gpu_stem *p, size_t filter, size_t at) {
    const size_t block = filter / GPU_STEM_FILTERS, of_block = filter % GPU_STEM_FILTERS;
    const size_t half = at / PIECE % 2 ^ (of_block / 4 % 2);
    return (block * length_of(p) + at / 16 * 16) * GPU_STEM_FILTERS + of_block * 16 + half * PIECE + at % PIECE;
}

/* Copies each row of a filter behind its padded tap; all else stays 0. */
static void pack(const tort_conv_params *params, const gpu_stem *p, const uint16_t *from, uint16_t *to) {
    const size_t taps = (size_t)params->window.kernel[1], rows = (size_t)(p->channels * params->window.kernel[0]);
    const size_t shift = (size_t)(behind(&params->window) % 2);
    for (size_t filter = 0; filter < (size_t)p->filters; filter++)
        for (size_t row = 0; row < rows; row++)
            for (size_t tap = 0; tap < taps; tap++)
                to[place_of(p, filter, row * (size_t)p->width + shift + tap)] = *from++;
}

tort_status tort_cuda_stem_ready(tort_prepare *p) {
    const gpu_stem stem = stem_of(p->node->params);
    return tort_cuda_nhwc_loaded(p, gpu_load_stem(gpu_type_of(p->node->inputs[0].type), stem.stride_w));
}

tort_status tort_cuda_stem_prepare(tort_prepare *p) {
    const tort_conv_params *params = p->node->params;
    const gpu_stem stem = stem_of(params);
    const size_t bytes = packed_filters(&stem) * length_of(&stem) * sizeof(uint16_t);
    uint16_t *packed = tort_alloc_zero(p->env, bytes, 1);
    if (!packed) return tort_out_of_memory(p->error, bytes);
    pack(params, &stem, p->node->inputs[1].data, packed);
    const tort_status status = cuda_copy(p->device, NULL, p->packed, packed, bytes, TORT_TO_DEVICE, p->error);
    tort_free(p->env, packed, bytes);
    return status;
}

tort_status tort_cuda_stem_run(const tort_call *call) {
    const gpu_stem p = stem_of(call->params);
    gpu_conv_operands o = tort_cuda_conv_operands(call);
    o.w = call->packed;
    return cuda_launched(call, gpu_run_stem(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, &o));
}
#endif
