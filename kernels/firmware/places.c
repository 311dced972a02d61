/* places.c - operators whose indices lead to places in a tensor: GatherElements, GatherND, ScatterElements, ScatterND,
 * MaxUnpool; and running sums and products, whose axis is an input. */
#include "kernels/firmware/code/cumulative.h"
#include "kernels/firmware/code/fill.h"
#include "kernels/firmware/code/gather_places.h"
#include "kernels/firmware/code/scatter.h"
#include "kernels/firmware/firmware.h"
#include "ops/cumulative.h"
#include "ops/extent.h"
#include "ops/index.h"
#include "ops/scatter.h"

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* An index along `axis` of data; the other axes are those of the indices, which may have less elements. */
static tinyort_places along(const tort_tensor *data, const tort_tensor *indices, int32_t axis) {
    tinyort_places places = {.narrow = indices->type == TORT_INT32, .length = 1, .rank = data->rank};
    places.sizes[0] = (int32_t)data->dims[axis];
    for (int32_t i = data->rank, step = 1; i-- > 0; step *= (int32_t)data->dims[i]) {
        places.dims[i] = (int32_t)indices->dims[i];
        *(i == axis ? places.strides : places.steps + i) = step;
    }
    return places;
}

/* Tuples of indices, in batches. */
static tinyort_places of_tuples(const tort_gather_nd_params *nd, const tort_tensor *indices) {
    tinyort_places places = {.narrow = indices->type == TORT_INT32, .length = nd->tuple_length, .rank = 2};
    places.dims[0] = (int32_t)nd->batch;
    places.dims[1] = (int32_t)nd->tuples;
    places.steps[0] = nd->batch > 1 ? (int32_t)nd->batch_stride : 0;
    for (int32_t i = 0; i < nd->tuple_length; i++) {
        places.sizes[i] = (int32_t)nd->sizes[i];
        places.strides[i] = (int32_t)nd->strides[i];
    }
    return places;
}

/* An axis without elements has no index. On the host, every index is within its axis before the run. */
static tort_status check(const tort_call *call, const tinyort_places *places) {
    const tort_tensor *indices = &call->inputs[1];
    tort_status status = TORT_OK;
    for (int32_t k = 0; !status && k < places->length && tort_count(indices); k++)
        if (!places->sizes[k])
            status = tort_fail(call->error, TORT_E_RUN, "indices lead to an axis that has no element");
        else if (!tort_firmware_emit_of(call))
            status = tort_check_indices(call, indices, k, places->length, places->sizes[k]);
    return status;
}

/* ---- GatherElements, GatherND ------------------------------------------------------------------------------------ */

enum { ELEMENTS, TUPLES }; /* values of tort_kernel.variant */

static tort_status run_gather(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *indices = &call->inputs[1];
    const tort_gather_elements_params *p = call->params;
    const tort_gather_nd_params *nd = call->params;
    const bool tuples = call->kernel->variant == TUPLES;
    const int32_t element_bytes = tort_type_bits(x->type) / 8;
    const tinyort_gather_places_shape shape = {
        .places = tuples ? of_tuples(nd, indices) : along(x, indices, p->axis),
        .element_bytes = element_bytes,
        .bytes = tuples ? (int32_t)nd->inner * element_bytes : element_bytes,
        .count = (int32_t)(tuples ? nd->batch * nd->tuples : tort_count(indices)),
    };
    const tort_status status = check(call, &shape.places);
    return status
               ? status
               : TORT_FIRMWARE_CALL(call, tinyort_gather_places, &shape, x->data, indices->data, call->outputs[0].data);
}

/* ---- ScatterElements, ScatterND ---------------------------------------------------------------------------------- */

typedef float of_floats(float, float);
typedef int64_t of_whole(int64_t, int64_t);

static tort_verdict claim_scatter(const tort_target *target, const tort_node_view *node) {
    const tort_scatter_params *p = node->params;
    if (p->reduction != TORT_SCATTER_REPLACE && tort_firmware_number_type(node->inputs[0].type) < 0)
        return tort_no(TORT_NO_TYPE, "cast its inputs", "input 0 is %s, firmware has no such function",
                       tort_type_name(node->inputs[0].type));
    return tort_firmware_claim_bytes(target, node);
}

