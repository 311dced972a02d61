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

/* Rounds up to a multiple of `unit`; neither may be negative. */
static inline int64_t tort_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

#endif
