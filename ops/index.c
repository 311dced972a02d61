/* index.c - checking tensors of indices, for every operator that takes some. */
#include "ops/index.h"

#include <stdio.h>

/* Writes the coordinates of element i of a tensor, as in "[1, 0, 3]". */
static void position_text(const tort_tensor *tensor, int64_t i, char text[8 * 24]) {
    int64_t coordinates[TORT_MAX_RANK] = {0};
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        coordinates[d] = i % tensor->dims[d];
        i /= tensor->dims[d];
    }
    int length = snprintf(text, 8 * 24, "[");
    for (int32_t d = 0; d < tensor->rank; d++)
        length += snprintf(text + length, (size_t)(8 * 24 - length), d ? ", %lld" : "%lld", (long long)coordinates[d]);
    snprintf(text + length, (size_t)(8 * 24 - length), "]");
}

static tort_status refuse(tort_error *error, const tort_tensor *indices, int64_t i, int64_t index, int64_t size) {
    char position[8 * 24];
    position_text(indices, i, position);
    return tort_fail(error, TORT_E_RUN, "index %lld at %s of indices is not in [-%lld, %lld)", (long long)index,
                     position, (long long)size, (long long)size);
}

/* Indices begin .. end are all in [-size, size). They are read again by whoever uses them, so plain loads will do. */
static bool all_within(const tort_tensor *indices, int64_t begin, int64_t end, int64_t size) {
    const uint64_t low = (uint64_t)size, limit = 2 * low;
    bool beyond = false;
    if (indices->type == TORT_INT32)
        for (int64_t i = begin; i < end; i++) beyond |= (uint64_t)((const int32_t *)indices->data)[i] + low >= limit;
    else
        for (int64_t i = begin; i < end; i++) beyond |= (uint64_t)((const int64_t *)indices->data)[i] + low >= limit;
    return !beyond;
}

tort_status tort_check_indices(const tort_call *call, const tort_tensor *indices, int64_t first, int64_t step,
                               int64_t size) {
    const int64_t total = tort_count(indices);
    for (int64_t i = first; i < total;) {
        const int64_t end = (total - i) / step > TORT_PART ? i + TORT_PART * step : total;
        if (step == 1 && all_within(indices, i, end, size)) i = end;
        for (; i < end; i += step) {
            const int64_t index = tort_index_at(indices, i);
            if (index < -size || index >= size) return refuse(call->error, indices, i, index, size);
        }
        if (!tort_call_goes_on(call, 0)) return tort_run_is_over(call->error);
    }
    return TORT_OK;
}
