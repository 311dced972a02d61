/* lock_forms.c - what has moved since a lock, as a table, as annotations of GitHub Actions, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"

/* "moved", "new" or "gone" */
static const char *kind_of(const cli_move *move) {
    return !move->is ? "gone" : !move->was ? "new" : "moved";
}

static const char *name_of(const cli_move *move) {
    return move->is ? move->is->name : move->was->name;
}

/* "cuda cuDNN -> cpu plain"; the caller frees. */
static char *path_of(const cli_move *move) {
    const cli_placed *was = move->was, *is = move->is;
    if (!is) return cli_format("%s %s", was->provider, was->family);
    if (!was) return cli_format("%s %s", is->provider, is->family);
    return cli_format("%s %s -> %s %s", was->provider, was->family, is->provider, is->family);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_table(const cli_options *options, const cli_moves *moves) {
    cli_table *table = cli_table_new("|node~|op~|where|why", 0);
    for (int32_t i = 0; i < moves->count; i++) {
        const cli_move *move = &moves->list[i];
        char *path = path_of(move);
        cli_cell(table, move->failed ? CLI_RED : CLI_DIM, "%s", kind_of(move));
        cli_cell(table, CLI_BOLD, "%s", name_of(move));
        cli_cell(table, CLI_PLAIN, "%s", move->is ? move->is->op : move->was->op);
        cli_cell(table, CLI_PLAIN, "%s", path);
        cli_cell(table, CLI_DIM, "%s", move->why ? move->why : "");
        free(path);
    }
    cli_table_print(table, stdout, cli_width(stdout, options->width));
    cli_print(stdout, "\n");
}

static void print_text(const cli_options *options, const cli_moves *moves) {
    if (moves->count) print_table(options, moves);
    cli_print(stdout, "%s: %d nodes, %d moved, %d new, %d gone%s\n", options->check, moves->nodes, moves->moved,
              moves->added, moves->gone, moves->gone > CLI_MAX_GONE ? ", of which the first are told" : "");
}

/* ---- workflow commands of GitHub Actions ------------------------------------------------------------------------- */

/* Escapes in a message and in a property, such as `title`. */
static const cli_escape_row in_message[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {0, NULL}};
static const cli_escape_row in_property[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"},
                                             {':', "%3A"}, {',', "%2C"},  {0, NULL}};

static void print_github(const cli_options *options, const cli_moves *moves) {
    char *file = cli_replace(cli_model_path(options), in_property);
    for (int32_t i = 0; i < moves->count; i++) {
        const cli_move *move = &moves->list[i];
        char *path = path_of(move), *title = cli_format("%s %s: %s", name_of(move), kind_of(move), path);
        char *safe = cli_replace(title, in_property), *why = cli_replace(move->why ? move->why : "", in_message);
        cli_print(stdout, "::%s file=%s,title=%s::%s\n", move->failed ? "error" : "notice", file, safe,
                  *why ? why : "it is no more in the model");
        free(path);
        free(title);
        free(safe);
        free(why);
    }
    free(file);
}

void cli_moves_print(const cli_options *options, const cli_moves *moves) {
    if (options->github)
        print_github(options, moves);
    else
        print_text(options, moves);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *place_json(const cli_placed *placed) {
    if (!placed) return cJSON_CreateNull();
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "provider", placed->provider);
    cli_json_text(item, "family", placed->family);
    cli_json_text(item, "codes", placed->codes);
    return item;
}

cJSON *cli_moves_json(const cli_options *options, const cli_moves *moves) {
    cJSON *check = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(check, "moves");
    cli_json_text(check, "lock", options->check);
    cli_json_number(check, "nodes", moves->nodes);
    cli_json_number(check, "failed", moves->failed);
    cli_json_number(check, "gone", moves->gone);
    for (int32_t i = 0; i < moves->count; i++) {
        const cli_move *move = &moves->list[i];
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "node", name_of(move));
        cli_json_text(item, "op", move->is ? move->is->op : move->was->op);
        cli_json_text(item, "kind", kind_of(move));
        cJSON_AddBoolToObject(item, "failed", move->failed);
        cJSON_AddItemToObject(item, "was", place_json(move->was));
        cJSON_AddItemToObject(item, "is", place_json(move->is));
        cli_json_text(item, "why", move->why);
        cJSON_AddItemToArray(list, item);
    }
    return check;
}
