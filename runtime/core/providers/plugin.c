/* plugin.c - loads a provider from a shared object (plugin.h). It knows no provider by name. */
#include "runtime/core/providers/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void down(tort_condition *condition, const char *code, const char *message, const char *detail,
                 const char *cure) {
    *condition = (tort_condition){.ready = false};
    snprintf(condition->code, sizeof condition->code, "%s", code);
    snprintf(condition->message, sizeof condition->message, "%s: %s", message, detail);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
}

/* Opens the object beside the program, as in a build, or in ../lib, as it is installed. A RUNPATH would find it, too,
 * and with it every other library that somebody has put there. */
static void *open_beside_program(const char *file_name) {
    static const char *const folders[] = {"", "../lib/"};
    char program[PATH_MAX], path[PATH_MAX + 128];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    if (length <= 0 || (size_t)length >= sizeof program) return NULL;
    program[length] = 0;
    const char *last = strrchr(program, '/');
    for (size_t i = 0; last && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%.*s/%s%s", (int)(last - program), program, folders[i], file_name);
        if (access(path, F_OK) == 0) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return NULL;
}

const tort_provider *tort_plugin_load(const char *file_name, tort_condition *condition) {
    const tort_plugin *(*entry)(void) = NULL;
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) library = open_beside_program(file_name);
    if (!library) {
        const char *reason = dlerror();
        const size_t name = strlen(file_name); /* which the reason repeats */
        if (reason && !strncmp(reason, file_name, name) && !strncmp(reason + name, ": ", 2)) reason += name + 2;
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
