/* widen.c - operands of plain loops, see widen.h. */
#include "ops/widen.h"
#include "ops/numeric.h"

static bool is_wide(tort_type type) {
    return type == TORT_FLOAT || type == TORT_DOUBLE;
}

bool tort_widen_scratch(const tort_node_view *node, int32_t count, size_t *bytes) {
    *bytes = 0;
    if (is_wide(node->inputs[0].type)) return true;
    for (int32_t i = 0; i < node->input_count && i < count; i++) {
        size_t size = node->inputs[i].type == node->inputs[0].type && node->inputs[i].rank >= 0 ? sizeof(float) : 0;
        for (int32_t k = 0; k < node->inputs[i].rank; k++) {
            if (!tort_dim_known(node->inputs[i].dims[k]))
                size = 0;
            else if (!tort_mul_size(size, (uint64_t)node->inputs[i].dims[k], &size))
                return false;
        }
        if (!tort_add_size(*bytes, size, bytes)) return false;
    }
    return true;
}

void tort_widen_inputs(const tort_call *call, int32_t count, tort_type *type, const void **data) {
    float *next = call->scratch;
    *type = is_wide(call->inputs[0].type) ? call->inputs[0].type : TORT_FLOAT;
    for (int32_t i = 0; i < count; i++) {
        data[i] = NULL;
        if (i >= call->input_count || !tort_present(&call->inputs[i])) continue;
        data[i] = call->inputs[i].data;
        if (is_wide(call->inputs[i].type)) continue;
        const int64_t elements = tort_count(&call->inputs[i]);
        for (int64_t at = 0; at < elements && tort_row_goes_on(call->watch, at); at += TORT_PART)
            tort_load_floats(call->inputs[i].type, call->inputs[i].data, at, tort_part_count(elements, at), next + at);
        data[i] = next;
        next += elements;
    }
}

double tort_wide_element(tort_type type, const void *data, int64_t i) {
    return type == TORT_DOUBLE ? ((const double *)data)[i] : (double)((const float *)data)[i];
}
