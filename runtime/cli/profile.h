/* profile.h - `tinyort bench --profile`: time of runs by unit and by operator, and the peak rates of this machine.
 *
 * A unit is a node of the report that runs, where a fusion is one node; the copies before a node are a unit, and so are
 * the conversions, and each part of a segment whose engine tells them. Runs with and without a profiler alternate, so
 * that its overhead is measured too. Only the faster half of the profiled runs is counted: the slower half contains
 * other work of the machine. Bytes and FLOPs come from a run of their own. profile.c collects; profile_tables.c and
 * profile_json.c print. */
#ifndef TORT_CLI_PROFILE_H
#define TORT_CLI_PROFILE_H

#include "runtime/cli/json.h"
#include "runtime/cli/options.h"
#include "runtime/include/tinyort_profile.h"

typedef struct cli_cost {
    double seconds;          /* of the counted runs, without nodes in bodies, which are units of their own */
    int64_t calls;           /* of the counted runs */
    double bytes, flops;     /* per run; negative if a part of it is unknown */
    double multiply_seconds; /* per run, if all FLOPs ran at the provider's peak rate; 0: unknown */
    double memory_seconds;   /* per run, if all bytes moved at the peak bandwidth; 0: unknown */
} cli_cost;

/* Rates per second, and percent of the peak; 0 if unknown. */
typedef struct cli_speed {
    double flops, bytes, flops_percent, bytes_percent;
} cli_speed;

typedef struct cli_profile_unit {
    tort_profiled what;
    int32_t node; /* index in the report; -1: the end of the run */
    const char *path, *op, *provider, *kernel;
    cli_cost cost;
} cli_profile_unit;

typedef struct cli_profile_operator {
    const char *op;
    int32_t units;
    cli_cost cost;
} cli_profile_operator;

/* A step of a profiled run; times in nanoseconds. */
typedef struct cli_profile_event {
    int64_t begin, end, inside;
    int32_t unit;
} cli_profile_event;

typedef struct cli_profile_run {
    double seconds;
    size_t first, count; /* range of `events` */
} cli_profile_run;

typedef struct cli_profile {
    tort_report *report; /* owned; units borrow its texts, but path and op of parts, which they own */
    cli_profile_unit *units;
    int32_t unit_count;
    int32_t *unit_of; /* unit by kind and node, -1: none (place_of in profile.c) */
    int32_t places;
    tort_peak *peaks; /* of the report's providers */
    bool finding_work;
    cli_profile_run *runs;
    int32_t run_count;
    cli_profile_event *events; /* of all runs, one run after the other */
    size_t event_count, event_capacity;
    cli_profile_event *latest; /* of the run in progress: a list that stays in the cache slows it least */
    size_t latest_count, latest_capacity;
    int32_t counted; /* number of runs summed up in `units`: the faster half */
    double seconds;  /* time of the counted runs */
    double overhead; /* median of the profiled runs / median of the others */
} cli_profile;

/* Creates a profile with a unit for each node of the session's report. */
cli_profile *cli_profile_new(tort_session *session);
void cli_profile_free(cli_profile *profile); /* NULL is allowed */
/* Observes the next run of the context: its bytes and FLOPs if `work`, otherwise its times. */
void cli_profile_begin(cli_profile *profile, tort_context *context, bool work);
/* Ends the observed run, which took `seconds`. Not called after a run that failed. */
void cli_profile_end(cli_profile *profile, tort_context *context, double seconds);
/* True if enough events are kept: no further run is to be observed. */
bool cli_profile_is_full(const cli_profile *profile);
/* Called after the last run: sums up, and measures the peak rates of the session's providers. */
void cli_profile_finish(cli_profile *profile, tort_session *session);

/* Sum of all units; unknown bytes and FLOPs count as 0. */
cli_cost cli_profile_total(const cli_profile *profile);
double cli_profile_share(const cli_profile *profile, double seconds); /* percent of the counted runs */
cli_speed cli_profile_speed(const cli_profile *profile, const cli_cost *cost);
/* The units, and their sums by operator, the most expensive first; the caller frees the array. */
const cli_profile_unit **cli_profile_order(const cli_profile *profile);
cli_profile_operator *cli_profile_operators(const cli_profile *profile, int32_t *count);

void cli_profile_print(const cli_profile *profile, bool all, int width);
void cli_profile_json(const cli_profile *profile, cJSON *root);
tort_status cli_profile_trace(const cli_profile *profile, const char *path, tort_error *error);

#endif
