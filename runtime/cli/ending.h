/* ending.h - how every command ends: one way to fail, one placement line, one form of JSON, one exit status. */
#ifndef TORT_CLI_ENDING_H
#define TORT_CLI_ENDING_H

#include "runtime/cli/json.h"
#include "runtime/cli/options.h"

/* The contract of the exit status. */
enum {
    CLI_OK = 0,
    CLI_INTERNAL = 1,
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3,     /* the model or an input */
    CLI_REFUSED = 4,       /* placement: --require, --strict, unplaced nodes, unknown operators, memory */
    CLI_FAILED = 5,        /* while running; also a test or comparison that failed */
    CLI_INTERRUPTED = 130, /* Ctrl-C, after saying what there is */
    CLI_READER_GONE = 141  /* as the shell names a program that SIGPIPE ended */
};

typedef struct cli_ending {
    const tort_error *error;       /* code TORT_OK: all is well */
    int exit_status;               /* where the error does not say it; 0: it does */
    tort_session *const *sessions; /* those that were opened, for the placement line; entries may be NULL */
    int32_t session_count;
    const tort_report *total; /* in place of sessions: the sum of many; its `nodes` are not listed */
    cJSON *json;              /* with --json: what the command has to tell; taken over. NULL: nothing yet */
} cli_ending;

/* The file that was named: a model or a saved plan. */
const char *cli_model_path(const cli_options *options);

/* The JSON document that the command fills; NULL without --json. */
cJSON *cli_json_of(const cli_options *options);

/* Ends a command. With --json: adds the model and the placement (of several sessions: "sessions", a list of placements)
 * and, after a failure, "error", and prints the document. A failure is told on stderr, "tinyort COMMAND: message", and
 * nodes that nothing takes with their verdicts and cures. The last line on stderr is the placement. Returns the exit
 * status. */
int cli_end(const cli_options *options, const cli_ending *ending);
/* The same for a command without a session. */
int cli_end_plain(const cli_options *options, const tort_error *error, cJSON *json);

/* What a session decided. The caller frees with tort_report_free, before the session. */
tort_report *cli_report(tort_session *session);
/* "58 cuda, 3 cpu, 2 host": where the nodes of a report run. The caller frees. */
char *cli_counts_text(const tort_report *report);
/* The exit status of the contract. */
int cli_exit_status(tort_status status);

#endif
