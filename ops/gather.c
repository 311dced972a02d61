/* gather.c - Gather, GatherElements and GatherND: copy slices or elements by index.
 *
 * All of them move bytes and never look at the elements; strings move as their 16-byte structs. Gather with known
 * contents is part of shape arithmetic. Read next: scatter.c, the inverse. */
#include "ops/contents.h"
#include "ops/gather.h"
#include "ops/index.h"
#include "ops/shapes.h"

#include <stdatomic.h>

/* ---- Gather ------------------------------------------------------------------------------------------------------ */

/* Infers the output's contents if those of data (rank 1) and indices are known. */
static tort_status infer_gathered_elements(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    tort_scalar values[TORT_MAX_ELEMENTS], indices[TORT_MAX_ELEMENTS], gathered[TORT_MAX_ELEMENTS];
    int32_t count, index_count;
    if (data->rank != 1) return TORT_OK;
    if (!tort_infer_integers(infer, 1, indices, &index_count)) return TORT_OK;
    if (!tort_infer_integers(infer, 0, values, &count)) return TORT_OK;
    for (int32_t i = 0; i < index_count; i++) {
        int64_t index = indices[i].value;
        if (indices[i].symbolic) return TORT_OK;
        if (index < -count || index >= count)
            return tort_fail(infer->error, TORT_E_MODEL, "index %lld is not in [-%d, %d)", (long long)index, count,
                             count);
        gathered[i] = values[index < 0 ? index + count : index];
    }
    return tort_infer_set_integers(infer, 0, gathered, index_count);
}

static tort_status infer_gather(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    tort_dim dims[2 * TORT_MAX_RANK];
    int32_t axis;
    infer->outputs[0].type = data->type;
    if (data->rank < 0 || indices->rank < 0) return TORT_OK;
    if (data->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "data is a scalar; it needs rank 1 or more");
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), data->rank, &axis);
    if (status != TORT_OK) return status;
    int32_t rank = data->rank - 1 + indices->rank;
    if (rank > TORT_MAX_RANK)
        return tort_fail(infer->error, TORT_E_UNSUPPORTED, "the output has rank %d; at most %d is supported", rank,
                         TORT_MAX_RANK);
    int32_t d = 0;
    for (int32_t i = 0; i < axis; i++) dims[d++] = data->dims[i];
    for (int32_t i = 0; i < indices->rank; i++) dims[d++] = indices->dims[i];
    for (int32_t i = axis + 1; i < data->rank; i++) dims[d++] = data->dims[i];
    tort_infer_shape(infer, 0, data->type, rank, dims);
    return infer_gathered_elements(infer);
}

/* If there is one index, known and in range, the output is a part of data, which a plan need not copy. */
static tort_parts part_of_one(const tort_node_view *node, const tort_gather_params *params) {
    const tort_parts none = {.axis = -1};
    tort_numbers index;
    if (params->index_count != 1 || node->inputs[1].rank > 1) return none;
    if (tort_read_numbers(node, 1, "indices", &index, NULL) || index.known != TORT_KNOWN) return none;
    const int64_t start = index.values[0] < 0 ? index.values[0] + params->size : index.values[0];
    return start >= 0 && start < params->size ? (tort_parts){.start = start, .axis = params->axis} : none;
}

static tort_status resolve_gather(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0], *indices = &resolve->node->inputs[1];
    tort_gather_params *params = resolve->params;
    params->parts.axis = -1;
    if (data->rank < 1) return TORT_OK;
    tort_status status =
        tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), data->rank, &params->axis);
    if (status != TORT_OK || !tort_shape_known(data) || !tort_shape_known(indices)) return status;
    params->outer = tort_extent(data->dims, 0, params->axis);
    params->size = data->dims[params->axis];
    params->inner = tort_extent(data->dims, params->axis + 1, data->rank);
    params->index_count = tort_extent(indices->dims, 0, indices->rank);
    params->parts = part_of_one(resolve->node, params);
    return TORT_OK;
}

typedef struct gather_task {
    const tort_call *call;
    const tort_gather_params *params;
    const tort_tensor *indices;
    const char *data;
    char *output;
    size_t bytes; /* of a slice, `inner` elements */
} gather_task;

static inline void copy_slice(const tort_call *call, void *to, const void *from, size_t bytes) {
    enum { LONG = 1 << 20 };    /* bytes; a run may end inside of longer slices */
    if (bytes == sizeof(float)) /* single elements, mostly: a move, without a call */
        memcpy(to, from, sizeof(float));
    else if (bytes < LONG)
        memcpy(to, from, bytes);
    else
        tort_copy_bytes(call->watch, to, from, bytes);
}

