/* Tests of profiles: the table of operators whose FLOPs are counted, and what a profiler is told. The command line's
 * tests/cli/profiling.py counts by hand; tests/install/examples/profile.c profiles from outside of the tree. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"
#include "runtime/include/tinyort_profile.h"
#include "tests/build_model.h"
#include "tests/fake_provider.h"

static const tort_op *newest_row(const char *domain, const char *name) {
    const tort_op *newest = NULL;
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++)
            if (!strcmp(row->name, name) && !strcmp(row->domain, domain)) newest = row;
    return newest;
}

Test(profile, every_counted_operator_is_one_of_the_build) {
    for (const tort_flops *counted = tort_build.flops; counted->name; counted++) {
        const tort_op *row = newest_row(counted->domain, counted->name);
        cr_assert_not_null(row, "%s %s", counted->domain, counted->name);
        cr_assert(tort_op_is_counted(row), "%s", counted->name);
    }
}

/* Its params are not those of the build. */
Test(profile, an_operator_of_the_application_is_not_counted) {
    const tort_op own = {.domain = "", .name = "Conv", .since = 1, .until = TORT_NEWEST_OPSET};
    cr_assert_not(tort_op_is_counted(&own));
    cr_assert_lt(tort_op_flops(&own, NULL), 0);
    cr_assert_lt(tort_op_flops(newest_row("", "Relu"), NULL), 0);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

typedef struct notes {
    int32_t nodes, copies, of_fake;
    double bytes;
} notes;

static void note(void *ud, const tort_profile_step *step) {
    notes *n = ud;
    cr_assert(step->begin <= step->end && step->inside == 0);
    n->nodes += step->what == TORT_PROFILED_NODE;
    n->copies += step->what == TORT_PROFILED_COPY;
    n->of_fake += !strcmp(step->provider, "fake");
    if (step->bytes > 0) n->bytes += step->bytes;
}

typedef struct fixture {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
} fixture;

/* Of [n] floats; the sum reads one value twice. */
static void open_fixture(fixture *f, const char *chain) {
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    const int32_t y = build_node(&b, "Neg", "first", (const int32_t[]){x, -1});
    build_output(&b, build_node(&b, "Add", "sum", (const int32_t[]){y, y, -1}));
    f->model = build_end(&b, &f->error);
    cr_assert_not_null(f->model, "%s", f->error.msg);
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = fake_providers};
    cr_assert_eq(tort_session_create(NULL, f->model, &options, &f->session, &f->error), TORT_OK, "%s", f->error.msg);
    cr_assert_eq(tort_context_create(f->session, &f->context, &f->error), TORT_OK, "%s", f->error.msg);
}

static notes run_fixture(fixture *f, int64_t count, bool work) {
    float data[8] = {1, 2, 3};
    const tort_tensor x = {.type = TORT_FLOAT, .rank = 1, .dims = {count}, .data = data};
    tort_tensor y = {.data = NULL};
    notes n = {0};
    tort_context_profile(f->context, work, note, &n);
    cr_assert_eq(tort_context_run(f->context, &x, 1, &y, 1, &f->error), TORT_OK, "%s", f->error.msg);
    return n;
}

static void close_fixture(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

Test(profile, each_step_is_told_with_the_bytes_of_its_run) {
    fixture f = {0};
    open_fixture(&f, "cpu");
    for (int64_t count = 2; count <= 8; count *= 2) {
        const notes n = run_fixture(&f, count, true);
        cr_assert_eq(n.nodes, 2);
        cr_assert_eq(n.copies, 0);
        cr_assert_eq(n.bytes, 4.0 * (double)count * (2 + 3));
    }
    cr_assert_eq(run_fixture(&f, 4, false).bytes, 0);
    close_fixture(&f);
}

Test(profile, the_peak_of_a_provider_that_cannot_tell) {
    fixture f = {0};
    tort_peak peak = {1, 1};
    tort_device_calls calls = {1, 1, 1, 1};
    open_fixture(&f, "fake,cpu");
    const notes n = run_fixture(&f, 4, true);
    cr_assert_eq(n.nodes, 2);
    cr_assert_gt(n.of_fake, 0);
    cr_assert_eq(tort_session_peak(f.session, "fake", &peak, &f.error), TORT_OK);
    cr_assert_eq(peak.flops, 0);
    cr_assert_eq(peak.bytes, 0);
    cr_assert_eq(tort_session_peak(f.session, "toaster", &peak, &f.error), TORT_E_USAGE);
    cr_assert_eq(tort_context_calls(f.context, "fake", &calls, &f.error), TORT_OK);
    cr_assert_eq(calls.launches + calls.copies + calls.waits + calls.allocations, 0, "it does not count");
    cr_assert_eq(tort_context_calls(f.context, "toaster", &calls, &f.error), TORT_E_USAGE);
    cr_assert_not_null(strstr(f.error.msg, "toaster"));
    close_fixture(&f);
}
