/* chain.c - parses "cuda:device=1:mem_limit=2G,cpu" and opens the providers, in that order.
 *
 * Nothing is added to the chain that the user gave. A provider that cannot open stays in it with its condition, so that
 * every node can report PROVIDER_DOWN with the cause; only --require makes it an error. In option values `\:` and `\,`
 * are literal characters. Read next: place.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/base/suggest.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"
#include "runtime/core/base/ascii.h"

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

/* Copies text up to an unescaped stop character into the arena, without escapes and surrounding spaces; *cursor moves
 * to that character, or to the end. */
static char *take_token(tort_session *session, const char **cursor, const char *stops) {
    const char *begin = *cursor + strspn(*cursor, " "), *p = begin;
    while (*p && !strchr(stops, *p)) p += (*p == '\\' && p[1]) ? 2 : 1;
    char *token = tort_arena_text(&session->arena, begin, (size_t)(p - begin));
    if (!token) return NULL;
    char *out = token;
    for (const char *in = token; *in; in++) {
        if (*in == '\\' && in[1]) in++;
        *out++ = *in;
    }
    while (out > token && out[-1] == ' ') out--;
    *out = '\0';
    *cursor = p;
    return token;
}

static int32_t count_unescaped(const char *text, char what, const char *stops) {
    int32_t count = 0;
    for (const char *p = text; *p && !strchr(stops, *p); p++) {
        count += *p == what;
        if (*p == '\\' && p[1]) p++;
    }
    return count;
}

static tort_status read_options(tort_session *session, const char **cursor, tort_link *link, tort_error *error) {
    int32_t count = count_unescaped(*cursor, ':', ",");
    tort_provider_option *options = tort_arena_array(&session->arena, (size_t)count + 1, sizeof *options);
    if (!options) return tort_out_of_memory(error, 0);
    for (int32_t i = 0; **cursor == ':'; i++) {
        ++*cursor;
        options[i].key = take_token(session, cursor, "=:,");
        options[i].value = "";
        if (**cursor == '=') {
            ++*cursor;
            options[i].value = take_token(session, cursor, ":,");
        }
        if (!options[i].key || !options[i].value) return tort_out_of_memory(error, 0);
    }
    link->config.options = options;
    link->config.option_count = count;
    return TORT_OK;
}

/* ---- naming ------------------------------------------------------------------------------------------------------ */

/* Writes "cuda, cpu, cudasim" into the buffer, and returns it. */
static const char *known_providers(char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = 0;
    for (const tort_provider *const *p = tort_build.providers; *p && used < size; p++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", (*p)->name);
    return buffer;
}

static bool takes_option(const tort_provider *provider, const char *key) {
    for (const tort_option_help *known = provider->options; known && known->key; known++)
        if (!strcmp(known->key, key) || !strcmp(known->key, "*")) return true;
    return false;
}

/* Length of a name, of onnxruntime's "CUDAExecutionProvider" of its first part. */
static size_t own_length(const char *name) {
    static const char suffix[] = "ExecutionProvider";
    const size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && tort_same_word(name + length - tail, suffix) ? length - tail : length;
}

/* The error for an unknown name; recognizes names of other runtimes ("TensorrtExecutionProvider") and "cuda0". */
static tort_status unknown_provider(const char *name, tort_error *error) {
    char known[128], word[64];
    const char *names[16];
    size_t count = 0, length = own_length(name);
    if (!length) return tort_fail(error, TORT_E_USAGE, "the chain has an empty name: is there a comma too many?");
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, name);
    for (const tort_foreign_provider *foreign = tort_foreign_providers; foreign->name; foreign++)
        if (tort_same_word(word, foreign->name))
            return tort_fail(error, TORT_E_USAGE, "provider \"%s\" is not in this build: %s", name, foreign->hint);
    for (const tort_provider *const *p = tort_build.providers; *p && count < 16; p++) {
        const size_t own = strlen((*p)->name), digits = strspn(word + (own < length ? own : length), "0123456789");
        if (tort_same_start(word, (*p)->name, own) && digits && own + digits == length && takes_option(*p, "device"))
            return tort_fail(error, TORT_E_USAGE, "unknown provider \"%s\": the device is an option, \"%s:device=%s\"",
                             name, (*p)->name, word + own);
        names[count++] = (*p)->name;
    }
    const char *nearest = tort_nearest(word, names, count);
    if (nearest)
        return tort_fail(error, TORT_E_USAGE, "unknown provider \"%s\": did you mean \"%s\"? (this build has: %s)",
                         name, nearest, known_providers(known, sizeof known));
    return tort_fail(error, TORT_E_USAGE, "unknown provider \"%s\" (this build has: %s)", name,
                     known_providers(known, sizeof known));
}

