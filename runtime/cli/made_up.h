/* made_up.h - chooses the sizes of open dimensions for random inputs, where no option gives them.
 *
 * A batch is 1. All other open dimensions start as 1; if the model does not run with that (an image of one pixel has no
 * room for a window of 3), usual sizes are tried, for all of these dimensions together, then for each alone.
 * options->attempt is the number of the current attempt. */
#ifndef TORT_CLI_MADE_UP_H
#define TORT_CLI_MADE_UP_H

#include "runtime/cli/inputs.h"

/* The size of an input's open axis `axis` in the current attempt. */
int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis);
/* If sizes of inputs were chosen here, runs the model, with other sizes if need be, until outputs are not empty.
 * TORT_E_USAGE if no sizes work. Other errors are not reported here: the run that follows meets them again. */
tort_status cli_settle_sizes(cli_options *options, const tort_model *model, tort_context *context, cli_inputs *inputs,
                             tort_error *error);

#endif
