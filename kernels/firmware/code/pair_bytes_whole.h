/* pair_bytes_whole.h - pair_bytes.h without floats. Sums are estimated by fixed factors first; those that are near the
 * middle between two bytes are computed as floats would be. */
#ifndef TORT_FIRMWARE_CODE_PAIR_BYTES_WHOLE_H
#define TORT_FIRMWARE_CODE_PAIR_BYTES_WHOLE_H

#include "kernels/firmware/code/number_product.h"
#include "kernels/firmware/code/number_sum.h"
#include "kernels/firmware/code/pair_bytes_shape.h"

/* f0, f1, f2 as numbers and, in 2^-bits, as whole ones; bits 0: they do not fit. */
typedef struct tinyort_pair_factors {
    tinyort_number exact[3];
    int32_t fixed[3], bits;
} tinyort_pair_factors;

static void tinyort_fix_factors(tinyort_pair_factors *f, float f0, float f1, float f2) {
    f->exact[0] = tinyort_number_of(f0);
    f->exact[1] = tinyort_number_of(f1);
    f->exact[2] = tinyort_number_of(f2);
    for (f->bits = 22; f->bits > 12; f->bits--) {
        int64_t reach = 0;
        for (int32_t i = 0; i < 3; i++) {
            const int32_t up = f->exact[i].e + f->bits;
            const int64_t m = f->exact[i].m, fixed = (up > 0) ? ((up < 30) ? (m * ((int64_t)1 << up)) : INT32_MAX)
                                                              : tinyort_shift_even(m, -up);
            reach += ((i < 2) ? 255 : 1) * ((fixed < 0) ? -fixed : fixed);
            f->fixed[i] = (int32_t)fixed;
        }
        if (reach < 0x40000000) {
            return;
        }
    }
    f->bits = 0;
}

static int32_t tinyort_sum_of_two(const tinyort_pair_factors *f, int32_t p, int32_t q) {
    enum { NEAR = 1 << 9 }; /* the error of the estimate and that of floats, in 2^-bits */
    if (f->bits != 0) {
        const int32_t sum = (p * f->fixed[0]) + ((q * f->fixed[1]) + f->fixed[2]), half = 1 << (f->bits - 1);
        const int32_t fraction = (sum & ((2 * half) - 1)) - half;
        if ((fraction > NEAR) || (fraction < -NEAR)) {
            return (sum + half) >> f->bits;
        }
    }
    tinyort_number a = {p, 0}, b = {q, 0};
    a = tinyort_number_product(a, f->exact[0]);
    b = tinyort_number_sum(tinyort_number_product(b, f->exact[1]), f->exact[2]);
    return tinyort_number_whole(tinyort_number_sum(a, b));
}

static int8_t tinyort_combine(const tinyort_pair_bytes_shape *s, const tinyort_pair_factors *f, int8_t a, int8_t b) {
    const int32_t flip = tinyort_flips(s->flip);
    const int32_t p = (int8_t)tinyort_flipped(a, s->flip) + flip, q = (int8_t)tinyort_flipped(b, s->flip) + flip;
    int32_t value;
    if (s->multiplies != 0) {
        tinyort_number n = f->exact[2];
        n.m *= (p - f->fixed[0]) * (q - f->fixed[1]);
        value = tinyort_number_whole(n);
    } else {
        value = tinyort_sum_of_two(f, p, q);
    }
    value += s->zero - flip;
    value = (value < -128) ? -128 : (value > 127) ? 127 : value;
    return (int8_t)tinyort_flipped(value, s->flip);
}

static void tinyort_pair_bytes(const tinyort_pair_bytes_shape *s, const void *a, const void *b, void *y, float f0,
                               float f1, float f2) {
    tinyort_pair_factors f;
    int8_t *to = (int8_t *)y;
    tinyort_fix_factors(&f, f0, f1, f2);
    for (int32_t i = 0; s->multiplies && (i < 2); i++) {
        f.fixed[i] = f.exact[i].m ? tinyort_number_whole(f.exact[i]) : 0;
    }
    for (int32_t i = 0; i < s->d0; i++) {
        for (int32_t j = 0; j < s->d1; j++) {
            for (int32_t k = 0; k < s->d2; k++) {
                const int8_t *as = (const int8_t *)a + (i * s->a0) + (j * s->a1) + (k * s->a2);
                const int8_t *bs = (const int8_t *)b + (i * s->b0) + (j * s->b1) + (k * s->b2);
                for (int32_t left = s->d3; left > 0; left--) {
                    *to++ = tinyort_combine(s, &f, *as, *bs);
                    as += s->a3;
                    bs += s->b3;
                }
            }
        }
    }
}

#endif
