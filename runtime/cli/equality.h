/* equality.h - whether two values are equal, and in one sentence how they differ. */
#ifndef TORT_CLI_EQUALITY_H
#define TORT_CLI_EQUALITY_H

#include "runtime/cli/options.h"

/* Equality: |a-b| <= atol + rtol * |b|; integers of 8 bits within `steps`, as they are rounded floats; other integers,
 * booleans and strings exactly; NaN equals NaN. */
typedef struct cli_tolerance {
    double rtol, atol, steps;
} cli_tolerance;

/* Of a single operator, and of a whole model, where roundings add up. */
#define CLI_ONE_NODE ((cli_tolerance){1e-4, 1e-5, 0})
#define CLI_WHOLE_MODEL ((cli_tolerance){1e-3, 1e-4, 1})

/* The tolerance of a type: as asked for, or 1e-2 for 16-bit floats and `otherwise` for the rest. */
cli_tolerance cli_tolerance_of(const cli_options *options, tort_type type, cli_tolerance otherwise);

/* Is it a tensor of floats, of which none is a number? */
bool cli_is_all_nan(const tort_tensor *tensor);

/* NULL if equal; otherwise a sentence, which the caller frees: "3 of 1000 elements differ by more than ..." *worst is
 * the largest |a-b| in any case. */
char *cli_difference(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, double *worst);
/* The same of any value, which is of the same type as far as that is known, as many elements, equal keys and equal
 * elements one by one. Tolerances as cli_tolerance_of tells; with --shapes-only tensors need only have the same form.
 */
char *cli_value_difference(const cli_options *options, const tort_value *found, const tort_value *expected,
                           cli_tolerance otherwise, double *worst);

#endif
