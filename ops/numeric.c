/* numeric.c - element types as numbers: every type of ONNX 1.23 to and from float, double and int64.
 *
 * A small float is described by a tort_float_format; encoding works on doubles, so that a value is rounded once
 * whatever type it comes from. float16 and bfloat16 have branch-free paths from and to float, which compilers
 * vectorise. Types below 8 bits are a stream of bits, lowest first, as in raw_data: element i starts at bit i * bits.
 */
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

#include "ops/small_float.h"

/* ---- element types ----------------------------------------------------------------------------------------------- */

static const tort_float_format float16 = {16, 10, 15, 0x7bff, 0x7e00, SPECIAL_IEEE};
static const tort_float_format bfloat16 = {16, 7, 127, 0x7f7f, 0x7fc0, SPECIAL_IEEE};
static const tort_float_format e4m3fn = {8, 3, 7, 0x7e, 0x7f, SPECIAL_TOP_NAN};
static const tort_float_format e4m3fnuz = {8, 3, 8, 0x7f, 0x80, SPECIAL_MINUS_ZERO};
static const tort_float_format e5m2 = {8, 2, 15, 0x7b, 0x7e, SPECIAL_IEEE};
static const tort_float_format e5m2fnuz = {8, 2, 16, 0x7f, 0x80, SPECIAL_MINUS_ZERO};
static const tort_float_format e2m3 = {6, 3, 1, 0x1f, 0x20, SPECIAL_NONE};
static const tort_float_format e3m2 = {6, 2, 3, 0x1f, 0x20, SPECIAL_NONE};
static const tort_float_format e2m1 = {4, 1, 1, 0x07, 0x08, SPECIAL_NONE};

/* Format of a small float, or NULL; float8e8m0, which has neither sign nor mantissa, is a separate case. */
const tort_float_format *tort_float_format_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT16: return &float16;
    case TORT_BFLOAT16: return &bfloat16;
    case TORT_FLOAT8E4M3FN: return &e4m3fn;
    case TORT_FLOAT8E4M3FNUZ: return &e4m3fnuz;
    case TORT_FLOAT8E5M2: return &e5m2;
    case TORT_FLOAT8E5M2FNUZ: return &e5m2fnuz;
    case TORT_FLOAT6E2M3: return &e2m3;
    case TORT_FLOAT6E3M2: return &e3m2;
    case TORT_FLOAT4E2M1: return &e2m1;
    default: return NULL;
    }
}

bool tort_type_is_small_float(tort_type type) {
    return type == TORT_FLOAT8E8M0 || tort_float_format_of(type) != NULL;
}

bool tort_type_is_float(tort_type type) {
    return type == TORT_FLOAT || type == TORT_DOUBLE || tort_type_is_small_float(type);
}

bool tort_type_is_integer(tort_type type) {
    switch (type) {
#define CASE(enumerator, ctype, name) case enumerator:
        TORT_FOR_INTEGERS(CASE)
#undef CASE
    case TORT_INT4:
    case TORT_UINT4:
    case TORT_INT2:
    case TORT_UINT2: return true;
    default: return false;
    }
}

bool tort_type_is_signed(tort_type type) {
    switch (type) {
    case TORT_INT2:
    case TORT_INT4:
    case TORT_INT8:
    case TORT_INT16:
    case TORT_INT32:
    case TORT_INT64: return true;
    default: return tort_type_is_float(type) && type != TORT_FLOAT8E8M0;
    }
}

/* ---- float16 and bfloat16 ---------------------------------------------------------------------------------------- */

static inline float half_to_float(uint16_t half) {
    /* The exponent is too small by 112, the difference of the biases; a multiplication corrects it, and normalises
     * subnormals as well. */
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t finite = float_bits(bits_float(magnitude) * 0x1p112f);
    uint32_t special = -(uint32_t)(magnitude >= 0x0f800000u);
    return bits_float(choose(special, magnitude | 0x7f800000u, finite) | (uint32_t)(half & 0x8000) << 16);
}

static inline uint16_t float_to_half(float value) {
    uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffffu;
    /* A result below 2^-14 is subnormal: adding 0.5 lets the addition round to units of 2^-24. */
    uint32_t subnormal = float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t result = choose(-(uint32_t)(magnitude < 0x38800000u), subnormal, normal);
    result = choose(-(uint32_t)(magnitude >= 0x477ff000u), 0x7c00u, result);
    result = choose(-(uint32_t)(magnitude > 0x7f800000u), 0x7e00u, result);
    return (uint16_t)(result | (bits >> 16 & 0x8000u));
}

