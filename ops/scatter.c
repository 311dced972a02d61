/* scatter.c - Scatter, ScatterElements and ScatterND: a copy of data with elements or slices replaced by updates,
 * or combined with them.
 *
 * Indices may repeat, so updates are applied one after another, in their order: the loops are serial.
 * Read first: gather.c. */
#include "ops/index.h"
#include "ops/scatter.h"
#include "ops/strided.h"

#include <string.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_elements(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    const tort_info *updates = &infer->node->inputs[2];
    tort_infer_same(infer, 0, 0);
    if (data->rank < 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), data->rank, &axis);
    if (status != TORT_OK) return status;
    if ((indices->rank >= 0 && indices->rank != data->rank) || (updates->rank >= 0 && updates->rank != data->rank))
        return tort_fail(infer->error, TORT_E_MODEL,
                         "data has rank %d, indices %d and updates %d; the three must be equal", data->rank,
                         indices->rank, updates->rank);
    for (int32_t d = 0; d < data->rank && indices->rank >= 0; d++) {
        tort_dim size = indices->dims[d];
        if (!tort_dim_known(size)) continue;
        if (updates->rank >= 0 && tort_dim_known(updates->dims[d]) && updates->dims[d] != size)
            return tort_fail(infer->error, TORT_E_MODEL, "dimension %d of updates is %lld, of indices %lld", d,
                             (long long)updates->dims[d], (long long)size);
        if (d != axis && tort_dim_known(data->dims[d]) && size > data->dims[d])
            return tort_fail(infer->error, TORT_E_MODEL, "dimension %d of indices is %lld, larger than data's %lld", d,
                             (long long)size, (long long)data->dims[d]);
    }
    return TORT_OK;
}

static tort_status infer_nd(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    const tort_info *updates = &infer->node->inputs[2];
    tort_infer_same(infer, 0, 0);
    if (data->rank < 0 || indices->rank < 0) return TORT_OK;
    if (indices->rank < 1 || data->rank < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "data (rank %d) and indices (rank %d) need rank 1 or more",
                         data->rank, indices->rank);
    tort_dim length = indices->dims[indices->rank - 1];
    if (!tort_dim_known(length)) return TORT_OK;
    if (length < 1 || length > data->rank)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "the last dimension of indices is %lld; expected 1 to the rank of data, %d", (long long)length,
                         data->rank);
    int32_t rank = indices->rank - 1 + data->rank - (int32_t)length;
    if (updates->rank < 0) return TORT_OK;
    if (updates->rank != rank)
        return tort_fail(infer->error, TORT_E_MODEL, "updates has rank %d; indices and data ask for %d", updates->rank,
                         rank);
    for (int32_t d = 0; d < rank; d++) {
        tort_dim wanted =
            d < indices->rank - 1 ? indices->dims[d] : data->dims[d - (indices->rank - 1) + (int32_t)length];
        if (tort_dim_known(wanted) && tort_dim_known(updates->dims[d]) && wanted != updates->dims[d])
            return tort_fail(infer->error, TORT_E_MODEL, "dimension %d of updates is %lld; expected %lld", d,
                             (long long)updates->dims[d], (long long)wanted);
    }
    return TORT_OK;
}

/* Reads attribute reduction, which versions before 16 do not have; those before 18 have no max and min. */
static tort_status resolve_reduction(tort_resolve *resolve) {
    static const struct {
        const char *name;
        tort_scatter_reduction reduction;
        int32_t since;
    } known[] = {
        {"", TORT_SCATTER_REPLACE, 1}, {"none", TORT_SCATTER_REPLACE, 16}, {"add", TORT_SCATTER_ADD, 16},
        {"mul", TORT_SCATTER_MUL, 16}, {"max", TORT_SCATTER_MAX, 18},      {"min", TORT_SCATTER_MIN, 18},
    };
    tort_scatter_params *params = resolve->params;
    const char *name = tort_attr_string(resolve->node, "reduction");
    size_t i = 0, count = sizeof known / sizeof known[0];
    while (i < count && (strcmp(known[i].name, name) != 0 || resolve->node->opset < known[i].since)) i++;
    if (i == count) return tort_fail(resolve->error, TORT_E_MODEL, "reduction \"%s\" is not known", name);
    params->reduction = known[i].reduction;
    tort_type type = resolve->node->inputs[0].type;
    if (params->reduction != TORT_SCATTER_REPLACE &&
        (type == TORT_STRING || type == TORT_COMPLEX64 || type == TORT_COMPLEX128))
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "reduction \"%s\" of %s elements", name,
                         tort_type_name(type));
    return TORT_OK;
}

static tort_status resolve_elements(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0];
    tort_scatter_params *params = resolve->params;
    tort_status status = resolve_reduction(resolve);
    if (status != TORT_OK || data->rank < 0) return status;
    return tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), data->rank, &params->axis);
}

