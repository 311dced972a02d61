/* plugin.h - a provider in a shared object of its own, opened when a chain first names it. */
#ifndef TORT_RUNTIME_PROVIDERS_PLUGIN_H
#define TORT_RUNTIME_PROVIDERS_PLUGIN_H

#include "runtime/provider.h"

/* What the object's one exported function, `const tort_plugin *tort_provider_plugin(void)`, returns. */
typedef struct tort_plugin {
    uint32_t abi; /* TORT_PROVIDER_ABI */
    const tort_provider *provider;
    const void *extra; /* the object's own; tests of cudasim find its control here */
} tort_plugin;

/* The provider in the shared object of that name, looked up by the system's loader; NULL: the condition says why. The
 * object stays open: its code may be in use as long as the process lives. */
const tort_provider *tort_plugin_load(const char *file_name, tort_condition *condition);

#endif
