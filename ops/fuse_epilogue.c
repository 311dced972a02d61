/* fuse_epilogue.c - fusions of a product and the nodes behind it (a bias, a sum with another value, an activation) into
 * FusedConv, FusedGemm and FusedMatMul.
 *
 * They apply one after the other: a Conv and an Add become a FusedConv with Z; a Relu behind it sets its activation.
 * Read next: epilogue.h, fuse_weights.c. */
#include "ops/activation.h"
#include "ops/epilogue.h"
#include "ops/extent.h"
#include "ops/fuse.h"
#include "runtime/include/pattern.h"

#include <math.h>

/* ---- bias -------------------------------------------------------------------------------------------------------- */

/* Replaces the list b, a constant that may be absent, by its sum with k, one number for each index of the axis of
 * c. */
static bool add_to_bias(tort_match *match, int32_t axis) {
    const tort_info *c = tort_match_info(match, "c");
    tort_tensor b;
    if (!tort_match_same_shape(match, "c", "y") || c->rank <= axis || !tort_dim_known(c->dims[axis])) return false;
    const int64_t size = c->dims[axis];
    double *sums = tort_match_memory(match, (size_t)size * sizeof *sums + 1);
    if (!sums || !tort_match_spread(match, "k", c->rank, axis, size, sums)) return false;
    if (tort_match_info(match, "b")) {
        if (!tort_match_constant(match, "b", &b) || b.rank != 1 || b.dims[0] != size) return false;
        for (int64_t i = 0; i < size; i++) sums[i] += tort_element_at(&b, i);
    }
    return tort_match_replace_bias(match, c->type, size, sums);
}

static bool build_channel_bias(tort_match *match) {
    return add_to_bias(match, 1);
}

static bool build_column_bias(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x"), *w = tort_match_info(match, "w"),
                    *c = tort_match_info(match, "c");
    return x->rank >= 2 && w->rank >= 2 && add_to_bias(match, c->rank - 1);
}

/* ---- residual ---------------------------------------------------------------------------------------------------- */

static bool build_residual(tort_match *match) {
    return tort_match_same_shape(match, "c", "z") && tort_match_same_shape(match, "c", "y");
}

/* ---- several products of one value ------------------------------------------------------------------------------- */

static bool build_siblings(tort_match *match) {
    const tort_info *b = tort_match_info(match, "b");
    return tort_match_info(match, "x")->rank >= 2 && tort_match_info(match, "w")->rank == 2 && (!b || b->rank == 1);
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Reads a bound of Clip: an input from version 11 on, an attribute before. False if it is not a known number or no
 * float is equal to it. */
static bool clip_bound(tort_match *match, const char *input, const char *attribute, float sign, float *bound) {
    const tort_node_view clip = tort_match_node(match, "y");
    const tort_attribute *given = tort_attr(&clip, attribute);
    tort_tensor tensor;
    *bound = given ? given->u.f : sign * tort_clip_largest(clip.op, tort_match_info(match, "c")->type);
    if (!tort_match_info(match, input)) return given || clip.op->since < 11 || isfinite(*bound);
    if (!tort_match_constant(match, input, &tensor) || tort_count(&tensor) != 1) return false;
    const double number = tort_element_at(&tensor, 0);
    *bound = (float)number;
    return (double)*bound == number; /* attributes are floats */
}

static bool build_clip(tort_match *match) {
    float low, high;
    return clip_bound(match, "low", "min", -1, &low) && clip_bound(match, "high", "max", 1, &high) &&
           tort_match_set_float(match, "activation_alpha", low) && tort_match_set_float(match, "activation_beta", high);
}

/* The bias of BiasGelu has a number for each column of the product, which must have rank 2 or more. */
static bool build_bias_gelu(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x"), *w = tort_match_info(match, "w");
    return x->rank >= 2 && w->rank >= 2 && tort_match_same_shape(match, "c", "y");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define FUSED "tinyort::FusedConv|tinyort::FusedGemm|tinyort::FusedMatMul"
#define PRODUCT "*c=Conv|Gemm|MatMul|" FUSED "{activation=none}"
#define MAKES FUSED "|" FUSED
#define ACTIVATION(name_, node_, attributes_)                                                                          \
    { "activation_" name_, PRODUCT "(x,w,b?,z?) " node_, MAKES "(x,w,b,z){" attributes_ "}", NULL }

const tort_pattern tort_patterns_epilogue[] = {
    {"bias", "*c=Conv|ConvTranspose(x,w,#b?) y=Add(c,#k)", "Conv|ConvTranspose(x,w,b)", build_channel_bias},
    {"bias", "*c=MatMul(x,w) y=Add(c,#k)", "tinyort::FusedMatMul(x,w,b)", build_column_bias},
    {"bias", "*c=Gemm(x,w) y=Add(c,#k)", "Gemm(x,w,b){beta=1}", build_column_bias},
    {"siblings", "&c=MatMul|tinyort::FusedMatMul{activation=none}(x,#w,#b?)", "tinyort::JoinedMatMul(x,w,b)",
     build_siblings},
    {"residual", PRODUCT "(x,w,b?) y=Add(c,z)", MAKES "(x,w,b,z)", build_residual},
    ACTIVATION("relu", "y=Relu(c)", "activation=relu"),
    ACTIVATION("leaky_relu", "y=LeakyRelu(c)", "activation=leaky_relu,activation_alpha=y.alpha"),
    {"activation_clip", PRODUCT "(x,w,b?,z?) y=Clip(c,#low?,#high?)", MAKES "(x,w,b,z){activation=clip}", build_clip},
    ACTIVATION("silu", "s=Sigmoid(c) y=Mul(c,s)", "activation=silu"),
    ACTIVATION("silu", "y=Swish{alpha=1}(c)", "activation=silu"),
    ACTIVATION("sigmoid", "y=Sigmoid(c)", "activation=sigmoid"),
    ACTIVATION("hard_swish", "s=HardSigmoid{alpha=0.16666667,beta=0.5}(c) y=Mul(c,s)", "activation=hard_swish"),
    ACTIVATION("hard_swish", "y=HardSwish(c)", "activation=hard_swish"),
    ACTIVATION("hard_sigmoid", "y=HardSigmoid(c)",
               "activation=hard_sigmoid,activation_alpha=y.alpha,activation_beta=y.beta"),
    ACTIVATION("gelu", "y=Gelu{approximate=none}(c)", "activation=gelu"),
    ACTIVATION("gelu", "y=Gelu{approximate=tanh}(c)", "activation=gelu_tanh"),
    ACTIVATION("gelu", "y=com.microsoft::Gelu(c)", "activation=gelu"),
    ACTIVATION("gelu", "y=com.microsoft::FastGelu(c)", "activation=gelu_tanh"),
    ACTIVATION("silu", "y=com.microsoft::QuickGelu{alpha=1}(c)", "activation=silu"),
    {"bias_gelu", "*c=MatMul(x,w) y=com.microsoft::BiasGelu(c,b)", "tinyort::FusedMatMul(x,w,b){activation=gelu}",
     build_bias_gelu},
    {"bias_gelu", "*c=MatMul(x,w) y=com.microsoft::FastGelu(c,b)", "tinyort::FusedMatMul(x,w,b){activation=gelu_tanh}",
     build_bias_gelu},
    {0},
};
