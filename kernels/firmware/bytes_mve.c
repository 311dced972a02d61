/* bytes_mve.c - loops over bytes for M-profile vectors, run on the host. */
#include "kernels/firmware/code/rows_mve.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/depthwise_mve.h"
#include "kernels/firmware/code/dense_mve.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/depthwise.h"

const tort_firmware_bytes tort_firmware_bytes_mve = {
    .tile = 4,
    .turn = 16,
    .depth = 16,
    .widens = false,
    .conv_code = {tort_code_bytes_shape, tort_code_sliding, tort_code_conv_bytes_shape, tort_code_vector,
                  tort_code_requantize, tort_code_window_bytes, tort_code_column_mve, tort_code_rows_mve,
                  tort_code_conv_bytes},
    .depthwise_code = {tort_code_bytes_shape, tort_code_sliding, tort_code_conv_bytes_shape, tort_code_vector,
                       tort_code_requantize, tort_code_window_bytes, tort_code_depthwise_mve, tort_code_depthwise},
    .dense_code = {tort_code_bytes_shape, tort_code_vector, tort_code_requantize, tort_code_column_mve,
                   tort_code_dense_mve, tort_code_dense_bytes},
    .interleaved = true,
    .depthwise = 8,
    .conv = tinyort_conv_bytes,
    .run_depthwise = tinyort_depthwise,
    .dense = tinyort_dense_bytes,
    .floats = &tort_firmware_floats_fused,
};
