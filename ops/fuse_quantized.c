/* fuse_quantized.c - fusions of DequantizeLinear, an operator and QuantizeLinear, the form that quantizers write, into
 * an operator on 8-bit tensors: QLinearConv, QLinearMatMul, QGemm, QLinearAdd, QLinearMul; or the same operator if it
 * only moves or selects elements. QLinearConvAdd is the sum of a convolution and a shortcut, where a provider has it.
 * Also MatMulIntegerToFloat, from MatMulInteger and the nodes that turn its sums into floats.
 *
 * The fused sum is one of integers and rounds once: its bytes are those of the graph computed in double, but where that
 * is within 1e-4 steps of the middle between two bytes (tests/bytes). A bias of floats becomes integers, in steps of
 * the scales of input and weights, as quantizers write it; one that is between two steps moves the sum by up to half a
 * step. An activation that only clips beyond the range of the output's type is dropped. Read next: quantized.c,
 * integer_conv.c, integer_matmul.c. */
#include "ops/extent.h"
#include "runtime/include/pattern.h"

#include <math.h>
#include <string.h>

/* Number i of a list, which begins again at its end. */
static double number_of(const tort_tensor *list, int64_t i) {
    return tort_element_at(list, i % tort_count(list));
}

/* Reads a constant of one number and replaces it by a scalar, as the fused operator needs it. An absent zero point
 * becomes 0. False if there are several numbers, or a scale is not positive and finite. */
static bool read_scalar(tort_match *match, const char *name, tort_type type, double *number) {
    tort_tensor tensor;
    uint64_t bytes = 0;
    const bool given = tort_match_info(match, name) != NULL;
    *number = 0;
    if (given && !tort_match_constant(match, name, &tensor)) return false;
    if (given && tort_count(&tensor) != 1)
        return tort_match_refuse(match, "a tensor other than the weights has several scales or zero points",
                                 "quantize activations by tensor");
    if (given) *number = number_of(&tensor, 0);
    if (type == TORT_FLOAT && !(*number > 0 && isfinite(*number)))
        return tort_match_refuse(match, "a scale is not positive and finite", "calibrate the model again");
    tort_tensor scalar = {.type = type, .rank = 0, .data = &bytes};
    tort_store_doubles(type, &bytes, 0, 1, number);
    return tort_match_replace(match, name, &scalar);
}

/* Reads scale and zero point of the weights: one for all, or one for each of `count` along the axis. */
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
    if (scale->rank == 1 && scale->dims[0] == count && (given < 0 ? given + w->rank : given) == axis) return true;
    return tort_match_refuse(match, "the scales of the weights are not those of its output channels",
                             "quantize weights by output channel, or by tensor");
}

/* ---- scales of input and output ---------------------------------------------------------------------------------- */

/* True if the activation of the product changes only values that quantizing clips anyway. */
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

/* Reads scales and zero points of x and y; false if one is not a single number, or the activation does more than clip.
 */
