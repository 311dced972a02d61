/* operator_refusal_table.c - nodes that must be refused, with the status and words of the message: the language is that
 * of operator_cases.c. */
#include <stddef.h>

extern const char *const operator_refusals[];

#define TREE(IDS, MODES, YES, NO)                                                                                      \
    "ai.onnx.ml.TreeEnsembleRegressor 3; nodes_treeids=4,4,4 nodes_nodeids=" IDS " nodes_featureids=0,0,0 "            \
    "nodes_modes=" MODES " nodes_values=0,0,0 nodes_truenodeids=" YES " nodes_falsenodeids=" NO " "
#define VOTES(NODES, TARGETS) "target_treeids=4,4 target_nodeids=" NODES " target_ids=" TARGETS " target_weights=1,2 "
#define ONE_ROW "n_targets=1; f32[1,1] 0 -> error MODEL "
#define ENSEMBLE(MODES, YES, ROOTS)                                                                                        \
    "ai.onnx.ml.TreeEnsemble 5; tree_roots=" ROOTS " nodes_featureids=0 nodes_truenodeids=" YES                            \
    " nodes_falsenodeids=0 nodes_trueleafs=1 nodes_falseleafs=1 leaf_targetids=0 leaf_weights=f32[1]:1 nodes_modes=" MODES \
    " nodes_splits=f32[1]:0 "

