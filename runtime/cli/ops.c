/* ops.c - `tinyort ops`: the operators of this build, what the providers have for each, one of them in full, and the
 * fusions. Read next: ops.h. */
#include <stdlib.h>
#include <string.h>

#include "ops/extra/tinyort_extra.h"
#include "runtime/core/base/build.h"
#include "runtime/core/base/suggest.h"
#include "runtime/cli/ops.h"
#include "runtime/cli/table.h"
#include "runtime/include/pattern.h"

/* ---- fusions ----------------------------------------------------------------------------------------------------- */

static void add_fusions(cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "fusions");
    for (const tort_pattern *const *rows = tort_build.patterns; *rows; rows++)
        for (const tort_pattern *row = *rows; row->name; row++) {
            cJSON *item = cJSON_CreateObject();
            cJSON_AddStringToObject(item, "name", row->name);
            cJSON_AddStringToObject(item, "nodes", row->nodes);
            cJSON_AddStringToObject(item, "makes", row->makes);
            cJSON_AddItemToArray(list, item);
        }
}

static void print_fusions(int width) {
    cli_table *table = cli_table_new("fusion|makes, from", 0);
    for (const tort_pattern *const *rows = tort_build.patterns; *rows; rows++)
        for (const tort_pattern *row = *rows; row->name; row++) {
            cli_cell(table, CLI_BOLD, "%s", row->name);
            cli_cell(table, CLI_PLAIN, "%s", row->makes);
            cli_cell(table, CLI_PLAIN, "%s", "");
            cli_cell(table, CLI_DIM, "%s", row->nodes);
        }
    cli_table_print(table, stdout, width);
}

/* ---- providers --------------------------------------------------------------------------------------------------- */

static tort_status add_provider(cli_ops_rows *ops, const char *name, tort_error *error) {
    tort_condition condition = {.ready = false};
    for (const tort_provider *const *row = tort_build.providers; *row; row++) {
        if (strcmp((*row)->name, name) != 0) continue;
        const tort_provider *whole = (*row)->load ? (*row)->load(&condition) : *row;
        if (!whole)
            return tort_fail(error, TORT_E_PLACEMENT, "what %s has is not known: %s; %s", name, condition.message,
                             condition.cure);
        if (ops->provider_count < CLI_MAX_PROVIDERS) ops->providers[ops->provider_count++] = whole;
    }
    return TORT_OK;
}

/* Finds the providers of a chain: a probe with every provider disabled parses it without opening any. */
static tort_status find_chain(cli_ops_rows *ops, const char *chain, tort_error *error) {
    char *all = cli_copy_text("", 0);
    for (const tort_provider *const *row = tort_build.providers; *row; row++)
        cli_append(&all, "%s%s", *all ? "," : "", (*row)->name);
    const tort_probe_options closed = {.struct_size = sizeof closed, .chain = chain, .disabled = all};
    tort_probe *probe = NULL;
    tort_status status = tort_probe_providers(NULL, &closed, &probe, error);
    for (int32_t i = 0; !status && i < probe->provider_count; i++)
        status = add_provider(ops, probe->providers[i]->name, error);
    tort_probe_free(probe);
    free(all);
    return status;
}

/* Finds the chain's providers; without a chain, those built into the program. A simulated device is not among them, as
 * it has the kernels of the device that it simulates; nor is code for firmware, with which nobody runs models here; nor
 * engines, which are asked about models, not about operators. */
static tort_status find_providers(cli_ops_rows *ops, const cli_options *options, tort_error *error) {
    if (options->chains.count) return find_chain(ops, options->chains.items[0], error);
    for (const tort_provider *const *row = tort_build.providers; *row; row++)
        if (!(*row)->load && !(*row)->engine && strcmp((*row)->name, "firmware") != 0 &&
            ops->provider_count < CLI_MAX_PROVIDERS)
            ops->providers[ops->provider_count++] = *row;
    return TORT_OK;
}

/* ---- one operator ------------------------------------------------------------------------------------------------ */

/* Error for an operator that this build refuses by decision; TORT_OK for any other. */
static tort_status refused_operator(const char *word, tort_error *error) {
    for (const tort_refusal *row = tort_build.refusals; row->domain; row++) {
        const size_t length = strlen(row->domain);
        const bool of_domain = !strncmp(word, row->domain, length) && (word[length] == '.' || word[length] == ':');
        if (row->name ? cli_is_meant(row->domain, row->name, word) : of_domain)
            return tort_fail(error, TORT_E_USAGE, "%s %s -> %s", word, row->why, row->cure);
    }
    return TORT_OK;
}

static tort_status unknown_operator(const cli_ops_rows *ops, const char *word, tort_error *error) {
    tort_status status = refused_operator(word, error);
    if (status) return status;
    const char **names = cli_alloc((size_t)ops->table.count + 1, sizeof *names);
    size_t count = 0;
    char hint[100];
    for (cli_operator op = {0}; cli_operator_next(ops, &op);) names[count++] = op.rows[0]->name;
    tort_did_you_mean(word, names, count, hint, sizeof hint);
    free(names);
    return tort_fail(error, TORT_E_USAGE, "operator %s is not in this build%s", word,
                     *hint ? hint : "; 'tinyort ops' lists what is");
}

static tort_status tell_operator(const cli_ops_rows *ops, const cli_options *options, cJSON *json, tort_error *error) {
    const char *word = options->operands[0];
    int32_t met = 0;
    for (cli_operator op = {0}; cli_operator_next(ops, &op);) {
        if (!cli_is_meant(op.rows[0]->domain, op.rows[0]->name, word)) continue;
        if (!json && met) cli_print(stdout, "\n");
        if (!json) cli_ops_page(ops, &op, cli_width(stdout, options->width));
        met++;
    }
    if (!met) return unknown_operator(ops, word, error);
    if (json) cli_ops_json(ops, word, json);
    return TORT_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static tort_status tell(const cli_ops_rows *ops, const cli_options *options, cJSON *json, tort_error *error) {
    const int width = json ? 0 : cli_width(stdout, options->width);
    if (options->operand_count) return tell_operator(ops, options, json, error);
    if (json) {
        cli_ops_json(ops, NULL, json);
        add_fusions(json);
    } else if (options->fusions)
        print_fusions(width);
    else
        cli_ops_table(ops, options->missing, width);
    return TORT_OK;
}

int cli_ops(cli_options *options) {
    tort_env env = tort_env_complete(NULL);
    cli_ops_rows rows = {.provider_count = 0};
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    if (!tort_op_table_build(&rows.table, tort_extra_operators, &env)) {
        tort_out_of_memory(&error, 0);
        return cli_end_plain(options, &error, json);
    }
    cli_sort_operators(&rows);
    if (!find_providers(&rows, options, &error)) tell(&rows, options, json, &error);
    tort_op_table_free(&rows.table, &env);
    return cli_end_plain(options, &error, json);
}
