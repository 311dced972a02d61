/* fuse_weights.c - fusions that fold constants behind or before a Conv, ConvTranspose or Gemm into its weights and
 * bias.
 *
 * BatchNormalization: (W x + b - mean) * factor + shift is (W factor) x + (b - mean) * factor + shift, with factor =
 * scale / sqrt(var + eps). A Mul behind is its factor; a Mul or Div before scales the weights of a channel of x,
 * whatever the padding; an Add before adds W k to the bias where nothing is padded. So a learnable affine block (y = s
 * x + t, as PP-OCR has between all of its layers) costs nothing. The scaled weights are derived from the model's
 * whenever a kernel packs or uploads them. Read next: batch_norm.c. */
#include "ops/extent.h"
#include "ops/fuse.h"
#include "runtime/include/pattern.h"

#include <float.h>
#include <math.h>

bool tort_match_spread(tort_match *match, const char *name, int32_t rank, int32_t axis, int64_t size, double *numbers) {
    tort_tensor k;
    if (!tort_match_constant(match, name, &k) || k.rank > rank) return false;
    const int32_t at = axis - (rank - k.rank);
    for (int32_t i = 0; i < k.rank; i++)
        if (k.dims[i] != 1 && (i != at || k.dims[i] != size)) return false;
    const bool list = at >= 0 && k.dims[at] != 1;
    for (int64_t i = 0; i < size; i++) numbers[i] = tort_element_at(&k, list ? i : 0);
    return true;
}

bool tort_match_replace_bias(tort_match *match, tort_type type, int64_t count, const double *numbers) {
    tort_tensor made = {.type = type, .rank = 1, .dims = {count}};
    made.data = tort_match_memory(match, (size_t)count * sizeof(double) + 1);
    if (!made.data) return false;
    tort_store_doubles(type, made.data, 0, count, numbers);
    return tort_match_replace(match, "b", &made);
}

/* ---- weights by factors ------------------------------------------------------------------------------------------ */

/* Scales weights (groups, rows, channels, inner) by factors (groups, channels). */
typedef struct scaling {
    tort_type type;
    int64_t groups, rows, channels, inner;
    double factors[];
} scaling;

/* Floats go without a block of doubles: scaling is half of the loading time of DCGAN. */
static void scale_floats(const scaling *s, const float *source, float *out) {
    for (int64_t row = 0; row < s->groups * s->rows; row++) {
        const double *factors = s->factors + row / s->rows * s->channels;
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t i = 0; i < s->inner; i++) *out++ = (float)(*source++ * factors[c]);
    }
}

static void scale_weights(const void *arg, const void *source, void *out) {
    const scaling *s = arg;
    const int64_t rows = s->groups * s->rows, count = rows * s->channels * s->inner;
    double block[TORT_BLOCK];
    if (s->type == TORT_FLOAT) {
        scale_floats(s, source, out);
        return;
    }
    for (int64_t at = 0, row = 0, c = 0, i = 0; at < count; at += TORT_BLOCK) {
        const int64_t some = tort_block_count(count, at);
        tort_load_doubles(s->type, source, at, some, block);
        for (int64_t k = 0; k < some; k++) {
            block[k] *= s->factors[row / s->rows * s->channels + c];
            if (++i < s->inner) continue;
            i = 0;
            if (++c < s->channels) continue;
            c = 0;
            row++;
        }
        tort_store_doubles(s->type, out, at, some, block);
    }
}

/* ---- the factors ------------------------------------------------------------------------------------------------- */

/* Reads a constant of the normalization, a list of `channels` numbers. */
static bool read_list(tort_match *match, const char *name, int64_t channels, tort_tensor *list) {
    return tort_match_constant(match, name, list) && list->rank == 1 && list->dims[0] == channels;
}

#define LARGEST_HALF_FACTOR 256 /* for 16-bit weights, which must not overflow */

static bool factors_fit(const tort_match *match, const double *factors, int64_t count) {
    const double largest = tort_type_bits(tort_match_info(match, "w")->type) == 16 ? LARGEST_HALF_FACTOR : DBL_MAX;
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(factors[i]) <= largest)) return false;
    return true;
}

/* Fills the factors, and the shifts, which are added to the scaled product of x and W, from the bias in `shifts`. False
 * if a value is not such a constant. */
