/* ops_table.c - `tinyort ops` for people: one line an operator, and below it what this build refuses by name. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/ops.h"
#include "runtime/cli/table.h"

typedef struct counts {
    int32_t operators, services[CLI_MAX_PROVIDERS][CLI_SERVICE_FOLDED + 1];
} counts;

/* The newest opset that a row of the domain covers. */
static int32_t newest_of(const cli_ops_rows *ops, const char *domain) {
    int32_t newest = 0;
    for (int32_t i = 0; i < ops->table.count; i++)
        if (!strcmp(ops->table.rows[i]->domain, domain) && ops->table.rows[i]->until > newest)
            newest = ops->table.rows[i]->until;
    return newest;
}

enum { WIDE = 100 }; /* columns of a table that lists every version */

/* Versions of an operator: "1 6 13"; "1 7 (to 8)" if newer opsets have dropped it; "1…13" in a narrow table. */
static char *versions_text(const cli_ops_rows *ops, const cli_operator *op, int width) {
    const tort_op *first = op->rows[0], *last = op->rows[op->count - 1];
    if (width && width < WIDE && op->count > 1) return cli_format("%d…%d", first->since, last->since);
    char *text = cli_copy_text("", 0);
    for (int32_t i = 0; i < op->count; i++) cli_append(&text, "%s%d", i ? " " : "", op->rows[i]->since);
    if (last->until < newest_of(ops, first->domain)) cli_append(&text, " (to %d)", last->until);
    return text;
}

static bool is_single(const tort_type_set *set) {
    return !set->count && !(set->tensor & (set->tensor - 1));
}

/* Types of the first operand that takes several; of the first operand if none does. */
static char *types_text(const tort_op *row) {
    const char *formals[] = {row->inputs, row->outputs};
    tort_type_set found = {0};
    tort_formal formal;
    for (int i = 0; i < 2; i++)
        for (const char *cursor = formals[i]; is_single(&found) && tort_formal_next(&cursor, &formal);) {
            const tort_type_set set = cli_formal_types(&formal, row->types);
            if (!found.tensor || !is_single(&set)) found = set;
        }
    return cli_types_text(&found);
}

static void add_service(cli_table *table, const tort_provider *provider, cli_service service) {
    static const char *const words[] = {"-", "plain", "yes", "host", "const"};
    static const cli_colour colours[] = {CLI_RED, CLI_PLAIN, CLI_GREEN, CLI_DIM, CLI_DIM};
    const char *own = provider->host_memory ? "fast" : "yes";
    cli_cell(table, colours[service], "%s", service == CLI_SERVICE_OWN ? own : words[service]);
}

static void add_operator(cli_table *table, const cli_ops_rows *ops, const cli_operator *op, int width) {
    char *versions = versions_text(ops, op, width), *types = types_text(op->rows[op->count - 1]);
    cli_cell(table, CLI_BOLD, "%s", op->rows[0]->name);
    cli_cell(table, CLI_PLAIN, "%s", versions);
    for (int32_t p = 0; p < ops->provider_count; p++)
        add_service(table, ops->providers[p], cli_service_of(ops->providers[p], op));
    cli_cell(table, CLI_PLAIN, "%s", types);
    free(versions);
    free(types);
}

/* Adds an operator to the sums; true if no provider serves it. */
static bool count(const cli_ops_rows *ops, const cli_operator *op, counts *sums) {
    bool served = false;
    sums->operators++;
    for (int32_t p = 0; p < ops->provider_count; p++) {
        const cli_service service = cli_service_of(ops->providers[p], op);
        sums->services[p][service]++;
        served = served || service != CLI_SERVICE_NONE;
    }
    return !served;
}

static void start_domain(cli_table *table, const char *domain, bool first) {
    if (!first) {
        cli_cell(table, CLI_PLAIN, "%s", "");
        cli_row_end(table);
    }
    cli_cell(table, CLI_CYAN, "%s", cli_domain_name(domain));
    cli_row_end(table);
}

