/* ops_page.c - `tinyort ops NAME`: an operator as a page of a manual, the newest version first. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/ops.h"
#include "runtime/cli/table.h"

/* A list of all types in a set of tensors; a set with sequences, maps or optionals is given in words. */
static char *types_list(const tort_type_set *set) {
    if (set->count) return cli_types_text(set);
    char *text = cli_copy_text("", 0);
    for (int type = 0; type < TORT_TYPE_COUNT; type++)
        if (set->tensor >> type & 1) cli_append(&text, "%s%s", *text ? ", " : "", tort_type_name((tort_type)type));
    return text;
}

static const char *how_often(char mode) {
    if (mode == '?') return "may be absent";
    if (mode == '*') return "any number";
    return mode == '+' ? "any number, each of a type of its own" : "";
}

static void add_formals(cli_table *table, const char *what, const char *formals) {
    tort_formal formal;
    for (const char *cursor = formals; tort_formal_next(&cursor, &formal); what = "") {
        cli_cell(table, CLI_DIM, "%s", what);
        cli_cell(table, CLI_BOLD, "%.*s", (int)formal.name_length, formal.name);
        cli_cell(table, CLI_PLAIN, "%.*s", (int)formal.type_length, formal.type);
        cli_cell(table, CLI_PLAIN, "%s", how_often(formal.mode));
    }
}

/* Prints the type constraints of a row, "T=floats Tind=int32|int64", below the operands that use them. */
static void print_types(const char *types, int width) {
    cli_table *table = cli_table_new("||", 2);
    const char *what = "types";
    for (const char *p = types ? types : ""; *(p += strspn(p, " ")); p += strcspn(p, " "), what = "") {
        const size_t name = strcspn(p, "="), whole = strcspn(p, " ");
        tort_type_set set;
        if (name >= whole || !tort_type_set_parse(p + name + 1, whole - name - 1, &set)) continue;
        char *list = types_list(&set);
        cli_cell(table, CLI_DIM, "%-10s", what);
        cli_cell(table, CLI_BOLD, "%.*s", (int)name, p);
        cli_cell(table, CLI_PLAIN, "%s", list);
        free(list);
    }
    cli_table_print(table, stdout, width);
}

static void add_attributes(cli_table *table, const char *attributes) {
    tort_attribute_formal formal;
    const char *what = "attributes";
    for (const char *cursor = attributes; tort_attribute_formal_next(&cursor, &formal); what = "") {
        cli_cell(table, CLI_DIM, "%s", what);
        cli_cell(table, CLI_BOLD, "%.*s", (int)formal.name_length, formal.name);
        cli_cell(table, CLI_PLAIN, "%s", tort_attribute_kind_name(formal.kind));
        if (formal.fallback && formal.fallback_length)
            cli_cell(table, CLI_PLAIN, "default %.*s", (int)formal.fallback_length, formal.fallback);
        else
            cli_cell(table, CLI_PLAIN, "%s", formal.required ? "required" : formal.fallback ? "default \"\"" : "");
    }
}

static void print_version(const tort_op *row, int width) {
    cli_print_colour(stdout, CLI_BOLD, "\nversion %d", row->since);
    cli_print(stdout, ", of opset%s %d", row->until > row->since ? "s" : "", row->since);
    if (row->until > row->since) cli_print(stdout, " to %d", row->until);
    cli_print(stdout, "%s\n", row->flags & TORT_OP_EARLY ? ", and in files of opsets before" : "");
    cli_table *table = cli_table_new("|||", 2);
    add_formals(table, "inputs", row->inputs);
    add_formals(table, "outputs", row->outputs);
    add_attributes(table, row->attributes);
    cli_table_print(table, stdout, width);
    print_types(row->types, width);
}

/* Kernels of a provider for an operator: "conv_cudnn (cuDNN), conv_direct, else the plain loop". */
static char *kernels_text(const tort_provider *provider, const cli_operator *op) {
    const cli_service service = cli_service_of(provider, op);
    char *text = cli_copy_text("", 0);
    if (service == CLI_SERVICE_HOST) cli_append(&text, "done by the executor");
    if (service == CLI_SERVICE_FOLDED) cli_append(&text, "folded while planning, never run");
    if (*text) return text;
    for (const tort_kernel *row = NULL; (row = cli_kernel_next(provider, op, row));) {
        cli_append(&text, "%s%s", *text ? ", " : "", row->name);
        if (row->needs) cli_append(&text, " (%s)", row->needs);
    }
    if (cli_has_loop(provider, op)) cli_append(&text, "%s", *text ? ", else the plain loop" : "the plain loop");
    if (!*text) cli_append(&text, "nothing");
    return text;
}

void cli_ops_page(const cli_ops_rows *ops, const cli_operator *op, int width) {
    cli_print_colour(stdout, CLI_BOLD, "%s", op->rows[0]->name);
    cli_print(stdout, " of %s\n", cli_domain_name(op->rows[0]->domain));
    cli_table *table = cli_table_new("|", 2);
    for (int32_t p = 0; p < ops->provider_count; p++) {
        char *kernels = kernels_text(ops->providers[p], op);
        cli_cell(table, CLI_DIM, "%s", ops->providers[p]->name);
        cli_cell(table, CLI_PLAIN, "%s", kernels);
        free(kernels);
    }
    cli_table_print(table, stdout, width);
    for (int32_t i = op->count - 1; i >= 0; i--) print_version(op->rows[i], width);
}
