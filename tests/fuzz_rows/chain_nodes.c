/* chain_nodes.c - the nodes of a random chain, and how often each comes. Read first: chain.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz_rows/chain.h"

enum { MAX_ELEMENTS = 40000, MAX_PRODUCTS = 3000000 };

/* ---- windows ----------------------------------------------------------------------------------------------------- */

typedef struct window {
    int32_t axes;
    int64_t kernel[3], strides[3], dilations[3], pads[6];
    const char *auto_pad; /* NULL: pads */
} window;

/* The filter of most pictures. */
static void draw_usual(const chain_value *x, window *w, chain_value *y) {
    for (int32_t i = 0; i < w->axes; i++) {
        w->kernel[i] = 3;
        w->strides[i] = w->dilations[i] = w->pads[i] = w->pads[w->axes + i] = 1;
        y->dims[i + 2] = x->dims[i + 2];
    }
}

/* Also the spatial dims of y. False: it does not fit. */
static bool draw_window(random_source *r, const chain_value *x, bool pool, window *w, chain_value *y) {
    *w = (window){.axes = x->rank - 2};
    const bool square = chance(r, 60), steps = chance(r, 35), dilated = !pool && chance(r, 20), padded = chance(r, 70);
    if (chance(r, 12)) w->auto_pad = chance(r, 50) ? "SAME_UPPER" : "SAME_LOWER";
    for (int32_t i = 0; i < w->axes; i++) {
        w->kernel[i] = square && i ? w->kernel[0] : draw(r, 1, chance(r, 15) ? 5 : 3);
        w->strides[i] = steps ? draw(r, 1, 3) : 1;
        w->dilations[i] = dilated ? 2 : 1;
        const int64_t extent = (w->kernel[i] - 1) * w->dilations[i] + 1, size = x->dims[i + 2];
        const int64_t max = pool ? w->kernel[i] - 1 : extent;
        if (padded && !w->auto_pad) {
            const bool same = chance(r, 60);
            w->pads[i] = same ? (extent - 1) / 2 : draw(r, 0, max);
            w->pads[w->axes + i] = same ? (extent - 1) / 2 : draw(r, 0, max);
        }
        const int64_t room = size + w->pads[i] + w->pads[w->axes + i] - extent;
        if (!w->auto_pad && room < 0) return false;
        y->dims[i + 2] = w->auto_pad ? (size + w->strides[i] - 1) / w->strides[i] : room / w->strides[i] + 1;
    }
    return true;
}

static void write_window(chain *c, const window *w, bool pool) {
    chain_ints(c, "kernel_shape", w->axes, w->kernel);
    chain_ints(c, "strides", w->axes, w->strides);
    if (!pool) chain_ints(c, "dilations", w->axes, w->dilations);
    if (w->auto_pad)
        chain_string(c, "auto_pad", w->auto_pad);
    else
        chain_ints(c, "pads", 2 * w->axes, w->pads);
}

static int64_t draw_group(random_source *r, int64_t channels) {
    const int64_t kind = draw(r, 1, 100), some = draw(r, 2, 8);
    if (kind <= 22) return channels; /* depthwise, mostly */
    return kind <= 34 && channels % some == 0 ? some : 1;
}

/* Keeps sums at the size of what is summed. */
static double scale_of(int64_t products) {
    return exp2(-round(log2((double)products) / 2));
}

static bool draw_filter(chain *c, const chain_value *x, window *w, chain_value *y) {
    if (!c->pictures || !chance(c->random, 50)) return draw_window(c->random, x, false, w, y);
    *w = (window){.axes = x->rank - 2};
    draw_usual(x, w, y);
    return true;
}

/* com.microsoft's FusedConv, with what is added if there is a value for it. */
static void write_fused(chain *c, chain_value *x, const char *weight, const char *bias, const chain_value *y) {
    static const char *const names[] = {"Relu", "Sigmoid", "Tanh"};
    char others[3 * CHAIN_NAME + 3];
    chain_value *added = chance(c->random, 70) ? chain_like(c, y, false) : NULL;
    if (added) added->readers++;
    snprintf(others, sizeof others, "%s %s %s", weight, *bias ? bias : "-", added ? added->name : "-");
    chain_node(c, "FusedConv", x, others, chain_add_value(c, y)->name);
    onnx_text(&c->bytes, NODE_DOMAIN, "com.microsoft");
    chain_string(c, "activation", names[draw(c->random, 0, 2)]);
}