static bool read_norm(tort_match *match, int64_t channels, double *factors, double *shifts) {
    const tort_node_view norm = tort_match_node(match, "y");
    const double epsilon = (double)tort_attr_float(&norm, "epsilon");
    tort_tensor scale, shift, mean, variance;
    if (!read_list(match, "scale", channels, &scale) || !read_list(match, "shift", channels, &shift) ||
        !read_list(match, "mean", channels, &mean) || !read_list(match, "variance", channels, &variance))
        return false;
    for (int64_t i = 0; i < channels; i++) {
        factors[i] = tort_element_at(&scale, i) / sqrt(tort_element_at(&variance, i) + epsilon);
        shifts[i] = (shifts[i] - tort_element_at(&mean, i)) * factors[i] + tort_element_at(&shift, i);
    }
    return true;
}

/* The same for the constant k, by which the product and its bias are multiplied. */
static bool read_factor(tort_match *match, int64_t channels, double *factors, double *shifts) {
    const tort_info *c = tort_match_info(match, "c");
    if (!tort_match_same_shape(match, "c", "y") || !tort_match_spread(match, "k", c->rank, 1, channels, factors))
        return false;
    for (int64_t i = 0; i < channels; i++) shifts[i] *= factors[i];
    return true;
}

/* Scales the weights, of the shape in *shape, and replaces the bias: b (NULL: none) has one number or one per channel
 * and is multiplied by `beta`. */
static bool scale_and_shift(tort_match *match, const scaling *shape, const tort_tensor *b, double beta) {
    const int64_t channels = shape->groups * shape->channels;
    const size_t bytes = (size_t)channels * sizeof(double);
    scaling *s = tort_match_memory(match, sizeof *s + bytes);
    double *shifts = tort_match_memory(match, bytes + 1);
    if (!s || !shifts) return false;
    *s = *shape;
    for (int64_t i = 0; b && i < channels; i++) shifts[i] = beta * tort_element_at(b, tort_count(b) == 1 ? 0 : i);
    const bool factor = tort_match_info(match, "k") != NULL;
    if (!(factor ? read_factor : read_norm)(match, channels, s->factors, shifts) ||
        !factors_fit(match, s->factors, channels))
        return false;
    return tort_match_derive(match, "w", scale_weights, s) &&
           ((factor && !b) || tort_match_replace_bias(match, s->type, channels, shifts));
}

/* ---- Conv, ConvTranspose, Gemm ----------------------------------------------------------------------------------- */

static int64_t kernel_size(const tort_info *w) {
    int64_t size = 1;
    for (int32_t i = 2; i < w->rank; i++) size *= w->dims[i];
    return size;
}

/* Reads the bias: absent, or a list of `channels` numbers. */
static bool read_bias(tort_match *match, int64_t channels, tort_tensor *b, bool *has) {
    *has = tort_match_info(match, "b") != NULL;
    return !*has || read_list(match, "b", channels, b);
}

/* W is (filters, channels / group, kernel...). */
static bool build_conv(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    tort_tensor b;
    bool has;
    if (w->rank < 3 || !read_bias(match, w->dims[0], &b, &has)) return false;
    const scaling shape = {
        .type = w->type, .groups = 1, .rows = 1, .channels = w->dims[0], .inner = w->dims[1] * kernel_size(w)};
    return scale_and_shift(match, &shape, has ? &b : NULL, 1);
}

/* W is (channels, filters / group, kernel...). */
static bool build_conv_transpose(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    const tort_node_view node = tort_match_node(match, "c");
    const int64_t group = tort_attr_int(&node, "group");
    tort_tensor b;
    bool has;
    if (w->rank < 3 || group < 1 || w->dims[0] % group || !read_bias(match, w->dims[1] * group, &b, &has)) return false;
    const scaling shape = {
        .type = w->type, .groups = group, .rows = w->dims[0] / group, .channels = w->dims[1], .inner = kernel_size(w)};
    return scale_and_shift(match, &shape, has ? &b : NULL, 1);
}

/* W is (k, columns), or (columns, k) if transposed; b is equal in all rows, or absent. */
static bool build_gemm(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    const tort_node_view node = tort_match_node(match, "c");
    const bool transposed = tort_attr_int(&node, "transB") != 0, has = tort_match_info(match, "b") != NULL;
    tort_tensor b;
    if (w->rank != 2 || (has && !tort_match_constant(match, "b", &b))) return false;
    const int64_t columns = w->dims[!transposed], k = w->dims[transposed];
    if (has && tort_count(&b) != 1 && (tort_count(&b) != columns || b.dims[b.rank - 1] != columns)) return false;
    const scaling shape = {
        .type = w->type, .groups = 1, .rows = transposed ? 1 : k, .channels = columns, .inner = transposed ? k : 1};
    return scale_and_shift(match, &shape, has ? &b : NULL, (double)tort_attr_float(&node, "beta"));
}

