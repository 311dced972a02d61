/* channels_provider.c - an execution provider with a layout of its own, written for readers.
 *
 * A convolution of single pixels is a product over channels, and reads memory in order where the channels of a pixel
 * lie side by side: N, H, W, C in the place of N, C, H, W. So "channels" has a layout, two functions that bring a
 * tensor there and back, and rows that read and write it. The core decides which values are in it, and converts them
 * where others read them. Rows that work element by element are for any layout: they pass on what they get.
 * Read first: tests/fake_provider.c, for what any provider has. Read next: runtime/core/passes/layout.c, which decides.
 */
#include "tests/layouts/channels_provider.h"

/* ---- the layout -------------------------------------------------------------------------------------------------- */

static bool fits(const tort_info *info) {
    return info->type == TORT_FLOAT && info->rank == 4;
}

/* Element c, p of so many channels and pixels goes to p, c; or back, with the counts exchanged. */
static void transpose(const float *from, float *to, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

static tort_status convert(const tort_call *call, bool to_plain) {
    const tort_tensor *x = call->inputs;
    const int64_t channels = x->dims[1], pixels = x->dims[2] * x->dims[3];
    for (int64_t n = 0; n < x->dims[0]; n++) {
        const float *from = (const float *)x->data + n * channels * pixels;
        float *to = (float *)call->outputs->data + n * channels * pixels;
        transpose(from, to, to_plain ? pixels : channels, to_plain ? channels : pixels);
    }
    return TORT_OK;
}

static tort_status from_plain(const tort_call *call) {
    return convert(call, false);
}

static tort_status to_plain(const tort_call *call) {
    return convert(call, true);
}

static const tort_layout layouts[] = {
    {.name = "nhwc", .fits = fits, .bytes = tort_tensor_bytes, .from_plain = from_plain, .to_plain = to_plain},
    {.name = NULL},
};

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static bool all_are(const tort_node_view *node, const char *attribute, int64_t wanted) {
    int32_t count;
    const int64_t *list = tort_attr_ints(node, attribute, &count);
    bool all = true;
    for (int32_t i = 0; i < count; i++) all = all && list[i] == wanted;
    return all;
}

static tort_verdict claim_image(const tort_target *target, const tort_node_view *node) {
    (void)target;
    const tort_info *x = &node->inputs[0];
    if (x->type == TORT_FLOAT && x->rank == 4) return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "channels takes images of float in four dimensions");
}

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_info *w = &node->inputs[1];
    if (w->rank != 4 || w->dims[2] != 1 || w->dims[3] != 1)
        return tort_no(TORT_NO_SHAPE, "", "channels convolves with filters of one pixel");
    if (tort_attr_int(node, "group") != 1 || !all_are(node, "pads", 0) || !all_are(node, "strides", 1))
        return tort_no(TORT_NO_ATTR, "", "channels has no groups, pads or strides");
    return claim_image(target, node);
}

/* Nothing is broadcast but single elements. */
static tort_verdict claim_elements(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_info *x = &node->inputs[i], *y = &node->outputs[0];
        bool same = x->rank == y->rank && y->rank >= 0, one = x->rank >= 0;
        for (int32_t d = 0; d < x->rank; d++) {
            same = same && x->dims[d] == y->dims[d];
            one = one && x->dims[d] == 1;
        }
        if (x->type != TORT_FLOAT) return tort_no(TORT_NO_TYPE, "", "channels computes in float");
        if (!same && !one) return tort_no(TORT_NO_SHAPE, "", "input %d is broadcast", (int)i);
    }
    return tort_yes();
}

