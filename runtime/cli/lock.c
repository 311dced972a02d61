/* lock.c - writes a placement as a lock, reads one, and finds what has moved (lock.h).
 *
 * The file: a comment, "tinyort-lock 1", "chain" and its providers, "target" and its device if it was made with
 * --target, then a line a node, sorted by name: NAME OPERATOR PROVIDER FAMILY CODES, separated by tabs, which no
 * escaped name has. Nodes of one name are told apart by their order. Read next: lock_forms.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/text.h"
#include "runtime/core/graph/graph.h"

#define MAX_FILE ((size_t)4 << 20)
enum { FIELDS = 5 };

/* ---- from a report ----------------------------------------------------------------------------------------------- */

/* True if a lock tells this refusal: one by another provider, or by a kernel that wants a library. What the processor
 * lacks is left out. */
static bool is_told(const tort_report_node *node, const tort_report_verdict *verdict) {
    if (verdict->code == TORT_YES || verdict->fusion || verdict->segment) return false;
    if (!node->provider || strcmp(verdict->provider, node->provider) != 0) return true;
    return verdict->code == TORT_NO_LIBRARY;
}

static char *codes_of(const tort_report_node *node) {
    char *text = cli_copy_text("", 0);
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = node->verdicts[i];
        if (!is_told(node, verdict)) continue;
        char *code = cli_format("%s:%s", verdict->provider, tort_verdict_name(verdict->code));
        if (!strstr(text, code)) cli_append(&text, "%s%s", *text ? "," : "", code);
        free(code);
    }
    if (!*text) cli_append(&text, "-");
    return text;
}

static void add(cli_lock *lock, const tort_report_node *node, const char *path, const char *op) {
    lock->nodes[lock->count] = (cli_placed){.name = cli_escape(path, strlen(path)),
                                            .op = op,
                                            .provider = node->provider ? node->provider : "nowhere",
                                            .family = node->provider ? node->family : "-",
                                            .codes = codes_of(node),
                                            .node = node,
                                            .order = lock->count};
    lock->count++;
}

static int by_name(const void *a, const void *b) {
    const cli_placed *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->order - y->order;
}

cli_lock cli_lock_of(const tort_report *report, const char *target) {
    size_t count = 0;
    cli_lock lock = {.chain = cli_copy_text("", 0), .target = target};
    for (int32_t i = 0; i < report->provider_count; i++)
        cli_append(&lock.chain, "%s%s", i ? "," : "", report->providers[i]->name);
    for (int32_t i = 0; i < report->node_count; i++)
        count += report->nodes[i]->from_count ? (size_t)report->nodes[i]->from_count : 1;
    lock.nodes = cli_alloc(count, sizeof *lock.nodes);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        for (int32_t k = 0; k < node->from_count; k++) add(&lock, node, node->from[k], node->from_ops[k]);
        if (!node->from_count) add(&lock, node, node->path, node->op);
    }
    qsort(lock.nodes, (size_t)lock.count, sizeof *lock.nodes, by_name);
    return lock;
}

static int has_name(const void *name, const void *placed) {
    return strcmp(name, ((const cli_placed *)placed)->name);
}

const tort_report_node *cli_placed_at(const cli_lock *lock, const char *path) {
    char *name = cli_escape(path, strlen(path));
    const cli_placed *found = bsearch(name, lock->nodes, (size_t)lock->count, sizeof *lock->nodes, has_name);
    free(name);
    return found ? found->node : NULL;
}

const tort_report_node *cli_placed_node(const cli_lock *lock, const tort_graph *graph, const tort_node *node) {
    char *path = cli_format("%s%s%s", graph->path, *graph->path ? "/" : "", node->name);
    const tort_report_node *found = cli_placed_at(lock, path);
    free(path);
    return found;
}

void cli_lock_free(cli_lock *lock) {
    for (int32_t i = 0; i < lock->count && !lock->text; i++) {
        free(lock->nodes[i].name);
        free(lock->nodes[i].codes);
    }
    if (!lock->text) free(lock->chain);
    free(lock->nodes);
    free(lock->text);
    *lock = (cli_lock){0};
}

tort_status cli_lock_write(const cli_lock *lock, const char *path, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(path, &file, error);
    if (status) return cli_failed_write(status, error);
    cli_print(
        file.stream,
        "# Where each node runs: name, operator, provider, kernel family, refusals. Held by: tinyort plan --check\n"
        "tinyort-lock 1\nchain\t%s\n",
        lock->chain);
    if (lock->target) cli_print(file.stream, "target\t%s\n", lock->target);
    for (int32_t i = 0; i < lock->count; i++) {
        const cli_placed *node = &lock->nodes[i];
        cli_print(file.stream, "%s\t%s\t%s\t%s\t%s\n", node->name, node->op, node->provider, node->family, node->codes);
    }
    return cli_failed_write(cli_new_file_end(&file, TORT_OK, error), error);
}

/* ---- from a file ------------------------------------------------------------------------------------------------- */

static int32_t split(char *line, char *fields[FIELDS]) {
    int32_t count = 0;
    for (char *at = line; at; count++) {
        char *tab = strchr(at, '\t');
        if (tab) *tab++ = 0;
        if (count < FIELDS) fields[count] = at;
        at = tab;
    }
    return count;
}

