/* metadata.c - operators that change or read the shape of a value and not its bytes: Shape, Size, Reshape, Flatten,
 * Squeeze, Unsqueeze, Identity.
 *
 * They have no loop: the executor gives output 0 the bytes of input 0 (TORT_OP_ALIAS), or writes the integers that
 * infer has stored in `elements` (TORT_OP_METADATA). Read next: shapes.h, then slice.c, the other half of the shape
 * arithmetic that exporters write. */
#include "ops/shapes.h"
#include "ops/values.h"

#include <string.h>

/* ---- Shape, Size -------------------------------------------------------------------------------------------- */

static int32_t clamp_axis(int64_t axis, int32_t rank) {
    if (axis < 0) axis += rank;
    if (axis < 0) return 0;
    return axis > rank ? rank : (int32_t)axis;
}

static tort_status shape_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *data = &node->inputs[0];
    if (data->rank < 0) {
        tort_infer_unknown_dims(infer, 0, TORT_INT64, 1);
        return TORT_OK;
    }
    int32_t start = clamp_axis(tort_attr_int(node, "start"), data->rank);
    int32_t end = tort_attr(node, "end") ? clamp_axis(tort_attr_int(node, "end"), data->rank) : data->rank;
    tort_dim length = end > start ? end - start : 0;
    tort_scalar values[TORT_MAX_RANK];
    for (int32_t k = 0; k < length; k++) values[k] = tort_scalar_of_dim(data->dims[start + k]);
    tort_infer_shape(infer, 0, TORT_INT64, 1, &length);
    return tort_infer_set_integers(infer, 0, values, (int32_t)length);
}

static tort_status size_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    tort_infer_shape(infer, 0, TORT_INT64, 0, NULL);
    if (data->rank < 0) return TORT_OK;
    tort_scalar count = tort_scalar_of_dim(tort_dim_product(infer->dims, data->rank, data->dims));
    return tort_infer_set_integers(infer, 0, &count, 1);
}

/* ---- Reshape ------------------------------------------------------------------------------------------------ */

/* A requested shape, resolved dimension by dimension. */
typedef struct reshape {
    int32_t rank;
    tort_dim dims[TORT_MAX_RANK];
    bool copied[TORT_MAX_RANK]; /* an entry 0, which copies the input's dimension */
    bool open[TORT_MAX_RANK];   /* -1, or an unknown number, which might be -1 or 0 */
    int32_t open_count, minus_ones;
} reshape;

/* True if nothing is known of the integer, which might then be -1 or 0; a difference such as seq - 1 counts as a
 * size. */
static bool may_be_any(const tort_infer *infer, tort_scalar entry) {
    return entry.symbolic && !tort_scalar_nonnegative(infer->dims, entry) &&
           tort_dim_expression(infer->dims, entry.value)->op == TORT_DIM_SYMBOL;
}

static tort_status reshape_entry(const tort_infer *infer, tort_scalar entry, int32_t k, reshape *out) {
    const tort_info *data = &infer->node->inputs[0];
    bool zero_copies = tort_attr_int(infer->node, "allowzero") == 0;
    if (may_be_any(infer, entry) || (!entry.symbolic && entry.value == -1)) {
        out->open[k] = true;
        out->open_count++;
        out->minus_ones += !entry.symbolic;
        out->dims[k] = tort_dim_fresh(infer->dims, true);
        if (out->minus_ones <= 1) return TORT_OK;
        return tort_fail(infer->error, TORT_E_MODEL, "the requested shape has more than one -1");
    }
    out->dims[k] = entry.value;
    if (entry.symbolic || entry.value > 0 || !zero_copies) return TORT_OK;
    if (data->rank < 0) {
        out->dims[k] = tort_dim_fresh(infer->dims, true);
        return TORT_OK;
    }
    if (k >= data->rank) {
        return tort_fail(infer->error, TORT_E_MODEL,
                         "the requested shape has 0 (copy the dimension) at place %d, but the input has rank %d",
                         (int)k, (int)data->rank);
    }
    out->copied[k] = true;
    out->dims[k] = data->dims[k];
    return TORT_OK;
}

/* Dimensions of the input and of the output that are not copied. Copied ones are on both sides and cancel out, so that
 * [0, -1] has an answer for an empty input too. */
typedef struct reshape_sides {
    tort_dim above[TORT_MAX_RANK], below[TORT_MAX_RANK];
    int32_t above_count, below_count;
    int32_t open; /* dimension of the output to solve for; -1: none */
    bool empty;   /* a copied dimension may be 0: then the rest need not agree, unless one is to be solved for */
} reshape_sides;