/* A product over many channels is worth two conversions. */
static bool pays_alone(const tort_node_view *node) {
    return node->inputs[1].dims[1] >= 64;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Elements from one channel, and from one pixel, to the next. */
typedef struct strides {
    int64_t channel, pixel;
} strides;

static strides strides_of(int64_t channels, int64_t pixels, bool last) {
    return last ? (strides){1, channels} : (strides){pixels, 1};
}

static tort_status convolve(const tort_call *call, bool last) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0], *bias = tort_call_input(call, 2);
    const int64_t in = x->dims[1], out = y->dims[1], pixels = x->dims[2] * x->dims[3];
    const strides from = strides_of(in, pixels, last), to = strides_of(out, pixels, last);
    const float *weights = call->inputs[1].data;
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t m = 0; m < out; m++) {
                const float *a = (const float *)x->data + n * in * pixels + p * from.pixel, *w = weights + m * in;
                float sum = bias ? ((const float *)bias->data)[m] : 0;
                for (int64_t c = 0; c < in; c++) sum += a[c * from.channel] * w[c];
                ((float *)y->data)[n * out * pixels + p * to.pixel + m * to.channel] = sum;
            }
    return TORT_OK;
}

static tort_status average(const tort_call *call, bool last) {
    const tort_tensor *x = &call->inputs[0];
    const int64_t channels = x->dims[1], pixels = x->dims[2] * x->dims[3];
    const strides from = strides_of(channels, pixels, last);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t c = 0; c < channels; c++) {
            const float *a = (const float *)x->data + n * channels * pixels + c * from.channel;
            float sum = 0;
            for (int64_t p = 0; p < pixels; p++) sum += a[p * from.pixel];
            ((float *)call->outputs[0].data)[n * channels + c] = sum / (float)pixels;
        }
    return TORT_OK;
}

static tort_status run_conv_last(const tort_call *call) {
    return convolve(call, true);
}

static tort_status run_conv(const tort_call *call) {
    return convolve(call, false);
}

static tort_status run_average_last(const tort_call *call) {
    return average(call, true);
}

static tort_status run_average(const tort_call *call) {
    return average(call, false);
}

/* In a layout these see lists: all that they know is which elements belong together. */
static tort_status run_relu(const tort_call *call) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] > 0 ? x[i] : 0;
    return TORT_OK;
}

static tort_status run_add(const tort_call *call) {
    const float *a = call->inputs[0].data, *b = call->inputs[1].data;
    const bool one_a = tort_count(&call->inputs[0]) == 1, one_b = tort_count(&call->inputs[1]) == 1;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = a[one_a ? 0 : i] + b[one_b ? 0 : i];
    return TORT_OK;
}

/* Bit 0: input 0, or output 0. An average is of single pixels: it is the same in any layout, and written plain. */
static const tort_kernel rows[] = {
    {.op = "Conv",
     .name = "conv_last",
     .claim = claim_conv,
     .run = run_conv_last,
     .layout = {1, .inputs = 1, .outputs = 1, .alone = pays_alone}},
    {.op = "Conv", .name = "conv_plain", .claim = claim_conv, .run = run_conv},
    {.op = "GlobalAveragePool",
     .name = "average_last",
     .claim = claim_image,
     .run = run_average_last,
     .layout = {1, .inputs = 1}},
    {.op = "GlobalAveragePool", .name = "average_plain", .claim = claim_image, .run = run_average},
    {.op = "Relu",
     .name = "relu",
     .claim = claim_elements,
     .run = run_relu,
     .in_place = 1,
     .layout = {TORT_ANY_LAYOUT, .inputs = 1, .outputs = 1}},
    {.op = "Add",
     .name = "add",
     .claim = claim_elements,
     .run = run_add,
     .in_place = 3,
     .layout = {TORT_ANY_LAYOUT, .inputs = 3, .outputs = 1}},
    {.op = NULL},
};

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static void open_channels(const tort_provider_config *config, void **device, tort_target *target,
                          tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "exists in tests only"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static const tort_kernel *const tables[] = {rows, NULL};
const tort_provider channels_provider = {.abi = TORT_PROVIDER_ABI,
                                         .name = "channels",
                                         .summary = "for tests: images with the channels last",
                                         .host_memory = true,
                                         .kernels = tables,
                                         .open = open_channels,
                                         .layouts = layouts};
