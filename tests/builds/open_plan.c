/* open_plan.c - opens a saved plan: the program has neither the loader nor protobuf-c, and no pass that decides. */
#include "runtime/include/tinyort_plan.h"
#include "tests/builds/open.h"

tort_status open_session(const char *path, tort_model **model, tort_session **session, tort_error *error) {
    *model = NULL;
    return tort_session_load(NULL, path, NULL, session, error);
}