void chain_add_conv(chain *c) {
    random_source *r = c->random;
    chain_value *x = chain_any(c), y = *x;
    char weight[CHAIN_NAME], bias[CHAIN_NAME] = "", others[2 * CHAIN_NAME + 2];
    window w;
    if (x->rank < 3 || !draw_filter(c, x, &w, &y)) return;
    const int64_t group = draw_group(r, x->dims[1]), depth = x->dims[1] / group;
    y.dims[1] = group == x->dims[1] ? group * draw(r, 1, 2) : group > 1 ? group * draw(r, 1, 9) : chain_channels(c);
    int64_t dims[5] = {y.dims[1], depth}, products = depth;
    for (int32_t i = 0; i < w.axes; i++) products *= dims[i + 2] = w.kernel[i];
    if (chain_elements(&y) > MAX_ELEMENTS || chain_elements(&y) * products > MAX_PRODUCTS) return;
    chain_weight(c, weight, x->rank, dims, scale_of(products), false);
    if (chance(r, 70)) chain_weight(c, bias, 1, dims, 1, false);
    snprintf(others, sizeof others, "%s %s", weight, bias);
    if (c->type == TORT_FLOAT && chance(r, 15))
        write_fused(c, x, weight, bias, &y);
    else
        chain_node(c, "Conv", x, others, chain_add_value(c, &y)->name);
    onnx_int_attribute(&c->bytes, "group", group);
    write_window(c, &w, false);
    chain_end(c);
}

static void add_conv_transpose(chain *c) {
    random_source *r = c->random;
    chain_value *x = chain_any(c), y = *x;
    char weight[CHAIN_NAME];
    if (x->rank < 3) return;
    y.dims[1] = draw(r, 1, 20);
    int64_t dims[5] = {x->dims[1], y.dims[1]}, strides[3], products = y.dims[1];
    for (int32_t i = 0; i + 2 < x->rank; i++) {
        products *= dims[i + 2] = draw(r, 1, 3);
        strides[i] = draw(r, 1, 2);
        y.dims[i + 2] = (x->dims[i + 2] - 1) * strides[i] + dims[i + 2];
    }
    if (chain_elements(&y) > MAX_ELEMENTS || chain_elements(x) * products > MAX_PRODUCTS) return;
    chain_weight(c, weight, x->rank, dims, scale_of(x->dims[1]), false);
    chain_node(c, "ConvTranspose", x, weight, chain_add_value(c, &y)->name);
    chain_ints(c, "strides", x->rank - 2, strides);
    chain_end(c);
}

static void add_pool(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    const bool average = chance(c->random, 45);
    window w;
    if (x->rank < 3 || !draw_window(c->random, x, true, &w, &y)) return;
    chain_node(c, average ? "AveragePool" : "MaxPool", x, "", chain_add_value(c, &y)->name);
    write_window(c, &w, true);
    if (average) onnx_int_attribute(&c->bytes, "count_include_pad", draw(c->random, 0, 1));
    chain_end(c);
}

