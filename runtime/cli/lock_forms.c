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

static const char *op_of(const cli_move *move) {
    return move->is ? move->is->op : move->was->op;
}

/* ---- moves of one kind, way and reason --------------------------------------------------------------------------- */

enum { MAX_TOLD = 20 };

typedef struct group {
    const cli_move *first;
    int32_t nodes;
    bool ops_differ;
} group;

static bool goes_alike(const cli_placed *a, const cli_placed *b) {
    return !a == !b && (!a || (!strcmp(a->provider, b->provider) && !strcmp(a->family, b->family)));
}

static bool are_alike(const cli_move *a, const cli_move *b) {
    return a->failed == b->failed && goes_alike(a->was, b->was) && goes_alike(a->is, b->is) &&
           !strcmp(a->why ? a->why : "", b->why ? b->why : "");
}

/* The first MAX_TOLD groups, failures before others. *left_out: the moves of all other groups. */
static int32_t groups_of(const cli_moves *moves, group groups[MAX_TOLD], int32_t *left_out) {
    int32_t count = 0;
    *left_out = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < moves->count; i++) {
            const cli_move *move = &moves->list[i];
            int32_t g = 0;
            if (move->failed != (pass == 0)) continue;
            while (g < count && !are_alike(groups[g].first, move)) g++;
            *left_out += g == MAX_TOLD;
            if (g == MAX_TOLD) continue;
            if (g == count) groups[count++] = (group){.first = move};
            groups[g].nodes++;
            groups[g].ops_differ = groups[g].ops_differ || strcmp(op_of(groups[g].first), op_of(move)) != 0;
        }
    return count;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_table(const cli_options *options, const cli_moves *moves) {
    group groups[MAX_TOLD];
    int32_t left_out;
    const int32_t count = groups_of(moves, groups, &left_out);
    cli_table *table = cli_table_new("|nodes>|the first~|op~|where|why", 0);
    for (int32_t i = 0; i < count; i++) {
        const cli_move *move = groups[i].first;
        char *path = path_of(move);
        cli_cell(table, move->failed ? CLI_RED : CLI_DIM, "%s", kind_of(move));
        cli_cell(table, CLI_PLAIN, "%d", groups[i].nodes);
        cli_cell(table, CLI_BOLD, "%s", name_of(move));
        cli_cell(table, CLI_PLAIN, "%s%s", op_of(move), groups[i].ops_differ ? ", ..." : "");
        cli_cell(table, CLI_PLAIN, "%s", path);
        cli_cell(table, CLI_DIM, "%s", move->why ? move->why : "");
        free(path);
    }
    cli_table_print(table, stdout, cli_width(stdout, options->width));
    if (left_out) cli_print(stdout, "and %d more, for other reasons (--json has all)\n", left_out);
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
    group groups[MAX_TOLD];
    int32_t left_out;
    const int32_t count = groups_of(moves, groups, &left_out);
    char *file = cli_replace(cli_model_path(options), in_property);
    for (int32_t i = 0; i < count; i++) {
        const cli_move *move = groups[i].first;
        char *path = path_of(move), *more = cli_format(" and %d more", groups[i].nodes - 1);
        char *title = cli_format("%s%s %s: %s", name_of(move), groups[i].nodes > 1 ? more : "", kind_of(move), path);
        char *safe = cli_replace(title, in_property), *why = cli_replace(move->why ? move->why : "", in_message);
        cli_print(stdout, "::%s file=%s,title=%s::%s\n", move->failed ? "error" : "notice", file, safe,
                  *why ? why : "it is no more in the model");
        free(path);
        free(more);
        free(title);
        free(safe);
        free(why);
    }
    if (left_out) cli_print(stdout, "::notice file=%s::and %d more moves, for other reasons\n", file, left_out);
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
        cli_json_text(item, "op", op_of(move));
        cli_json_text(item, "kind", kind_of(move));
        cJSON_AddBoolToObject(item, "failed", move->failed);
        cJSON_AddItemToObject(item, "was", place_json(move->was));
        cJSON_AddItemToObject(item, "is", place_json(move->is));
        cli_json_text(item, "why", move->why);
        cJSON_AddItemToArray(list, item);
    }
    return check;
}
