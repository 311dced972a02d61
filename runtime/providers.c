/* providers.c - the list of providers in this build: the file that who embeds tinyort edits.
 *
 * Beside runtime/cli the only file of the core that may name a provider. */
#include "runtime/provider.h"

extern const tort_provider tort_provider_cpu;

const tort_provider *const tort_providers[] = {
    &tort_provider_cpu,
    NULL,
};
