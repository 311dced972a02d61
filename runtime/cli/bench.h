/* bench.h - what bench.c measures of a model on a chain: for bench.c itself, for sweeps over sizes (sweep.c), and for
 * chains side by side (versus.c). */
#ifndef TORT_CLI_BENCH_H
#define TORT_CLI_BENCH_H

#include "runtime/cli/cli.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/json.h"
#include "runtime/cli/profile.h"

typedef struct cli_measurement {
    double *milliseconds; /* of every run, sorted */
    int64_t runs;
    double seconds;          /* in which they were made: by one context their sum, by several from begin to end */
    double peak_bytes;       /* peak resident memory of the process */
    double load_ms;          /* loading the model, planning, preparing weights */
    cli_profile *profile;    /* NULL without --profile */
    double *profiled;        /* milliseconds of the profile->run_count profiled runs, sorted */
    tort_device_calls calls; /* device calls of the last run without profiler */
} cli_measurement;

/* Everything that is freed in one place, whatever failed. */
typedef struct cli_bench_job {
    tort_model *loaded;      /* NULL if the session owns the model */
    const tort_model *model; /* to run */
    tort_session *session;
    tort_context **contexts;
    int32_t context_count;
    cli_inputs inputs;
    bool quiet;    /* the sizes that are made up were told before */
    bool profiled; /* each run is followed by an observed one */
    cli_measurement measured;
} cli_bench_job;

/* Opens the model on options->chains.items[0]. The caller frees *job, also after a failure. */
tort_status cli_bench_open(cli_bench_job *job, cli_options *options, tort_error *error);
/* Measures for options->seconds, or options->repeat runs, after a warm-up, and adds the runs to those of earlier turns.
 * *median, which may be NULL: of this turn, in milliseconds. */
tort_status cli_bench_turn(cli_bench_job *job, const cli_options *options, double *median, tort_error *error);
void cli_measurement_free(cli_measurement *m);
void cli_bench_free(cli_bench_job *job);
int cli_by_size(const void *a, const void *b); /* for qsort: numbers of type double, the smallest first */
bool cli_bench_interrupted(void);              /* by Ctrl-C: the runs so far were measured */

double cli_percentile(const cli_measurement *m,
                      double fraction); /* milliseconds; `fraction` of the runs took at most that */
/* Fills in "threads", "contexts", "runs", "runs_per_second", "latency_ms" and "load_ms". */
void cli_bench_json(const cli_bench_job *job, const tort_report *report, cJSON *to);

/* sweep.c: `bench --sweep`. */
int cli_sweep(cli_options *options);
/* versus.c: `bench --ep A --ep B`. */
int cli_versus(cli_options *options);

#endif