static const tort_provider *provider_named(const tort_provider *const *list, const char *name) {
    const size_t length = own_length(name);
    for (; list && *list; list++) {
        const bool foreign = name[length] && strlen((*list)->name) == length;
        if (foreign ? tort_same_start(name, (*list)->name, length) : !strcmp((*list)->name, name)) return *list;
    }
    return NULL;
}

/* Pins, bindings and reports refer to providers by name, so a name may occur once. */
static tort_status check_unique(const tort_session *session, const tort_link *link, tort_error *error) {
    for (const tort_link *before = session->chain; before < link; before++)
        if (!strcmp(before->config.provider, link->config.provider))
            return tort_fail(error, TORT_E_USAGE,
                             "provider %s is in the chain twice: name it once, with all its options",
                             link->config.provider);
    return TORT_OK;
}

static tort_status find_provider(const tort_session *session, tort_link *link, tort_error *error) {
    link->provider = provider_named(session->options.providers, link->config.provider);
    if (!link->provider) link->provider = provider_named(tort_build.providers, link->config.provider);
    if (!link->provider) return TORT_WORDED(error, TORT_E_USAGE, unknown_provider(link->config.provider, error));
    link->config.provider = link->provider->name; /* also if it was called as in onnxruntime */
    if (link->provider->abi != TORT_PROVIDER_ABI)
        return tort_fail(error, TORT_E_INTERNAL, "provider %s was built for ABI %u, this is %u", link->provider->name,
                         link->provider->abi, TORT_PROVIDER_ABI);
    return TORT_OK;
}

/* The error for an unknown option; suggests the option that other runtimes call so, or the nearest spelling. */
static tort_status unknown_option(const tort_provider *provider, const char *key, tort_error *error) {
    char all[160] = "";
    const char *keys[16];
    size_t used = 0, count = 0;
    for (const tort_option_help *known = provider->options; known && known->key && count < 16; known++) {
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", known->key);
        keys[count++] = known->key;
    }
    const char *meant = tort_nearest(key, keys, count);
    for (const tort_foreign_option *foreign = tort_foreign_options; foreign->key; foreign++) {
        if (!tort_same_word(key, foreign->key)) continue;
        if (foreign->hint)
            return tort_fail(error, TORT_E_USAGE, "provider %s has no option \"%s\": %s", provider->name, key,
                             foreign->hint);
        if (takes_option(provider, foreign->own)) meant = foreign->own;
    }
    if (meant)
        return tort_fail(error, TORT_E_USAGE, "provider %s has no option \"%s\": did you mean \"%s\"? (it takes: %s)",
                         provider->name, key, meant, all);
    return tort_fail(error, TORT_E_USAGE, "provider %s has no option \"%s\" (it takes: %s)", provider->name, key,
                     *all ? all : "none");
}

static tort_status check_options(const tort_link *link, tort_error *error) {
    const tort_provider *provider = link->provider;
    for (int32_t i = 0; i < link->config.option_count; i++) {
        const char *key = link->config.options[i].key;
        if (takes_option(provider, key)) continue;
        if (*key && !key[strspn(key, "0123456789")] && takes_option(provider, "device"))
            return tort_fail(error, TORT_E_USAGE, "provider %s has no option \"%s\": write \"%s:device=%s\"",
                             provider->name, key, provider->name, key);
        return TORT_WORDED(error, TORT_E_USAGE, unknown_option(provider, key, error));
    }
    return TORT_OK;
}

bool tort_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == length && !memcmp(p, name, length)) return true;
    return false;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void set_down(tort_condition *condition, const char *code, const char *message, const char *cure) {
    *condition = (tort_condition){.ready = false};
    snprintf(condition->code, sizeof condition->code, "%s", code);
    snprintf(condition->message, sizeof condition->message, "%s", message);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
}

/* The part of the option `target` behind "cuda:" in "cuda:sm_87"; NULL if it is for another provider. */
static const char *target_text(const tort_session *session, const tort_link *link) {
    const char *text = session->options.target;
    size_t length = strlen(link->provider->name);
    if (!text || strncmp(text, link->provider->name, length) || text[length] != ':') return NULL;
    return text + length + 1;
}

