/* plugin.cpp - the only function that libtinyort-cudasim.so exports. */
extern "C" {
#include "runtime/providers/plugin.h"
}

#include "kernels/cudasim/control.h"

extern "C" const tort_provider tort_provider_cudasim;

extern "C" __attribute__((visibility("default"))) const tort_plugin *tort_provider_plugin(void) {
    static const tort_plugin plugin = {TORT_PROVIDER_ABI, &tort_provider_cudasim, tinyort_cudasim()};
    return &plugin;
}
