/* lock_forms.c - what has moved since a lock, in the forms of --format: a table, and those that CI services read. */
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

/* ---- escapes of other formats ------------------------------------------------------------------------------------ */

/* Escapes in a message and in a property, such as `title`, of workflow commands; and in a URI. */
static const cli_escape_row in_message[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {0, NULL}};
static const cli_escape_row in_property[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"},
                                             {':', "%3A"}, {',', "%2C"},  {0, NULL}};
static const cli_escape_row in_uri[] = {{'%', "%25"}, {' ', "%20"},  {'#', "%23"},
                                        {'?', "%3F"}, {'\\', "%5C"}, {0, NULL}};

/* ---- workflow commands of GitHub Actions --------------------------------------------------------------------------
 */

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

/* ---- JUnit ---------------------------------------------------------------------------------------------------------
 */

static void print_case(const char *name, const char *op, const cli_move *move) {
    char *safe = cli_replace(name, cli_in_xml), *class = cli_replace(op, cli_in_xml);
    cli_print(stdout, "    <testcase classname=\"%s\" name=\"%s\"", class, safe);
    if (move && move->failed) {
        char *path = path_of(move), *message = cli_replace(path, cli_in_xml), *why = cli_replace(move->why, cli_in_xml);
        cli_print(stdout, ">\n      <failure message=\"%s\">%s</failure>\n    </testcase>\n", message, why);
        free(path);
        free(message);
        free(why);
    } else {
        cli_print(stdout, "/>\n");
    }
    free(safe);
    free(class);
}

/* A test case for each node of the model. Moves and nodes have one order. */
static void print_junit(const cli_options *options, const cli_lock *now, const cli_moves *moves) {
    char *model = cli_replace(cli_model_path(options), cli_in_xml);
    cli_print(stdout,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
              "  <testsuite name=\"placement of %s\" tests=\"%d\" failures=\"%d\">\n",
              model, now->count, moves->failed);
    for (int32_t i = 0, k = 0; i < now->count; i++) {
        while (k < moves->count && !moves->list[k].is) k++;
        const cli_move *move = k < moves->count && moves->list[k].is == &now->nodes[i] ? &moves->list[k++] : NULL;
        print_case(now->nodes[i].name, now->nodes[i].op, move);
    }
    cli_print(stdout, "  </testsuite>\n</testsuites>\n");
    free(model);
}

/* ---- SARIF 2.1.0 ----------------------------------------------------------------------------------------------------
 */

static cJSON *text_json(const char *text) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "text", text);
    return item;
}

static cJSON *rule_json(const char *id, const char *text) {
    cJSON *rule = cJSON_CreateObject();
    cli_json_text(rule, "id", id);
    cJSON_AddItemToObject(rule, "shortDescription", text_json(text));
    return rule;
}

static cJSON *result_json(const cli_move *move, const char *uri) {
    cJSON *result = cJSON_CreateObject(), *location = cJSON_CreateObject(), *logical = cJSON_CreateObject();
    char *path = path_of(move), *text = cli_format("%s %s: %s%s%s", name_of(move), kind_of(move), path,
                                                   move->why ? ". " : "", move->why ? move->why : "");
    cli_json_text(result, "ruleId", kind_of(move));
    cli_json_text(result, "level", move->failed ? "error" : "note");
    cJSON_AddItemToObject(result, "message", text_json(text));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "locations"), location);
    cJSON *physical = cJSON_AddObjectToObject(location, "physicalLocation");
    cli_json_text(cJSON_AddObjectToObject(physical, "artifactLocation"), "uri", uri);
    cli_json_number(cJSON_AddObjectToObject(physical, "region"), "startLine", 1);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(location, "logicalLocations"), logical);
    cli_json_text(logical, "fullyQualifiedName", name_of(move));
    free(path);
    free(text);
    return result;
}

static void print_sarif(const cli_options *options, const cli_moves *moves) {
    char *uri = cli_replace(cli_model_path(options), in_uri);
    cJSON *root = cJSON_CreateObject(), *run = cJSON_CreateObject();
    cli_json_text(root, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    cli_json_text(root, "version", "2.1.0");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(root, "runs"), run);
    cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
    cli_json_text(driver, "name", "tinyort");
    cli_json_text(driver, "version", tort_version());
    cJSON *rules = cJSON_AddArrayToObject(driver, "rules");
    cJSON_AddItemToArray(rules, rule_json("moved", "A node does not run where the lock has it"));
    cJSON_AddItemToArray(rules, rule_json("new", "A node is not in the lock"));
    cJSON_AddItemToArray(rules, rule_json("gone", "A node of the lock is no more in the model"));
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (int32_t i = 0; i < moves->count; i++) cJSON_AddItemToArray(results, result_json(&moves->list[i], uri));
    cli_json_print(root, false);
    free(uri);
}

/* ---- the form that is asked for ------------------------------------------------------------------------------------
 */

void cli_moves_print(const cli_options *options, const cli_lock *now, const cli_moves *moves) {
    switch (options->check_form) {
    case CLI_GITHUB: print_github(options, moves); break;
    case CLI_JUNIT: print_junit(options, now, moves); break;
    case CLI_SARIF: print_sarif(options, moves); break;
    default: print_text(options, moves);
    }
}

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
