/* bench_table.c - what bench.c times, in the language of tests/cuda/kernel_case.h, with sizes of real networks instead
 * of letters. Tensors of the first part are larger than the caches of a GPU; products have the shapes of BERT-base
 * (4096 rows: 32 texts of 128 tokens), ViT-B/16, a language model's single row, ResNet-50 and MobileNetV2 with 32
 * pictures. */
#include <stddef.h>

extern const char *const bench_lines[];

const char *const bench_lines[] = {
    /* ---- bound by memory ---- */
    "Relu 14; ; T[32,1024,1024]",
    "Gelu 20; ; T[8192,3072]",
    "Tanh 13; ; T[8192,3072]",
    "Clip 13; ; T[32,96,112,112] T[]=0 T[]=6",
    "Cast 13; to=10; f32[32,1024,1024]",
    "Cast 13; to=1; f16[32,1024,1024]",
    "Add 14; ; T[64,512,768] T[64,512,768]",
    "Add 14; ; T[64,512,768] T[768]",
    "Add 14; ; T[32,12,256,256] T[32,1,1,256]",
    "Mul 14; ; T[32,256,56,56] T[32,256,1,1]",
    "Where 16; ; bool[32,12,256,256] T[32,12,256,256] T[32,12,256,256]",
    "Where 16; ; bool[32,1,256,256] T[32,12,256,256] T[]=-10000",
    "Softmax 13; axis=-1; T[32,12,256,256]",
    "Softmax 13; axis=-1; T[512,50257]",
    "LayerNormalization 17; axis=-1; T[64,512,768] T[768] T[768]",
    "BatchNormalization 15; ; T[32,256,56,56] T[256] T[256] T[256] T[256]~0.5,2",
    "ReduceMean 18; ; T[64,512,768] i64[1]=-1",
    "ReduceMean 18; keepdims=0; T[32,256,56,56] i64[2]=2,3",
    "ReduceSum 13; keepdims=0; T[8192,4096] i64[1]=0",
    "GlobalAveragePool 1; ; T[256,2048,7,7]",
    "MaxPool 12; kernel_shape=3,3 strides=2,2 pads=1,1,1,1; T[32,64,112,112]",
    "Transpose 21; perm=0,2,1,3; T[64,512,12,64]",
    "Transpose 21; perm=0,3,1,2; T[32,56,56,256]",
    "Transpose 21; perm=1,0; T[8192,4096]",
    "Concat 13; axis=1; T[64,256,28,28] T[64,256,28,28]",
    "Gather 13; axis=0; T[30522,768] i64[256,128]~0,1500",
    "RMSNormalization 23; axis=-1; T[64,512,768] T[768]",
    "com.microsoft.SkipLayerNormalization 1; ; T[64,512,768] T[64,512,768] T[768] T[768] T[768]",
    "com.microsoft.SkipSimplifiedLayerNormalization 1; ; T[64,512,768] T[64,512,768] T[768]",
    "Resize 19; mode=linear; T[32,64,56,56] - f32[4]=1,1,2,2",
    "Resize 19; mode=nearest coordinate_transformation_mode=asymmetric; T[32,64,56,56] - f32[4]=1,1,2,2",

    /* ---- attention: BERT-base, a long causal prompt, grouped heads, one token over 4,096 keys; weights of 4 bits: a
     * token, eight, a prompt ---- */
    "Attention 23; ; T[32,12,128,64] T[32,12,128,64] T[32,12,128,64]",
    "Attention 23; ; T[1,12,128,64] T[1,12,128,64] T[1,12,128,64]",
    "Attention 23; is_causal=1; T[1,32,2048,128] T[1,32,2048,128] T[1,32,2048,128]",
    "Attention 23; is_causal=1; T[1,40,2048,128] T[1,10,2048,128] T[1,10,2048,128]",
    "Attention 23; ; T[1,40,1,128] T[1,10,4096,128] T[1,10,4096,128]",
    "com.microsoft.MatMulNBits 1; N={4096} K={4096} block_size=32; T[1,4096]~-1,1 u8[4096,128,16]~0,255 "
    "T[4096,128]~0.01,0.05",
    "com.microsoft.MatMulNBits 1; N={4096} K={4096} block_size=32; T[8,4096]~-1,1 u8[4096,128,16]~0,255 "
    "T[4096,128]~0.01,0.05",
    "com.microsoft.MatMulNBits 1; N={4096} K={4096} block_size=32; T[128,4096]~-1,1 u8[4096,128,16]~0,255 "
    "T[4096,128]~0.01,0.05",

    "RMSNormalization 23; axis=-1; bf16[64,512,768] bf16[768]",
    "Attention 23; is_causal=1; bf16[1,40,2048,128] bf16[1,10,2048,128] bf16[1,10,2048,128]",

    /* ---- products: BERT-base, ViT-B/16, one row, a square, classifiers ---- */
    "MatMul 13; ; T[4096,768]~-1,1 T[768,768]~-1,1",
    "MatMul 13; ; T[4096,768]~-1,1 T[768,3072]~-1,1",
    "MatMul 13; ; T[4096,3072]~-1,1 T[3072,768]~-1,1",
    "MatMul 13; ; T[6304,768]~-1,1 T[768,2304]~-1,1",
    "MatMul 13; ; T[32,12,128,64]~-1,1 T[32,12,64,128]~-1,1",
    "MatMul 13; ; T[32,12,128,128]~0,1 T[32,12,128,64]~-1,1",
    "MatMul 13; ; T[1,4096]~-1,1 T[4096,4096]~-1,1",
    "MatMul 13; ; T[4096,4096]~-1,1 T[4096,4096]~-1,1",
    "Gemm 13; transB=1; T[4096,768]~-1,1 T[3072,768]~-1,1",
    "Gemm 13; transB=1; T[32,2048]~-1,1 T[1000,2048]~-1,1 T[1000]",
    "FusedMatMul 1; ; T[4096,768]~-1,1 T[768,768]~-1,1 T[768]",
    "FusedMatMul 1; activation=gelu; T[4096,768]~-1,1 T[768,3072]~-1,1 T[3072]",
    "FusedMatMul 1; ; T[4096,3072]~-1,1 T[3072,768]~-1,1 T[768] T[4096,768]",
    "FusedMatMul 1; activation=gelu; T[128,768]~-1,1 T[768,3072]~-1,1 T[3072]",
    "MatMul 13; ; bf16[4096,768]~-1,1 bf16[768,3072]~-1,1",
    "FusedMatMul 1; activation=gelu; bf16[4096,768]~-1,1 bf16[768,3072]~-1,1 bf16[3072]",

    /* ---- convolutions: ResNet-50, one picture, a depthwise layer, the patches of ViT ---- */
    "Conv 11; strides=2,2 pads=3,3,3,3; T[32,3,224,224]~-1,1 T[64,3,7,7]~-1,1",
    "Conv 11; ; T[32,64,56,56]~-1,1 T[256,64,1,1]~-1,1",
    "Conv 11; pads=1,1,1,1; T[32,64,56,56]~-1,1 T[64,64,3,3]~-1,1",
    "Conv 11; strides=2,2 pads=1,1,1,1; T[32,128,56,56]~-1,1 T[128,128,3,3]~-1,1",
    "Conv 11; pads=1,1,1,1; T[32,128,28,28]~-1,1 T[128,128,3,3]~-1,1 T[128]",
    "Conv 11; ; T[32,1024,14,14]~-1,1 T[256,1024,1,1]~-1,1",
    "Conv 11; pads=1,1,1,1; T[32,256,14,14]~-1,1 T[256,256,3,3]~-1,1",
    "Conv 11; strides=2,2; T[32,1024,14,14]~-1,1 T[2048,1024,1,1]~-1,1",
    "Conv 11; pads=1,1,1,1; T[32,512,7,7]~-1,1 T[512,512,3,3]~-1,1",
    "Conv 11; pads=1,1,1,1; T[1,256,14,14]~-1,1 T[256,256,3,3]~-1,1",
    "Conv 11; group={384} pads=1,1,1,1; T[32,384,14,14]~-1,1 T[384,1,3,3]~-1,1",
    "Conv 11; strides=16,16; T[32,3,224,224]~-1,1 T[768,3,16,16]~-1,1 T[768]",
    "FusedConv 1; activation=relu pads=1,1,1,1; T[32,128,28,28]~-1,1 T[128,128,3,3]~-1,1 T[128]",
    "FusedConv 1; activation=relu; T[32,256,14,14]~-1,1 T[1024,256,1,1]~-1,1 T[1024] T[32,1024,14,14]",
    "FusedConv 1; activation=clip activation_beta=6; T[32,160,7,7]~-1,1 T[960,160,1,1]~-1,1 T[960]",
    "FusedConv 1; activation=clip activation_beta=6 group={384} pads=1,1,1,1; T[32,384,14,14]~-1,1 T[384,1,3,3]~-1,1 "
    "T[384]",

    /* ---- bytes: BERT-base, ResNet-50, a depthwise layer, what lies between products ---- */
    "QuantizeLinear 13; ; f32[32,1024,1024] f32[]=0.02 u8[]=128",
    "DequantizeLinear 13; ; u8[32,1024,1024] f32[]=0.02 u8[]=128",
    "com.microsoft.QLinearAdd 1; ; u8[32,256,56,56] f32[]=0.02 u8[]=128 u8[32,256,56,56] f32[]=0.03 u8[]=120 f32[]=0.04 u8[]=128",
    "MatMulInteger 10; ; i8[4096,768]~-128,127 i8[768,3072]~-128,127 i8[]=3 i8[]=0",
    "QLinearConv 10; pads=1,1,1,1; u8[32,128,28,28]~0,255 f32[]=0.02 u8[]=0 i8[128,128,3,3]~-128,127 f32[128]~0.01,0.02 i8[]=0 "
    "f32[]=1 u8[]=0 i32[128]",
    "QLinearConv 10; ; u8[32,1024,14,14]~0,255 f32[]=0.02 u8[]=0 i8[256,1024,1,1]~-128,127 f32[256]~0.01,0.02 i8[]=0 f32[]=1 "
    "u8[]=0 i32[256]",
    "QLinearConv 10; group={384} pads=1,1,1,1; u8[32,384,14,14]~0,255 f32[]=0.02 u8[]=0 i8[384,1,3,3]~-128,127 "
    "f32[384]~0.01,0.02 i8[]=0 f32[]=1 u8[]=0 i32[384]",
    NULL,
};
