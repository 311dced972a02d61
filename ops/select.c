/* select.c - NonZero, Compress and Trilu: keep some elements and leave out or clear the others.
 *
 * The number of elements that NonZero and Compress keep depends on data: infer counts them once it has the contents. */
#include "ops/select.h"

#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

/* ---- NonZero ------------------------------------------------------------------------------------------------- */

/* mask[i]: true if element first+i is not zero; NaN is not, nor is a string that is not empty. count <= TORT_BLOCK. */
static void nonzero_mask(tort_type type, const void *data, int64_t first, int64_t count, bool *mask) {
    if (type == TORT_STRING) {
        for (int64_t i = 0; i < count; i++) mask[i] = ((const tort_string *)data)[first + i].length > 0;
    } else if (type == TORT_COMPLEX64) {
        const float *parts = (const float *)data + 2 * first;
        for (int64_t i = 0; i < count; i++) mask[i] = parts[2 * i] != 0 || parts[2 * i + 1] != 0;
    } else if (type == TORT_COMPLEX128) {
        const double *parts = (const double *)data + 2 * first;
        for (int64_t i = 0; i < count; i++) mask[i] = parts[2 * i] != 0 || parts[2 * i + 1] != 0;
    } else if (tort_type_is_float(type)) {
        double block[TORT_BLOCK];
        tort_load_doubles(type, data, first, count, block);
        for (int64_t i = 0; i < count; i++) mask[i] = block[i] != 0;
    } else {
        int64_t block[TORT_BLOCK];
        tort_load_integers(type, data, first, count, block);
        for (int64_t i = 0; i < count; i++) mask[i] = block[i] != 0;
    }
}

static tort_status nonzero_count(const tort_infer *infer, tort_type type, const void *data, int64_t count,
                                 int64_t *found) {
    int64_t total = 0;
    bool mask[TORT_BLOCK];
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t size = tort_block_count(count, first);
        if (!tort_row_goes_on(infer->watch, first)) return tort_run_is_over(infer->error);
        nonzero_mask(type, data, first, size, mask);
        for (int64_t i = 0; i < size; i++) total += mask[i];
    }
    *found = total;
    return TORT_OK;
}

static tort_status nonzero_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_dim dims[2] = {input->rank, tort_dim_fresh(infer->dims, true)};
    if (input->rank < 0) {
        tort_infer_unknown_dims(infer, 0, TORT_INT64, 2);
        return TORT_OK;
    }
    tort_dim count = tort_dim_product(infer->dims, input->rank, input->dims);
    tort_status status = TORT_OK;
    if (input->data && tort_dim_known(count)) status = nonzero_count(infer, input->type, input->data, count, &dims[1]);
    tort_infer_shape(infer, 0, TORT_INT64, 2, dims);
    return status;
}

/* The output is [rank, number found]: row k has coordinate k of all elements found. */
static tort_status nonzero_reference(const tort_call *call) {
    const tort_tensor *input = &call->inputs[0];
    int64_t count = tort_count(input), found = 0, columns = call->outputs[0].dims[1];
    int64_t *out = call->outputs[0].data;
    bool mask[TORT_BLOCK];
    for (int64_t first = 0; first < count && columns > 0 && tort_row_goes_on(call->watch, first); first += TORT_BLOCK) {
        int64_t size = tort_block_count(count, first);
        nonzero_mask(input->type, input->data, first, size, mask);
        for (int64_t i = 0; i < size; i++) {
            if (!mask[i] || found == columns) continue; /* more than were counted: the input has changed */
            int64_t rest = first + i;
            for (int32_t k = input->rank - 1; k >= 0; k--) {
                out[k * columns + found] = rest % input->dims[k];
                rest /= input->dims[k];
            }
            found++;
        }
    }
    return TORT_OK;
}

/* ---- Compress ------------------------------------------------------------------------------------------------ */

static tort_status compress_axis(const tort_node_view *node, tort_error *error, tort_compress_params *params) {
    params->flat = !tort_attr(node, "axis");
    if (params->flat || node->inputs[0].rank < 0) return TORT_OK;
    return tort_normalize_axis(error, tort_attr_int(node, "axis"), node->inputs[0].rank, &params->axis);
}

static tort_status compress_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0], *condition = &infer->node->inputs[1];
    tort_compress_params params = {0};
    tort_status status = compress_axis(infer->node, infer->error, &params);
    if (status) return status;
    tort_infer_unknown(infer, 0, input->type);
    if (input->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "input has rank 0, expected 1 or more");
    if (input->rank < 0 && !params.flat) return TORT_OK;

    tort_dim dims[TORT_MAX_RANK] = {0}, length = tort_dim_fresh(infer->dims, true), kept = length;
    if (input->rank >= 0) {
        for (int32_t k = 0; k < input->rank; k++) dims[k] = input->dims[k];
        length = params.flat ? tort_dim_product(infer->dims, input->rank, input->dims) : dims[params.axis];
    }
    /* The condition is a list; Paddle's exporter gives it the rank of the input, and means all of its elements. */
    const tort_dim given =
        condition->rank < 0 ? length : tort_dim_product(infer->dims, condition->rank, condition->dims);
    if (condition->data && tort_dim_known(given) && tort_dim_known(length))
        status = nonzero_count(infer, TORT_BOOL, condition->data, given < length ? given : length, &kept);
    dims[params.axis] = kept;
    tort_infer_shape(infer, 0, input->type, params.flat ? 1 : input->rank, dims);
    return status;
}

