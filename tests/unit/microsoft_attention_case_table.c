/* microsoft_attention_case_table.c - cases of com.microsoft's attention operators, and nodes that must be refused; the
 * language is that of operator_case.h. Outputs are those of onnxruntime. */
#include <stddef.h>

extern const char *const microsoft_attention_cases[], *const microsoft_attention_refusals[];

// clang-format off: a line a case where it fits
const char *const microsoft_attention_cases[] = {
    "com.microsoft.Attention 1; num_heads=1; f32[1,2,2] 0.7 1.3 -2 1.3; f32[2,6] -0.1 0.1 0.5 -0.9 2 -1.8 -0.9 "
    "-0.5 0.3 -0.4 -1.5 -1.9; f32[6] -2 -1.9 -1.4 2 -1.3 0.6; i32[1] 1 -> f32[1,2,2] -1.85 -3.13 -1.85 -3.13",
    "com.microsoft.Attention 1; num_heads=2 unidirectional=1; f32[1,2,2] 1 -1.1 -0.9 -0.3; f32[2,6] -1 1.9 -1.3 "
    "1.6 1.2 1.4 -1.6 -0.4 0.5 0 0.7 0.7; f32[6] 0.7 -1.8 1.9 0.2 1.7 -0.9; i32[2] 2 1 -> f32[1,2,2] 2.13 -0.27 "
    "0.41 -2.37; f32[2,1,2,2,1] 0.0500001 2.92 1.8 -1.24 2.13 0.41 -0.27 -2.37",
    "com.microsoft.Attention 1; num_heads=1 mask_filter_value=-1.0; f32[1,2,1] -0.6 1.6; f32[1,6] -1.3 -1.8 -0.5 "
    "0.7 -1.5 1.5; f32[6] -0.7 -1.1 0.2 1.6 1.6 1.5; i32[1,3] 1 0 1; f32[2,1,1,1,2] -0.8 -2 1.1 0.9 -> f32[1,2,2] "
    "0.554713 2.07209 1.1 0.900002; f32[2,1,1,3,2] -0.8 -2 0.5 1.18 -0.6 2.72 1.1 0.9 2.5 0.6 -0.8 3.9",
    "com.microsoft.Attention 1; num_heads=1 qkv_hidden_sizes=2,2,3 scale=0.5; f32[1,2,1] 1.1 -2; f32[1,7] -1.9 0 "
    "-0.7 -0.3 1.8 -1.2 0.1; f32[7] -0.7 -0.8 1.3 -1.4 -0.8 -1.6 -1.4; i32[1,2,2] 1 0 1 1 -> f32[1,2,3] 1.18 "
    "-2.92 -1.29 -4.13321 0.622142 -1.58518",
    "com.microsoft.Attention 1; num_heads=1; f32[1,2,1] -0.9 0.8; f32[1,3] 0.3 -0.2 -1.4; f32[3] 1.2 1.2 -1.1; -; "
    "-; f32[1,1,2,2] -1.8 -0.7 -1.5 1.2 -> f32[1,2,1] -1.47387 -1.98481",
    "com.microsoft.MultiHeadAttention 1; num_heads=2 unidirectional=1; f32[1,2,4] 0.1 0 -0.9 0 1.9 -1.1 1.1 -2; "
    "f32[1,2,4] -0.8 1.8 1.5 -1.7 1.4 1.4 -0.2 -0.5; f32[1,2,4] 2 1.8 0.7 -0.4 -1.2 1.8 -0.9 0.2; f32[12] 0.7 "
    "-1.1 -0.8 1 -1.2 0.7 1.8 0.8 0.6 -0.1 1.9 -1.1 -> f32[1,2,4] 2.6 1.7 2.6 -1.5 -0.570196 1.7 2.23224 "
    "-1.36209; f32[1,2,2,2] -2 2.5 0.2 2.1 3.3 -0.9 1.6 0.3; f32[1,2,2,2] 2.6 1.7 -0.6 1.7 2.6 -1.5 1 -0.9",
    "com.microsoft.MultiHeadAttention 1; num_heads=1; f32[2,1,2] -0.6 0.6 0.6 -1.6; f32[2,2,2] -1.4 0.8 1.4 0.6 "
    "1.8 -0.5 -0.7 1.2; f32[2,2,3] -1.9 -1.3 -1.3 -0.4 -1.4 1.2 1.4 -0.5 -1.9 0.9 -1.6 0.5; -; i32[2] 1 2 -> "
    "f32[2,1,3] -1.9 -1.3 -1.3 1.37592 -0.55297 -1.78443",
    "com.microsoft.MultiHeadAttention 1; num_heads=1 mask_filter_value=-2.0; f32[1,1,2] -1.3 1.8; f32[1,1,2,2] "
    "0.7 2 0.5 0.9; f32[1,1,2,2] -0.5 1.3 -1.6 -1.4; f32[6] -0.6 0.9 -0.1 1.4 1.8 -0.4; i32[1,2] 1 0; "
    "f32[1,1,1,2] -0.3 0.2 -> f32[1,1,2] -0.53796 1.20682; -; -; f32[1,1,1,2] 2.57792 -0.753482",
    "com.microsoft.MultiHeadAttention 1; num_heads=1 scale=1.0; f32[1,1,2] 0.6 -0.1; f32[1,1,2] 0.4 1.9; "
    "f32[1,1,2] 1 -0.7; -; -; -; f32[1,1,2,2] -0.3 -0.4 -1.4 -2; f32[1,1,2,2] 1.2 -0.3 -0.6 0.5 -> f32[1,1,2] "
    "0.726382 -0.299459; f32[1,1,3,2] -0.3 -0.4 -1.4 -2 0.4 1.9; f32[1,1,3,2] 1.2 -0.3 -0.6 0.5 1 -0.7",
    "com.microsoft.DecoderMaskedMultiHeadAttention 1; num_heads=1 past_present_share_buffer=1; f32[1,1,2] 0.3 "
    "1.8; f32[1,1,2] 0.5 1.7; f32[1,1,2] 0.3 -0.7; i32[1,2] 1 0; -; f32[1,1,3,2] -0.7 2 0.4 -1.3 1.4 1.3; "
    "f32[1,1,3,2] -2 -1.4 0.8 -0.4 -0.7 -1.7; i32[1] 1 -> f32[1,1,2] -2 -1.4; f32[1,1,3,2] -0.7 2 0.5 1.7 1.4 "
    "1.3; f32[1,1,3,2] -2 -1.4 0.3 -0.7 -0.7 -1.7",
    "com.microsoft.DecoderMaskedMultiHeadAttention 1; num_heads=1; f32[1,1,2] -1.3 1.5; f32[1,1,2,2] 1.4 1.3 0.3 "
    "-1.5; f32[1,1,2,2] -0.7 0.1 2 -1 -> f32[1,1,2] -0.366255 -0.0359703",
    "com.microsoft.GroupQueryAttention 1; num_heads=2 kv_num_heads=1 softcap=2.0; f32[1,2,16] 0.2 0 0 0.2 0.8 "
    "-1.6 2 1.5 1.1 -0.9 -0.2 -0.2 -0.8 -1.8 1 -2 1.1 -1.2 0.6 -0.6 -1.1 1.8 -0.1 1.6 -1.3 -0.1 -0.6 -0.2 -2 0.7 "
    "-0.6 1.5; f32[1,2,8] -1.2 -0.7 -1.9 1.2 0.1 -0.4 1.7 0.4 1.9 1 0.4 0 -1.2 0.8 1.2 0.8; f32[1,2,8] -0.4 -2 1 "
    "-1.9 1.2 -1.4 -0.8 -1.2 0.2 -1.2 -1 -1.8 2 -1.2 -1.3 0.4; -; -; i32[1] 1; i32[1] 2 -> f32[1,2,16] -0.4 -2 1 "
    "-1.9 1.2 -1.4 -0.8 -1.2 -0.4 -2 1 -1.9 1.2 -1.4 -0.8 -1.2 0.145999 -1.272 -0.819998 -1.809 1.928 -1.218 "
    "-1.255 0.255999 -0.150373 -1.66716 0.167911 -1.8584 1.53284 -1.31679 -1.00802 -0.534329; f32[1,1,2,8] -1.2 "
    "-0.7 -1.9 1.2 0.1 -0.4 1.7 0.4 1.9 1 0.4 0 -1.2 0.8 1.2 0.8; f32[1,1,2,8] -0.4 -2 1 -1.9 1.2 -1.4 -0.8 -1.2 "
    "0.2 -1.2 -1 -1.8 2 -1.2 -1.3 0.4",
    "com.microsoft.GroupQueryAttention 1; num_heads=1 kv_num_heads=1 local_window_size=2 smooth_softmax=1; "
    "f32[1,1,24] -1.5 1.6 1.2 -0.6 -0.4 -0.5 1 -0.3 -0.9 0.7 -1.5 1.2 -0.3 1.8 -1 -0.5 1.5 0.8 -1.9 -0.6 -2 1.3 "
    "-0.3 -1.1; -; -; f32[1,1,2,8] 0.9 1.5 -1.6 0 -0.5 0.9 1.8 0.1 1 -0.8 0.3 0 0.9 -1.8 -1.1 -1.9; f32[1,1,2,8] "
    "2 0.1 0 -0.1 -1.9 1.4 1.4 -2 0.5 0.2 -0.5 0 1.6 0.4 0 0.9; i32[1] 2; i32[1] 3 -> f32[1,1,8] 0.526347 "
    "0.266347 -0.637964 -0.167425 -0.213178 0.448982 -0.0837127 -0.112937; f32[1,1,3,8] 0.9 1.5 -1.6 0 -0.5 0.9 "
    "1.8 0.1 1 -0.8 0.3 0 0.9 -1.8 -1.1 -1.9 -0.9 0.7 -1.5 1.2 -0.3 1.8 -1 -0.5; f32[1,1,3,8] 2 0.1 0 -0.1 -1.9 "
    "1.4 1.4 -2 0.5 0.2 -0.5 0 1.6 0.4 0 0.9 1.5 0.8 -1.9 -0.6 -2 1.3 -0.3 -1.1",
    "com.microsoft.RotaryEmbedding 1; ; f32[1,2,4] 0.8 0.1 1.3 0.3 0.5 0 0.4 0.5; i64[1] 1; f32[3,2] 1.6 -1 -0.6 "
    "0.2 -0.7 0.7; f32[3,2] 1.3 -1.3 -1.8 2 0 1 -> f32[1,2,4] 1.86 -0.58 -2.22 0.26 -0.35 -0.5 -0.28 0.35",
    "com.microsoft.RotaryEmbedding 1; interleaved=1 num_heads=1 rotary_embedding_dim=2; f32[1,1,2,4] 1.1 1.9 -1.9 "
    "-0.8 2 -0.2 -0.4 -1; i64[1,2] 2 0; f32[3,1] -2 -1.9 1.9; f32[3,1] -2 -1.5 -1 -> f32[1,1,2,4] 3.99 2.51 -1.9 "
    "-0.8 -4.4 -3.6 -0.4 -1",
    "com.microsoft.GatedRelativePositionBias 1; num_heads=2; f32[1,2,4] 2 -2.5 0.5 -0.5 -0.5 -0.25 -2 -0.25; "
    "f32[4] -0.75 3.25 0.25 -0.25; f32[1,2,2,2] -0.25 -0.75 -1 -0.5 0.5 -0.25 1 -0.25; f32[2,4] 0 1.5 0.5 -0.5"
    " -0.25 0.5 2 -0.25; f32[4] -0.25 1 -1 -0.25; f32[1,2,1,1] 1 0.5 -> f32[1,2,2,2] -0.385765 -1.1573 "
    "-1.99267 -0.996337 0.593156 -0.296578 1.88716 -0.471789",
    /* A query of 0 weighs all keys of its window alike: here the last of the cache, and the new one, which takes the
     * place of the first. */
    "com.microsoft.GroupQueryAttention 1; num_heads=1 kv_num_heads=1 sliding_window_cache=1 local_window_size=2; f32[1,1,2] 0 0; "
    "f32[1,1,2] 5 6; f32[1,1,2] 5 6; f32[1,1,2,2] 1 2 3 4; f32[1,1,2,2] 1 2 3 4; i32[1] 2; i32[1] 3 -> f32[1,1,2] 4 5; "
    "f32[1,1,2,2] 3 4 5 6; f32[1,1,2,2] 3 4 5 6",
    NULL,
};

