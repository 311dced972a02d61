/* plugin.c - the factory of ONNX Runtime's provider, its options, and the two functions that the library exports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/locale.h"
#include "runtime/plugin/plugin.h"

#define NAME "TinyortExecutionProvider"

typedef struct factory {
    ort_factory base;
    plugin_host host;
} factory;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

ort_status *plugin_fail(const plugin_host *host, const tort_error *error) {
    char text[sizeof error->msg + 16];
    snprintf(text, sizeof text, "tinyort: %s", error->msg);
    return host->api->create_status(ORT_RUNTIME_EXCEPTION, text);
}

tort_status plugin_check(const plugin_host *host, ort_status *status, tort_error *error) {
    if (!status) return TORT_OK;
    tort_fail(error, TORT_E_MODEL, "%.500s", host->api->error_message(status));
    host->api->release_status(status);
    return TORT_E_MODEL;
}

void plugin_log(const plugin_ep *ep, int level, const char *text) {
    ort_status *status = ep->host->api->log(ep->logger, level, text, "tinyort", 0, "tinyort");
    if (status) ep->host->api->release_status(status);
}

/* ---- the provider of a session ----------------------------------------------------------------------------------- */

static const char *ep_name(const ort_ep *ep) {
    (void)ep;
    return NAME;
}

/* An option of the session, which the host keeps under "ep.", the name in small letters and the key. *text: NULL if it
 * is not given; the caller frees. */
static ort_status *read_option(const plugin_host *host, const ort_options *options, const char *key, char **text) {
    char name[100];
    size_t size = 0;
    int has = 0;
    snprintf(name, sizeof name, "ep.tinyortexecutionprovider.%s", key);
    *text = NULL;
    ort_status *status = host->api->has_entry(options, name, &has);
    if (status || !has) return status;
    status = host->api->entry(options, name, NULL, &size);
    if (status) return status;
    *text = calloc(size + 1, 1);
    if (!*text) return host->api->create_status(ORT_FAIL, "tinyort: no memory for an option");
    return host->api->entry(options, name, *text, &size);
}

/* Reads "batch=8,seq=512" into ep->max; false: it is something else. */
static bool read_max(plugin_ep *ep, char *text) {
    for (char *left = NULL, *one = strtok_r(text, ",", &left); one; one = strtok_r(NULL, ",", &left)) {
        char *sign = strrchr(one, '=');
        tort_symbol_size *more = realloc(ep->max, ((size_t)ep->max_count + 1) * sizeof *more);
        if (more) ep->max = more;
        if (!more || !sign || sign == one) return false;
        *sign = '\0';
        int64_t size;
        if (!sign[1] || !tort_read_int64((tort_string){sign + 1, strlen(sign + 1)}, &size) || size < 1) return false;
        ep->max[ep->max_count++] = (tort_symbol_size){one, size};
    }
    return ep->max_count > 0;
}

/* The chain of a session that gives other options instead: "cpu" or "cpu:threads=4". */
static char *chain_of(const char *threads) {
    char chain[64];
    snprintf(chain, sizeof chain, "cpu%s%.20s", threads ? ":threads=" : "", threads ? threads : "");
    return strdup(chain);
}

static ort_status *read_options(plugin_ep *ep, const ort_options *options) {
    const ort_api *api = ep->host->api;
    char *strict = NULL, *threads = NULL;
    struct {
        const char *key;
        char **text;
    } rows[] = {{"chain", &ep->chain},
                {"strict", &strict},
                {"threads", &threads},
                {"report", &ep->report},
                {"max", &ep->bounds}};
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < sizeof rows / sizeof *rows; i++)
        status = read_option(ep->host, options, rows[i].key, rows[i].text);
    ep->strict = strict && !strcmp(strict, "1");
    if (!status && strict && !ep->strict && strcmp(strict, "0") != 0)
        status = api->create_status(ORT_INVALID_ARGUMENT, "tinyort: option strict is \"0\" or \"1\"");
    if (!status && ep->bounds && !read_max(ep, ep->bounds))
        status = api->create_status(ORT_INVALID_ARGUMENT, "tinyort: option max has names of dimensions and their upper "
                                                          "bounds, such as \"batch=8,sequence=512\"");
    if (!status && !ep->chain && (strict || threads || ep->report || ep->bounds) && !(ep->chain = chain_of(threads)))
        status = api->create_status(ORT_FAIL, "tinyort: no memory for a chain");
    free(strict);
    free(threads);
    return status;
}

