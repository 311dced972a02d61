/* bytes_dsp.c - loops over bytes for the DSP extension of Cortex-M4, M7 and M33, run on the host. */
#include "kernels/firmware/code/rows_dsp.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/depthwise_dsp.h"
#include "kernels/firmware/code/dense_dsp.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/depthwise.h"

const tort_firmware_bytes tort_firmware_bytes_dsp = {
    .tile = 2,
    .turn = 4,
    .depth = 4,
    .widens = true,
    .conv_code = {tort_code_lanes, tort_code_bytes_shape, tort_code_sliding, tort_code_conv_bytes_shape,
                  tort_code_vector, tort_code_requantize, tort_code_window_bytes, tort_code_rows_dsp,
                  tort_code_conv_bytes},
    .depthwise_code = {tort_code_lanes, tort_code_bytes_shape, tort_code_sliding, tort_code_conv_bytes_shape,
                       tort_code_vector, tort_code_requantize, tort_code_window_bytes, tort_code_depthwise_dsp,
                       tort_code_depthwise},
    .dense_code = {tort_code_lanes, tort_code_bytes_shape, tort_code_vector, tort_code_requantize, tort_code_dense_dsp,
                   tort_code_dense_bytes},
    .depthwise = 4,
    .conv = tinyort_conv_bytes,
    .run_depthwise = tinyort_depthwise,
    .dense = tinyort_dense_bytes,
    .floats = &tort_firmware_floats_fused,
};
