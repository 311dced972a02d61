/* ops.c - the lists of operator families and of fusions in this build: edit them to shrink a firmware build.
 *
 * Each family is one file with its rows in a table at its end. */
#include "runtime/pattern.h"

extern const tort_op tort_ops_unary[];
extern const tort_op tort_ops_activation[];
extern const tort_op tort_ops_arithmetic[];
extern const tort_op tort_ops_pow[];
extern const tort_op tort_ops_compare[];
extern const tort_op tort_ops_logic[];
extern const tort_op tort_ops_variadic[];
extern const tort_op tort_ops_where[];
extern const tort_op tort_ops_cast[];
extern const tort_op tort_ops_cumulative[];
extern const tort_op tort_ops_quantize[];
extern const tort_op tort_ops_dropout[];
extern const tort_op tort_ops_random[];
extern const tort_op tort_ops_metadata[];
extern const tort_op tort_ops_constant[];
extern const tort_op tort_ops_generate[];
extern const tort_op tort_ops_concat[];
extern const tort_op tort_ops_slice[];
extern const tort_op tort_ops_pad[];
extern const tort_op tort_ops_transpose[];
extern const tort_op tort_ops_expand[];
extern const tort_op tort_ops_gather[];
extern const tort_op tort_ops_scatter[];
extern const tort_op tort_ops_tensor_scatter[];
extern const tort_op tort_ops_resize[];
extern const tort_op tort_ops_topk[];
extern const tort_op tort_ops_select[];
extern const tort_op tort_ops_unique[];
extern const tort_op tort_ops_reverse_sequence[];
extern const tort_op tort_ops_center_crop_pad[];
extern const tort_op tort_ops_strings[];
extern const tort_op tort_ops_tfidf[];
extern const tort_op tort_ops_control_flow[];
extern const tort_op tort_ops_sequence[];
extern const tort_op tort_ops_optional[];
extern const tort_op tort_ops_grid_sample[];
extern const tort_op tort_ops_affine_grid[];
extern const tort_op tort_ops_col2im[];
extern const tort_op tort_ops_conv[];
extern const tort_op tort_ops_conv_transpose[];
extern const tort_op tort_ops_deform_conv[];
extern const tort_op tort_ops_pool[];
extern const tort_op tort_ops_max_unpool[];
extern const tort_op tort_ops_gemm[];
extern const tort_op tort_ops_matmul[];
extern const tort_op tort_ops_einsum[];
extern const tort_op tort_ops_norm[];
extern const tort_op tort_ops_norm_axis[];
extern const tort_op tort_ops_batch_norm[];
extern const tort_op tort_ops_softmax[];
extern const tort_op tort_ops_reduce[];
extern const tort_op tort_ops_arg_reduce[];
extern const tort_op tort_ops_nms[];
extern const tort_op tort_ops_roi[];
extern const tort_op tort_ops_loss[];
extern const tort_op tort_ops_fourier[];
extern const tort_op tort_ops_rotary[];
extern const tort_op tort_ops_linear_attention[];
extern const tort_op tort_ops_rnn[];
extern const tort_op tort_ops_integer_matmul[];
extern const tort_op tort_ops_byte_table[];
extern const tort_op tort_ops_integer_conv[];
extern const tort_op tort_ops_attention[];
extern const tort_op tort_ops_flex_attention[];
extern const tort_op tort_ops_fused_attention[];
extern const tort_op tort_ops_window[];
extern const tort_op tort_ops_det[];
extern const tort_op tort_ops_training[];
extern const tort_op tort_ops_group_query_attention[];
extern const tort_op tort_ops_microsoft_attention[];
extern const tort_op tort_ops_multi_head_attention[];
extern const tort_op tort_ops_microsoft_bias[];
extern const tort_op tort_ops_microsoft_skip_norm[];
extern const tort_op tort_ops_microsoft_group_norm[];
extern const tort_op tort_ops_microsoft_distance[];
extern const tort_op tort_ops_microsoft_hash[];
extern const tort_op tort_ops_microsoft_unfold[];
extern const tort_op tort_ops_microsoft_gated_bias[];

/* com.microsoft */
extern const tort_op tort_ops_matmul_nbits[];
extern const tort_op tort_ops_qlinear_reduce[];
extern const tort_op tort_ops_qembed_norm[];
extern const tort_op tort_ops_moe[];
extern const tort_op tort_ops_qattention[];
extern const tort_op tort_ops_dynamic_quantize_lstm[];
extern const tort_op tort_ops_gather_block_quantized[];
extern const tort_op tort_ops_qgemm[];
extern const tort_op tort_ops_qlinear_softmax[];
extern const tort_op tort_ops_nhwc_max_pool[];
extern const tort_op tort_ops_masked_max_pool[];
extern const tort_op tort_ops_qlinear_pool[];
extern const tort_op tort_ops_qlinear_table[];
extern const tort_op tort_ops_qlinear_elementwise[];

