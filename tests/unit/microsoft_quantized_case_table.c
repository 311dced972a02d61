/* microsoft_quantized_case_table.c - cases of the quantized operators of com.microsoft; the language is that of
 * operator_case.h. What onnxruntime's CPU provider has came out of it, on numbers that can be followed by hand; the
 * means and sums of integers, and experts with three products, were worked out. */
#include <stddef.h>

extern const char *const microsoft_quantized_cases[];

// clang-format off: a line a case where it fits
const char *const microsoft_quantized_cases[] = {
    "com.microsoft.QuantizeLinear 1; ; f32[2,3] 0 1 -1 2.5 300 7; f32[] 0.5; u16[] 3 -> u16[2,3] 3 5 1 8 603 17",
    "com.microsoft.QuantizeLinear 1; axis=1; f32[2,3] 0 1 -1 2.5 300 7; f32[3] 0.5 1 2; i8[3] 0 1 2 -> i8[2,3] 0 2 2 "
    "5 127 6",
    "com.microsoft.DequantizeLinear 1; ; i16[2,3] 1 -2 3 4 5 -6; f32[] 0.5; i16[] 3 -> f32[2,3] -1 -2.5 0 0.5 1 -4.5",
    "com.microsoft.QLinearAdd 1; ; u8[2,2] 10 20 30 40; f32[] 0.5; u8[] 3; u8[2] 5 7; f32[] 0.25; u8[] 1; f32[] 0.5; "
    "u8[] 2 -> u8[2,2] 11 22 31 42",
    "com.microsoft.QLinearMul 1; ; i8[2,2] 10 -20 30 40; f32[] 0.5; i8[] 3; i8[1] 5; f32[] 0.25; i8[] 1; f32[] 0.5; "
    "i8[] -2 -> i8[2,2] 5 -25 25 35",
    "com.microsoft.MulInteger 1; ; u8[3] 200 3 4; u8[] 1; u8[3] 2 250 7; u8[] 5 -> i32[3] -597 490 6",
    "com.microsoft.QLinearWhere 1; ; bool[3] 1 0 1; u8[3] 10 20 30; f32[] 0.5; u8[] 0; u8[3] 1 2 3; f32[] 0.25; u8[] "
    "1; f32[] 0.25; u8[] 2 -> u8[3] 22 3 62",
    "com.microsoft.QLinearSigmoid 1; ; u8[4] 0 100 128 255; f32[] 0.05; u8[] 128; f32[] 0.00390625; u8[] 0 -> u8[4] "
    "0 51 128 255",
    "com.microsoft.QLinearLeakyRelu 1; alpha=0.2; i8[4] -100 -10 0 50; f32[] 0.1; i8[] 0; f32[] 0.1; i8[] 1 -> i8[4] "
    "-19 -1 1 51",
    "com.microsoft.QLinearConcat 1; axis=1; f32[] 0.5; u8[] 1; u8[1,2] 1 2; f32[] 0.5; u8[] 1; u8[1,2] 9 40; f32[] "
    "0.25; u8[] 3 -> u8[1,4] 1 2 4 19",
    "com.microsoft.QLinearSoftmax 1; opset=13; u8[1,4] 10 12 15 20; f32[] 0.2; u8[] 3; f32[] 0.00390625; u8[] 0 -> "
    "u8[1,4] 20 30 55 150",
    "com.microsoft.QLinearSoftmax 1; axis=0 opset=11; i8[2,3] 1 2 3 4 5 6; f32[] 0.5; i8[] 0; f32[] 0.01; i8[] -128 "
    "-> i8[2,3] -125 -122 -119 -113 -103 -87",
    "com.microsoft.QLinearAveragePool 1; kernel_shape=2,2 strides=1,2; u8[1,1,3,4] 1 2 3 4 5 6 7 8 9 10 11 12; f32[] "
    "0.5; u8[] 1; f32[] 0.25; u8[] 2 -> u8[1,1,2,2] 7 11 15 19",
    "com.microsoft.QLinearAveragePool 1; channels_last=1 kernel_shape=2,1 pads=1,0,0,0; u8[1,3,2,2] 1 2 3 4 5 6 7 8 "
    "9 10 11 12; f32[] 0.5; u8[] 1; f32[] 0.5; u8[] 2 -> u8[1,3,2,2] 2 3 4 5 4 5 6 7 8 9 10 11",
    "com.microsoft.QLinearGlobalAveragePool 1; ; u8[1,2,2,2] 1 2 3 4 11 12 13 18; f32[] 0.5; u8[] 1; f32[] 0.25; "
    "u8[] 2 -> u8[1,2,1,1] 5 27",
    "com.microsoft.QLinearGlobalAveragePool 1; channels_last=1; u8[1,2,2,2] 1 2 3 4 11 12 13 18; f32[] 0.5; u8[] 1; "
    "f32[] 0.25; u8[] 2 -> u8[1,1,1,2] 14 18",
    "tinyort.QLinearConvAdd 1; ; u8[1,1,1,2] 3 5; f32[] 0.5; u8[] 1; i8[1,1,1,1] 2; f32[] 0.5; i8[] 0; f32[] 0.8; "
    "u8[] 10; -; u8[1,1,1,2] 20 30; f32[] 1; u8[] 10; f32[] 0.4; u8[] 1 -> u8[1,1,1,2] 28 55",
    "tinyort.QLinearConvTranspose 1; strides=1,2; u8[1,1,1,2] 3 5; f32[] 0.5; u8[] 1; i8[1,1,1,2] 2 -1; f32[1] 0.5; "
    "i8[1] 0; f32[] 0.5; u8[] 10; i32[1] 4 -> u8[1,1,1,4] 14 11 16 10",
    "tinyort.QLinearMatMul 1; ; u8[1,2] 3 5; f32[] 0.5; u8[] 1; i8[2,2] 1 2 3 -1; f32[2] 0.5 1; i8[2] 0 0; f32[] 1; "
    "u8[] 7; i32[2] 2 4 -> u8[1,2] 11 9",
    "tinyort.QLinearResize 1; mode=linear; u8[1,1,1,2] 10 20; f32[] 1; u8[] 0; f32[] 0.5; u8[] 5; -; f32[4] 1 1 1 2 -> "
    "u8[1,1,1,4] 25 30 40 45",
    "tinyort.QLinearLayerNormalization 1; ; i8[1,2] 1 3; f32[] 1; i8[] 0; f32[] 0.5; i8[] 0; f32[2] 2 4; f32[2] 1 0 -> "
    "i8[1,2] -2 8",
    "tinyort.QLinearInstanceNormalization 1; ; i8[1,2,2] 1 3 5 5; f32[] 1; i8[] 0; f32[] 0.5; i8[] 0; f32[2] 2 1; "
    "f32[2] 1 2 -> i8[1,2,2] -2 6 4 4",
    "com.microsoft.QLinearReduceMean 1; axes=1 keepdims=1; u8[2,3] 1 3 5 10 20 33; f32[] 0.5; u8[] 1; f32[] 0.25; "
    "u8[] 2 -> u8[2,1] 6 42",
    "com.microsoft.ReduceSumInteger 1; axes=0 keepdims=0; i8[2,2] -100 -100 50 7 -> i32[2] -50 -93",
    "com.microsoft.ReduceSumInteger 1; axes=0,1 keepdims=1; u8[2,2] 200 100 250 7 -> u32[1,1] 557",
    "com.microsoft.QLinearConv 1; channels_last=1; u8[1,3,3,2] 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; f32[] "
    "0.5; u8[] 1; u8[1,2,2,2] 1 2 1 0 3 1 2 2; f32[] 0.25; u8[] 0; f32[] 2; u8[] 2 -> u8[1,2,2,1] 6 7 10 12",
    "com.microsoft.QGemm 1; ; u8[2,3] 11 7 3 10 6 2; f32[] 0.5; u8[] 5; i8[3,2] 1 4 2 -5 3 6; f32[2] 0.25 0.5; i8[2] "
    "1 0; i32[2] 10 -4; f32[] 0.5; u8[] 3 -> u8[2,2] 5 2 4 0",
    "com.microsoft.QGemm 1; alpha=2.0 transA=1 transB=1; u8[3,2] 11 7 3 10 6 2; f32[] 0.5; u8[] 5; u8[2,3] 1 4 2 5 3 "
    "6; f32[] 0.25; u8[] 1 -> f32[2,2] -1.25 6.25 3 0.75",
    "com.microsoft.MatMulIntegerToFloat 1; ; u8[2,3] 11 7 3 10 6 2; i8[3,2] 1 4 2 -5 3 6; f32[] 0.5; f32[2] 0.25 "
    "0.5; u8[] 5; i8[2] 1 0; f32[2] 1 2 -> f32[2,2] 0.75 2.5 0.375 1.25",
    "com.microsoft.DynamicQuantizeMatMul 1; ; f32[2,2] 1 -2 0.5 3; u8[2,2] 1 4 2 5; f32[] 0.25; u8[] 2; f32[2] 1 2 "
    "-> f32[2,2] 0.75 1 0.872549 4.504902",
    "com.microsoft.MatMulInteger16 1; ; i16[2,2] 1000 -2000 3 4; i16[2,1] 30000 7 -> i32[2,1] 29986000 90028",
    "com.microsoft.MatMulNBits 1; N=2 K=16 bits=4 block_size=16; f32[2,16] -0.8 -1.3 -0.2 0.4 1.1 0.1 -0.6 -0.8 0.7 "
    "1.6 0.3 -1.2 -1 1.6 0.2 -1.7 -0.1 -1.2 -0.6 -0.5 -0.7 0.6 -0.1 -0.6 0.4 0.8 -1.6 -0.3 -1 -0.2 -1.3 0; u8[2,1,8] "
    "0 13 26 39 52 65 78 91 104 117 130 143 156 169 182 195; f32[2,1] 0.5 0.25; u8[2,1] 7 5 -> f32[2,2] 1.55 -2.875 "
    "0.3999999 -0.7249999",
    "com.microsoft.MatMulNBits 1; N=1 K=20 block_size=16 accuracy_level=4; f32[1,20] -0 -0.3 -1 -0.4 -1.1 -1.4 0.2 "
    "-1.1 1.2 0.7 -2 0.3 -1.1 0 0 -2 -0.2 -0.3 1 -1.2; u8[1,2,8] 0 11 22 33 44 55 66 77 88 99 110 121 132 143 154 "
    "165; f32[2] 0.5 0.25; -; -; f32[1] 1.5 -> f32[1,1] 18.80709",
    "com.microsoft.MatMulNBits 1; N=1 K=16 bits=2 block_size=16; f32[1,16] 0.7 -1.1 -0.3 -0.8 1.4 0.6 2.4 0.6 0.8 "
    "0.8 -0.6 -0.1 1.4 -0.4 0.2 -0; u8[1,1,4] 0 77 154 231; f32[1,1] 0.5 -> f32[1,1] -0.3999999",
    "com.microsoft.MatMulNBits 1; N=1 K=16 bits=8 block_size=16; f32[1,16] 0.6 -0.4 -0.2 0.2 0.1 -0.9 0.9 -1.3 -1.2 "
    "-1.3 1 -0.4 -1 -1.1 0.4 -1.1; u8[1,1,16] 0 15 30 45 60 75 90 105 120 135 150 165 180 195 210 225; f32[1,1] 0.5 "
    "-> f32[1,1] -91.95",
    "com.microsoft.GatherBlockQuantized 1; block_size=16 bits=4 quantize_axis=1; u8[3,8] 0 9 18 27 36 45 54 63 72 81 "
    "90 99 108 117 126 135 144 153 162 171 180 189 198 207; i64[2] 2 -3; f32[3,1] 0.5 0.25 1; u8[3,1] 1 2 3 -> "
    "f32[2,16] -3 6 6 6 -1 7 8 7 1 8 10 8 3 9 12 9 -0.5 -0.5 4 -0.5 0.5 0 5 0 1.5 0.5 6 0.5 2.5 1 7 1",
    "com.microsoft.DynamicQuantizeLSTM 1; hidden_size=1; f32[2,1,2] -1.3 0.6 -1.2 -0.3; i8[1,2,4] -63 -90 52 -15 -27 "
    "23 11 78; i8[1,1,4] 20 76 14 -32; -; -; -; -; -; f32[1] 0.01; i8[1] 0; f32[1] 0.02; i8[1] 0 -> f32[2,1,1,1] "
    "0.2872615 -0.02401892; f32[1,1,1] -0.02401892; f32[1,1,1] -0.02967453",
    "com.microsoft.QAttention 1; num_heads=1; u8[1,2,4] 82 253 150 48 212 210 2 40; u8[4,6] 177 103 87 18 48 219 213 "
    "212 146 35 82 134 254 66 140 125 128 141 180 27 251 221 196 71; f32[6] 0 0.1 0.2 0 0.5 0.25; f32[] 0.01; f32[] "
    "0.01; -; u8[] 128; u8[] 120 -> f32[1,2,2] -0.3460045 0.5200039 -0.4729678 0.6474207",
    "com.microsoft.QEmbedLayerNormalization 1; ; i32[1,2] 1 0; -; u8[2,2] 1 9 20 4; u8[2,2] 3 4 8 1; -; u8[2] 20 30; "
    "u8[2] 1 2; i32[1,2] 1 0; f32[] 0.1; f32[] 0.2; -; f32[] 0.1; f32[] 0.1; u8[] 2; u8[] 1; -; u8[] 3; u8[] 0 -> "
    "f32[1,2,2] 1.8 -2.5 1.8 -2.5; i32[1] 1",
    "com.microsoft.MoE 1; k=1 activation_type=silu; f32[2,2] 1 -2 0.5 3; f32[2,2] 1 2 3 0; f32[2,3,2] -0.9 0.9 0 "
    "-0.6 -0.6 -1 0 1.1 -0.3 0.4 1.9 -1.2; -; f32[2,2,3] 0.3 -0.3 -1.1 -1 -0 0.4 -0.5 0.1 0.7 0.3 0.9 0.5; f32[2,2] "
    "0.5 1 2 3 -> f32[2,2] 3.693279 3.515033 1.253932 -1.031083",
    "com.microsoft.MoE 1; activation_type=silu; f32[1,1] 1.5; f32[1,1] 1; f32[1,1,1] 2; -; f32[1,1,1] 0.5; -; "
    "f32[1,1,1] 3 -> f32[1,1] 6.429875",
    "com.microsoft.MoE 1; activation_type=swiglu swiglu_fusion=2; f32[1,1] 1.5; f32[1,1] 1; f32[1,2,1] 2 3; -; "
    "f32[1,1,1] 0.5 -> f32[1,1] 6.429875",
    "com.microsoft.QMoE 1; expert_weight_bits=8; f32[1,1] 1.5; f32[1,2] 1 2; u8[2,1,1] 0 132; f32[2,1] 1 0.5; -; "
    "u8[2,1,1] 0 129; f32[2,1] 1 2 -> f32[1,1] 6",
    NULL,
};
