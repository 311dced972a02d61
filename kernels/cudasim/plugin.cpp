/* plugin.cpp - the only function that libtinyort-cudasim.so exports: the CUDA provider on the simulated device, with an
 * option more, `play`, which makes the machine a broken one (machines.cpp). */
extern "C" {
#include "runtime/core/providers/plugin.h"
}

#include "kernels/cudasim/api.h"

#include <stdio.h>
#include <string.h>

extern "C" const tort_provider tort_provider_cudasim;

namespace {

const char play_option[] = "play";

/* False: no machine has this name. The machine is whole again for the next provider that opens without the option. */
bool play(const char *name) {
    static bool played;
    cudasim_settings settings = tinyort_cudasim()->defaults();
    if (name && !cudasim::arrange_machine(name, &settings)) return false;
    if (name || played) tinyort_cudasim()->configure(&settings);
    played = name != nullptr;
    return true;
}

void refuse(const char *name, tort_condition *condition) {
    *condition = {};
    snprintf(condition->code, sizeof condition->code, "BAD_OPTION");
    snprintf(condition->message, sizeof condition->message, "play=%.80s is no machine that can be simulated", name);
    size_t used = (size_t)snprintf(condition->cure, sizeof condition->cure, "take one of");
    for (size_t i = 0; const char *machine = cudasim::machine_name(i); i++) {
        if (used + strlen(machine) + 6 > sizeof condition->cure) {
            snprintf(condition->cure + used, sizeof condition->cure - used, " ...");
            return;
        }
        used += (size_t)snprintf(condition->cure + used, sizeof condition->cure - used, " %s", machine);
    }
}

void open_played(const tort_provider_config *config, void **device, tort_target *target, tort_condition *condition) {
    const char *name = tort_provider_option_get(config, play_option);
    *device = nullptr;
    if (play(name))
        tort_provider_cudasim.open(config, device, target, condition);
    else
        refuse(name, condition);
}

/* The provider of kernels/cuda with open_played, and its options and one more. */
const tort_provider *played_provider() {
    enum { MAX_OPTIONS = 16 };
    static tort_option_help options[MAX_OPTIONS + 2];
    static const tort_provider provider = [] {
        tort_provider made = tort_provider_cudasim;
        size_t count = 0;
        for (; tort_provider_cudasim.options[count].key && count < MAX_OPTIONS; count++)
            options[count] = tort_provider_cudasim.options[count];
        options[count] = {play_option, "old_driver", "simulates a broken machine; a name that is none lists them"};
        made.options = options;
        made.open = open_played;
        return made;
    }();
    return &provider;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const tort_plugin *tort_provider_plugin(void) {
    static const tort_plugin plugin = {TORT_PROVIDER_ABI, played_provider(), tinyort_cudasim()};
    return &plugin;
}
