/* plan.c - `tinyort plan`: the placement of every node and its reasons, as tables or as JSON. Nothing is run. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/described.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/observed.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/page.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/core/graph/graph.h"
#include "runtime/export/optimized.h"
#include "runtime/include/tinyort_plan.h"

/* ---- providers and memory ---------------------------------------------------------------------------------------- */

static int32_t count_unread(const tort_report *report) {
    int32_t count = 0;
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        count += node->provider && !strcmp(node->provider, "folded") && !strcmp(node->kernel, "unread");
    }
    return count;
}

static void print_providers(const tort_report *report, int width) {
    cli_table *table = cli_table_new("provider|nodes>|copies in>|weights>|arena>|", 0);
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = report->providers[i];
        char buffer[32];
        cli_cell(table, provider->ready ? CLI_BOLD : CLI_RED, "%s", provider->name);
        cli_cell(table, CLI_PLAIN, "%d", provider->nodes);
        if (!provider->ready) {
            for (int blank = 0; blank < 3; blank++) cli_cell(table, CLI_PLAIN, "%s", "");
            cli_cell(table, CLI_YELLOW, "did not open: %s, %s%s%s", provider->code, provider->message,
                     *provider->cure ? "; " : "", provider->cure);
            continue;
        }
        cli_cell(table, CLI_PLAIN, "%d", provider->copies_in);
        cli_cell(table, CLI_PLAIN, "%s", cli_bytes_text((double)provider->weight_bytes, buffer, sizeof buffer));
        cli_cell(table, CLI_PLAIN, "%s", cli_bytes_text((double)provider->peak_bytes, buffer, sizeof buffer));
        cli_cell(table, CLI_DIM, "%s%s%s%s%s%s%s", provider->description, *provider->message ? "; " : "",
                 provider->message, provider->engine_bytes ? "; its engine holds " : "",
                 provider->engine_bytes ? cli_bytes_text((double)provider->engine_bytes, buffer, sizeof buffer) : "",
                 provider->shares ? "; in the memory of " : "", provider->shares ? provider->shares : "");
    }
    const struct {
        const char *name;
        int32_t nodes;
    } others[] = {
        {"host", report->host}, {"folded", report->folded}, {"fused", report->fused}, {"nowhere", report->unplaced}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!others[i].nodes) continue;
        cli_cell(table, i == 3 ? CLI_RED : CLI_PLAIN, "%s", others[i].name);
        cli_cell(table, CLI_PLAIN, "%d", others[i].nodes);
        const int32_t unread = i == 1 ? count_unread(report) : 0;
        for (int blank = 0; unread && blank < 3; blank++) cli_cell(table, CLI_PLAIN, "%s", "");
        if (unread) cli_cell(table, CLI_DIM, "%d unread: no output needs %s", unread, unread == 1 ? "it" : "them");
        cli_row_end(table);
    }
    cli_table_print(table, stdout, width);
}

/* Says whether runs are recorded for the device, how far and, if not as a whole, why. */
static void print_recording(const tort_report *report, int width) {
    static const char *const reasons[] = {
        [TORT_RECORDING_UNKNOWN] = "whether they are recorded depends on input shapes that are not known yet",
        [TORT_RECORDING_WHOLE] = "recorded in the second with the same shapes, then given to the device as one",
        [TORT_RECORDING_ELSEWHERE] = "not all is work of the device",
        [TORT_RECORDING_BODIES] = "bodies are run",
        [TORT_RECORDING_DYNAMIC] = "a shape depends on data",
        [TORT_RECORDING_HOST_VALUES] = "values of each run are read on the host",
        [TORT_RECORDING_RANDOM] = "values are made anew in each"};
    const tort_report_node *node = cli_recording_node(report);
    if (!report->recording) return;
    if (report->recorded && *report->recording_note) {
        cli_print(stdout, "runs: step by step, not recorded: %s\n", report->recording_note);
        return;
    }
    char how[80] = "";
    if (report->recording > TORT_RECORDING_WHOLE && report->recorded)
        snprintf(how, sizeof how, "%d nodes recorded, the rest step by step, since ", report->recorded);
    else if (report->recording > TORT_RECORDING_WHOLE)
        snprintf(how, sizeof how, "step by step, since ");
    const char *reason = reasons[report->recording];
    const int used = (int)(strlen(how) + strlen(reason)) + 8;
    char *path = node ? cli_shorten(node->path, width ? width - used : INT_MAX) : NULL;
    cli_print(stdout, "runs: %s%s%s%s\n", how, reason, path ? ": " : "", path ? path : "");
    free(path);
}

