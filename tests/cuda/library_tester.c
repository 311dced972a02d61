/* library_tester.c - see library_tester.h. */
#include "tests/cuda/library_tester.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/library_models.h"
#include "tests/report_of.h"

/* What convolves: also tried once for each plan, before its first run. */
static const char *const counted[] = {"cudnnConvolutionForward", "cudnnConvolutionBiasActivationForward"};

void library_check(library_tester *t, bool good, const char *what, const char *detail) {
    t->passed += good;
    t->failed += !good;
    if (!good) printf("FAILED: %s: %s\n", what, detail);
}

void library_check_leftovers(library_tester *t, const char *what) {
    char text[300];
    if (t->control->leftovers(text, sizeof text)) library_check(t, false, what, text);
    if (t->memory->live_blocks || t->memory->wrong_sizes) library_check(t, false, what, "host memory is not freed");
    t->memory->live_blocks = t->memory->wrong_sizes = 0; /* told once */
}

/* Calls are counted from here on. */
void library_mark(library_tester *t) {
    for (int i = 0; i < 2; i++) t->marked[i] = t->control->calls(counted[i]);
}

void library_play(library_tester *t, int cudnn_version) {
    cudasim_settings settings = t->control->defaults();
    settings.cudnn_version = cudnn_version;
    t->control->configure(&settings);
    library_mark(t);
}

/* ---- sessions and runs ---- */

/* shape: of x, fixed for the session; NULL: left open. */
tort_status library_open(const library_tester *t, const tort_model *model, const char *chain, const int64_t *shape,
                         library_opened *o) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_input_shape fixed = {.name = "x", .rank = 4};
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .providers = providers,
                                    .shapes = &fixed,
                                    .shape_count = shape ? 1 : 0};
    if (shape) memcpy(fixed.dims, shape, 4 * sizeof *shape);
    *o = (library_opened){NULL, NULL, {.node = -1}};
    const tort_env *env = !strcmp(chain, "cpu") ? NULL : &t->memory->env;
    tort_status status = tort_session_create(env, model, &options, &o->session, &o->error);
    if (!status) status = tort_context_create(o->session, &o->context, &o->error);
    return status;
}

void library_close(library_opened *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
}

const char *library_kernel_of(const library_opened *o, const char *name) {
    tort_report *report = report_of(o->session);
    const char *kernel = ""; /* a name in a row: it outlives the report */
    for (int32_t i = 0; i < report->node_count; i++)
        if (!strcmp(report->nodes[i]->name, name)) kernel = report->nodes[i]->kernel;
    tort_report_free(report);
    return kernel;
}

/* Runs on `batch` pictures of 9 x 9; copies the output. */
tort_status library_run(tort_context *context, bool reshaped, int64_t batch, float *output, int64_t *count,
                        tort_error *error) {
    float *x = malloc(LIBRARY_MAX * sizeof *x);
    int64_t shape[4] = {batch, 3, 9, 9};
    if (!x) exit(2);
    for (int i = 0; i < LIBRARY_MAX; i++) x[i] = library_value(i + (int)batch);
    tort_tensor inputs[] = {{TORT_FLOAT, 4, {batch, 3, 9, 9}, x}, {TORT_INT64, 1, {4}, shape}};
    tort_tensor made = {.data = NULL};
    if (reshaped) inputs[0] = (tort_tensor){TORT_FLOAT, 1, {batch * 3 * 9 * 9}, x};
    tort_status status = tort_context_run(context, inputs, reshaped ? 2 : 1, &made, 1, error);
    if (!status) {
        (void)tort_tensor_count(&made, count);
        memcpy(output, made.data, (size_t)*count * sizeof *output);
    }
    free(x);
    return status;
}

/* What cpu makes of it. */
void library_expect(const library_tester *t, const tort_model *model, bool reshaped, int64_t batch,
                    library_expectation *e) {
    library_opened o;
    tort_status status = library_open(t, model, "cpu", NULL, &o);
    if (!status) status = library_run(o.context, reshaped, batch, e->values, &e->count, &o.error);
    if (status) {
        printf("on cpu: %s\n", o.error.msg);
        exit(2);
    }
    library_close(&o);
}

/* Runs and compares. */
tort_status library_run_right(tort_context *context, bool reshaped, int64_t batch, const library_expectation *e,
                              bool *right, tort_error *error) {
    float *found = malloc(LIBRARY_MAX * sizeof *found);
    int64_t count = 0;
    if (!found) exit(2);
    tort_status status = library_run(context, reshaped, batch, found, &count, error);
    *right = !status && count == e->count;
    for (int64_t i = 0; *right && i < count; i++)
        *right = fabsf(found[i] - e->values[i]) <= 1e-5f + 1e-4f * fabsf(e->values[i]);
    free(found);
    return status;
}

void library_check_run(library_tester *t, library_opened *o, bool reshaped, int64_t batch, const library_expectation *e,
                       const char *what) {
    bool right;
    tort_status status = library_run_right(o->context, reshaped, batch, e, &right, &o->error);
    library_check(t, right, what, status ? o->error.msg : "wrong values");
}

void library_check_calls(library_tester *t, const char *function, int expected, const char *what) {
    char text[120];
    int calls = t->control->calls(function);
    for (int i = 0; i < 2; i++)
        if (!strcmp(function, counted[i])) calls -= t->marked[i];
    snprintf(text, sizeof text, "%d calls of %s, expected %d", calls, function, expected);
    library_check(t, calls == expected, what, text);
}