static tort_status resolve_nd(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0], *indices = &resolve->node->inputs[1];
    tort_gather_nd_params *nd = &((tort_scatter_params *)resolve->params)->nd;
    tort_status status = resolve_reduction(resolve);
    if (status != TORT_OK || !tort_shape_known(data) || !tort_shape_known(indices)) return status;
    nd->tuple_length = (int32_t)indices->dims[indices->rank - 1];
    nd->batch = 1;
    nd->tuples = tort_extent(indices->dims, 0, indices->rank - 1);
    nd->inner = tort_extent(data->dims, nd->tuple_length, data->rank);
    nd->batch_stride = tort_extent(data->dims, 0, data->rank);
    for (int32_t i = 0; i < nd->tuple_length; i++) {
        nd->sizes[i] = data->dims[i];
        nd->strides[i] = tort_extent(data->dims, i + 1, data->rank);
    }
    return TORT_OK;
}

/* ---- combining elements ------------------------------------------------------------------------------------------ */

static double combine_floats(tort_scatter_reduction reduction, double a, double b) {
    switch (reduction) {
    case TORT_SCATTER_ADD: return a + b;
    case TORT_SCATTER_MUL: return a * b;
    case TORT_SCATTER_MAX: return a >= b || a != a ? a : b; /* NaN wins */
    case TORT_SCATTER_MIN: return a <= b || a != a ? a : b;
    default: return b;
    }
}

/* Integers wrap. `flip` is the sign bit for uint64, so that signed comparisons order it. */
static int64_t combine_integers(tort_scatter_reduction reduction, int64_t a, int64_t b, int64_t flip) {
    switch (reduction) {
    case TORT_SCATTER_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TORT_SCATTER_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TORT_SCATTER_MAX: return (a ^ flip) >= (b ^ flip) ? a : b;
    case TORT_SCATTER_MIN: return (a ^ flip) <= (b ^ flip) ? a : b;
    default: return b;
    }
}

/* combine_floats rounded to float, of which the sum and the product are the same whether made in double or in float. */
static inline float combined(tort_scatter_reduction reduction, float a, float b) {
    switch (reduction) {
    case TORT_SCATTER_ADD: return a + b;
    case TORT_SCATTER_MUL: return a * b;
    case TORT_SCATTER_MAX: return a >= b || a != a ? a : b;
    case TORT_SCATTER_MIN: return a <= b || a != a ? a : b;
    default: return b;
    }
}

static void combine_rows(tort_scatter_reduction reduction, float *restrict a, const float *restrict b, int64_t count) {
    switch (reduction) { /* a loop each, in which the reduction is a constant */
    case TORT_SCATTER_ADD:
        for (int64_t i = 0; i < count; i++) a[i] = combined(TORT_SCATTER_ADD, a[i], b[i]);
        return;
    case TORT_SCATTER_MUL:
        for (int64_t i = 0; i < count; i++) a[i] = combined(TORT_SCATTER_MUL, a[i], b[i]);
        return;
    default:
        for (int64_t i = 0; i < count; i++) a[i] = combined(reduction, a[i], b[i]);
    }
}

/* output[to ...] = output[to ...] combined with updates[from ...], `count` elements. */
static void combine(const tort_scatter_params *params, const tort_tensor *output, int64_t to,
                    const tort_tensor *updates, int64_t from, int64_t count) {
    const tort_type type = output->type;
    tort_scatter_reduction reduction = params->reduction;
    if (reduction == TORT_SCATTER_REPLACE) {
        tort_copy_elements(type, output->data, to, updates->data, from, count);
        return;
    }
    if (type == TORT_FLOAT) {
        combine_rows(reduction, (float *)output->data + to, (const float *)updates->data + from, count);
        return;
    }
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t n = tort_block_count(count, first);
        if (tort_type_is_float(type)) {
            double a[TORT_BLOCK], b[TORT_BLOCK];
            tort_load_doubles(type, output->data, to + first, n, a);
            tort_load_doubles(type, updates->data, from + first, n, b);
            for (int64_t i = 0; i < n; i++) a[i] = combine_floats(reduction, a[i], b[i]);
            tort_store_doubles(type, output->data, to + first, n, a);
        } else {
            int64_t a[TORT_BLOCK], b[TORT_BLOCK];
            int64_t flip = type == TORT_UINT64 ? INT64_MIN : 0;
            /* The sum of bools is "or", their product "and". */
            if (type == TORT_BOOL && reduction == TORT_SCATTER_ADD) reduction = TORT_SCATTER_MAX;
            if (type == TORT_BOOL && reduction == TORT_SCATTER_MUL) reduction = TORT_SCATTER_MIN;
            tort_load_integers(type, output->data, to + first, n, a);
            tort_load_integers(type, updates->data, from + first, n, b);
            for (int64_t i = 0; i < n; i++) a[i] = combine_integers(reduction, a[i], b[i], flip);
            tort_store_integers(type, output->data, to + first, n, a);
        }
    }
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

/* A row of ScatterElements along the last axis of the indices: element i goes to `base` + index * axis_stride + i *
 * step. */
typedef struct scatter_row {
    int64_t first, base, axis_size, axis_stride, step;
} scatter_row;

