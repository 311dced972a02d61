/* firmware.h - what the rows of the provider `firmware` share: checks of nodes, and calls that run or are printed.
 *
 * A function of kernels/firmware/code takes a struct of whole numbers, the operands, and floats. The run of a row fills
 * the struct and calls the function; or, for emit, it prints the call: what is printed is what runs. */
#ifndef TORT_KERNELS_FIRMWARE_FIRMWARE_H
#define TORT_KERNELS_FIRMWARE_FIRMWARE_H

#include "ops/broadcast.h"
#include "ops/epilogue.h"
#include "ops/ml/post_transform.h"
#include "runtime/include/provider.h"

#define TORT_FIRMWARE_LIMIT (1 << 20)   /* of every number of a window: sums of their products fit int32_t */
#define TORT_FIRMWARE_LONGEST (1 << 16) /* products of bytes in a sum: their sum fits 31 bits */
#define TORT_FIRMWARE_MEMORY (1u << 31) /* bytes: an index of a float then fits int32_t */

/* Bits of tort_target.instructions. */
enum {
    TORT_FIRMWARE_DSP = 1u << 0,  /* SMLAD and its like, of Armv7E-M and Armv8-M */
    TORT_FIRMWARE_MVE = 1u << 1,  /* vectors of Armv8.1-M */
    TORT_FIRMWARE_FMA = 1u << 2,  /* a multiply-add of floats that rounds once */
    TORT_FIRMWARE_NEON = 1u << 3, /* vectors of AArch64 */
    TORT_FIRMWARE_WHOLE = 1u << 4 /* no unit of floats: products of bytes are scaled in whole numbers */
};

/* Tables of rows. */
extern const tort_kernel tort_firmware_conv_float[];
extern const tort_kernel tort_firmware_conv[], tort_firmware_gemm[], tort_firmware_pool[], tort_firmware_elements[];
extern const tort_kernel tort_firmware_move[], tort_firmware_maps[], tort_firmware_zip[], tort_firmware_reduce[];
extern const tort_kernel tort_firmware_norm[], tort_firmware_rnn[], tort_firmware_resize[], tort_firmware_volume[];
extern const tort_kernel tort_firmware_loss[], tort_firmware_places[], tort_firmware_grid_sample[],
    tort_firmware_linear_attention[], tort_firmware_attention[];
extern const tort_kernel tort_firmware_conv_bytes[], tort_firmware_dense_bytes[], tort_firmware_elements_bytes[],
    tort_firmware_pool_bytes[], tort_firmware_concat_bytes[], tort_firmware_reduce_bytes[],
    tort_firmware_resize_bytes[], tort_firmware_norm_bytes[], tort_firmware_conv_transpose_bytes[],
    tort_firmware_integers[], tort_firmware_scales[], tort_firmware_sequences[], tort_firmware_fourier[],
    tort_firmware_col2im[], tort_firmware_trees[], tort_firmware_feature_rows[];

/* Accepts a node whose tensors are all float32. */
tort_verdict tort_firmware_claim_float(const tort_target *target, const tort_node_view *node);
/* Accepts a node whose input 0 is float32. */
tort_verdict tort_firmware_claim_first_float(const tort_target *target, const tort_node_view *node);
/* Accepts a node whose inputs have elements of 1, 2, 4 or 8 bytes, which are moved as they are. */
tort_verdict tort_firmware_claim_bytes(const tort_target *target, const tort_node_view *node);
/* The bounds of Relu and Clip; no other activation has some: it runs after the function (tort_firmware_activate). */
void tort_firmware_bounds(const tort_epilogue *epilogue, float *low, float *high);

/* A node as a call: `tensors` are its inputs, then its outputs; `data` has the contents of constants that are loaded,
 * else NULL. An operand whose shape is unknown has a type alone, or none. */
void tort_firmware_call_of(const tort_node_view *node, tort_tensor *tensors, tort_call *call);

/* ---- calls that run or are printed ------------------------------------------------------------------------------- */

/* tort_kernel.emit of every row: calls its run with a call that is printed. */
tort_status tort_firmware_emit(tort_emit *emit);
/* The same for any function. */
tort_status tort_firmware_emit_run(tort_emit *emit, tort_status (*run)(const tort_call *call));

/* What a call is printed to; NULL: it runs. A call that is printed has contents of constants alone: `data` of its other
 * operands is their text, and its band, if there is one, has one row. */
static inline tort_emit *tort_firmware_emit_of(const tort_call *call) {
    return call->fitted; /* nothing else, as rows of this provider have no fit */
}

/* True if all outputs are empty. */
bool tort_firmware_makes_nothing(const tort_call *call);

/* Runs function(shape, operands), unless all outputs are empty; or prints it. A tort_status.
 *
 *   TORT_FIRMWARE_CALL(call, tinyort_move, &shape, x, y)
 *   TORT_FIRMWARE_CALL_WITH(call, tinyort_clip, &shape, (x, low, high, y), lowest, highest), where numbers follow
 *
 * Loops that have a form for each kind of target are called by FORM: `function` is the form's pointer, `name` its name
 * in C, and `form` the header that comes before it. */
