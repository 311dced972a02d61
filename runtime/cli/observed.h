/* observed.h - what a run shows of its inside: the values that its nodes make, their ranges, the first that is not
 * finite, and copies of them in files. */
#ifndef TORT_CLI_OBSERVED_H
#define TORT_CLI_OBSERVED_H

#include "runtime/cli/inputs.h"
#include "runtime/cli/json.h"
#include "runtime/cli/outputs.h"

/* A value that a node made, over all its trips; or an input of a node. */
typedef struct cli_seen {
    int32_t node; /* index in the model; -1: an input or weight of the model */
    char *name;   /* owned; NULL: none */
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    int64_t times;
    cli_statistics statistics; /* of all times together */
} cli_seen;

/* The first value with some property, and the inputs of its node at that time. */
typedef struct cli_first {
    cli_seen value; /* its name is NULL if no value has the property */
    cli_seen *inputs;
    int32_t input_count;
} cli_first;

typedef struct cli_observed cli_observed;

/* True if an option asks for a look inside; the session is then to be opened with `unfolded`. */
bool cli_observes(const cli_options *options);
/* Prepares for a run; model and inputs must outlive it. Resolves the nodes of --dump and makes its folders. The caller
 * frees, also after a failure. */
tort_status cli_observed_open(const cli_options *options, const tort_model *model, const cli_inputs *inputs,
                              cli_observed **observed, tort_error *error);
void cli_observed_free(cli_observed *observed); /* NULL is allowed */
/* Given to tort_context_observe, with the cli_observed. */
void cli_observe_value(void *observed, int32_t node, const char *value, const tort_tensor *tensor);
/* After a run that succeeded: prints what was asked for, or adds it to the document. TORT_E_RUN if --expect found
 * something, or a file could not be written. */
tort_status cli_observed_tell(cli_observed *observed, const tort_report *report, cJSON *json, tort_error *error);

/* For observed_tell.c. */
struct cli_observed {
    const cli_options *options;
    const tort_model *model;
    const cli_inputs *inputs;
    cli_seen *seen; /* in the order in which they were first made */
    int32_t count, capacity;
    struct cli_seen_table *table;
    cli_first first, first_nan; /* the first value with an element that is not finite, and with a NaN */
    struct cli_dump *dumps;     /* one for each --dump */
    int32_t written;            /* files */
    tort_status status;         /* of the first file that could not be written */
    tort_error error;
};

/* Writes the lists of --dump; returns the first failure to write. */
tort_status cli_observed_end(cli_observed *observed, tort_error *error);
/* The name of a value as the name of a file, without its ending: letters, digits, '.', '-' and '_', at most 100. The
 * caller frees. */
char *cli_file_name_of(const char *value);
/* The path of a node of the model: "Loop_3/body/Add_1". The caller frees. */
char *cli_node_path(const tort_model *model, int32_t index);

#endif
