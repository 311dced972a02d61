/* library_tester.h - what tests of kernels that libraries serve share: sessions on the simulated device, runs of the
 * models of library_models.h, and what is left when they end. */
#ifndef TORT_TESTS_CUDA_LIBRARY_TESTER_H
#define TORT_TESTS_CUDA_LIBRARY_TESTER_H

#include "kernels/cudasim/control.h"
#include "runtime/include/provider.h"
#include "tests/counting_env.h"

enum { LIBRARY_MAX = 16384 }; /* elements of an output */

typedef struct library_tester {
    const tort_provider *provider;
    const cudasim_control *control;
    tort_counting_env *memory; /* host memory of sessions on the device */
    const char *chain;         /* for library_faults.c */
    int passed, failed;
    int marked[2]; /* calls of what `counted` names up to the mark */
} library_tester;

typedef struct library_opened {
    tort_session *session;
    tort_context *context;
    tort_error error;
} library_opened;

typedef struct library_expectation {
    float values[LIBRARY_MAX];
    int64_t count;
} library_expectation;

void library_check(library_tester *t, bool good, const char *what, const char *detail);
void library_check_leftovers(library_tester *t, const char *what);
/* Calls are counted from here on. */
void library_mark(library_tester *t);
/* The defaults again, with this cuDNN. */
void library_play(library_tester *t, int cudnn_version);
/* shape: of x, fixed for the session; NULL: left open. */
tort_status library_open(const library_tester *t, const tort_model *model, const char *chain, const int64_t *shape,
                         library_opened *o);
void library_close(library_opened *o);
const char *library_kernel_of(const library_opened *o, const char *name);
/* What cpu makes of it. */
void library_expect(const library_tester *t, const tort_model *model, bool reshaped, int64_t batch,
                    library_expectation *e);
/* Runs on `batch` pictures of 9 x 9; copies the output. */
tort_status library_run(tort_context *context, bool reshaped, int64_t batch, float *output, int64_t *count,
                        tort_error *error);
/* The same, and compares. */
tort_status library_run_right(tort_context *context, bool reshaped, int64_t batch, const library_expectation *e,
                              bool *right, tort_error *error);
void library_check_run(library_tester *t, library_opened *o, bool reshaped, int64_t batch, const library_expectation *e,
                       const char *what);
/* Since the mark. */
void library_check_calls(library_tester *t, const char *function, int expected, const char *what);

/* library_trials.c: tune=on. */
void library_trials(library_tester *t);

/* library_faults.c: every call that can fail does, once; every host allocation does, once. */
void library_fail_every_call(library_tester *t, const tort_model *model, bool reshaped, int code);
void library_fail_every_allocation(library_tester *t, const tort_model *model);

#endif