static reshape_sides sides_of(const tort_info *data, const reshape *out) {
    reshape_sides sides = {.open = -1};
    for (int32_t k = 0; k < data->rank; k++) {
        if (k >= out->rank || !out->copied[k])
            sides.above[sides.above_count++] = data->dims[k];
        else
            sides.empty |= !tort_dim_known(data->dims[k]) || data->dims[k] == 0;
    }
    for (int32_t k = 0; k < out->rank; k++) {
        if (out->open[k])
            sides.open = k;
        else if (!out->copied[k])
            sides.below[sides.below_count++] = out->dims[k];
    }
    return sides;
}

/* Solves for the one open dimension, or checks that the number of elements stays. */
static tort_status reshape_balance(const tort_infer *infer, reshape *out) {
    const tort_info *data = &infer->node->inputs[0];
    const reshape_sides s = sides_of(data, out);
    tort_dim have = tort_dim_product(infer->dims, s.above_count, s.above);
    tort_dim want = tort_dim_product(infer->dims, s.below_count, s.below);
    bool known = tort_dim_known(have) && tort_dim_known(want), counted = true;
    for (int32_t k = 0; k < s.below_count; k++) counted &= tort_dim_known(s.below[k]);
    if (counted && !tort_dim_known(want))
        return tort_fail(infer->error, TORT_E_MODEL, "the requested shape has more elements than can be counted");
    if (s.open < 0 && (!known || have == want || s.empty)) return TORT_OK;
    if (s.open >= 0 && (!known || (want > 0 && have % want == 0))) {
        out->dims[s.open] =
            known ? have / want : tort_dim_quotient(infer->dims, s.above_count, s.above, s.below_count, s.below);
        return TORT_OK;
    }
    return tort_fail(infer->error, TORT_E_MODEL, "the input has %lld elements%s; the requested shape takes %s%lld",
                     (long long)have, s.above_count < data->rank ? " beside what 0 copies" : "",
                     s.open < 0 ? "" : "a multiple of ", (long long)want);
}

static tort_status reshape_to(tort_infer *infer, const tort_scalar *entries, int32_t count) {
    const tort_info *data = &infer->node->inputs[0];
    reshape out = {.rank = count};
    for (int32_t k = 0; k < count; k++) {
        tort_status status = reshape_entry(infer, entries[k], k, &out);
        if (status) return status;
    }
    if (data->rank >= 0 && out.open_count <= 1) {
        tort_status status = reshape_balance(infer, &out);
        if (status) return status;
    }
    tort_infer_shape(infer, 0, data->type, out.rank, out.dims);
    return data->rank <= 1 && out.rank <= 1 ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

static tort_status reshape_infer(tort_infer *infer) {
    tort_symbols shape;
    tort_infer_unknown(infer, 0, infer->node->inputs[0].type);
    tort_status status = tort_read_shape(infer, 1, "shape", -1, &shape);
    return status || shape.known != TORT_KNOWN ? status : reshape_to(infer, shape.values, shape.count);
}

/* Reshape-1: the shape is an attribute. */
static tort_status reshape_attribute_infer(tort_infer *infer) {
    if (!tort_attr(infer->node, "shape")) return tort_fail(infer->error, TORT_E_MODEL, "attribute shape is missing");
    tort_symbols shape;
    tort_status status = tort_read_shape(infer, -1, "shape", -1, &shape);
    return status ? status : reshape_to(infer, shape.values, shape.count);
}

/* ---- Flatten, Squeeze, Unsqueeze ---------------------------------------------------------------------------- */

static tort_status flatten_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    int64_t axis = tort_attr_int(infer->node, "axis");
    if (data->rank < 0) {
        tort_infer_unknown_dims(infer, 0, data->type, 2);
        return TORT_OK;
    }
    if (axis < -data->rank || axis > data->rank) {
        return tort_fail(infer->error, TORT_E_MODEL, "axis %lld is not in [%d, %d]", (long long)axis, (int)-data->rank,
                         (int)data->rank);
    }
    int32_t split = (int32_t)(axis < 0 ? axis + data->rank : axis);
    tort_dim dims[2] = {tort_dim_product(infer->dims, split, data->dims),
                        tort_dim_product(infer->dims, data->rank - split, data->dims + split)};
    tort_infer_shape(infer, 0, data->type, 2, dims);
    return TORT_OK;
}

