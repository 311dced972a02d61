/* halves.h - float16 and bfloat16 to float and back, on all threads. Read next: widened.c. */
#ifndef TORT_KERNELS_CPU_HALVES_H
#define TORT_KERNELS_CPU_HALVES_H

#include "kernels/cpu/cpu.h"

static inline bool tort_is_half(tort_type type) {
    return type == TORT_FLOAT16 || type == TORT_BFLOAT16;
}

/* `count` elements, once of a half type and once as floats. */
typedef struct tort_halves {
    tort_type type;
    void *halves;
    float *floats;
    int64_t count;
} tort_halves;

/* Elements first .. first+count, with which the others are overwritten. */
void tort_halves_widen(const tort_simd *simd, const tort_halves *h, int64_t first, int64_t count);
/* The same the other way: to the nearest, of two the even one; what is too large becomes infinite, NaN stays NaN. */
void tort_halves_narrow(const tort_simd *simd, const tort_halves *h, int64_t first, int64_t count);
/* All elements of all of them, on the threads of the call. */
void tort_halves_convert(const tort_call *call, bool widen, const tort_halves *list, int32_t list_count);

extern const tort_kernel tort_cpu_halves[]; /* rows for Cast */

#endif