static inline uint16_t float_to_bfloat16(float value) {
    uint32_t bits = float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
    return (uint16_t)choose(-(uint32_t)((bits & 0x7fffffffu) > 0x7f800000u), nan, rounded);
}

float tort_half_to_float(uint16_t half) {
    return half_to_float(half);
}
uint16_t tort_float_to_half(float value) {
    return float_to_half(value);
}
float tort_bfloat16_to_float(uint16_t bits) {
    return bits_float((uint32_t)bits << 16);
}
uint16_t tort_float_to_bfloat16(float value) {
    return float_to_bfloat16(value);
}

/* ---- small floats in general ------------------------------------------------------------------------------------- */

float tort_decode_float(tort_type type, uint32_t code) {
    return type == TORT_FLOAT8E8M0 ? decode_e8m0(code) : decode(tort_float_format_of(type), code);
}

uint32_t tort_encode_float8e8m0(double value, tort_rounding rounding, bool saturate) {
    return encode_e8m0(value, tort_rounds_up_from(rounding), saturate);
}

uint32_t tort_encode_float(tort_type type, double value, bool saturate) {
    if (type == TORT_FLOAT8E8M0) return tort_encode_float8e8m0(value, TORT_ROUND_NEAREST, saturate);
    return encode(tort_float_format_of(type), value, saturate);
}

/* ---- packed elements --------------------------------------------------------------------------------------------- */

uint32_t tort_get_bits(int bits, const void *data, int64_t index) {
    const uint8_t *bytes = data;
    if (bits == 8) return bytes[index];
    int64_t at = index * bits;
    int shift = (int)(at & 7);
    uint32_t word = bytes[at >> 3];
    if (shift + bits > 8) word |= (uint32_t)bytes[(at >> 3) + 1] << 8;
    return word >> shift & ((1u << bits) - 1);
}

void tort_set_bits(int bits, void *data, int64_t index, uint32_t code) {
    uint8_t *bytes = data;
    if (bits == 8) {
        bytes[index] = (uint8_t)code;
        return;
    }
    int64_t at = index * bits;
    int shift = (int)(at & 7);
    uint32_t mask = ((1u << bits) - 1) << shift, word = code << shift & mask;
    bytes += at >> 3;
    bytes[0] = (uint8_t)((bytes[0] & ~mask) | word);
    if (shift + bits > 8) bytes[1] = (uint8_t)((bytes[1] & ~(mask >> 8)) | word >> 8);
}

static inline int32_t signed_code(int bits, uint32_t code) {
    return (int32_t)code - (int32_t)(code >> (bits - 1) << bits);
}