static void gather_slices(void *arg, int64_t begin, int64_t end) {
    const gather_task *task = arg;
    const int64_t count = task->params->index_count, size = task->params->size;
    int64_t at = begin % count, first = begin / count * size; /* place in indices, and where their axis begins */
    for (int64_t i = begin; i < end; i++) {
        const int64_t source = first + tort_index_wrapped(task->indices, at, size);
        if (++at == count) {
            at = 0;
            first += size;
        }
        copy_slice(task->call, task->output + (size_t)i * task->bytes, task->data + (size_t)source * task->bytes,
                   task->bytes);
    }
}

static tort_status gather(const tort_call *call) {
    const tort_gather_params *params = call->params;
    size_t size = (size_t)tort_type_bits(call->inputs[0].type) / 8;
    tort_status status = tort_check_indices(call, &call->inputs[1], 0, 1, params->size);
    if (status != TORT_OK || tort_count(&call->outputs[0]) == 0) return status;
    gather_task task = {
        call, params, &call->inputs[1], call->inputs[0].data, call->outputs[0].data, (size_t)params->inner * size};
    tort_parallel(call, params->outer * params->index_count, 5 + (int64_t)(task.bytes / 16), gather_slices, &task);
    return TORT_OK;
}

/* ---- GatherElements ---------------------------------------------------------------------------------------------- */

static tort_status infer_gather_elements(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    tort_infer_shape(infer, 0, data->type, indices->rank, indices->dims);
    if (data->rank < 0 || indices->rank < 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), data->rank, &axis);
    if (status != TORT_OK) return status;
    if (data->rank != indices->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "data has rank %d and indices %d; they must be equal", data->rank,
                         indices->rank);
    for (int32_t d = 0; d < data->rank; d++)
        if (d != axis && tort_dim_known(data->dims[d]) && indices->dims[d] > data->dims[d])
            return tort_fail(infer->error, TORT_E_MODEL, "dimension %d of indices is %lld, larger than data's %lld", d,
                             (long long)indices->dims[d], (long long)data->dims[d]);
    return TORT_OK;
}

static tort_status resolve_gather_elements(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0];
    tort_gather_elements_params *params = resolve->params;
    if (data->rank < 0) return TORT_OK;
    return tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), data->rank, &params->axis);
}

typedef struct elements_task {
    const tort_call *call;
    int32_t axis;
    size_t size; /* of an element in bytes */
    atomic_bool
        *beyond; /* an index was outside of the axis, where they are checked as elements move; NULL: they were before */
} elements_task;

/* Elements begin .. end of a row of indices whose first is number `first`: each is element base + index * stride + i *
 * step of data. */
typedef struct element_row {
    int64_t first, base, axis_size, stride, step;
} element_row;

/* Words of one row along the last axis, where the compiler knows the type of its indices. Returns true if an index is
 * outside of the axis. */
__attribute__((always_inline)) static inline bool gather_words(tort_type type, const tort_tensor *given,
                                                               const element_row *r, const uint32_t *from, int64_t at,
                                                               int64_t count, uint32_t *to) {
    const tort_tensor indices = {.type = type, .data = given->data};
    const int64_t size = r->axis_size;
    bool beyond = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t index = tort_index_at(&indices, at + i);
        index += index < 0 ? size : 0;
        beyond |= (uint64_t)index >= (uint64_t)size;
        to[i] = from[tort_index_within(index, size)];
    }
    return beyond;
}

static void gather_part(const elements_task *task, const element_row *row, int64_t begin, int64_t end) {
    const tort_tensor indices = task->call->inputs[1];
    const element_row r = *row;
    const char *data = task->call->inputs[0].data;
    char *to = (char *)task->call->outputs[0].data + (size_t)r.first * task->size;
    if (task->size == sizeof(uint32_t) && r.stride == 1 && r.step == 0) { /* along the last axis */
        const uint32_t *from = (const uint32_t *)(const void *)data + r.base;
        uint32_t *words = (uint32_t *)(void *)to + begin;
        const bool beyond = indices.type == TORT_INT32
                                ? gather_words(TORT_INT32, &indices, row, from, r.first + begin, end - begin, words)
                                : gather_words(TORT_INT64, &indices, row, from, r.first + begin, end - begin, words);
        if (beyond && task->beyond) atomic_store(task->beyond, true);
        return;
    }
#define SOURCE(i) (r.base + tort_index_wrapped(&indices, r.first + (i), r.axis_size) * r.stride + (i)*r.step)
    if (task->size == sizeof(uint32_t)) /* a loop of moves: that of any size has a call for each */
        for (int64_t i = begin; i < end; i++)
            ((uint32_t *)(void *)to)[i] = ((const uint32_t *)(const void *)data)[SOURCE(i)];
    else
        for (int64_t i = begin; i < end; i++)
            tort_copy_element(to + (size_t)i * task->size, data + (size_t)SOURCE(i) * task->size, task->size);
#undef SOURCE
}

