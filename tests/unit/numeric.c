/* numeric.c - element types against their definitions: every code of every small float is decoded, and comes back. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "ops/numeric.h"

typedef struct small {
    tort_type type;
    int bits;
    float largest, smallest; /* finite; positive */
} small;

static const small smalls[] = {
    {TORT_FLOAT16, 16, 65504.0f, 0x1p-24f},    {TORT_BFLOAT16, 16, 0x1.fep127f, 0x1p-133f},
    {TORT_FLOAT8E4M3FN, 8, 448.0f, 0x1p-9f},   {TORT_FLOAT8E4M3FNUZ, 8, 240.0f, 0x1p-10f},
    {TORT_FLOAT8E5M2, 8, 57344.0f, 0x1p-16f},  {TORT_FLOAT8E5M2FNUZ, 8, 57344.0f, 0x1p-17f},
    {TORT_FLOAT8E8M0, 8, 0x1p127f, 0x1p-127f}, {TORT_FLOAT6E2M3, 6, 7.5f, 0.125f},
    {TORT_FLOAT6E3M2, 6, 28.0f, 0.0625f},      {TORT_FLOAT4E2M1, 4, 6.0f, 0.5f},
};
enum { SMALLS = sizeof smalls / sizeof smalls[0] };

Test(numeric, every_code_survives_decoding_and_encoding) {
    for (int s = 0; s < SMALLS; s++) {
        for (uint32_t code = 0; code < 1u << smalls[s].bits; code++) {
            float value = tort_decode_float(smalls[s].type, code);
            uint32_t back = tort_encode_float(smalls[s].type, value, false);
            if (isnan(value)) {
                cr_assert(isnan(tort_decode_float(smalls[s].type, back)), "type %d code %u", smalls[s].type, code);
            } else {
                cr_assert_eq(back, code, "type %d code %u came back as %u", smalls[s].type, code, back);
            }
        }
    }
}

Test(numeric, ranges_are_those_of_the_formats) {
    for (int s = 0; s < SMALLS; s++) {
        float largest = 0, smallest = INFINITY;
        for (uint32_t code = 0; code < 1u << smalls[s].bits; code++) {
            float value = tort_decode_float(smalls[s].type, code);
            if (value > largest && value < INFINITY) largest = value;
            if (value > 0 && value < smallest) smallest = value;
        }
        cr_assert_eq(largest, smalls[s].largest, "type %d: %g", smalls[s].type, (double)largest);
        cr_assert_eq(smallest, smalls[s].smallest, "type %d: %g", smalls[s].type, (double)smallest);
    }
}

/* A value half-way between two neighbours goes to the even one; one beside it to the nearer. */
Test(numeric, encoding_rounds_to_nearest_even) {
    for (int s = 0; s < SMALLS; s++) {
        if (smalls[s].type == TORT_FLOAT8E8M0) continue;
        for (uint32_t code = 0; code + 1 < 1u << (smalls[s].bits - 1); code++) {
            float low = tort_decode_float(smalls[s].type, code), high = tort_decode_float(smalls[s].type, code + 1);
            if (!isfinite(low) || !isfinite(high)) continue;
            double middle = ((double)low + (double)high) / 2;
            cr_assert_eq(tort_encode_float(smalls[s].type, middle, false), code + (code & 1));
            cr_assert_eq(tort_encode_float(smalls[s].type, nextafter(middle, 0), false), code);
            cr_assert_eq(tort_encode_float(smalls[s].type, nextafter(middle, INFINITY), false), code + 1);
        }
    }
}

Test(numeric, out_of_range_saturates_or_not) {
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E4M3FN, 1e9, true), 0x7e);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E4M3FN, 1e9, false), 0x7f);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E4M3FN, -INFINITY, false), 0xff);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E5M2, -1e9, true), 0xfb);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E5M2, -1e9, false), 0xfc);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E4M3FNUZ, INFINITY, false), 0x80);
    cr_assert_eq(tort_encode_float(TORT_FLOAT8E5M2FNUZ, -0.0, false), 0);
    cr_assert_eq(tort_encode_float(TORT_FLOAT4E2M1, 100, false), 7);
    cr_assert_eq(tort_encode_float8e8m0(1.25, TORT_ROUND_UP, true), 128);
    cr_assert_eq(tort_encode_float8e8m0(1.25, TORT_ROUND_DOWN, true), 127);
    cr_assert_eq(tort_encode_float8e8m0(1.5, TORT_ROUND_NEAREST, true), 128);
    cr_assert_eq(tort_encode_float8e8m0(INFINITY, TORT_ROUND_UP, false), 0xff);
    cr_assert_eq(tort_encode_float8e8m0(0, TORT_ROUND_UP, true), 0);
}

