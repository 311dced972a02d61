/* library_faults.c - kernels that libraries serve, while calls and allocations fail: a named error, nothing left
 * behind, and right values in the next run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/library_tester.h"
#include "tests/cuda/simulator.h"

/* A session, a run, and one at another shape; any call may fail. A failed query of one algorithm leaves the others. */
static tort_status use(library_tester *t, const tort_model *model, bool reshaped, const library_expectation *e,
                       const char *what, tort_error *error) {
    library_opened o;
    bool right = false;
    tort_status status = library_open(t, model, t->chain, NULL, &o);
    for (int i = 0; !status && i < 2; i++) {
        status = library_run_right(o.context, reshaped, 1 + i, &e[i], &right, &o.error);
        if (!status && !right) library_check(t, false, what, "a run that reports no failure gives wrong values");
    }
    *error = o.error;
    if (status && status != TORT_E_DEVICE_LOST && o.context) {
        status = library_run_right(o.context, reshaped, 1, &e[0], &right, &o.error);
        library_check(t, right, "the run after a failed one", status ? o.error.msg : what);
    }
    library_close(&o);
    return error->code;
}

void library_fail_every_call(library_tester *t, const tort_model *model, bool reshaped, int code) {
    const bool lost = code == cudaErrorLaunchFailure;
    library_expectation *e = malloc(2 * sizeof *e);
    tort_error error;
    char what[80];
    const bool tunes = strstr(t->chain, "tune=on"); /* what is only tried may fail, unless the device is lost */
    const int step = tunes ? 37 : 1;                /* trials are many calls, all alike */
    int calls = 1, that_matter = 0, failures = 0;
    if (!e) exit(2);
    for (int i = 0; i < 2; i++) library_expect(t, model, reshaped, 1 + i, &e[i]);
    for (int n = 0; n <= calls; n += n ? step : 1) { /* 0: none fails, to count them */
        snprintf(what, sizeof what, "%serror %d in call %d of %d", reshaped ? "reshaped, " : "", code, n, calls);
        library_play(t, 9);
        if (n) t->control->fail_nth(NULL, n, code);
        tort_status status = use(t, model, reshaped, e, what, &error);
        if (!n) calls = t->control->calls(NULL), that_matter = simulator_calls_that_matter(t->control);
        const bool named = lost ? status == TORT_E_DEVICE_LOST : status == TORT_E_RUN || status == TORT_E_MEMORY;
        library_check(t, !status || (n && named && *error.msg), what, status ? error.msg : "");
        failures += status != TORT_OK;
        library_check_leftovers(t, what);
    }
    library_check(t, failures > that_matter / step / (tunes && !lost ? 16 : 2), "failing calls", "most went unnoticed");
    free(e);
}

/* Host memory runs out at every place in turn. */
void library_fail_every_allocation(library_tester *t, const tort_model *model) {
    library_expectation *e = malloc(2 * sizeof *e);
    tort_status status = TORT_E_MEMORY;
    tort_error error;
    char what[80];
    if (!e) exit(2);
    for (int i = 0; i < 2; i++) library_expect(t, model, false, 1 + i, &e[i]);
    library_play(t, 9);
    for (int64_t n = 1; status && n < 5000; n++) {
        snprintf(what, sizeof what, "host allocation %lld fails", (long long)n);
        t->memory->fail_once = true;
        t->memory->fail_at = t->memory->allocations + n;
        status = use(t, model, false, e, what, &error);
        const bool reached = t->memory->allocations >= t->memory->fail_at;
        library_check(t, status ? status == TORT_E_MEMORY : true, what, error.msg);
        if (!status && reached) status = TORT_E_MEMORY; /* somebody did without */
        library_check_leftovers(t, what);
    }
    t->memory->fail_at = 0;
    library_check(t, !status, "failing host allocations", "there is no end to them");
    free(e);
}
