/* input_ranges.h - which integers an input may hold, told from the nodes that read it. */
#ifndef TORT_CLI_INPUT_RANGES_H
#define TORT_CLI_INPUT_RANGES_H

#include "runtime/tinyort.h"

typedef struct cli_range {
    double low, high; /* both included */
} cli_range;

/* Follows input `index` through what only moves values (Cast, Reshape ...) to the nodes of the main graph that take
 * indices, lengths or sizes from it. False: nothing there asks for anything. */
bool cli_range_of_input(const tort_model *model, int32_t index, cli_range *range);

/* Does it give a Reshape its target? Then -1, 1, 1 ... is a value that always fits. */
bool cli_is_reshape_target(const tort_model *model, int32_t index);

/* Does the node read values of the input that were moved, but not computed with? */
bool cli_input_reaches(const tort_model *model, int32_t index, int32_t node);

#endif