/* Prints the host memory, without parts that depend on unknown shapes. */
static void print_memory(const tort_report *report, int width) {
    const tort_report_memory *memory = report->memory;
    const struct {
        const char *name;
        int64_t bytes;
    } parts[] = {{"model", memory->model},
                 {"weights", memory->weights},
                 {"session", memory->session},
                 {"context", memory->context},
                 {"arena", memory->arena}};
    char buffer[32], *text = cli_copy_text("", 0);
    if (memory->total > 0) cli_append(&text, "%s = ", cli_bytes_text((double)memory->total, buffer, sizeof buffer));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes >= 0)
            cli_append(&text, "%s%s %s", i ? ", " : "", parts[i].name,
                       cli_bytes_text((double)parts[i].bytes, buffer, sizeof buffer));
    if (memory->total < 0) cli_append(&text, "; the rest once shapes are known (--shape)");
    if (memory->grows) cli_append(&text, "; what depends on data comes on top (--dynamic-limit)");
    for (int32_t i = 0; i < report->bound_count; i++)
        cli_append(&text, "%s%s at most %lld", i ? ", " : "; with ", report->bounds[i].name,
                   (long long)report->bounds[i].size);
    if (*report->bounds_note) cli_append(&text, "; %s", report->bounds_note);
    cli_table *table = cli_table_new("|", 0);
    cli_cell(table, CLI_PLAIN, "host memory:");
    cli_cell(table, CLI_DIM, "%s", text);
    cli_table_print(table, stdout, width);
    free(text);
}

