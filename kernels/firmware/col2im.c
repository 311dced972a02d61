/* col2im.c - Col2Im of floats. */
#include "ops/col2im.h"
#include "kernels/firmware/code/col2im.h"
#include "kernels/firmware/firmware.h"

enum { FARTHEST = 1 << 30 }; /* places in a padded image fit int32_t */

/* Refuses images with more padding than int32_t can count; params are complete here, for the first time where the run
 * finds the shapes. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_col2im_params *p = node->params;
    (void)target;
    *scratch = 0;
    for (int32_t k = 0; k < p->spatial && p->place_count; k++) {
        const bool near = p->dilations[k] <= FARTHEST && p->pads[k] <= FARTHEST && p->image[k] <= FARTHEST;
        if (!near || (p->block[k] - 1) * p->dilations[k] + (p->places[k] - 1) * p->strides[k] > FARTHEST)
            return tort_fail(error, TORT_E_UNSUPPORTED, "axis %d of the padded image has more than %d places", (int)k,
                             FARTHEST);
    }
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_col2im_params *p = call->params;
    const bool any = p->place_count > 0;
    tinyort_col2im_shape shape = {
        .pixels = 1, .cells = any ? (int32_t)p->block_size : 0, .rows = 1, .rank = p->spatial};
    for (int32_t k = 0; k < p->spatial; k++) {
        shape.pixels *= (int32_t)p->image[k];
        shape.image[k] = (int32_t)p->image[k];
        shape.block[k] = any ? (int32_t)p->block[k] : 1;
        shape.places[k] = any ? (int32_t)p->places[k] : 1;
        shape.strides[k] = shape.places[k] > 1 ? (int32_t)p->strides[k] : 1;
        shape.dilations[k] = shape.block[k] > 1 ? (int32_t)p->dilations[k] : 1;
        shape.pads[k] = any ? (int32_t)p->pads[k] : 0;
        if (k + 1 < p->spatial) shape.rows *= shape.places[k];
    }
    shape.planes = shape.pixels ? (int32_t)(tort_count(&call->outputs[0]) / shape.pixels) : 0;
    return TORT_FIRMWARE_CALL(call, tinyort_col2im, &shape, call->inputs[0].data, call->outputs[0].data);
}

const tort_kernel tort_firmware_col2im[] = {
    {"", "Col2Im", "col2im", .claim = tort_firmware_claim_first_float, .run = run, .size = size,
     .emit = tort_firmware_emit},
    {.op = NULL},
};
