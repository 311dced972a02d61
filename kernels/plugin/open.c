/* open.c - loads a plugin, finds its devices on this machine, and makes the EP of a session (host.h).
 *
 * A shared object stays loaded as long as the process lives: its threads may run code of it. */
#include <dlfcn.h>

#include "kernels/plugin/host.h"
#include "runtime/core/base/ascii.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

void tort_host_words(tort_host *host, ort_status *status, char *text, size_t size) {
    pthread_mutex_lock(&host->logger.lock);
    const char *own = tort_host_error_message(status), *log = host->logger.used ? host->logger.words : "";
    if (*own && strstr(log, own)) own = "";
    snprintf(text, size, "%s%s%s", own, *own && *log ? "; log: " : "", log);
    host->logger.used = 0;
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    pthread_mutex_unlock(&host->logger.lock);
    tort_host_release_status(status);
}

/* Fills the condition of a plugin that is down. False, for the caller to return. */
static bool down(tort_condition *condition, const char *code, const char *cure, const char *what, const char *words) {
    *condition = (tort_condition){0};
    snprintf(condition->code, sizeof condition->code, "%s", code);
    snprintf(condition->message, sizeof condition->message, "%s%s%s", what, *words ? ": " : "", words);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
    return false;
}

static bool failed(tort_host *host, ort_status *status, tort_condition *condition, const char *what) {
    char words[640];
    tort_host_words(host, status, words, sizeof words);
    return down(condition, "FAILED", "leave the provider out of the chain, or look at the plugin's own documentation",
                what, words);
}

/* ---- the shared object ------------------------------------------------------------------------------------------- */

/* The shared objects that hosts of tinyort have opened. A plugin keeps the tables of its host in a variable of its own,
 * one in the process: two hosts, such as onnxruntime and tinyort, would be given each other's objects. So this list is
 * one in the process, too. */
static struct {
    pthread_mutex_t lock;
    void *libraries[16];
    size_t count;
} ours = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_ours(const void *library) {
    bool found = false;
    for (size_t i = 0; i < ours.count; i++) found |= ours.libraries[i] == library;
    return found;
}

/* Opens the shared object, unless others have before: then *others is set. */
static void *open_once(const char *path, bool *others) {
    pthread_mutex_lock(&ours.lock);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    *others = library && !is_ours(library);
    if (!library) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const bool room = ours.count < sizeof ours.libraries / sizeof *ours.libraries;
    if (library && !*others && !is_ours(library) && room) ours.libraries[ours.count++] = library;
    pthread_mutex_unlock(&ours.lock);
    return *others ? NULL : library;
}

static bool load(tort_host *host, ort_create_factories **create, tort_condition *condition) {
    bool others;
    void *library = open_once(host->path, &others);
    if (others)
        return down(condition, "FAILED", "run the other one in a process of its own; a copy of the file does not help",
                    "another host of plugins in this process, such as onnxruntime, has loaded it, and it serves one",
                    "");
    if (!library) {
        char words[640];
        const char *reason = dlerror();
        snprintf(words, sizeof words, "%s", reason ? reason : "it cannot be loaded");
        if (dlopen(NULL, RTLD_NOW))
            return down(condition, "FAILED", "install what it says, or name another file: library=FILE",
                        "the plugin cannot be loaded", words);
        return down(condition, "NOT_BUILT", "take a build of tinyort that is linked dynamically",
                    "a static program loads no plugins", words);
    }
    void *symbols[] = {dlsym(library, "CreateEpFactories"), dlsym(library, "ReleaseEpFactory")};
    if (!symbols[0] || !symbols[1])
        return down(condition, "FAILED", "name the file that the package's get_library_path() gives", host->path,
                    "it exports no CreateEpFactories and ReleaseEpFactory: it is no plugin");
    memcpy(create, &symbols[0], sizeof *create);
    memcpy(&host->release_factory, &symbols[1], sizeof host->release_factory);
    return true;
}

