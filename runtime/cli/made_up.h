/* made_up.h - sizes of dimensions that a model leaves open and nobody gave, for inputs at random.
 *
 * A batch is 1. So is every other dimension, at first; where the model does not run with that (an image of one pixel
 * has no room for a window of 3), sizes that models are often made for are tried, for all of these dimensions together,
 * then for each alone. Which attempt it is the options say. */
#ifndef TORT_CLI_MADE_UP_H
#define TORT_CLI_MADE_UP_H

#include "runtime/cli/inputs.h"

/* The size of axis `axis` of an input, which is open, in this attempt. */
int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis);
/* Where sizes of the inputs were made up, runs them, and others in their place until the model runs and something comes
 * out. TORT_E_USAGE where none do. What else is wrong with the inputs is not told here: the run will. */
tort_status cli_settle_sizes(cli_options *options, const tort_model *model, tort_context *context, cli_inputs *inputs,
                             tort_error *error);

#endif
