/* own_provider.c - an application that brings a provider of its own. */
#include "tests/fake_provider.h"
#include <stdio.h>
#include <string.h>

int main(void) {
    tort_error error;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_report *report = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "fake,cpu", .providers = fake_providers};
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_session_report(session, &report, &error);
    if (status) printf("%s\n", error.msg);
    int relus = 0;
    for (int i = 0; report && i < report->node_count; i++) relus += !strcmp(report->nodes[i]->provider, "fake");
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
    return status || relus != 3;
}