static bool read_ends(tort_match *match, double *x_scale, double *y_scale) {
    const tort_info *x = tort_match_info(match, "x"), *y = tort_match_info(match, "y");
    double zero;
    if (!is_byte(x) || !is_byte(tort_match_info(match, "w")) || !is_byte(y))
        return tort_match_refuse(match, "an operand or the result is not int8 or uint8", "quantize it to 8 bits");
    if (!read_scalar(match, "sx", TORT_FLOAT, x_scale) || !read_scalar(match, "zx", x->type, &zero)) return false;
    if (!read_scalar(match, "sy", TORT_FLOAT, y_scale) || !read_scalar(match, "zy", y->type, &zero)) return false;
    return is_clipped_away(match, *y_scale, zero) ||
           tort_match_refuse(match, "its activation changes more than quantizing its result clips",
                             "calibrate the result behind the activation");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Replaces the bias by integers, in steps of x's scale times w's. */
static bool quantize_bias(tort_match *match, int64_t filters, double x_scale, const tort_tensor *w_scale) {
    tort_tensor b;
    if (!tort_match_info(match, "b")) return true;
    if (!tort_match_constant(match, "b", &b) || b.rank != 1 || b.dims[0] != filters)
        return tort_match_refuse(match, "its bias is no list with a number for each output channel", "");
    int32_t *steps = tort_match_memory(match, (size_t)filters * sizeof *steps + 1);
    if (!steps) return false;
    for (int64_t i = 0; i < filters; i++) {
        const double step = rint(number_of(&b, i) / (x_scale * number_of(w_scale, i)));
        if (!(fabs(step) <= INT32_MAX))
            return tort_match_refuse(match, "its bias is beyond 32 bits in steps of the scales of input and weights",
                                     "calibrate the model again");
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

/* Filters of ConvTranspose are along axis 1 of W, those of a group. */
static bool build_conv_transpose(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    const tort_node_view node = tort_match_node(match, "c");
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank < 3 || !read_ends(match, &x_scale, &y_scale) || !read_weight_scale(match, 1, w->dims[1], &w_scale))
        return false;
    return quantize_bias(match, w->dims[1] * tort_attr_int(&node, "group"), x_scale, &w_scale);
}

static bool build_matmul(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank < 2 || !read_ends(match, &x_scale, &y_scale)) return false;
    if (!read_weight_scale(match, 1, w->dims[w->rank - 1], &w_scale)) return false;
    return tort_count(&w_scale) == 1 || w->rank == 2;
}

/* The bias has a number for each column. */
static bool build_biased_matmul(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank != 2 || !read_ends(match, &x_scale, &y_scale) || !read_weight_scale(match, 1, w->dims[1], &w_scale))
        return false;
    return quantize_bias(match, w->dims[1], x_scale, &w_scale);
}

/* C of Gemm is part of the integer sum, whose step has no factors alpha and beta: they must be 1. */
static bool build_gemm(tort_match *match) {
    const tort_info *w = tort_match_info(match, "w");
    const tort_node_view gemm = tort_match_node(match, "c");
    const int64_t trans_b = tort_attr_int(&gemm, "transB") != 0;
    double x_scale, y_scale;
    tort_tensor w_scale;
    if (w->rank != 2 || !read_ends(match, &x_scale, &y_scale)) return false;
    if (tort_attr_float(&gemm, "alpha") != 1.0f || (tort_match_info(match, "b") && tort_attr_float(&gemm, "beta") != 1))
        return false;
    return read_weight_scale(match, !trans_b, w->dims[!trans_b], &w_scale) &&
           quantize_bias(match, w->dims[!trans_b], x_scale, &w_scale);
}

/* ---- inputs that are quantized at run time ----------------------------------------------------------------------- */

static bool is_single(const tort_info *info) {
    for (int32_t d = 0; d < info->rank; d++)
        if (info->dims[d] != 1) return false;
    return info->rank >= 0;
}

/* True if the value is one number, or a list with one for each column of w. */
static bool is_of_columns(const tort_match *match, const char *name) {
    const tort_info *list = tort_match_info(match, name), *w = tort_match_info(match, "w");
    if (list->rank == 0) return true;
    return list->rank == 1 && w->rank >= 2 && tort_dim_known(list->dims[0]) &&
           (list->dims[0] == 1 || list->dims[0] == w->dims[w->rank - 1]);
}

static bool build_to_float(tort_match *match) {
    const tort_info *x_scale = tort_match_info(match, "sx");
    return is_byte(tort_match_info(match, "x")) && is_byte(tort_match_info(match, "w")) && x_scale->rank <= 1 &&
           is_single(x_scale) && is_of_columns(match, "sw") && tort_match_same_shape(match, "c", "y") &&
           tort_match_info(match, "sw")->type == TORT_FLOAT;
}

