/* fuse_layer_norm.c - fusions of the arithmetic that exporters wrote before opset 17 and 23 into LayerNormalization and
 * RMSNormalization.
 *
 * Read next: norm_axis.c. */
#include "ops/extent.h"
#include "runtime/include/pattern.h"

#include <float.h>

/* Number of axes of this ReduceMean, an attribute or an input from version 18 on, if they are the last ones; else 0. */
static int64_t trailing_axes(tort_match *match, const char *node, const char *input, int32_t rank) {
    const tort_node_view view = tort_match_node(match, node);
    int32_t count = 0;
    const int64_t *axes = tort_attr_ints(&view, "axes", &count);
    tort_tensor tensor;
    if (tort_match_info(match, input)) {
        if (!tort_match_constant(match, input, &tensor) || tensor.type != TORT_INT64) return 0;
        axes = tensor.data;
        count = (int32_t)tort_count(&tensor);
    }
    uint32_t seen = 0;
    for (int32_t i = 0; i < count; i++) {
        const int64_t from_end = axes[i] < 0 ? -axes[i] : rank - axes[i];
        if (from_end < 1 || from_end > rank) return 0;
        seen |= 1u << (from_end - 1);
    }
    return seen && seen == (1u << count) - 1 ? count : 0;
}

/* Builds LayerNormalization from mean, Sub and the RMSNormalization made before. Scale and B may broadcast to x, but
 * must not broadcast x. */
static bool build_layer_norm(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x");
    const tort_node_view norm = tort_match_node(match, "g");
    if (x->rank < 1 || !tort_match_same_shape(match, "x", "y")) return false;
    const int64_t axes = trailing_axes(match, "m", "axes", x->rank), axis = tort_attr_int(&norm, "axis");
    if (!axes || axes != (axis < 0 ? -axis : x->rank - axis) || tort_match_info(match, "bias")->rank > axes)
        return false;
    return tort_match_set_int(match, "axis", -axes) &&
           tort_match_set_float(match, "epsilon", tort_attr_float(&norm, "epsilon"));
}

static bool build_rms_norm(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x");
    tort_tensor epsilon;
    if (x->rank < 1 || !tort_match_same_shape(match, "x", "y")) return false;
    const int64_t axes = trailing_axes(match, "v", "axes", x->rank);
    if (!axes || tort_match_info(match, "scale")->rank > axes) return false;
    if (!tort_match_constant(match, "epsilon", &epsilon) || tort_count(&epsilon) != 1) return false;
    return tort_match_set_int(match, "axis", -axes) &&
           tort_match_set_float(match, "epsilon", (float)tort_element_at(&epsilon, 0));
}

/* SkipLayerNormalization is over the last axis of tensors of rank 2 or 3. */
static bool build_skip_norm(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x"), *bias = tort_match_info(match, "bias");
    const tort_node_view norm = tort_match_node(match, "y");
    const int64_t axis = tort_attr_int(&norm, "axis");
    if (x->type == TORT_DOUBLE || (x->rank != 2 && x->rank != 3) || (axis != -1 && axis != x->rank - 1)) return false;
    return tort_match_same_shape(match, "c", "x") && tort_match_same_shape(match, "c", "z") &&
           tort_match_info(match, "scale")->rank == 1 && (!bias || bias->rank == 1) &&
           tort_match_set_float(match, "epsilon", tort_attr_float(&norm, "epsilon"));
}

#define ROOT " v=ReduceMean{keepdims=1}(p,#axes?) e=Add(v,#epsilon) s=Sqrt(e) "
#define SCALED " y=Mul(n,#scale)"
#define RMS "RMSNormalization(x,scale)"

const tort_pattern tort_patterns_layer_norm[] = {
    {"rms_norm", "p=Pow(x,#2)" ROOT "r=Div(#1,s) n=Mul(x,r)" SCALED, RMS, build_rms_norm},
    {"rms_norm", "p=Pow(x,#2)" ROOT "r=Reciprocal(s) n=Mul(x,r)" SCALED, RMS, build_rms_norm},
    {"rms_norm", "p=Pow(x,#2)" ROOT "n=Div(x,s)" SCALED, RMS, build_rms_norm},
    {"rms_norm", "p=Mul(x,x)" ROOT "r=Div(#1,s) n=Mul(x,r)" SCALED, RMS, build_rms_norm},
    {"rms_norm", "p=Mul(x,x)" ROOT "r=Reciprocal(s) n=Mul(x,r)" SCALED, RMS, build_rms_norm},
    {"rms_norm", "p=Mul(x,x)" ROOT "n=Div(x,s)" SCALED, RMS, build_rms_norm},
    {"layer_norm", "m=ReduceMean{keepdims=1}(x,#axes?) d=Sub(x,m) g=RMSNormalization(d,scale) y=Add(g,#bias)",
     "LayerNormalization(x,scale,bias)", build_layer_norm},
    {"skip_norm", "c=Add(x,z) *y=LayerNormalization(c,#scale,#bias?)",
     "com.microsoft::SkipLayerNormalization(x,z,scale,bias)", build_skip_norm},
    {0},
};
