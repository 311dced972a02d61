/* opened.h - a model with a session and all that tests ask of it, in the memory of an allocator that counts. */
#ifndef TORT_TESTS_UNIT_OPENED_H
#define TORT_TESTS_UNIT_OPENED_H

#include "runtime/include/provider.h"
#include "tests/counting_env.h"

typedef struct opened {
    tort_counting_env counting;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_report *report;
    tort_error error;
    tort_status status;
} opened;

/* The environment for the model, which the caller makes: o->model. */
const tort_env *opened_begin(opened *o);
/* The session of that model, and its report where there is one; o->status says how it went. */
void opened_session(opened *o, const char *chain, const tort_provider *const *providers, tort_session_options options);
/* Frees all of it, and expects that nothing is left. */
void opened_close(opened *o);
/* Runs it in its context, which is made first; outputs are the context's. */
tort_status opened_run(opened *o, const tort_tensor *inputs, int32_t input_count, tort_tensor *outputs, int32_t count);

#endif
