/* conv.h - params and plain loops of Conv and ConvTranspose; shared by the kernels of all devices.
 *
 * X is (batch, channels, input...), Y is (batch, filters, output...). Weights of Conv are (filters, channels/group,
 * kernel...), of ConvTranspose (channels, filters/group, kernel...). Read next: conv.c. */
#ifndef TORT_OPS_CONV_H
#define TORT_OPS_CONV_H

#include "ops/epilogue.h"
#include "ops/sliding.h"

/* Sizes that are not known yet, while providers claim nodes, are -1. ConvTranspose reads the window in reverse: input
 * element i adds to outputs i * stride + k * dilation - begin. */
typedef struct tort_conv_params {
    tort_sliding window;
    int64_t batch, channels, filters, group;
    tort_epilogue epilogue; /* of FusedConv; all zero for every other operator */
} tort_conv_params;

/* Bits of the channels-last inputs of NhwcConv and NhwcFusedConv, X and Z, for tort_planar_run. */
#define TORT_CONV_PLANAR (1u | 1u << TORT_EPILOGUE_Z)

tort_status tort_infer_conv(tort_infer *infer); /* inputs X, W and B */
tort_status tort_infer_conv_transpose(tort_infer *infer);
tort_status tort_resolve_conv_transpose(tort_resolve *resolve); /* params are tort_conv_params */
tort_status tort_resolve_conv(tort_resolve *resolve);           /* params are tort_conv_params */

/* Operands of the plain loops; `arg` is for `store`. */
typedef struct tort_conv_loop {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_tensor *y;
    tort_type type;      /* of data: float or double */
    const void *data[3]; /* X, W, B; NULL where there is no B */
    const void *arg;
    int64_t output_rows, input_rows, kernel_rows; /* of one plane; tort_conv_rows fills them in */
} tort_conv_loop;

/* Computes outputs first .. last-1 of one row: image n, filter m, coordinates `out` along the other axes. */
typedef void (*tort_conv_row)(const tort_conv_loop *loop, int64_t n, int64_t m, const int64_t *out, int64_t first,
                              int64_t last, double *acc);
/* Stores outputs first .. first+count-1, counted over all of Y, which belong to filter m. */
typedef void (*tort_conv_store)(const tort_conv_loop *loop, int64_t m, int64_t first, int64_t count, const double *acc);

/* Computes a row of Conv. */
void tort_conv_row_of(const tort_conv_loop *loop, int64_t n, int64_t m, const int64_t *out, int64_t first, int64_t last,
                      double *acc);
void tort_conv_transpose_row(const tort_conv_loop *loop, int64_t n, int64_t m, const int64_t *out, int64_t first,
                             int64_t last, double *acc);
/* Runs `row` and `store` over all rows of Y, on several threads where that pays. */
void tort_conv_rows(const tort_call *call, tort_conv_loop *loop, tort_conv_row row, tort_conv_store store);
/* Runs `row` over the inputs X, W and B of a call, in float or double, and rounds to the type of Y. */
tort_status tort_conv_run(const tort_call *call, tort_conv_row row);
double tort_conv_bias(const tort_conv_loop *loop, int64_t m);

/* Index of the input Pads of ConvTransposeWithDynamicPads, whose contents are in the params; B follows it. */
enum { TORT_CONV_PADS = 2 };

/* Returns such a call as one of ConvTranspose: it borrows `inputs`, three entries, which become X, W and B. */
static inline tort_call tort_conv_without_pads(const tort_call *call, tort_tensor *inputs) {
    tort_call plain = *call;
    const tort_tensor *bias = tort_call_input(call, TORT_CONV_PADS + 1);
    inputs[0] = call->inputs[0];
    inputs[1] = call->inputs[1];
    if (bias) inputs[2] = *bias;
    plain.inputs = inputs;
    plain.input_count = bias ? 3 : 2;
    return plain;
}

#endif
