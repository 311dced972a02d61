/* case_table_operators.c - more cases of kernels.c: of operators around networks, as the selection of boxes. Read
 * first: case_table.c. */
#include <stddef.h>

extern const char *const operator_kernel_cases[];

const char *const operator_kernel_cases[] = {
    /* ---- NonMaxSuppression: ties, tiles and chunks of sorted keys, limits of all kinds ---- */
    "NonMaxSuppression 11; ; f32[2,A,4]~0,9 f32[2,3,A] i64[1]=40 f32[1]=0.3 f32[1]=0.5",
    "NonMaxSuppression 11; center_point_box=1; f32[1,A,4]~1,3 f32[1,2,A] i64[1]=9999999999 f32[1]=0.8",
    "NonMaxSuppression 10; ; f32[a,b,4] f32[a,c,b] i64[]=7 f32[]=0.4 f32[]=-1",
    "NonMaxSuppression 11; center_point_box=1; f32[1,b,4] f32[1,c,b] i64[1]=20",
    "NonMaxSuppression 11; ; f32[1,2500,4]~0,99 f32[1,1,2500] i64[1]=600 f32[1]=0.9",
    "NonMaxSuppression 11; ; f32[1,5000,4]~0,1 f32[1,1,5000]~0,9 i64[1]=5000 f32[1]=0.45 f32[1]=1",
    "NonMaxSuppression 11; ; f32[1,300,4]~0,9 f32[1,1,300]=1,0,-0,1,nan,2,-inf: i64[1]=150 f32[1]=0.5",
    "NonMaxSuppression 11; ; f32[1,3,4]=0,0,1,1,0,0,1,1,nan,0,1,1 f32[1,1,3]=inf,inf,1 i64[1]=3 f32[1]=0.5 "
    "f32[1]=-inf",
    "NonMaxSuppression 11; ; f32[1,b,4] f32[1,c,b] i64[1]=-1",
    "NonMaxSuppression 11; ; f32[2,b,4] f32[2,c,b] i64[1]=5 f32[0] f32[1]=100",
    "NonMaxSuppression 11; ; f32[1,b,4] f32[1,c,b]",
    /* ---- rows of com.microsoft beside ONNX's ---- */
    "com.microsoft.Range 1; ; i32[]=3 i32[]=40 i32[]=3",
    "com.microsoft.Range 1; ; f32[]=0.5 f32[]=9",
    "com.microsoft.Range 1; ; i16[]=5 i16[]=300",
    "com.microsoft.Trilu 1; upper=0; T[a,b,c] i64[]=-1",
    "com.microsoft.Trilu 1; ; i64[a,b]",
    "com.microsoft.BiasSoftmax 1; axis=2 is_inner_broadcast=0; T[2,a,b,3] T[1,1,b,3]",
    "com.microsoft.BiasSoftmax 1; axis=2 is_inner_broadcast=1; T[2,a,B] T[2,1,B]",
    "com.microsoft.BiasSoftmax 1; axis=-1 is_inner_broadcast=0; f64[2,a,b] f64[a,b]",
    "com.microsoft.BiasSoftmax 1; axis=1 is_inner_broadcast=0; f16[9,7]~9,99 f16[1,7]=-65504,-65504:",
    "com.microsoft.GroupNorm 1; activation=0 groups=3; T[2,a,b,12] f32[12] f32[12]",
    "com.microsoft.GroupNorm 1; activation=1 groups=2 channels_last=0; T[c,8,a,b] T[8] T[8]",
    "com.microsoft.GroupNorm 1; activation=1 groups=32 epsilon=0.001; f32[1,64,9,320] f16[320] f16[320]",
    "com.microsoft.SkipGroupNorm 1; activation=1 groups=4; T[2,a,b,8] T[8] T[8] T[2,a,b,8] T[8]; 2",
    "com.microsoft.SkipGroupNorm 1; activation=0 groups=1; T[2,a,b,5] f32[5] f32[5] T[2,5]; 2",
    "com.microsoft.SkipGroupNorm 1; activation=0 groups=2 channels_last=0; T[2,6,a,b] f32[6] f32[6] T[2,6,1,1] T[6]",
    /* ---- Mean ---- */
    "Mean 13; ; f32[a,b] f32[b] f32[a,1]",
    "Mean 8; ; f64[a,b] f64[b]",
    "Mean 6; ; f32[a,b]",
    /* ---- DFT and STFT: powers of two, in shared memory and beyond; other lengths; padded, cut, mirrored lanes ---- */
    "DFT 17; axis=1; T[a,64,2]~-1,1",
    "DFT 17; axis=1 inverse=1; R[a,16,b,2]~-1,1",
    "DFT 17; axis=0 onesided=1; f32[a,b,1]~-1,1",
    "DFT 20; inverse=1 onesided=1; f32[c,b+2,2]~-1,1",
    "DFT 20; inverse=1 onesided=1; f64[c,b+2,2] i64[]=32",
    "DFT 20; ; f32[a,40,2]~-1,1 i64[]=16",
    "DFT 20; ; f64[a,b,1] i64[]=50 i64[]=-2",
    "DFT 20; ; f64[2,2048,1]",
    "DFT 20; ; f32[1,4096,1]~-0.01,0.01",
    "DFT 17; axis=1; f16[a,1,2]",
    "STFT 17; ; T[2,900,1]~-1,1 i64[]=100 T[400]~0,1 i64[]=400",
    "STFT 17; onesided=0; f32[2,C+256,1]~-1,1 i64[]=64 f32[256]~0,1",
    "STFT 17; onesided=0; f64[2,300,2] i32[]=7 - i32[]=128",
    "STFT 17; ; bf16[c,70]~-1,1 i32[]=9 - i32[]=33",
    /* ---- Einsum of other than two operands, and of sums of one ---- */
    "Einsum 28; equation=ij->ji; R[a,b]",
    "Einsum 12; equation=ij->; T[a,b]",
    "Einsum 28; equation=bii->b; R[c,b,b]",
    "Einsum 12; equation=...ij->...; T[2,c,a,b]",
    "Einsum 12; equation=ij,jk,kl->il; T[a,3]~-1,1 T[3,b]~-1,1 T[b,c]~-1,1",
    "Einsum 12; equation=bi,bj,bk,b->kij; f32[a,b]~-1,1 f32[a,c]~-1,1 f32[a,5]~-1,1 f32[a]~-1,1",
    "Einsum 28; equation=ij,jk->i; R[a,c]~-1,1 R[c,b]~-1,1",
    /* ---- FlexAttention ---- */
    "ai.onnx.preview.FlexAttention 1; scale=0.3; T[2,4,a,16] T[2,2,b,16] T[2,2,b,32]",
    "ai.onnx.preview.FlexAttention 1; ; T[1,2,a,300] T[1,2,b,300] T[1,2,b,7]",
    "AttentionScores 1; ; f32[2,4,a,b] f32[2,2,c,b]",
    "AttentionScores 1; softmax_precision=10 scale=0.5; f16[2,6,A,b] f16[2,2,c,b]",
    "AttentionOutput 1; ; T[2,4,a,c] T[2,4,c,b]",
    "AttentionOutput 1; ; T[3,4,a,B] T[3,1,B,b]",
    NULL,
};
