/* random.c - RandomNormal, RandomUniform (and Like), Bernoulli and Multinomial, by the generator of generator.h.
 *
 * One thread draws all numbers in the order of the elements, so that a seed gives the same tensor everywhere. */
#include "ops/random.h"

#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { DRAW_CLASS, DRAW_UNIFORM, DRAW_NORMAL }; /* values of tort_op.variant; DRAW_CLASS: Bernoulli, Multinomial */

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static tort_status infer_shaped(tort_infer *infer) {
    int32_t rank;
    const int64_t *shape = tort_attr_ints(infer->node, "shape", &rank);
    tort_dim dims[TORT_MAX_RANK];
    tort_status status = tort_check_rank(infer->error, rank);
    if (status != TORT_OK) return status;
    for (int32_t d = 0; d < rank; d++) {
        if (shape[d] < 0) return tort_fail(infer->error, TORT_E_MODEL, "attribute shape has %lld", (long long)shape[d]);
        dims[d] = shape[d];
    }
    tort_infer_shape(infer, 0, tort_attr_type(infer->node, "dtype"), rank, dims);
    return TORT_OK;
}

/* Infers the shape of the input, and its type unless dtype is given. */
static tort_status infer_like(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    if (tort_attr(infer->node, "dtype")) infer->outputs[0].type = tort_attr_type(infer->node, "dtype");
    return TORT_OK;
}

static tort_status infer_multinomial(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    int64_t samples = tort_attr_int(infer->node, "sample_size");
    if (x->rank >= 0 && x->rank != 2)
        return tort_fail(infer->error, TORT_E_MODEL, "the input has rank %d, expected [batch, classes]", x->rank);
    if (samples < 0) return tort_fail(infer->error, TORT_E_MODEL, "sample_size is %lld", (long long)samples);
    tort_dim batch = x->rank == 2 ? x->dims[0] : tort_dim_fresh(infer->dims, true);
    tort_infer_shape(infer, 0, tort_attr_type(infer->node, "dtype"), 2, (tort_dim[]){batch, samples});
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_distribution(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_distribution *params = resolve->params;
    tort_resolve_seed(node, &params->seed);
    if (node->op->variant == DRAW_UNIFORM) {
        params->base = tort_attr_float(node, "low");
        params->scale = (double)tort_attr_float(node, "high") - params->base;
    } else if (node->op->variant == DRAW_NORMAL) {
        params->base = tort_attr_float(node, "mean");
        params->scale = tort_attr_float(node, "scale");
    }
    return TORT_OK;
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static tort_status run_draw(const tort_call *call) {
    const bool uniform = call->op->variant == DRAW_UNIFORM;
    const tort_distribution *params = call->params;
    const tort_tensor *out = &call->outputs[0];
    int64_t count = tort_count(out);
    tort_generator generator;
    tort_generator_start(&generator, &params->seed);
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
        double drawn = uniform ? tort_generator_uniform(&generator) : tort_generator_normal(&generator);
        double value = drawn * params->scale + params->base;
        tort_store_doubles(out->type, out->data, i, 1, &value);
    }
    return TORT_OK;
}

static tort_status run_bernoulli(const tort_call *call) {
    const tort_distribution *params = call->params;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t count = tort_count(out);
    tort_generator generator;
    tort_generator_start(&generator, &params->seed);
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
        const double p = tort_element_at(x, i);
        if (!(p >= 0 && p <= 1))
            return tort_fail(call->error, TORT_E_RUN, "element %lld is %g, expected a probability from 0 to 1",
                             (long long)i, p);
        double value = tort_generator_decide(&generator, p);
        tort_store_doubles(out->type, out->data, i, 1, &value);
    }
    return TORT_OK;
}

/* Class drawn from `classes` unnormalized log probabilities: the first whose cumulative share passes u in [0, 1). */
static int64_t pick(const tort_tensor *x, int64_t first, int64_t classes, double u) {
    double max = -INFINITY, total = 0, sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        const double value = tort_element_at(x, first + c);
        max = value > max ? value : max;
    }
    for (int64_t c = 0; c < classes; c++) total += exp(tort_element_at(x, first + c) - max);
    for (int64_t c = 0; c < classes; c++) {
        sum += exp(tort_element_at(x, first + c) - max);
        if (sum > u * total) return c;
    }
    return classes - 1;
}

