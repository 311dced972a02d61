/* saved_plan.c - an application that keeps what it planned: the first start reads the model, every later one a plan. */
#include <stdio.h>
#include <string.h>
#include <tinyort_plan.h>

static tort_status plan_and_keep(const char *path, tort_error *error) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, error);
    if (!status) status = tort_session_create(NULL, model, NULL, &session, error);
    if (!status) status = tort_session_save(session, path, error);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

/* A plan that is not there, or of another build or machine, is made anew. */
static tort_status open_session(const char *path, int *planned, tort_session **session, tort_error *error) {
    tort_status status = tort_session_load(NULL, path, NULL, session, error);
    *planned = status != TORT_OK;
    if (*planned) status = plan_and_keep(path, error);
    if (*planned && !status) status = tort_session_load(NULL, path, NULL, session, error);
    return status;
}

static tort_status run(const char *path, int *planned, float *first, tort_error *error) {
    static const float pixels[64] = {1};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = (void *)(size_t)pixels};
    tort_tensor output = {.data = NULL};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_status status = open_session(path, planned, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, error);
    if (!status) memcpy(first, output.data, sizeof *first);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

int main(void) {
    tort_error error = {.msg = ""};
    static const char path[] = "tinyort-saved-plan.tmp"; /* in the folder of the test, which has models/ */
    float first[2] = {0, 1};
    int planned[2] = {0, 1};
    remove(path);
    tort_status status = run(path, &planned[0], &first[0], &error);
    if (!status) status = run(path, &planned[1], &first[1], &error);
    remove(path);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    return status || !planned[0] || planned[1] || memcmp(&first[0], &first[1], sizeof first[0]) != 0;
}
