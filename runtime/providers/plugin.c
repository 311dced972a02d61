/* plugin.c - loads a provider from a shared object (plugin.h). It knows no provider by name. */
#include "runtime/providers/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void down(tort_condition *condition, const char *code, const char *message, const char *detail,
                 const char *cure) {
    *condition = (tort_condition){.ready = false};
    snprintf(condition->code, sizeof condition->code, "%s", code);
    snprintf(condition->message, sizeof condition->message, "%s: %s", message, detail);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
}

const tort_provider *tort_plugin_load(const char *file_name, tort_condition *condition) {
    const tort_plugin *(*entry)(void) = NULL;
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        down(condition, "NOT_BUILT", file_name, reason ? reason : "not found",
             "build it with make, and leave it beside the program or where the loader looks");
        return NULL;
    }
    void *symbol = dlsym(library, "tort_provider_plugin");
    memcpy(&entry, &symbol, sizeof entry);
    const tort_plugin *plugin = entry ? entry() : NULL;
    if (!plugin || plugin->abi != TORT_PROVIDER_ABI) {
        down(condition, "FAILED", file_name, "it is not a provider of this version of tinyort", "build both anew");
        dlclose(library);
        return NULL;
    }
    return plugin->provider;
}
