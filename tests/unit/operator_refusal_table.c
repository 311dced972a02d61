/* operator_refusal_table.c - nodes that must be refused, with the status and words of the message: the language is that
 * of operator_cases.c. */
#include <stddef.h>

extern const char *const operator_refusals[];

// clang-format off: a line a case where it fits
const char *const operator_refusals[] = {
    /* Attributes that name a type: no type, one that is not allowed, one only modulo 2^32. */
    "HannWindow 17; output_datatype=0; i64[] 4 -> error MODEL attribute \"output_datatype\" is 0, which is no type",
    "HammingWindow 17; output_datatype=4294967296; i64[] 4 -> error MODEL attribute \"output_datatype\" is 4294967296",
    "BlackmanWindow 17; output_datatype=-9223372036854775808; i64[] 4 -> error MODEL is no type; expected the type",
    "HannWindow 17; output_datatype=4294967297; i64[] 4 -> error MODEL attribute \"output_datatype\" is 4294967297",
    "HannWindow 17; output_datatype=8; i64[] 4 -> error MODEL is 8 (string); expected the type numeric13",
    "MelWeightMatrix 17; output_datatype=0; i64[] 4; i64[] 16; i64[] 8192; f32[] 0; f32[] 4096 -> error MODEL "
    "\"output_datatype\"",
    "Multinomial 7; dtype=4294967296; f32[1,2] 0 0 -> error MODEL \"dtype\"",
    "Multinomial 22; dtype=1; f32[1,2] 0 0 -> error MODEL is 1 (float); expected the type int32|int64",
    "Bernoulli 15; dtype=0; f32[1] 0 -> error MODEL \"dtype\"",
    "RandomNormalLike 1; dtype=0; f32[1] 0 -> error MODEL \"dtype\"",
    "RandomUniformLike 22; dtype=4294967296; f32[1] 0 -> error MODEL \"dtype\"",
    "EyeLike 9; dtype=4294967296; f32[1,1] 0 -> error MODEL \"dtype\"",
    "Cast 6; to=99; f32[1] 0 -> error MODEL attribute \"to\" is 99, which is no type",
    "Cast 6; to=8; f32[1] 0 -> error MODEL attribute \"to\" is 8 (string)",
    "Cast 1; to=FLOAT17; f32[1] 0 -> error MODEL attribute \"to\" is \"FLOAT17\"",
    "BitCast 26; to=0; f32[1] 0 -> error MODEL attribute \"to\" is 0",
    "DequantizeLinear 23; output_dtype=4294967296; u8[1] 0; f32[] 1 -> error MODEL \"output_dtype\"",
    "QuantizeLinear 21; output_dtype=4294967296; f32[1] 0; f32[] 1 -> error MODEL \"output_dtype\"",
    "QuantizeLinear 23; precision=99; f32[1] 0; f32[] 1 -> error MODEL \"precision\" is 99",
    "Attention 23; softmax_precision=99; f32[1,1,1,1] 0; f32[1,1,1,1] 0; f32[1,1,1,1] 0 -> error MODEL "
    "\"softmax_precision\"",
    "LayerNormalization 17; stash_type=11; f32[1,1] 0; f32[1] 1 -> error MODEL \"stash_type\" is 11 (double)",
    "GroupNormalization 21; num_groups=1 stash_type=7; f32[1,1] 0; f32[1] 1; f32[1] 0 -> error MODEL \"stash_type\"",
    "RMSNormalization 23; stash_type=0; f32[1,1] 0; f32[1] 1 -> error MODEL \"stash_type\"",
    "Range 27; stash_type=7; f32[] 0; f32[] 1; f32[] 1 -> error MODEL \"stash_type\"",
    NULL,
};