static inline uint32_t nibble(const uint8_t *bytes, int64_t index) {
    return (uint32_t)bytes[index >> 1] >> (index & 1) * 4 & 15u;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

int64_t tort_double_to_int64(double value) {
    if (value >= 0x1p63) return INT64_MAX;
    if (value < -0x1p63) return INT64_MIN;
    return isnan(value) ? 0 : (int64_t)value;
}

uint64_t tort_double_to_uint64(double value) {
    if (value >= 0x1p64) return UINT64_MAX;
    return value >= 0x1p63 ? (uint64_t)value : (uint64_t)tort_double_to_int64(value);
}

/* Loads one element of a type without a C type. */
static double load_odd(tort_type type, const void *data, int64_t index) {
    int bits = tort_type_bits(type);
    if (bits > 8) return tort_decode_float(type, ((const uint16_t *)data)[index]);
    uint32_t code = tort_get_bits(bits, data, index);
    switch (type) {
    case TORT_BOOL: return code != 0;
    case TORT_INT4:
    case TORT_INT2: return signed_code(bits, code);
    case TORT_UINT4:
    case TORT_UINT2: return code;
    default: return tort_decode_float(type, code);
    }
}

#define COPY_AS(enumerator, ctype, name)                                                                               \
    case enumerator: {                                                                                                 \
        const ctype *from = (const ctype *)data + first;                                                               \
        for (int64_t i = 0; i < count; i++) out[i] = (AS)from[i];                                                      \
        return;                                                                                                        \
    }

#define LOAD_BYTES(expression)                                                                                         \
    for (int64_t i = 0; i < count; i++) out[i] = expression;                                                           \
    return;

#define AS float
void tort_load_floats(tort_type type, const void *data, int64_t first, int64_t count, float *out) {
    const uint16_t *codes = data;
    const uint8_t *bytes = data;
    switch (type) {
        TORT_FOR_NATIVE(COPY_AS)
    case TORT_FLOAT16:
        for (int64_t i = 0; i < count; i++) out[i] = half_to_float(codes[first + i]);
        return;
    case TORT_BFLOAT16:
        for (int64_t i = 0; i < count; i++) out[i] = bits_float((uint32_t)codes[first + i] << 16);
        return;
    case TORT_FLOAT8E4M3FN: LOAD_BYTES(decode(&e4m3fn, bytes[first + i]))
    case TORT_FLOAT8E4M3FNUZ: LOAD_BYTES(decode(&e4m3fnuz, bytes[first + i]))
    case TORT_FLOAT8E5M2: LOAD_BYTES(decode(&e5m2, bytes[first + i]))
    case TORT_FLOAT8E5M2FNUZ: LOAD_BYTES(decode(&e5m2fnuz, bytes[first + i]))
    case TORT_FLOAT8E8M0: LOAD_BYTES(decode_e8m0(bytes[first + i]))
    case TORT_BOOL: LOAD_BYTES(bytes[first + i] != 0)
    case TORT_UINT4: LOAD_BYTES((float)nibble(bytes, first + i))
    case TORT_INT4: LOAD_BYTES((float)signed_code(4, nibble(bytes, first + i)))
    case TORT_FLOAT4E2M1: LOAD_BYTES(decode(&e2m1, nibble(bytes, first + i)))
    default:
        for (int64_t i = 0; i < count; i++) out[i] = (float)load_odd(type, data, first + i);
    }
}
#undef LOAD_BYTES
#undef AS

#define AS double
void tort_load_doubles(tort_type type, const void *data, int64_t first, int64_t count, double *out) {
    const uint16_t *codes = data;
    switch (type) {
        TORT_FOR_NATIVE(COPY_AS)
    case TORT_FLOAT16:
        for (int64_t i = 0; i < count; i++) out[i] = half_to_float(codes[first + i]);
        return;
    default:
        for (int64_t i = 0; i < count; i++) out[i] = load_odd(type, data, first + i);
    }
}
#undef AS

#define AS int64_t
void tort_load_integers(tort_type type, const void *data, int64_t first, int64_t count, int64_t *out) {
    switch (type) {
        TORT_FOR_INTEGERS(COPY_AS)
    case TORT_BOOL:
        for (int64_t i = 0; i < count; i++) out[i] = ((const uint8_t *)data)[first + i] != 0;
        return;
    case TORT_FLOAT:
        for (int64_t i = 0; i < count; i++) out[i] = tort_double_to_int64(((const float *)data)[first + i]);
        return;
    case TORT_DOUBLE:
        for (int64_t i = 0; i < count; i++) out[i] = tort_double_to_int64(((const double *)data)[first + i]);
        return;
    default:
        for (int64_t i = 0; i < count; i++) out[i] = tort_double_to_int64(load_odd(type, data, first + i));
    }
}
#undef AS
#undef COPY_AS

/* ---- storing ----------------------------------------------------------------------------------------------------- */

static void store_odd(tort_type type, void *data, int64_t index, double value) {
    int bits = tort_type_bits(type);
    if (type == TORT_BOOL) {
        ((uint8_t *)data)[index] = value != 0;
    } else if (bits > 8) {
        ((uint16_t *)data)[index] = (uint16_t)tort_encode_float(type, value, false);
    } else if (tort_type_is_integer(type)) {
        tort_set_bits(bits, data, index, (uint32_t)(uint64_t)tort_double_to_int64(value));
    } else {
        tort_set_bits(bits, data, index, tort_encode_float(type, value, true));
    }
}

#define STORE_AS(enumerator, ctype, name)                                                                              \
    case enumerator: {                                                                                                 \
        ctype *to = (ctype *)data + first;                                                                             \
        for (int64_t i = 0; i < count; i++) to[i] = (ctype)TRUNCATED(in[i]);                                           \
        return;                                                                                                        \
    }
#define STORE_INTEGERS                                                                                                 \
    STORE_AS(TORT_INT8, int8_t, int8)                                                                                  \
    STORE_AS(TORT_INT16, int16_t, int16)                                                                               \
    STORE_AS(TORT_INT32, int32_t, int32)                                                                               \
    STORE_AS(TORT_INT64, int64_t, int64)                                                                               \
    STORE_AS(TORT_UINT8, uint8_t, uint8)                                                                               \
    STORE_AS(TORT_UINT16, uint16_t, uint16)                                                                            \
    STORE_AS(TORT_UINT32, uint32_t, uint32)

#define TRUNCATED tort_double_to_int64
void tort_store_floats(tort_type type, void *data, int64_t first, int64_t count, const float *in) {
    uint16_t *codes = data;
    switch (type) {
        STORE_INTEGERS
    case TORT_UINT64:
        for (int64_t i = 0; i < count; i++) ((uint64_t *)data)[first + i] = tort_double_to_uint64(in[i]);
        return;
    case TORT_FLOAT: memmove((float *)data + first, in, (size_t)count * sizeof *in); return;
    case TORT_DOUBLE:
        for (int64_t i = 0; i < count; i++) ((double *)data)[first + i] = in[i];
        return;
    case TORT_FLOAT16:
        for (int64_t i = 0; i < count; i++) codes[first + i] = float_to_half(in[i]);
        return;
    case TORT_BFLOAT16:
        for (int64_t i = 0; i < count; i++) codes[first + i] = float_to_bfloat16(in[i]);
        return;
    case TORT_BOOL:
        for (int64_t i = 0; i < count; i++) ((uint8_t *)data)[first + i] = in[i] != 0;
        return;
    default:
        for (int64_t i = 0; i < count; i++) store_odd(type, data, first + i, in[i]);
    }
}

void tort_store_doubles(tort_type type, void *data, int64_t first, int64_t count, const double *in) {
    switch (type) {
        STORE_INTEGERS
    case TORT_UINT64:
        for (int64_t i = 0; i < count; i++) ((uint64_t *)data)[first + i] = tort_double_to_uint64(in[i]);
        return;
    case TORT_FLOAT:
        for (int64_t i = 0; i < count; i++) ((float *)data)[first + i] = (float)in[i];
        return;
    case TORT_DOUBLE: memmove((double *)data + first, in, (size_t)count * sizeof *in); return;
    default:
        for (int64_t i = 0; i < count; i++) store_odd(type, data, first + i, in[i]);
    }
}
#undef TRUNCATED

#define TRUNCATED
void tort_store_integers(tort_type type, void *data, int64_t first, int64_t count, const int64_t *in) {
    switch (type) {
        STORE_INTEGERS
    case TORT_UINT64: memmove((uint64_t *)data + first, in, (size_t)count * sizeof *in); return;
    case TORT_FLOAT: /* not through double: that would round twice */
        for (int64_t i = 0; i < count; i++) ((float *)data)[first + i] = (float)in[i];
        return;
    case TORT_DOUBLE:
        for (int64_t i = 0; i < count; i++) ((double *)data)[first + i] = (double)in[i];
        return;
    case TORT_BOOL:
        for (int64_t i = 0; i < count; i++) ((uint8_t *)data)[first + i] = in[i] != 0;
        return;
    case TORT_INT4:
    case TORT_UINT4:
    case TORT_INT2:
    case TORT_UINT2:
        for (int64_t i = 0; i < count; i++) tort_set_bits(tort_type_bits(type), data, first + i, (uint32_t)in[i]);
        return;
    default:
        for (int64_t i = 0; i < count; i++) store_odd(type, data, first + i, (double)in[i]);
    }
}
#undef TRUNCATED
#undef STORE_INTEGERS
#undef STORE_AS

/* ---- moving ------------------------------------------------------------------------------------------------------ */

void tort_copy_elements(tort_type type, void *dst, int64_t dst_first, const void *src, int64_t src_first,
                        int64_t count) {
    int bits = tort_type_bits(type);
    if (bits >= 8) {
        size_t size = (size_t)bits / 8;
        memmove((char *)dst + (size_t)dst_first * size, (const char *)src + (size_t)src_first * size,
                (size_t)count * size);
        return;
    }
    if (dst_first * bits % 8 == 0 && src_first * bits % 8 == 0) {
        int64_t whole = count - count % 8; /* whole bytes for every width */
        memmove((char *)dst + dst_first * bits / 8, (const char *)src + src_first * bits / 8,
                (size_t)(whole * bits / 8));
        dst_first += whole, src_first += whole, count -= whole;
    }
    for (int64_t i = 0; i < count; i++)
        tort_set_bits(bits, dst, dst_first + i, tort_get_bits(bits, src, src_first + i));
}

void tort_strides(int32_t rank, const int64_t *dims, int64_t *strides) {
    int64_t stride = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= dims[d];
    }
}

void tort_broadcast_strides(int32_t rank, const int64_t *dims, int32_t out_rank, const int64_t *out_dims,
                            int64_t *strides) {
    int64_t stride = 1;
    for (int32_t d = out_rank - 1; d >= 0; d--) {
        int32_t own = d - (out_rank - rank);
        int64_t size = own >= 0 ? dims[own] : 1;
        strides[d] = size == 1 && out_dims[d] != 1 ? 0 : stride;
        stride *= size;
    }
}
