/* clock.h - time for benchmarks. Tests have no use for it. */
#ifndef TORT_TESTS_CLOCK_H
#define TORT_TESTS_CLOCK_H

#include <time.h>

/* Since some moment in the past. */
static inline double clock_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

#endif
