/* preview_case_table.c - cases of operator_cases.c for ai.onnx.preview, and what a FlexAttention with
 * graphs is made of. The language is that of operator_case.h. */
#include <stddef.h>

extern const char *const preview_cases[];

// clang-format off: a line a case where it fits
const char *const preview_cases[] = {
    /* Equal scores; the second head of queries reads the one head of keys too. */
    "ai.onnx.preview.FlexAttention 1; ; f32[1,2,1,1] 0 0; f32[1,1,2,1] 1 2; f32[1,1,2,2] 1 2 3 4 -> f32[1,2,1,2] 2 3 2 3",
    "ai.onnx.preview.FlexAttention 1; scale=0; f64[1,1,1,2] 5 6; f64[1,1,2,2] 1 2 3 4; f64[1,1,2,1] -1 2 -> f64[1,1,1,1] 0.5",
    "tinyort.AttentionScores 1; ; f32[1,2,1,4] 1 0 0 2 0 1 0 0; f32[1,1,2,4] 2 0 0 0 0 4 0 1 -> f32[1,2,1,2] 1 1 0 2",
    "tinyort.AttentionScores 1; scale=2 softmax_precision=11; f16[1,1,1,1] 3; f16[1,1,2,1] 1 -1 -> f64[1,1,1,2] 6 -6",
    "tinyort.AttentionOutput 1; ; f32[1,2,1,2] 0.5 0.5 0.25 0.75; f32[1,1,2,1] 2 4 -> f32[1,2,1,1] 3 3.5",
    "tinyort.AttentionOutput 1; ; f64[1,1,1,1] 0.5; f16[1,1,1,2] 1 -3 -> f16[1,1,1,2] 0.5 -1.5",
    NULL,
};