static bool make_factories(tort_host *host, const char *name, ort_create_factories *create, tort_condition *condition) {
    ort_factory *factories[TORT_HOST_FACTORIES] = {0};
    size_t count = 0;
    tort_host_newest_asked(true);
    ort_status *status = create(name, &tort_host_base, &host->logger, factories, TORT_HOST_FACTORIES, &count);
    const uint32_t asked = tort_host_newest_asked(false);
    if (count > TORT_HOST_FACTORIES) count = 0;
    for (size_t i = 0; !status && i < count; i++)
        if (factories[i]) host->factories[host->factory_count++] = factories[i];
    if (host->factory_count) return true;
    if (!status) status = tort_host_create_status(ORT_FAIL, "it gives no factory");
    if (asked <= TORT_HOST_VERSION) return failed(host, status, condition, "CreateEpFactories");
    char words[640], what[96];
    tort_host_words(host, status, words, sizeof words);
    snprintf(what, sizeof what, "the plugin asks for version %u of ONNX Runtime's interface, tinyort gives up to %d",
             asked, TORT_HOST_VERSION);
    return down(condition, "FAILED", "install an older version of the plugin, or a newer tinyort", what, words);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* A factory has some members only from its version on. */
static bool is_whole(const ort_factory *factory) {
    return factory->version >= TORT_HOST_OLDEST_EP && factory->name && factory->devices && factory->create &&
           factory->release;
}

static bool is_made(const tort_host *host, const ort_device *device) {
    const ort_device *made = host->made;
    while (made && made != device) made = made->next;
    return made != NULL;
}

static bool find_devices(tort_host *host, ort_device **found, size_t *count, tort_condition *condition) {
    const ort_hardware *hardware[] = {&host->cpu};
    for (size_t i = 0; i < host->factory_count; i++) {
        ort_device *devices[TORT_HOST_DEVICES] = {0};
        size_t here = 0;
        if (!is_whole(host->factories[i]))
            return failed(host, NULL, condition, "its factory lacks functions, or is older than version 23");
        ort_status *status =
            host->factories[i]->devices(host->factories[i], hardware, 1, devices, TORT_HOST_DEVICES, &here);
        if (status) return failed(host, status, condition, "GetSupportedDevices");
        for (size_t d = 0; d < here && d < TORT_HOST_DEVICES && *count < TORT_HOST_DEVICES; d++)
            if (is_made(host, devices[d])) found[(*count)++] = devices[d];
    }
    if (*count) return true;
    char words[640];
    tort_host_words(host, NULL, words, sizeof words);
    return down(condition, "NO_DEVICE", "tinyort offers the CPU alone: values are in its memory",
                "the plugin supports no device of this machine", words);
}

/* True if the option `device` means this one: its number, a value of its metadata, or its name. */
static bool is_meant(const ort_device *device, size_t number, const char *text) {
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", number);
    bool meant = !strcmp(text, digits) || !strcmp(text, device->name);
    for (size_t i = 0; i < device->metadata.count; i++) meant |= !strcmp(device->metadata.values[i], text);
    return meant;
}

/* "0 OpenVINOExecutionProvider ov_device=CPU, 1 ...": of the metadata the first pair. */
static void list_devices(ort_device *const *found, size_t count, char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        const ort_pairs *pairs = &found[i]->metadata;
        used += (size_t)snprintf(text + used, size - used, "%s%zu %s", i ? ", " : "", i, found[i]->name);
        if (pairs->count && used < size)
            used += (size_t)snprintf(text + used, size - used, " %s=%s", pairs->keys[0], pairs->values[0]);
    }
}

static bool is_elsewhere(const ort_memory *memory) {
    return memory->device_type != 0 && memory->access != ORT_MEMORY_HOST_ACCESSIBLE;
}

static bool choose_device(tort_host *host, const tort_provider_config *config, tort_condition *condition) {
    ort_device *found[TORT_HOST_DEVICES];
    size_t count = 0;
    const char *text = tort_provider_option_get(config, "device");
    if (!find_devices(host, found, &count, condition)) return false;
    for (size_t i = 0; i < count && !host->device; i++)
        if (!text || is_meant(found[i], i, text)) host->device = found[i];
    char words[280];
    list_devices(found, count, words, sizeof words);
    if (!host->device)
        return down(condition, "BAD_OPTION", "give its number, its name or a value of its metadata",
                    "no device is meant by the option `device`, there are", words);
    if (!*host->device->memory.name || !is_elsewhere(&host->device->memory)) return true;
    return down(
        condition, "NO_DEVICE", "take another device of the plugin, by its option `device`",
        "the device keeps tensors in memory of its own, and tinyort gives and takes them in the host's; there are",
        words);
}

/* ---- the EP ------------------------------------------------------------------------------------------------------ */

static bool is_own_option(const char *key) {
    return !strcmp(key, "library") || !strcmp(key, "device");
}

/* Options as ONNX Runtime has them: KEY of a provider is an entry "ep.NAME.KEY" of the session, NAME in small
 * letters. The user's come after those that the device has by default. */
static void set_options(tort_host *host, const tort_provider_config *config) {
    const ort_pairs *own = &host->device->options;
    char key[256], name[sizeof host->device->name];
    size_t i = 0;
    for (; host->device->name[i]; i++) name[i] = (char)tort_to_lower(host->device->name[i]);
    name[i] = 0;
    for (size_t p = 0; p < own->count; p++) {
        snprintf(key, sizeof key, "ep.%s.%s", name, own->keys[p]);
        tort_host_add_pair(&host->options.entries, key, own->values[p]);
    }
    for (int32_t p = 0; p < config->option_count; p++) {
        snprintf(key, sizeof key, "ep.%s.%s", name, config->options[p].key);
        if (!is_own_option(config->options[p].key))
            tort_host_add_pair(&host->options.entries, key, config->options[p].value);
    }
}

