/* pad.c - Pad in every mode, with attributes (opset 1 and 2) and with inputs (11 and later).
 *
 * For each axis a map is made once from output positions to input positions; then every mode is the same loop. */
#include "ops/pad.h"

#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

/* ---- attributes and inputs ----------------------------------------------------------------------------------- */

static tort_pad_mode pad_mode(const tort_node_view *node, bool *known) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode = tort_attr_string(node, "mode");
    int32_t count = node->op->since >= 19 ? 4 : 3;
    for (int32_t k = 0; k < count; k++) {
        if (!strcmp(mode, names[k])) return (tort_pad_mode)k;
    }
    *known = false;
    return TORT_PAD_CONSTANT;
}

static const char *pads_name(const tort_node_view *node) {
    return node->op->since == 1 && node->input_count < 2 ? "paddings" : "pads"; /* an attribute before opset 11 */
}

/* Copy of a node in which pads are a list: those of com.microsoft may be a matrix of one row. */
typedef struct list_of_pads {
    tort_node_view node;
    tort_info inputs[3];
} list_of_pads;

static const tort_node_view *with_list(const tort_node_view *node, list_of_pads *copy) {
    const tort_info *pads = &node->inputs[1];
    if (!*node->op->domain || pads->rank != 2 || (tort_dim_known(pads->dims[0]) && pads->dims[0] != 1)) return node;
    copy->node = *node;
    for (int32_t i = 0; i < node->input_count && i < 3; i++) copy->inputs[i] = node->inputs[i];
    copy->inputs[1].rank = 1;
    copy->inputs[1].dims[0] = pads->dims[1];
    copy->node.inputs = copy->inputs;
    return &copy->node;
}

/* Reads the axes that the pads are for, normalized: an input from opset 18 on, else all axes. */
static tort_status pad_axes(const tort_node_view *node, tort_error *error, tort_numbers *axes) {
    tort_status status = tort_read_numbers(node, 3, "axes", axes, error);
    if (status || axes->known == TORT_UNKNOWN) return status;
    if (axes->known == TORT_ABSENT) {
        for (axes->count = 0; axes->count < node->inputs[0].rank; axes->count++)
            axes->values[axes->count] = axes->count;
    }
    return tort_normalize_axes(error, axes->values, axes->count, node->inputs[0].rank);
}

static tort_status check_pads(tort_error *error, int32_t pads, int32_t axes) {
    if (pads < 0 || axes < 0 || pads == 2 * axes) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "%d pads for %d axes; two an axis are needed", (int)pads, (int)axes);
}

/* ---- infer --------------------------------------------------------------------------------------------------- */

static tort_status pad_dim(const tort_infer *infer, tort_dim d, tort_scalar before, tort_scalar after, tort_dim *out) {
    int64_t size = 0, both = 0;
    if (before.symbolic || after.symbolic || !tort_dim_known(d)) {
        tort_scalar sum = tort_scalar_add(infer->dims, tort_scalar_of_dim(d), before);
        *out = tort_scalar_to_dim(infer->dims, tort_scalar_add(infer->dims, sum, after));
        return TORT_OK;
    }
    tort_status status = tort_size_add(infer->error, before.value, after.value, &both);
    if (!status) status = tort_size_add(infer->error, d, both, &size);
    if (status) return status;
    bool made_of_nothing =
        size > 0 && d + (before.value < 0 ? before.value : 0) + (after.value < 0 ? after.value : 0) <= 0;
    if (size < 0 || (made_of_nothing && strcmp(tort_attr_string(infer->node, "mode"), "constant"))) {
        return tort_fail(infer->error, TORT_E_MODEL, "%lld elements cannot be padded by %lld and %lld in mode %s",
                         (long long)d, (long long)before.value, (long long)after.value,
                         tort_attr_string(infer->node, "mode"));
    }
    *out = size;
    return TORT_OK;
}

static tort_status pad_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *data = &node->inputs[0];
    tort_symbols pads;
    list_of_pads copy;
    tort_numbers axes;
    bool mode_known = true;
    pad_mode(node, &mode_known);
    if (!mode_known) {
        return tort_fail(infer->error, TORT_E_MODEL, "mode \"%s\" is not one of this version",
                         tort_attr_string(node, "mode"));
    }
    tort_infer_unknown(infer, 0, data->type);
    tort_status status = tort_check_single(node, 2, "constant_value", infer->error);
    if (!status)
        status = tort_read_symbols(with_list(node, &copy), infer->dims, 1, pads_name(node), &pads, infer->error);
    if (status || data->rank < 0) return status;
    status = pad_axes(node, infer->error, &axes);
    if (!status) status = check_pads(infer->error, pads.count, axes.count);
    if (status) return status;
    tort_infer_unknown_dims(infer, 0, data->type, data->rank);
    if (axes.known == TORT_UNKNOWN || pads.known == TORT_UNKNOWN) return TORT_OK;

    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < data->rank; k++) dims[k] = data->dims[k];
    for (int32_t k = 0; k < axes.count; k++) {
        tort_dim *d = &dims[axes.values[k]];
        status = pad_dim(infer, *d, pads.values[k], pads.values[k + axes.count], d);
        if (status) return status;
    }
    tort_infer_shape(infer, 0, data->type, data->rank, dims);
    return TORT_OK;
}