static tort_status run_scatter(const tort_call *call) {
    static const char *const names[][2] = {[TORT_SCATTER_ADD] = {"tinyort_add", "tinyort_whole_add"},
                                           [TORT_SCATTER_MUL] = {"tinyort_multiply", "tinyort_whole_mul"},
                                           [TORT_SCATTER_MAX] = {"tinyort_max", "tinyort_whole_max"},
                                           [TORT_SCATTER_MIN] = {"tinyort_min", "tinyort_whole_min"}};
    const tort_scatter_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *indices = &call->inputs[1], *y = &call->outputs[0];
    const bool tuples = call->kernel->variant == TUPLES, floats = x->type == TORT_FLOAT;
    const int32_t element_bytes = tort_type_bits(x->type) / 8, type = tort_firmware_number_type(x->type);
    const char *name = names[p->reduction][!floats];
    tort_firmware_function *const join = name ? tort_firmware_function_of(name) : NULL;
    of_floats *const f = floats ? (of_floats *)join : NULL;
    of_whole *const g = floats ? NULL : (of_whole *)join;
    const tinyort_scatter_shape shape = {
        .places = tuples ? of_tuples(&p->nd, indices) : along(x, indices, p->axis),
        .from = type == TORT_FIRMWARE_BOOL ? 0 : type,
        .to = type,
        .element_bytes = element_bytes,
        .bytes = (int32_t)tort_count(x) * element_bytes,
        .count = (int32_t)(tuples ? p->nd.tuples : tort_count(indices)),
        .inner = tuples ? (int32_t)p->nd.inner : 1,
    };
    const tort_status status = check(call, &shape.places);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_scatter, &shape, x->data, indices->data, call->inputs[2].data,
                                       y->data, f, g);
}

/* ---- MaxUnpool --------------------------------------------------------------------------------------------------- */

static tort_verdict claim_unpool(const tort_target *target, const tort_node_view *node) {
    if (tort_has_input(node, 2)) return tort_no(TORT_NO_ATTR, "", "is without output_shape");
    return tort_firmware_claim_bytes(target, node);
}

/* Zeros, then x at the places in all of y that its indices tell. */
static tort_status run_unpool(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *indices = &call->inputs[1], *y = &call->outputs[0];
    of_floats *const f = NULL;
    of_whole *const g = NULL;
    const tinyort_fill_shape zeros = {.element_bytes = tort_type_bits(x->type) / 8, .count = (int32_t)tort_count(y)};
    const tinyort_scatter_shape shape = {.places = {.length = 1, .sizes = {zeros.count}, .strides = {1}},
                                         .element_bytes = zeros.element_bytes,
                                         .count = (int32_t)tort_count(x),
                                         .inner = 1};
    tort_status status = check(call, &shape.places);
    if (!status) status = TORT_FIRMWARE_CALL(call, tinyort_fill, &zeros, y->data);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_scatter, &shape, NULL, indices->data, x->data, y->data, f, g);
}

/* ---- CumSum, CumProd --------------------------------------------------------------------------------------------- */

enum { SUM, PRODUCT, DOUBLE = 9 }; /* values of tort_kernel.variant; a type of cumulative.h */

static tort_verdict claim_cumulative(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    (void)target;
    if (type == TORT_DOUBLE || tort_firmware_number_type(type) >= 0) return tort_yes();
    return tort_no(TORT_NO_TYPE, "cast it", "input 0 is %s, firmware adds floats and integers", tort_type_name(type));
}

static tort_status run_cumulative(const tort_call *call) {
    const tort_cumulative_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *axis = &call->inputs[1];
    tinyort_cumulative_shape shape = {.type = x->type == TORT_DOUBLE ? DOUBLE : tort_firmware_number_type(x->type),
                                      .product = call->kernel->variant,
                                      .exclusive = p->exclusive,
                                      .reverse = p->reverse,
                                      .narrow = axis->type == TORT_INT32,
                                      .rank = x->rank};
    for (int32_t i = 0; i < x->rank; i++) shape.dims[i] = (int32_t)x->dims[i];
    const tort_status status = tort_firmware_emit_of(call) ? TORT_OK : tort_check_indices(call, axis, 0, 1, x->rank);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_cumulative, &shape, x->data, axis->data, call->outputs[0].data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, name_, claim_, run_, variant_, in_place_)                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_, .run = run_, .emit = tort_firmware_emit,              \
        .variant = variant_, .in_place = in_place_                                                                     \
    }

const tort_kernel tort_firmware_places[] = {
    ROW("GatherElements", "gather_places", tort_firmware_claim_bytes, run_gather, ELEMENTS, 0),
    ROW("GatherND", "gather_places", tort_firmware_claim_bytes, run_gather, TUPLES, 0),
    ROW("Scatter", "scatter", claim_scatter, run_scatter, ELEMENTS, 1),
    ROW("ScatterElements", "scatter", claim_scatter, run_scatter, ELEMENTS, 1),
    ROW("ScatterND", "scatter", claim_scatter, run_scatter, TUPLES, 1),
    ROW("MaxUnpool", "scatter", claim_unpool, run_unpool, 0, 0),
    ROW("CumSum", "cumulative", claim_cumulative, run_cumulative, SUM, 1),
    ROW("CumProd", "cumulative", claim_cumulative, run_cumulative, PRODUCT, 1),
    {.op = NULL},
};
