/* nhwc.c - the layout of bytes in which the channels are last: a pixel is then one piece of memory, whose products with
 * a filter need no steps. */
#include "kernels/firmware/nhwc.h"

#include "kernels/firmware/code/transpose_bytes.h"
#include "ops/extent.h"

static bool fits(const tort_info *info) {
    return (info->type == TORT_INT8 || info->type == TORT_UINT8) && (info->rank == 3 || info->rank == 4);
}

static tort_status convert(const tort_call *call, bool to_plain) {
    const tort_tensor *x = &call->inputs[0];
    const int32_t channels = (int32_t)x->dims[1], pixels = (int32_t)tort_extent(x->dims, 2, x->rank);
    const tinyort_transpose_bytes_shape shape = {(int32_t)x->dims[0], to_plain ? pixels : channels,
                                                 to_plain ? channels : pixels};
    return TORT_FIRMWARE_CALL(call, tinyort_transpose_bytes, &shape, x->data, call->outputs[0].data);
}

static tort_status from_plain(const tort_call *call) {
    return convert(call, false);
}

static tort_status to_plain(const tort_call *call) {
    return convert(call, true);
}

static tort_status emit(tort_emit *emit, bool plain) {
    return tort_firmware_emit_run(emit, plain ? to_plain : from_plain);
}

const tort_layout tort_firmware_layouts[] = {
    {.name = "nhwc",
     .fits = fits,
     .bytes = tort_tensor_bytes,
     .from_plain = from_plain,
     .to_plain = to_plain,
     .emit = emit},
    {.name = NULL},
};
