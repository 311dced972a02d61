/* unique.c - Unique: the different elements of a tensor, or its different slices along an axis.
 *
 * Slices are compared element by element in row-major order; NaNs are equal to each other and come last. The number of
 * different ones is known only with the data: infer sorts to count them, and the loop sorts again. */
#include "ops/extent.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

/* Views a tensor as [outer, slices, inner]; slice s is all elements (o, s, i). */
typedef struct slices {
    struct tort_watch *watch; /* see tort_goes_on; when the run is over, slices compare as equal */
    tort_type type;
    const void *data;
    int64_t outer, count, inner;
    uint64_t *keys; /* numbers that order slices of a single number each, see key_slices; NULL: compare them */
} slices;

typedef struct unique_params {
    bool flat, sorted;
    int32_t axis;
    int32_t indices, inverse, counts; /* output indices; -1: the operator has no such output */
} unique_params;

/* ---- comparing ----------------------------------------------------------------------------------------------- */

static int compare_doubles(double a, double b) {
    bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return a_nan - b_nan;
    return (a > b) - (a < b);
}

static int compare_strings(const tort_string *a, const tort_string *b) {
    size_t common = a->length < b->length ? a->length : b->length;
    int order = common ? memcmp(a->data, b->data, common) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_elements(tort_type type, const void *data, int64_t a, int64_t b) {
    if (type == TORT_STRING) return compare_strings((const tort_string *)data + a, (const tort_string *)data + b);
    if (type == TORT_COMPLEX64 || type == TORT_COMPLEX128) { /* by the real part, then by the imaginary one */
        tort_type part = type == TORT_COMPLEX64 ? TORT_FLOAT : TORT_DOUBLE;
        int order = compare_elements(part, data, 2 * a, 2 * b);
        return order ? order : compare_elements(part, data, 2 * a + 1, 2 * b + 1);
    }
    if (tort_type_is_float(type)) {
        double x, y;
        tort_load_doubles(type, data, a, 1, &x);
        tort_load_doubles(type, data, b, 1, &y);
        return compare_doubles(x, y);
    }
    int64_t x, y;
    tort_load_integers(type, data, a, 1, &x);
    tort_load_integers(type, data, b, 1, &y);
    if (type == TORT_UINT64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    return (x > y) - (x < y);
}

static int compare_slices(const slices *s, int64_t a, int64_t b) {
    int64_t done = 0;
    if (s->keys) return (s->keys[a] > s->keys[b]) - (s->keys[a] < s->keys[b]);
    for (int64_t o = 0; o < s->outer; o++) {
        for (int64_t i = 0; i < s->inner && tort_row_goes_on(s->watch, done); i++, done++) {
            int64_t first = o * s->count;
            int order = compare_elements(s->type, s->data, (first + a) * s->inner + i, (first + b) * s->inner + i);
            if (order) return order;
        }
    }
    return 0;
}

static bool has_keys(const slices *s) {
    return s->outer == 1 && s->inner == 1 && s->type != TORT_STRING && s->type != TORT_COMPLEX64 &&
           s->type != TORT_COMPLEX128;
}

/* A number of 64 bits that orders doubles as compare_doubles does: the bits, of negative numbers all flipped, of others
 * the sign. */
static uint64_t key_of_double(double x) {
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

/* Fills s->keys. False: the run is over. */
static bool key_slices(const slices *s) {
    for (int64_t i = 0; i < s->count; i++) {
        int64_t integer;
        double number;
        if (!tort_row_goes_on(s->watch, i)) return false;
        if (tort_type_is_float(s->type)) {
            tort_load_doubles(s->type, s->data, i, 1, &number);
            s->keys[i] = key_of_double(number);
        } else {
            tort_load_integers(s->type, s->data, i, 1, &integer);
            s->keys[i] = (uint64_t)integer ^ (s->type == TORT_UINT64 ? 0 : 1ull << 63);
        }
    }
    return true;
}

/* Sorts by keys, a byte after the other from the lowest on (radix sort); a byte that all keys share is passed over. */
static bool sort_by_keys(const slices *s, int64_t *order, int64_t *spare) {
    int64_t *from = order, *to = spare;
    for (int shift = 0; shift < 64; shift += 8) {
        int64_t starts[257] = {0}, done = 0;
        for (int64_t i = 0; i < s->count; i++) {
            if (!tort_work_goes_on(s->watch, &done, 1)) return false;
            starts[(s->keys[i] >> shift & 255) + 1]++;
        }
        if (starts[(s->keys[0] >> shift & 255) + 1] == s->count) continue;
        for (int b = 0; b < 255; b++) starts[b + 1] += starts[b];
        for (int64_t i = 0; i < s->count; i++) {
            if (!tort_work_goes_on(s->watch, &done, 4)) return false;
            to[starts[s->keys[from[i]] >> shift & 255]++] = from[i];
        }
        int64_t *const swapped = from;
        from = to;
        to = swapped;
    }
    return from == order || tort_copy_bytes(s->watch, order, from, (size_t)s->count * sizeof *order);
}

/* Fills `order` with the slices' numbers, sorted; equal ones in the order of the tensor. Both arrays have s->count
 * entries. By keys, or merge sort, bottom up. False: the run is over, and the order is none. */
static bool sort_slices(const slices *s, int64_t *order, int64_t *spare) {
    int64_t done = 0;
    for (int64_t i = 0; i < s->count; i++) order[i] = i;
    if (s->keys) return key_slices(s) && sort_by_keys(s, order, spare) && tort_goes_on(s->watch, 0);
    for (int64_t run = 1; run<s->count; run = run> s->count / 2 ? s->count : 2 * run) {
        for (int64_t first = 0; first < s->count; first += 2 * run) {
            int64_t middle = s->count - first < run ? s->count : first + run;
            int64_t end = s->count - middle < run ? s->count : middle + run;
            int64_t a = first, b = middle;
            for (int64_t to = first; to < end; to++) {
                if (!tort_work_goes_on(s->watch, &done, 16 + s->outer * s->inner)) return false;
                bool left = b == end || (a < middle && compare_slices(s, order[a], order[b]) <= 0);
                spare[to] = left ? order[a++] : order[b++];
            }
        }
        if (!tort_copy_bytes(s->watch, order, spare, (size_t)s->count * sizeof *order)) return false;
    }
    return tort_goes_on(s->watch, 0);
}

/* ---- shapes -------------------------------------------------------------------------------------------------- */

static tort_status read_params(const tort_node_view *node, tort_error *error, unique_params *params) {
    const bool main_domain = !*node->op->domain; /* com.microsoft's has no indices, and is never sorted */
    params->flat = !tort_attr(node, "axis");
    params->sorted = tort_attr_int(node, "sorted") != 0;
    params->indices = main_domain ? 1 : -1;
    params->inverse = main_domain ? 2 : 1;
    params->counts = main_domain ? 3 : 2;
    if (!main_domain && node->inputs[0].rank >= 0 && node->inputs[0].rank != 1)
        return tort_fail(error, TORT_E_MODEL, "x has rank %d, expected 1", (int)node->inputs[0].rank);
    if (params->flat || node->inputs[0].rank < 0) return TORT_OK;
    return tort_normalize_axis(error, tort_attr_int(node, "axis"), node->inputs[0].rank, &params->axis);
}

static slices slices_of(const unique_params *params, struct tort_watch *watch, tort_type type, const void *data,
                        int32_t rank, const int64_t *dims) {
    if (params->flat) return (slices){watch, type, data, 1, tort_extent(dims, 0, rank), 1, NULL};
    const int32_t axis = params->axis;
    return (slices){watch, type, data, tort_extent(dims, 0, axis), dims[axis], tort_extent(dims, axis + 1, rank), NULL};
}

static tort_status count_unique(const tort_infer *infer, slices *s, tort_dim *out) {
    const tort_env *env = tort_model_env(infer->node->model);
    size_t bytes = 0;
    if (!tort_mul_size((uint64_t)s->count, 3 * sizeof(int64_t), &bytes))
        return tort_out_of_memory(infer->error, SIZE_MAX);
    *out = 0;
    if (bytes == 0) return TORT_OK;
    int64_t *order = tort_alloc(env, bytes);
    if (!order) return tort_out_of_memory(infer->error, bytes);
    if (has_keys(s)) s->keys = (uint64_t *)order + 2 * s->count;
    const bool sorted = sort_slices(s, order, order + s->count);
    for (int64_t i = 0; sorted && i < s->count; i++) *out += i == 0 || compare_slices(s, order[i - 1], order[i]) != 0;
    tort_free(env, order, bytes);
    return sorted && tort_goes_on(s->watch, 0) ? TORT_OK : tort_run_is_over(infer->error);
}

static tort_status unique_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    unique_params params = {0};
    tort_status status = read_params(infer->node, infer->error, &params);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK] = {0}, found = tort_dim_fresh(infer->dims, true), slice_count;
    bool known = input->data != NULL;
    for (int32_t k = 0; k < input->rank; k++) {
        dims[k] = input->dims[k];
        known = known && tort_dim_known(dims[k]);
    }
    if (input->rank >= 0)
        slice_count = params.flat ? tort_dim_product(infer->dims, input->rank, dims) : dims[params.axis];
    else
        slice_count = tort_dim_fresh(infer->dims, true);
    if (known && input->rank >= 0) {
        slices s = slices_of(&params, infer->watch, input->type, input->data, input->rank, dims);
        status = count_unique(infer, &s, &found);
        if (status) return status;
    }
    dims[params.axis] = found;
    tort_infer_shape(infer, 0, input->type, params.flat ? 1 : input->rank, dims);
    if (params.indices > 0) tort_infer_shape(infer, params.indices, TORT_INT64, 1, &found);
    tort_infer_shape(infer, params.inverse, TORT_INT64, 1, &slice_count);
    tort_infer_shape(infer, params.counts, TORT_INT64, 1, &found);
    return TORT_OK;
}

enum { SCRATCH_ARRAYS = 5 }; /* each with a number per slice, see unique_reference */

static tort_status unique_resolve(tort_resolve *resolve) {
    const tort_info *input = &resolve->node->inputs[0];
    unique_params *params = resolve->params;
    tort_status status = read_params(resolve->node, resolve->error, params);
    if (status || input->rank < 0) return status;
    for (int32_t k = 0; k < input->rank; k++) {
        if (!tort_dim_known(input->dims[k])) return TORT_OK;
    }
    slices s = slices_of(params, NULL, input->type, NULL, input->rank, input->dims);
    if (tort_mul_size((uint64_t)s.count, SCRATCH_ARRAYS * sizeof(int64_t), &resolve->scratch_bytes)) return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

static void copy_slice(const slices *s, void *out, int64_t out_count, int64_t to, int64_t from) {
    int64_t done = 0;
    for (int64_t o = 0; o < s->outer; o++)
        if (!tort_copy_run(s->watch, &done, s->type, out, (o * out_count + to) * s->inner, s->data,
                           (o * s->count + from) * s->inner, s->inner))
            return;
}

static int64_t *output_of(const tort_call *call, int32_t i) {
    return i > 0 && i < call->output_count && tort_present(&call->outputs[i]) ? call->outputs[i].data : NULL;
}

/* Number of different slices that infer has counted: an input that has changed since may have more. */
static int64_t counted(const tort_call *call) {
    const unique_params *params = call->params;
    const int32_t listed[] = {params->indices, params->counts};
    if (tort_present(&call->outputs[0])) return call->outputs[0].dims[params->axis];
    for (int32_t i = 0; i < 2; i++)
        if (output_of(call, listed[i])) return call->outputs[listed[i]].dims[0];
    return INT64_MAX;
}

static tort_status unique_reference(const tort_call *call) {
    const unique_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    slices s = slices_of(params, call->watch, input->type, input->data, input->rank, input->dims);
    if (s.count == 0) return TORT_OK; /* and there is no scratch */
    int64_t *order = call->scratch, *group = order + s.count, *first = group + s.count, *place = first + s.count;
    if (has_keys(&s)) s.keys = (uint64_t *)place + s.count;
    const int64_t max_groups = counted(call);
    int64_t groups = 0, placed = 0, done = 0, *indices = output_of(call, params->indices);
    int64_t *inverse = output_of(call, params->inverse), *counts = output_of(call, params->counts);

    if (!sort_slices(&s, order, first)) return TORT_OK; /* more groups would be found than there are */
    for (int64_t i = 0; i < s.count; i++) {
        if (!tort_work_goes_on(call->watch, &done, 16 + s.outer * s.inner)) return TORT_OK;
        if (i == 0 || (groups < max_groups && compare_slices(&s, order[i - 1], order[i]) != 0))
            first[groups++] = order[i];
        group[order[i]] = groups - 1;
    }
    for (int64_t g = 0; g < groups; g++) place[g] = g;
    for (int64_t i = 0; i < s.count && !params->sorted && tort_row_goes_on(call->watch, i); i++) {
        if (first[group[i]] == i) place[group[i]] = placed++;
    }
    if (counts && groups) memset(counts, 0, (size_t)groups * sizeof *counts);
    for (int64_t i = 0; i < s.count; i++) {
        if (!tort_work_goes_on(call->watch, &done, 16)) return TORT_OK;
        int64_t to = place[group[i]];
        if (inverse) inverse[i] = to;
        if (counts) counts[to]++;
        if (first[group[i]] != i) continue;
        if (indices) indices[to] = i;
        if (tort_present(&call->outputs[0])) copy_slice(&s, call->outputs[0].data, groups, to, i);
    }
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define UNIQUE(SINCE, UNTIL, ALL)                                                                                      \
    {                                                                                                                  \
        "", "Unique", SINCE, UNTIL, "X:T", "Y:T indices?:int64 inverse_indices?:int64 counts?:int64", "T=" ALL,        \
            "axis:int sorted:int=1", .shape_inputs = 1u << 0, .params_size = sizeof(unique_params), unique_infer,      \
                                     unique_resolve, unique_reference                                                  \
    }

const tort_op tort_ops_unique[] = {
    UNIQUE(11, 27, "all"),
    UNIQUE(28, TORT_NEWEST_OPSET, "all13"),
    {"com.microsoft", "Unique", 1, 1, "x:T", "y:T idx:int64 counts:int64", "T=all", "", .shape_inputs = 1u << 0,
     .params_size = sizeof(unique_params), unique_infer, unique_resolve, unique_reference},
    {0},
};
