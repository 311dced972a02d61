/* bytes_mve.c - loops over bytes for M-profile vectors, run on the host. */
#include "kernels/firmware/code/rows_mve.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/conv_transpose_bytes.h"
#include "kernels/firmware/code/depthwise_mve.h"
#include "kernels/firmware/code/dense_mve.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/depthwise.h"

const tort_firmware_bytes tort_firmware_bytes_mve = {
    .tile = 4,
    .turn = 16,
    .depth = 16,
    .widens = false,
    .rows = "tinyort_rows_mve",
    .pixels = "tinyort_depthwise_mve",
    .dense_rows = "tinyort_dense_mve",
    .interleaved = true,
    .depthwise = 8,
    .conv = tinyort_conv_bytes,
    .conv_transpose = tinyort_conv_transpose_bytes,
    .run_depthwise = tinyort_depthwise,
    .dense = tinyort_dense_bytes,
    .floats = &tort_firmware_floats_fused,
};
