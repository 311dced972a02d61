/* cpu_kernel_cases.h - the random nodes that the rows of the provider `cpu` are tried with. Read next: cpu_kernels.c,
 * cpu_kernel_models.c. */
#ifndef TORT_TESTS_UNIT_CPU_KERNEL_CASES_H
#define TORT_TESTS_UNIT_CPU_KERNEL_CASES_H

#include "runtime/core/graph/graph.h"

#define MAX_INPUTS 12
#define MAX_OUTPUTS 3

typedef struct random_node {
    int32_t opset, input_count, attribute_count;
    tort_tensor inputs[MAX_INPUTS];
    bool constant[MAX_INPUTS];
    bool second_output;            /* is required, but nobody wants it */
    int32_t scalar_outputs;        /* behind output 0: of DynamicQuantizeLinear, a float and a uint8 */
    float tolerance;               /* relative, and a tenth of it absolute; 0: the last bit of a division */
    tort_attribute attributes[20]; /* u.i of one that is a tensor: which of `tensors` */
    int64_t lists[6][8];
    tort_tensor tensors[4];
    int32_t list_count, tensor_count;
    void *block; /* of longer lists, to be freed */
} random_node;

typedef struct random_source {
    uint64_t state;
} random_source;

typedef struct kernel_case {
    const char *domain, *op, *kernel;
    void (*make)(random_node *node, random_source *random);
    const char *plain; /* what `make` makes, if that is another operator, which `op` is with an epilogue */
} kernel_case;

/* Case i of all: those of cpu_kernel_cases.c, then those of tests/cases. NULL: there are no more. */
const kernel_case *kernel_case_at(size_t i);

/* Makes a node of a plain operator, whose output is like y, one of the fused operator. */
void add_epilogue(random_node *node, random_source *random, const kernel_case *kernel, const tort_info *y);

/* A node of the case, for an operator with an epilogue with that. False: this one is not valid. */
bool make_random_node(const kernel_case *kernel, random_node *node, random_source *random, const tort_env *env);
/* Every input of float becomes one of a half type; TORT_FLOAT: all stays as it is. False: there is none. */
bool to_halves(random_node *node, tort_type half);
/* Every input of float becomes one of double. */
void to_doubles(random_node *node);
/* A model of that node alone, with copies of what is constant; the caller frees it. NULL: it is not valid. */
tort_model *random_node_model(const kernel_case *kernel, random_node *node, const tort_env *env, tort_error *error);
/* Says of a constant what a plan knows: its data, and whether all of its bytes are one. */
void make_known(tort_info *info, const tort_tensor *t);
void free_random_node(random_node *node);

/* What makers are written with. */
int64_t draw(random_source *r, int64_t low, int64_t high);
bool chance(random_source *r, int percent);
int64_t pick(random_source *r, const int64_t *values, int32_t count);
void add_int(random_node *n, const char *name, int64_t value);
void add_float(random_node *n, const char *name, float value);
void add_string(random_node *n, const char *name, const char *value);
int64_t *add_list(random_node *n, const char *name, int32_t count);
tort_tensor *add_buffer(random_node *n, tort_type type, int32_t rank, const int64_t *dims); /* not yet filled */
void add_tensor(random_node *n, random_source *r, int32_t rank, const int64_t *dims);
void spoil_input(random_node *n, random_source *r, int32_t input); /* one element becomes a NaN or the like */
void add_numbers(random_node *n, int32_t rank, const int64_t *dims, const int64_t *values); /* of int32 */
void add_integers(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims);
tort_type byte_type(random_source *r); /* int8 or uint8 */
void make_conv_transpose(random_node *n, random_source *r);
void make_qlinear_conv(random_node *n, random_source *r);
void make_qlinear_depthwise(random_node *n, random_source *r);
void make_qlinear_matmul(random_node *n, random_source *r);
void make_biased_matmul(random_node *n, random_source *r);
void make_matmul_integer(random_node *n, random_source *r);
void make_conv_integer(random_node *n, random_source *r);
void make_window(random_node *n, random_source *r, int32_t axes, const int64_t *kernel);
void make_map(random_node *n, random_source *r);
void make_matmul(random_node *n, random_source *r);
void make_gemm(random_node *n, random_source *r);
void make_swish(random_node *n, random_source *r);

int64_t *add_list(random_node *n, const char *name, int32_t count);
/* Strides, dilations and padding. */
void make_window(random_node *n, random_source *r, int32_t axes, const int64_t *kernel);

/* cpu_kernel_cases_blocked.c */
void make_blocked_conv(random_node *n, random_source *r);
void make_dilated_conv(random_node *n, random_source *r);
void make_first_conv(random_node *n, random_source *r);
void make_blocked_depthwise(random_node *n, random_source *r);
void make_blocked_transpose(random_node *n, random_source *r);
void make_point_transpose(random_node *n, random_source *r);
void make_winograd(random_node *n, random_source *r);
void make_blocked_max_pool(random_node *n, random_source *r);
void make_blocked_average_pool(random_node *n, random_source *r);
void make_blocked_global_pool(random_node *n, random_source *r);
void make_kept_mean(random_node *n, random_source *r);
void make_dropped_mean(random_node *n, random_source *r);
void make_blocked_batch_norm(random_node *n, random_source *r);
void make_channel_pair(random_node *n, random_source *r);
void make_blocked_concat(random_node *n, random_source *r);
void make_blocked_linear_conv(random_node *n, random_source *r);
void make_first_linear_conv(random_node *n, random_source *r);
void make_blocked_linear_depthwise(random_node *n, random_source *r);
void make_blocked_linear_quads(random_node *n, random_source *r);
void make_blocked_byte_pool(random_node *n, random_source *r);

