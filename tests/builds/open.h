/* open.h - how firmware.c gets its session: from a model (open_model.c) or from a saved plan (open_plan.c), of which
 * the linker takes one. */
#ifndef TORT_TESTS_BUILDS_OPEN_H
#define TORT_TESTS_BUILDS_OPEN_H

#include "runtime/include/tinyort.h"

/* *model: NULL if the session owns it. The caller frees both, also after a failure. */
tort_status open_session(const char *path, tort_model **model, tort_session **session, tort_error *error);

#endif
