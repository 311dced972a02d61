/* dense_sums.h - products of a row x with eight filters: what dense layers and recurrent gates are made of. */
#ifndef TORT_FIRMWARE_CODE_DENSE_SUMS_H
#define TORT_FIRMWARE_CODE_DENSE_SUMS_H

#include "kernels/firmware/code/four.h"

/* a, b += number times four weights at u, at v, which move on to the next four. */
#ifndef tinyort_add_products
#define tinyort_add_products(a, b, u, v, number)                                                                       \
    do {                                                                                                               \
        tinyort_multiply_add(a, tinyort_load_four(u), number);                                                         \
        tinyort_multiply_add(b, tinyort_load_four(v), number);                                                         \
        (u) += 4;                                                                                                      \
        (v) += 4;                                                                                                      \
    } while (0)
#endif /* tinyort_add_products */

/* sums: `from` + x times the four filters at u, then those at v. */
static void tinyort_dense_sums(const float *x, const float *u, const float *v, int32_t depth, const float *from,
                               float *sums) {
    tinyort_four a = tinyort_load_four(from), b = tinyort_load_four(from + 4);
    int32_t k = depth;
    for (; k >= 4; k -= 4) {
        tinyort_add_products(a, b, u, v, x[0]);
        tinyort_add_products(a, b, u, v, x[1]);
        tinyort_add_products(a, b, u, v, x[2]);
        tinyort_add_products(a, b, u, v, x[3]);
        x += 4;
    }
    for (; k > 0; k--) {
        tinyort_add_products(a, b, u, v, *x);
        x++;
    }
    tinyort_store_four(sums, a);
    tinyort_store_four(sums + 4, b);
}

#endif