static tort_status compress_resolve(tort_resolve *resolve) {
    return compress_axis(resolve->node, resolve->error, resolve->params);
}

static tort_status compress_reference(const tort_call *call) {
    const tort_compress_params *params = call->params;
    const tort_tensor *input = &call->inputs[0], *condition = &call->inputs[1];
    const uint8_t *keep = condition->data;
    int64_t length = tort_count(input), outer = 1, inner = 1, to = 0, done = 0, copied = 0;
    if (!params->flat) {
        length = input->dims[params->axis];
        for (int32_t k = 0; k < params->axis; k++) outer *= input->dims[k];
        for (int32_t k = params->axis + 1; k < input->rank; k++) inner *= input->dims[k];
    }
    const int64_t given = tort_count(condition), count = given < length ? given : length;
    const int64_t room = tort_count(&call->outputs[0]);
    if (inner == 0) return TORT_OK;
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t k = 0; k < count; k++) {
            if (!tort_row_goes_on(call->watch, done++)) return TORT_OK;
            if (!keep[k] || to == room) continue; /* more than were counted: the condition has changed */
            if (!tort_copy_run(call->watch, &copied, input->type, call->outputs[0].data, to, input->data,
                               (i * length + k) * inner, inner))
                return TORT_OK;
            to += inner;
        }
    }
    return TORT_OK;
}

/* ---- Trilu --------------------------------------------------------------------------------------------------- */

static tort_status trilu_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    if (input->rank >= 0 && input->rank < 2) {
        return tort_fail(infer->error, TORT_E_MODEL, "the input must be matrices; it has rank %d", (int)input->rank);
    }
    tort_infer_same(infer, 0, 0);
    return TORT_OK;
}

static tort_status trilu_resolve(tort_resolve *resolve) {
    tort_status status = tort_check_single(resolve->node, 1, "k", resolve->error);
    if (status) return status;
    ((tort_trilu_params *)resolve->params)->upper = tort_attr_int(resolve->node, "upper") != 0;
    return TORT_OK;
}

typedef struct trilu_job {
    const char *in;
    char *out;
    size_t element; /* bytes */
    int64_t rows, columns, diagonal;
    bool upper;
} trilu_job;

static void trilu_rows(void *arg, int64_t begin, int64_t end) {
    const trilu_job *job = arg;
    size_t row_bytes = (size_t)job->columns * job->element;
    for (int64_t i = begin; i < end; i++) {
        int64_t split = i % job->rows + job->diagonal + !job->upper; /* the first column of the right part */
        if (split < 0) split = 0;
        if (split > job->columns) split = job->columns;
        size_t left = (size_t)split * job->element, right = row_bytes - left;
        const char *in = job->in + (size_t)i * row_bytes;
        char *out = job->out + (size_t)i * row_bytes;
        if (job->upper) {
            memset(out, 0, left);
            memcpy(out + left, in + left, right);
        } else {
            memcpy(out, in, left);
            memset(out + left, 0, right);
        }
    }
}

static tort_status trilu_reference(const tort_call *call) {
    const tort_trilu_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    trilu_job job = {.in = input->data, .out = call->outputs[0].data, .upper = params->upper};
    job.element = (size_t)tort_type_bits(input->type) / 8;
    job.rows = input->dims[input->rank - 2];
    job.columns = input->dims[input->rank - 1];
    if (tort_call_input(call, 1)) {
        int64_t k = tort_index_at(&call->inputs[1], 0);
        if (k > job.columns) k = job.columns; /* beyond the matrix nothing changes, and sums could overflow */
        if (k < -job.rows) k = -job.rows;
        job.diagonal = k;
    }
    int64_t count = tort_count(input);
    if (count > 0) tort_parallel(call, count / job.columns, 10 + job.columns / 4, trilu_rows, &job);
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define NON_ZERO(SINCE, UNTIL, ALL)                                                                                    \
    {                                                                                                                  \
        "", "NonZero", SINCE, UNTIL, "X:T", "Y:int64", "T=" ALL, "", .shape_inputs = 1u << 0, .infer = nonzero_infer,  \
                                                                     .reference = nonzero_reference                    \
    }
#define COMPRESS(SINCE, UNTIL, ALL)                                                                                    \
    {                                                                                                                  \
        "", "Compress", SINCE, UNTIL, "input:T condition:T1", "output:T", "T=" ALL " T1=bool", "axis:int",             \
            .shape_inputs = 1u << 1, .params_size = sizeof(tort_compress_params), compress_infer, compress_resolve,    \
            compress_reference                                                                                         \
    }

const tort_op tort_ops_select[] = {
    NON_ZERO(9, 12, "all"),
    NON_ZERO(13, TORT_NEWEST_OPSET, "all13"),
    COMPRESS(9, 10, "all"),
    COMPRESS(11, 27, "all"),
    COMPRESS(28, TORT_NEWEST_OPSET, "all13"),
    {"", "Trilu", 14, TORT_NEWEST_OPSET, "input:T k?:int64", "output:T", "T=all13", "upper:int=1",
     .params_size = sizeof(tort_trilu_params), trilu_infer, trilu_resolve, trilu_reference},
    {"com.microsoft", "Trilu", 1, 1, "X:T k?:int64", "Y:T", "T=numeric13|bool", "upper:int=1",
     .params_size = sizeof(tort_trilu_params), trilu_infer, trilu_resolve, trilu_reference},
    {0},
};
