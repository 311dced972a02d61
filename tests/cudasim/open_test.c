/* open_test.c - the shared object of the simulated device loads by itself and answers through its one symbol.
 * Usage: open_test LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cudasim/control.h"
#include "runtime/core/providers/plugin.h"

static int fail(const char *what, const char *why) {
    printf("FAILED: %s: %s\ncudasim-open: 0 passed, 1 failed\n", what, why);
    return 1;
}

int main(int argc, char **argv) {
    const tort_plugin *(*entry)(void);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) return fail("dlopen", argc > 1 ? dlerror() : "no library given");
    void *symbol = dlsym(library, "tort_provider_plugin");
    if (!symbol) return fail("dlsym", dlerror());
    memcpy(&entry, &symbol, sizeof entry);
    const tort_plugin *plugin = entry();
    if (plugin->abi != TORT_PROVIDER_ABI || strcmp(plugin->provider->name, "cudasim"))
        return fail("provider", "not cudasim of this version");
    const cudasim_control *control = plugin->extra;
    if (control->version != CUDASIM_CONTROL_VERSION) return fail("control", "not of the header's version");
    const cudasim_settings settings = control->defaults();
    control->configure(&settings);
    if (settings.device_count != 2 || control->calls(NULL) || control->leftovers(NULL, 0) || *control->failure())
        return fail("state", "not that of a fresh machine with two devices");
    printf("cudasim-open: 1 passed, 0 failed\n");
    return 0;
}