/* Prints the sum of the layout conversions; the table of nodes lists each of them. */
static void print_conversions(const tort_report *report, int width) {
    char buffer[32];
    double bytes = 0;
    if (!report->conversion_count) return;
    for (int32_t i = 0; i < report->conversion_count; i++) {
        const int64_t own = report->conversions[i]->bytes;
        bytes = own < 0 || bytes < 0 ? -1 : bytes + (double)own;
    }
    cli_table *table = cli_table_new("|", 0);
    cli_cell(table, CLI_PLAIN, "conversions:");
    cli_cell(table, CLI_DIM, "%d between layouts, %s", report->conversion_count,
             cli_bytes_text(bytes, buffer, sizeof buffer));
    cli_table_print(table, stdout, width);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static void op_cell(cli_table *table, const tort_report_node *node) {
    cli_cell(table, CLI_PLAIN, "%s%s%s-%d", node->domain, *node->domain ? "." : "", node->op, node->since);
}

static void place_cell(cli_table *table, const tort_report_node *node, const char *first) {
    const bool host = node->provider && !strcmp(node->provider, "host");
    const cli_colour colour = !node->provider                  ? CLI_RED
                              : !strcmp(node->provider, first) ? CLI_GREEN
                              : host                           ? CLI_DIM
                                                               : CLI_YELLOW;
    cli_cell(table, colour, "%s", node->provider ? node->provider : "nowhere");
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

/* Counts nodes that were refused only by kernels of their own provider that are made for other nodes. */
static int32_t count_unmeant(const tort_report *report) {
    int32_t count = 0;
    for (int32_t i = 0; i < report->node_count; i++)
        count += cli_has_reason(report->nodes[i], CLI_ALL) && !cli_has_reason(report->nodes[i], CLI_LOSSES);
    return count;
}

/* Prints the refusals in one row per operator and reason: a summary of the table of nodes. */
static void print_reasons(const cli_options *options, const tort_report *report, int width) {
    const cli_detail detail = options->full ? CLI_ALL : CLI_LOSSES;
    cli_reasons reasons = cli_reasons_of(report, detail);
    cli_table *table = cli_table_new("nodes>|op~|runs on|why", 0);
    for (int32_t i = 0; i < reasons.count; i++) {
        const cli_reason *reason = &reasons.list[i];
        const tort_report_node *node = reason->examples[0];
        char *why = cli_group_text(reason, detail);
        cli_cell(table, CLI_PLAIN, "%d", reason->nodes);
        op_cell(table, node);
        place_cell(table, node, report->providers[0]->name);
        cli_cell(table, node->provider ? CLI_PLAIN : CLI_RED, "%s", why);
        free(why);
    }
    const int32_t unmeant = options->full ? 0 : count_unmeant(report);
    if (reasons.count) cli_print(stdout, "\n");
    cli_table_print(table, stdout, width);
    if (unmeant && !reasons.count) cli_print(stdout, "\n");
    if (unmeant)
        cli_print_colour(stdout, CLI_DIM, "%d node%s refused by kernels made for others (--full tells them)\n", unmeant,
                         unmeant == 1 ? " was" : "s were");
    cli_reasons_free(&reasons);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Copies and conversions of a report in the order of the nodes that need them; those of outputs last. */
typedef struct copy_list {
    const tort_report_copy **sorted;
    int32_t count, next;
} copy_list;

static uint32_t place_of(const tort_report_copy *copy) {
    return (uint32_t)copy->node; /* -1 (the outputs) becomes the largest */
}

static int by_node(const void *a, const void *b) {
    const tort_report_copy *x = *(const tort_report_copy *const *)a, *y = *(const tort_report_copy *const *)b;
    if (place_of(x) != place_of(y)) return place_of(x) < place_of(y) ? -1 : 1;
    return (x > y) - (x < y);
}

static copy_list sorted_copies(const tort_report *report) {
    const size_t all = (size_t)report->copy_count + (size_t)report->conversion_count;
    copy_list copies = {.sorted = cli_alloc(all, sizeof *copies.sorted)};
    for (int32_t i = 0; i < report->copy_count; i++) copies.sorted[copies.count++] = report->copies[i];
    for (int32_t i = 0; i < report->conversion_count; i++) copies.sorted[copies.count++] = report->conversions[i];
    qsort(copies.sorted, all, sizeof *copies.sorted, by_node);
    return copies;
}

/* Layout of the table of nodes. */
typedef struct layout {
    const char *first; /* first provider of the chain */
    int width;         /* of the terminal; 0: no limit */
} layout;

/* Appends "copy 256 B of 'image' cpu->cuda"; the verb is left out if it is the same as before. */
static void append_copy(char **text, const tort_report_copy *copy, const tort_report_copy *before, int name_width) {
    char buffer[32], *name = cli_short_name(copy->value, name_width);
    const char *verb = before && !before->provider == !copy->provider ? "" : copy->provider ? "convert " : "copy ";
    cli_append(text, "%s%s%s of '%s' %s->%s", before ? ", " : "", verb,
               cli_bytes_text((double)copy->bytes, buffer, sizeof buffer), name, copy->from, copy->to);
    free(name);
}

/* Prints the copies and conversions before a node (-1: at the end) in one row, only the first of them by name. */
static void print_copies(copy_list *copies, int32_t node, bool shown, const layout *l, cli_table *table) {
    const int32_t max_named = l->width ? 1 : 3;
    int32_t named = 0, left_out = 0;
    double bytes_left_out = 0;
    char buffer[32], *text = cli_copy_text("", 0);
    const tort_report_copy *before = NULL;
    for (; copies->next < copies->count && place_of(copies->sorted[copies->next]) <= (uint32_t)node; copies->next++) {
        const tort_report_copy *copy = copies->sorted[copies->next];
        if (copy->node != node) continue;
        if (named == max_named) {
            left_out++;
            bytes_left_out = copy->bytes < 0 || bytes_left_out < 0 ? -1 : bytes_left_out + (double)copy->bytes;
            continue;
        }
        append_copy(&text, copy, before, l->width ? 30 : INT_MAX);
        before = copy;
        named++;
    }
    if (left_out)
        cli_append(&text, " ... and %d more, %s", left_out, cli_bytes_text(bytes_left_out, buffer, sizeof buffer));
    if (*text && shown) {
        cli_cell(table, CLI_PLAIN, "%s", "");
        cli_cell(table, CLI_CYAN, "%s", text);
        cli_row_widen(table);
    }
    free(text);
}

/* True if the node, or a node that was joined into it, is of this operator. */
static bool is_of(const tort_report_node *node, const char *op) {
    bool is = !strcmp(op, node->op);
    for (int32_t i = 0; i < node->from_count; i++) is = is || !strcmp(op, node->from_ops[i]);
    return is;
}

/* True if the word is the node's number, "#12", or part of its name or of the name of a node that was joined into it;
 * joined: the path of the model's node of this number. */
static bool is_named(const tort_report_node *node, const char *word, const char *joined) {
    if (*word == '#' && atoi(word + 1) == node->index) return true;
    for (int32_t i = 0; joined && i < node->from_count; i++)
        if (!strcmp(node->from[i], joined)) return true;
    if (*word == '#') return false;
    bool is = strstr(node->path, word) != NULL;
    for (int32_t i = 0; i < node->from_count; i++) is = is || strstr(node->from[i], word);
    return is;
}

/* Answer of --only for a node. A node that is selected by name or number is shown with all details. */
typedef enum asked { NOT_ASKED, ASKED, ASKED_BY_NAME } asked;

static asked is_asked_for(const cli_options *options, const tort_model *model, const tort_report_node *node) {
    asked is = options->only.count ? NOT_ASKED : ASKED;
    for (int32_t i = 0; i < options->only.count; i++) {
        const char *only = options->only.items[i];
        const bool fallback = !strcmp(only, "fallback"), unplaced = !strcmp(only, "unplaced");
        const bool of_a_group = (fallback && cli_is_loss(node)) || (unplaced && !node->provider) || is_of(node, only);
        if (of_a_group && is == NOT_ASKED) is = ASKED;
        if (of_a_group) continue;
        char *joined = *only == '#' ? cli_node_path(model, atoi(only + 1)) : NULL;
        if (!fallback && !unplaced && is_named(node, only, joined)) is = ASKED_BY_NAME;
        free(joined);
    }
    return is;
}

static void print_node(const tort_report_node *node, const layout *l, cli_detail detail, cli_table *table) {
    char *why = cli_reason_text(node, detail, false);
    cli_cell(table, CLI_DIM, "%d", node->index);
    cli_cell(table, CLI_PLAIN, "%s", node->path);
    op_cell(table, node);
    place_cell(table, node, l->first);
    cli_cell(table, CLI_PLAIN, "%s", node->kernel);
    const cli_colour colour = node->provider ? CLI_DIM : CLI_RED;
    if (node->from_count)
        cli_cell(table, colour, "%d nodes%s%s", node->from_count, *why ? "; " : "", why);
    else
        cli_cell(table, colour, "%s", why);
    free(why);
}

/* Prints the nodes that a fusion or segment joined into this one, in a row below it. */
static void print_from(const tort_report_node *node, const layout *l, cli_table *table) {
    enum { BEFORE = 16 }; /* columns before the name */
    if (!node->from_count) return;
    char *text = cli_copy_text("", 0);
    for (int32_t i = 0; i < node->from_count; i++) {
        char *name = cli_short_name(node->from[i], l->width > 2 * BEFORE ? l->width - BEFORE : INT_MAX);
        cli_append(&text, "%s%s", i ? ", " : "from ", name);
        free(name);
    }
    cli_cell(table, CLI_PLAIN, "%s", "");
    cli_cell(table, CLI_DIM, "%s", text);
    cli_row_widen(table);
    free(text);
}

/* Prints the number of nodes that could not be placed because of `node`, in a row below it. */
static void print_behind(int32_t behind, const tort_report_node *node, cli_table *table) {
    if (!behind) return;
    cli_cell(table, CLI_PLAIN, "%s", "");
    cli_cell(table, CLI_RED, "+ %d node%s behind %s", behind, behind == 1 ? "" : "s", node->path);
    cli_row_widen(table);
}

static bool is_listed(const tort_report_node *node) {
    return !node->provider || strcmp(node->provider, "folded") != 0;
}

/* True if --only has its number: a folded node is then listed, too. */
static bool has_its_number(const cli_options *options, const tort_report_node *node) {
    bool has = false;
    for (int32_t i = 0; i < options->only.count; i++)
        has = has || (*options->only.items[i] == '#' && atoi(options->only.items[i] + 1) == node->index);
    return has;
}

static void print_nodes(const cli_options *options, tort_session *session, const tort_report *report, const layout *l) {
    bool copies_asked = options->only.count == 0;
    for (int32_t i = 0; i < options->only.count; i++) copies_asked |= !strcmp(options->only.items[i], "copies");
    cli_table *table = cli_table_new("#>|node~|op~|runs on|kernel~|why", 0);
    copy_list copies = sorted_copies(report);
    int32_t *behind = cli_behind(report), shown = 0, listed = 0;
    if (!options->full && !options->only.count) cli_table_cut(table, 2);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (!is_listed(node) && !has_its_number(options, node)) continue;
        const asked is = node->provider || cli_root_of(node) < 0
                             ? is_asked_for(options, tort_session_model(session), node)
                             : NOT_ASKED;
        const bool full = options->full || is == ASKED_BY_NAME;
        listed++;
        shown += is != NOT_ASKED;
        print_copies(&copies, node->index, is != NOT_ASKED || copies_asked, l, table);
        if (!is) continue;
        print_node(node, l, full ? CLI_ALL : CLI_LOSSES, table);
        if (full) print_from(node, l, table);
        if (is == ASKED_BY_NAME) cli_describe(session, node->index, table);
        print_behind(behind[i], node, table);
    }
    print_copies(&copies, -1, copies_asked, l, table);
    cli_print(stdout, "\n");
    cli_table_print(table, stdout, l->width);
    if (options->only.count && shown) cli_print(stdout, "\n");
    if (options->only.count) cli_print(stdout, "%d of %d nodes (--only)\n", shown, listed);
    free(behind);
    free(copies.sorted);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Loads and places a model, or loads a saved plan, whose session owns its model. */
static tort_status open_session(cli_options *options, tort_model **loaded, tort_session **session, tort_error *error) {
    const tort_model *model;
    tort_status status = cli_open_either(options, loaded, session, &model, error);
    if (!status) status = cli_check_names(options, model, error);
    if (!status && options->output) status = cli_check_new_file(options->output, model, error);
    if (!status && options->lock) status = cli_check_new_file(options->lock, model, error);
    if (!status && options->optimized) status = cli_check_new_file(options->optimized, model, error);
    if (!status && options->html) status = cli_check_new_file(options->html, model, error);
    if (status || options->plan) return status;
    tort_session_options session_options = cli_session_options(options, options->chains.items[0]);
    session_options.plan_only = options->output == NULL;
    return cli_open_session(*loaded, &session_options, session, error);
}

static int put_bytes(void *ud, const void *bytes, size_t size) {
    return tort_new_file_write(ud, bytes, size) ? 0 : -1;
}

/* tort_session_save, but an interruption leaves nothing. */
static tort_status save_plan(tort_session *session, const char *path, tort_error *error) {
    tort_new_file file;
    const tort_writer writer = {.struct_size = sizeof writer, .write = put_bytes, .ud = &file};
    tort_status status = cli_new_file_open(path, &file, error);
    if (!status) status = cli_new_file_end(&file, tort_session_save_writer(session, &writer, error), error);
    return cli_failed_write(status, error);
}

/* Reads the lock of --check; its providers are the default of --ep, and its target that of --target. */
static tort_status read_lock(cli_options *options, cli_lock *lock, tort_error *error) {
    if (!options->check) return TORT_OK;
    const tort_status status = cli_lock_read(options->check, lock, error);
    if (!status && !options->chains.items[0] && !options->plan) options->chains.items[0] = lock->chain;
    if (!status && !options->target && !options->plan) options->target = lock->target;
    return status;
}

static tort_status work(cli_options *options, tort_model **loaded, tort_session **session, cli_lock *lock,
                        tort_error *error) {
    tort_status status = cli_check_environment(error);
    if (!status) status = read_lock(options, lock, error);
    if (!status) status = open_session(options, loaded, session, error);
    return status || !options->output ? status : save_plan(*session, options->output, error);
}

static tort_status write_optimized(const cli_options *options, const tort_model *model, tort_error *error) {
    const tort_session_options session_options = cli_session_options(options, NULL);
    tort_new_file file;
    tort_status status = cli_new_file_open(options->optimized, &file, error);
    if (status) return cli_failed_write(status, error);
    cli_progress("planning, and writing %s", options->optimized);
    status = tort_optimized_write(model, &session_options, &file, error);
    cli_progress_end();
    return cli_failed_write(cli_new_file_end(&file, status, error), error);
}

/* Writes the lock, the optimized model and the page. */
static tort_status write_files(const cli_options *options, tort_session *session, const tort_report *report,
                               tort_error *error) {
    tort_status status = TORT_OK;
    if (options->lock) {
        cli_lock lock = cli_lock_of(report, options->target);
        status = cli_lock_write(&lock, options->lock, error);
        cli_lock_free(&lock);
    }
    if (!status && options->optimized) status = write_optimized(options, tort_session_model(session), error);
    if (!status && options->html) status = cli_page_write(options->html, options, session, report, NULL, error);
    return status;
}

/* Tells which files were written. */
static void tell_files(const cli_options *options, cJSON *json) {
    const struct {
        const char *key, *path;
    } files[] = {{"saved", options->output},
                 {"locked", options->lock},
                 {"optimized", options->optimized},
                 {"drawn", options->html}};
    for (size_t i = 0, told = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].path && !json && !told++) cli_print(stdout, "\n");
        if (files[i].path && json)
            cli_json_text(json, files[i].key, files[i].path);
        else if (files[i].path)
            cli_print(stdout, "%s as %s\n", files[i].key, files[i].path);
    }
}

/* Tells what has moved since the lock; json: NULL, or the document. */
static tort_status check_lock(const cli_options *options, const cli_lock *lock, const tort_report *report, cJSON *json,
                              tort_error *error) {
    cli_lock now = cli_lock_of(report, options->target);
    cli_moves moves = cli_moves_of(lock, &now, report);
    if (json)
        cJSON_AddItemToObject(json, "check", cli_moves_json(options, &moves));
    else
        cli_moves_print(options, &moves);
    const tort_status status = error->code ? error->code : cli_moves_status(options, &moves, error);
    cli_moves_free(&moves);
    cli_lock_free(&now);
    return status;
}

static void print_subnormals(const tort_model *model, int width) {
    const int64_t count = cli_count_subnormals(model);
    if (!count) return;
    cli_table *table = cli_table_new("|", 0);
    cli_cell(table, CLI_PLAIN, "subnormals: ");
    cli_cell(
        table, CLI_YELLOW,
        "%lld numbers of the weights are subnormal, which makes arithmetic slow; cpu:subnormals=off takes them as 0",
        (long long)count);
    cli_table_print(table, stdout, width);
}

static void print_summary(const cli_options *options, const tort_model *model, const tort_report *report, int width) {
    print_providers(report, width);
    print_memory(report, width);
    print_subnormals(model, width);
    print_recording(report, width);
    print_conversions(report, width);
    print_reasons(options, report, width);
}

/* The list of nodes, unless it would only hide the line that says which file was written. */
static bool lists_nodes(const cli_options *options) {
    const bool writes = options->output || options->lock || options->optimized || options->html;
    return !writes || options->full || options->only.count;
}

/* Prints the summary where the user looks: before a short list of nodes, after one that scrolls away. */
static void tell(const cli_options *options, tort_session *session, const tort_report *report, int width) {
    enum { A_SCREEN = 40 };
    const bool scrolls = width && report->node_count - report->folded > A_SCREEN && !options->only.count;
    layout l = {.first = report->providers[0]->name, .width = width};
    const bool lists = lists_nodes(options);
    if (!scrolls || !lists) print_summary(options, tort_session_model(session), report, width);
    if (!lists) return;
    print_nodes(options, session, report, &l);
    if (scrolls) cli_print(stdout, "\n");
    if (scrolls) print_summary(options, tort_session_model(session), report, width);
}

int cli_plan(cli_options *options) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error = {0};
    cli_lock lock = {0};
    tort_status status = work(options, &model, &session, &lock, &error);
    cJSON *json = cli_json_of(options);
    tort_report *report = session ? cli_report(session) : NULL;
    if (report && json) {
        cli_json_model(json, tort_session_model(session), cli_model_path(options));
        cli_json_plan(json, session, report);
        cJSON_AddNumberToObject(json, "subnormal_weights", (double)cli_count_subnormals(tort_session_model(session)));
    }
    if (report && options->check)
        status = check_lock(options, &lock, report, json, &error);
    else if (report && !json)
        tell(options, session, report, cli_width(stdout, options->width));
    if (!status) status = write_files(options, session, report, &error);
    if (!status) tell_files(options, json);
    tort_report_free(report);
    cli_lock_free(&lock);
    int result =
        cli_end(options, &(cli_ending){.error = &error, .sessions = &session, .session_count = 1, .json = json});
    tort_session_free(session);
    tort_model_free(model);
    return result;
}
