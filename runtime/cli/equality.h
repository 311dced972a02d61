/* equality.h - compares two values, and describes their difference in one sentence. */
#ifndef TORT_CLI_EQUALITY_H
#define TORT_CLI_EQUALITY_H

#include "runtime/cli/options.h"

/* Equality: |a-b| <= atol * scale + rtol * |b|; 8-bit integers within `steps`, since quantized values are rounded
 * floats; other integers, booleans and strings exactly; NaN equals NaN. The scale is the largest |b| of the tensor, at
 * least 1: an element near 0 is often a difference of large numbers, and has their rounding error. Elements from 1e4 on
 * do not count, so that a mask of -1e9 does not make everything equal. */
typedef struct cli_tolerance {
    double rtol, atol, steps;
    bool exact; /* --atol: the scale is 1 */
} cli_tolerance;

/* Default tolerances of a single operator, and of a whole model, where rounding errors add up. */
#define CLI_ONE_NODE ((cli_tolerance){.rtol = 1e-4, .atol = 1e-5})
#define CLI_WHOLE_MODEL ((cli_tolerance){.rtol = 1e-3, .atol = 1e-4, .steps = 1})

/* The tolerance for a type: --rtol and --atol if given, else 1e-2 for 16-bit floats and `otherwise` for the rest. */
cli_tolerance cli_tolerance_of(const cli_options *options, tort_type type, cli_tolerance otherwise);

/* True for a tensor of floats that has elements, all of them NaN. */
bool cli_is_all_nan(const tort_tensor *tensor);

/* Returns NULL if equal, otherwise a sentence, which the caller frees: "3 of 1000 elements differ by more than ..."
 * *worst is the largest |a-b| in either case. */
char *cli_difference(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, double *worst);
/* cli_difference for values of any kind: compares types as far as they are known, element counts, keys, then elements
 * one by one. Tolerances are those of cli_tolerance_of; with --shapes-only, tensors need only have the same type and
 * shape. */
char *cli_value_difference(const cli_options *options, const tort_value *found, const tort_value *expected,
                           cli_tolerance otherwise, double *worst);

#endif
