/* fuse_quantized.c - fusions that make QLinearConv and QLinearMatMul of an operator between DequantizeLinear and
 * QuantizeLinear, which is how quantizers write them.
 *
 * The sum is then one of integers, rounded once, so that it may differ by one step of the result's scale. What clips
 * only where the result's type ends anyway goes away. Read next: quantized.c, integer_conv.c, integer_matmul.c. */
#include "ops/numeric.h"
#include "runtime/pattern.h"

#include <math.h>
#include <string.h>

/* Number i of a list of one or several. */
static double number_of(const tort_tensor *list, int64_t i) {
    double number;
    tort_load_doubles(list->type, list->data, tort_count(list) == 1 ? 0 : i, 1, &number);
    return number;
}

/* The one number of a constant; it becomes a scalar, as the made operator wants it. A zero point that is absent is one
 * of the type, 0. False: there are several, or it is a scale that is no positive number. */
static bool read_scalar(tort_match *match, const char *name, tort_type type, double *number) {
    tort_tensor tensor;
    uint64_t bytes = 0;
    const bool given = tort_match_info(match, name) != NULL;
    *number = 0;
    if (given && (!tort_match_constant(match, name, &tensor) || tort_count(&tensor) != 1)) return false;
    if (given) *number = number_of(&tensor, 0);
    if (type == TORT_FLOAT && !(*number > 0 && isfinite(*number))) return false;
    const tort_tensor scalar = {.type = type, .rank = 0, .data = &bytes};
    tort_store_doubles(type, &bytes, 0, 1, number);
    return tort_match_replace(match, name, &scalar);
}

/* Scale and zero point of the weights: one for all, or one for each of `count` along the axis. */
static bool read_weight_scale(tort_match *match, int64_t axis, int64_t count, tort_tensor *scale) {
    const tort_info *w = tort_match_info(match, "w");
    const tort_node_view node = tort_match_node(match, "wd");
    const int64_t given = tort_attr_int(&node, "axis");
    double number;
    if (!tort_match_constant(match, "sw", scale)) return false;
    if (tort_count(scale) == 1 && !read_scalar(match, "sw", TORT_FLOAT, &number)) return false;
    if (tort_count(scale) == 1 || !tort_match_info(match, "zw")) {
        if (!read_scalar(match, "zw", w->type, &number)) return false;
    }
    if (tort_count(scale) == 1) return true;
    return scale->rank == 1 && scale->dims[0] == count && (given < 0 ? given + w->rank : given) == axis;
}

/* ---- what comes before the result is quantized ------------------------------------------------------------------- */

/* Does an activation of the product change only what quantizing clips? */
static bool is_clipped_away(tort_match *match, double scale, double zero) {
    const tort_node_view node = tort_match_node(match, "c");
    const bool is_signed = tort_match_info(match, "y")->type == TORT_INT8;
    const double lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
    const char *activation = tort_attr_string(&node, "activation");
    if (!*activation || !strcmp(activation, "none")) return true;
    if (!strcmp(activation, "relu")) return zero <= lowest;
    if (strcmp(activation, "clip") != 0) return false;
    const double low = (double)tort_attr_float(&node, "activation_alpha"),
                 high = (double)tort_attr_float(&node, "activation_beta");
    return rint(low / scale) + zero <= lowest && rint(high / scale) + zero >= highest;
}

static bool is_byte(const tort_info *info) {
    return info->type == TORT_INT8 || info->type == TORT_UINT8;
}

/* Scales and zero points of x and y; false: not of one number each, or an activation that is more than clipping. */
static bool read_ends(tort_match *match, double *x_scale, double *y_scale) {
    const tort_info *x = tort_match_info(match, "x"), *y = tort_match_info(match, "y");
    double zero;
    if (!is_byte(x) || !is_byte(tort_match_info(match, "w")) || !is_byte(y)) return false;
    if (!read_scalar(match, "sx", TORT_FLOAT, x_scale) || !read_scalar(match, "zx", x->type, &zero)) return false;
    if (!read_scalar(match, "sy", TORT_FLOAT, y_scale) || !read_scalar(match, "zy", y->type, &zero)) return false;
    return is_clipped_away(match, *y_scale, zero);
}

/* ---- the two ----------------------------------------------------------------------------------------------------- */

/* The bias in steps of x's scale times w's. */
static bool quantize_bias(tort_match *match, int64_t filters, double x_scale, const tort_tensor *w_scale) {
    tort_tensor b;
    if (!tort_match_info(match, "b")) return true;
    if (!tort_match_constant(match, "b", &b) || b.rank != 1 || b.dims[0] != filters) return false;
    int32_t *steps = tort_match_memory(match, (size_t)filters * sizeof *steps + 1);
    if (!steps) return false;
    for (int64_t i = 0; i < filters; i++) {
        const double step = rint(number_of(&b, i) / (x_scale * number_of(w_scale, i)));
        if (!(fabs(step) <= INT32_MAX)) return false;
        steps[i] = (int32_t)step;
    }
    return tort_match_replace(match, "b",
                              &(tort_tensor){.type = TORT_INT32, .rank = 1, .dims = {filters}, .data = steps});
}

static bool build_conv(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank < 3 || !read_ends(match, &x_scale, &y_scale)) return false;
    return read_weight_scale(match, 0, w->dims[0], &w_scale) && quantize_bias(match, w->dims[0], x_scale, &w_scale);
}

static bool build_matmul(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank < 2 || !read_ends(match, &x_scale, &y_scale)) return false;
    if (!read_weight_scale(match, 1, w->dims[w->rank - 1], &w_scale)) return false;
    return tort_count(&w_scale) == 1 || w->rank == 2;
}

#define DEQUANTIZE "DequantizeLinear{block_size=0}"
#define QUANTIZE " y=QuantizeLinear{block_size=0}(c,#sy,#zy?)"

const tort_pattern tort_patterns_quantized[] = {
    {"qlinear_conv",
     "~xd=" DEQUANTIZE "(x,#sx,#zx?) ~wd=" DEQUANTIZE "(#w,#sw,#zw?) *c=Conv|tinyort::FusedConv(xd,wd,#b?)" QUANTIZE,
     "QLinearConv(x,sx,zx,w,sw,zw,sy,zy,b)", build_conv},
    {"qlinear_matmul",
     "~xd=" DEQUANTIZE "(x,#sx,#zx?) ~wd=" DEQUANTIZE "(w,#sw,#zw?) *c=MatMul|tinyort::FusedMatMul(xd,wd)" QUANTIZE,
     "QLinearMatMul(x,sx,zx,w,sw,zw,sy,zy)", build_matmul},
    {0},
};
