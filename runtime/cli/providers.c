/* providers.c - `tinyort providers`: opens every provider of the build and shows the result. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/table.h"

static cJSON *provider_json(const tort_probe_provider *o) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "name", o->name);
    cli_json_text(item, "summary", o->summary);
    cli_json_text(item, "status", o->ready ? "ready" : "down");
    cli_json_text(item, "code", o->code);
    cli_json_text(item, "description", o->description);
    cli_json_text(item, "message", o->message);
    cli_json_text(item, "cure", o->cure);
    cli_json_text(item, "note", o->note);
    cli_json_text(item, "built_for", o->built_for);
    cJSON *libraries = cJSON_AddArrayToObject(item, "libraries"), *options = cJSON_AddArrayToObject(item, "options");
    for (int32_t i = 0; i < o->library_count; i++) {
        cJSON *library = cJSON_CreateObject();
        cli_json_text(library, "name", o->libraries[i]->name);
        cJSON_AddBoolToObject(library, "found", o->libraries[i]->found);
        cli_json_text(library, "message", o->libraries[i]->message);
        cli_json_text(library, "cure", o->libraries[i]->cure);
        cJSON_AddItemToArray(libraries, library);
    }
    for (const tort_option_help *known = o->options; known->key; known++)
        cJSON_AddItemToArray(options, cJSON_CreateString(known->key));
    return item;
}

static void add_line(cli_table *table, const char *title, const char *text) {
    if (!*text) return;
    cli_cell(table, CLI_DIM, "%s", title);
    cli_cell(table, CLI_PLAIN, "%s", text);
}

static void print_provider(const tort_probe_provider *o, int width) {
    cli_colour colour = o->ready ? CLI_GREEN : CLI_RED;
    cli_print_colour(stdout, CLI_BOLD, "%s", o->name);
    cli_print(stdout, "  ");
    cli_print_colour(stdout, colour, "%s%s", o->ready ? "ready" : "down: ", o->ready ? "" : o->code);
    cli_print(stdout, "\n");
    cli_table *table = cli_table_new("|", 2);
    add_line(table, "what", o->summary);
    add_line(table, "device", o->description);
    add_line(table, "cause", o->message);
    add_line(table, "cure", o->cure);
    add_line(table, "note", o->note);
    for (int32_t i = 0; i < o->library_count; i++) {
        const tort_probe_library *answer = o->libraries[i];
        char *text = cli_format("%s%s%s%s", answer->found ? "" : "not used: ", answer->message,
                                *answer->cure ? "; " : "", answer->cure);
        add_line(table, answer->name, text);
        free(text);
    }
    char *keys = cli_copy_text("", 0);
    for (const tort_option_help *known = o->options; known->key; known++)
        cli_append(&keys, "%s%s", *keys ? ", " : "", known->key);
    add_line(table, "options", keys);
    free(keys);
    cli_table_print(table, stdout, width);
}

static tort_probe_options probe_options(const cli_options *options, const char *chain) {
    return (tort_probe_options){.struct_size = sizeof(tort_probe_options),
                                .chain = chain,
                                .require = options->require,
                                .disabled = getenv("TINYORT_DISABLE")};
}

tort_status cli_check_required(const cli_options *options, tort_error *error) {
    tort_probe *probe;
    const tort_probe_options wanted = probe_options(options, options->chains.count ? options->chains.items[0] : "cpu");
    tort_status status = tort_probe_providers(NULL, &wanted, &probe, error);
    tort_probe_free(probe);
    return status;
}

static void tell(const tort_probe *probe, const cli_options *options, cJSON *json) {
    cJSON *list = json ? cJSON_AddArrayToObject(json, "providers") : NULL;
    for (int32_t i = 0; i < probe->provider_count; i++) {
        if (json)
            cJSON_AddItemToArray(list, provider_json(probe->providers[i]));
        else
            print_provider(probe->providers[i], cli_width(stdout, options->width));
    }
}

/* Shows the providers also if --require fails. */
int cli_providers(cli_options *options) {
    tort_error error = {0};
    tort_probe *probe = NULL;
    cJSON *json = cli_json_of(options);
    tort_probe_options wanted = probe_options(options, options->chains.count ? options->chains.items[0] : NULL);
    wanted.libraries = true;
    if (!cli_check_environment(&error)) tort_probe_providers(NULL, &wanted, &probe, &error);
    if (probe) tell(probe, options, json);
    tort_probe_free(probe);
    return cli_end_plain(options, &error, json);
}
