/* nhwc.c - the layout of bytes in which the channels are last: a pixel is then one piece of memory, whose products with
 * a filter need no steps. */
#include "kernels/firmware/nhwc.h"

#include "kernels/firmware/code/transpose_bytes.h"
#include "ops/extent.h"

static bool fits(const tort_info *info) {
    return (info->type == TORT_INT8 || info->type == TORT_UINT8) && (info->rank == 3 || info->rank == 4);
}

static tinyort_transpose_bytes_shape shape_of(const tort_tensor *x, bool to_plain) {
    const int32_t channels = (int32_t)x->dims[1], pixels = (int32_t)tort_extent(x->dims, 2, x->rank);
    return (tinyort_transpose_bytes_shape){(int32_t)x->dims[0], to_plain ? pixels : channels,
                                           to_plain ? channels : pixels};
}

static tort_status convert(const tort_call *call, bool to_plain) {
    const tinyort_transpose_bytes_shape shape = shape_of(&call->inputs[0], to_plain);
    tinyort_transpose_bytes(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status from_plain(const tort_call *call) {
    return convert(call, false);
}

static tort_status to_plain(const tort_call *call) {
    return convert(call, true);
}

static tort_status emit(tort_emit *emit, bool to_plain) {
    tort_tensor x;
    if (!tort_info_tensor(&emit->node->inputs[0], &x)) return tort_fail(emit->error, TORT_E_INTERNAL, "no shape");
    const tinyort_transpose_bytes_shape shape = shape_of(&x, to_plain);
    emit->code[0] = tort_code_transpose_bytes;
    return tort_firmware_emit(emit, &(tort_firmware_call){.function = "tinyort_transpose_bytes",
                                                          .members = "batch rows columns",
                                                          .shape = &shape.batch,
                                                          .inputs = 1});
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
