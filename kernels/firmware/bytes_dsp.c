/* bytes_dsp.c - loops over bytes for the DSP extension of Cortex-M4, M7 and M33, run on the host. */
#include "kernels/firmware/code/rows_dsp.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/depthwise_dsp.h"
#include "kernels/firmware/code/dense_dsp.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/depthwise.h"
#include "kernels/firmware/code/planes_dsp.h"

const tort_firmware_bytes tort_firmware_bytes_dsp = {
    .tile = 2,
    .turn = 4,
    .depth = 4,
    .widens = true,
    .rows = "tinyort_rows_dsp",
    .dense_rows = "tinyort_dense_dsp",
    .depthwise = 4,
    .takes_uint8 = true,
    .run_depthwise = tinyort_depthwise,
    .planes = tinyort_planes_dsp,
    .pixels = "tinyort_depthwise_dsp",
    .conv = tinyort_conv_bytes,
    .dense = tinyort_dense_bytes,
    .floats = &tort_firmware_floats_fused,
};