static tort_status squeeze_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    tort_numbers axes;
    int32_t rank = 0;
    tort_infer_unknown(infer, 0, data->type);
    tort_status status = tort_read_numbers(infer->node, 1, "axes", &axes, infer->error);
    if (status || data->rank < 0 || axes.known == TORT_UNKNOWN) return status;
    status = tort_normalize_axes(infer->error, axes.values, axes.count, data->rank);
    if (status) return status;

    bool remove[TORT_MAX_RANK] = {false};
    for (int32_t k = 0; k < axes.count; k++) remove[axes.values[k]] = true;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < data->rank; k++) {
        tort_dim d = data->dims[k];
        if (axes.known == TORT_ABSENT) {
            if (!tort_dim_known(d)) return TORT_OK; /* it might be 1 */
            remove[k] = d == 1;
        } else if (remove[k] && tort_dim_known(d) && d != 1) {
            return tort_fail(infer->error, TORT_E_MODEL, "axis %d has %lld elements; only a dimension of 1 can go",
                             (int)k, (long long)d);
        }
        if (!remove[k]) dims[rank++] = d;
    }
    tort_infer_shape(infer, 0, data->type, rank, dims);
    return data->rank <= 1 ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

static tort_status unsqueeze_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    tort_numbers axes;
    tort_infer_unknown(infer, 0, data->type);
    tort_status status = tort_read_numbers(infer->node, 1, "axes", &axes, infer->error);
    if (status || data->rank < 0 || axes.known != TORT_KNOWN) return status;
    int32_t rank = data->rank + axes.count;
    status = tort_check_rank(infer->error, rank);
    if (!status) status = tort_normalize_axes(infer->error, axes.values, axes.count, rank);
    if (status) return status;

    bool added[TORT_MAX_RANK] = {false};
    for (int32_t k = 0; k < axes.count; k++) added[axes.values[k]] = true;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0, from = 0; k < rank; k++) dims[k] = added[k] ? 1 : data->dims[from++];
    tort_infer_shape(infer, 0, data->type, rank, dims);
    return rank <= 1 ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

static tort_status expand_infer(tort_infer *infer) {
    tort_status status = tort_check_single(infer->node, 1, "axis", infer->error);
    return status ? status : unsqueeze_infer(infer);
}

/* ---- Identity ----------------------------------------------------------------------------------------------- */

