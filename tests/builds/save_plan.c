/* save_plan.c - saves the plan of a model, for a program with open_plan.c. Usage: save_plan MODEL PLAN. */
#include <stdio.h>

#include "runtime/include/tinyort_plan.h"
#include "tests/builds/open.h"

int main(int argc, char **argv) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    if (argc != 3) return 2;
    tort_status status = open_session(argv[1], &model, &session, &error);
    if (!status) status = tort_session_save(session, argv[2], &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    tort_session_free(session);
    tort_model_free(model);
    return status != TORT_OK;
}
