/* cancel.c - an application that ends a run from another thread, as it does when its user loses patience. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <tinyort.h>

static atomic_bool noticed;

/* Again and again: a cancellation that comes behind the last step of a run is too late for it. */
static void *lose_patience(void *context) {
    while (!noticed) tort_context_cancel(context);
    return NULL;
}

static tort_status run(tort_context *context, tort_error *error) {
    static const float pixels[64] = {0};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = (void *)(size_t)pixels};
    tort_tensor output = {.data = NULL};
    return tort_context_run(context, &input, 1, &output, 1, error);
}

int main(void) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    pthread_t other;
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, NULL, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status && pthread_create(&other, NULL, lose_patience, context) == 0) {
        while (!(status = run(context, &error))) continue;
        noticed = true;
        pthread_join(other, NULL);
    }
    printf("%s: %s\n", tort_status_name(status), error.msg);
    const int cancelled = status == TORT_E_CANCELLED && error.node >= 0;
    if (cancelled) run(context, &(tort_error){.msg = ""}); /* the last cancellation may be for this run */
    const int again = cancelled && run(context, &error) == TORT_OK;
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return !again;
}