/* ---- resolve ------------------------------------------------------------------------------------------------- */

static tort_status pad_resolve(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *data = &node->inputs[0], *output = &node->outputs[0];
    tort_pad_params *pad = resolve->params;
    tort_numbers axes, pads = {0};
    list_of_pads copy;
    bool mode_known = true;
    pad->mode = pad_mode(node, &mode_known);
    pad->value = tort_attr_float(node, "value");
    pad->rank = data->rank;
    if (data->rank < 0) return TORT_OK;
    tort_status status = pad_axes(node, resolve->error, &axes);
    if (!status) status = tort_read_numbers(with_list(node, &copy), 1, pads_name(node), &pads, resolve->error);
    if (!status) status = check_pads(resolve->error, pads.count, axes.count);
    if (status || axes.known == TORT_UNKNOWN || pads.known != TORT_KNOWN) return status;
    for (int32_t k = 0; k < axes.count; k++) {
        pad->before[axes.values[k]] = pads.values[k];
        pad->after[axes.values[k]] = pads.values[k + axes.count];
    }
    for (int32_t k = 0; k < output->rank; k++) { /* room for the maps */
        size_t bytes = 0;
        if (!tort_dim_known(output->dims[k])) return TORT_OK;
        if (!tort_mul_size((uint64_t)output->dims[k], sizeof(int64_t), &bytes) ||
            !tort_add_size(resolve->scratch_bytes, bytes, &resolve->scratch_bytes)) {
            return tort_fail(resolve->error, TORT_E_MODEL, "an output of %lld elements along axis %d is too large",
                             (long long)output->dims[k], (int)k);
        }
    }
    return TORT_OK;
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

static int64_t modulo(int64_t a, int64_t b) {
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

int64_t tort_pad_source(const tort_pad_params *pad, int32_t axis, int64_t size, int64_t at) {
    int64_t before = pad->before[axis], after = pad->after[axis];
    int64_t low = before < 0 ? -before : 0, count = size - low + (after < 0 ? after : 0); /* not cut */
    int64_t i = at - (before > 0 ? before : 0);
    if (i >= 0 && i < count) return low + i;
    switch (pad->mode) {
    case TORT_PAD_CONSTANT: return -1;
    case TORT_PAD_EDGE: return i < 0 ? low : low + count - 1;
    case TORT_PAD_WRAP: return low + modulo(i, count);
    case TORT_PAD_REFLECT: break;
    }
    if (count == 1) return low;
    i = modulo(i, 2 * (count - 1));
    return low + (i < count ? i : 2 * (count - 1) - i);
}

typedef struct pad_job {
    const tort_call *call;
    const tort_tensor *input, *output;
    const void *value; /* one element */
    int32_t rank;
    const int64_t *maps[TORT_MAX_RANK]; /* an output position along the axis -> an offset in the input, or -1 */
    int64_t inside, inside_count;       /* part of an output row that is contiguous in its input row */
} pad_job;

/* Writes positions first .. first+count of a row, elements of 4 bytes, as pad_part does. */
static void pad_words(const pad_job *job, int64_t dst, int64_t src, int64_t first, int64_t count) {
    const int64_t *map = job->maps[job->rank - 1];
    const uint32_t *from = (const uint32_t *)job->input->data + src, *value = job->value;
    uint32_t *to = (uint32_t *)job->output->data + dst;
    for (int64_t i = first; i < first + count; i++) to[i] = map[i] < 0 ? *value : from[map[i]];
}

/* Writes positions begin .. end-1 of a row that begins at element dst of the output, and at src of the input; src < 0:
 * all padding. */
static void pad_part(const pad_job *job, int64_t dst, int64_t src, int64_t begin, int64_t end) {
    const tort_type type = job->output->type;
    const int64_t *map = job->maps[job->rank - 1], inside_end = job->inside + job->inside_count;
    const size_t type_size = (size_t)tort_type_bits(type) / 8;
    if (src < 0) {
        tort_fill_elements(type, job->output->data, dst + begin, end - begin, job->value, 0);
        return;
    }
    for (int64_t i = begin, count; i < end; i += count) {
        if (i >= job->inside && i < inside_end) {
            count = (inside_end < end ? inside_end : end) - i;
            tort_copy_elements(type, job->output->data, dst + i, job->input->data, src + map[i], count);
            continue;
        }
        count = (i < job->inside && job->inside < end ? job->inside : end) - i;
        if (type_size == sizeof(uint32_t)) /* a loop of moves: that of any type has a call for each */
            pad_words(job, dst, src, i, count);
        else
            for (int64_t k = i; k < i + count; k++)
                tort_copy_elements(type, job->output->data, dst + k, map[k] < 0 ? job->value : job->input->data,
                                   map[k] < 0 ? 0 : src + map[k], 1);
    }
}

static void pad_row(const pad_job *job, int64_t row, int64_t src) {
    const int64_t length = job->output->dims[job->rank - 1];
    for (int64_t at = 0; at < length && tort_row_goes_on(job->call->watch, at); at += TORT_PART)
        pad_part(job, row * length, src, at, at + tort_part_count(length, at));
}

static void pad_rows(void *arg, int64_t begin, int64_t end) {
    const pad_job *job = arg;
    for (int64_t row = begin; row < end; row++) {
        int64_t src = 0, rest = row;
        for (int32_t k = job->rank - 2; k >= 0; k--) {
            int64_t offset = job->maps[k][rest % job->output->dims[k]];
            rest /= job->output->dims[k];
            src = offset < 0 || src < 0 ? -1 : src + offset;
        }
        pad_row(job, row, src);
    }
}

/* False: the run is over. */
static bool make_maps(const tort_call *call, pad_job *job) {
    const tort_pad_params *pad = call->params;
    int64_t strides[TORT_MAX_RANK], *map = call->scratch;
    tort_strides(job->rank, job->input->dims, strides);
    for (int32_t k = 0; k < job->rank; k++) {
        job->maps[k] = map;
        const int64_t size = job->output->dims[k];
        for (int64_t first = 0; first < size; first += TORT_PART) {
            if (!tort_row_goes_on(call->watch, first)) return false;
            for (int64_t i = first; i < first + tort_part_count(size, first); i++) {
                int64_t at = tort_pad_source(pad, k, job->input->dims[k], i);
                *map++ = at < 0 ? -1 : at * strides[k];
            }
        }
    }
    int32_t last = job->rank - 1;
    int64_t before = pad->before[last], after = pad->after[last];
    job->inside = before > 0 ? before : 0;
    job->inside_count = job->output->dims[last] - job->inside - (after > 0 ? after : 0);
    return true;
}

static tort_status pad_reference(const tort_call *call) {
    const tort_pad_params *pad = call->params;
    pad_job job = {.call = call, .input = &call->inputs[0], .output = &call->outputs[0], .rank = pad->rank};
    const tort_tensor *given = tort_call_input(call, 2);
    unsigned char value[16] = {0};
    if (!given && pad->value != 0.0f) tort_store_floats(job.output->type, value, 0, 1, &pad->value);
    job.value = given ? given->data : value;
    int64_t count = tort_count(job.output);
    if (count == 0) return TORT_OK;
    if (pad->rank == 0) {
        tort_copy_elements(job.output->type, job.output->data, 0, job.input->data, 0, 1);
        return TORT_OK;
    }
    if (!make_maps(call, &job)) return TORT_OK;
    int64_t length = job.output->dims[job.rank - 1];
    if (tort_type_bits(job.output->type) < 8) {
        pad_rows(&job, 0, count / length); /* two threads must not write to one byte */
    } else {
        tort_parallel(call, count / length, 10 + length / 4, pad_rows, &job);
    }
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define PAD_FUNCTIONS .params_size = sizeof(tort_pad_params), pad_infer, pad_resolve, pad_reference
#define PAD(SINCE, UNTIL, ALL)                                                                                         \
    {                                                                                                                  \
        "", "Pad", SINCE, UNTIL, "data:T pads:int64 constant_value?:T axes?:Tind", "output:T",                         \
            "T=" ALL " Tind=int32|int64", "mode:string=constant", 1u << 1 | 1u << 3, TORT_OP_FILLS, PAD_FUNCTIONS      \
    }

const tort_op tort_ops_pad[] = {
    {"", "Pad", 1, 1, "data:T", "output:T", "T=floats", "paddings:ints! mode:string=constant value:float=0", 0, 0,
     PAD_FUNCTIONS},
    {"", "Pad", 2, 10, "data:T", "output:T", "T=floats", "pads:ints! mode:string=constant value:float=0", 0, 0,
     PAD_FUNCTIONS},
    {"", "Pad", 11, 12, "data:T pads:int64 constant_value?:T", "output:T", "T=numeric", "mode:string=constant", 1u << 1,
     TORT_OP_FILLS, PAD_FUNCTIONS},
    {"", "Pad", 13, 17, "data:T pads:int64 constant_value?:T", "output:T", "T=all13", "mode:string=constant", 1u << 1,
     TORT_OP_FILLS, PAD_FUNCTIONS},
    PAD(18, 18, "all13"),
    PAD(19, 20, "all13"),
    PAD(21, 22, "all21"),
    PAD(23, 23, "all23"),
    PAD(24, 24, "all24"),
    PAD(25, TORT_NEWEST_OPSET, "all25"),
    {"com.microsoft", "Pad", 1, 1, "data:T pads:int64 value?:T", "output:T", "T=floats", "mode:string=constant",
     1u << 1, 0, PAD_FUNCTIONS},
    {0},
};
