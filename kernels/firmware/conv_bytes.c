/* conv_bytes.c - QLinearConv over one or two axes, channels last: a product of bytes for each output, or, with a filter
 * for each channel, some channels of a pixel at a time, or planes of channels. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/nhwc.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS }; /* inputs */
/* Values of tort_kernel.variant. */
enum { PRODUCT, DEPTHWISE, PLANES };

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* The sizes of planes_dsp.h. */
static tinyort_planes_dsp_shape planes_of(const tort_conv_params *p) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    return (tinyort_planes_dsp_shape){.batch = (int32_t)p->batch,
                                      .taps = (w.kernel_w + 3) / 4 * 4,
                                      .three = w.kernel_h == 3 && w.kernel_w == 3 && w.stride_w <= 2};
}

static size_t plane_bytes(const tort_conv_params *p) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const int64_t rows = (w.out_h - 1) * (int64_t)w.stride_h + w.kernel_h;
    return (size_t)(rows * (((int64_t)w.out_w * w.stride_w + planes_of(p).taps + 1) / 2 * 2) * 2);
}

/* True for an output of the input's size whose planes are small beside it, and fit where a window would. */
static bool takes_planes(const tort_target *target, const tort_conv_params *p) {
    enum { ROOM = 512 };
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    return form->planes && (!form->planes_below || p->channels < form->planes_below) &&
           (form->widens || planes_of(p).three) && !target->banding && w.dilation_h == 1 && w.dilation_w == 1 &&
           w.out_h > 0 && w.out_h == w.height && w.out_w == w.width &&
           (int64_t)w.kernel_h * w.kernel_w < TORT_FIRMWARE_LONGEST / 2 &&
           plane_bytes(p) <= (size_t)w.height * (size_t)w.width * (size_t)p->channels / 3 + ROOM;
}

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static bool is_depthwise(const tort_conv_params *p) {
    return p->group > 1 && p->group == p->channels && p->group == p->filters;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    static const struct {
        int32_t input;
        const char *name;
    } constants[] = {{X_SCALE, "x_scale"}, {X_ZERO, "x_zero_point"}, {W_SCALE, "w_scale"},
                     {Y_SCALE, "y_scale"}, {Y_ZERO, "y_zero_point"}, {BIAS, "B"}};
    const tort_conv_params *p = node->params;
    tort_verdict verdict = tort_firmware_claim_window(&p->window);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_weights(node, W, W_ZERO);
    for (size_t i = 0; verdict.code == TORT_YES && i < sizeof constants / sizeof *constants; i++)
        verdict = tort_firmware_claim_constant(node, constants[i].input, constants[i].name);
    if (verdict.code != TORT_YES || node->kernel->variant == PRODUCT) return verdict;
    if (!is_depthwise(p)) return tort_no(TORT_NO_ATTR, "", "not a filter for each channel");
    if (node->kernel->variant == DEPTHWISE || takes_planes(target, p)) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a plane of a channel takes too much of the arena");
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static tort_firmware_filters filters_of(const tort_firmware_bytes *form, int32_t variant, const tort_conv_params *p) {
    const int64_t positions = tort_sliding_positions(&p->window);
    if (variant == PLANES) {
        const int64_t depth = p->window.kernel[0] * planes_of(p).taps;
        return (tort_firmware_filters){1, p->channels, positions, p->window.axes == 1 ? planes_of(p).taps : depth,
                                       p->channels};
    }
    if (variant == DEPTHWISE) {
        const int64_t padded = (p->channels + form->depthwise - 1) / form->depthwise * form->depthwise;
        return (tort_firmware_filters){1, p->channels, positions, positions, padded};
    }
    return tort_firmware_filters_of(form, p->group, p->filters / p->group, positions * (p->channels / p->group));
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_firmware_filters f = filters_of(tort_firmware_bytes_of(target), node->kernel->variant, node->params);
    *consumed = 1u << W | 1u << W_SCALE | 1u << BIAS;
    if (tort_firmware_packed_bytes(&f, bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "a filter has %lld weights, firmware sums at most %d", (long long)f.length,
                     TORT_FIRMWARE_LONGEST);
}

/* Copies filter m, stored as (channel, position), to (position, channel) as int8. */
static void read_filter(const tort_info *w, int64_t m, int64_t channels, int64_t positions, int8_t *to) {
    const uint8_t *from = (const uint8_t *)w->data + m * channels * positions;
    const uint8_t flip = (uint8_t)tort_firmware_flip(w->type);
    for (int64_t i = 0; i < positions; i++)
        for (int64_t c = 0; c < channels; c++) to[i * channels + c] = (int8_t)(from[c * positions + i] ^ flip);
}

/* Number of channels side by side in the weights of a depthwise convolution, at this channel. */
static int64_t lanes_of(const tort_firmware_bytes *form, int64_t channels, int64_t channel) {
    if (form->depthwise == 1) return channels;
    return !form->interleaved ? form->depthwise : channel / 16 * 16 + 8 < channels ? 16 : 8;
}

/* The place of a channel's bias and factor: see depthwise_mve.h. */
static int64_t place_of(const tort_firmware_bytes *form, int64_t channels, int64_t channel) {
    if (!form->interleaved) return channel;
    if (lanes_of(form, channels, channel) == 8) return channel / 8 * 8 + channel % 8 / 2 + channel % 2 * 4;
    return channel / 16 * 16 + channel % 2 * 8 + channel / 2 % 2 * 4 + channel % 16 / 4;
}

/* Stores the rows of a filter as planes_dsp.h has them. */
static void store_rows(const tort_conv_params *p, const int8_t *w, int8_t *to) {
    const tinyort_sliding window = tort_firmware_window_of(&p->window);
    const tinyort_planes_dsp_shape s = planes_of(p);
    memset(to, 0, (size_t)(window.kernel_h * s.taps));
    for (int32_t kh = 0; kh < window.kernel_h; kh++, to += s.taps)
        for (int32_t kw = 0; kw < window.kernel_w; kw++, w++) {
            to[s.three ? kw + (kw == 2) : kw + (kw % 4 == 1) - (kw % 4 == 2)] = *w;
            if (s.three && kw == 1) to[2] = *w;
        }
}

/* Stores a filter as the loops read it: bytes of a tile of filters in turns; of a depthwise convolution, taps
 * of some channels side by side. */
static void store_filter(const tort_firmware_bytes *form, const tort_firmware_filters *f, bool depthwise, int64_t at,
                         const int8_t *w, int8_t *to) {
    if (depthwise) {
        const int64_t lanes = lanes_of(form, f->filters, at), first = at / lanes * lanes;
        const int64_t back = lanes == 4 && f->filters > 4 ? f->filters - 4 : 0; /* see depthwise_dsp.h */
        const bool whole = !back || first + 4 <= f->filters;
        for (int64_t k = 0; whole && k < f->length; k++) to[first * f->length + k * lanes + at % lanes] = w[k];
        for (int64_t k = 0; back % 4 && at >= back && k < f->length; k++)
            to[(f->padded - 4) * f->length + k * 4 + at - back] = w[k];
        return;
    }
    tort_firmware_store_filter(form, f, at, w, to);
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const tort_conv_params *p = node->params;
    const bool depthwise = node->kernel->variant != PRODUCT;
    const tort_firmware_filters f = filters_of(prepare->device, node->kernel->variant, p);
    const float x_scale = (float)tort_firmware_number(node, X_SCALE, 0, 1);
    const float y_scale = (float)tort_firmware_number(node, Y_SCALE, 0, 1);
    const tort_firmware_bytes *form = prepare->device;
    tort_firmware_packed *head = prepare->packed;
    int8_t *w = tort_alloc(prepare->env, (size_t)f.length + 1);
    tort_status status = w ? TORT_OK : tort_out_of_memory(prepare->error, (size_t)f.length);
    int8_t *packed = (int8_t *)(uintptr_t)tort_firmware_weights(&f, prepare->packed);
    head->x_zero = (int32_t)tort_firmware_number(node, X_ZERO, 0, 0);
    head->y_zero = (int32_t)tort_firmware_number(node, Y_ZERO, 0, 0);
    for (int64_t m = 0; !status && m < p->filters; m++) {
        const int64_t group = depthwise ? 0 : m / f.filters, at = depthwise ? m : m % f.filters;
        const float factor = x_scale * (float)tort_firmware_number(node, W_SCALE, m, 1) / y_scale;
        read_filter(&node->inputs[W], m, p->channels / p->group, tort_sliding_positions(&p->window), w);
        status = tort_firmware_pack_filter(
            &f, group, depthwise ? place_of(form, p->channels, at) : at, w, tort_firmware_number(node, BIAS, m, 0),
            factor, head->x_zero - tort_firmware_flip(node->inputs[X].type), prepare->packed, prepare->error);
        if (!status && (node->kernel->variant == PLANES || (depthwise && form->takes_uint8)))
            status = tort_firmware_unflip(&f, m, w, tort_firmware_flip(node->inputs[X].type), prepare->packed,
                                          prepare->error);
        if (node->kernel->variant == PLANES)
            store_rows(p, w, packed + at * f.depth);
        else
            store_filter(form, &f, depthwise, at, w, packed + group * f.padded * f.depth);
    }
    if (w) tort_free(prepare->env, w, (size_t)f.length + 1);
    return status;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tinyort_window_shape window_of(const tort_conv_params *p, int64_t channels, int32_t zero, int32_t flip) {
    return (tinyort_window_shape){
        .at = tort_firmware_window_of(&p->window),
        .channels = (int32_t)channels,
        .pixel = (int32_t)p->channels,
        .fill = tort_firmware_word((uint8_t)(zero ^ flip)),
        .flip = tort_firmware_word((uint8_t)flip),
    };
}

static tinyort_conv_bytes_shape product_of(const tort_firmware_bytes *form, const tort_firmware_filters *f,
                                           const tort_conv_params *p, tort_type x, tort_type y, const void *packed) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const int32_t zero = ((const tort_firmware_packed *)packed)->x_zero;
    tinyort_conv_bytes_shape s = {
        .rows = tort_firmware_rows(form, f, x, y, packed),
        .window = window_of(p, p->channels / p->group, zero, form->widens ? 0 : tort_firmware_flip(x)),
        .batch = (int32_t)p->batch,
        .groups = (int32_t)p->group,
        .straight = p->channels / p->group % 4 == 0,
        .padded = (int32_t)f->padded};
    const bool inside =
        w.top == 0 && w.left == 0 && (w.out_h - 1) * w.stride_h < w.height && (w.out_w - 1) * w.stride_w < w.width;
    s.direct =
        inside && w.kernel_h == 1 && w.kernel_w == 1 && !s.window.flip && (!form->widens || f->depth == f->length);
    return s;
}

static tinyort_depthwise_shape depthwise_of(const tort_firmware_bytes *form, const tort_firmware_filters *f,
                                            const tort_conv_params *p, tort_type x, tort_type y, const void *packed) {
    return (tinyort_depthwise_shape){.rows = tort_firmware_rows(form, f, x, y, packed),
                                     .window =
                                         window_of(p, p->channels, ((const tort_firmware_packed *)packed)->x_zero, 0),
                                     .batch = (int32_t)p->batch};
}

/* ---- overlap of output and input --------------------------------------------------------------------------------- */

/* The elements along an axis that a window sees from `at` on: *first to *last; none: *first is larger. */
static void clip(int64_t at, int32_t kernel, int32_t dilation, int32_t size, int64_t *first, int64_t *last) {
    const int64_t end = at + (int64_t)(kernel - 1) * dilation;
    *first = at > 0 ? at : 0;
    *last = end < size ? end : size - 1;
}

/* The bytes of the image that the window of an output pixel sees: from *low to *high; none: *low is INT64_MAX. */
static void find_window(const tinyort_sliding *w, int64_t channels, int64_t pixel, int64_t *low, int64_t *high) {
    int64_t top, bottom, left, right;
    clip(pixel / w->out_w * w->stride_h - w->top, w->kernel_h, w->dilation_h, w->height, &top, &bottom);
    clip(pixel % w->out_w * w->stride_w - w->left, w->kernel_w, w->dilation_w, w->width, &left, &right);
    const bool sees = top <= bottom && left <= right;
    *low = sees ? (top * w->width + left) * channels : INT64_MAX;
    *high = sees ? (bottom * w->width + right + 1) * channels : 0;
}

/* Walks over the outputs in the order in which the loop makes them, `together` at a time, from the end of that order:
 * when some are written, windows that come later have not been read yet, nor their own if the loop reads them in place.
 */
static tort_overlap overlap(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const bool depthwise = node->kernel->variant == DEPTHWISE;
    const bool in_place = depthwise || (tort_sliding_positions(&p->window) == 1 && !form->widens);
    const int64_t pixels = (int64_t)w.out_h * w.out_w, together = depthwise ? 1 : 2, size = p->filters;
    tort_overlap found = {.may = p->batch == 1 && (depthwise || p->group == 1) && pixels > 0, .below = 0, .rise = 1};
    int64_t low, high, lowest = INT64_MAX, highest = 0;
    const int64_t steps = (pixels + together - 1) / together;
    for (int64_t step = steps - 1; found.may && step >= 0; step--) {
        const int64_t begin = step * together, end = begin + together < pixels ? begin + together : pixels;
        const int64_t down = pixels - end; /* the first pixel of the same step downwards */
        int64_t own_low = lowest, own_high = highest;
        for (int64_t i = begin; i < end; i++) {
            find_window(&w, p->channels, i, &low, &high);
            own_low = low < own_low ? low : own_low;
            find_window(&w, p->channels, pixels - 1 - i, &low, &high);
            own_high = high > own_high ? high : own_high;
        }
        const int64_t unread_low = in_place ? own_low : lowest, unread_high = in_place ? own_high : highest;
        if (unread_low != INT64_MAX && end * size - unread_low > found.below) found.below = end * size - unread_low;
        if (unread_high && unread_high - down * size > found.rise) found.rise = unread_high - down * size;
        lowest = own_low;
        highest = own_high;
    }
    return found;
}

static tort_rows rows(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    (void)target;
    return tort_firmware_window_rows(&p->window, p->batch);
}

/* ---- run -----------------------------------------------------------------------------------------------------------
 */

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    const tort_firmware_filters f = filters_of(form, node->kernel->variant, p);
    (void)error;
    *scratch = (size_t)(f.depth * (!form->widens ? 2 : p->channels / p->group % 4 ? 5 : 4));
    if (node->kernel->variant == DEPTHWISE) *scratch = (size_t)(f.length * p->channels);
    if (node->kernel->variant == PLANES) *scratch = plane_bytes(p);
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_firmware_bytes *form = call->device;
    const tort_emit *emit = tort_firmware_emit_of(call);
    const tort_firmware_filters f = filters_of(form, call->kernel->variant, call->params);
    const int8_t *w = tort_firmware_weights(&f, call->packed);
    const int32_t *bias = tort_firmware_bias(call->packed);
    const float *factors = tort_firmware_factors(&f, call->packed);
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const bool downwards = emit ? emit->downwards : !call->band && (uintptr_t)y->data > (uintptr_t)x->data;
    tinyort_depthwise_shape narrow = depthwise_of(form, &f, call->params, x->type, y->type, call->packed);
    tinyort_conv_bytes_shape whole = product_of(form, &f, call->params, x->type, y->type, call->packed);
    tinyort_planes_dsp_shape planes = planes_of(call->params);
    planes.rows = narrow.rows;
    planes.window = narrow.window;
    narrow.downwards = whole.downwards = downwards;
    tort_firmware_tell_product(call, &f, &whole.rows);
    if (call->band) tort_firmware_take_band(&narrow.window.at, call->band);
    if (call->band) tort_firmware_take_band(&whole.window.at, call->band);
    if (call->kernel->variant == PLANES)
        return TORT_FIRMWARE_CALL_FORM(call, NULL, "tinyort_planes_dsp", form->planes, &planes, x->data, w, bias,
                                       factors, call->scratch, y->data);
    if (call->kernel->variant == DEPTHWISE)
        return TORT_FIRMWARE_CALL_FORM(call, form->pixels, "tinyort_depthwise", form->run_depthwise, &narrow, x->data,
                                       w, bias, factors, call->scratch, y->data);
    return TORT_FIRMWARE_CALL_FORM(call, form->rows, "tinyort_conv_bytes", form->conv, &whole, x->data, w, bias,
                                   factors, call->scratch, y->data);
}

#define ROW(name_, variant_, in_place_)                                                                                \
    {                                                                                                                  \
        "", "QLinearConv", name_, .claim = claim, .size = size, .overlap = overlap, .rows = rows, .prepare = prepare,  \
                                  .pack = {.size = pack_size}, .run = run, .emit = tort_firmware_emit,                 \
                                  .variant = variant_, .in_place = in_place_, .layout = {                              \
                                      .id = TORT_FIRMWARE_NHWC,                                                        \
                                      .inputs = 1,                                                                     \
                                      .outputs = 1,                                                                    \
                                      .alone = tort_firmware_alone                                                     \
                                  }                                                                                    \
    }

const tort_kernel tort_firmware_conv_bytes[] = {
    ROW("depthwise_bytes", PLANES, 1u << X),
    ROW("depthwise_bytes", DEPTHWISE, 0),
    ROW("conv_bytes", PRODUCT, 0),
    {.op = NULL},
};