extern const tort_op tort_ops_ml_trees[];

/* ai.onnx.ml */
extern const tort_op tort_ops_ml_features[];
extern const tort_op tort_ops_ml_linear[];
extern const tort_op tort_ops_ml_mapping[];
extern const tort_op tort_ops_ml_maps[];
extern const tort_op tort_ops_ml_one_hot[];
extern const tort_op tort_ops_ml_svm_classifier[];
extern const tort_op tort_ops_ml_svm_regressor[];
extern const tort_op tort_ops_ml_vectorize[];
extern const tort_op tort_ops_ml_zip_map[];

// clang-format off: a line a family
const tort_op *const tort_op_families[] = {
    tort_ops_unary,
    tort_ops_activation,
    tort_ops_arithmetic,
    tort_ops_pow,
    tort_ops_compare,
    tort_ops_logic,
    tort_ops_variadic,
    tort_ops_where,
    tort_ops_cast,
    tort_ops_cumulative,
    tort_ops_quantize,
    tort_ops_dropout,
    tort_ops_random,
    tort_ops_metadata,
    tort_ops_constant,
    tort_ops_generate,
    tort_ops_concat,
    tort_ops_slice,
    tort_ops_pad,
    tort_ops_transpose,
    tort_ops_expand,
    tort_ops_gather,
    tort_ops_scatter,
    tort_ops_tensor_scatter,
    tort_ops_resize,
    tort_ops_topk,
    tort_ops_select,
    tort_ops_unique,
    tort_ops_reverse_sequence,
    tort_ops_center_crop_pad,
    tort_ops_strings,
    tort_ops_tfidf,
    tort_ops_control_flow,
    tort_ops_sequence,
    tort_ops_optional,
    tort_ops_grid_sample,
    tort_ops_affine_grid,
    tort_ops_col2im,
    tort_ops_conv,
    tort_ops_conv_transpose,
    tort_ops_deform_conv,
    tort_ops_pool,
    tort_ops_max_unpool,
    tort_ops_gemm,
    tort_ops_matmul,
    tort_ops_einsum,
    tort_ops_norm,
    tort_ops_norm_axis,
    tort_ops_batch_norm,
    tort_ops_softmax,
    tort_ops_reduce,
    tort_ops_arg_reduce,
    tort_ops_nms,
    tort_ops_roi,
    tort_ops_loss,
    tort_ops_fourier,
    tort_ops_rotary,
    tort_ops_linear_attention,
    tort_ops_rnn,
    tort_ops_integer_matmul,
    tort_ops_byte_table,
    tort_ops_integer_conv,
    tort_ops_attention,
    tort_ops_flex_attention,
    tort_ops_fused_attention,
    tort_ops_window,
    tort_ops_det,
    tort_ops_training,
    tort_ops_group_query_attention,
    tort_ops_microsoft_attention,
    tort_ops_multi_head_attention,
    tort_ops_microsoft_bias,
    tort_ops_microsoft_skip_norm,
    tort_ops_microsoft_group_norm,
    tort_ops_microsoft_distance,
    tort_ops_microsoft_hash,
    tort_ops_microsoft_unfold,
    tort_ops_microsoft_gated_bias,
    tort_ops_matmul_nbits,
    tort_ops_qlinear_reduce,
    tort_ops_qembed_norm,
    tort_ops_moe,
    tort_ops_qattention,

    tort_ops_ml_trees,

    /* ai.onnx.ml */
    tort_ops_ml_features,
    tort_ops_ml_linear,
    tort_ops_ml_mapping,
    tort_ops_ml_maps,
    tort_ops_ml_one_hot,
    tort_ops_ml_svm_classifier,
    tort_ops_ml_svm_regressor,
    tort_ops_ml_vectorize,
    tort_ops_ml_zip_map,
    tort_ops_dynamic_quantize_lstm,
    tort_ops_gather_block_quantized,
    tort_ops_qgemm,
    tort_ops_qlinear_softmax,
    tort_ops_nhwc_max_pool,
    tort_ops_masked_max_pool,
    tort_ops_qlinear_pool,
    tort_ops_qlinear_table,
    tort_ops_qlinear_elementwise,
    NULL,
};

extern const tort_pattern tort_patterns_batch_norm[];
extern const tort_pattern tort_patterns_epilogue[];
extern const tort_pattern tort_patterns_activation[];
extern const tort_pattern tort_patterns_layer_norm[];
extern const tort_pattern tort_patterns_attention[];
extern const tort_pattern tort_patterns_byte_table[];
extern const tort_pattern tort_patterns_quantized[];

// clang-format off: a line a table
const tort_pattern *const tort_pattern_tables[] = {
    tort_patterns_batch_norm, tort_patterns_epilogue,  tort_patterns_activation, tort_patterns_layer_norm,
    tort_patterns_attention,  tort_patterns_quantized, tort_patterns_byte_table, NULL,
};