#define TORT_FIRMWARE_CALL(call, function, shape, ...)                                                                 \
    TORT_FIRMWARE_CALL_FORM(call, NULL, #function, function, shape, __VA_ARGS__)
#define TORT_FIRMWARE_CALL_WITH(call, function, shape, operands, ...)                                                  \
    TORT_FIRMWARE_CALL_FORM_WITH(call, NULL, #function, function, shape, operands, __VA_ARGS__)
#define TORT_FIRMWARE_CALL_FORM(call, form, name, function, shape, ...)                                                \
    (tort_firmware_emit_of(call)                                                                                       \
         ? tort_firmware_print(call, form, name, shape, TORT_FIRMWARE_OPERANDS(__VA_ARGS__), NULL, 0)                  \
         : (tort_firmware_makes_nothing(call) ? (void)0 : function(shape, __VA_ARGS__), (tort_status)TORT_OK))
#define TORT_FIRMWARE_CALL_FORM_WITH(call, form, name, function, shape, operands, ...)                                 \
    (tort_firmware_emit_of(call)                                                                                       \
         ? tort_firmware_print(call, form, name, shape, TORT_FIRMWARE_OPERANDS operands,                               \
                               TORT_FIRMWARE_NUMBERS(__VA_ARGS__))                                                     \
         : (tort_firmware_makes_nothing(call) ? (void)0 : function(shape, TORT_FIRMWARE_LIST operands, __VA_ARGS__),   \
            (tort_status)TORT_OK))
#define TORT_FIRMWARE_LIST(...) __VA_ARGS__
#define TORT_FIRMWARE_OPERANDS(...)                                                                                    \
    (const void *const[]){__VA_ARGS__}, sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)
#define TORT_FIRMWARE_NUMBERS(...) (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float)

/* Appends a call to the statement. Operands are data of the call's tensors, places in its packed weights (see
 * tort_firmware_array), its scratch, functions, or texts. */
tort_status tort_firmware_print(const tort_call *call, const char *form, const char *function, const void *shape,
                                const void *const *operands, size_t operand_count, const float *numbers,
                                size_t number_count);
/* Adds a line of the preprocessor, which is static, to those ahead of all code. */
void tort_firmware_define_line(tort_emit *emit, const char *line);
/* If the call is printed: its packed weights have array `i` of `count` elements from byte `offset` on. */
void tort_firmware_array(const tort_call *call, int32_t i, tort_type type, size_t offset, size_t count);

/* ---- sources ----------------------------------------------------------------------------------------------------- */

typedef void tort_firmware_function(void); /* to be cast to its own type */

/* A function of kernels/firmware/code/functions.h, or of its like, by its name, which there is: "tinyort_exp". */
tort_firmware_function *tort_firmware_function_of(const char *name);
/* The name of such a function; NULL: it is none. */
const char *tort_firmware_name_of(const void *function);
/* The members of a struct of kernels/firmware/code, as C has them, from behind the brace on; NULL: there is none. */
const char *tort_firmware_struct_of(const char *type);
/* Adds the source of a function or header, after those that it needs, to emit->code; `whole`: of NAME_whole, without
 * floats, where there is such a header. */
tort_status tort_firmware_need(tort_emit *emit, const char *name, bool whole);

/* ---- functions of single numbers --------------------------------------------------------------------------------- */

/* A function of one float, of code/functions.h; with two numbers, if `by`. */
typedef struct tort_firmware_map {
    const char *name;
    bool by;
    float numbers[2];
} tort_firmware_map;

/* Runs or prints the function over `count` floats; y may be x. */
tort_status tort_firmware_run_map(const tort_call *call, const tort_firmware_map *map, int64_t count, const float *x,
                                  float *y);
/* The activation of a fused operator, on output 0 in place, where it is not two bounds. */
tort_status tort_firmware_activate(const tort_call *call, const tort_epilogue *epilogue);

/* Accept features of a type that firmware loads as floats; labels that are no words, and a transform of scores that
 * there is. rows.c. */
tort_verdict tort_firmware_claim_features(const tort_target *target, const tort_node_view *node);
tort_verdict tort_firmware_claim_scores(const tort_node_view *node, bool words, tort_post_transform transform);
/* The function of code/functions.h that transforms a row of scores of ai.onnx.ml; NULL: NONE, or PROBIT, which there is
 * not. */
const char *tort_firmware_post_transform(tort_post_transform transform);

/* Fills members "rank dims[8] as[8] bs[8]" with a loop over two operands and their steps in elements. */
void tort_firmware_loop(const tort_loop *loop, int32_t *shape);

/* The number of a type in load.h and store.h; -1: it has none. */
enum { TORT_FIRMWARE_FLOAT = 7, TORT_FIRMWARE_BOOL };
int32_t tort_firmware_number_type(tort_type type);

/* Data of input i of a call, NULL if it is absent, or i is negative. */
static inline const void *tort_firmware_input(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = i < 0 ? NULL : tort_call_input(call, i);
    return tensor ? tensor->data : NULL;
}

/* The same of output i. */
static inline void *tort_firmware_output(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = i < 0 ? NULL : tort_call_output(call, i);
    return tensor ? tensor->data : NULL;
}

#define TORT_FIRMWARE_NO_STACK UINT32_MAX
/* Bytes of stack below the call of NAME_run, while a step, or a band of it, is in this function on a processor;
 * NO_STACK: not known. */
uint32_t tort_firmware_stack(const char *processor, const char *function, bool banded);

#endif