const char *const microsoft_attention_refusals[] = {
    "com.microsoft.GroupQueryAttention 1; num_heads=1 kv_num_heads=1 sliding_window_cache=1; f32[1,1,2] 1 2; f32[1,1,2] 1 2; "
    "f32[1,1,2] 1 2; -; -; i32[1] 0; i32[1] 1 -> error MODEL needs local_window_size",
    "com.microsoft.GroupQueryAttention 1; num_heads=1 kv_num_heads=1 sliding_window_cache=1 local_window_size=3; f32[1,1,2] 1 2; "
    "f32[1,1,2] 1 2; f32[1,1,2] 1 2; f32[1,1,2,2] 1 2 3 4; f32[1,1,2,2] 1 2 3 4; i32[1] 2; i32[1] 3 -> error MODEL fewer than "
    "the 3 of local_window_size",
    "com.microsoft.GroupQueryAttention 1; num_heads=2 kv_num_heads=1; f32[1,1,3] 1 2 3; f32[1,1,1] 1; f32[1,1,1] 1; -; -; "
    "i32[1] 0; i32[1] 1 -> error MODEL expected a multiple of the 2 heads",
    "com.microsoft.MultiHeadAttention 1; num_heads=1; f32[1,1,2] 1 2; f32[1,1,2] 1 2; f32[1,1,2] 1 2; f32[5] 1 2 3 4 5 -> "
    "error MODEL bias has not the shape",
    "com.microsoft.Attention 1; num_heads=1 do_rotary=1; f32[1,1,1] 1; f32[1,3] 1 2 3; f32[3] 1 2 3 -> error UNSUPPORTED "
    "do_rotary 1 is not supported",
    "com.microsoft.GatedRelativePositionBias 1; num_heads=1; f32[1,1,1] 1; f32[1] 1; f32[1,1,1,1] 1; f32[1,3] 1 2 3; "
    "f32[3] 1 2 3; f32[1,1,1,1] 1 -> error MODEL expected an even number",
    NULL,
};