static tort_status identity_infer(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return infer->node->inputs[0].kind == TORT_TENSOR ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------------- */

#define SHAPE(SINCE, UNTIL, ALL, ATTRIBUTES)                                                                           \
    {                                                                                                                  \
        "", "Shape", SINCE, UNTIL, "data:T", "shape:T1", "T=" ALL " T1=int64", ATTRIBUTES, .flags = TORT_OP_METADATA,  \
                                                                                           .infer = shape_infer        \
    }
#define SIZE(SINCE, UNTIL, ALL)                                                                                        \
    {                                                                                                                  \
        "", "Size", SINCE, UNTIL, "data:T", "size:T1", "T=" ALL " T1=int64", "", .flags = TORT_OP_METADATA,            \
                                                                                 .infer = size_infer                   \
    }
#define RESHAPE(SINCE, UNTIL, ALL, ATTRIBUTES)                                                                         \
    {                                                                                                                  \
        "", "Reshape", SINCE, UNTIL, "data:T shape:int64", "reshaped:T", "T=" ALL, ATTRIBUTES,                         \
            .shape_inputs = 1u << 1, .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = reshape_infer                  \
    }
#define FLATTEN(SINCE, UNTIL, ALL)                                                                                     \
    {                                                                                                                  \
        "", "Flatten", SINCE, UNTIL, "input:T", "output:T", "T=" ALL, "axis:int=1",                                    \
            .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = flatten_infer                                           \
    }
#define SQUEEZE(SINCE, UNTIL, ALL)                                                                                     \
    {                                                                                                                  \
        "", "Squeeze", SINCE, UNTIL, "data:T axes?:int64", "squeezed:T", "T=" ALL, "",                                 \
            .shape_inputs = 1u << 1, .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = squeeze_infer                  \
    }
#define UNSQUEEZE(SINCE, UNTIL, ALL)                                                                                   \
    {                                                                                                                  \
        "", "Unsqueeze", SINCE, UNTIL, "data:T axes:int64", "expanded:T", "T=" ALL, "",                                \
            .shape_inputs = 1u << 1, .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = unsqueeze_infer                \
    }
#define IDENTITY(SINCE, UNTIL, T, TYPES, FLAGS)                                                                        \
    {                                                                                                                  \
        "", "Identity", SINCE, UNTIL, "input:" T, "output:" T, T "=" TYPES, "",                                        \
            .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES | TORT_OP_SAME | FLAGS, .infer = identity_infer,                  \
            .reference = tort_give_input                                                                               \
    }
#define OPTIONALS "|seq(all)|optional(all)|optional(seq(all))"

const tort_op tort_ops_metadata[] = {
    SHAPE(1, 12, "all", ""),
    SHAPE(13, 14, "all13", ""),
    SHAPE(15, 18, "all13", "start:int=0 end:int"),
    SHAPE(19, 20, "all19", "start:int=0 end:int"),
    SHAPE(21, 22, "all21", "start:int=0 end:int"),
    SHAPE(23, 23, "all23", "start:int=0 end:int"),
    SHAPE(24, 24, "all24", "start:int=0 end:int"),
    SHAPE(25, TORT_NEWEST_OPSET, "all25", "start:int=0 end:int"),
    SIZE(1, 12, "all"),
    SIZE(13, 18, "all13"),
    SIZE(19, 20, "all19"),
    SIZE(21, 22, "all21"),
    SIZE(23, 23, "all23"),
    SIZE(24, 24, "all24"),
    SIZE(25, TORT_NEWEST_OPSET, "all25"),
    {"", "Reshape", 1, 4, "data:T", "reshaped:T", "T=floats", "shape:ints consumed_inputs:ints",
     .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = reshape_attribute_infer},
    RESHAPE(5, 12, "all", ""),
    RESHAPE(13, 13, "all13", ""),
    RESHAPE(14, 18, "all13", "allowzero:int=0"),
    RESHAPE(19, 20, "all19", "allowzero:int=0"),
    RESHAPE(21, 22, "all21", "allowzero:int=0"),
    RESHAPE(23, 23, "all23", "allowzero:int=0"),
    RESHAPE(24, 24, "all24", "allowzero:int=0"),
    RESHAPE(25, TORT_NEWEST_OPSET, "all25", "allowzero:int=0"),
    FLATTEN(1, 8, "floats"),
    FLATTEN(9, 10, "all"),
    FLATTEN(11, 12, "all"),
    FLATTEN(13, 20, "all13"),
    FLATTEN(21, 22, "all21"),
    FLATTEN(23, 23, "all23"),
    FLATTEN(24, 24, "all24"),
    FLATTEN(25, TORT_NEWEST_OPSET, "all25"),
    {"", "Squeeze", 1, 10, "data:T", "squeezed:T", "T=all", "axes:ints", .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES,
     .infer = squeeze_infer},
    {"", "Squeeze", 11, 12, "data:T", "squeezed:T", "T=all", "axes:ints", .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES,
     .infer = squeeze_infer},
    SQUEEZE(13, 20, "all13"),
    SQUEEZE(21, 22, "all21"),
    SQUEEZE(23, 23, "all23"),
    SQUEEZE(24, 24, "all24"),
    SQUEEZE(25, TORT_NEWEST_OPSET, "all25"),
    {"", "Unsqueeze", 1, 10, "data:T", "expanded:T", "T=all", "axes:ints!", .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES,
     .infer = unsqueeze_infer},
    {"", "Unsqueeze", 11, 12, "data:T", "expanded:T", "T=all", "axes:ints!", .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES,
     .infer = unsqueeze_infer},
    UNSQUEEZE(13, 20, "all13"),
    UNSQUEEZE(21, 22, "all21"),
    UNSQUEEZE(23, 23, "all23"),
    UNSQUEEZE(24, 24, "all24"),
    UNSQUEEZE(25, TORT_NEWEST_OPSET, "all25"),
    {"com.microsoft", "ExpandDims", 1, 1, "X:T axis:int32", "Y:T", "T=all", "", .shape_inputs = 1u << 1,
     .flags = TORT_OP_ALIAS | TORT_OP_CHOOSES, .infer = expand_infer},
    IDENTITY(1, 12, "T", "all", 0),
    IDENTITY(13, 13, "T", "all13", 0),
    IDENTITY(14, 15, "V", "all13|seq(all)", TORT_OP_VALUES),
    IDENTITY(16, 18, "V", "all13" OPTIONALS, TORT_OP_VALUES),
    IDENTITY(19, 20, "V", "all19" OPTIONALS, TORT_OP_VALUES),
    IDENTITY(21, 22, "V", "all21" OPTIONALS, TORT_OP_VALUES),
    IDENTITY(23, 23, "V", "all23" OPTIONALS, TORT_OP_VALUES),
    IDENTITY(24, 24, "V", "all24" OPTIONALS, TORT_OP_VALUES),
    IDENTITY(25, TORT_NEWEST_OPSET, "V", "all25" OPTIONALS, TORT_OP_VALUES),
    {0},
};
