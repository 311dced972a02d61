/* ending_cases.h - nodes that take long, for ending_kernels.c. */
#ifndef TORT_TESTS_UNIT_ENDING_CASES_H
#define TORT_TESTS_UNIT_ENDING_CASES_H

#include "tests/unit/cpu_kernel_cases.h"

typedef struct ending_case {
    const char *domain, *op, *kernel, *what;
    void (*make)(random_node *node);
} ending_case;

extern const ending_case ending_cases[]; /* ends with an op of NULL */

#endif
