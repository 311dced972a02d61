/* cli.h - what the subcommands share: their entries, small texts, memory. How they open things is in opening.h, how
 * they end in ending.h.
 *
 * The command line is an application of tinyort.h like any other; what shows more than that tells (inspect, ops,
 * providers, the opsets of a plan) or asks the graph what was meant (names, index inputs) looks at the core's private
 * headers. Every helper returns a status and fills an error; the subcommand's end tells it once. */
#ifndef TORT_CLI_CLI_H
#define TORT_CLI_CLI_H

#include <stdarg.h>
#include <stdio.h>

#include "runtime/cli/ending.h"
#include "runtime/cli/options.h"
#include "runtime/cli/print.h"

/* The subcommands: each returns the exit status. */
int cli_run(cli_options *options);
int cli_plan(cli_options *options);
int cli_providers(cli_options *options);
int cli_inspect(cli_options *options);
int cli_ops(cli_options *options);
int cli_test(cli_options *options);
int cli_compare(cli_options *options);
int cli_bench(cli_options *options);
int cli_version(cli_options *options);
int cli_schema(cli_options *options);

double cli_seconds(void); /* of a clock that only goes forward */

/* "1x3x224x224", "?x3", "batch x 3"; "scalar" for rank 0. Into buffer, which is returned. */
const char *cli_shape_text(int32_t rank, const int64_t *dims, const char *const *dim_names, char *buffer, size_t size);
const char *cli_count_text(double count, char *buffer, size_t size); /* "12.4 M", "640" */
const char *cli_bytes_text(double bytes, char *buffer, size_t size); /* "12.4 MB"; "?" for a negative number */

/* Memory of the command line itself: ends the program when there is none. */
void *cli_check_memory(void *ptr);          /* itself; NULL ends the program */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_realloc(void *ptr, size_t count, size_t size);
char *cli_copy_text(const char *text, size_t length);
/* Texts as they are, for paths and for messages that are put together; print.h escapes what is shown. */
char *cli_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
