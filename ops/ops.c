/* ops.c - the lists of operator families and of fusions in this build.
 *
 * Each family is one file with its rows in a table at its end. The make variable OPS names the lists of a build: onnx,
 * which is always included (it has the families that domains share), ml and microsoft. OPS=FILE has all lists, of which
 * .ci/choose_ops.awk keeps the tables and rows of the operators in that file. */
#include "ops/ops.h"

// clang-format off
#define ONNX(X) \
    X(unary) \
    X(activation) \
    X(arithmetic) \
    X(pow) \
    X(compare) \
    X(logic) \
    X(variadic) \
    X(where) \
    X(cast) \
    X(cumulative) \
    X(quantize) \
    X(dropout) \
    X(random) \
    X(metadata) \
    X(constant) \
    X(generate) \
    X(concat) \
    X(slice) \
    X(pad) \
    X(transpose) \
    X(expand) \
    X(gather) \
    X(scatter) \
    X(tensor_scatter) \
    X(resize) \
    X(topk) \
    X(select) \
    X(unique) \
    X(reverse_sequence) \
    X(center_crop_pad) \
    X(strings) \
    X(tfidf) \
    X(control_flow) \
    X(sequence) \
    X(optional) \
    X(grid_sample) \
    X(affine_grid) \
    X(col2im) \
    X(conv) \
    X(conv_transpose) \
    X(deform_conv) \
    X(pool) \
    X(max_unpool) \
    X(gemm) \
    X(matmul) \
    X(einsum) \
    X(norm) \
    X(norm_axis) \
    X(batch_norm) \
    X(softmax) \
    X(reduce) \
    X(arg_reduce) \
    X(nms) \
    X(roi) \
    X(loss) \
    X(fourier) \
    X(rotary) \
    X(linear_attention) \
    X(rnn) \
    X(integer_matmul) \
    X(byte_table) \
    X(integer_conv) \
    X(attention) \
    X(flex_attention) \
    X(fused_attention) \
    X(window) \
    X(det) \
    X(training)

#ifdef TORT_OPS_ML
#define ML(X) \
    X(ml_trees) \
    X(ml_features) \
    X(ml_linear) \
    X(ml_mapping) \
    X(ml_maps) \
    X(ml_one_hot) \
    X(ml_svm_classifier) \
    X(ml_svm_regressor) \
    X(ml_vectorize) \
    X(ml_zip_map)
#else
#define ML(X)
#endif

#ifdef TORT_OPS_MICROSOFT
#define MICROSOFT(X) \
    X(group_query_attention) \
    X(microsoft_attention) \
    X(multi_head_attention) \
    X(microsoft_bias) \
    X(microsoft_skip_norm) \
    X(microsoft_group_norm) \
    X(microsoft_distance) \
    X(microsoft_hash) \
    X(microsoft_unfold) \
    X(microsoft_gated_bias) \
    X(matmul_nbits) \
    X(qlinear_reduce) \
    X(qembed_norm) \
    X(moe) \
    X(qattention) \
    X(dynamic_quantize_lstm) \
    X(gather_block_quantized) \
    X(qgemm) \
    X(qlinear_softmax) \
    X(nhwc_max_pool) \
    X(masked_max_pool) \
    X(qlinear_pool) \
    X(qlinear_table) \
    X(qlinear_elementwise)
#else
#define MICROSOFT(X)
#endif
// clang-format on

#define DECLARE(family) extern const tort_op tort_ops_##family[];
ONNX(DECLARE)
ML(DECLARE)
MICROSOFT(DECLARE)

#define LIST(family) tort_ops_##family,
const tort_op *const tort_op_families[] = {ONNX(LIST) ML(LIST) MICROSOFT(LIST) NULL};

extern const tort_pattern tort_patterns_batch_norm[];
extern const tort_pattern tort_patterns_epilogue[];
extern const tort_pattern tort_patterns_activation[];
extern const tort_pattern tort_patterns_layer_norm[];
extern const tort_pattern tort_patterns_attention[];
extern const tort_pattern tort_patterns_byte_table[];
extern const tort_pattern tort_patterns_quantized[];

// clang-format off: tables in columns
const tort_pattern *const tort_pattern_tables[] = {
    tort_patterns_batch_norm, tort_patterns_epilogue,  tort_patterns_activation, tort_patterns_layer_norm,
    tort_patterns_attention,  tort_patterns_quantized, tort_patterns_byte_table, NULL,
};