/* ---- constants before a Conv ------------------------------------------------------------------------------------- */

/* The weights by channels of x, with k as factors, in memory of the session; NULL: they are no such constants. */
static scaling *read_before(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w"), *x = tort_match_info(match, "x");
    const tort_node_view node = tort_match_node(match, "y");
    const int64_t group = tort_attr_int(&node, "group");
    if (w->rank < 3 || group < 1 || w->dims[0] % group || !tort_match_same_shape(match, "x", "m")) return NULL;
    const int64_t channels = group * w->dims[1];
    scaling *s = tort_match_memory(match, sizeof *s + (size_t)channels * sizeof(double));
    if (!s || !tort_match_spread(match, "k", x->rank, 1, channels, s->factors)) return NULL;
    s->type = w->type;
    s->groups = group;
    s->rows = w->dims[0] / group;
    s->channels = w->dims[1];
    s->inner = kernel_size(w);
    return s;
}

static bool build_factor_before(tort_match *match) {
    scaling *s = read_before(match);
    if (!s) return false;
    const int64_t channels = s->groups * s->channels;
    const bool divides = tort_match_node(match, "m").op->name[0] == 'D'; /* Div, else Mul */
    for (int64_t i = 0; divides && i < channels; i++) s->factors[i] = 1 / s->factors[i];
    return factors_fit(match, s->factors, channels) && tort_match_derive(match, "w", scale_weights, s);
}

static bool pads_nothing(const tort_node_view *conv) {
    int32_t count;
    const int64_t *pads = tort_attr_ints(conv, "pads", &count);
    for (int32_t i = 0; i < count; i++)
        if (pads[i] != 0) return false;
    return tort_attr_string(conv, "auto_pad")[0] != 'S'; /* SAME_UPPER, SAME_LOWER */
}

/* b + W k: W is (groups, rows, channels, inner). */
static bool build_summand_before(tort_match *match) {
    const tort_node_view conv = tort_match_node(match, "y");
    const scaling *s = read_before(match);
    tort_tensor w, b;
    bool has;
    if (!s || !pads_nothing(&conv)) return false;
    const int64_t filters = s->groups * s->rows;
    double *bias = tort_match_memory(match, (size_t)filters * sizeof(double) + 1);
    if (!bias || !tort_match_constant(match, "w", &w) || !read_bias(match, filters, &b, &has)) return false;
    for (int64_t f = 0, at = 0; f < filters; f++) {
        if (has) bias[f] = tort_element_at(&b, f);
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t i = 0; i < s->inner; i++, at++)
                bias[f] += tort_element_at(&w, at) * s->factors[f / s->rows * s->channels + c];
    }
    return tort_match_replace_bias(match, s->type, filters, bias);
}

#define NORM " y=BatchNormalization{training_mode=0,spatial=1}(c,#scale,#shift,#mean,#variance)"

const tort_pattern tort_patterns_weights[] = {
    {"conv_batch_norm", "*c=Conv(x,#w,#b?)" NORM, "Conv(x,w,b)", build_conv},
    {"conv_transpose_batch_norm", "*c=ConvTranspose(x,#w,#b?)" NORM, "ConvTranspose(x,w,b)", build_conv_transpose},
    {"gemm_batch_norm", "*c=Gemm(x,#w,#b?)" NORM, "Gemm(x,w,b){beta=1}", build_gemm},
    {"conv_factor", "*c=Conv(x,#w,#b?) y=Mul(c,#k)", "Conv(x,w,b)", build_conv},
    {"conv_factor", "*c=ConvTranspose(x,#w,#b?) y=Mul(c,#k)", "ConvTranspose(x,w,b)", build_conv_transpose},
    {"conv_input_factor", "m=Mul|Div(x,#k) *y=Conv(m,#w,b?)", "Conv(x,w,b)", build_factor_before},
    {"conv_input_bias", "m=Add(x,#k) *y=Conv(m,#w,#b?)", "Conv(x,w,b)", build_summand_before},
    {0},
};
