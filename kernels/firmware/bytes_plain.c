/* bytes_plain.c - loops over bytes for any processor, run on the host. */
#include "kernels/firmware/code/rows_plain.h"

#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/conv_bytes.h"
#include "kernels/firmware/code/depthwise_plain.h"
#include "kernels/firmware/code/dense_plain.h"
#include "kernels/firmware/code/dense_bytes.h"
#include "kernels/firmware/code/matmul_bytes.h"
#include "kernels/firmware/code/depthwise.h"

#define FORM(floats_)                                                                                                  \
    {                                                                                                                  \
        .tile = 2, .turn = 0, .depth = 1,                                                                              \
        .widens = false, .conv_code = {tort_code_bytes_shape, tort_code_sliding,    tort_code_conv_bytes_shape,        \
                                       tort_code_vector,      tort_code_requantize, tort_code_window_bytes,            \
                                       tort_code_rows_plain,  tort_code_conv_bytes},                                   \
        .depthwise_code = {tort_code_bytes_shape,     tort_code_sliding,    tort_code_conv_bytes_shape,                \
                           tort_code_vector,          tort_code_requantize, tort_code_window_bytes,                    \
                           tort_code_depthwise_plain, tort_code_depthwise},                                            \
        .dense_code = {tort_code_bytes_shape, tort_code_vector, tort_code_requantize, tort_code_dense_plain,           \
                       tort_code_dense_bytes},                                                                         \
        .depthwise = 1, .conv = tinyort_conv_bytes, .run_depthwise = tinyort_depthwise, .dense = tinyort_dense_bytes,  \
        .floats = floats_,                                                                                             \
    }

const tort_firmware_bytes tort_firmware_bytes_plain = FORM(&tort_firmware_floats_separate);
const tort_firmware_bytes tort_firmware_bytes_fused = FORM(&tort_firmware_floats_fused);

void tort_firmware_bytes_matmul(const tinyort_matmul_bytes_shape *shape, const void *a, const void *b, void *y,
                                float factor) {
    tinyort_matmul_bytes(shape, a, b, y, factor);
}
