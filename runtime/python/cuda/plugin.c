/* plugin.c - the only function that libtinyort-cuda.so exports: the provider cuda for the package for Python, which is
 * itself without CUDA (runtime/core/providers/plugin.h). */
#include "runtime/core/providers/plugin.h"

extern const tort_provider tort_provider_cuda;

TORT_API const tort_plugin *tort_provider_plugin(void);
TORT_API const tort_plugin *tort_provider_plugin(void) {
    static const tort_plugin plugin = {.abi = TORT_PROVIDER_ABI, .provider = &tort_provider_cuda};
    return &plugin;
}
