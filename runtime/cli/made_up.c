/* made_up.c - see made_up.h. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/made_up.h"
#include "runtime/cli/opening.h"

/* Strides of networks and their multiples, and what audio and pictures come in. */
static const int64_t sizes[] = {2,   4,   8,   16,  32,  48,  64,  80,  96,  128, 160, 192,
                                224, 256, 288, 320, 384, 416, 448, 512, 576, 640, 1024};
enum { SIZES = sizeof sizes / sizeof *sizes, MAX_ALONE = 8 /* dimensions that are tried alone */ };

static bool has_name(const tort_port *port, int32_t axis, const char *name) {
    return *name && port->dims[axis] < 0 && port->dim_names[axis] && !strcmp(port->dim_names[axis], name);
}

static const char *name_of(const tort_port *port, int32_t axis) {
    return port->dim_names[axis] ? port->dim_names[axis] : "";
}

/* Does the name stand in an input before this place, or anywhere as its first axis? */
static bool stands_before(const cli_options *options, const tort_model *model, const char *name, int32_t input,
                          int32_t axis) {
    for (int32_t i = 0; i <= input; i++) {
        const tort_port port = cli_input_port(options, model, i);
        for (int32_t d = 0; d < port.rank && (i < input || d < axis); d++)
            if (has_name(&port, d, name)) return true;
    }
    return false;
}

static bool is_batch(const cli_options *options, const tort_model *model, const tort_port *port, int32_t axis) {
    if (axis == 0 && port->rank > 1) return true;
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port other = cli_input_port(options, model, i);
        if (other.rank > 1 && has_name(&other, 0, name_of(port, axis))) return true;
    }
    return false;
}

/* Counts the dimensions that are made up, but for batches; those of one name are one. *number is that of the axis in
 * question, -1: a batch. */
static int32_t number_of(const cli_options *options, const tort_model *model, int32_t input, int32_t axis,
                         int32_t *number) {
    int32_t count = 0;
    const tort_port asked = cli_input_port(options, model, input);
    *number = -1;
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port port = cli_input_port(options, model, i);
        for (int32_t d = 0; d < port.rank; d++) {
            const char *name = name_of(&port, d);
            if (port.dims[d] >= 0 || is_batch(options, model, &port, d) || stands_before(options, model, name, i, d))
                continue;
            if ((i == input && d == axis) || has_name(&asked, axis, name)) *number = count;
            count++;
        }
    }
    return count;
}

/* Attempts at one size: all dimensions together, then each alone where they are few. */
static int32_t rounds_of(int32_t count) {
    return count > 1 && count <= MAX_ALONE ? 1 + count : 1;
}

int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis) {
    int32_t number;
    const int32_t rounds = rounds_of(number_of(options, model, input, axis, &number)), at = options->attempt - 1;
    if (at < 0 || number < 0 || (at % rounds && at % rounds != number + 1)) return 1;
    return sizes[at / rounds];
}

bool cli_sizes_are_small(const cli_options *options, const tort_model *model) {
    int32_t number;
    const int32_t rounds = rounds_of(number_of(options, model, 0, 0, &number));
    return options->attempt < 1 || sizes[(options->attempt - 1) / rounds] < 64;
}

bool cli_next_sizes(cli_options *options, const tort_model *model) {
    int32_t number;
    const int32_t count = tort_model_input_count(model) ? number_of(options, model, 0, 0, &number) : 0;
    return count > 0 && options->attempt++ < SIZES * rounds_of(count);
}
