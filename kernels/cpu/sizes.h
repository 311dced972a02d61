/* sizes.h - arithmetic on counts, for all kernels of this provider. */
#ifndef TORT_KERNELS_CPU_SIZES_H
#define TORT_KERNELS_CPU_SIZES_H

#include <stdint.h>

static inline int64_t tort_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t tort_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A quotient of a loop. Its divisor is often 1, such as a dilation; a machine of 32 bits divides 64 of them by a
 * function of some 150 instructions. */
static inline int64_t tort_quotient(int64_t a, int64_t b) {
    if (b == 1) return a;
    if (SIZE_MAX == UINT32_MAX && (uint64_t)(a | b) <= UINT32_MAX) return (uint32_t)a / (uint32_t)b;
    return a / b;
}

/* Rounds up to a multiple of `unit`; neither may be negative. */
static inline int64_t tort_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Multiplies two counts; -1: one of them is negative (an overflow of its own), or the product is so large that a few
 * like it could not be added up as bytes. */
static inline int64_t tort_multiply(int64_t a, int64_t b) {
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) || product > INT64_MAX / 64 ? -1 : product;
}

#endif
