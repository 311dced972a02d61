/* opening.h - models and sessions as the command line asks for them. */
#ifndef TORT_CLI_OPENING_H
#define TORT_CLI_OPENING_H

#include "runtime/cli/options.h"

/* Loads a model; a path that is not there gets the nearest name in its folder. */
tort_status cli_open_model(const cli_options *options, const char *path, tort_model **model, tort_error *error);

/* Holds --shape, --allow and --only against the model: names that are not there, shapes that do not fit. Sizes of
 * dimensions move from options->shapes to options->symbols. model NULL, where there are many: operators alone. */
tort_status cli_check_names(cli_options *options, const tort_model *model, tort_error *error);

/* Holds TINYORT_DISABLE against the providers of this build. */
tort_status cli_check_environment(tort_error *error);

/* Opens the chain for --require alone, before there is a model. In providers.c. */
tort_status cli_check_required(const cli_options *options, tort_error *error);

/* The session options that the command line asks for. The result borrows from `options`. */
tort_session_options cli_session_options(const cli_options *options, const char *chain);
/* Opens a session. On TORT_E_PLACEMENT it is there for its report. */
tort_status cli_open_session(const tort_model *model, const tort_session_options *session_options,
                             tort_session **session, tort_error *error);

/* Loads the plan of --plan; its model is the session's. */
tort_status cli_open_plan(const cli_options *options, tort_session **session, tort_error *error);

/* An input and an output as the model declares them. */
tort_port cli_input(const tort_model *model, int32_t index);
tort_port cli_output(const tort_model *model, int32_t index);
/* An input of the model, with the shape that --shape gives it. */
tort_port cli_input_port(const cli_options *options, const tort_model *model, int32_t index);

#endif
