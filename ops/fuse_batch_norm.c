/* fuse_batch_norm.c - fusions that fold BatchNormalization into the weights of the Conv, ConvTranspose or Gemm before
 * it: (W x + b - mean) * factor + shift is (W factor) x + (b - mean) * factor + shift, with factor = scale / sqrt(var +
 * eps).
 *
 * The scaled weights are derived from the model's whenever a kernel packs or uploads them. Read next: batch_norm.c. */
#include "ops/extent.h"
#include "runtime/include/pattern.h"

#include <math.h>

/* ---- weights by factors ------------------------------------------------------------------------------------------ */

/* Scales weights (groups, rows, channels, inner) by factors (groups, channels). */
typedef struct scaling {
    tort_type type;
    int64_t groups, rows, channels, inner;
    double factors[];
} scaling;

static void scale_run(const scaling *s, const void *source, void *out, int64_t first, double factor) {
    double block[TORT_BLOCK];
    for (int64_t done = 0; done < s->inner; done += TORT_BLOCK) {
        const int64_t count = tort_block_count(s->inner, done);
        tort_load_doubles(s->type, source, first + done, count, block);
        for (int64_t i = 0; i < count; i++) block[i] *= factor;
        tort_store_doubles(s->type, out, first + done, count, block);
    }
}

/* Scales a row with inner = 1: the weights of all channels are contiguous. */
static void scale_row(const scaling *s, const void *source, void *out, int64_t first, const double *factors) {
    double block[TORT_BLOCK];
    for (int64_t done = 0; done < s->channels; done += TORT_BLOCK) {
        const int64_t count = tort_block_count(s->channels, done);
        tort_load_doubles(s->type, source, first + done, count, block);
        for (int64_t i = 0; i < count; i++) block[i] *= factors[done + i];
        tort_store_doubles(s->type, out, first + done, count, block);
    }
}

static void scale_floats(const scaling *s, const float *source, float *out) {
    for (int64_t row = 0; row < s->groups * s->rows; row++) {
        const double *factors = s->factors + row / s->rows * s->channels;
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t i = 0; i < s->inner; i++) *out++ = (float)(*source++ * factors[c]);
    }
}

static void scale_weights(const void *arg, const void *source, void *out) {
    const scaling *s = arg;
    if (s->type == TORT_FLOAT) {
        scale_floats(s, source, out);
        return;
    }
    for (int64_t row = 0; row < s->groups * s->rows; row++) {
        const double *factors = s->factors + row / s->rows * s->channels;
        const int64_t first = row * s->channels * s->inner;
        if (s->inner == 1) scale_row(s, source, out, first, factors);
        for (int64_t c = 0; s->inner != 1 && c < s->channels; c++)
            scale_run(s, source, out, first + c * s->inner, factors[c]);
    }
}

/* ---- the factors ------------------------------------------------------------------------------------------------- */

/* Reads a constant of the normalization, a list of `channels` numbers. */
static bool read_list(tort_match *match, const char *name, int64_t channels, tort_tensor *list) {
    return tort_match_constant(match, name, list) && list->rank == 1 && list->dims[0] == channels;
}

#define LARGEST_HALF_FACTOR 256 /* for 16-bit weights, which must not overflow */

/* Fills the factors, and the shifts, which are added to the scaled product; b (NULL: none) has one number or one per
 * channel and is multiplied by `beta`. False if a value is not such a constant, or a factor is not finite or too
 * large. */
static bool read_factors(tort_match *match, int64_t channels, const tort_tensor *b, double beta, double *factors,
                         double *shifts) {
    const tort_node_view norm = tort_match_node(match, "y");
    const double epsilon = (double)tort_attr_float(&norm, "epsilon");
    tort_tensor scale, shift, mean, variance;
    if (!read_list(match, "scale", channels, &scale) || !read_list(match, "shift", channels, &shift) ||
        !read_list(match, "mean", channels, &mean) || !read_list(match, "variance", channels, &variance))
        return false;
    const bool half = tort_type_bits(tort_match_info(match, "w")->type) == 16;
    for (int64_t i = 0; i < channels; i++) {
        const double bias = b ? beta * tort_element_at(b, tort_count(b) == 1 ? 0 : i) : 0;
        factors[i] = tort_element_at(&scale, i) / sqrt(tort_element_at(&variance, i) + epsilon);
        shifts[i] = (bias - tort_element_at(&mean, i)) * factors[i] + tort_element_at(&shift, i);
        if (!isfinite(factors[i]) || (half && fabs(factors[i]) > LARGEST_HALF_FACTOR)) return false;
    }
    return true;
}

/* Scales the weights, of the shape in *shape, and replaces the bias. */
static bool scale_and_shift(tort_match *match, const scaling *shape, const tort_tensor *b, double beta) {
    const int64_t channels = shape->groups * shape->channels;
    const size_t bytes = (size_t)channels * sizeof(double);
    scaling *s = tort_match_memory(match, sizeof *s + bytes);
    double *shifts = tort_match_memory(match, 2 * bytes + 1);
    if (!s || !shifts) return false;
    *s = *shape;
    if (!read_factors(match, channels, b, beta, s->factors, shifts)) return false;
    tort_tensor made = {.type = s->type, .rank = 1, .dims = {channels}, .data = shifts + channels};
    tort_store_doubles(made.type, made.data, 0, channels, shifts);
    return tort_match_derive(match, "w", scale_weights, s) && tort_match_replace(match, "b", &made);
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

#define NORM " y=BatchNormalization{training_mode=0,spatial=1}(c,#scale,#shift,#mean,#variance)"

const tort_pattern tort_patterns_batch_norm[] = {
    {"conv_batch_norm", "*c=Conv(x,#w,#b?)" NORM, "Conv(x,w,b)", build_conv},
    {"conv_transpose_batch_norm", "*c=ConvTranspose(x,#w,#b?)" NORM, "ConvTranspose(x,w,b)", build_conv_transpose},
    {"gemm_batch_norm", "*c=Gemm(x,#w,#b?)" NORM, "Gemm(x,w,b){beta=1}", build_gemm},
    {0},
};
