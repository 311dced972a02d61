/* open_plan.c - opens a saved plan: the program has neither the loader nor protobuf-c, and no pass that decides. Its
 * nodes are fused already and its operators have no bodies, so its description of the build leaves both out. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/include/provider.h"
#include "runtime/include/tinyort_plan.h"
#include "tests/builds/open.h"

extern const tort_provider tort_provider_cpu;
static const tort_provider *const providers[] = {&tort_provider_cpu, NULL};

const struct tort_build tort_build = {.families = tort_op_families, .providers = providers};

tort_status open_session(const char *path, tort_model **model, tort_session **session, tort_error *error) {
    *model = NULL;
    return tort_session_load(NULL, path, NULL, session, error);
}
