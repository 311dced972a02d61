/* outputs.h - shows tensors and other values: statistics, the largest entries, files. */
#ifndef TORT_CLI_OUTPUTS_H
#define TORT_CLI_OUTPUTS_H

#include <cjson/cJSON.h>

#include "runtime/cli/options.h"

/* Statistics of the finite elements, booleans counted as 0 and 1; `count` is of all elements. */
typedef struct cli_statistics {
    bool numeric; /* false for strings and complex numbers: nothing else is set then but count */
    int64_t count, nan, infinite, zeros;
    int64_t overflows, vanishes; /* elements that float16 cannot hold: too large, or not 0 and rounded to 0 */
    double minimum, maximum, mean, deviation;
} cli_statistics;

cli_statistics cli_statistics_of(const tort_tensor *tensor);
/* Adds the elements of `more` to those of `all`. */
void cli_statistics_join(cli_statistics *all, const cli_statistics *more);

/* The first `max` elements as text, "..." if there are more: "1, 2.5, nan". Returned in buffer. */
const char *cli_elements_text(const tort_tensor *tensor, int64_t max, char *buffer, size_t size);

/* Prints a table of all outputs, of sequences and maps only the first elements; the JSON has all elements. */
void cli_print_outputs(const tort_model *model, tort_value *const *outputs, int32_t count, int width);
cJSON *cli_outputs_json(const tort_model *model, tort_value *const *outputs, int32_t count);

/* An entry among the `k` largest of a row of the last axis. */
typedef struct cli_top {
    int64_t row, index;
    double value;
    const char *label; /* borrowed from the labels; "" if there is none */
} cli_top;

#define CLI_MAX_LABEL_BYTES ((size_t)4 << 20) /* of a file of names */

/* Names from a file, one per line. The caller frees them with cli_labels_free, also after a failure. */
typedef struct cli_labels {
    char *text;
    const char **lines;
    int64_t count;
} cli_labels;

tort_status cli_labels_read(const char *path, cli_labels *labels, tort_error *error);
/* Fails unless there is a name for every element of the last dimension; one of -1 is not known, and fits. */
tort_status cli_labels_fit(const cli_labels *labels, int32_t rank, const int64_t *dims, tort_error *error);
void cli_labels_free(cli_labels *labels);

/* Finds the k largest elements of each row, the largest first, ignoring NaN. The caller frees *tops. TORT_E_USAGE for
 * values without an order, and for too few labels. */
tort_status cli_top_of(const tort_value *output, int32_t k, const cli_labels *labels, cli_top **tops, int64_t *count,
                       tort_error *error);

/* Checks that the outputs can be saved in the format that --format asks for, and what is in their place replaced. */
tort_status cli_check_save(const cli_options *options, const tort_model *model, tort_error *error);
/* Writes outputs as output_0.npy ... (or .pb) into a folder, which is created if need be. A file appears whole or not
 * at all. */
tort_status cli_save_outputs(const cli_options *options, const tort_model *model, tort_value *const *outputs,
                             int32_t count, tort_error *error);

#endif
