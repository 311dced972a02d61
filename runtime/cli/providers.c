/* providers.c - `tinyort providers`: opens every provider of the build and tells what came of it. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/memory.h"
#include "runtime/provider.h"

typedef struct library_answer {
    bool asked, found;
    char message[160], cure[160];
} library_answer;

/* What opening a provider with its defaults told. */
typedef struct opened {
    const tort_provider *provider;
    tort_condition condition;
    tort_target target;
    library_answer libraries[TORT_LIBRARY_COUNT];
} opened;

static const char *const library_names[TORT_LIBRARY_COUNT] = {"", "cuBLAS", "cuDNN"};

static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == length && !memcmp(p, name, length)) return true;
    return false;
}

static void open_provider(const tort_provider *provider, const tort_env *env, opened *out) {
    *out = (opened){.provider = provider};
    if (listed(getenv("TINYORT_DISABLE"), provider->name)) {
        snprintf(out->condition.code, sizeof out->condition.code, "DISABLED");
        snprintf(out->condition.message, sizeof out->condition.message, "switched off by TINYORT_DISABLE");
        snprintf(out->condition.cure, sizeof out->condition.cure, "unset TINYORT_DISABLE");
        return;
    }
    if (provider->load) {
        const tort_provider *loaded = provider->load(&out->condition);
        if (!loaded) return;
        out->provider = provider = loaded;
    }
    tort_provider_config config = {.provider = provider->name, .env = env};
    void *device = NULL;
    if (provider->load) { /* in a shared object of its own */
        provider = provider->load(&out->condition);
        if (!provider) return;
        out->provider = provider;
    }
    provider->open(&config, &device, &out->target, &out->condition);
    if (!out->condition.ready) return;
    for (int i = TORT_LIBRARY_NONE + 1; provider->library && i < TORT_LIBRARY_COUNT; i++) {
        library_answer *answer = &out->libraries[i];
        answer->asked = true;
        answer->found = provider->library(device, (tort_library)i, answer->message, sizeof answer->message,
                                          answer->cure, sizeof answer->cure);
    }
    if (provider->close) provider->close(device);
}

static cJSON *provider_json(const opened *o) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", o->provider->name);
    cJSON_AddStringToObject(item, "summary", o->provider->summary);
    cJSON_AddStringToObject(item, "status", o->condition.ready ? "ready" : "down");
    cJSON_AddStringToObject(item, "code", o->condition.ready ? "READY" : o->condition.code);
    cJSON_AddStringToObject(item, "description", o->condition.ready ? o->target.description : "");
    cJSON_AddStringToObject(item, "message", o->condition.message);
    cJSON_AddStringToObject(item, "cure", o->condition.cure);
    cJSON_AddStringToObject(item, "note", o->condition.note);
    cJSON *libraries = cJSON_AddArrayToObject(item, "libraries"), *options = cJSON_AddArrayToObject(item, "options");
    for (int i = 0; i < TORT_LIBRARY_COUNT; i++) {
        if (!o->libraries[i].asked) continue;
        cJSON *library = cJSON_CreateObject();
        cJSON_AddStringToObject(library, "name", library_names[i]);
        cJSON_AddBoolToObject(library, "found", o->libraries[i].found);
        cJSON_AddStringToObject(library, "message", o->libraries[i].message);
        cJSON_AddStringToObject(library, "cure", o->libraries[i].cure);
        cJSON_AddItemToArray(libraries, library);
    }
    for (const char *const *key = o->provider->option_keys; key && *key; key++)
        cJSON_AddItemToArray(options, cJSON_CreateString(*key));
    return item;
}

static void print_line(const char *title, const char *text) {
    if (*text) printf("  %-8s %s\n", title, text);
}

static void print_provider(const opened *o) {
    cli_colour colour = o->condition.ready ? CLI_GREEN : CLI_RED;
    printf("%s%s%s  %s%s%s%s%s\n", cli_colour_begin(stdout, CLI_BOLD), o->provider->name,
           cli_colour_end(stdout, CLI_BOLD), cli_colour_begin(stdout, colour),
           o->condition.ready ? "ready" : "down: ", o->condition.ready ? "" : o->condition.code,
           cli_colour_end(stdout, colour), "");
    print_line("", o->provider->summary);
    print_line("device", o->condition.ready ? o->target.description : "");
    print_line("cause", o->condition.message);
    print_line("cure", o->condition.cure);
    print_line("note", o->condition.note);
    for (int i = 0; i < TORT_LIBRARY_COUNT; i++) {
        const library_answer *answer = &o->libraries[i];
        if (!answer->asked) continue;
        printf("  %-8s %s%s%s%s%s\n", library_names[i], answer->found ? "found" : "missing",
               *answer->message ? ": " : "", answer->message, *answer->cure ? "; " : "", answer->cure);
    }
    char keys[300] = "";
    for (const char *const *key = o->provider->option_keys; key && *key; key++) {
        size_t used = strlen(keys);
        snprintf(keys + used, sizeof keys - used, "%s%s", used ? ", " : "", *key);
    }
    print_line("options", keys);
}

int cli_providers(const cli_options *options) {
    tort_env env = tort_env_complete(NULL);
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "providers");
    for (const tort_provider *const *provider = tort_providers; *provider; provider++) {
        opened o;
        open_provider(*provider, &env, &o);
        if (options->json)
            cJSON_AddItemToArray(list, provider_json(&o));
        else
            print_provider(&o);
    }
    if (options->json)
        cli_print_json(root);
    else
        cJSON_Delete(root);
    return CLI_OK;
}