static bool make_ep(tort_host *host, tort_condition *condition) {
    const ort_hardware *hardware[] = {host->device->hardware};
    const ort_pairs *metadata[] = {&host->device->metadata};
    ort_factory *factory = host->device->factory;
    ort_status *status = factory->create(factory, hardware, metadata, 1, &host->options, &host->logger, &host->ep);
    if (status) host->ep = NULL;
    if (!status && !host->ep) status = tort_host_create_status(ORT_FAIL, "it gives no EP");
    if (status) return failed(host, status, condition, "CreateEp");
    ort_ep *ep = host->ep;
    if (ep->version < TORT_HOST_OLDEST_EP || !ep->name || !ep->capability || !ep->compile || !ep->release)
        return failed(host, NULL, condition, "its EP compiles no nodes: kernels of a plugin are not supported");
    const char *name = ep->name(ep);
    snprintf(host->name, sizeof host->name, "%s", name ? name : host->device->name);
    host->runs_at_once = true;
    if (ep->version >= 24 && ep->runs_at_once) {
        status = ep->runs_at_once(ep, &host->runs_at_once);
        if (status) return failed(host, status, condition, "IsConcurrentRunSupported");
    }
    const ort_memory *memory = NULL;
    if (ep->version >= 27 && ep->default_memory) {
        status = ep->default_memory(ep, &memory);
        if (status) return failed(host, status, condition, "GetDefaultMemoryDevice");
    }
    if (!memory || !is_elsewhere(memory)) return true;
    return down(condition, "NO_DEVICE", "take another device of the plugin, by its option `device`",
                "its EP keeps tensors in memory of its own, and tinyort gives and takes them in the host's", "");
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void find_cpu(tort_host *host) {
    host->cpu = (ort_hardware){.host = host, .type = ORT_HARDWARE_CPU, .vendor = ""};
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_is("intel")) {
        host->cpu.vendor = "GenuineIntel";
        host->cpu.vendor_id = 0x8086; /* as on PCI */
    } else if (__builtin_cpu_is("amd")) {
        host->cpu.vendor = "AuthenticAMD";
        host->cpu.vendor_id = 0x1022;
    }
#endif
}

/* Name, version, device and file: of a long path, its end. */
static void describe(const tort_host *host, tort_target *target, tort_condition *condition) {
    const ort_factory *factory = host->device->factory;
    const char *number = factory->release_number ? factory->release_number(factory) : NULL;
    const ort_pairs *pairs = &host->device->metadata;
    char *text = target->description;
    size_t room = sizeof target->description;
    snprintf(text, room, "%s%s%s", host->name, number ? " " : "", number ? number : "");
    if (pairs->count) snprintf(text + strlen(text), room - strlen(text), ", %s=%s", pairs->keys[0], pairs->values[0]);
    room -= strlen(text);
    const size_t length = strlen(host->path), before = strlen(", by ...");
    if (room > before + 1)
        snprintf(text + strlen(text), room, ", by %s%s", length + before < room ? "" : "...",
                 host->path + (length + before < room ? 0 : length + before + 1 - room));
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

void tort_host_open(const tort_provider_config *config, const char *path, void **device, tort_target *target,
                    tort_condition *condition) {
    tort_host *host = tort_alloc_zero(config->env, 1, sizeof *host);
    *device = host;
    if (!host) {
        down(condition, "NO_MEMORY", "", "no memory for a host of plugins", "");
        return;
    }
    ort_create_factories *create = NULL;
    host->env = config->env;
    snprintf(host->path, sizeof host->path, "%s", path);
    pthread_mutex_init(&host->logger.lock, NULL);
    pthread_mutex_init(&host->one_run, NULL);
    find_cpu(host);
    bool opened = load(host, &create, condition) && make_factories(host, config->provider, create, condition) &&
                  choose_device(host, config, condition);
    if (opened) set_options(host, config);
    if (opened && make_ep(host, condition)) {
        describe(host, target, condition);
        tort_host_words(host, NULL, condition->note, sizeof condition->note);
        if (!strcmp(host->name, "OpenVINOExecutionProvider"))
            tort_host_know_openvino(config, target, condition->note, sizeof condition->note);
        return;
    }
    tort_host_close(host);
    *device = NULL;
}

void tort_host_close(void *device) {
    tort_host *host = device;
    if (!host) return;
    if (host->ep) host->device->factory->release(host->device->factory, host->ep);
    while (host->made) tort_host_release_device(host->made);
    for (size_t i = 0; i < host->factory_count; i++)
        tort_host_release_status(host->release_factory(host->factories[i]));
    tort_host_clear_pairs(&host->options.entries);
    pthread_mutex_destroy(&host->logger.lock);
    pthread_mutex_destroy(&host->one_run);
    tort_free(host->env, host, sizeof *host);
}
