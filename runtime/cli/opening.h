/* opening.h - opens models and sessions with the options of the command line. */
#ifndef TORT_CLI_OPENING_H
#define TORT_CLI_OPENING_H

#include "runtime/cli/options.h"

/* Subnormal numbers among the model's weights of float and double, all of which are read. In subnormals.c. */
int64_t cli_count_subnormals(const tort_model *model);
/* Loads a model. The error for a missing file suggests the nearest name in its folder. */
tort_status cli_open_model(const cli_options *options, const char *path, tort_model **model, tort_error *error);

/* Checks --shape, --max, --allow and --only against the model: unknown names, shapes that do not fit. Moves sizes of
 * symbolic dimensions from `shapes` to `symbols` of options->fixed and options->max. If model is NULL, as there are
 * many, checks operators alone. */
tort_status cli_check_names(cli_options *options, const tort_model *model, tort_error *error);

/* Checks that TINYORT_DISABLE names providers of this build. */
tort_status cli_check_environment(tort_error *error);

/* Opens the chain only to check --require, before any model is loaded. In providers.c. */
tort_status cli_check_required(const cli_options *options, tort_error *error);

/* Session options from the command line. The result borrows from `options`. */
tort_session_options cli_session_options(const cli_options *options, const char *chain);
/* Creates a session. After TORT_E_PLACEMENT, *session is set all the same, for its report. */
tort_status cli_open_session(const tort_model *model, const tort_session_options *session_options,
                             tort_session **session, tort_error *error);

/* Loads the model into *loaded, or the saved plan of --plan into *session, which owns its *model. */
tort_status cli_open_either(const cli_options *options, tort_model **loaded, tort_session **session,
                            const tort_model **model, tort_error *error);

/* Inputs and outputs as the model declares them. */
tort_port cli_input(const tort_model *model, int32_t index);
tort_port cli_output(const tort_model *model, int32_t index);
/* An input of the model, with the shape that --shape gives it. */
tort_port cli_input_port(const cli_options *options, const tort_model *model, int32_t index);

#endif
