/* firmware.h - what the rows of the provider `firmware` share: checks of nodes, and printing of calls.
 *
 * A function of kernels/firmware/code takes a struct of whole numbers, the operands, and floats. A row fills the struct
 * once, in one function, for run and for emit: so the call that is printed is the call that ran. */
#ifndef TORT_KERNELS_FIRMWARE_FIRMWARE_H
#define TORT_KERNELS_FIRMWARE_FIRMWARE_H

#include "ops/epilogue.h"
#include "runtime/include/provider.h"

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
extern const tort_kernel tort_firmware_move[], tort_firmware_maps[], tort_firmware_zip[], tort_firmware_reduce[];
extern const tort_kernel tort_firmware_norm[], tort_firmware_rnn[], tort_firmware_resize[], tort_firmware_volume[];
extern const tort_kernel tort_firmware_conv_bytes[], tort_firmware_dense_bytes[], tort_firmware_elements_bytes[],
    tort_firmware_pool_bytes[], tort_firmware_concat_bytes[];

/* The headers of kernels/firmware/code as text, without their preprocessor lines. */
extern const char tort_code_average_pool[], tort_code_bound[], tort_code_clamp[], tort_code_clip[], tort_code_conv[],
    tort_code_gemm[], tort_code_max_pool[], tort_code_pair[], tort_code_softmax[];
extern const char tort_code_arg_reduce[], tort_code_batch_norm[], tort_code_cast[], tort_code_conv_transpose[],
    tort_code_einsum[], tort_code_exp[], tort_code_exp_below[], tort_code_exp_reduced[], tort_code_fill[],
    tort_code_flip[], tort_code_gather[], tort_code_gru[], tort_code_load[], tort_code_log[], tort_code_log_softmax[],
    tort_code_lp_norm[], tort_code_lrn[], tort_code_lstm[], tort_code_map[], tort_code_map_by[], tort_code_move[],
    tort_code_normalize[], tort_code_offset[], tort_code_pad[], tort_code_polynomial[], tort_code_recurrent[],
    tort_code_recurrent_shape[], tort_code_reduce[], tort_code_resize[], tort_code_rnn[], tort_code_store[],
    tort_code_topk[], tort_code_volume[], tort_code_where[], tort_code_zip[];
extern const char tort_code_sliding[], tort_code_conv_bytes_shape[], tort_code_conv_bytes[], tort_code_depthwise[],
    tort_code_depthwise_dsp[], tort_code_depthwise_plain[], tort_code_dense_bytes[], tort_code_dense_dsp[],
    tort_code_dense_mve[], tort_code_dense_plain[], tort_code_dequantize[], tort_code_matmul_bytes[],
    tort_code_max_pool_bytes[], tort_code_mean_bytes[], tort_code_pair_bytes[], tort_code_quantize[],
    tort_code_softmax_bytes[], tort_code_table_bytes[], tort_code_concat_bytes[], tort_code_average_bytes[],
    tort_code_vector[], tort_code_column_mve[], tort_code_depthwise_mve[], tort_code_bytes_shape[], tort_code_lanes[],
    tort_code_requantize[], tort_code_rows_dsp[], tort_code_rows_mve[], tort_code_rows_plain[],
    tort_code_transpose_bytes[], tort_code_window_bytes[];

extern const char tort_code_conv_tiles[], tort_code_dense_float[], tort_code_dense_sums[], tort_code_depthwise_float[],
    tort_code_floats_shape[], tort_code_four[], tort_code_fused[], tort_code_separate[];

/* Accepts a node whose tensors are all float32. */
tort_verdict tort_firmware_claim_float(const tort_target *target, const tort_node_view *node);
/* Accepts a node whose tensors have elements of 1, 2, 4 or 8 bytes, as move.h takes them. */
tort_verdict tort_firmware_claim_bytes(const tort_target *target, const tort_node_view *node);
/* The bounds of Relu and Clip; no other activation has some: it runs after the function (tort_firmware_activate). */
void tort_firmware_bounds(const tort_epilogue *epilogue, float *low, float *high);

/* A call of a function of kernels/firmware/code. */
typedef struct tort_firmware_call {
    const char *function; /* "tinyort_conv": its struct is tinyort_conv_shape */
    const char *members;  /* names of the struct's members, in order, separated by blanks: "count dims[8]" */
    const int32_t *shape; /* their values */
    int32_t inputs;       /* operands before output 0; missing ones are NULL */
    const float *numbers; /* the arguments after output 0 */
    int32_t number_count;
} tort_firmware_call;

/* Appends a call to the step's statement, with inputs 0 .. call->inputs - 1 and output 0 as operands. */
tort_status tort_firmware_emit(tort_emit *emit, const tort_firmware_call *call);
/* The same with these operands, up to a NULL, in place of inputs and output 0. */
tort_status tort_firmware_emit_with(tort_emit *emit, const tort_firmware_call *call, const char *const *operands);

/* A node as a call: `tensors` are its inputs, then its outputs; `data` has the contents of constants that are loaded,
 * else NULL. An operand whose shape is unknown has a type alone, or none. */
void tort_firmware_call_of(const tort_node_view *node, tort_tensor *tensors, tort_call *call);

/* A step's operands as a call, so that one function fills the struct for run and for emit. `data` of a tensor is the
 * expression of C in emit->inputs or emit->outputs; `scratch` is the emit. */
typedef struct tort_firmware_step {
    tort_call call;
    tort_tensor *tensors;
} tort_firmware_step;

tort_status tort_firmware_open(tort_emit *emit, tort_firmware_step *step);
/* Frees the tensors; returns status. */
tort_status tort_firmware_close(tort_firmware_step *step, tort_status status);

/* A function of kernels/firmware/code/functions.h, or of its like. */
typedef struct tort_firmware_function {
    const char *name;   /* "tinyort_exp" */
    void (*code)(void); /* to be cast to its own type */
    const char *text;
} tort_firmware_function;

/* The function of this name, which there is. */
void (*tort_firmware_function_of(const char *name))(void);
/* Adds the sources of a function, after those of the functions that it calls, to emit->code. */
void tort_firmware_need(tort_emit *emit, const char *name);
/* Adds a source to emit->code. */
void tort_firmware_add_code(tort_emit *emit, const char *text);

/* A function of one float, of code/functions.h; with two numbers, if `by`. */
typedef struct tort_firmware_map {
    const char *name;
    bool by;
    float numbers[2];
} tort_firmware_map;

/* Run and print the function over `count` floats; y may be x. */
void tort_firmware_run_map(const tort_firmware_map *map, int64_t count, const float *x, float *y);
tort_status tort_firmware_emit_map(tort_emit *emit, const tort_firmware_map *map, int64_t count, const char *x,
                                   const char *y);
/* The activation of a fused operator, on `count` floats in place, where it is not two bounds. */
void tort_firmware_activate(const tort_epilogue *epilogue, float *y, int64_t count);
tort_status tort_firmware_emit_activation(tort_emit *emit, const tort_epilogue *epilogue);

/* Fills members "rank dims[8] as[8] bs[8]": a and b broadcast to y, with their steps in elements. */
void tort_firmware_broadcast(const tort_tensor *y, const tort_tensor *a, const tort_tensor *b, int32_t *shape);

/* The number of a type in load.h and store.h; -1: it has none. */
enum { TORT_FIRMWARE_FLOAT = 7, TORT_FIRMWARE_BOOL };
int32_t tort_firmware_number_type(tort_type type);

/* Data of input i of a call, NULL if it is absent. */
static inline const float *tort_firmware_input(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = tort_call_input(call, i);
    return tensor ? tensor->data : NULL;
}

#endif
