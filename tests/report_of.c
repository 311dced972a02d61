/* report_of.c - see report_of.h. */
#include "tests/report_of.h"

#include <stdlib.h>

tort_report *report_of(tort_session *session) {
    tort_report *report = NULL;
    if (tort_session_report(session, &report, NULL)) abort();
    return report;
}

tort_port input_of(const tort_model *model, int32_t index) {
    tort_port port = {.struct_size = sizeof port};
    tort_model_input(model, index, &port, NULL);
    return port;
}

tort_port output_of(const tort_model *model, int32_t index) {
    tort_port port = {.struct_size = sizeof port};
    tort_model_output(model, index, &port, NULL);
    return port;
}
