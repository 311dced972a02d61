/* probe.c - lists the providers of this build, and tells which ones open on this machine, before there is a model.
 *
 * A probe opens a session's chain, and nothing else. Read next: chain.c. */
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/providers/chain.h"

/* ---- providers of this build ------------------------------------------------------------------------------------- */

int32_t tort_provider_count(void) {
    int32_t count = 0;
    while (tort_build.providers[count]) count++;
    return count;
}

static const tort_option_help *options_of(const tort_provider *provider) {
    static const tort_option_help none = {0};
    return provider && provider->options ? provider->options : &none;
}

tort_status tort_provider_at(int32_t index, tort_provider_info *info, tort_error *error) {
    if (!info) return tort_fail(error, TORT_E_USAGE, "tort_provider_at needs a tort_provider_info to fill");
    tort_status status = tort_check_struct_size(info->struct_size, "tort_provider_info", error);
    if (status) return status;
    if (index < 0 || index >= tort_provider_count())
        return tort_fail(error, TORT_E_USAGE, "there is no provider %d: this library has %d", index,
                         tort_provider_count());
    tort_condition condition = {.ready = false};
    const tort_provider *row = tort_build.providers[index], *whole = row->load ? row->load(&condition) : row;
    const tort_provider_info found = {.struct_size = info->struct_size,
                                      .name = row->name,
                                      .summary = row->summary,
                                      .present = whole != NULL,
                                      .built_for = whole ? whole->built_for : NULL,
                                      .options = options_of(whole)};
    memcpy(info, &found, info->struct_size < sizeof found ? info->struct_size : sizeof found);
    return TORT_OK;
}

/* ---- providers that open ----------------------------------------------------------------------------------------- */

/* The memory behind a tort_probe, its first member; strings point into the session's chain. */
typedef struct probe_store {
    tort_probe probe;
    tort_env env;
    tort_session session; /* only its chain is used */
} probe_store;

static bool has_provider(const tort_provider *const *list, const char *name) {
    for (; list && *list; list++)
        if (!strcmp((*list)->name, name)) return true;
    return false;
}

/* The chain of all providers: the application's, then the build's. NULL: out of memory. */
static const char *whole_chain(tort_arena *arena, const tort_provider *const *own) {
    const char *chain = "";
    for (const tort_provider *const *p = own; chain && p && *p; p++)
        chain = tort_arena_format(arena, "%s%s%s", chain, *chain ? "," : "", (*p)->name);
    for (const tort_provider *const *p = tort_build.providers; chain && *p; p++)
        if (!has_provider(own, (*p)->name))
            chain = tort_arena_format(arena, "%s%s%s", chain, *chain ? "," : "", (*p)->name);
    return chain;
}

static bool write_libraries(tort_arena *arena, tort_link *link, tort_probe_provider *out) {
    const tort_probe_library **list = tort_arena_array(arena, TORT_LIBRARIES, sizeof *list);
    const char *const *name = link->provider->libraries;
    if (!list) return false;
    for (; name && *name && out->library_count < TORT_LIBRARIES; name++) {
        const tort_library_state *state = tort_link_library(link, *name);
        tort_probe_library *library = tort_arena_alloc(arena, sizeof *library);
        if (!library) return false;
        *library = (tort_probe_library){*name, state->found, state->message, state->cure};
        list[out->library_count++] = library;
    }
    out->libraries = list;
    return true;
}

static const tort_probe_provider *write_provider(tort_arena *arena, tort_link *link, bool libraries) {
    const tort_condition *condition = &link->condition;
    tort_probe_provider *out = tort_arena_alloc(arena, sizeof *out);
    if (!out) return NULL;
    *out = (tort_probe_provider){.name = link->provider->name,
                                 .summary = link->provider->summary,
                                 .built_for = link->provider->built_for,
                                 .options = options_of(link->provider),
                                 .ready = condition->ready,
                                 .code = condition->ready ? "READY" : condition->code,
                                 .description = condition->ready ? link->target.description : "",
                                 .message = condition->message,
                                 .cure = condition->cure,
                                 .note = condition->note};
    const bool asked = libraries && link->opened && link->provider->library;
    return !asked || write_libraries(arena, link, out) ? out : NULL;
}

static tort_status write_probe(probe_store *store, bool libraries, tort_error *error) {
    tort_session *session = &store->session;
    const size_t count = (size_t)session->chain_count;
    const tort_probe_provider **list = tort_arena_array(&session->arena, count, sizeof *list);
    if (!list) return tort_out_of_memory(error, count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i] = write_provider(&session->arena, &session->chain[i], libraries);
        if (!list[i]) return tort_out_of_memory(error, sizeof **list);
    }
    store->probe = (tort_probe){list, session->chain_count};
    return TORT_OK;
}

static tort_status probe_chain(probe_store *store, const tort_probe_options *options, tort_error *error) {
    tort_session *session = &store->session;
    session->env = store->env;
    session->options = (tort_session_options){.chain = options->chain,
                                              .disabled = options->disabled,
                                              .require = options->require,
                                              .providers = options->providers};
    if (!options->chain) session->options.chain = whole_chain(&session->arena, options->providers);
    if (!session->options.chain) return tort_out_of_memory(error, 0);
    tort_status status = tort_chain_open(session, error);
    if (!status) status = write_probe(store, options->libraries, error);
    if (!status) status = tort_chain_require(session, error);
    tort_chain_close(session);
    return status;
}

tort_status tort_probe_providers(const tort_env *env, const tort_probe_options *options, tort_probe **probe,
                                 tort_error *error) {
    if (!probe) return tort_fail(error, TORT_E_USAGE, "tort_probe_providers needs a place for the probe");
    *probe = NULL;
    if (error) *error = (tort_error){.node = -1};
    tort_probe_options mine = {.struct_size = sizeof mine};
    const tort_env complete = tort_env_complete(env);
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status && options) status = tort_check_struct_size(options->struct_size, "tort_probe_options", error);
    if (status) return status;
    if (options) memcpy(&mine, options, options->struct_size < sizeof mine ? options->struct_size : sizeof mine);
    probe_store *store = tort_alloc_zero(&complete, 1, sizeof *store);
    if (!store) return tort_out_of_memory(error, sizeof *store);
    store->env = complete;
    tort_arena_init(&store->session.arena, &store->env);
    status = probe_chain(store, &mine, error);
    *probe = &store->probe;
    if (!status || status == TORT_E_PLACEMENT) return status;
    tort_probe_free(*probe);
    *probe = NULL;
    return status;
}

void tort_probe_free(tort_probe *probe) {
    if (!probe) return;
    probe_store *store = (probe_store *)probe;
    const tort_env env = store->env;
    tort_arena_free(&store->session.arena);
    tort_free(&env, store, sizeof *store);
}
