/* grid_sample.c - GridSample of floats, in every mode and padding. */
#include "ops/grid_sample.h"
#include "kernels/firmware/code/grid_sample.h"
#include "kernels/firmware/firmware.h"

enum { AXES = 3 };

static tort_verdict claim_grid_sample(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[0].rank < 3 || node->inputs[0].rank > AXES + 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to %d spatial axes", AXES);
    return tort_firmware_claim_float(target, node);
}

static tort_status run_grid_sample(const tort_call *call) {
    const tort_grid_params *p = call->params;
    tinyort_grid_sample_shape shape = {.grid = {(int32_t)p->mode, (int32_t)p->padding, p->align_corners},
                                       .spatial = p->spatial,
                                       .batch = (int32_t)p->batch,
                                       .channels = (int32_t)p->channels,
                                       .points = (int32_t)p->points};
    for (int32_t i = 0; i < p->spatial; i++) {
        shape.sizes[i] = (int32_t)p->sizes[i];
        if (!p->sizes[i] && tort_count(&call->outputs[0]))
            return tort_fail(call->error, TORT_E_RUN, "axis %d of X is empty: there is nothing to sample", (int)i + 2);
    }
    return TORT_FIRMWARE_CALL(call, tinyort_grid_sample, &shape, call->inputs[0].data, call->inputs[1].data,
                              call->outputs[0].data);
}

#define ROW(domain_)                                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = "GridSample", .name = "grid_sample", .claim = claim_grid_sample,                      \
        .run = run_grid_sample, .emit = tort_firmware_emit                                                             \
    }

const tort_kernel tort_firmware_grid_sample[] = {
    ROW(""),
    ROW("com.microsoft"),
    {.op = NULL},
};