static tort_status open_link(tort_session *session, tort_link *link, tort_error *error) {
    const char *text = target_text(session, link);
    if (tort_listed(session->options.disabled, link->provider->name)) {
        set_down(&link->condition, "DISABLED", "switched off by TINYORT_DISABLE or the option `disabled`",
                 "unset TINYORT_DISABLE");
        return TORT_OK;
    }
    if (link->provider->load) {
        const tort_provider *loaded = link->provider->load(&link->condition);
        if (!loaded) return TORT_OK;
        link->provider = loaded;
    }
    tort_status status = check_options(link, error);
    if (status) return status;
    if (text) {
        if (!link->provider->describe)
            return tort_fail(error, TORT_E_USAGE, "provider %s cannot plan for a target", link->provider->name);
        status = link->provider->describe(&link->config, text, &link->target, error);
        link->described = link->condition.ready = !status;
        snprintf(link->condition.code, sizeof link->condition.code, "TARGET");
        return status;
    }
    link->provider->open(&link->config, &link->device, &link->target, &link->condition);
    link->opened = link->condition.ready;
    if (!link->opened && !strcmp(link->condition.code, "BAD_OPTION"))
        return tort_fail(error, TORT_E_USAGE, "provider %s: %s%s%s", link->provider->name, link->condition.message,
                         *link->condition.cure ? "; " : "", link->condition.cure);
    /* A full device is a provider that is down; a failing allocator of the application is an error. */
    if (!link->opened && link->provider->host_memory && !strcmp(link->condition.code, "NO_MEMORY"))
        return tort_fail(error, TORT_E_MEMORY, "provider %s: %s", link->provider->name, link->condition.message);
    return TORT_OK;
}

tort_status tort_chain_require(const tort_session *session, tort_error *error) {
    for (const char *p = session->options.require ? session->options.require : ""; *p;) {
        size_t length = strcspn(p, ",");
        const tort_link *found = NULL;
        for (int32_t i = 0; i < session->chain_count; i++) {
            const char *name = session->chain[i].provider->name;
            if (strlen(name) == length && !memcmp(name, p, length)) found = &session->chain[i];
        }
        if (!found)
            return tort_fail(error, TORT_E_PLACEMENT,
                             "required provider %.*s is not in the chain \"%s\": nothing is ever added to it",
                             (int)length, p, session->options.chain);
        if (!found->condition.ready) {
            tort_status status = tort_link_down(found, error);
            tort_error_prefix(error, "required provider");
            return status;
        }
        p += length + (p[length] == ',');
    }
    return TORT_OK;
}

/* A misspelled name would disable nothing, unnoticed. */
static tort_status check_disabled(const tort_session *session, tort_error *error) {
    for (const char *p = session->options.disabled ? session->options.disabled : ""; *p;) {
        const size_t length = strcspn(p, ",");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), p);
        if (length && !provider_named(session->options.providers, name) &&
            !provider_named(tort_build.providers, name)) {
            const tort_status status = TORT_WORDED(error, TORT_E_USAGE, unknown_provider(name, error));
            tort_error_prefix(error, "the list of providers to switch off");
            return status;
        }
        p += length + (p[length] == ',');
    }
    return TORT_OK;
}

/* A target for no provider of the chain would be ignored, unnoticed. */
static tort_status check_target(const tort_session *session, tort_error *error) {
    if (!session->options.target) return TORT_OK;
    for (int32_t i = 0; i < session->chain_count; i++)
        if (target_text(session, &session->chain[i])) return TORT_OK;
    const char *target = session->options.target;
    const bool device = strchr(target, ':') == NULL;
    return tort_fail(error, TORT_E_USAGE,
                     "target \"%s\" is for no provider of the chain \"%s\": it begins with the provider's name, as in "
                     "cuda:sm_87, and the chain has that provider, as in \"%.*s,cpu\"",
                     target, session->options.chain, device ? 4 : (int)strcspn(target, ":"), device ? "cuda" : target);
}

/* The smallest limit of all providers that share a memory holds. */
static void lower_limit(tort_link *owner, const tort_link *link) {
    const uint64_t limit = link->target.memory;
    if (limit && (!owner->target.memory || limit < owner->target.memory)) owner->target.memory = limit;
}

/* Assigns a memory: shared by providers with the same target.space; without a space the provider has its own. */
static void find_memory(tort_session *session, tort_link *link) {
    const char *space = link->target.space;
    if (link->provider->host_memory) {
        if (!session->memories[0].owner && link->condition.ready) session->memories[0].owner = link;
        return;
    }
    for (int32_t m = 1; *space && m < session->memory_count; m++)
        if (!strcmp(session->memories[m].space, space)) {
            link->memory = m;
            lower_limit(session->memories[m].owner, link);
            return;
        }
    link->memory = session->memory_count++;
    session->memories[link->memory].owner = link;
    snprintf(session->memories[link->memory].space, TORT_SPACE_NAME, "%s", space);
}

/* The chain is that of a saved plan, and nobody has typed it. */
static tort_status unfit_file(const tort_session *session, tort_error *error) {
    tort_error_prefix(error,
                      "the saved plan is not for this build, make it again with tinyort plan MODEL -o FILE: its chain "
                      "\"%.200s\"",
                      session->options.chain);
    if (error) error->code = TORT_E_MODEL;
    return TORT_E_MODEL;
}