static tort_status read_head(const char *path, char **at, cli_lock *lock, tort_error *error) {
    char *line = cli_take_line(at);
    while (line && *line == '#') line = cli_take_line(at);
    int version = 0;
    if (!line || sscanf(line, "tinyort-lock %d", &version) != 1)
        return tort_fail(error, TORT_E_INPUT, "'%s' is not a lock: make one with tinyort plan MODEL --lock FILE", path);
    if (version != 1)
        return tort_fail(error, TORT_E_UNSUPPORTED, "'%s' is of version %d, and this tinyort reads 1: make it anew",
                         path, version);
    line = cli_take_line(at);
    if (!line || strncmp(line, "chain\t", 6) != 0)
        return tort_fail(error, TORT_E_INPUT, "'%s': \"chain\", a tab and the providers should follow the version",
                         path);
    lock->chain = line + 6;
    const bool targeted = !strncmp(*at, "target\t", 7) && !memchr(*at + 7, '\t', strcspn(*at + 7, "\n"));
    if (targeted) lock->target = cli_take_line(at) + 7; /* with more fields it would be a node of this name */
    return TORT_OK;
}

tort_status cli_lock_read(const char *path, cli_lock *lock, tort_error *error) {
    uint8_t *bytes;
    size_t size;
    *lock = (cli_lock){0};
    tort_status status = cli_read_file(path, MAX_FILE, &bytes, &size, error);
    if (status) return status;
    char *at = lock->text = (char *)bytes, *line, *fields[FIELDS];
    lock->nodes = cli_alloc(size / FIELDS + 1, sizeof *lock->nodes); /* the shortest line is tabs and its end */
    status = read_head(path, &at, lock, error);
    while (!status && (line = cli_take_line(&at))) {
        if (!*line) continue;
        const int32_t count = split(line, fields);
        if (count != FIELDS)
            return tort_fail(error, TORT_E_INPUT,
                             "'%s': the line of node '%s' has %d fields, expected %d with tabs between them: name, "
                             "operator, provider, family, refusals",
                             path, line, (int)count, FIELDS);
        lock->nodes[lock->count] = (cli_placed){.name = fields[0],
                                                .op = fields[1],
                                                .provider = fields[2],
                                                .family = fields[3],
                                                .codes = fields[4],
                                                .order = lock->count};
        lock->count++;
    }
    qsort(lock->nodes, (size_t)lock->count, sizeof *lock->nodes, by_name);
    return status;
}

/* ---- what has moved ---------------------------------------------------------------------------------------------- */

static const tort_report_provider *provider_of(const tort_report *report, const char *name) {
    for (int32_t i = 0; i < report->provider_count; i++)
        if (!strcmp(report->providers[i]->name, name)) return report->providers[i];
    return NULL;
}

/* Why a node that was at `was` (NULL: it is new) is where it is. The caller frees. */
static char *why_it_moved(const cli_placed *was, const cli_placed *is, const tort_report *report) {
    const tort_report_verdict *refusal = cli_refusal_elsewhere(is->node);
    const char *wanted = was ? was->provider : refusal ? refusal->provider : "";
    const tort_report_provider *before = provider_of(report, wanted);
    const bool hosted = was && (!strcmp(was->provider, "host") || !strcmp(was->provider, "folded"));
    if (before && !before->ready)
        return cli_format("%s did not open: %s, %s%s%s", before->name, before->code, before->message,
                          *before->cure ? " -> " : "", before->cure);
    if (was && !before && !hosted && strcmp(was->provider, "nowhere") != 0)
        return cli_format("%s is not in the chain", was->provider);
    if (is->node->pinned) return cli_format("pinned to %s by an option", is->provider);
    const bool same = was && !strcmp(was->provider, is->provider); /* another kernel: those that refused tell why */
    char *text = cli_reason_text(is->node, same ? CLI_ALL : CLI_LOSSES, true);
    if (!*text) cli_append(&text, "%s takes it", is->provider);
    return text;
}

static void compare(cli_moves *moves, const cli_placed *was, const cli_placed *is, const tort_report *report) {
    cli_move move = {was, is, false, NULL};
    if (!is) {
        if (++moves->gone > CLI_MAX_GONE) return;
    } else if (!was) {
        moves->added++;
        move.failed = !is->node->provider || is->node->fell_back;
    } else {
        move.failed = strcmp(was->provider, is->provider) != 0 || strcmp(was->family, is->family) != 0;
        if (!move.failed) return;
        moves->moved++;
    }
    move.why = is ? why_it_moved(was, is, report) : NULL;
    moves->failed += move.failed;
    moves->list[moves->count++] = move;
}

cli_moves cli_moves_of(const cli_lock *locked, const cli_lock *now, const tort_report *report) {
    cli_moves moves = {.list = cli_alloc((size_t)now->count + CLI_MAX_GONE, sizeof *moves.list), .nodes = now->count};
    for (int32_t i = 0, k = 0; i < locked->count || k < now->count;) {
        const cli_placed *was = i < locked->count ? &locked->nodes[i] : NULL;
        const cli_placed *is = k < now->count ? &now->nodes[k] : NULL;
        const int order = !was ? 1 : !is ? -1 : strcmp(was->name, is->name);
        compare(&moves, order <= 0 ? was : NULL, order >= 0 ? is : NULL, report);
        i += order <= 0;
        k += order >= 0;
    }
    return moves;
}

void cli_moves_free(cli_moves *moves) {
    for (int32_t i = 0; i < moves->count; i++) free(moves->list[i].why);
    free(moves->list);
    *moves = (cli_moves){0};
}

tort_status cli_moves_status(const cli_options *options, const cli_moves *moves, tort_error *error) {
    if (!moves->failed) return TORT_OK;
    return tort_fail(error, TORT_E_PLACEMENT,
                     "%d of %d nodes are not where '%s' has them (meant so? write it anew with --lock)",
                     (int)moves->failed, (int)moves->nodes, options->check);
}
