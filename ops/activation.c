/* activation.c - the activations of one tensor, and PRelu and SwiGLU, which take two.
 *
 * NaN stays NaN, except in ThresholdedRelu and Shrink: their comparisons are false for NaN and give 0. */
#include "ops/activation.h"

#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/vector_math.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static tort_status resolve_activation(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_activation_params *params = resolve->params;
    params->alpha = tort_attr_float(node, "alpha");
    params->beta = tort_attr_float(node, "beta");
    return TORT_OK;
}

static tort_status resolve_selu(tort_resolve *resolve) {
    tort_activation_params *params = resolve->params;
    params->alpha = tort_attr_float(resolve->node, "alpha");
    params->beta = tort_attr_float(resolve->node, "gamma");
    return TORT_OK;
}

static tort_status resolve_shrink(tort_resolve *resolve) {
    tort_activation_params *params = resolve->params;
    params->alpha = tort_attr_float(resolve->node, "lambd");
    params->beta = tort_attr_float(resolve->node, "bias");
    return TORT_OK;
}

/* Gelu of com.microsoft has no attribute `approximate`: it is the exact form, by erf. */
static tort_status resolve_exact_gelu(tort_resolve *resolve) {
    tort_activation_params *params = resolve->params;
    params->tanh = false;
    return TORT_OK;
}

static tort_status resolve_gelu(tort_resolve *resolve) {
    tort_activation_params *params = resolve->params;
    const char *approximate = tort_attr_string(resolve->node, "approximate");
    params->tanh = strcmp(approximate, "tanh") == 0;
    if (params->tanh || strcmp(approximate, "none") == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "approximate is \"%s\", expected \"none\" or \"tanh\"", approximate);
}

/* ---- one input --------------------------------------------------------------------------------------------------- */

static inline float clamp01f(float x) {
    x = x < 0 ? 0 : x;
    return x > 1 ? 1 : x;
}
static inline double clamp01(double x) {
    x = x < 0 ? 0 : x;
    return x > 1 ? 1 : x;
}

/* Both values are arguments, so they are computed before one is chosen: a conditional load of p->alpha would keep the
 * compiler from vectorizing the loop. */
static inline float choosef(bool condition, float yes, float no) {
    return condition ? yes : no;
}
static inline double choose(bool condition, double yes, double no) {
    return condition ? yes : no;
}

/* name, expression of float x, expression of double x, work (see tort_map) */
#define ACTIVATIONS(X)                                                                                                 \
    X(hard_sigmoid, clamp01f(p->alpha *x + p->beta), clamp01(p->alpha *x + p->beta), 8)                                \
    X(hard_swish, x *clamp01f(x *(1.0f / 6) + 0.5f), x *clamp01(x / 6 + 0.5), 8)                                       \
    X(sigmoid, tort_sigmoidf(x), 1 / (1 + exp(-x)), 32)                                                                \
    X(softplus, tort_softplusf(x), (x > 0 ? x : 0) + log1p(exp(-fabs(x))), 48)                                         \
    X(softsign, x / (1 + fabsf(x)), x / (1 + fabs(x)), 8)                                                              \
    X(mish, tort_mishf(x), x *tanh((x > 0 ? x : 0) + log1p(exp(-fabs(x)))), 64)                                        \
    X(elu, choosef(x < 0, p->alpha * tort_expm1f(x), x), choose(x < 0, p->alpha * expm1(x), x), 32)                    \
    X(selu, p->beta *choosef(x <= 0, p->alpha * tort_expm1f(x), x), p->beta *choose(x <= 0, p->alpha * expm1(x), x),   \
      32)                                                                                                              \
    X(celu, choosef(x < 0, p->alpha * tort_expm1f(x / p->alpha), x), choose(x < 0, p->alpha * expm1(x / p->alpha), x), \
      32)                                                                                                              \
    X(thresholded_relu, x > p->alpha ? x : 0, x > p->alpha ? x : 0, 4)                                                 \
    X(leaky_relu, choosef(x < 0, p->alpha * x, x), choose(x < 0, p->alpha * x, x), 4)                                  \
    X(swish, x *tort_sigmoidf(p->alpha *x), x / (1 + exp(-p->alpha * x)), 32)