tort_status tort_chain_open(tort_session *session, tort_error *error) {
    enum { MAX_LINKS = 64 }; /* locks and saved plans have chains, too, and each link takes kilobytes */
    const char *cursor = session->options.chain;
    int32_t count = 1 + count_unescaped(cursor, ',', "");
    if (count > MAX_LINKS)
        return tort_fail(error, TORT_E_USAGE, "the chain has %d providers, at most %d are taken", (int)count,
                         MAX_LINKS);
    session->chain = tort_arena_array(&session->arena, (size_t)count, sizeof *session->chain);
    if (!session->chain) return tort_out_of_memory(error, (size_t)count * sizeof *session->chain);
    session->memories = tort_arena_array(&session->arena, (size_t)count + 1, sizeof *session->memories);
    if (!session->memories) return tort_out_of_memory(error, (size_t)count * sizeof *session->memories);
    session->memory_count = 1;
    tort_status status = check_disabled(session, error);
    if (status) return status;
    for (int32_t i = 0; !status && i < count; i++) {
        tort_link *link = &session->chain[i];
        link->lost = &session->lost;
        link->config = (tort_provider_config){.provider = take_token(session, &cursor, ":,"),
                                              .env = &session->env,
                                              .from_file = session->chain_from_file};
        if (!link->config.provider) return tort_out_of_memory(error, 0);
        status = read_options(session, &cursor, link, error);
        if (!status) status = find_provider(session, link, error);
        if (!status) status = check_unique(session, link, error);
        if (!status) status = open_link(session, link, error);
        session->chain_count = i + 1;
        if (!status) find_memory(session, link);
        if (*cursor == ',') cursor++;
    }
    if (status == TORT_E_USAGE && session->chain_from_file) return unfit_file(session, error);
    return status ? status : check_target(session, error);
}

/* Rows for segments alone would otherwise run nodes by their reference loops. */
tort_status tort_chain_segment(tort_session *session, tort_error *error) {
    if (tort_build.segmenting) return tort_build.segmenting->segment(session, error);
    for (int32_t i = 0; i < session->chain_count; i++)
        if (session->chain[i].provider->segments)
            return tort_fail(error, TORT_E_UNSUPPORTED,
                             "provider %s compiles segments, and the program's tort_build has no member segmenting",
                             session->chain[i].provider->name);
    return TORT_OK;
}

tort_status tort_link_down(const tort_link *link, tort_error *error) {
    const tort_condition *condition = &link->condition;
    tort_fail(error, TORT_E_PLACEMENT, "%s did not open: %s, %s%s%s", link->config.provider, condition->code,
              condition->message, *condition->cure ? "; " : "", condition->cure);
    if (error) error->provider = link->provider->name;
    return TORT_E_PLACEMENT;
}

tort_link *tort_link_named(const tort_session *session, const char *name) {
    for (int32_t i = 0; i < session->chain_count; i++)
        if (!strcmp(session->chain[i].config.provider, name)) return &session->chain[i];
    return NULL;
}

tort_status tort_chain_alloc(const tort_session *session, const tort_env *env, int32_t memory, size_t bytes,
                             const char *purpose, void **out, tort_error *error) {
    if (!memory) {
        *out = tort_alloc_aligned(env, bytes);
        return *out ? TORT_OK : tort_out_of_memory(error, bytes);
    }
    const tort_link *link = session->memories[memory].owner;
    *out = tort_link_alloc(link, bytes);
    return *out ? TORT_OK : tort_link_alloc_failed(link, bytes, purpose, error);
}

void tort_chain_free(const tort_session *session, const tort_env *env, int32_t memory, void *ptr, size_t bytes) {
    if (memory)
        tort_link_free(session->memories[memory].owner, ptr, bytes);
    else
        tort_free_aligned(env, ptr, bytes);
}

const tort_library_state *tort_link_library(tort_link *link, const char *name) {
    const char *const *listed = link->provider->libraries;
    int32_t i = 0;
    while (listed && i < TORT_LIBRARIES && listed[i] && strcmp(listed[i], name) != 0) i++;
    if (!listed || i == TORT_LIBRARIES || !listed[i]) return NULL;
    tort_library_state *state = &link->libraries[i];
    if (state->queried) return state;
    state->queried = true;
    if (link->described) {
        state->found = link->target.libraries; /* for an absent device the description is trusted */
        if (!state->found) snprintf(state->message, sizeof state->message, "switched off by libraries=off");
    } else if (link->provider->library) {
        const int32_t before = tort_link_enter(link);
        state->found = link->provider->library(link->device, name, state->message, sizeof state->message, state->cure,
                                               sizeof state->cure);
        tort_link_leave(link, before);
    }
    return state;
}

void tort_chain_close(tort_session *session) {
    for (int32_t i = session->chain_count - 1; i >= 0; i--) {
        tort_link *link = &session->chain[i];
        if (link->opened && link->provider->close) link->provider->close(link->device);
    }
}