static void add_global_pool(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    if (x->rank < 3) return;
    for (int32_t d = 2; d < y.rank; d++) y.dims[d] = 1;
    chain_node(c, chance(c->random, 70) ? "GlobalAveragePool" : "GlobalMaxPool", x, "", chain_add_value(c, &y)->name);
    chain_end(c);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

void chain_add_unary(chain *c) {
    static const char *const names[] = {"Relu",        "Relu",     "Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish",
                                        "HardSigmoid", "Softplus", "Elu",  "Mish",      "Gelu",    "Neg",  "Abs"};
    chain_value *x = chain_any(c);
    const char *op = names[draw(c->random, 0, sizeof names / sizeof *names - 1)];
    chain_node(c, op, x, "", chain_add_value(c, x)->name);
    if (strcmp(op, "LeakyRelu") == 0) chain_float(c, "alpha", 0.125f);
    chain_end(c);
}

void chain_add_relu(chain *c) {
    chain_value *x = &c->values[c->value_count - 1];
    chain_node(c, "Relu", x, "", chain_add_value(c, x)->name);
    chain_end(c);
}

static void add_clip(chain *c) {
    chain_value *x = chain_any(c);
    char low[CHAIN_NAME], high[CHAIN_NAME], both[2 * CHAIN_NAME + 2];
    chain_weight(c, low, 0, NULL, -1, true);
    chain_weight(c, high, 0, NULL, 2, true);
    snprintf(both, sizeof both, "%s %s", low, high);
    chain_node(c, "Clip", x, both, chain_add_value(c, x)->name);
    chain_end(c);
}

/* A value of the same shape, or a constant: one a channel, or one for all. */
static void add_binary(chain *c) {
    static const char *const names[] = {"Add", "Add", "Add", "Mul", "Sub", "Max", "Min"};
    random_source *r = c->random;
    chain_value *x = chain_any(c), *other = chance(r, 65) ? chain_like(c, x, false) : NULL;
    char weight[CHAIN_NAME];
    int64_t dims[5] = {x->dims[1], 1, 1, 1};
    if (other)
        other->readers++;
    else
        chain_weight(c, weight, chance(r, 70) ? x->rank - 1 : 0, dims, 1, false);
    const char *op = names[draw(r, 0, sizeof names / sizeof *names - 1)];
    chain_node(c, op, x, other ? other->name : weight, chain_add_value(c, x)->name);
    chain_end(c);
}

/* x * sigmoid(x); and x * sigmoid(its mean), as squeeze and excitation end. */
static void add_gate(chain *c) {
    chain_value *x = chain_any(c), *mean = x;
    if (x->rank < 3) return;
    if (chance(c->random, 60)) {
        mean = chain_add_value(c, x);
        for (int32_t d = 2; d < x->rank; d++) mean->dims[d] = 1;
        chain_node(c, "GlobalAveragePool", x, "", mean->name);
        chain_end(c);
    }
    chain_value *gate = chain_add_value(c, mean);
    chain_node(c, chance(c->random, 50) ? "Sigmoid" : "HardSigmoid", mean, "", gate->name);
    chain_end(c);
    gate->readers++;
    chain_node(c, "Mul", x, gate->name, chain_add_value(c, x)->name);
    chain_end(c);
}

/* ---- one number a channel ---------------------------------------------------------------------------------------- */

static void add_batch_norm(chain *c) {
    chain_value *x = chain_any(c);
    char names[4][CHAIN_NAME], all[4 * CHAIN_NAME + 4];
    if (x->rank < 2) return;
    for (int32_t i = 0; i < 4; i++) chain_weight(c, names[i], 1, &x->dims[1], 1, i == 0 || i == 3);
    snprintf(all, sizeof all, "%s %s %s %s", names[0], names[1], names[2], names[3]);
    chain_node(c, "BatchNormalization", x, all, chain_add_value(c, x)->name);
    chain_end(c);
}

static void add_instance_norm(chain *c) {
    chain_value *x = chain_any(c);
    char names[2][CHAIN_NAME], both[2 * CHAIN_NAME + 2];
    int64_t size = 1;
    for (int32_t d = 2; d < x->rank; d++) size *= x->dims[d];
    if (x->rank < 3 || size < 8) return; /* of few elements a variance may nearly cancel */
    for (int32_t i = 0; i < 2; i++) chain_weight(c, names[i], 1, &x->dims[1], 1, i == 0);
    snprintf(both, sizeof both, "%s %s", names[0], names[1]);
    chain_node(c, "InstanceNormalization", x, both, chain_add_value(c, x)->name);
    chain_float(c, "epsilon", 0.05f);
    chain_end(c);
}

static void add_prelu(chain *c) {
    chain_value *x = chain_any(c);
    char slope[CHAIN_NAME];
    const int64_t dims[4] = {x->dims[1], 1, 1, 1};
    if (x->rank < 3) return;
    chain_weight(c, slope, x->rank - 1, dims, 1, false);
    chain_node(c, "PRelu", x, slope, chain_add_value(c, x)->name);
    chain_end(c);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

static void add_concat(chain *c) {
    chain_value *x = chain_any(c), *other = chain_like(c, x, true), y = *x;
    if (x->rank < 3 || !other) return;
    y.dims[1] += other->dims[1];
    if (chain_elements(&y) > MAX_ELEMENTS) return;
    other->readers++;
    chain_node(c, "Concat", x, other->name, chain_add_value(c, &y)->name);
    onnx_int_attribute(&c->bytes, "axis", 1);
    chain_end(c);
}

static void add_split(chain *c) {
    chain_value *x = chain_any(c), part = *x;
    char sizes[CHAIN_NAME], outputs[2 * CHAIN_NAME + 2];
    if (x->rank < 3 || x->dims[1] < 2) return;
    const int64_t first = chance(c->random, 50) ? x->dims[1] / 2 : draw(c->random, 1, x->dims[1] - 1);
    const int64_t both[2] = {first, x->dims[1] - first};
    chain_list(c, sizes, 2, both);
    part.dims[1] = both[0];
    const chain_value *a = chain_add_value(c, &part);
    part.dims[1] = both[1];
    snprintf(outputs, sizeof outputs, "%s %s", a->name, chain_add_value(c, &part)->name);
    chain_node(c, "Split", x, sizes, outputs);
    onnx_int_attribute(&c->bytes, "axis", 1);
    chain_end(c);
}

static void add_transpose(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    int64_t perm[5] = {0, 1, 2, 3, 4};
    for (int32_t i = x->rank - 1; i > 1; i--) { /* the batch, which may be open, stays first */
        const int64_t other = draw(c->random, 1, i), had = perm[i];
        perm[i] = perm[other];
        perm[other] = had;
    }
    for (int32_t i = 0; i < x->rank; i++) y.dims[i] = x->dims[perm[i]];
    chain_node(c, "Transpose", x, "", chain_add_value(c, &y)->name);
    chain_ints(c, "perm", x->rank, perm);
    chain_end(c);
}

static void add_resize(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    char others[CHAIN_NAME + 8], name[CHAIN_NAME];
    const float scales[5] = {1, 1, 2, 2, 2};
    const int64_t count = x->rank;
    if (x->rank < 3) return;
    for (int32_t d = 2; d < x->rank; d++) y.dims[d] *= 2;
    if (chain_elements(&y) > MAX_ELEMENTS) return;
    snprintf(name, sizeof name, "w%d", c->weight_count++);
    onnx_tensor(&c->bytes, GRAPH_INITIALIZER, name, TORT_FLOAT, 1, &count, scales, (size_t)count * sizeof *scales);
    snprintf(others, sizeof others, "- %s", name);
    chain_node(c, "Resize", x, others, chain_add_value(c, &y)->name);
    if (chance(c->random, 50)) chain_string(c, "mode", "linear");
    chain_end(c);
}

static void add_pad(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    int64_t pads[10] = {0};
    char name[CHAIN_NAME];
    if (x->rank < 3) return;
    for (int32_t d = 2; d < x->rank; d++) {
        pads[d] = draw(c->random, 0, 2);
        pads[x->rank + d] = draw(c->random, 0, 2);
        y.dims[d] += pads[d] + pads[x->rank + d];
    }
    if (chain_elements(&y) > MAX_ELEMENTS) return;
    chain_list(c, name, 2 * x->rank, pads);
    chain_node(c, "Pad", x, name, chain_add_value(c, &y)->name);
    chain_end(c);
}

/* ---- sums over axes ---------------------------------------------------------------------------------------------- */

static void add_softmax(chain *c) {
    chain_value *x = chain_any(c);
    chain_node(c, "Softmax", x, "", chain_add_value(c, x)->name);
    onnx_int_attribute(&c->bytes, "axis", chance(c->random, 50) ? 1 : -1);
    chain_end(c);
}

static void add_mean(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    char axes[CHAIN_NAME];
    const int64_t numbers[3] = {2, 3, 4};
    const bool keeps = chance(c->random, 50);
    if (x->rank < 3) return;
    for (int32_t d = 2; d < x->rank; d++) y.dims[d] = 1;
    if (!keeps) y.rank = 2;
    chain_list(c, axes, x->rank - 2, numbers);
    chain_node(c, "ReduceMean", x, axes, chain_add_value(c, &y)->name);
    onnx_int_attribute(&c->bytes, "keepdims", keeps);
    chain_end(c);
}

static void add_product(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    char weight[CHAIN_NAME], bias[CHAIN_NAME], both[2 * CHAIN_NAME + 2];
    const int64_t depth = x->dims[x->rank - 1], dims[2] = {depth, draw(c->random, 1, 40)};
    y.dims[y.rank - 1] = dims[1];
    if (chain_elements(&y) > MAX_ELEMENTS || chain_elements(&y) * depth > MAX_PRODUCTS) return;
    chain_weight(c, weight, 2, dims, scale_of(depth), false);
    if (x->rank > 2) {
        chain_node(c, "MatMul", x, weight, chain_add_value(c, &y)->name);
    } else {
        chain_weight(c, bias, 1, &dims[1], 1, false);
        snprintf(both, sizeof both, "%s %s", weight, bias);
        chain_node(c, "Gemm", x, both, chain_add_value(c, &y)->name);
    }
    chain_end(c);
}

static void add_flatten(chain *c) {
    chain_value *x = chain_any(c), y = *x;
    y.rank = 2;
    y.dims[1] = chain_elements(x) / x->dims[0];
    chain_node(c, "Flatten", x, "", chain_add_value(c, &y)->name);
    chain_end(c);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void chain_add(chain *c) {
    static const struct {
        void (*add)(chain *c);
        int32_t weight;
    } table[] = {
        {chain_add_conv, 34},
        {chain_add_unary, 14},
        {add_clip, 3},
        {add_binary, 12},
        {add_gate, 4},
        {add_batch_norm, 5},
        {add_instance_norm, 2},
        {add_prelu, 2},
        {add_concat, 7},
        {add_split, 4},
        {add_pool, 8},
        {add_global_pool, 2},
        {add_resize, 3},
        {add_pad, 2},
        {add_transpose, 3},
        {add_softmax, 2},
        {add_mean, 2},
        {add_product, 3},
        {add_flatten, 1},
        {add_conv_transpose, 3},
        {chain_add_quantized, 8},
    };
    if (c->value_count + 3 > CHAIN_VALUES) return;
    const int32_t count = sizeof table / sizeof *table;
    int64_t all = 0, at = 0;
    for (int32_t i = 0; i < count; i++) all += table[i].weight;
    int64_t drawn = draw(c->random, 1, all);
    while ((drawn -= table[at].weight) > 0) at++;
    table[at].add(c);
}
