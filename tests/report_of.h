/* report_of.h - the report of a session and the ports of a model, for tests that want no more than that. */
#ifndef TORT_TESTS_REPORT_OF_H
#define TORT_TESTS_REPORT_OF_H

#include "runtime/include/tinyort.h"

/* The caller frees it, before the session. Ends the program where there is no memory for it. */
tort_report *report_of(tort_session *session);
tort_port input_of(const tort_model *model, int32_t index);
tort_port output_of(const tort_model *model, int32_t index);

#endif
