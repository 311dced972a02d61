/* provider_tester.h - what the tests of the CUDA provider's host code share: the simulated machine, a model of many
 * small nodes and what cpu makes of it, and looks at what was left behind. */
#ifndef TORT_TESTS_CUDA_PROVIDER_TESTER_H
#define TORT_TESTS_CUDA_PROVIDER_TESTER_H

#include "kernels/cudasim/control.h"
#include "runtime/core/providers/plugin.h"
#include "tests/counting_env.h"
#include "tests/cuda/provider_model.h"

typedef struct tester {
    const tort_provider *provider;
    const cudasim_control *control;
    tort_counting_env *memory;            /* host memory of every session */
    provider_model model;                 /* some thirty nodes */
    float expected[PROVIDER_MODEL_COUNT]; /* its output on cpu */
    int passed, failed;
} tester;

void tester_check(tester *t, bool good, const char *what, const char *detail);
/* NULL: the settings that control.h names as defaults. */
void tester_configure(tester *t, const cudasim_settings *settings);
tort_status tester_open(const tester *t, const provider_model *model, const char *chain, tort_session **session,
                        tort_error *error);
/* A session of the tester's model, and a context of it; the caller frees both, also after a failure. */
tort_status tester_start(const tester *t, const char *chain, tort_session **session, tort_context **context,
                         tort_error *error);
/* Makes what is expected; false: it does not run, and said why. */
bool tester_run_on_cpu(tester *t);
/* Every output is what cpu makes, within rounding. */
bool tester_is_right(const tester *t, const float *found);
void tester_check_device(tester *t, const char *what); /* nothing is left on it */
/* When no session is left: neither on the device nor in host memory. */
void tester_check_leftovers(tester *t, const char *what);

void provider_test_images(tester *t);   /* provider_images.c */
void provider_test_attend(tester *t);   /* provider_attend.c */
void provider_test_faults(tester *t);   /* provider_faults.c */
void provider_test_devices(tester *t);  /* provider_devices.c */
void provider_test_current(tester *t);  /* provider_current.c */
void provider_test_bindings(tester *t); /* provider_bindings.c */
void provider_test_spaces(tester *t);   /* provider_spaces.c */
void provider_test_growing(tester *t);  /* provider_growing.c */
void provider_test_calls(tester *t);    /* provider_calls.c */
void provider_test_graphs(tester *t);   /* provider_graphs.c */

#endif
