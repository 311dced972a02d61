/* quantized.h - what `tinyort quantize` has made, and how it is told. */
#ifndef TORT_CLI_QUANTIZED_H
#define TORT_CLI_QUANTIZED_H

#include "runtime/cli/json.h"
#include "runtime/cli/samples.h"

/* Cost of a run on the chain of --ep. */
typedef struct cli_run_cost {
    double milliseconds;    /* the median of runs of both models in turns */
    int64_t weights, arena; /* bytes of host memory; -1: not known */
} cli_run_cost;

typedef struct cli_quantized {
    cli_options *options;
    tort_model *model;
    cli_samples *samples;
    const int64_t *truth; /* NULL: none */
    tort_quantized *quantized;
    cli_run_cost costs[2]; /* of the float32 model, and of the one that was written */
    bool measured;
} cli_quantized;

/* A file of --choices: the units that stay float32. keep borrows the text. */
typedef struct cli_choices {
    uint8_t *text;
    cli_texts keep;
} cli_choices;

tort_status cli_choices_read(const char *path, cli_choices *choices, tort_error *error);
void cli_choices_free(cli_choices *choices);
tort_status cli_choices_write(const cli_quantized *j, tort_error *error); /* to --write-choices */

/* Runs both models in turns on the first sample. */
tort_status cli_quantized_measure(cli_quantized *j, tort_error *error);
void cli_quantized_print(const cli_quantized *j);
void cli_quantized_json(const cli_quantized *j, cJSON *json);
tort_status cli_quantized_page(const cli_quantized *j, tort_error *error); /* to --html */

#endif
