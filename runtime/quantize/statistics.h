/* statistics.h - what is known of a value's elements from a calibration: extremes, and a histogram of their size. */
#ifndef TORT_QUANTIZE_STATISTICS_H
#define TORT_QUANTIZE_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/include/tinyort.h"

#define TORT_BINS 2048 /* of each sign */

/* Elements of each sign are counted in bins of equal width from 0 to `reach`, a power of two that doubles when an
 * element exceeds it: then pairs of bins become one. So one pass over the data suffices, whatever it brings. */
typedef struct tort_statistics {
    float low, high; /* extremes of all elements */
    float reach[2];  /* of positive and of negative elements; 0: there was none */
    uint32_t counts[2][TORT_BINS];
    int64_t counted, seen; /* elements: in the histogram; all of them */
} tort_statistics;

/* Adds elements: their extremes, found on the threads of env, and as many of them as `picked` has room for, at equal
 * distances, to the histogram. False: there is a NaN or an infinity, and nothing was added. */
bool tort_statistics_add(tort_statistics *statistics, const tort_env *env, const float *elements, int64_t count,
                         float *picked, int32_t room);
/* Adds what others have seen. */
void tort_statistics_merge(tort_statistics *statistics, const tort_statistics *other);
/* Share of the counted elements outside of low..high. */
double tort_statistics_outside(const tort_statistics *statistics, float low, float high);
/* The range that leaves out a share of the elements at each end. */
void tort_statistics_percentile(const tort_statistics *statistics, double share, float *low, float *high);
/* The range, around 0, of the least squared error of rounding in it to so many steps and clipping to it. symmetric: of
 * ranges -x..x alone. Elements beyond min..max count as these. */
void tort_statistics_mse(const tort_statistics *statistics, int32_t steps, bool symmetric, float min, float max,
                         float *low, float *high);

#endif
