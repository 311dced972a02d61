/* opened.c - a model with a session, in the memory of an allocator that counts (opened.h). */
#include "tests/unit/opened.h"

#include <criterion/criterion.h>

#include "tests/report_of.h"

const tort_env *opened_begin(opened *o) {
    *o = (opened){.session = NULL};
    tort_counting_env_init(&o->counting);
    return &o->counting.env;
}

void opened_session(opened *o, const char *chain, const tort_provider *const *providers, tort_session_options options) {
    cr_assert_not_null(o->model, "%s", o->error.msg);
    options.struct_size = sizeof options;
    options.chain = chain;
    options.providers = providers;
    o->status = tort_session_create(&o->counting.env, o->model, &options, &o->session, &o->error);
    if (o->session) o->report = report_of(o->session);
}

void opened_close(opened *o) {
    tort_context_free(o->context);
    tort_report_free(o->report);
    tort_session_free(o->session);
    tort_model_free(o->model);
    cr_expect_eq(o->counting.live_blocks, 0);
    cr_expect_eq(o->counting.wrong_sizes, 0);
}

tort_status opened_run(opened *o, const tort_tensor *inputs, int32_t input_count, tort_tensor *outputs, int32_t count) {
    tort_status status = o->context ? TORT_OK : tort_context_create(o->session, &o->context, &o->error);
    for (int32_t i = 0; i < count; i++) outputs[i] = (tort_tensor){.data = NULL};
    return status ? status : tort_context_run(o->context, inputs, input_count, outputs, count, &o->error);
}
