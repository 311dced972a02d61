/* report_of.c - see report_of.h. */
#include "tests/report_of.h"

#include <stdlib.h>

tort_report *report_of(tort_session *session) {
    tort_report *report = NULL;
    if (tort_session_report(session, &report, NULL)) abort();
    return report;
}
