/* objects.c - statuses, lists of pairs, memories, allocators, options, the log and devices, as a plugin makes and reads
 * them (host.h).
 *
 * The functions have no object of the host in their hands: what they make is allocated by malloc. */
#include "kernels/plugin/host.h"

/* ---- statuses ---------------------------------------------------------------------------------------------------- */

struct ort_status {
    int code;
    char words[];
};

/* Where there is no memory for a status: NULL would say that all is well. */
static const struct {
    int code;
    char words[16];
} no_memory = {ORT_FAIL, "out of memory"};

ort_status *tort_host_create_status(int code, const char *message) {
    const size_t length = message ? strlen(message) : 0;
    ort_status *status = malloc(sizeof *status + length + 1);
    if (!status) return (ort_status *)(uintptr_t)&no_memory;
    status->code = code;
    if (length) memcpy(status->words, message, length);
    status->words[length] = 0;
    return status;
}

ANSWER(error_code, ort_status, int, it ? it->code : 0)
ANSWER(error_message, ort_status, const char *, it ? it->words : "")

void tort_host_release_status(ort_status *status) {
    if ((const void *)status != (const void *)&no_memory) free(status);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

void tort_host_create_pairs(ort_pairs **pairs) {
    *pairs = calloc(1, sizeof **pairs);
}

static size_t find_pair(const ort_pairs *pairs, const char *key) {
    size_t i = 0;
    while (i < pairs->count && strcmp(pairs->keys[i], key) != 0) i++;
    return i;
}

void tort_host_remove_pair(ort_pairs *pairs, const char *key) {
    const size_t at = pairs && key ? find_pair(pairs, key) : SIZE_MAX;
    if (!pairs || at >= pairs->count) return;
    free(pairs->keys[at]);
    free(pairs->values[at]);
    pairs->count--;
    pairs->keys[at] = pairs->keys[pairs->count];
    pairs->values[at] = pairs->values[pairs->count];
}

void tort_host_add_pair(ort_pairs *pairs, const char *key, const char *value) {
    if (!pairs || !key || !value) return;
    char *copies[] = {strdup(key), strdup(value)};
    char **keys = realloc(pairs->keys, (pairs->count + 1) * sizeof *keys);
    if (keys) pairs->keys = keys;
    char **values = realloc(pairs->values, (pairs->count + 1) * sizeof *values);
    if (values) pairs->values = values;
    if (!keys || !values || !copies[0] || !copies[1]) {
        free(copies[0]);
        free(copies[1]);
        return;
    }
    tort_host_remove_pair(pairs, key);
    pairs->keys[pairs->count] = copies[0];
    pairs->values[pairs->count++] = copies[1];
}

const char *tort_host_pair(const ort_pairs *pairs, const char *key) {
    const size_t at = pairs && key ? find_pair(pairs, key) : 0;
    return pairs && key && at < pairs->count ? pairs->values[at] : NULL;
}

void tort_host_pairs(const ort_pairs *pairs, const char *const **keys, const char *const **values, size_t *count) {
    *keys = pairs ? (const char *const *)pairs->keys : NULL;
    *values = pairs ? (const char *const *)pairs->values : NULL;
    *count = pairs ? pairs->count : 0;
}

void tort_host_copy_pairs(ort_pairs *to, const ort_pairs *from) {
    for (size_t i = 0; from && i < from->count; i++) tort_host_add_pair(to, from->keys[i], from->values[i]);
}

void tort_host_clear_pairs(ort_pairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->keys[i]);
        free(pairs->values[i]);
    }
    free(pairs->keys);
    free(pairs->values);
    *pairs = (ort_pairs){0};
}

void tort_host_release_pairs(ort_pairs *pairs) {
    if (pairs) tort_host_clear_pairs(pairs);
    free(pairs);
}

/* ---- options of a session ---------------------------------------------------------------------------------------- */

ort_status *tort_host_has_entry(const ort_options *options, const char *key, int *has) {
    *has = options && tort_host_pair(&options->entries, key) != NULL;
    return NULL;
}

