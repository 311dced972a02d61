/* fuse_layer_norm.c - fusions that make LayerNormalization of the arithmetic of exporters from before opset 17.
 *
 * Read next: norm_axis.c. */
#include "ops/numeric.h"
#include "runtime/pattern.h"

#include <float.h>

/* Do the axes of this ReduceMean, an attribute or an input from version 18 on, end the shape? Then how many there are;
 * 0: not. */
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

/* Scale and B may be stretched to x, but must not stretch it. */
static bool build_layer_norm(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x");
    tort_tensor epsilon;
    double number;
    if (x->rank < 1 || !tort_match_same_shape(match, "x", "y")) return false;
    const int64_t axes = trailing_axes(match, "m", "axes", x->rank);
    if (!axes || trailing_axes(match, "v", "more_axes", x->rank) != axes) return false;
    if (tort_match_info(match, "scale")->rank > axes || tort_match_info(match, "bias")->rank > axes) return false;
    if (!tort_match_constant(match, "epsilon", &epsilon) || tort_count(&epsilon) != 1) return false;
    tort_load_doubles(epsilon.type, epsilon.data, 0, 1, &number);
    return tort_match_set_int(match, "axis", -axes) && tort_match_set_float(match, "epsilon", (float)number);
}

#define MEAN "m=ReduceMean{keepdims=1}(x,#axes?) d=Sub(x,m) "
#define REST                                                                                                           \
    " v=ReduceMean{keepdims=1}(p,#more_axes?) e=Add(v,#epsilon) s=Sqrt(e) n=Div(d,s) g=Mul(n,#scale) y=Add(g,#bias)"
#define MAKES "LayerNormalization(x,scale,bias)"

const tort_pattern tort_patterns_layer_norm[] = {
    {"layer_norm", MEAN "p=Pow(d,#2)" REST, MAKES, build_layer_norm},
    {"layer_norm", MEAN "p=Mul(d,d)" REST, MAKES, build_layer_norm},
    {0},
};
