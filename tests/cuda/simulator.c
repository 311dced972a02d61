/* simulator.c - see simulator.h. */
#include "tests/cuda/simulator.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/providers/plugin.h"

bool simulator_open(const tort_provider **provider, const cudasim_control **control) {
    const tort_plugin *(*entry)(void) = NULL;
    void *library = dlopen("libtinyort-cudasim.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tort_provider_plugin") : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return false;
    *provider = entry()->provider;
    *control = entry()->extra;
    return (*control)->version == CUDASIM_CONTROL_VERSION;
}

int simulator_calls_that_matter(const cudasim_control *control) {
    return control->calls(NULL) - control->calls("cuCtxPushCurrent") - control->calls("cuCtxPopCurrent");
}
