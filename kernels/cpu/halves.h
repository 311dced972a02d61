/* halves.h - float16 and bfloat16 to float and back, on all threads. Read next: widened.c. */
#ifndef TORT_KERNELS_CPU_HALVES_H
#define TORT_KERNELS_CPU_HALVES_H

#include "kernels/cpu/cpu.h"

static inline bool tort_is_half(tort_type type) {
    return type == TORT_FLOAT16 || type == TORT_BFLOAT16;
}

void tort_halves_widen(const tort_simd *simd, tort_type type, const void *halves, float *floats, int64_t count);
/* To the nearest, of two the even one; what is too large becomes infinite, NaN stays NaN. */
void tort_halves_narrow(const tort_simd *simd, tort_type type, const float *floats, void *halves, int64_t count);

/* `count` elements, once of a half type and once as floats. */
typedef struct tort_halves {
    tort_type type;
    void *halves;
    float *floats;
    int64_t count;
} tort_halves;

/* All of a list, to floats or from them, on the threads of the call. */
void tort_halves_convert(const tort_call *call, bool widen, const tort_halves *list, int32_t list_count);

extern const tort_kernel tort_cpu_halves[]; /* rows for Cast */

#endif
