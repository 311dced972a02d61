/* providers.c - `tinyort providers`: opens every provider of the build and tells what came of it. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/session_state.h"

/* Every provider of the build, as a chain. The caller frees. */
static char *whole_chain(void) {
    char *chain = cli_copy_text("", 0);
    for (const tort_provider *const *provider = tort_providers; *provider; provider++) {
        char *longer = cli_format("%s%s%s", chain, *chain ? "," : "", (*provider)->name);
        free(chain);
        chain = longer;
    }
    return chain;
}

static cJSON *provider_json(const tort_link *o) {
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
        cJSON_AddStringToObject(library, "name", tort_library_name((tort_library)i));
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

static void print_provider(const tort_link *o) {
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
        const tort_library_state *answer = &o->libraries[i];
        if (!answer->asked) continue;
        printf("  %-8s %s%s%s%s\n", tort_library_name((tort_library)i),
               answer->found ? "" : "not used: ", answer->message, *answer->cure ? "; " : "", answer->cure);
    }
    char keys[300] = "";
    for (const char *const *key = o->provider->option_keys; key && *key; key++) {
        size_t used = strlen(keys);
        snprintf(keys + used, sizeof keys - used, "%s%s", used ? ", " : "", *key);
    }
    print_line("options", keys);
}

/* Opens the providers as a session would, and asks each for its libraries. */
static tort_status open_all(tort_session *session, tort_error *error) {
    tort_status status = tort_chain_open(session, error);
    for (int32_t i = 0; !status && i < session->chain_count; i++) {
        tort_link *link = &session->chain[i];
        for (int k = TORT_LIBRARY_NONE + 1; link->opened && link->provider->library && k < TORT_LIBRARY_COUNT; k++)
            tort_link_library(link, (tort_library)k);
    }
    return status;
}

int cli_providers(const cli_options *options) {
    char *chain = options->chain_count ? cli_copy_text(options->chains[0], strlen(options->chains[0])) : whole_chain();
    tort_session session = {.env = tort_env_complete(NULL), /* no model: only its chain is used */
                            .options = {.chain = chain, .disabled = getenv("TINYORT_DISABLE")}};
    tort_error error;
    tort_arena_init(&session.arena, &session.env);
    tort_status status = open_all(&session, &error);
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "providers");
    for (int32_t i = 0; !status && i < session.chain_count; i++) {
        if (options->json)
            cJSON_AddItemToArray(list, provider_json(&session.chain[i]));
        else
            print_provider(&session.chain[i]);
    }
    if (options->json && !status)
        cli_print_json(root);
    else
        cJSON_Delete(root);
    tort_chain_close(&session);
    tort_arena_free(&session.arena);
    free(chain);
    return status ? cli_fail(options->command, &error) : CLI_OK;
}
