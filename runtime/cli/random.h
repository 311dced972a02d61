/* random.h - random values for inputs, the same on every platform for a seed. */
#ifndef TORT_CLI_RANDOM_H
#define TORT_CLI_RANDOM_H

#include "runtime/cli/options.h"

bool cli_can_be_random(tort_type type);
bool cli_is_counted(tort_type type); /* integer types, whose values may be indices */

/* Fills a tensor. --random NAME=LOW..HIGH gives the range; without it, floats are in 0..1, and integers follow the
 * first of these that applies: the nodes that read them (input_ranges.h), a name with "mask" in it (ones: nothing is
 * masked), the type (0..9; 0..1 below 8 bits and for booleans). */
tort_status cli_fill_random(const cli_options *options, const tort_model *model, int32_t index, tort_tensor *tensor,
                            tort_error *error);

#endif
