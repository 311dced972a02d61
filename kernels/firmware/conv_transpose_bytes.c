/* conv_transpose_bytes.c - QLinearConvTranspose over one or two axes, channels last: a convolution for each phase of
 * the strides, by the loops of convolutions of bytes. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/nhwc.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"

#include <string.h>

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS }; /* inputs */
enum { MAX_STRIDE = 64 };                                               /* each phase has weights of its own */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    static const int32_t constants[] = {X_SCALE, X_ZERO, W_SCALE, Y_SCALE, Y_ZERO, BIAS};
    const tort_conv_params *p = node->params;
    (void)target;
    tort_verdict verdict = tort_firmware_claim_window(&p->window);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_weights(node, W, W_ZERO);
    for (size_t i = 0; verdict.code == TORT_YES && i < sizeof constants / sizeof *constants; i++)
        verdict = tort_firmware_claim_constant(node, constants[i], "a scale, zero point or bias");
    for (int32_t i = 0; verdict.code == TORT_YES && i < p->window.axes; i++) {
        if (p->window.dilations[i] != 1) verdict = tort_no(TORT_NO_ATTR, "", "dilations are for float alone");
        if (p->window.strides[i] > MAX_STRIDE)
            verdict = tort_no(TORT_NO_ATTR, "", "a stride of %lld, bytes have at most %d",
                              (long long)p->window.strides[i], MAX_STRIDE);
    }
    return verdict;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* Taps of a phase along one axis, at least one; conv_transpose_bytes.h. */
static int32_t taps_of(int32_t phase, int32_t kernel, int32_t stride) {
    return phase < kernel ? (kernel - phase + stride - 1) / stride : 1;
}

/* The filters of phase number `phase`: groups are those of all phases. */
static tort_firmware_filters filters_of(const tort_firmware_bytes *form, const tort_conv_params *p, int32_t phase) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const int64_t taps = (int64_t)taps_of(phase / w.stride_w, w.kernel_h, w.stride_h) *
                         taps_of(phase % w.stride_w, w.kernel_w, w.stride_w);
    return tort_firmware_filters_of(form, p->group * w.stride_h * w.stride_w, p->filters / p->group,
                                    taps * (p->channels / p->group));
}

static int32_t phases_of(const tort_conv_params *p) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    return w.stride_h * w.stride_w;
}

static size_t phase_bytes(const tort_firmware_bytes *form, const tort_conv_params *p, int32_t phase) {
    const tort_firmware_filters f = filters_of(form, p, phase);
    return (size_t)(p->group * f.padded * f.depth);
}

static size_t weight_bytes(const tort_firmware_bytes *form, const tort_conv_params *p) {
    size_t bytes = 0;
    for (int32_t phase = 0; phase < phases_of(p); phase++) bytes += phase_bytes(form, p, phase);
    return bytes;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    const tort_conv_params *p = node->params;
    const tort_firmware_filters f = filters_of(form, p, 0); /* no other phase has more taps */
    *consumed = 1u << W | 1u << W_SCALE | 1u << BIAS;
    if (!tort_firmware_packed_bytes(&f, bytes))
        return tort_fail(error, TORT_E_MODEL, "a filter has %lld weights, firmware sums at most %d",
                         (long long)f.length, TORT_FIRMWARE_LONGEST);
    *bytes = sizeof(tort_firmware_packed) + (size_t)(f.groups * f.padded) * (sizeof(int32_t) + sizeof(float)) +
             weight_bytes(form, p);
    return TORT_OK;
}

/* Copies the taps that a phase has of filter m in a group, last ones first, to (position, channel) as int8. */
static void read_filter(const tort_node_view *node, const tort_conv_params *p, int32_t phase, int64_t group, int64_t m,
                        int8_t *to) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    const int32_t tall = taps_of(phase / w.stride_w, w.kernel_h, w.stride_h),
                  wide = taps_of(phase % w.stride_w, w.kernel_w, w.stride_w);
    const int64_t channels = p->channels / p->group, filters = p->filters / p->group;
    const uint8_t *from = node->inputs[W].data, flip = (uint8_t)tort_firmware_flip(node->inputs[W].type);
    for (int32_t i = tall - 1; i >= 0; i--)
        for (int32_t k = wide - 1; k >= 0; k--) {
            const int32_t h = phase / w.stride_w + i * w.stride_h, v = phase % w.stride_w + k * w.stride_w;
            for (int64_t c = group * channels; c < (group + 1) * channels; c++)
                *to++ = h < w.kernel_h && v < w.kernel_w
                            ? (int8_t)(from[((c * filters + m) * w.kernel_h + h) * w.kernel_w + v] ^ flip)
                            : 0;
        }
}

