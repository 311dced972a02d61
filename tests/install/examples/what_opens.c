/* what_opens.c - an application that asks which providers there are and which of them open on this machine, before it
 * has a model. Fails where the one that must open everywhere does not. */
#include <stdio.h>
#include <string.h>
#include <tinyort.h>

int main(void) {
    tort_error error = {.msg = ""};
    tort_probe *probe = NULL;
    int ready = 0;
    if (tort_interface() < TORT_INTERFACE) {
        printf("tinyort %s is older than what this program was compiled with\n", tort_version());
        return 1;
    }
    for (int32_t i = 0; i < tort_provider_count(); i++) {
        tort_provider_info info = {.struct_size = sizeof info};
        if (tort_provider_at(i, &info, &error)) return 1;
        printf("%s: %s; for %s\n", info.name, info.summary, info.built_for ? info.built_for : "any device");
    }
    if (tort_probe_providers(NULL, NULL, &probe, &error)) printf("%s\n", error.msg);
    for (int32_t i = 0; probe && i < probe->provider_count; i++) {
        const tort_probe_provider *provider = probe->providers[i];
        printf("%s %s: %s%s %s\n", provider->name, provider->code, provider->description, provider->message,
               provider->cure);
        ready |= provider->ready && strcmp(provider->name, "cpu") == 0;
    }
    tort_probe_free(probe);
    return !ready;
}