#define DEFINE(name, of_float, of_double, cost)                                                                        \
    TORT_MAP_LOOP(name##_floats, float, tort_activation_params, of_float)                                              \
    TORT_MAP_LOOP(name##_doubles, double, tort_activation_params, of_double)
ACTIVATIONS(DEFINE)

/* Values of tort_op.variant: indices into maps[]. */
#define NAME(name, ...) MAP_##name,
enum { ACTIVATIONS(NAME) };
#define MAP(name, of_float, of_double, cost) {name##_floats, name##_doubles, NULL, NULL, cost},
static const tort_map maps[] = {ACTIVATIONS(MAP)};

static tort_status run_map(const tort_call *call) {
    return tort_run_map(call, &maps[call->op->variant], call->params);
}

/* The constants are sqrt(1/2) and sqrt(2/pi). */
TORT_MAP_LOOP(gelu_floats, float, void, 0.5f * x * (1 + tort_erff(x * 0.70710678f)))
TORT_MAP_LOOP(gelu_doubles, double, void, 0.5 * x * (1 + erf(x * 0.70710678118654752)))
TORT_MAP_LOOP(gelu_tanh_floats, float, void, 0.5f * x * (1 + tort_tanhf(0.79788456f * (x + 0.044715f * x * x * x))))
TORT_MAP_LOOP(gelu_tanh_doubles, double, void, 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))))

static tort_status run_gelu(const tort_call *call) {
    static const tort_map exact = {.floats = gelu_floats, .doubles = gelu_doubles, .work = 32};
    static const tort_map approximate = {.floats = gelu_tanh_floats, .doubles = gelu_tanh_doubles, .work = 32};
    const tort_activation_params *params = call->params;
    return tort_run_map(call, params->tanh ? &approximate : &exact, NULL);
}

TORT_MAP_LOOP(relu_floats, float, void, x < 0 ? 0 : x)
TORT_MAP_LOOP(relu_doubles, double, void, x < 0 ? 0 : x)
TORT_MAP_LOOP(relu_integers, int64_t, void, x < 0 ? 0 : x)

static tort_status run_relu(const tort_call *call) {
    static const tort_map map = {relu_floats, relu_doubles, relu_integers, NULL, 4};
    return tort_run_map(call, &map, NULL);
}

/* Integers compute in double, since bias and lambd are floats, and truncate the result. */
#define SHRUNK (x < -p->alpha ? x + p->beta : x > p->alpha ? x - p->beta : 0)
static inline double shrink(double x, const tort_activation_params *p) {
    return SHRUNK;
}
TORT_MAP_LOOP(shrink_floats, float, tort_activation_params, SHRUNK)
TORT_MAP_LOOP(shrink_doubles, double, tort_activation_params, SHRUNK)
TORT_MAP_LOOP(shrink_integers, int64_t, tort_activation_params, tort_double_to_int64(shrink((double)x, p)))
TORT_MAP_LOOP(shrink_naturals, uint64_t, tort_activation_params, tort_double_to_uint64(shrink((double)x, p)))

static tort_status run_shrink(const tort_call *call) {
    static const tort_map map = {shrink_floats, shrink_doubles, shrink_integers, shrink_naturals, 16};
    return tort_run_map(call, &map, call->params);
}

/* ---- PRelu ------------------------------------------------------------------------------------------------------- */

/* Number of dimensions of X behind those of the slope: before opset 7 a slope of rank 1 belongs to the channels (axis
 * 1). */
static int32_t behind_slope(const tort_node_view *node) {
    const tort_info *x = &node->inputs[0], *slope = &node->inputs[1];
    bool channels = node->opset < 7 && slope->rank == 1 && slope->dims[0] != 1;
    return channels && x->rank >= 2 ? x->rank - 2 : 0;
}

static tort_status infer_prelu(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return tort_check_fits(infer, behind_slope(infer->node));
}

static tort_status resolve_prelu(tort_resolve *resolve) {
    tort_binary *params = resolve->params;
    params->trailing = behind_slope(resolve->node);
    return TORT_OK;
}