/* Packs the filters of a phase, whose weights begin at `to`. */
static tort_status pack_phase(tort_prepare *prepare, int32_t phase, int8_t *w, int8_t *to) {
    const tort_node_view *node = prepare->node;
    const tort_conv_params *p = node->params;
    const tort_firmware_bytes *form = prepare->device;
    const tort_firmware_filters f = filters_of(form, p, phase);
    const float x_scale = (float)tort_firmware_number(node, X_SCALE, 0, 1);
    const float y_scale = (float)tort_firmware_number(node, Y_SCALE, 0, 1);
    const int64_t scales = tort_firmware_count(node, W_SCALE);
    tort_firmware_packed *head = prepare->packed;
    tort_status status = TORT_OK;
    for (int64_t i = 0; !status && i < p->filters; i++) {
        const int64_t group = i / f.filters, m = i % f.filters;
        const float factor = x_scale * (float)tort_firmware_number(node, W_SCALE, m % scales, 1) / y_scale;
        read_filter(node, p, phase, group, m, w);
        status = tort_firmware_pack_filter(&f, phase * p->group + group, m, w, tort_firmware_number(node, BIAS, i, 0),
                                           factor, head->x_zero - tort_firmware_flip(node->inputs[X].type), head,
                                           prepare->error);
        tort_firmware_store_filter(form, &f, m, w, to + group * f.padded * f.depth);
    }
    return status;
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const tort_conv_params *p = node->params;
    const tort_firmware_filters max = filters_of(prepare->device, p, 0);
    tort_firmware_packed *head = prepare->packed;
    int8_t *w = tort_alloc(prepare->env, (size_t)max.length + 1);
    int8_t *to = (int8_t *)(uintptr_t)tort_firmware_weights(&max, head);
    tort_status status = w ? TORT_OK : tort_out_of_memory(prepare->error, (size_t)max.length);
    head->x_zero = (int32_t)tort_firmware_number(node, X_ZERO, 0, 0);
    head->y_zero = (int32_t)tort_firmware_number(node, Y_ZERO, 0, 0);
    for (int32_t phase = 0; !status && phase < phases_of(p); phase++) {
        status = pack_phase(prepare, phase, w, to);
        to += phase_bytes(prepare->device, p, phase);
    }
    if (w) tort_free(prepare->env, w, (size_t)max.length + 1);
    return status;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    (void)error;
    *scratch = (size_t)(filters_of(form, node->params, 0).depth * (form->widens ? 5 : 2));
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_firmware_bytes *form = call->device;
    const tort_conv_params *p = call->params;
    const tort_firmware_filters f = filters_of(form, p, 0);
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tort_firmware_packed *head = call->packed;
    const int32_t x_flip = tort_firmware_flip(x->type);
    const size_t all = (size_t)(f.groups * f.padded), biases = sizeof *head, factors = biases + all * sizeof(int32_t);
    const tinyort_conv_transpose_bytes_shape s = {
        .conv = {.rows = tort_firmware_rows(form, &f, x->type, y->type, call->packed),
                 .window = {.at = tort_firmware_window_of(&p->window),
                            .channels = (int32_t)(p->channels / p->group),
                            .pixel = (int32_t)p->channels,
                            .fill = tort_firmware_word((uint8_t)(head->x_zero ^ (form->widens ? 0 : x_flip))),
                            .flip = form->widens ? 0 : tort_firmware_word((uint8_t)x_flip)},
                 .batch = (int32_t)p->batch,
                 .groups = (int32_t)p->group,
                 .straight = p->channels / p->group % 4 == 0,
                 .padded = (int32_t)f.padded},
        .multiple = form->depth};
    tort_firmware_array(call, 0, TORT_INT32, biases, all);
    tort_firmware_array(call, 1, TORT_FLOAT, factors, all);
    tort_firmware_array(call, 2, TORT_INT8, factors + all * sizeof(float), weight_bytes(form, p));
    tort_firmware_define(call, s.conv.rows.wide, s.conv.rows.flip || s.conv.rows.x_flip, false);
    return TORT_FIRMWARE_CALL_FORM(call, form->rows, "tinyort_conv_transpose_bytes", form->conv_transpose, &s, x->data,
                                   tort_firmware_weights(&f, call->packed), tort_firmware_bias(call->packed),
                                   tort_firmware_factors(&f, call->packed), call->scratch, y->data);
}

const tort_kernel tort_firmware_conv_transpose_bytes[] = {
    {"tinyort", "QLinearConvTranspose", "conv_transpose_bytes", .claim = claim, .size = size, .prepare = prepare,
     .pack = {.size = pack_size}, .run = run, .emit = tort_firmware_emit,
     .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = 1, .outputs = 1, .alone = tort_firmware_alone}},
    {.op = NULL},
};
