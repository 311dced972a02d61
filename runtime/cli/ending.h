/* ending.h - the end of every command: one form of failure message, placement line, JSON document and exit status. */
#ifndef TORT_CLI_ENDING_H
#define TORT_CLI_ENDING_H

#include "runtime/cli/json.h"
#include "runtime/cli/options.h"

/* Exit statuses, on which scripts rely. */
enum {
    CLI_OK = 0,
    CLI_INTERNAL = 1,
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3,     /* bad model or input */
    CLI_REFUSED = 4,       /* placement: --require, --strict, unplaced nodes, unknown operators, memory */
    CLI_FAILED = 5,        /* failed while running; also a failed test or comparison */
    CLI_INTERRUPTED = 130, /* Ctrl-C, after reporting the runs so far */
    CLI_READER_GONE = 141  /* 128 + SIGPIPE, as a shell reports a program that SIGPIPE ended */
};

typedef struct cli_ending {
    const tort_error *error;       /* code TORT_OK: success */
    int exit_status;               /* overrides the status of the error's code; 0: does not */
    tort_session *const *sessions; /* opened sessions, for the placement line; entries may be NULL */
    int32_t session_count;
    const tort_report *total; /* in place of sessions: a sum over many, which lists no nodes */
    cJSON *json;              /* with --json: the command's document so far, owned from here on; NULL: none */
} cli_ending;

/* Path of the model or saved plan on the command line. */
const char *cli_model_path(const cli_options *options);

/* The JSON document that the command fills; NULL without --json. */
cJSON *cli_json_of(const cli_options *options);

/* Ends a command. With --json, adds the model, the placement (for several sessions a list "sessions") and, after a
 * failure, "error" to the document and prints it. Prints a failure on stderr as "tinyort COMMAND: message", and nodes
 * that no provider takes with their verdicts and cures. The last line on stderr is the placement. Returns the exit
 * status. */
int cli_end(const cli_options *options, const cli_ending *ending);
/* cli_end for a command without a session. */
int cli_end_plain(const cli_options *options, const tort_error *error, cJSON *json);

/* The report of a session. The caller frees it with tort_report_free, before the session. */
tort_report *cli_report(tort_session *session);
/* Node counts by provider: "58 cuda, 3 cpu, 2 host". The caller frees. */
char *cli_counts_text(const tort_report *report);
/* The exit status for a status code. */
int cli_exit_status(tort_status status);

#endif
