/* digit.c - an application that recognizes a handwritten digit. */
#include <stdio.h>
#include <tinyort.h>

/* 0 is white, 9 is black. */
static const char picture[] = "00289776"
                              "00776881"
                              "01931830"
                              "01305600"
                              "00479830"
                              "00588610"
                              "00195000"
                              "00482000";

int main(void) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float pixels[64], scores[10] = {0};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = pixels};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 10}, .data = scores};
    for (int i = 0; i < 64; i++) pixels[i] = (float)(picture[i] - '0') / 9;

    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, NULL, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    int best = 0;
    for (int i = 1; i < 10; i++) best = scores[i] > scores[best] ? i : best;
    if (status)
        printf("%s: %s\n", tort_status_name(status), error.msg);
    else
        printf("%d\n", best);

    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}