static void scatter_part(const tort_call *call, const scatter_row *row, int64_t begin, int64_t end) {
    const tort_scatter_params *params = call->params;
    const tort_tensor indices = call->inputs[1], *updates = &call->inputs[2], *output = &call->outputs[0];
    const scatter_row r = *row;
    float *to = output->data;
    const float *from = updates->data;
#define TARGET(i) (r.base + tort_index_wrapped(&indices, r.first + (i), r.axis_size) * r.axis_stride + (i)*r.step)
    if (output->type == TORT_FLOAT && params->reduction == TORT_SCATTER_ADD)
        for (int64_t i = begin; i < end; i++) to[TARGET(i)] += from[r.first + i];
    else if (output->type == TORT_FLOAT)
        for (int64_t i = begin, at; i < end; i++)
            at = TARGET(i), to[at] = combined(params->reduction, to[at], from[r.first + i]);
    else
        for (int64_t i = begin; i < end; i++) combine(params, output, TARGET(i), updates, r.first + i, 1);
#undef TARGET
}

static tort_status scatter_elements(const tort_call *call) {
    const tort_scatter_params *params = call->params;
    const tort_tensor *indices = &call->inputs[1], *output = &call->outputs[0];
    const int32_t last = indices->rank - 1;
    const int64_t axis_size = output->dims[params->axis], total = tort_count(indices), length = indices->dims[last];
    tort_status status = tort_check_indices(call, indices, 0, 1, axis_size);
    if (status != TORT_OK || tort_count(output) == 0) return status;
    tort_fill_tensor(call, output, call->inputs[0].data, 1);
    int64_t strides[TORT_MAX_RANK];
    tort_strides(output->rank, output->dims, strides);
    for (int64_t row = 0, first = 0; first < total; row++, first += length) {
        scatter_row r = {first, 0, axis_size, strides[params->axis], last == params->axis ? 0 : 1};
        int64_t rest = row;
        for (int32_t d = last - 1; d >= 0; d--) {
            if (d != params->axis) r.base += rest % indices->dims[d] * strides[d];
            rest /= indices->dims[d];
        }
        for (int64_t at = 0; at < length; at += TORT_PART) {
            if (!tort_row_goes_on(call->watch, first + at)) return TORT_OK;
            scatter_part(call, &r, at, at + tort_part_count(length, at));
        }
    }
    return TORT_OK;
}

static tort_status scatter_nd(const tort_call *call) {
    const tort_scatter_params *params = call->params;
    const tort_gather_nd_params *nd = &params->nd;
    const tort_tensor *indices = &call->inputs[1];
    for (int32_t k = 0; k < nd->tuple_length; k++) {
        tort_status status = tort_check_indices(call, indices, k, nd->tuple_length, nd->sizes[k]);
        if (status != TORT_OK) return status;
    }
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_fill_tensor(call, &call->outputs[0], call->inputs[0].data, 1);
    for (int64_t i = 0; i < nd->tuples && tort_row_goes_on(call->watch, i); i++) {
        int64_t to = 0;
        for (int32_t k = 0; k < nd->tuple_length; k++)
            to += tort_index_wrapped(indices, i * nd->tuple_length + k, nd->sizes[k]) * nd->strides[k];
        combine(params, &call->outputs[0], to, &call->inputs[2], i * nd->inner, nd->inner);
    }
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ELEMENTS .params_size = sizeof(tort_scatter_params), infer_elements, resolve_elements, scatter_elements
#define ND .params_size = sizeof(tort_scatter_params), infer_nd, resolve_nd, scatter_nd
#define ELEMENT_INPUTS "data:T indices:Tind updates:T", "output:T"
#define ND_INPUTS "data:T indices:int64 updates:T", "output:T"

const tort_op tort_ops_scatter[] = {
    /* Scatter: deprecated from opset 11 on, where ScatterElements is its new name; same meaning. */
    {"", "Scatter", 9, TORT_NEWEST_OPSET, ELEMENT_INPUTS, "T=all Tind=int32|int64", "axis:int=0", ELEMENTS},
    {"", "ScatterElements", 11, 12, ELEMENT_INPUTS, "T=all Tind=int32|int64", "axis:int=0", ELEMENTS},
    {"", "ScatterElements", 13, 15, ELEMENT_INPUTS, "T=all13 Tind=int32|int64", "axis:int=0", ELEMENTS},
    {"", "ScatterElements", 16, 17, ELEMENT_INPUTS, "T=all13 Tind=int32|int64", "axis:int=0 reduction:string=none",
     ELEMENTS},
    {"", "ScatterElements", 18, TORT_NEWEST_OPSET, ELEMENT_INPUTS, "T=all13 Tind=int32|int64",
     "axis:int=0 reduction:string=none", ELEMENTS},
    {"", "ScatterND", 11, 12, ND_INPUTS, "T=all", "", ND},
    {"", "ScatterND", 13, 15, ND_INPUTS, "T=all13", "", ND},
    {"", "ScatterND", 16, 17, ND_INPUTS, "T=all13", "reduction:string=none", ND},
    {"", "ScatterND", 18, TORT_NEWEST_OPSET, ND_INPUTS, "T=all13", "reduction:string=none", ND},
    {0},
};
