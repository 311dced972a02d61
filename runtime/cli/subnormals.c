/* subnormals.c - counts the subnormal numbers among a model's weights: nearer to 0 than the least normal number of
 * their type. A weight decay that goes on for long leaves them behind, and processors compute with them by microcode,
 * up to a hundred times slower. */
#include <string.h>

#include "runtime/cli/opening.h"
#include "runtime/core/graph/graph.h"

static int64_t count_floats(const uint32_t *bits, size_t count) {
    int64_t found = 0;
    for (size_t i = 0; i < count; i++) found += (bits[i] & INT32_MAX) - 1u < (1u << 23) - 1;
    return found;
}

static int64_t count_doubles(const uint64_t *bits, size_t count) {
    int64_t found = 0;
    for (size_t i = 0; i < count; i++) found += (bits[i] & INT64_MAX) - 1u < (1ull << 52) - 1;
    return found;
}

int64_t cli_count_subnormals(const tort_model *model) {
    int64_t found = 0;
    for (int32_t i = 0; i < model->weight_count; i++) {
        const tort_weight *weight = &model->weights[i];
        const void *data;
        if (weight->type != TORT_FLOAT && weight->type != TORT_DOUBLE) continue;
        if (tort_weight_acquire(model, i, &data, NULL))
            continue; /* a file that is gone: whoever needs the weight says so */
        found +=
            weight->type == TORT_FLOAT ? count_floats(data, weight->bytes / 4) : count_doubles(data, weight->bytes / 8);
        tort_weight_release(model, i);
    }
    return found;
}
