/* Tests of ops/strided.c: random boxes of every element width against the definition, element by element. */
#include <criterion/criterion.h>
#include <string.h>

#include "ops/numeric.h"
#include "ops/strided.h"

enum { BYTES = 1 << 17, CASES = 3000 };
static unsigned char src[BYTES], got[BYTES], want[BYTES];
static uint64_t state = 88172645463325252ull;

static int64_t random_below(int64_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)bound);
}

static void serial(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg) {
    (void)ud, (void)grain;
    int64_t half = count / 2; /* two ranges, so that one starts in the middle */
    body(arg, 0, half);
    body(arg, half, count);
}

/* The dims of a dense output in some order, and strides into an input that may repeat or run backwards. */
static tort_box random_box(void) {
    tort_box box = {0};
    int64_t dims[4], order[4] = {0, 1, 2, 3}, dst[4], from[4], span = 1;
    int32_t rank = 1 + (int32_t)random_below(4);
    for (int32_t k = 0; k < rank; k++)
        dims[k] = random_below(8) ? 1 + random_below(rank > 2 ? 9 : 40) : random_below(2);
    tort_strides(rank, dims, dst);
    for (int32_t k = rank - 1; k > 0; k--) { /* shuffle */
        int64_t other = random_below(k + 1), swap = order[k];
        order[k] = order[other];
        order[other] = swap;
    }
    for (int32_t k = 0; k < rank; k++) {
        int64_t d = dims[order[k]];
        from[order[k]] = random_below(6) ? span : 0;
        if (random_below(4) == 0 && from[order[k]]) {
            from[order[k]] = -span;
            box.src_first += d > 0 ? (d - 1) * span : 0;
        }
        span *= d ? d : 1;
    }
    box.dst_first = random_below(3);
    for (int32_t k = 0; k < rank; k++) tort_box_add(&box, dims[k], dst[k], from[k]);
    return box;
}

static void copy_by_definition(tort_type type, const tort_box *box) {
    int64_t count = 1;
    for (int32_t k = 0; k < box->rank; k++) count *= box->dims[k];
    for (int64_t i = 0; i < count; i++) {
        int64_t to = box->dst_first, from = box->src_first, rest = i;
        for (int32_t k = box->rank - 1; k >= 0; k--) {
            to += rest % box->dims[k] * box->dst_strides[k];
            from += rest % box->dims[k] * box->src_strides[k];
            rest /= box->dims[k];
        }
        tort_copy_elements(type, want, to, src, from, 1);
    }
}

Test(strided, random_boxes_of_every_width) {
    static const tort_type types[] = {TORT_INT2,  TORT_INT4,   TORT_UINT8,      TORT_FLOAT16,
                                      TORT_FLOAT, TORT_DOUBLE, TORT_COMPLEX128, TORT_FLOAT6E2M3};
    tort_env env = {.parallel_for = serial};
    tort_call call = {.env = &env};
    for (int32_t i = 0; i < BYTES; i++) src[i] = (unsigned char)random_below(256);
    for (int32_t n = 0; n < CASES; n++) {
        tort_type type = types[n % 8];
        tort_box box = random_box();
        memset(got, 0x5a, sizeof got);
        memset(want, 0x5a, sizeof want);
        tort_copy_box(&call, type, got, src, &box);
        copy_by_definition(type, &box);
        cr_assert_arr_eq(got, want, BYTES, "case %d of type %s", (int)n, tort_type_name(type));
    }
}

Test(strided, fill_stays_inside) {
    const float values[2] = {1, 2};
    float out[8] = {0};
    tort_fill_elements(TORT_FLOAT, out, 2, 3, values, 1);
    for (int k = 0; k < 8; k++) cr_assert_eq(out[k], k >= 2 && k < 5 ? 2 : 0);
    uint8_t packed[3] = {0};
    const uint8_t four_bit = 0xb0;
    tort_fill_elements(TORT_UINT4, packed, 1, 4, &four_bit, 1);
    cr_assert_eq(packed[0], 0xb0);
    cr_assert_eq(packed[1], 0xbb);
    cr_assert_eq(packed[2], 0x0b);
}