// clang-format off: a line a case where it fits
const char *const operator_refusals[] = {
    /* Lists of trees. */
    TREE("0,1", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0") VOTES("1,2", "0,0") ONE_ROW
    "nodes_treeids has 3 elements, nodes_nodeids has 2; expected as many in both",
    TREE("0,1,1", "BRANCH_LT,LEAF,LEAF", "1,0,0", "1,0,0") VOTES("1,1", "0,0") ONE_ROW
    "elements 1 and 2 of nodes_nodeids are both node 1 of tree 4",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "3,0,0", "2,0,0") VOTES("1,2", "0,0") ONE_ROW
    "nodes_truenodeids[0] is 3, but tree 4 has no such node",
    TREE("0,1,2", "BRANCH_LT,BRANCH_LT,LEAF", "1,0,0", "2,2,0") VOTES("2,2", "0,0") ONE_ROW
    "tree 0 goes in a circle: node 0 of the lists is below itself",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEEF", "1,0,0", "2,0,0") VOTES("1,2", "0,0") ONE_ROW
    "nodes_modes[2] is \"LEEF\"; expected LEAF, BRANCH_LEQ",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0") VOTES("1,3", "0,0") ONE_ROW
    "vote 1 is of node 3 of tree 4, which is not there",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0") VOTES("1,2", "0,1") ONE_ROW
    "vote 1 is for target 1; expected 0 to 0",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0")
        VOTES("1,2", "0,0") "base_values=1,2 " ONE_ROW
                            "base_values has 2 elements; expected none, or 1, one for each target",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0")
        VOTES("1,2", "0,0") "aggregate_function=MEAN " ONE_ROW
                            "aggregate_function is \"MEAN\"; expected AVERAGE, SUM, MIN or MAX",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0")
        VOTES("1,2", "0,0") "post_transform=EXP " ONE_ROW "post_transform is \"EXP\"; expected NONE, SOFTMAX",
    TREE("0,1,2", "BRANCH_LT,LEAF,LEAF", "1,0,0", "2,0,0")
        VOTES("1,2", "0,0") "n_targets=0; f32[1,1] 0 -> error MODEL n_targets is 0; expected 1 or more",
    "ai.onnx.ml.TreeEnsembleClassifier 1; classlabels_int64s=1 classlabels_strings=a; f32[1,1] 0 -> error MODEL "
    "has 1 classlabels_int64s and 1 classlabels_strings; expected one of the two lists",
    ENSEMBLE("u8[1]:7", "0", "0") ONE_ROW "nodes_modes[0] is 7; expected 0 to 6",
    ENSEMBLE("u8[1]:0", "1", "0") ONE_ROW "nodes_truenodeids[0] is 1; expected 0 to 0",
    ENSEMBLE("u8[1]:0", "0", "1") ONE_ROW "tree_roots[0] is 1; expected 0 to 0",
    ENSEMBLE("u8[1]:6", "0", "0") ONE_ROW "membership_values has no set for node 0",
    ENSEMBLE("f32[1]:0", "0", "0") ONE_ROW "nodes_modes is a tensor of float; expected uint8",
    /* Attributes that name a type: no type, one that is not allowed, one only modulo 2^32. */
    "HannWindow 17; output_datatype=0; i64[] 4 -> error MODEL attribute \"output_datatype\" is 0, which is not a type",
    "HammingWindow 17; output_datatype=4294967296; i64[] 4 -> error MODEL attribute \"output_datatype\" is 4294967296",
    "BlackmanWindow 17; output_datatype=-9223372036854775808; i64[] 4 -> error MODEL is not a type; expected one of",
    "HannWindow 17; output_datatype=4294967297; i64[] 4 -> error MODEL attribute \"output_datatype\" is 4294967297",
    "HannWindow 17; output_datatype=8; i64[] 4 -> error MODEL is 8 (string); expected one of float, uint8, int8",
    "MelWeightMatrix 17; output_datatype=0; i64[] 4; i64[] 16; i64[] 8192; f32[] 0; f32[] 4096 -> error MODEL "
    "\"output_datatype\"",
    "Multinomial 7; dtype=4294967296; f32[1,2] 0 0 -> error MODEL \"dtype\"",
    "Multinomial 22; dtype=1; f32[1,2] 0 0 -> error MODEL is 1 (float); expected one of int32, int64",
    "Bernoulli 15; dtype=0; f32[1] 0 -> error MODEL \"dtype\"",
    "RandomNormalLike 1; dtype=0; f32[1] 0 -> error MODEL \"dtype\"",
    "RandomUniformLike 22; dtype=4294967296; f32[1] 0 -> error MODEL \"dtype\"",
    "EyeLike 9; dtype=4294967296; f32[1,1] 0 -> error MODEL \"dtype\"",
    "Cast 6; to=99; f32[1] 0 -> error MODEL attribute \"to\" is 99, which is not a type",
    "Cast 6; to=8; f32[1] 0 -> error MODEL attribute \"to\" is 8 (string)",
    "Cast 1; to=FLOAT17; f32[1] 0 -> error MODEL attribute \"to\" is \"FLOAT17\"",
    "BitCast 26; to=0; f32[1] 0 -> error MODEL attribute \"to\" is 0",
    "DequantizeLinear 23; output_dtype=4294967296; u8[1] 0; f32[] 1 -> error MODEL \"output_dtype\"",
    "QuantizeLinear 21; output_dtype=4294967296; f32[1] 0; f32[] 1 -> error MODEL \"output_dtype\"",
    "QuantizeLinear 23; precision=99; f32[1] 0; f32[] 1 -> error MODEL \"precision\" is 99",
    "Attention 23; q_num_heads=1 kv_num_heads=1; f32[1,1,1] 0; f32[1,1,1,1] 0; f32[1,1,1] 0 -> error MODEL "
    "input 1 has rank 4; expected that of input 0, 3",
    "Attention 23; softmax_precision=99; f32[1,1,1,1] 0; f32[1,1,1,1] 0; f32[1,1,1,1] 0 -> error MODEL "
    "\"softmax_precision\"",
    "LayerNormalization 17; stash_type=11; f32[1,1] 0; f32[1] 1 -> error MODEL \"stash_type\" is 11 (double)",
    "GroupNormalization 21; num_groups=1 stash_type=7; f32[1,1] 0; f32[1] 1; f32[1] 0 -> error MODEL \"stash_type\"",
    "RMSNormalization 23; stash_type=0; f32[1,1] 0; f32[1] 1 -> error MODEL \"stash_type\"",
    "Range 27; stash_type=7; f32[] 0; f32[] 1; f32[] 1 -> error MODEL \"stash_type\"",

    /* Lists of the wrong rank or length, and single numbers that are several. */
    "AffineGrid 20; ; f32[1,2,3] 1 0 0 0 1 0; i64[1,4] 1 1 2 2 -> error MODEL size has rank 2, expected a list (rank 1)",
    "AffineGrid 20; ; f32[1,2,3] 1 0 0 0 1 0; i64[3] 1 1 2 -> error MODEL size has 3 entries, expected 4",
    "HannWindow 17; ; i64[2] 4 5 -> error MODEL size has 2 elements along dimension 0, expected a single element",
    "HammingWindow 17; ; i64[0] -> error MODEL size has 0 elements",
    "BlackmanWindow 17; ; i64[1,2] 4 5 -> error MODEL size has 2 elements along dimension 1",
    "Col2Im 18; ; f32[1,4,1] 1 2 3 4; i64[1,2] 2 2; i64[2] 2 2 -> error MODEL image_shape has rank 2",
    "Col2Im 18; ; f32[1,4,1] 1 2 3 4; i64[2] 2 2; i64[1,2] 2 2 -> error MODEL block_shape has rank 2",
    "Col2Im 18; ; f32[1,4,1] 1 2 3 4; i64[2] 2 2; i64[3] 2 2 1 -> error MODEL block_shape has 3 entries, expected 2",
    "Compress 11; ; f32[] 1; bool[1] 1 -> error MODEL input has rank 0",
    "ConstantOfShape 9; ; i64[1,1] 2 -> error MODEL input has rank 2, expected a list",
    "ConstantOfShape 9; ; i64[1] -1 -> error RUN input has -1 at place 0, expected 0 or more",
    "DFT 17; ; f32[1,4,1] 1 2 3 4; i64[2] 4 4 -> error MODEL dft_length has 2 elements",
    "DFT 20; ; f32[1,4,1] 1 2 3 4; -; i64[2] 1 1 -> error MODEL axis has 2 elements",
    "Expand 8; ; f32[1] 1; i64[1,5] 1 1 1 1 5 -> error MODEL shape has rank 2, expected a list (rank 1)",
    "Expand 8; ; f32[1] 1; i64[1] -5 -> error RUN shape has -5 at place 0",
    "Pad 11; ; f32[2] 1 2; i64[1,2] 1 1 -> error MODEL pads has rank 2",
    "Pad 11; ; f32[2] 1 2; i64[3] 1 1 1 -> error MODEL 3 pads for 1 axes",
    "Pad 2; pads=9223372036854775807,1; f32[2] 1 2 -> error MODEL a dimension of 9223372036854775807 + 1 does not fit",
    "Pad 2; pads=1000000000,1000000000,1000000000,1000000000,0,0; f32[1,1,1] 1 -> error MODEL the size of an output overflows",
    "Pad 18; ; f32[2] 1 2; i64[2] 1 1; -; i64[1,1] 0 -> error MODEL axes has rank 2",
    "NonMaxSuppression 11; ; f32[1,1,4] 0 0 1 1; f32[1,1,1] 1; i64[2] 1 1 -> error MODEL max_output_boxes_per_class has 2 "
    "elements",
    "NonMaxSuppression 11; ; f32[1,1,4] 0 0 1 1; f32[1,1,1] 1; i64[1] 1; f32[2] 0 1 -> error MODEL iou_threshold has 2 "
    "elements",
    "Reshape 5; ; f32[2] 1 2; i64[1,1] 2 -> error MODEL shape has rank 2",
    "Resize 10; ; f32[1,1] 1; f32[1,2] 2 2 -> error MODEL scales has rank 2",
    "Resize 13; ; f32[1,1] 1; -; -; i64[2] 6000000000 2300000000000000000 -> error RUN the size of an output overflows",
    "Upsample 7; scales=9e17,9e17; f32[1,1] 1 -> error MODEL the size of an output overflows",
    "Resize 13; ; f32[1,1] 1; -; -; i64[1,2] 2 2 -> error MODEL sizes has rank 2",
    "Resize 13; ; f32[1,1] 1; -; -; i64[3] 2 2 2 -> error MODEL sizes has 3 entries, expected 2",
    "Upsample 9; ; f32[1,1] 1; f32[1,2] 2 2 -> error MODEL scales has rank 2",
    "Slice 10; ; f32[2] 1 2; i64[1,1] 0; i64[1] 1 -> error MODEL starts has rank 2",
    "Slice 10; ; f32[2] 1 2; i64[1] 0; i64[1,1] 1 -> error MODEL ends has rank 2",
    "Slice 10; ; f32[2] 1 2; i64[1] 0; i64[1] 1; i64[1,1] 0 -> error MODEL axes has rank 2",
    "Slice 10; ; f32[2] 1 2; i64[1] 0; i64[1] 1; i64[1] 0; i64[1,1] 1 -> error MODEL steps has rank 2",
    "Slice 10; ; f32[2] 1 2; i64[1] 0; i64[2] 1 1 -> error MODEL they must be as many",
    "Slice 10; ; f32[2] 1 2; i64[1] 0; i64[1] 1; i64[1] 0; i64[1] 0 -> error RUN the step at place 0 is 0",
    "Slice 10; ; f32[2] 1 2; i64[2] 0 0; i64[2] 1 1 -> error MODEL 2 axes to slice in an input of rank 1",
    "Split 13; ; f32[2] 1 2; i64[1,1] 2 -> error MODEL split has rank 2",
    "Squeeze 13; ; f32[1] 1; i64[1,1] 0 -> error MODEL axes has rank 2",
    "Unsqueeze 13; ; f32[1] 1; i64[1,1] 0 -> error MODEL axes has rank 2",
    "Pad 11; ; u8[1] 0; i64[2] 1 2; u8[0] -> error MODEL constant_value has 0 elements along dimension 0",
    "STFT 17; onesided=0; f32[1,4,2] 1 2 3 4 5 6 7 8; i64[] 1; f32[] 1 -> error MODEL the window has rank 0; expected 1",
    "LinearAttention 27; q_num_heads=9223372036854775807 kv_num_heads=1 update_rule=linear; f32[1,1,2] 1 2; f32[1,1,2] 1 2; f32[1,1,2] 1 2 -> "
    "error MODEL the last dimension of query is 2, not a multiple of q_num_heads 9223372036854775807",
    "STFT 17; ; f32[1,4,1] 1 2 3 4; i64[2] 1 1; -; i64[] 2 -> error MODEL frame_step has 2 elements",
    "STFT 17; ; f32[1,4,1] 1 2 3 4; i64[] 1; -; i64[2] 2 2 -> error MODEL frame_length has 2 elements",
    "Tile 6; ; f32[1] 1; i64[1,1] 2 -> error MODEL repeats has rank 2",
    "Tile 6; ; f32[1] 1; i64[2] 2 2 -> error MODEL repeats has 2 entries, expected 1",
    "ReduceSum 13; ; f32[2] 1 2; i64[1,1] 0 -> error MODEL axes has rank 2",
    "ReduceMean 18; ; f32[2] 1 2; i64[1,1] 0 -> error MODEL axes has rank 2",
    "ReduceMax 18; ; f32[2] 1 2; i64[1] 5 -> error RUN axis 5 is not in [-1, 1)",
    "CenterCropPad 18; ; f32[2] 1 2; i64[1,1] 3 -> error MODEL shape has rank 2",
    "MaxUnpool 9; kernel_shape=1; f32[1,1,1] 1; i64[1,1,1] 0; i64[1,3] 1 1 1 -> error MODEL output_shape has rank 2",
    "CumSum 11; ; f32[2] 1 2; i32[2] 0 0 -> error MODEL axis has 2 elements",
    "OneHot 9; ; i64[1] 0; i64[2] 2 2; f32[2] 0 1 -> error MODEL depth has 2 elements",
    "Range 11; ; i64[2] 0 0; i64[] 1; i64[] 1 -> error MODEL start has 2 elements",

    /* Shapes that the plan could tell without the values that come at the run. */
    "Reshape 5; ; f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11; i64[1] 5 -> error RUN the input has 12 elements",
    "Reshape 5; ; f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11; i64[1] 0 -> error RUN the input has 4 elements beside ",
    "Reshape 5; ; i32[1,1] 7; i64[3] 2 9223372036854775807 -1 -> error RUN the requested shape has more elements than",
    "Resize 10; ; f32[1] 7; f32[0] -> error MODEL scales ",
    "Reshape 24; allowzero=1; i64[4] 9 8 -6 -1; i64[1] 1 -> error RUN the input has 4 elements",
    "Reshape 14; ; f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11; i64[2] 2 100 -> error RUN the input has 12 elements",
    "Expand 8; ; f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11; i64[2] 5 4 -> error RUN shapes do not broadcast",
    "Expand 8; ; f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11; i64[1] 7 -> error RUN shapes do not broadcast",

    /* Inputs that are missing, absurd numbers, and what would be read beyond its end. */
    "Max 13; ; f32[1] 1; -; f32[1] 1 -> error MODEL input data_0 number 1 is missing",
    "Sum 13; ; -; f32[1] 1 -> error MODEL input data_0 number 0 is missing",
    "Concat 13; axis=0; f32[1] 1; -; f32[1] 1 -> error MODEL input inputs number 1 is missing",
    "OneHot 11; ; i64[1] 0; i64[] 2; f32[1] 1 -> error MODEL values must be a list of two",
    "OneHot 11; ; i64[1] 0; i64[] 2; f32[] 1 -> error MODEL values must be a list of two",
    "ReverseSequence 10; batch_axis=1 time_axis=9223372036854775807; f32[1,1] 1; i64[1] 1 -> error MODEL time_axis",
    "Div 1; broadcast=1 axis=9223372036854775807; f32[1,1] 1; f32[1] 1 -> error MODEL axis 9223372036854775807 does not",
    "Upsample 1; height_scale=3 width_scale=1e30; f32[1,1,1,1] 1 -> error MODEL axis 3 of 1 elements times 1e+30 does not",
    "QuantizeLinear 13; axis=0; f32[3] 1 2 3; f32[3] 1 1 1; u8[1] 0 -> error MODEL the zero point has 1 elements, the scale",
    "DequantizeLinear 13; axis=0; u8[3] 1 2 3; f32[3] 1 1 1; u8[] 0 -> error MODEL the zero point has 1 elements, the scale",

    /* What contradicts itself, and axes that are none. */
    "Split 18; num_outputs=1; f32[2] 1 2; i64[1] 2 -> error MODEL both split and num_outputs are given",
    "Cast 24; to=24 round_mode=; f32[1] 1 -> error MODEL round_mode is",
    "Transpose 13; perm=-1; f32[1] 1 -> error MODEL perm has -1",
    "BatchNormalization 9; ; f32[1,2] 1 2; f32[2,1] 1 1; f32[2] 0 0; f32[2] 0 0; f32[2] 1 1 -> error MODEL input 1 must be a",
    "ReduceSum 11; axes=1; f32[] 1 -> error MODEL axis 1 is not in [-1, 1)",
    "ReduceSum 13; ; f32[] 1; i64[1] -2 -> error RUN axis -2 is not in [-1, 1)",
    "ArgMax 13; axis=3; f32[] 1 -> error MODEL axis 3 is not in [-1, 1)",
    "MaxPool 12; kernel_shape=1 auto_pad=VALID pads=1; f32[1,1,1] 1 -> error MODEL attribute pads has 1 entries, expected 2",
    "Resize 11; coordinate_transformation_mode=tf_crop_and_resize; str[1] a; f32[2] 0 1; f32[0]; i64[1] 2 -> error UNSUPPORTED "
    "interpolation of string elements",
    "DFT 17; ; f32[1,2,1] 1 2; i64[] -1 -> error RUN dft_length is -1, expected 1 or more",
    "Resize 19; axes=0,1 keep_aspect_ratio_policy=not_smaller; f32[0,2]; -; -; i64[2] 3 3 -> error MODEL axis 0 is empty",
    "ConvTranspose 11; output_padding=0,0,0; f32[1,1,1] 1; f32[1,1,1] 1 -> error MODEL attribute output_padding has 3",
    "GatherND 12; batch_dims=1; f32[3,3] 1 2 3 4 5 6 7 8 9; i64[1,3,1] 0 1 2 -> error MODEL inputs have 3 and 1 elements",
    "TensorScatter 24; axis=1; f32[2,2] 1 2 3 4; f32[2,1] 5 6; i64[1] 0 -> error MODEL inputs have 2 and 1 elements",
    "TensorScatter 24; axis=1; f32[1,2] 1 2; f32[1,1] 5; i64[1,1] 0 -> error MODEL write_indices has rank 2",
    "ReverseSequence 10; ; f32[2,1] 1 2; i64[1,1] 1 -> error MODEL sequence_lens has rank 2",
    "DeformConv 19; ; f32[1,1,1,1] 1; f32[2,1,1,1] 1 2; f32[1,2,1,1] 0 0; f32[] 1 -> error MODEL B has rank 0, expected 1",
    "DepthToSpace 13; blocksize=1 mode=; f32[1,1,1,1] 1 -> error MODEL mode",
    "DequantizeLinear 13; ; u8[2] 1 2; f32[] 1; u8[1,1] 0 -> error MODEL the zero point has rank 2",
    "Reshape 14; ; f32[3,2,0]; i64[1] 0 -> error RUN the input has 0 elements beside what 0 copies",
    "BatchNormalization 15; ; f32[1,1] 1; f32[1] 1; f32[1] 0; f32[1] 0; f32[1] 1 -> error MODEL output 1 is only there",
    /* Epilogues of fused operators. */
    "tinyort.FusedConv 1; activation=Relu; f32[1,1,1] 1; f32[1,1,1] 1 -> error MODEL activation is \"Relu\", expected none, "
    "relu",
    "tinyort.FusedConv 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; -; f32[1,1,1] 1 -> error MODEL Z has size 1 along axis 2, "
    "expected 2",
    "tinyort.FusedConv 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; f32[2] 1 2; f32[1,1,2] 1 2 -> error MODEL B has 2 elements, "
    "expected 1",
    "com.microsoft.NhwcConv 1; ; f32[1,2] 1 2; f32[1,2] 1 2 -> error MODEL the input has rank 2, expected 3 to 8",
    "com.microsoft.NhwcConv 1; ; f32[1,2,1,1] 1 2; f32[1,1,1] 1 -> error MODEL X has rank 4 and W rank 3",
    "com.microsoft.NhwcConv 1; ; f32[1,1,1,2] 1 2; f32[1,1,1,1] 1 -> error MODEL X has 2 channels, W takes 1",
    "com.microsoft.NhwcConv 1; group=2; f32[1,1,1,2] 1 2; f32[1,1,1,1] 1 -> error MODEL W has 1 filters, not divisible",
    "com.microsoft.NhwcConv 1; group=0; f32[1,1,1,2] 1 2; f32[1,2,1,1] 1 2 -> error MODEL attribute group is 0",
    "com.microsoft.NhwcConv 1; kernel_shape=2,1; f32[1,2,1,1] 1 2; f32[1,1,1,1] 1 -> error MODEL kernel_shape[0] is 2",
    "com.microsoft.NhwcConv 1; pads=1,1; f32[1,1,1,1] 1; f32[1,1,1,1] 1 -> error MODEL attribute pads has 2 entries",
    "com.microsoft.NhwcConv 1; ; f32[1,1,1,1] 1; f32[1,1,1,1] 1; f32[2] 1 2 -> error MODEL B has 2 elements, expected 1",
    "com.microsoft.NhwcFusedConv 1; ; f32[1,1,1,2] 1 2; f32[1,1,1,1] 1 -> error MODEL X has 2 channels, W takes 1",
    "com.microsoft.NhwcFusedConv 1; ; f32[1,1,2,1] 1 2; f32[3,1,1,1] 1 2 3; -; f32[1,1,2,1] 1 2 -> error MODEL Z has size 1 "
    "along axis 3, expected 3",
    "com.microsoft.NhwcFusedConv 1; ; f32[1,1,2,1] 1 2; f32[1,1,1,1] 1; -; f32[2] 1 2 -> error MODEL Z has rank 1, expected 4",
    "com.microsoft.NhwcFusedConv 1; activation=Gelu; f32[1,1,1] 1; f32[1,1,1] 1 -> error UNSUPPORTED activation is \"Gelu\", "
    "expected Celu, Clip",
    "com.microsoft.NhwcFusedConv 1; activation=Clip activation_params=1; f32[1,1,1] 1; f32[1,1,1] 1 -> error MODEL "
    "activation_params has 1 numbers, expected 2 for Clip",
    "tinyort.FusedGemm 1; ; f32[1,1] 1; f32[1,2] 1 2; f32[2] 1 2; f32[2] 1 2 -> error MODEL Z has rank 1, expected 2",
    "tinyort.FusedGemm 1; ; f32[1,1] 1; f32[1,2] 1 2; f32[3] 1 2 3 -> error MODEL C has size 3 along axis 0",
    "tinyort.FusedMatMul 1; ; f32[1,1] 1; f32[1,2] 1 2; f32[1] 1 -> error MODEL bias has 1 elements, expected 2",
    "tinyort.FusedMatMul 1; ; f32[1] 1; f32[1] 1; f32[2] 1 2 -> error MODEL bias has 2 elements, expected 1",
    "tinyort.FusedMatMul 1; ; f32[1,1] 1; f32[1,2] 1 2; f32[1,2] 1 2 -> error MODEL bias has rank 2, expected 1",
    "tinyort.FusedMatMul 1; ; f32[2] 1 2; f32[2] 1 2; -; f32[1] 1 -> error MODEL Z has rank 1, expected 0",
    "tinyort.FusedAttention 1; ; f32[1] 1; f32[1] 1; f32[1] 1 -> error MODEL has rank 1; expected one rank for all, 2 "
    "to 4",
    "tinyort.FusedAttention 1; ; f32[1,1] 1; f32[1,1,1] 1; f32[1,1] 1 -> error MODEL input 1 has rank 3; expected one "
    "rank for all, 2 to 4",
    "tinyort.FusedAttention 1; ; f32[1,2] 1 2; f32[1,1] 1; f32[1,1] 1 -> error MODEL axis 1",
    "tinyort.FusedAttention 1; ; f32[1,1] 1; f32[1,2] 1 2; f32[1,1] 1 -> error MODEL axis 0",
    "tinyort.FusedAttention 1; ; f32[2,1,1] 1 2; f32[1,1,1] 1; f32[2,1,1] 1 2 -> error MODEL axis 0",
    "tinyort.FusedAttention 1; q_perm=0,0; f32[1,1] 1; f32[1,1] 1; f32[1,1] 1 -> error MODEL q_perm is not an order of 2 axes",
    "tinyort.FusedAttention 1; k_perm=0; f32[1,1] 1; f32[1,1] 1; f32[1,1] 1 -> error MODEL k_perm is not an order of 2 axes",
    "tinyort.FusedAttention 1; y_perm=0,2; f32[1,1] 1; f32[1,1] 1; f32[1,1] 1 -> error MODEL y_perm is not an order of 2 axes",
    "tinyort.FusedAttention 1; ; f32[1,1] 1; f32[1,1] 1; f32[1,1] 1; f32[2,1] 1 2 -> error MODEL input 3 does not "
    "spread over scores of shape [1,1,1,1]",
    "tinyort.FusedAttention 1; ; f32[1,1] 1; f32[1,1] 1; f32[1,1] 1; -; bool[1,1,1] 1 -> error MODEL input 4 does not "
    "spread over scores of shape [1,1,1,1]",

    /* Where one number is expected there may be none, or more. */
    "Trilu 14; ; f32[1,1] 1; i64[0] -> error MODEL k has 0 elements along dimension 0, expected a single element",
    "com.microsoft.Trilu 1; ; f32[1,1] 1; i64[2] 0 1 -> error MODEL k has 2 elements",
    "com.microsoft.ExpandDims 1; ; f32[1,1] 1; i32[0] -> error MODEL axis has 0 elements",
    "com.microsoft.MatMulIntegerToFloat 1; ; u8[1,1] 1; u8[1,1] 1; f32[] 1; f32[] 1; -; -; f32[1,1] 1 -> error MODEL bias "
    "has rank 2, expected a list of the columns of B",

    /* Regions and windows. */
    "MaxPool 22; kernel_shape=4; f32[1,1,2] 1 2 -> error MODEL the window spans 4 elements along spatial axis 0",
    "com.microsoft.CropAndResize 1; mode=area; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 0; i32[2] 1 1 -> error "
    "MODEL mode \"area\" is not known; expected bilinear or nearest",
    "com.microsoft.CropAndResize 1; ; f32[1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 0; i32[2] 1 1 -> error MODEL X has "
    "rank 3",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[4] 0 0 1 1; i32[1] 0; i32[2] 1 1 -> error MODEL rois has "
    "rank 1",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,5] 0 0 1 1 1; i32[1] 0; i32[2] 1 1 -> error MODEL rois "
    "has 5 columns; expected 4",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[2] 0 0; i32[2] 1 1 -> error MODEL "
    "batch_indices must have shape [1]",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 0; i32[3] 1 1 1 -> error MODEL "
    "crop_size has 3 entries, expected 2",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 0; i32[1,2] 1 1 -> error MODEL "
    "crop_size has rank 2",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 0; i32[2] 1 0 -> error RUN "
    "crop_size has 0 at place 1, expected 1 or more",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[1,4] 0 0 1 1; i32[1] 1; i32[2] 1 1 -> error VALUE region "
    "0 is of batch 1, which is not in [0, 1)",
    "com.microsoft.CropAndResize 1; ; f32[1,1,2,2] 1 2 3 4; f32[2,4] 0 0 1 1 0 0 1 1; i32[2] 0 -1; i32[2] 1 1 -> error "
    "VALUE region 1 is of batch -1",
    "RoiAlign 16; ; f32[1,1,1,1] 1; f32[1,4] 0 0 1 1; i64[1] 2 -> error VALUE region 0 is of batch 2, which is not in [0, 1)",
    "com.microsoft.ConvTransposeWithDynamicPads 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; i64[3] 0 0 0 -> error MODEL Pads has 3 "
    "entries, expected 2",
    "com.microsoft.ConvTransposeWithDynamicPads 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; i64[1,2] 0 0 -> error MODEL Pads has rank 2",
    "com.microsoft.ConvTransposeWithDynamicPads 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; i64[2] 0 2147483648 -> error RUN Pads[1] is "
    "2147483648, expected -2147483647 to 2147483647",
    "com.microsoft.ConvTransposeWithDynamicPads 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; i64[2] 1 2 -> error RUN pads are too large",
    "com.microsoft.ConvTransposeWithDynamicPads 1; ; f32[1,1,2] 1 2; f32[1,1,1] 1; i64[2] 0 0; f32[2] 1 2 -> error MODEL B has "
    "2 elements, expected 1",
    NULL,
};
