/* cli.h - what the subcommands share: exit codes, one way to fail, opening models and sessions, progress.
 *
 * The command line is an application of tinyort.h like any other; only `inspect`, `ops`, `providers` and `test` look
 * at the core's private headers. Every helper returns a status and fills an error; the subcommand prints it once. */
#ifndef TORT_CLI_CLI_H
#define TORT_CLI_CLI_H

#include <stdarg.h>
#include <stdio.h>

#include "runtime/cli/options.h"

/* The contract of the exit status. */
enum {
    CLI_OK = 0,
    CLI_INTERNAL = 1,
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3, /* the model or an input */
    CLI_REFUSED = 4,   /* placement: --require, --strict, unplaced nodes, unknown operators, memory */
    CLI_FAILED = 5     /* while running; also a test or comparison that failed */
};

/* Prints "tinyort COMMAND: message" on stderr; the exit status that belongs to the error. */
int cli_fail(const char *command, const tort_error *error);

/* The subcommands: each returns the exit status. */
int cli_run(const cli_options *options);
int cli_plan(const cli_options *options);
int cli_providers(const cli_options *options);
int cli_inspect(const cli_options *options);
int cli_ops(const cli_options *options);
int cli_test(const cli_options *options);
int cli_compare(const cli_options *options);
int cli_bench(const cli_options *options);

/* Loads options->operands[0]; a path that is not there gets the nearest name in its folder. */
tort_status cli_open_model(const cli_options *options, const char *path, tort_model **model, tort_error *error);

/* The names and ranks of --shape against the model's inputs. */
tort_status cli_check_shapes(const cli_options *options, const tort_model *model, tort_error *error);

/* The session options that the command line asks for. The result borrows from `options`. */
tort_session_options cli_session_options(const cli_options *options, const char *chain);
/* Opens a session after checking the names of --shape against the model's inputs. On TORT_E_PLACEMENT the session is
 * there for its report. */
tort_status cli_open_session(const cli_options *options, const tort_model *model,
                             const tort_session_options *session_options, tort_session **session, tort_error *error);

/* What a session decided. The caller frees with tort_report_free, before the session. */
tort_report *cli_report(tort_session *session);
/* The last line of every run: "placement: 58 cuda, 3 cpu (of 61; 9 folded) - ...". */
void cli_print_placement(tort_session *session, FILE *file);
/* Like cli_fail; where nodes have no provider, each with its verdicts and cures on a line of its own. session may be
 * NULL. */
int cli_fail_session(const char *command, const tort_error *error, tort_session *session);

/* A line on stderr while something long goes on, and its removal; nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_progress_end(void);

double cli_seconds(void); /* of a clock that only goes forward */

/* "1x3x224x224", "batchx3x?"; "scalar" for rank 0. Into buffer, which is returned. */
const char *cli_shape_text(int32_t rank, const int64_t *dims, const char *const *dim_names, char *buffer, size_t size);
const char *cli_bytes_text(double bytes, char *buffer, size_t size); /* "12.4 MB" */

struct cJSON;
void cli_print_json(struct cJSON *root); /* on stdout; frees it */

/* Memory of the command line itself: ends the program when there is none. */
void *cli_check_memory(void *ptr);          /* itself; NULL ends the program */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_realloc(void *ptr, size_t count, size_t size);
char *cli_copy_text(const char *text, size_t length);
char *cli_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
