/* profile.h - `tinyort bench --profile`: what runs spend their time on, by unit and by operator, and what this machine
 * could do.
 *
 * A unit is a node of the report that runs, a fusion as one; the copies and conversions before a node are one more.
 * Runs with and without a profiler alternate, so that what observing costs is measured too. The faster half of them
 * counts: what else the machine does is in the others. Bytes and FLOPs come from a run of their own. profile.c
 * collects, profile_tables.c and profile_json.c tell. */
#ifndef TORT_CLI_PROFILE_H
#define TORT_CLI_PROFILE_H

#include "runtime/cli/json.h"
#include "runtime/cli/options.h"
#include "runtime/tinyort_profile.h"

typedef struct cli_cost {
    double seconds;          /* of the runs that count; without those of bodies, which have units of their own */
    int64_t calls;           /* of these runs */
    double bytes, flops;     /* of one run; negative: not known of all of it */
    double multiply_seconds; /* a run, if its provider did its FLOPs as fast as it can; 0: not known */
    double memory_seconds;   /* a run, if it read and wrote its bytes as fast as it can; 0: not known */
} cli_cost;

/* A second; percent of what can be done. 0: not known. */
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

/* A step of a profiled run; nanoseconds as it was told. */
typedef struct cli_profile_event {
    int64_t begin, end, inside;
    int32_t unit;
} cli_profile_event;

typedef struct cli_profile_run {
    double seconds;
    size_t first, count; /* events */
} cli_profile_run;

typedef struct cli_profile {
    tort_report *report; /* owned; has the texts of units */
    cli_profile_unit *units;
    int32_t unit_count, unit_capacity;
    int32_t *unit_of; /* by what and node, see profile.c */
    int32_t places;
    tort_peak *peaks; /* of the report's providers */
    bool finding_work;
    cli_profile_run *runs;
    int32_t run_count, run_capacity;
    cli_profile_event *events; /* of all runs, one behind another */
    size_t event_count, event_capacity;
    int32_t counted; /* runs of which `units` has the cost: the faster half */
    double seconds;  /* that these took */
    double overhead; /* median of the profiled runs over that of the others */
} cli_profile;

/* Of a session that has run, or will run as it was planned. */
cli_profile *cli_profile_new(tort_session *session);
void cli_profile_free(cli_profile *profile); /* NULL is allowed */
/* Observes the next run of the context: for its work, or for its times. */
void cli_profile_begin(cli_profile *profile, tort_context *context, bool work);
/* The run is over, and took so long; not to be called after one that failed. */
void cli_profile_end(cli_profile *profile, tort_context *context, double seconds);
/* There are as many events as are kept: no further run is to be observed. */
bool cli_profile_is_full(const cli_profile *profile);
/* Behind the last run: sums up, and measures what the session's providers can do. */
void cli_profile_finish(cli_profile *profile, tort_session *session);

/* All units, of which those whose bytes or FLOPs are not known count as 0. */
cli_cost cli_profile_total(const cli_profile *profile);
double cli_profile_share(const cli_profile *profile, double seconds); /* of the runs that count, in percent */
cli_speed cli_profile_speed(const cli_profile *profile, const cli_cost *cost);
/* The units, and their sums by operator, the dearest first; the caller frees the array. */
const cli_profile_unit **cli_profile_order(const cli_profile *profile);
cli_profile_operator *cli_profile_operators(const cli_profile *profile, int32_t *count);

void cli_profile_print(const cli_profile *profile, bool all, int width);
void cli_profile_json(const cli_profile *profile, cJSON *root);
tort_status cli_profile_trace(const cli_profile *profile, const char *path, tort_error *error);

#endif
