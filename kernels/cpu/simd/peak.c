/* peak.c - independent multiply-adds: the peak of an instruction set, which no kernel exceeds.
 *
 * Read next: ../peak.c. */
#include "kernels/cpu/simd/vector.h"

#ifdef RVV
enum { CHAINS = 6 };
#else
enum { CHAINS = 12 }; /* enough for two units with a latency of four or five cycles */
#endif

double SIMD(tort_simd_multiply_adds)(int64_t rounds, float *sum) {
    vector acc[CHAINS];
    const vector factor = broadcast(0.5f), term = broadcast(*sum);
    for (int i = 0; i < CHAINS; i++) acc[i] = broadcast((float)i);
    for (int64_t round = 0; round < rounds; round++) {
        UNROLL for (int i = 0; i < CHAINS; i++) acc[i] = acc[i] * factor + term;
    }
    for (int i = 1; i < CHAINS; i++) acc[0] += acc[i];
    *sum = acc[0][0];
    return (double)rounds * CHAINS * WIDTH;
}
