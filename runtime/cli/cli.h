/* cli.h - shared by all subcommands: entry points, text helpers, memory. opening.h opens models and sessions, ending.h
 * ends a command.
 *
 * The command line is an application of tinyort.h like any other. Only commands that show more than the public API
 * offers (inspect, ops, providers, the opsets of a plan) and code that looks up names and index inputs in the graph
 * include private headers of the core. Every helper returns a status and fills an error; the end of the subcommand
 * prints it once. */
#ifndef TORT_CLI_CLI_H
#define TORT_CLI_CLI_H

#include <stdarg.h>
#include <stdio.h>

#include "runtime/cli/ending.h"
#include "runtime/cli/options.h"
#include "runtime/cli/print.h"

/* The subcommands: each returns the exit status. */
#define COMMAND(number, name, ...) int cli_##name(cli_options *options);
#include "runtime/cli/command_list.h"

extern const cli_command cli_commands[]; /* commands.c; ends with a name of NULL */
void cli_print_summary(void);            /* lists them on stdout */

/* Texts of both the page of commands and the manual. */
#define CLI_WHAT_IT_IS "runs ONNX models, and reports where every node ran and why"
#define CLI_FIRST_TRY "  tinyort inspect model.onnx\n  tinyort run model.onnx --ep cuda,cpu --random 1\n"
#define CLI_EXIT_STATUSES                                                                                              \
    "0 success, 1 a bug in tinyort, 2 usage, 3 bad model or input, 4 placement refused,\n"                             \
    "5 failed while running, 130 interrupted.\n"

double cli_seconds(void); /* seconds of a monotonic clock */

const char *cli_commit(void); /* of this build; version.c */
/* A shape as text: "1x3x224x224", "?x3", "batch x 3"; "scalar" for rank 0. Returned in buffer. */
const char *cli_shape_text(int32_t rank, const int64_t *dims, const char *const *dim_names, char *buffer, size_t size);
const char *cli_count_text(double count, char *buffer, size_t size); /* "12.4 M", "640" */
const char *cli_bytes_text(double bytes, char *buffer, size_t size); /* "12.4 MB"; "?" for a negative number */

/* Memory of the command line itself: ends the program with CLI_REFUSED if there is none left. */
void cli_memory_json(const char *command); /* from now on also with a JSON document; borrows */
void cli_memory_returns(void);     /* for commands that open many sessions: what one held goes back to the system */
void *cli_check_memory(void *ptr); /* returns ptr; NULL ends the program */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_realloc(void *ptr, size_t count, size_t size);
/* A list with room for one more than `count`. Its capacity is a power of two, so all of its growth is by this. */
void *cli_room(void *list, size_t count, size_t size);
char *cli_copy_text(const char *text, size_t length);
/* Formats without escaping, for paths and for building messages; print.h escapes what is printed. */
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