/* Gathers rows along the last axis of indices. */
static void gather_element_rows(void *arg, int64_t begin, int64_t end) {
    const elements_task *task = arg;
    const tort_tensor *data = &task->call->inputs[0], *indices = &task->call->inputs[1];
    const int32_t last = indices->rank - 1;
    const int64_t length = indices->dims[last], axis_size = data->dims[task->axis];
    int64_t strides[TORT_MAX_RANK];
    tort_strides(data->rank, data->dims, strides);
    for (int64_t row = begin; row < end; row++) {
        element_row r = {row * length, 0, axis_size, strides[task->axis], task->axis == last ? 0 : 1};
        int64_t rest = row;
        for (int32_t d = last - 1; d >= 0; d--) {
            if (d != task->axis) r.base += rest % indices->dims[d] * strides[d];
            rest /= indices->dims[d];
        }
        for (int64_t at = 0; at < length && tort_row_goes_on(task->call->watch, at); at += TORT_PART)
            gather_part(task, &r, at, at + tort_part_count(length, at));
    }
}

static tort_status gather_elements(const tort_call *call) {
    const tort_gather_elements_params *params = call->params;
    const tort_tensor *data = &call->inputs[0], *indices = &call->inputs[1];
    atomic_bool beyond = false;
    elements_task task = {call, params->axis, (size_t)tort_type_bits(data->type) / 8, NULL};
    const int64_t total = tort_count(indices), size = data->dims[params->axis];
    const int32_t last = indices->rank - 1;
    tort_status status = TORT_OK;
    if (total == 0) return TORT_OK;
    if (size > 0 && task.size == sizeof(uint32_t) && params->axis == last) /* one pass over the indices, not two */
        task.beyond = &beyond;
    else
        status = tort_check_indices(call, indices, 0, 1, size);
    if (status != TORT_OK) return status;
    int64_t length = indices->dims[last];
    tort_parallel(call, total / length, 2 * length, gather_element_rows, &task);
    return atomic_load(&beyond) ? tort_check_indices(call, indices, 0, 1, size) : TORT_OK;
}

/* ---- GatherND ---------------------------------------------------------------------------------------------------- */

static tort_status check_batch(const tort_infer *infer, int64_t batch) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    if (indices->rank < 1 || data->rank < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "data (rank %d) and indices (rank %d) need rank 1 or more",
                         data->rank, indices->rank);
    if (batch < 0 || batch >= data->rank || batch >= indices->rank)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "batch_dims %lld must be below the ranks of data (%d), indices (%d)", (long long)batch,
                         data->rank, indices->rank);
    tort_status status = TORT_OK;
    tort_dim unified;
    for (int32_t i = 0; i < batch && !status; i++)
        status = tort_dim_unify(infer->error, i, data->dims[i], indices->dims[i], &unified);
    return status;
}

static tort_status infer_gather_nd(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0], *indices = &infer->node->inputs[1];
    const int64_t batch = tort_attr_int(infer->node, "batch_dims"); /* 0 in GatherND-11, which has none */
    tort_dim dims[TORT_MAX_RANK];
    infer->outputs[0].type = data->type;
    if (data->rank < 0 || indices->rank < 0) return TORT_OK;
    tort_status status = check_batch(infer, batch);
    if (status != TORT_OK) return status;
    tort_dim length = indices->dims[indices->rank - 1];
    if (!tort_dim_known(length)) return TORT_OK;
    if (length < 1 || length > data->rank - batch)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "the last dimension of indices is %lld; expected 1 to %lld (rank of data less batch_dims)",
                         (long long)length, (long long)(data->rank - batch));
    int32_t rank = indices->rank - 1 + data->rank - (int32_t)(batch + length), d = 0;
    if (rank > TORT_MAX_RANK)
        return tort_fail(infer->error, TORT_E_UNSUPPORTED, "the output has rank %d; at most %d is supported", rank,
                         TORT_MAX_RANK);
    for (int32_t i = 0; i < indices->rank - 1; i++) dims[d++] = indices->dims[i];
    for (int32_t i = (int32_t)(batch + length); i < data->rank; i++) dims[d++] = data->dims[i];
    tort_infer_shape(infer, 0, data->type, rank, dims);
    return TORT_OK;
}

static tort_status resolve_gather_nd(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0], *indices = &resolve->node->inputs[1];
    const int32_t batch = (int32_t)tort_attr_int(resolve->node, "batch_dims");
    tort_gather_nd_params *params = resolve->params;
    if (!tort_shape_known(data) || !tort_shape_known(indices)) return TORT_OK;
    const int32_t indexed_end = batch + (int32_t)indices->dims[indices->rank - 1];
    params->tuple_length = indexed_end - batch;
    params->batch = tort_extent(data->dims, 0, batch);
    params->tuples = tort_extent(indices->dims, batch, indices->rank - 1);
    params->inner = tort_extent(data->dims, indexed_end, data->rank);
    params->batch_stride = tort_extent(data->dims, batch, data->rank);
    for (int32_t i = 0; i < params->tuple_length; i++) {
        params->sizes[i] = data->dims[batch + i];
        params->strides[i] = tort_extent(data->dims, batch + i + 1, data->rank);
    }
    return TORT_OK;
}

