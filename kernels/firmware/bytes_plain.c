/* bytes_plain.c - loops over bytes for any processor, run on the host. */
#include "kernels/firmware/code/rows_plain.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/conv_transpose_bytes.h"
#include "kernels/firmware/code/depthwise_plain.h"
#include "kernels/firmware/code/dense_plain.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/depthwise.h"
#include "kernels/firmware/code/planes_dsp.h"

#define FORM(floats_, planes_, below_, whole_)                                                                         \
    {                                                                                                                  \
        .tile = 2, .turn = 0, .depth = 1, .widens = false, .rows = "tinyort_rows_plain",                               \
        .pixels = "tinyort_depthwise_plain", .dense_rows = "tinyort_dense_plain", .depthwise = 1, .planes = planes_,   \
        .planes_below = below_, .whole = whole_, .conv = tinyort_conv_bytes,                                           \
        .conv_transpose = tinyort_conv_transpose_bytes, .run_depthwise = tinyort_depthwise,                            \
        .dense = tinyort_dense_bytes, .floats = floats_,                                                               \
    }

/* Any processor; one without a unit of floats; one with vectors, whose loops over four channels or more are faster than
 * planes; one without. */
const tort_firmware_bytes tort_firmware_bytes_plain = FORM(&tort_firmware_floats_separate, NULL, 0, false);
const tort_firmware_bytes tort_firmware_bytes_whole = FORM(&tort_firmware_floats_separate, tinyort_planes_dsp, 0, true);
const tort_firmware_bytes tort_firmware_bytes_neon = FORM(&tort_firmware_floats_fused, tinyort_planes_dsp, 4, false);
const tort_firmware_bytes tort_firmware_bytes_scalar = FORM(&tort_firmware_floats_fused, tinyort_planes_dsp, 0, false);