/* cpu_kernel_cases_elements.c */
void make_pair(random_node *n, random_source *r);
void make_prelu(random_node *n, random_source *r);
void make_extreme(random_node *n, random_source *r);
void make_sum(random_node *n, random_source *r);
void make_mean(random_node *n, random_source *r);
void make_integer_map(random_node *n, random_source *r);
void make_integer_clip(random_node *n, random_source *r);
void make_where(random_node *n, random_source *r);
void make_cast_half(random_node *n, random_source *r);
void make_cast(random_node *n, random_source *r);
void make_cast_like_half(random_node *n, random_source *r);
void make_cast_like(random_node *n, random_source *r);
void make_number_cast(random_node *n, random_source *r);
void make_number_cast_like(random_node *n, random_source *r);
void make_reduce(random_node *n, random_source *r);
void make_global_pool(random_node *n, random_source *r);
void make_transpose(random_node *n, random_source *r);
void make_depth_to_space(random_node *n, random_source *r);
void make_space_to_depth(random_node *n, random_source *r);

/* cpu_halves.c */
void make_cast(random_node *n, random_source *r);
void make_cast_like(random_node *n, random_source *r);

/* cpu_kernel_cases_microsoft.c */
void add_operator_activation(random_node *n, random_source *r, bool exact);
void make_dynamic_pads(random_node *n, random_source *r);
void make_activated_gemm(random_node *n, random_source *r);
void make_transposed_matmul(random_node *n, random_source *r);
void make_older_matmul(random_node *n, random_source *r);
void make_activated_matmul(random_node *n, random_source *r);
void make_gelu_matmul(random_node *n, random_source *r);
void make_map_of_microsoft(random_node *n, random_source *r);
void make_quick_gelu(random_node *n, random_source *r);
void make_bias_gelu(random_node *n, random_source *r);
void make_rms_norm(random_node *n, random_source *r);
void make_skip_norm(random_node *n, random_source *r);
void make_simplified_skip_norm(random_node *n, random_source *r);

/* cpu_kernel_cases_further.c */
void make_einsum(random_node *n, random_source *r);
void make_layer_norm(random_node *n, random_source *r);
void make_instance_norm(random_node *n, random_source *r);
void make_batch_norm(random_node *n, random_source *r);
void make_group_norm(random_node *n, random_source *r);
void make_lp_norm(random_node *n, random_source *r);
void make_resize(random_node *n, random_source *r);
void make_blocked_resize(random_node *n, random_source *r);
void make_upsample(random_node *n, random_source *r);
void make_blocked_upsample(random_node *n, random_source *r);
void make_rotary(random_node *n, random_source *r);
void make_rotary_of_microsoft(random_node *n, random_source *r);
void make_grid_sample(random_node *n, random_source *r);
void make_grid_sample_of_microsoft(random_node *n, random_source *r);
void make_roi_align(random_node *n, random_source *r);
void make_deform_conv(random_node *n, random_source *r);

/* cpu_kernel_cases_attention.c */
void make_attention(random_node *n, random_source *r);
void make_onnx_attention(random_node *n, random_source *r);
void make_projected_attention(random_node *n, random_source *r);
void make_group_query(random_node *n, random_source *r);
void make_multi_head(random_node *n, random_source *r);
void make_decoder_masked(random_node *n, random_source *r);

/* cpu_kernel_cases_quantized.c */
void make_dynamic_matmul(random_node *n, random_source *r);
void make_matmul_to_float(random_node *n, random_source *r);
void make_matmul_nbits(random_node *n, random_source *r);
void make_qgemm(random_node *n, random_source *r);
void make_qlinear_binary(random_node *n, random_source *r);
void make_qlinear_channels(random_node *n, random_source *r);
void make_byte_table(random_node *n, random_source *r);
void make_qlinear_function(random_node *n, random_source *r);
void make_qlinear_mean(random_node *n, random_source *r);
void make_qlinear_softmax(random_node *n, random_source *r);
void make_quantize(random_node *n, random_source *r);
void make_dequantize(random_node *n, random_source *r);
void make_dynamic_quantize(random_node *n, random_source *r);
void make_quantize_of_microsoft(random_node *n, random_source *r);
void make_dequantize_of_microsoft(random_node *n, random_source *r);
void make_qlinear_conv_of_microsoft(random_node *n, random_source *r);
void make_qlinear_depthwise_of_microsoft(random_node *n, random_source *r);

/* cpu_kernel_cases_rnn.c */
void make_rnn(random_node *n, random_source *r);
void make_lstm(random_node *n, random_source *r);
void make_quantized_lstm(random_node *n, random_source *r);
void make_gru(random_node *n, random_source *r);

#endif