static void print_sums(const cli_ops_rows *ops, const counts *sums) {
    cli_print(stdout, "%d operators, %d versions\n", sums->operators, ops->table.count);
    for (int32_t p = 0; p < ops->provider_count; p++) {
        const tort_provider *provider = ops->providers[p];
        const int32_t *of = sums->services[p];
        cli_print(stdout, "%s: %d %s", provider->name, of[CLI_SERVICE_OWN], provider->host_memory ? "fast" : "yes");
        if (of[CLI_SERVICE_PLAIN]) cli_print(stdout, ", %d plain", of[CLI_SERVICE_PLAIN]);
        cli_print(stdout, ", %d host, %d const", of[CLI_SERVICE_HOST], of[CLI_SERVICE_FOLDED]);
        if (of[CLI_SERVICE_NONE]) cli_print(stdout, ", %d not there", of[CLI_SERVICE_NONE]);
        cli_print(stdout, "\n");
    }
}

static void add_word(cli_table *table, const char *word, const char *meaning) {
    cli_cell(table, CLI_BOLD, "%s", word);
    cli_cell(table, CLI_PLAIN, "%s", meaning);
}

static void print_legend(int width) {
    cli_table *table = cli_table_new("|", 0);
    add_word(table, "fast, yes",
             "it has kernels of its own, each for the nodes that it claims: 'tinyort plan' tells of "
             "a node; what they refuse on cpu, the plain loop does");
    add_word(table, "plain", "by the operator's plain loop");
    add_word(table, "host", "done by the executor, whatever the chain");
    add_word(table, "const", "folded while planning, never run");
    add_word(table, "types", "of the first operand that may be of several, in the newest version");
    add_word(table, "", cli_types_legend);
    cli_table_print(table, stdout, width);
}

static bool for_one_reason(const tort_refusal *a, const tort_refusal *b) {
    return !strcmp(a->domain, b->domain) && !strcmp(a->why, b->why);
}

/* Prints the operators that this build refuses by decision, grouped by reason so that the list fits on a screen. */
static void print_refusals(const cli_ops_rows *ops, int width) {
    cli_table *table = cli_table_new("refused|", 0);
    const char *domain = NULL; /* printed once */
    for (const tort_refusal *row = NULL; (row = cli_refusal_next(ops, row));) {
        const tort_refusal *first = cli_refusal_next(ops, NULL);
        while (!for_one_reason(first, row)) first = cli_refusal_next(ops, first);
        if (first != row) continue;
        char *names = cli_copy_text("", 0);
        for (const tort_refusal *other = row; other; other = cli_refusal_next(ops, other))
            if (for_one_reason(row, other))
                cli_append(&names, "%s%s", *names ? ", " : "", other->name ? other->name : "everything");
        cli_cell(table, CLI_CYAN, "%s", domain && !strcmp(domain, row->domain) ? "" : cli_domain_name(row->domain));
        cli_cell(table, CLI_PLAIN, "%s: %s", names, row->why);
        domain = row->domain;
        free(names);
    }
    cli_print(stdout, "\n");
    cli_table_print(table, stdout, width);
    cli_print(stdout, "'tinyort ops NAME' tells for each what to do instead\n");
}

void cli_ops_table(const cli_ops_rows *ops, bool missing, int width) {
    char *titles = cli_copy_text("", 0);
    cli_append(&titles, "operator~|versions");
    for (int32_t p = 0; p < ops->provider_count; p++) cli_append(&titles, "|%s", ops->providers[p]->name);
    cli_append(&titles, "|types");
    cli_table *table = cli_table_new(titles, 0);
    free(titles);
    counts sums = {0};
    const char *domain = NULL;
    for (cli_operator op = {0}; cli_operator_next(ops, &op);) {
        const bool lacking = count(ops, &op, &sums);
        if (missing && !lacking) continue;
        if (!domain || strcmp(domain, op.rows[0]->domain) != 0) start_domain(table, op.rows[0]->domain, !domain);
        domain = op.rows[0]->domain;
        add_operator(table, ops, &op, width);
    }
    cli_table_print(table, stdout, width);
    cli_print(stdout, domain ? "\n" : "");
    print_sums(ops, &sums);
    if (missing) return;
    print_legend(width);
    if (cli_refusal_next(ops, NULL)) print_refusals(ops, width);
}