static void release_ep(ort_factory *base, ort_ep *ep) {
    plugin_ep *own = (plugin_ep *)ep;
    (void)base;
    plugin_text_free(&own->declined);
    plugin_text_free(&own->parts);
    free(own->chain);
    free(own->refusal);
    free(own->report);
    free(own->bounds);
    free(own->max);
    free(own);
}

static ort_status *create_ep(ort_factory *base, const ort_hardware *const *hardware, const ort_pairs *const *metadata,
                             size_t count, const ort_options *options, const ort_logger *logger, ort_ep **ep) {
    const plugin_host *host = &((factory *)base)->host;
    plugin_ep *made = calloc(1, sizeof *made);
    (void)hardware, (void)metadata, (void)count;
    if (!made) return host->api->create_status(ORT_FAIL, "tinyort: no memory for a provider");
    made->base = (ort_ep){.version = ORT_VERSION,
                          .name = ep_name,
                          .capability = plugin_capability,
                          .compile = plugin_compile,
                          .release = plugin_release};
    made->host = host;
    made->logger = logger;
    const bool open = plugin_text_open(&made->declined) && plugin_text_open(&made->parts);
    ort_status *status =
        open ? read_options(made, options) : host->api->create_status(ORT_FAIL, "tinyort: no memory for a report");
    if (status) made->refusal = strdup(host->api->error_message(status));
    if (status) host->api->release_status(status);
    *ep = &made->base;
    return NULL;
}

/* ---- the factory ------------------------------------------------------------------------------------------------- */

static const char *factory_name(const ort_factory *base) {
    (void)base;
    return NAME;
}

static const char *factory_vendor(const ort_factory *base) {
    (void)base;
    return "tinyort";
}

static uint32_t factory_vendor_id(const ort_factory *base) {
    (void)base;
    return 0; /* none of PCI */
}

static const char *factory_version(const ort_factory *base) {
    (void)base;
    return tort_version();
}

static ort_status *factory_devices(ort_factory *base, const ort_hardware *const *hardware, size_t hardware_count,
                                   ort_device **devices, size_t max, size_t *count) {
    const plugin_host *host = &((factory *)base)->host;
    ort_status *status = NULL;
    *count = 0;
    for (size_t i = 0; !status && i < hardware_count && *count < max; i++) {
        if (host->api->hardware_type(hardware[i]) != ORT_HARDWARE_CPU) continue;
        status = host->ep->create_device(base, hardware[i], NULL, NULL, &devices[*count]);
        *count += !status;
    }
    return status;
}

/* Values stay in the host's memory: no allocator, no copies. */
static ort_status *no_allocator(ort_factory *base, const void *memory, const ort_pairs *options, void **allocator) {
    (void)base, (void)memory, (void)options;
    *allocator = NULL;
    return NULL;
}

static void release_nothing(ort_factory *base, void *allocator) {
    (void)base, (void)allocator;
}

static ort_status *no_transfer(ort_factory *base, void **transfer) {
    (void)base;
    *transfer = NULL;
    return NULL;
}

static bool without_streams(const ort_factory *base) {
    (void)base;
    return false;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                                       ort_factory **factories, size_t max, size_t *count);
EXPORTED ort_status *ReleaseEpFactory(ort_factory *base);

/* Called once for each registration. A host that is too old has no table of this version, and so no way to be told. */
EXPORTED ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                                       ort_factory **factories, size_t max, size_t *count) {
    const ort_api *api = base->get(ORT_VERSION);
    factory *made = api && max ? calloc(1, sizeof *made) : NULL;
    (void)name, (void)logger;
    *count = 0;
    if (!api) return NULL;
    if (!made) return api->create_status(ORT_FAIL, "tinyort: no room for its factory");
    made->base = (ort_factory){.version = ORT_VERSION,
                               .name = factory_name,
                               .vendor = factory_vendor,
                               .devices = factory_devices,
                               .create = create_ep,
                               .release = release_ep,
                               .vendor_id = factory_vendor_id,
                               .release_number = factory_version,
                               .create_allocator = no_allocator,
                               .release_allocator = release_nothing,
                               .create_transfer = no_transfer,
                               .is_stream_aware = without_streams};
    made->host = (plugin_host){api, api->ep_api(), base->version()};
    factories[0] = &made->base;
    *count = 1;
    return NULL;
}

EXPORTED ort_status *ReleaseEpFactory(ort_factory *base) {
    free(base);
    return NULL;
}
