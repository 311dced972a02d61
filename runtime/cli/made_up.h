/* made_up.h - sizes of dimensions that a model leaves open and nobody gave, for inputs at random.
 *
 * A batch is 1. So is every other dimension, at first; where the model does not run with that (an image of one pixel
 * has no room for a window of 3), sizes that models are often made for are tried, for all of these dimensions together,
 * then for each alone. Which attempt it is the options say. */
#ifndef TORT_CLI_MADE_UP_H
#define TORT_CLI_MADE_UP_H

#include "runtime/cli/options.h"

/* The size of axis `axis` of an input, which is open, in this attempt. */
int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis);
/* Has this attempt sizes with which a run costs little? */
bool cli_sizes_are_small(const cli_options *options, const tort_model *model);
/* Goes on to the next attempt; false: there is none. */
bool cli_next_sizes(cli_options *options, const tort_model *model);

#endif
