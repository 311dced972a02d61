/* cases.h - what a family of operators is tested with, in one file of this folder. The build finds tables by their
 * names:
 *
 *   const char *const tort_cases_NAME[]     what comes out of given inputs: a line each, as in
 * tests/unit/operator_case.h const char *const tort_refusals_NAME[]  what must be refused, with which words; also so
 *   const char *const tort_lines_NAME[]     random tensors for the rows of `cuda`, as in tests/cuda/kernel_case.h
 *   const kernel_case tort_rows_NAME[]      makers of random nodes for the rows of `cpu`, as in cpu_kernel_cases.h
 *
 * A table of lines ends with NULL, one of makers with an op of NULL. A family may leave out any of them. */
#ifndef TORT_TESTS_CASES_CASES_H
#define TORT_TESTS_CASES_CASES_H

#include "tests/unit/cpu_kernel_cases.h"

#endif
