/* floats_form.h - a form of the loops over floats, run on the host. Before it are included: a header that defines
 * tinyort_multiply_add, and names FORM, the struct, and STEP, that header. No include guard. */
#include "kernels/firmware/floats.h"

#include "kernels/firmware/code/conv_tiles.h"
#include "kernels/firmware/code/dense_float.h"
#include "kernels/firmware/code/depthwise_float.h"
#include "kernels/firmware/code/gemm.h"
#include "kernels/firmware/code/gru.h"
#include "kernels/firmware/code/lstm.h"
#include "kernels/firmware/code/recurrent_open.h"
#include "kernels/firmware/code/rnn.h"

const tort_firmware_floats FORM = {
    .step = STEP,
    .conv = tinyort_conv_tiles,
    .depthwise = tinyort_depthwise_float,
    .dense = tinyort_dense_float,
    .gemm = tinyort_gemm,
    .recurrent = tinyort_recurrent,
    .recurrent_open = tinyort_recurrent_open,
    .steps = {tinyort_rnn, tinyort_lstm, tinyort_gru}, /* by tort_rnn_cell */
};
