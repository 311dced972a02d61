/* halves.h - conversions between float and float16 or bfloat16, on all threads. Read next: widened.c. */
#ifndef TORT_KERNELS_CPU_HALVES_H
#define TORT_KERNELS_CPU_HALVES_H

#include "kernels/cpu/cpu.h"

static inline bool tort_is_half(tort_type type) {
    return type == TORT_FLOAT16 || type == TORT_BFLOAT16;
}

void tort_halves_widen(const tort_simd *simd, tort_type type, const void *halves, float *floats, int64_t count);
/* Rounds to nearest, ties to even; overflow becomes infinity, NaN stays NaN. */
void tort_halves_narrow(const tort_simd *simd, tort_type type, const float *floats, void *halves, int64_t count);

/* An array of `count` elements in two forms: of a half type, and as floats. */
typedef struct tort_halves {
    tort_type type;
    void *halves;
    float *floats;
    int64_t count;
} tort_halves;

/* Converts all arrays of a list to or from floats, on the threads of the call. */
void tort_halves_convert(const tort_call *call, bool widen, const tort_halves *list, int32_t list_count);

extern const tort_kernel tort_cpu_halves[]; /* rows for Cast */

#endif