static tort_status run_multinomial(const tort_call *call) {
    const tort_distribution *params = call->params;
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t classes = x->dims[1], samples = out->dims[1], count = tort_count(out);
    if (count > 0 && classes == 0) return tort_fail(call->error, TORT_E_RUN, "there are no classes to draw from");
    tort_generator generator;
    tort_generator_start(&generator, &params->seed);
    for (int64_t i = 0; i < count; i++) {
        if (!tort_call_goes_on(call, 40 * classes)) return TORT_OK;
        int64_t class = pick(x, i / samples * classes, classes, tort_generator_uniform(&generator));
        tort_store_integers(out->type, out->data, i, 1, &class);
    }
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY(kind, infer, run)                                                                                           \
    .flags = TORT_OP_RANDOM, DRAW_##kind, sizeof(tort_distribution), infer, resolve_distribution, run

const tort_op tort_ops_random[] = {
    {"", "Bernoulli", 15, 21, "input:T1", "output:T2", "T1=floats T2=numeric13|bool", "dtype:int(T2) seed:float",
     BY(CLASS, infer_like, run_bernoulli)},
    {"", "Bernoulli", 22, TORT_NEWEST_OPSET, "input:T1", "output:T2", "T1=floats13 T2=numeric13|bool",
     "dtype:int(T2) seed:float", BY(CLASS, infer_like, run_bernoulli)},
    {"", "Multinomial", 7, 21, "input:T1", "output:T2", "T1=floats T2=int32|int64",
     "dtype:int(T2)=6 sample_size:int=1 seed:float", BY(CLASS, infer_multinomial, run_multinomial)},
    {"", "Multinomial", 22, TORT_NEWEST_OPSET, "input:T1", "output:T2", "T1=floats13 T2=int32|int64",
     "dtype:int(T2)=6 sample_size:int=1 seed:float", BY(CLASS, infer_multinomial, run_multinomial)},
    {"", "RandomNormal", 1, 21, "", "output:T", "T=floats",
     "dtype:int(T)=1 mean:float=0.0 scale:float=1.0 seed:float shape:ints!", BY(NORMAL, infer_shaped, run_draw)},
    {"", "RandomNormal", 22, TORT_NEWEST_OPSET, "", "output:T", "T=floats13",
     "dtype:int(T)=1 mean:float=0.0 scale:float=1.0 seed:float shape:ints!", BY(NORMAL, infer_shaped, run_draw)},
    {"", "RandomNormalLike", 1, 21, "input:T1", "output:T2", "T1=all T2=floats",
     "dtype:int(T2) mean:float=0.0 scale:float=1.0 seed:float", BY(NORMAL, infer_like, run_draw)},
    {"", "RandomNormalLike", 22, TORT_NEWEST_OPSET, "input:T1", "output:T2", "T1=all13 T2=floats13",
     "dtype:int(T2) mean:float=0.0 scale:float=1.0 seed:float", BY(NORMAL, infer_like, run_draw)},
    {"", "RandomUniform", 1, 21, "", "output:T", "T=floats",
     "dtype:int(T)=1 high:float=1.0 low:float=0.0 seed:float shape:ints!", BY(UNIFORM, infer_shaped, run_draw)},
    {"", "RandomUniform", 22, TORT_NEWEST_OPSET, "", "output:T", "T=floats13",
     "dtype:int(T)=1 high:float=1.0 low:float=0.0 seed:float shape:ints!", BY(UNIFORM, infer_shaped, run_draw)},
    {"", "RandomUniformLike", 1, 21, "input:T1", "output:T2", "T1=all T2=floats",
     "dtype:int(T2) high:float=1.0 low:float=0.0 seed:float", BY(UNIFORM, infer_like, run_draw)},
    {"", "RandomUniformLike", 22, TORT_NEWEST_OPSET, "input:T1", "output:T2", "T1=all13 T2=floats13",
     "dtype:int(T2) high:float=1.0 low:float=0.0 seed:float", BY(UNIFORM, infer_like, run_draw)},
    {0},
};