ort_status *tort_host_entry(const ort_options *options, const char *key, char *value, size_t *size) {
    const char *found = options ? tort_host_pair(&options->entries, key) : NULL;
    if (!found) TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "there is no option \"%.200s\"", key ? key : "");
    const size_t given = *size;
    *size = strlen(found) + 1;
    if (value && given < *size) TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "the value takes %zu bytes", *size);
    if (value) memcpy(value, found, *size);
    return NULL;
}

static ort_status *give_pairs(const ort_pairs *from, ort_pairs **pairs) {
    tort_host_create_pairs(pairs);
    if (!*pairs) return tort_host_create_status(ORT_FAIL, "out of memory");
    tort_host_copy_pairs(*pairs, from);
    return NULL;
}

ort_status *tort_host_entries(const ort_options *options, ort_pairs **entries) {
    return give_pairs(options ? &options->entries : NULL, entries);
}

ort_status *tort_host_env_entries(ort_pairs **entries) {
    return give_pairs(NULL, entries);
}

ort_status *tort_host_source_model(const ort_options *options, const void **data, size_t *bytes) {
    (void)options;
    *data = NULL;
    *bytes = 0;
    return NULL;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

ort_status *tort_host_log(const ort_logger *logger, int level, const char *message, const char *file, int line,
                          const char *function) {
    ort_logger *own = (ort_logger *)(uintptr_t)logger; /* only plugins see it as const */
    (void)file, (void)line, (void)function;
    if (!own || !message || level < ORT_LOG_WARNING) return NULL;
    pthread_mutex_lock(&own->lock);
    const size_t room = sizeof own->words - own->used;
    const int length = snprintf(own->words + own->used, room, "%s%s", own->used ? "; " : "", message);
    if (length > 0) own->used += (size_t)length < room ? (size_t)length : room - 1;
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

GETTER(log_level, const ort_logger, int, ORT_LOG_WARNING)

/* ---- memories and allocators ------------------------------------------------------------------------------------- */

const ort_memory tort_host_memory = {.name = "Cpu"};

ort_status *tort_host_create_memory(const char *name, int device_type, uint32_t vendor, int32_t device, int kind,
                                    size_t alignment, int allocator, ort_memory **memory) {
    (void)alignment;
    *memory = calloc(1, sizeof **memory);
    if (!*memory) return tort_host_create_status(ORT_FAIL, "out of memory");
    **memory = (ort_memory){
        .device_type = device_type, .access = kind, .allocator = allocator, .vendor = vendor, .device = device};
    snprintf((*memory)->name, sizeof(*memory)->name, "%s", name ? name : "");
    return NULL;
}

ort_status *tort_host_create_host_memory(int allocator, int kind, ort_memory **memory) {
    (void)kind;
    return tort_host_create_memory(tort_host_memory.name, 0, 0, 0, ORT_MEMORY_DEFAULT, 0, allocator, memory);
}

void tort_host_release_memory(ort_memory *memory) {
    if (memory != &tort_host_memory) free(memory);
}

GETTER(memory_name, const ort_memory, const char *, it->name)
GETTER(memory_id, const ort_memory, int, it->device)
GETTER(memory_kind, const ort_memory, int, 0)
GETTER(memory_allocator, const ort_memory, int, it->allocator)

void tort_host_memory_device_type(const ort_memory *memory, int *type) {
    *type = memory->device_type;
}

ANSWER(memory_access, ort_memory, int, it->access)
ANSWER(memory_vendor, ort_memory, uint32_t, it->vendor)

/* A memory stands for its place, too. */
ANSWER(memory_place, ort_memory, const ort_memory *, it)
ANSWER(value_place, ort_value, const ort_memory *, &tort_host_memory)

bool tort_host_same_place(const ort_memory *a, const ort_memory *b) {
    return a->device_type == b->device_type && a->access == b->access && a->vendor == b->vendor &&
           a->device == b->device;
}

ANSWER(place_type, ort_memory, int, it->device_type)
ANSWER(place_access, ort_memory, int, it->access)
ANSWER(place_vendor, ort_memory, uint32_t, it->vendor)
ANSWER(place_id, ort_memory, uint32_t, (uint32_t)it->device)

static void *take(ort_allocator *allocator, size_t bytes) {
    void *block = NULL;
    (void)allocator;
    return posix_memalign(&block, TORT_HOST_ALIGN, bytes ? bytes : 1) ? NULL : block;
}

static void give_back(ort_allocator *allocator, void *block) {
    (void)allocator;
    free(block);
}

static const ort_memory *memory_of_host(const ort_allocator *allocator) {
    (void)allocator;
    return &tort_host_memory;
}

static const ort_allocator host_allocator = {
    .version = 20, .allocate = take, .deallocate = give_back, .memory = memory_of_host, .reserve = take};

ort_status *tort_host_default_allocator(ort_allocator **allocator) {
    *allocator = (ort_allocator *)(uintptr_t)&host_allocator;
    return NULL;
}

ort_status *tort_host_run_allocator(const ort_run *run, const ort_memory *memory, ort_allocator **allocator) {
    (void)run, (void)memory;
    return tort_host_default_allocator(allocator);
}

ort_status *tort_host_allocate(ort_allocator *allocator, size_t bytes, void **block) {
    *block = allocator->allocate(allocator, bytes);
    return *block ? NULL : tort_host_create_status(ORT_FAIL, "out of memory");
}

ort_status *tort_host_deallocate(ort_allocator *allocator, void *block) {
    if (block) allocator->deallocate(allocator, block);
    return NULL;
}

GETTER(allocator_memory, const ort_allocator, const ort_memory *, it->memory(it))

/* ---- devices ----------------------------------------------------------------------------------------------------- */

ANSWER(hardware_type, ort_hardware, int, it->type)
ANSWER(hardware_vendor_id, ort_hardware, uint32_t, it->vendor_id)
ANSWER(hardware_vendor, ort_hardware, const char *, it->vendor)
ANSWER(hardware_id, ort_hardware, uint32_t, 0)
ANSWER(hardware_pairs, ort_hardware, const ort_pairs *, &it->pairs)

ort_status *tort_host_create_device(ort_factory *factory, const ort_hardware *hardware, const ort_pairs *metadata,
                                    const ort_pairs *options, ort_device **device) {
    *device = NULL;
    if (!factory || !hardware || !factory->name) return tort_host_create_status(ORT_INVALID_ARGUMENT, "NULL is given");
    tort_host *host = hardware->host;
    ort_device *made = calloc(1, sizeof *made);
    if (!made) return tort_host_create_status(ORT_FAIL, "out of memory");
    const char *name = factory->name(factory), *vendor = factory->vendor ? factory->vendor(factory) : NULL;
    *made = (ort_device){.next = host->made, .factory = factory, .hardware = hardware};
    snprintf(made->name, sizeof made->name, "%s", name ? name : "");
    snprintf(made->vendor, sizeof made->vendor, "%s", vendor ? vendor : "");
    tort_host_copy_pairs(&made->metadata, metadata);
    tort_host_copy_pairs(&made->options, options);
    *device = host->made = made;
    return NULL;
}

void tort_host_release_device(ort_device *device) {
    if (!device) return;
    ort_device **at = &device->hardware->host->made;
    while (*at && *at != device) at = &(*at)->next;
    if (!*at) return;
    *at = device->next;
    tort_host_clear_pairs(&device->metadata);
    tort_host_clear_pairs(&device->options);
    free(device);
}

ort_status *tort_host_add_memory(ort_device *device, const ort_memory *memory) {
    if (!device || !memory) return tort_host_create_status(ORT_INVALID_ARGUMENT, "NULL is given");
    *(memory->access == ORT_MEMORY_HOST_ACCESSIBLE ? &device->accessible : &device->memory) = *memory;
    return NULL;
}

const ort_memory *tort_host_device_memory(const ort_device *device, int kind) {
    const ort_memory *memory = kind == ORT_MEMORY_HOST_ACCESSIBLE ? &device->accessible : &device->memory;
    return *memory->name ? memory : NULL;
}

ANSWER(device_ep, ort_device, const char *, it->name)
ANSWER(device_vendor, ort_device, const char *, it->vendor)
ANSWER(device_metadata, ort_device, const ort_pairs *, &it->metadata)
ANSWER(device_options, ort_device, const ort_pairs *, &it->options)
ANSWER(device_hardware, ort_device, const ort_hardware *, it->hardware)