typedef struct nd_task {
    const tort_call *call;
    const tort_gather_nd_params *params;
    const tort_tensor *indices;
    const char *data;
    char *output;
    size_t size; /* of an element in bytes */
} nd_task;

static void gather_tuples(void *arg, int64_t begin, int64_t end) {
    const nd_task *task = arg;
    const tort_gather_nd_params *params = task->params;
    const size_t bytes = (size_t)params->inner * task->size;
    for (int64_t i = begin; i < end; i++) {
        int64_t source = params->batch == 1 ? 0 : i / params->tuples * params->batch_stride;
        for (int32_t k = 0; k < params->tuple_length; k++) {
            const int64_t at = i * params->tuple_length + k;
            source += tort_index_wrapped(task->indices, at, params->sizes[k]) * params->strides[k];
        }
        copy_slice(task->call, task->output + (size_t)i * bytes, task->data + (size_t)source * task->size, bytes);
    }
}

static tort_status gather_nd(const tort_call *call) {
    const tort_gather_nd_params *params = call->params;
    for (int32_t k = 0; k < params->tuple_length; k++) {
        tort_status status = tort_check_indices(call, &call->inputs[1], k, params->tuple_length, params->sizes[k]);
        if (status != TORT_OK) return status;
    }
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    size_t size = (size_t)tort_type_bits(call->inputs[0].type) / 8;
    nd_task task = {call, params, &call->inputs[1], call->inputs[0].data, call->outputs[0].data, size};
    int64_t cost = 10 + params->inner * (int64_t)size / 16;
    tort_parallel(call, params->batch * params->tuples, cost, gather_tuples, &task);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY_GATHER_ND                                                                                                   \
    .flags = TORT_OP_PICKS | TORT_OP_CHOOSES, .params_size = sizeof(tort_gather_nd_params), infer_gather_nd,           \
    resolve_gather_nd, gather_nd
#define BY_GATHER                                                                                                      \
    .flags = TORT_OP_PICKS | TORT_OP_CHOOSES | TORT_OP_PARTS, .params_size = sizeof(tort_gather_params), infer_gather, \
    resolve_gather, gather

const tort_op tort_ops_gather[] = {
    {"", "Gather", 1, 10, "data:T indices:Tind", "output:T", "T=all Tind=int32|int64", "axis:int=0", BY_GATHER},
    {"", "Gather", 11, 12, "data:T indices:Tind", "output:T", "T=all Tind=int32|int64", "axis:int=0", BY_GATHER},
    {"", "Gather", 13, TORT_NEWEST_OPSET, "data:T indices:Tind", "output:T", "T=all13 Tind=int32|int64", "axis:int=0",
     BY_GATHER},
    {"", "GatherElements", 11, 12, "data:T indices:Tind", "output:T", "T=all Tind=int32|int64", "axis:int=0",
     .flags = TORT_OP_PICKS | TORT_OP_CHOOSES, .params_size = sizeof(tort_gather_elements_params),
     infer_gather_elements, resolve_gather_elements, gather_elements},
    {"", "GatherElements", 13, TORT_NEWEST_OPSET, "data:T indices:Tind", "output:T", "T=all13 Tind=int32|int64",
     "axis:int=0", .flags = TORT_OP_PICKS | TORT_OP_CHOOSES, .params_size = sizeof(tort_gather_elements_params),
     infer_gather_elements, resolve_gather_elements, gather_elements},
    {"", "GatherND", 11, 11, "data:T indices:int64", "output:T", "T=all", "", BY_GATHER_ND},
    {"", "GatherND", 12, 12, "data:T indices:int64", "output:T", "T=all", "batch_dims:int=0", BY_GATHER_ND},
    {"", "GatherND", 13, TORT_NEWEST_OPSET, "data:T indices:int64", "output:T", "T=all13", "batch_dims:int=0",
     BY_GATHER_ND},
    {"com.microsoft", "TorchEmbedding", 1, 1, "weight:T indices:int64 padding_idx?:int64 scale_grad_by_freq?:bool",
     "Y:T", "T=numeric13", "", .flags = TORT_OP_PICKS | TORT_OP_CHOOSES, .params_size = sizeof(tort_gather_params),
     infer_gather, resolve_gather, gather},
    {"com.microsoft", "GatherND", 1, 1, "data:T indices:Tind", "output:T", "T=all Tind=int32|int64", "", BY_GATHER_ND},
    {0},
};