static bool build_float_bias(tort_match *match) {
    const tort_info *b = tort_match_info(match, "b"), *w = tort_match_info(match, "w");
    return b->type == TORT_FLOAT && b->rank == 1 && w->rank >= 2 && b->dims[0] == w->dims[w->rank - 1] &&
           tort_match_same_shape(match, "c", "y");
}

/* True if both constants are one number, the same; absent is 0. */
static bool same_number(tort_match *match, const char *a, const char *b) {
    tort_tensor x, y;
    const bool has_a = tort_match_info(match, a), has_b = tort_match_info(match, b);
    if ((has_a && !tort_match_constant(match, a, &x)) || (has_b && !tort_match_constant(match, b, &y))) return false;
    if ((has_a && tort_count(&x) != 1) || (has_b && tort_count(&y) != 1)) return false;
    return (has_a ? number_of(&x, 0) : 0) == (has_b ? number_of(&y, 0) : 0);
}

/* The sum takes the bytes of the convolution by the scale and zero point that these have. */
static bool build_conv_sum(tort_match *match) {
    return tort_match_same_shape(match, "c", "y") && tort_match_same_shape(match, "c", "s") &&
           same_number(match, "sc", "sd") && same_number(match, "zc", "zd");
}

static bool build_sum_conv(tort_match *match) {
    return build_conv_sum(match) && tort_match_set_int(match, "second", 1);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

/* Reads scale and zero point of an 8-bit value. */
static bool read_value(tort_match *match, const char *name, const char *scale, const char *zero, double *numbers) {
    const tort_info *info = tort_match_info(match, name);
    return is_byte(info) && read_scalar(match, scale, TORT_FLOAT, &numbers[0]) &&
           read_scalar(match, zero, info->type, &numbers[1]);
}

static bool same_type(const tort_match *match, const char *a, const char *b) {
    return tort_match_info(match, a)->type == tort_match_info(match, b)->type;
}

static bool build_pair(tort_match *match) {
    double x[2], w[2], y[2];
    return same_type(match, "x", "w") && same_type(match, "x", "y") && read_value(match, "x", "sx", "zx", x) &&
           read_value(match, "w", "sw", "zw", w) && read_value(match, "y", "sy", "zy", y);
}

/* A difference is a sum whose second scale is negative. */
static bool build_difference(tort_match *match) {
    tort_tensor scale;
    if (!build_pair(match) || !tort_match_constant(match, "sw", &scale)) return false;
    float negative = -(float)tort_element_at(&scale, 0);
    return tort_match_replace(match, "sw", &(tort_tensor){.type = TORT_FLOAT, .rank = 0, .data = &negative});
}

/* Softmax along an axis, as QLinearSoftmax has it from version 13 on. */
static bool build_softmax(tort_match *match) {
    double x[2], y[2];
    return same_type(match, "x", "y") && read_value(match, "x", "sx", "zx", x) &&
           read_value(match, "y", "sy", "zy", y) && tort_match_node(match, "c").op->since >= 13 &&
           tort_match_set_int(match, "opset", 13);
}

static bool build_mean(tort_match *match) {
    double x[2], y[2];
    return same_type(match, "x", "y") && read_value(match, "x", "sx", "zx", x) && read_value(match, "y", "sy", "zy", y);
}

/* Indices of elements by their order. */
static bool build_ordered(tort_match *match) {
    double x[2];
    return read_value(match, "x", "sx", "zx", x);
}

/* The axes of ReduceMean are an attribute, or an input; none: all. */
static bool build_reduce(tort_match *match) {
    const tort_node_view node = tort_match_node(match, "c");
    const tort_info *x = tort_match_info(match, "x");
    int32_t count = 0;
    const int64_t *given = tort_attr_ints(&node, "axes", &count);
    int64_t *axes = tort_match_memory(match, TORT_MAX_RANK * sizeof *axes);
    tort_tensor list;
    if (!axes || x->rank < 1 || !build_mean(match) || tort_attr_int(&node, "noop_with_empty_axes")) return false;
    if (tort_match_info(match, "a")) {
        if (!tort_match_constant(match, "a", &list)) return false;
        given = list.data;
        count = (int32_t)tort_count(&list);
    }
    if (count > TORT_MAX_RANK) return false; /* the same axis may be listed several times */
    for (int32_t i = 0; count ? i < count : i < x->rank; i++) axes[i] = count ? given[i] : i;
    const int32_t all = count ? count : x->rank;
    return tort_match_set(
               match, &(tort_attribute){.name = "axes", .kind = TORT_ATTR_INTS, .count = all, .u = {.ints = axes}}) &&
           tort_match_set_int(match, "keepdims", tort_attr_int(&node, "keepdims"));
}

/* QLinearAveragePool has no dilations. */
static bool build_average(tort_match *match) {
    const tort_node_view node = tort_match_node(match, "c");
    int32_t count = 0;
    const int64_t *dilations = tort_attr_ints(&node, "dilations", &count);
    for (int32_t i = 0; dilations && i < count; i++)
        if (dilations[i] != 1) return false;
    return build_mean(match);
}

/* The parts of a Concat, as far as there are some. */
static bool build_concat(tort_match *match) {
    static const char *const parts[][3] = {{"x", "sx", "zx"}, {"w", "sw", "zw"}, {"a", "sa", "za"}, {"b", "sb", "zb"}};
    double numbers[2];
    for (size_t i = 0; i < sizeof parts / sizeof *parts && tort_match_info(match, parts[i][0]); i++)
        if (!same_type(match, parts[i][0], "y") || !read_value(match, parts[i][0], parts[i][1], parts[i][2], numbers))
            return false;
    return read_value(match, "y", "sy", "zy", numbers);
}

#define DEQUANTIZE "DequantizeLinear{block_size=0}"
#define QUANTIZE " y=QuantizeLinear{block_size=0}(c,#sy,#zy?)"

#define VALUE "~xd=" DEQUANTIZE "(x,#sx,#zx?) "
#define PAIR VALUE "~wd=" DEQUANTIZE "(w,#sw,#zw?) "
#define WEIGHTED VALUE "~wd=" DEQUANTIZE "(#w,#sw,#zw?) "
#define PAIRED(name_, op_)                                                                                             \
    { name_, PAIR "*c=" op_ "(xd,wd)" QUANTIZE, "com.microsoft::QLinear" op_ "(x,sx,zx,w,sw,zw,sy,zy)", build_pair }
#define THIRD "~ad=" DEQUANTIZE "(a,#sa,#za?) "
#define FOURTH "~bd=" DEQUANTIZE "(b,#sb,#zb?) "
#define JOINED(values_, found_, made_)                                                                                 \
    {                                                                                                                  \
        "qlinear_concat", PAIR values_ "*c=Concat(xd,wd" found_ ")" QUANTIZE,                                          \
            "com.microsoft::QLinearConcat(sy,zy,x,sx,zx,w,sw,zw" made_ ")", build_concat                               \
    }

#define CONV "*c=QLinearConv(x,sx,zx,w,sw,zw,#sc,#zc,b?) "
#define CONV_ADD "tinyort::QLinearConvAdd(x,sx,zx,w,sw,zw,sc,zc,b,s,ss,zs,sy,zy)"

const tort_pattern tort_patterns_quantized[] = {
    {"qlinear_conv", WEIGHTED "*c=Conv|tinyort::FusedConv(xd,wd,#b?)" QUANTIZE, "QLinearConv(x,sx,zx,w,sw,zw,sy,zy,b)",
     build_conv},
    {"qlinear_conv_add", CONV "y=com.microsoft::QLinearAdd(c,#sd,#zd?,s,ss,zs?,sy,zy?)", CONV_ADD, build_conv_sum},
    {"qlinear_conv_add", CONV "y=com.microsoft::QLinearAdd(s,ss,zs?,c,#sd,#zd?,sy,zy?)", CONV_ADD, build_sum_conv},
    {"qlinear_conv_transpose", WEIGHTED "*c=ConvTranspose(xd,wd,#b?)" QUANTIZE,
     "tinyort::QLinearConvTranspose(x,sx,zx,w,sw,zw,sy,zy,b)", build_conv_transpose},
    {"qlinear_matmul", PAIR "*c=MatMul|tinyort::FusedMatMul(xd,wd)" QUANTIZE, "QLinearMatMul(x,sx,zx,w,sw,zw,sy,zy)",
     build_matmul},
    {"qlinear_matmul", WEIGHTED "*c=tinyort::FusedMatMul(xd,wd,#b)" QUANTIZE,
     "tinyort::QLinearMatMul(x,sx,zx,w,sw,zw,sy,zy,b)", build_biased_matmul},
    {"qgemm", WEIGHTED "*c=Gemm|tinyort::FusedGemm(xd,wd,#b?)" QUANTIZE,
     "com.microsoft::QGemm(x,sx,zx,w,sw,zw,b,sy,zy)", build_gemm},
    {"matmul_integer_to_float", "~s=Mul(sx,#sw) *c=MatMulInteger(x,w,zx?,zw?) f=Cast{to=1}(c) y=Mul(f,s)",
     "com.microsoft::MatMulIntegerToFloat(x,w,sx,sw,zx,zw)", build_to_float},
    {"matmul_integer_to_float", "*c=com.microsoft::MatMulIntegerToFloat(x,w,sx,sw,zx?,zw?) y=Add(c,#b)",
     "com.microsoft::MatMulIntegerToFloat(x,w,sx,sw,zx,zw,b)", build_float_bias},
    PAIRED("qlinear_add", "Add"),
    PAIRED("qlinear_mul", "Mul"),
    {"qlinear_add", PAIR "*c=Sub(xd,wd)" QUANTIZE, "com.microsoft::QLinearAdd(x,sx,zx,w,sw,zw,sy,zy)",
     build_difference},
    {"qlinear_mean", VALUE "*c=GlobalAveragePool(xd)" QUANTIZE,
     "com.microsoft::QLinearGlobalAveragePool(x,sx,zx,sy,zy)", build_mean},
    {"qlinear_reduce_mean", VALUE "*c=ReduceMean(xd,#a?)" QUANTIZE, "com.microsoft::QLinearReduceMean(x,sx,zx,sy,zy)",
     build_reduce},
    {"qlinear_resize", VALUE "*c=Resize(xd,#a?,#b?,#d?)" QUANTIZE, "tinyort::QLinearResize(x,sx,zx,sy,zy,a,b,d)",
     build_mean},
    {"qlinear_norm", VALUE "*c=LayerNormalization(xd,#a,#b?)" QUANTIZE,
     "tinyort::QLinearLayerNormalization(x,sx,zx,sy,zy,a,b)", build_mean},
    {"qlinear_norm", VALUE "*c=InstanceNormalization(xd,#a,#b)" QUANTIZE,
     "tinyort::QLinearInstanceNormalization(x,sx,zx,sy,zy,a,b)", build_mean},
    {"quantized_arg", VALUE "*y=ArgMax|ArgMin(xd)", "ArgMax|ArgMin(x)", build_ordered},
    {"qlinear_average_pool", VALUE "*c=AveragePool(xd)" QUANTIZE, "com.microsoft::QLinearAveragePool(x,sx,zx,sy,zy)",
     build_average},
    {"qlinear_softmax", VALUE "*c=Softmax(xd)" QUANTIZE, "com.microsoft::QLinearSoftmax(x,sx,zx,sy,zy)", build_softmax},
    JOINED("", "", ""),
    JOINED(THIRD, ",ad", ",a,sa,za"),
    JOINED(THIRD FOURTH, ",ad,bd", ",a,sa,za,b,sb,zb"),
    {"byte_table", "^y=QuantizeLinear(x,#t)", "tinyort::ByteTable(x,t)", NULL},
    {0},
};
