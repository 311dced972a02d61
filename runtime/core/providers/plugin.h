/* plugin.h - a provider in its own shared object, loaded when a chain first names it. */
#ifndef TORT_RUNTIME_PROVIDERS_PLUGIN_H
#define TORT_RUNTIME_PROVIDERS_PLUGIN_H

#include "runtime/include/provider.h"

/* Returned by the only exported function, `const tort_plugin *tort_provider_plugin(void)`. */
typedef struct tort_plugin {
    uint32_t abi; /* TORT_PROVIDER_ABI */
    const tort_provider *provider;
    const void *extra; /* private to the object; tests of cudasim find its controls here */
} tort_plugin;

/* Loads the provider from the shared object of that name, found by dlopen's rules, or beside the program, or in
 * ../lib from there; NULL: the condition says why. The object is never closed, as its code may be in use as long as the
 * process lives. */
const tort_provider *tort_plugin_load(const char *file_name, tort_condition *condition);

#endif
