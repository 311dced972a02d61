/* firmware.h - what the rows of the provider `firmware` share: checks of nodes, and printing of calls.
 *
 * A function of kernels/firmware/code takes a struct of whole numbers, the operands, and floats. A row fills the struct
 * once, in one function, for run and for emit: so the call that is printed is the call that ran. */
#ifndef TORT_KERNELS_FIRMWARE_FIRMWARE_H
#define TORT_KERNELS_FIRMWARE_FIRMWARE_H

#include "ops/epilogue.h"
#include "runtime/provider.h"

#define TORT_FIRMWARE_LIMIT (1 << 20)   /* of every number of a window: sums of their products fit int32_t */
#define TORT_FIRMWARE_LONGEST (1 << 16) /* products of bytes in a sum: their sum fits 31 bits */
#define TORT_FIRMWARE_MEMORY (1u << 31) /* bytes: an index of a float then fits int32_t */

/* Bits of tort_target.instructions. */
enum {
    TORT_FIRMWARE_DSP = 1u << 0, /* SMLAD and its like, of Armv7E-M and Armv8-M */
    TORT_FIRMWARE_MVE = 1u << 1, /* vectors of Armv8.1-M */
    TORT_FIRMWARE_FMA = 1u << 2  /* a multiply-add of floats that rounds once */
};

/* Tables of rows. */
extern const tort_kernel tort_firmware_conv_float[];
extern const tort_kernel tort_firmware_conv[], tort_firmware_gemm[], tort_firmware_pool[], tort_firmware_elements[];
extern const tort_kernel tort_firmware_conv_bytes[], tort_firmware_dense_bytes[], tort_firmware_elements_bytes[],
    tort_firmware_pool_bytes[];

/* The headers of kernels/firmware/code as text, without their preprocessor lines. */
extern const char tort_code_average_pool[], tort_code_bound[], tort_code_clamp[], tort_code_clip[], tort_code_conv[],
    tort_code_gemm[], tort_code_max_pool[], tort_code_pair[], tort_code_softmax[];
extern const char tort_code_conv_bytes[], tort_code_depthwise[], tort_code_depthwise_dsp[], tort_code_depthwise_plain[],
    tort_code_dense_bytes[], tort_code_dense_dsp[], tort_code_dense_mve[], tort_code_dense_plain[],
    tort_code_dequantize[], tort_code_matmul_bytes[], tort_code_max_pool_bytes[], tort_code_mean_bytes[],
    tort_code_pair_bytes[], tort_code_quantize[], tort_code_softmax_bytes[], tort_code_table_bytes[],
    tort_code_vector[], tort_code_bytes_shape[], tort_code_lanes[], tort_code_requantize[], tort_code_rows_dsp[],
    tort_code_rows_mve[], tort_code_rows_plain[], tort_code_transpose_bytes[], tort_code_window_bytes[];

extern const char tort_code_conv_tiles[], tort_code_dense_float[], tort_code_depthwise_float[],
    tort_code_floats_shape[], tort_code_four[], tort_code_fused[], tort_code_separate[];

/* Accepts a node whose tensors are all float32. */
tort_verdict tort_firmware_claim_float(const tort_target *target, const tort_node_view *node);
/* Accepts an activation that is two bounds. */
tort_verdict tort_firmware_claim_bounds(const tort_epilogue *epilogue);
/* The bounds of such an activation. */
void tort_firmware_bounds(const tort_epilogue *epilogue, float *low, float *high);

/* A call of a function of kernels/firmware/code. */
typedef struct tort_firmware_call {
    const char *function; /* "tinyort_conv": its struct is tinyort_conv_shape */
    const char *members;  /* names of the struct's members, in order, separated by blanks */
    const int32_t *shape; /* their values */
    int32_t inputs;       /* operands before output 0; missing ones are NULL */
    const float *numbers; /* the arguments after output 0 */
    int32_t number_count;
} tort_firmware_call;

tort_status tort_firmware_emit(tort_emit *emit, const tort_firmware_call *call);
/* The same with these operands, up to a NULL, in place of inputs and output 0. */
tort_status tort_firmware_emit_with(tort_emit *emit, const tort_firmware_call *call, const char *const *operands);

/* Data of input i of a call, NULL if it is absent. */
static inline const float *tort_firmware_input(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = tort_call_input(call, i);
    return tensor ? tensor->data : NULL;
}

#endif
