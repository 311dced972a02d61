/* random.h - what --random fills inputs with: values that are the same on every platform for a seed (random.c), within
 * ranges that the model's nodes take (input_ranges.c), in shapes with which it runs (made_up.c). */
#ifndef TORT_CLI_RANDOM_H
#define TORT_CLI_RANDOM_H

#include "runtime/cli/inputs.h"

bool cli_can_be_random(tort_type type);
bool cli_is_counted(tort_type type); /* integer types, whose values may be indices */

/* Fills a tensor. --random NAME=LOW..HIGH gives the range; without it, floats are in 0..1, and integers follow the
 * first of these that applies: the nodes that read them (cli_range_of_input), a name with "mask" in it (ones: nothing
 * is masked), the type (0..9; 0..1 below 8 bits and for booleans). */
tort_status cli_fill_random(const cli_options *options, const tort_model *model, int32_t index, tort_tensor *tensor,
                            tort_error *error);

typedef struct cli_range {
    double low, high; /* both included */
} cli_range;

/* Follows input `index` through nodes that only move values (Cast, Reshape ...) to the nodes of the main graph that use
 * it as index, length or size. False if no node restricts it. */
bool cli_range_of_input(const tort_model *model, int32_t index, cli_range *range);

/* True if the input is the target shape of a Reshape, for which -1, 1, 1 ... always fits. */
bool cli_is_reshape_target(const tort_model *model, int32_t index);

/* Sizes of open dimensions that no option gives. A batch is 1. All others start as 1; if the model does not run with
 * that (an image of one pixel has no room for a window of 3), usual sizes are tried, for all of these dimensions
 * together, then for each alone. options->attempt is the number of the attempt. */
int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis);
/* If sizes of inputs were chosen here, runs the model, with other sizes if need be, until no value is empty. The runs
 * are those of a usual session, so that every command finds the same sizes: of one that is opened for them where the
 * session of `context` is unfolded or keeps values on a device. TORT_E_USAGE if the model takes no sizes. Other errors
 * are not reported here: the run that follows meets them again. */
tort_status cli_settle_sizes(cli_options *options, const tort_model *model, const tort_session_options *session_options,
                             tort_context *context, cli_inputs *inputs, tort_error *error);

#endif