/* The branch-free paths agree with the general one, whose double has room for every float. */
Test(numeric, fast_paths_agree_with_the_general_one) {
    for (uint64_t step = 0; step < 1u << 20; step++) {
        uint32_t bits = (uint32_t)(step * 4099u);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value)) continue;
        cr_assert_eq(tort_float_to_half(value), tort_encode_float(TORT_FLOAT16, value, false), "%a", (double)value);
        cr_assert_eq(tort_float_to_bfloat16(value), tort_encode_float(TORT_BFLOAT16, value, false), "%a",
                     (double)value);
    }
    for (uint32_t code = 0; code < 0x10000; code++) {
        float fast = tort_half_to_float((uint16_t)code), exact = tort_decode_float(TORT_FLOAT16, code);
        cr_assert(fast == exact || (isnan(fast) && isnan(exact)), "half %04x", code);
    }
    cr_assert(isnan(tort_half_to_float(tort_float_to_half(NAN))));
    cr_assert(isnan(tort_bfloat16_to_float(tort_float_to_bfloat16(NAN))));
}

Test(numeric, packed_elements_are_a_stream_of_bits) {
    uint8_t data[9] = {0};
    const int64_t values[] = {1, -2, 3, -8, 7, 0, -1};
    tort_store_integers(TORT_INT4, data, 0, 7, values);
    cr_assert_eq(data[0], 0xe1);
    cr_assert_eq(data[1], 0x83);
    cr_assert_eq(data[3], 0x0f, "what lies behind the last element stays");
    int64_t back[7];
    tort_load_integers(TORT_INT4, data, 0, 7, back);
    cr_assert_arr_eq(back, values, sizeof values);

    memset(data, 0, sizeof data);
    const int64_t pairs[] = {-1, 1, 0, -2, 1};
    tort_store_integers(TORT_INT2, data, 1, 5, pairs);
    tort_load_integers(TORT_INT2, data, 1, 5, back);
    cr_assert_arr_eq(back, pairs, sizeof pairs);

    memset(data, 0, sizeof data);
    for (uint32_t i = 0; i < 4; i++) tort_set_bits(6, data, i, 0x21 + i);
    uint32_t stream = 0x21u | 0x22u << 6 | 0x23u << 12 | 0x24u << 18;
    cr_assert_eq(data[0] | data[1] << 8 | data[2] << 16, (int)stream);
    uint8_t moved[9];
    memset(moved, 0xff, sizeof moved);
    tort_copy_elements(TORT_FLOAT6E3M2, moved, 1, data, 0, 4);
    for (int i = 0; i < 4; i++) cr_assert_eq(tort_get_bits(6, moved, i + 1), 0x21u + (uint32_t)i);
    cr_assert_eq(tort_get_bits(6, moved, 0), 0x3f);
    cr_assert_eq(tort_get_bits(6, moved, 5), 0x3f);
}

Test(numeric, floats_become_integers_without_surprise) {
    cr_assert_eq(tort_double_to_int64(-2.9), -2);
    cr_assert_eq(tort_double_to_int64(1e300), INT64_MAX);
    cr_assert_eq(tort_double_to_int64(-INFINITY), INT64_MIN);
    cr_assert_eq(tort_double_to_int64(NAN), 0);
    cr_assert_eq(tort_double_to_uint64(0x1p63), UINT64_C(1) << 63);
    int8_t bytes[3];
    tort_store_floats(TORT_INT8, bytes, 0, 3, (const float[]){300.0f, -1.5f, 127.9f});
    cr_assert_eq(bytes[0], 44);
    cr_assert_eq(bytes[1], -1);
    cr_assert_eq(bytes[2], 127);
    double large = 0;
    tort_load_doubles(TORT_UINT64, &(uint64_t){UINT64_MAX}, 0, 1, &large);
    cr_assert_eq(large, 0x1p64);
}