TORT_PAIR_LOOP(prelu_float, float, float, void, a < 0 ? a * b : a)
TORT_PAIR_LOOP(prelu_double, double, double, void, a < 0 ? a * b : a)
TORT_PAIR_LOOP(prelu_int32, int32_t, int32_t, void, a < 0 ? (int32_t)((uint32_t)a * (uint32_t)b) : a)
TORT_PAIR_LOOP(prelu_int64, int64_t, int64_t, void, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
TORT_PAIR_LOOP(prelu_uint32, uint32_t, uint32_t, void, ((void)b, a))
TORT_PAIR_LOOP(prelu_uint64, uint64_t, uint64_t, void, ((void)b, a))

static tort_status run_prelu(const tort_call *call) {
    static const tort_pair pair = {.loops = {[TORT_FLOAT] = prelu_float,
                                             [TORT_DOUBLE] = prelu_double,
                                             [TORT_INT32] = prelu_int32,
                                             [TORT_INT64] = prelu_int64,
                                             [TORT_UINT32] = prelu_uint32,
                                             [TORT_UINT64] = prelu_uint64},
                                   .work = 8};
    return tort_run_pair(call, &pair);
}

/* ---- SwiGLU ------------------------------------------------------------------------------------------------------ */

static tort_status infer_swiglu(tort_infer *infer) {
    const tort_info *a = &infer->node->inputs[0], *b = &infer->node->inputs[1];
    tort_infer_same(infer, 0, 0);
    if (a->rank >= 0 && b->rank >= 0 && a->rank != b->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "A has rank %d and B %d, expected one shape", a->rank, b->rank);
    tort_dim unified;
    for (int32_t d = 0; d < a->rank && d < b->rank; d++) {
        tort_status status = tort_dim_unify(infer->error, d, a->dims[d], b->dims[d], &unified);
        if (status != TORT_OK) return status;
    }
    return TORT_OK;
}

static tort_status resolve_swiglu(tort_resolve *resolve) {
    tort_swiglu *params = resolve->params;
    params->alpha = tort_attr_float(resolve->node, "alpha");
    return TORT_OK;
}

TORT_PAIR_LOOP(swiglu_float, float, float, tort_swiglu, a *tort_sigmoidf(p->alpha *a) * b)
TORT_PAIR_LOOP(swiglu_double, double, double, tort_swiglu, a / (1 + exp(-p->alpha * a)) * b)

static tort_status run_swiglu(const tort_call *call) {
    static const tort_pair pair = {.loops = {[TORT_FLOAT] = swiglu_float, [TORT_DOUBLE] = swiglu_double}, .work = 40};
    return tort_run_pair(call, &pair);
}

/* ---- Clip -------------------------------------------------------------------------------------------------------- */

float tort_clip_largest(const tort_op *op, tort_type type) {
    if (op->since < 11) return INFINITY;
    switch (type) {
    case TORT_FLOAT16: return 65504.0f;
    case TORT_BFLOAT16: return 0x1.fep127f;
    case TORT_FLOAT: return FLT_MAX;
    default: return INFINITY;
    }
}

static float bound(const tort_node_view *node, const char *name, float none) {
    return tort_attr(node, name) ? tort_attr_float(node, name) : none;
}

static tort_status resolve_clip(tort_resolve *resolve) {
    tort_clip *params = resolve->params;
    const float largest = tort_clip_largest(resolve->node->op, resolve->node->inputs[0].type);
    params->low = bound(resolve->node, "min", -largest);
    params->high = bound(resolve->node, "max", largest);
    params->limits = resolve->node->op->since >= 11;
    return TORT_OK;
}

static tort_status infer_clip(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    tort_status status = tort_check_single(infer->node, 1, "min", infer->error);
    return status != TORT_OK ? status : tort_check_single(infer->node, 2, "max", infer->error);
}

/* If low > high, every number becomes high: Clip-13 says so for min > max. */
#define CLIPPED(low, high) (x < (low) ? ((low) > (high) ? (high) : (low)) : x > (high) ? (high) : x)

#define BOUNDS(ctype, name)                                                                                            \
    typedef struct name##_bounds {                                                                                     \
        ctype low, high;                                                                                               \
    } name##_bounds;                                                                                                   \
    TORT_MAP_LOOP(clip_##name, ctype, name##_bounds, CLIPPED(p->low, p->high))
BOUNDS(float, float)
BOUNDS(double, double)
BOUNDS(int64_t, integer)
BOUNDS(uint64_t, natural)

static tort_status run_clip(const tort_call *call) {
    static const tort_map map = {clip_float, clip_double, clip_integer, clip_natural, 4};
    const tort_clip *params = call->params;
    tort_type type = call->inputs[0].type;
    union {
        float_bounds f;
        double_bounds d;
        integer_bounds i;
        natural_bounds n;
    } bounds;
    const bool wide = params->limits && type == TORT_DOUBLE;
    double low = wide ? -DBL_MAX : (double)params->low, high = wide ? DBL_MAX : (double)params->high;
    const tort_tensor *low_in = tort_call_input(call, 1), *high_in = tort_call_input(call, 2);
    if (tort_type_is_float(type)) {
        if (low_in) tort_load_doubles(type, low_in->data, 0, 1, &low);
        if (high_in) tort_load_doubles(type, high_in->data, 0, 1, &high);
        if (type == TORT_DOUBLE) {
            bounds.d = (double_bounds){low, high};
        } else {
            bounds.f = (float_bounds){(float)low, (float)high};
        }
    } else if (tort_type_is_signed(type)) {
        bounds.i = (integer_bounds){INT64_MIN, INT64_MAX};
        if (low_in) tort_load_integers(type, low_in->data, 0, 1, &bounds.i.low);
        if (high_in) tort_load_integers(type, high_in->data, 0, 1, &bounds.i.high);
    } else {
        int64_t low_bits = 0, high_bits = -1;
        if (low_in) tort_load_integers(type, low_in->data, 0, 1, &low_bits);
        if (high_in) tort_load_integers(type, high_in->data, 0, 1, &high_bits);
        bounds.n = (natural_bounds){(uint64_t)low_bits, (uint64_t)high_bits};
    }
    return tort_run_map(call, &map, &bounds);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY_MAP(variant_)                                                                                               \
    .flags = TORT_OP_IN_PLACE, .variant = variant_, .params_size = sizeof(tort_activation_params),                     \
    .infer = tort_infer_elementwise, .resolve = resolve_activation, .reference = run_map
#define BY_PLAIN_MAP(variant_)                                                                                         \
    .flags = TORT_OP_IN_PLACE, .variant = variant_, .infer = tort_infer_elementwise, .reference = run_map
#define BY_CLIP                                                                                                        \
    .flags = TORT_OP_IN_PLACE | TORT_OP_CLAMPS, .params_size = sizeof(tort_clip), infer_clip, resolve_clip, run_clip
#define BY_PRELU .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_binary), infer_prelu, resolve_prelu, run_prelu
#define BY_RELU .flags = TORT_OP_IN_PLACE | TORT_OP_CLAMPS, .infer = tort_infer_elementwise, .reference = run_relu
#define BY_SELU                                                                                                        \
    .flags = TORT_OP_IN_PLACE, .variant = MAP_selu, .params_size = sizeof(tort_activation_params),                     \
    .infer = tort_infer_elementwise, .resolve = resolve_selu, .reference = run_map

const tort_op tort_ops_activation[] = {
    {"", "Celu", 12, 27, "X:T", "Y:T", "T=float", "alpha:float=1.0", BY_MAP(MAP_celu)},
    {"", "Celu", 28, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=1.0", BY_MAP(MAP_celu)},
    {"", "Clip", 1, 5, "input:T", "output:T", "T=floats", "consumed_inputs:ints max:float min:float", BY_CLIP},
    {"", "Clip", 6, 10, "input:T", "output:T", "T=floats", "max:float=3.4028235e+38 min:float=-3.4028235e+38", BY_CLIP},
    {"", "Clip", 11, 11, "input:T min?:T max?:T", "output:T", "T=floats", "", BY_CLIP},
    {"", "Clip", 12, 12, "input:T min?:T max?:T", "output:T", "T=numeric", "", BY_CLIP},
    {"", "Clip", 13, TORT_NEWEST_OPSET, "input:T min?:T max?:T", "output:T", "T=numeric13", "", BY_CLIP},
    {"", "Elu", 1, 5, "X:T", "Y:T", "T=floats", "alpha:float=1.0 consumed_inputs:ints", BY_MAP(MAP_elu)},
    {"", "Elu", 6, 21, "X:T", "Y:T", "T=floats", "alpha:float=1.0", BY_MAP(MAP_elu)},
    {"", "Elu", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=1.0", BY_MAP(MAP_elu)},
    {"", "Gelu", 20, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "approximate:string=none",
     .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_activation_params), tort_infer_elementwise, resolve_gelu,
     run_gelu},
    {"", "HardSigmoid", 1, 5, "X:T", "Y:T", "T=floats", "alpha:float=0.2 beta:float=0.5 consumed_inputs:ints",
     BY_MAP(MAP_hard_sigmoid)},
    {"", "HardSigmoid", 6, 21, "X:T", "Y:T", "T=floats", "alpha:float=0.2 beta:float=0.5", BY_MAP(MAP_hard_sigmoid)},
    {"", "HardSigmoid", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=0.2 beta:float=0.5",
     BY_MAP(MAP_hard_sigmoid)},
    {"", "HardSwish", 14, 21, "X:T", "Y:T", "T=floats", "", BY_PLAIN_MAP(MAP_hard_swish)},
    {"", "HardSwish", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY_PLAIN_MAP(MAP_hard_swish)},
    {"", "LeakyRelu", 1, 5, "X:T", "Y:T", "T=floats", "alpha:float=0.01 consumed_inputs:ints", BY_MAP(MAP_leaky_relu)},
    {"", "LeakyRelu", 6, 15, "X:T", "Y:T", "T=floats", "alpha:float=0.01", BY_MAP(MAP_leaky_relu)},
    {"", "LeakyRelu", 16, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=0.01", BY_MAP(MAP_leaky_relu)},
    {"", "Mish", 18, 21, "X:T", "Y:T", "T=floats", "", BY_PLAIN_MAP(MAP_mish)},
    {"", "Mish", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY_PLAIN_MAP(MAP_mish)},
    {"", "PRelu", 1, 5, "X:T slope:T", "Y:T", "T=floats", "consumed_inputs:ints", BY_PRELU},
    {"", "PRelu", 6, 6, "X:T slope:T", "Y:T", "T=floats", "", BY_PRELU},
    {"", "PRelu", 7, 8, "X:T slope:T", "Y:T", "T=floats", "", BY_PRELU},
    {"", "PRelu", 9, 15, "X:T slope:T", "Y:T", "T=high", "", BY_PRELU},
    {"", "PRelu", 16, TORT_NEWEST_OPSET, "X:T slope:T", "Y:T", "T=high13", "", BY_PRELU},
    {"", "Relu", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY_RELU},
    {"", "Relu", 6, 12, "X:T", "Y:T", "T=floats", "", BY_RELU},
    {"", "Relu", 13, 13, "X:T", "Y:T", "T=floats13", "", BY_RELU},
    {"", "Relu", 14, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13|int8|int16|int32|int64", "", BY_RELU},
    {"", "Selu", 1, 5, "X:T", "Y:T", "T=floats", "alpha:float=1.6732 consumed_inputs:ints gamma:float=1.0507", BY_SELU},
    {"", "Selu", 6, 21, "X:T", "Y:T", "T=floats", "alpha:float=1.6732632 gamma:float=1.050701", BY_SELU},
    {"", "Selu", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=1.6732632 gamma:float=1.050701",
     BY_SELU},
    {"", "Shrink", 9, TORT_NEWEST_OPSET, "input:T", "output:T", "T=numeric", "bias:float=0.0 lambd:float=0.5",
     .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_activation_params), tort_infer_elementwise, resolve_shrink,
     run_shrink},
    {"", "Sigmoid", 1, 5, "X:T", "Y:T", "T=floats", "consumed_inputs:ints", BY_PLAIN_MAP(MAP_sigmoid)},
    {"", "Sigmoid", 6, 12, "X:T", "Y:T", "T=floats", "", BY_PLAIN_MAP(MAP_sigmoid)},
    {"", "Sigmoid", 13, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY_PLAIN_MAP(MAP_sigmoid)},
    {"", "Softplus", 1, 21, "X:T", "Y:T", "T=floats", "", BY_PLAIN_MAP(MAP_softplus)},
    {"", "Softplus", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", BY_PLAIN_MAP(MAP_softplus)},
    {"", "Softsign", 1, 21, "input:T", "output:T", "T=floats", "", BY_PLAIN_MAP(MAP_softsign)},
    {"", "Softsign", 22, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "", BY_PLAIN_MAP(MAP_softsign)},
    {"", "SwiGLU", 28, TORT_NEWEST_OPSET, "A:T B:T", "Y:T", "T=floats13", "alpha:float=1.0",
     .params_size = sizeof(tort_swiglu), infer_swiglu, resolve_swiglu, run_swiglu},
    {"", "Swish", 24, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=1.0", BY_MAP(MAP_swish)},
    {"", "ThresholdedRelu", 10, 21, "X:T", "Y:T", "T=floats", "alpha:float=1.0", BY_MAP(MAP_thresholded_relu)},
    {"", "ThresholdedRelu", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "alpha:float=1.0",
     BY_MAP(MAP_thresholded_relu)},
    {"com.microsoft", "Gelu", 1, 1, "X:T", "Y:T", "T=floats13", "", .flags = TORT_OP_IN_PLACE,
     .params_size = sizeof(tort_activation_params), tort_infer_elementwise, resolve_exact_gelu, run_gelu},
    {"com.microsoft", "QuickGelu", 1, 1, "X:T", "Y:T", "T=floats13", "alpha:float=1.702", BY_MAP(MAP_swish)},
    {0},
};
