/* numeric.h - element types as numbers: conversions and type-generic loops, for ops/ and kernels/.
 *
 * Native types get one loop each from TORT_FOR_NATIVE; small floats (16 bits and below) and packed sub-byte types go
 * through blocks of at most TORT_BLOCK floats or integers: load, compute, store, so that fp16 and bf16 compute in float
 * and round once per node. Rounding is to nearest even unless a function says otherwise. */
#ifndef TORT_OPS_NUMERIC_H
#define TORT_OPS_NUMERIC_H

#include "runtime/include/op.h"

#define TORT_BLOCK 512

/* Number of elements in the block that starts at `first` of `total`: at most TORT_BLOCK. */
static inline int64_t tort_block_count(int64_t total, int64_t first) {
    return total - first < TORT_BLOCK ? total - first : TORT_BLOCK;
}

/* X(enumerator, C type, name) for every type with a C type of its own. */
#define TORT_FOR_SIGNED(X)                                                                                             \
    X(TORT_INT8, int8_t, int8)                                                                                         \
    X(TORT_INT16, int16_t, int16)                                                                                      \
    X(TORT_INT32, int32_t, int32)                                                                                      \
    X(TORT_INT64, int64_t, int64)
#define TORT_FOR_UNSIGNED(X)                                                                                           \
    X(TORT_UINT8, uint8_t, uint8)                                                                                      \
    X(TORT_UINT16, uint16_t, uint16)                                                                                   \
    X(TORT_UINT32, uint32_t, uint32)                                                                                   \
    X(TORT_UINT64, uint64_t, uint64)
#define TORT_FOR_INTEGERS(X)                                                                                           \
    TORT_FOR_SIGNED(X)                                                                                                 \
    TORT_FOR_UNSIGNED(X)
#define TORT_FOR_NATIVE(X)                                                                                             \
    X(TORT_FLOAT, float, float)                                                                                        \
    X(TORT_DOUBLE, double, double)                                                                                     \
    TORT_FOR_INTEGERS(X)

bool tort_type_is_float(tort_type type);       /* any float, float16 .. float4 too; not complex */
bool tort_type_is_small_float(tort_type type); /* a float that is neither float nor double */
bool tort_type_is_integer(tort_type type);     /* any signed or unsigned integer, sub-byte too; not bool */
bool tort_type_is_signed(tort_type type);

/* Load elements first .. first+count-1 of a tensor's data (any float, integer or bool type, packed ones too). */
void tort_load_floats(tort_type type, const void *data, int64_t first, int64_t count, float *out);
void tort_load_doubles(tort_type type, const void *data, int64_t first, int64_t count, double *out);
/* Integers and bool are exact, but uint64 wraps; floats are truncated towards zero. */
void tort_load_integers(tort_type type, const void *data, int64_t first, int64_t count, int64_t *out);
/* Store elements: floats round to nearest even, and saturate if of 8 bits and fewer; integers truncate and wrap. */
void tort_store_floats(tort_type type, void *data, int64_t first, int64_t count, const float *in);
void tort_store_doubles(tort_type type, void *data, int64_t first, int64_t count, const double *in);
void tort_store_integers(tort_type type, void *data, int64_t first, int64_t count, const int64_t *in);

/* Single elements of any small float. A code is an element's bits. Encoding rounds once, to nearest even; a value out
 * of range (or infinite) becomes the largest finite value if `saturate`; else infinity, or NaN in a type without
 * infinity, or the largest value in a type with neither (float6, float4; their NaN is -0). */
float tort_decode_float(tort_type type, uint32_t code);
/* Format of a small float (small_float.h), or NULL; float8e8m0, which has neither sign nor mantissa, has none. */
const struct tort_float_format *tort_float_format_of(tort_type type);
uint32_t tort_encode_float(tort_type type, double value, bool saturate);
/* float8e8m0 is a bare power of two: the sign is dropped; zero is the smallest value if `saturate`, else NaN. */
typedef enum tort_rounding { TORT_ROUND_NEAREST, TORT_ROUND_UP, TORT_ROUND_DOWN } tort_rounding;
/* The fraction, in units of 2^-52, from which on a value is rounded up. */
static inline uint64_t tort_rounds_up_from(tort_rounding rounding) {
    return rounding == TORT_ROUND_UP ? 1 : rounding == TORT_ROUND_NEAREST ? (uint64_t)1 << 51 : UINT64_MAX;
}
uint32_t tort_encode_float8e8m0(double value, tort_rounding rounding, bool saturate);
/* Bits of an element of a type of at most 8 bits, packed or not; setting them keeps the bits of its neighbours. */
uint32_t tort_get_bits(int bits, const void *data, int64_t index);
void tort_set_bits(int bits, void *data, int64_t index, uint32_t code);
/* Truncated towards zero; beyond int64 the nearest int64; NaN is 0. */
int64_t tort_double_to_int64(double value);
uint64_t tort_double_to_uint64(double value); /* negative values wrap */
float tort_half_to_float(uint16_t half);
uint16_t tort_float_to_half(float value);
float tort_bfloat16_to_float(uint16_t bits);
uint16_t tort_float_to_bfloat16(float value);

/* An element of 16 bytes, moved whatever it is. */
typedef struct tort_bytes16 {
    uint64_t low, high;
} tort_bytes16;

/* Moves elements between tensors of one type whatever the type is (16-byte strings, packed 2-bit ...). */
void tort_copy_elements(tort_type type, void *dst, int64_t dst_first, const void *src, int64_t src_first,
                        int64_t count);

/* Row-major strides, in elements, of a shape. */
void tort_strides(int32_t rank, const int64_t *dims, int64_t *strides);
/* Strides of a tensor of shape `dims`, broadcast to `out_dims` by numpy's rule (0 where repeated); rank <= out_rank;
 * the shapes are known to fit. */
void tort_broadcast_strides(int32_t rank, const int64_t *dims, int32_t out_rank, const int64_t *out_dims,
                            int64_t *strides);

#endif
