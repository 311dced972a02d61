/* input_ranges.h - valid integers for an input, derived from the nodes that read it. */
#ifndef TORT_CLI_INPUT_RANGES_H
#define TORT_CLI_INPUT_RANGES_H

#include "runtime/include/tinyort.h"

typedef struct cli_range {
    double low, high; /* both included */
} cli_range;

/* Follows input `index` through nodes that only move values (Cast, Reshape ...) to the nodes of the main graph that use
 * it as index, length or size. False if no node restricts it. */
bool cli_range_of_input(const tort_model *model, int32_t index, cli_range *range);

/* True if the input is the target shape of a Reshape, for which -1, 1, 1 ... always fits. */
bool cli_is_reshape_target(const tort_model *model, int32_t index);

/* True if the node reads elements of the input that were moved, but not computed with. */
bool cli_input_reaches(const tort_model *model, int32_t index, int32_t node);

#endif
