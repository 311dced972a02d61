/* providers.c - `tinyort providers`: opens every provider of the build and tells what came of it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/table.h"
#include "runtime/session_state.h"

/* Every provider of the build, as a chain. The caller frees. */
static char *whole_chain(void) {
    char *chain = cli_copy_text("", 0);
    for (const tort_provider *const *provider = tort_providers; *provider; provider++)
        cli_append(&chain, "%s%s", *chain ? "," : "", (*provider)->name);
    return chain;
}

static cJSON *provider_json(const tort_link *o) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "name", o->provider->name);
    cli_json_text(item, "summary", o->provider->summary);
    cli_json_text(item, "status", o->condition.ready ? "ready" : "down");
    cli_json_text(item, "code", o->condition.ready ? "READY" : o->condition.code);
    cli_json_text(item, "description", o->condition.ready ? o->target.description : "");
    cli_json_text(item, "message", o->condition.message);
    cli_json_text(item, "cure", o->condition.cure);
    cli_json_text(item, "note", o->condition.note);
    cli_json_text(item, "built_for", o->provider->built_for);
    cJSON *libraries = cJSON_AddArrayToObject(item, "libraries"), *options = cJSON_AddArrayToObject(item, "options");
    for (int i = 0; i < TORT_LIBRARY_COUNT; i++) {
        if (!o->libraries[i].asked) continue;
        cJSON *library = cJSON_CreateObject();
        cli_json_text(library, "name", tort_library_name((tort_library)i));
        cJSON_AddBoolToObject(library, "found", o->libraries[i].found);
        cli_json_text(library, "message", o->libraries[i].message);
        cli_json_text(library, "cure", o->libraries[i].cure);
        cJSON_AddItemToArray(libraries, library);
    }
    for (const char *const *key = o->provider->option_keys; key && *key; key++)
        cJSON_AddItemToArray(options, cJSON_CreateString(*key));
    return item;
}

static void add_line(cli_table *table, const char *title, const char *text) {
    if (!*text) return;
    cli_cell(table, CLI_DIM, "%s", title);
    cli_cell(table, CLI_PLAIN, "%s", text);
}

static void print_provider(const tort_link *o, int width) {
    cli_colour colour = o->condition.ready ? CLI_GREEN : CLI_RED;
    cli_print_colour(stdout, CLI_BOLD, "%s", o->provider->name);
    cli_print(stdout, "  ");
    cli_print_colour(stdout, colour, "%s%s",
                     o->condition.ready ? "ready" : "down: ", o->condition.ready ? "" : o->condition.code);
    cli_print(stdout, "\n");
    cli_table *table = cli_table_new("|", 2);
    add_line(table, "what", o->provider->summary);
    add_line(table, "device", o->condition.ready ? o->target.description : "");
    add_line(table, "cause", o->condition.message);
    add_line(table, "cure", o->condition.cure);
    add_line(table, "note", o->condition.note);
    for (int i = 0; i < TORT_LIBRARY_COUNT; i++) {
        const tort_library_state *answer = &o->libraries[i];
        if (!answer->asked) continue;
        char *text = cli_format("%s%s%s%s", answer->found ? "" : "not used: ", answer->message,
                                *answer->cure ? "; " : "", answer->cure);
        add_line(table, tort_library_name((tort_library)i), text);
        free(text);
    }
    char *keys = cli_copy_text("", 0);
    for (const char *const *key = o->provider->option_keys; key && *key; key++)
        cli_append(&keys, "%s%s", *keys ? ", " : "", *key);
    add_line(table, "options", keys);
    free(keys);
    cli_table_print(table, stdout, width);
}

/* A session without a model, of which only the chain is used. */
static tort_status open_chain(tort_session *session, const char *chain, const cli_options *options, tort_error *error) {
    *session =
        (tort_session){.env = tort_env_complete(NULL),
                       .options = {.chain = chain, .require = options->require, .disabled = getenv("TINYORT_DISABLE")}};
    tort_arena_init(&session->arena, &session->env);
    return tort_chain_open(session, error);
}

static void close_chain(tort_session *session) {
    tort_chain_close(session);
    tort_arena_free(&session->arena);
}

tort_status cli_check_required(const cli_options *options, tort_error *error) {
    tort_session session;
    tort_status status = open_chain(&session, options->chain_count ? options->chains[0] : "cpu", options, error);
    if (!status) status = tort_chain_require(&session, error);
    close_chain(&session);
    return status;
}

static void ask_for_libraries(tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++) {
        tort_link *link = &session->chain[i];
        for (int k = TORT_LIBRARY_NONE + 1; link->opened && link->provider->library && k < TORT_LIBRARY_COUNT; k++)
            tort_link_library(link, (tort_library)k);
    }
}

/* What could be opened is told also where --require was not met. */
static void tell(tort_session *session, const cli_options *options, cJSON *json) {
    cJSON *list = json ? cJSON_AddArrayToObject(json, "providers") : NULL;
    ask_for_libraries(session);
    for (int32_t i = 0; i < session->chain_count; i++) {
        if (json)
            cJSON_AddItemToArray(list, provider_json(&session->chain[i]));
        else
            print_provider(&session->chain[i], cli_width(stdout, options->width));
    }
}

int cli_providers(cli_options *options) {
    char *chain = options->chain_count ? cli_format("%s", options->chains[0]) : whole_chain();
    tort_session session;
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    tort_status status = cli_check_environment(&error);
    if (!status) {
        status = open_chain(&session, chain, options, &error);
        if (!status) {
            tell(&session, options, json);
            tort_chain_require(&session, &error);
        }
        close_chain(&session);
    }
    free(chain);
    return cli_end_plain(options, &error, json);
}
