/* quantized.c - what `tinyort quantize` has made, as a table, as JSON, as a page and as a file of choices. */
#include "runtime/cli/quantized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/bench.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/page.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/core/base/locale.h"

static const char *const page_lines[] = {
#include "runtime/cli/quantized.html.inc"
};

/* ---- before and after -------------------------------------------------------------------------------------------- */

enum { MAX_RUNS = 100 };
static const double SECONDS = 1; /* that both models run, in turns */

static tort_status run_once(tort_context *context, const tort_tensor *inputs, int32_t input_count, int32_t output_count,
                            double *milliseconds, tort_error *error) {
    tort_tensor *outputs = cli_alloc((size_t)output_count + 1, sizeof *outputs);
    const double begin = cli_seconds();
    const tort_status status = tort_context_run(context, inputs, input_count, outputs, output_count, error);
    *milliseconds = 1e3 * (cli_seconds() - begin);
    free(outputs);
    return status;
}

static tort_status measure(const cli_quantized *j, tort_context *const contexts[2], cli_run_cost costs[2],
                           tort_error *error) {
    const int32_t inputs = tort_model_input_count(j->model), outputs = tort_model_output_count(j->model);
    tort_tensor *sample = cli_alloc((size_t)inputs + 1, sizeof *sample);
    double times[2][MAX_RUNS];
    int32_t runs = 0;
    tort_status status = cli_samples_read(j->samples, 0, sample, error);
    const double begin = cli_seconds();
    while (!status && runs < MAX_RUNS && (runs < 3 || cli_seconds() < begin + SECONDS)) {
        for (int i = 0; !status && i < 2; i++)
            status = run_once(contexts[i], sample, inputs, outputs, &times[i][runs], error);
        runs++;
    }
    free(sample);
    for (int i = 0; !status && i < 2; i++) {
        qsort(times[i], (size_t)runs, sizeof times[i][0], cli_by_size);
        costs[i].milliseconds = times[i][runs / 2];
    }
    return status;
}

tort_status cli_quantized_measure(cli_quantized *j, tort_error *error) {
    tort_session_options options = cli_session_options(j->options, j->options->chains.items[0]);
    tort_model *after = NULL;
    tort_session *sessions[2] = {NULL, NULL};
    tort_context *contexts[2] = {NULL, NULL};
    tort_status status = cli_open_model(j->options, j->options->output, &after, error);
    for (int i = 0; !status && i < 2; i++) {
        status = cli_open_session(i ? after : j->model, &options, &sessions[i], error);
        if (!status) status = tort_context_create(sessions[i], &contexts[i], error);
        options.symbol_count = 0; /* the model that was written has these sizes */
    }
    if (!status) status = measure(j, contexts, j->costs, error);
    for (int i = 0; i < 2; i++) {
        tort_report *report = status ? NULL : cli_report(sessions[i]);
        if (report) j->costs[i].weights = report->memory->weights, j->costs[i].arena = report->memory->arena;
        tort_report_free(report);
        tort_context_free(contexts[i]);
        tort_session_free(sessions[i]);
    }
    tort_model_free(after);
    j->measured = !status;
    return status;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

tort_status cli_choices_write(const cli_quantized *j, tort_error *error) {
    const tort_quantized_report *r = tort_quantized_report_of(j->quantized);
    tort_new_file file;
    tort_status status = cli_new_file_open(j->options->write_choices, &file, error);
    if (status) return status;
    cli_print(file.stream, "# unit\tbits\tdB alone\tweights\tnodes\twhy; change bits to 32 for a unit that is to stay "
                           "float32, and give the file back by --choices\n");
    for (int32_t i = 0; i < r->unit_count; i++) {
        const tort_quantized_unit *u = &r->units[i];
        cli_print(file.stream, "%s\t%d\t%.1f\t%lld\t%s\t%s\n", u->name, u->bits, u->alone, (long long)u->weights,
                  u->nodes, u->why);
    }
    return cli_failed_write(cli_new_file_end(&file, TORT_OK, error), error);
}

tort_status cli_choices_read(const char *path, cli_choices *choices, tort_error *error) {
    enum { MAX_BYTES = 64 << 20 };
    size_t size;
    *choices = (cli_choices){0};
    tort_status status = cli_read_file(path, MAX_BYTES, &choices->text, &size, error);
    int32_t number = 1;
    for (char *at = (char *)choices->text, *line; !status && (line = cli_take_line(&at)); number++) {
        char *tab = strchr(line, '\t');
        if (*line == '#' || !*line) continue;
        const bool is_float = tab && !strncmp(tab, "\t32", 3) && (tab[3] == '\t' || !tab[3]);
        if (!is_float && (!tab || strncmp(tab, "\t8", 2) != 0 || (tab[2] != '\t' && tab[2])))
            status = tort_fail(error, TORT_E_INPUT, "%s: line %d: expected a unit, a tab and its bits, 8 or 32", path,
                               number);
        if (!is_float || status) continue;
        *tab = 0;
        cli_texts_add(&choices->keep, line);
    }
    return status;
}

void cli_choices_free(cli_choices *choices) {
    free(choices->keep.items);
    free(choices->text);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const char *rule_text(const tort_quantized_rule *rule, char *text, size_t size) {
    snprintf(text, size, "%s%s%s", tort_range_names[rule->rule], rule->margin ? ", outputs with a margin of 15 %" : "",
             rule->bias ? ", biases corrected" : "");
    return text;
}

typedef struct placed {
    const tort_quantized_unit *unit;
    int32_t number;
} placed;

static int dearer_first(const void *a, const void *b) {
    const placed *x = a, *y = b;
    const double p = isnan(x->unit->alone) ? 1e9 : x->unit->alone, q = isnan(y->unit->alone) ? 1e9 : y->unit->alone;
    return p < q ? -1 : p > q ? 1 : x->number - y->number;
}

/* Units, the dearest first: 20 of them, or all of --full. */
static void print_units(const tort_quantized_report *r, bool full, int width) {
    enum { SHOWN = 20 };
    cli_table *table = cli_table_new("unit~|nodes?|weights>|bits>|range>|saturated>|alone>|why", 0);
    placed *list = cli_alloc((size_t)r->unit_count, sizeof *list);
    char text[40];
    for (int32_t i = 0; i < r->unit_count; i++) list[i] = (placed){&r->units[i], i};
    qsort(list, (size_t)r->unit_count, sizeof *list, dearer_first);
    for (int32_t i = 0; i < r->unit_count && (full || i < SHOWN || list[i].unit->bits == 32); i++) {
        const tort_quantized_unit *u = list[i].unit;
        cli_cell(table, CLI_BOLD, "%s", u->name);
        cli_cell(table, CLI_PLAIN, "%s", u->nodes);
        cli_cell_if(table, u->weights, CLI_PLAIN, "%s", cli_count_text((double)u->weights, text, sizeof text));
        cli_cell(table, u->bits < 32 ? CLI_PLAIN : CLI_BOLD, "%s", u->bits == 4 ? "4" : u->bits == 8 ? "8" : "f32");
        cli_cell_if(table, !isnan(u->low), CLI_PLAIN, "%.4g .. %.4g", (double)u->low, (double)u->high);
        cli_cell_if(table, u->saturated > 0, CLI_PLAIN, "%.3f %%", 100 * u->saturated);
        cli_cell_if(table, !isnan(u->alone), CLI_PLAIN, "%s%.1f dB", u->grouped ? "~" : "", u->alone);
        cli_cell(table, CLI_DIM, "%s", u->why);
        cli_row_end(table);
    }
    cli_table_print(table, stdout, width);
    if (!full && r->unit_count > SHOWN)
        cli_print(stdout, "%d more units%s; --full lists them\n", r->unit_count - SHOWN,
                  isnan(r->units[0].alone) ? "" : " cost less");
    free(list);
}

/* Nodes without an 8-bit form by operator: "3 LSTM, 1 Loop". */
static void print_floats(const tort_quantized_report *r) {
    if (!r->float_count) return;
    cli_table *table = cli_table_new("float32|nodes>|the first~|why", 0);
    for (int32_t i = 0; i < r->float_count; i++) {
        const tort_quantized_node *f = &r->floats[i];
        int32_t count = 0;
        bool first = true;
        for (int32_t k = 0; k < r->float_count; k++) {
            const bool same = !strcmp(r->floats[k].op, f->op) && !strcmp(r->floats[k].why, f->why);
            count += same;
            first = first && (!same || k >= i);
        }
        if (!first) continue;
        cli_cell(table, CLI_BOLD, "%s", f->op);
        cli_cell(table, CLI_PLAIN, "%d", count);
        cli_cell(table, CLI_PLAIN, "%s", f->name);
        cli_cell(table, CLI_DIM, "%s", f->why);
        cli_row_end(table);
    }
    cli_table_print(table, stdout, cli_width(stdout, 0));
}

/* Summary of --weight-type and --dynamic: weights, bits and the error, as there are no ranges to tell of. */
static void print_matrices(const cli_quantized *j) {
    const tort_quantized_report *r = tort_quantized_report_of(j->quantized);
    const cli_options *o = j->options;
    int64_t weights = 0;
    char text[40];
    for (int32_t i = 0; i < r->unit_count; i++) weights += r->units[i].weights;
    cli_print(stdout, "%d matrices of %s weights in %d bits%s\n", r->unit_count,
              cli_count_text((double)weights, text, sizeof text), r->units[0].bits,
              o->dynamic ? ", a scale a column"
              : o->data  ? ", by GPTQ"
                         : ", rounded to the nearest: --data FOLDER makes them better");
    if (isnan(r->db))
        cli_print(stdout, "the error is not measured%s\n", o->dynamic ? "" : " without --data");
    else
        cli_print(stdout, "%.1f dB, %.1f %% of decisions %s, on %d samples that made none\n", r->db, 100 * r->agreement,
                  j->truth ? "right" : "as in float32", r->held_out);
}

/* Summary of a model with ranges: the rule that chose them, and the error of all units in 8 bits. */
static void print_ranges(const cli_quantized *j) {
    const tort_quantized_report *r = tort_quantized_report_of(j->quantized);
    char rule[120];
    cli_print(stdout, "ranges: %s; best of %d, each judged by samples that made none\n",
              rule_text(&r->rules[0], rule, sizeof rule), r->rule_count);
    cli_print(stdout, "all %d units in 8 bits: %.1f dB, %.1f %% of decisions %s\n", r->unit_count, r->db_all,
              100 * r->agreement_all, j->truth ? "right" : "as in float32");
    if (r->kept)
        cli_print(stdout, "%d kept float32: %.1f dB, %.1f %%%s\n", r->kept, r->db, 100 * r->agreement,
                  r->met ? "" : "; this is the best of what was tried, and less than was asked for");
}

static void print_costs(const cli_quantized *j) {
    const cli_run_cost *before = &j->costs[0], *after = &j->costs[1];
    const char *const names[] = {"float32", "written"};
    char text[40];
    if (!j->measured) return;
    cli_table *table = cli_table_new("one run|time>|weights>|arena>", 0);
    for (int i = 0; i < 2; i++) {
        const cli_run_cost *cost = i ? after : before;
        cli_cell(table, CLI_BOLD, "%s", names[i]);
        cli_cell(table, CLI_PLAIN, "%.3g ms", cost->milliseconds);
        cli_cell(table, CLI_PLAIN, "%s", cli_bytes_text((double)cost->weights, text, sizeof text));
        cli_cell(table, CLI_PLAIN, "%s", cli_bytes_text((double)cost->arena, text, sizeof text));
        cli_row_end(table);
    }
    cli_table_print(table, stdout, cli_width(stdout, 0));
}

void cli_quantized_print(const cli_quantized *j) {
    const tort_quantized_report *r = tort_quantized_report_of(j->quantized);
    const cli_options *o = j->options;
    char from[40], to[40];
    print_units(r, o->full, cli_width(stdout, o->width));
    print_floats(r);
    if (o->weight_type || o->dynamic)
        print_matrices(j);
    else
        print_ranges(j);
    if (!isnan(r->float_accuracy))
        cli_print(stdout, "the float32 model is right in %.1f %%\n", 100 * r->float_accuracy);
    print_costs(j);
    cli_print(stdout, "%s: %s, was %s\n", o->output, cli_bytes_text((double)r->bytes, to, sizeof to),
              cli_bytes_text((double)r->float_bytes, from, sizeof from));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_real(cJSON *json, const char *key, double number) {
    cJSON_AddItemToObject(json, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

void cli_quantized_json(const cli_quantized *j, cJSON *json) {
    const tort_quantized_report *r = tort_quantized_report_of(j->quantized);
    cJSON *rules = cJSON_AddArrayToObject(json, "rules"), *units = cJSON_AddArrayToObject(json, "units");
    cJSON *floats = cJSON_AddArrayToObject(json, "float32");
    cli_json_text(json, "output", j->options->output);
    for (int32_t i = 0; i < r->rule_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "ranges", tort_range_names[r->rules[i].rule]);
        cJSON_AddBoolToObject(item, "margin", r->rules[i].margin);
        cJSON_AddBoolToObject(item, "bias", r->rules[i].bias);
        add_real(item, "db", r->rules[i].db);
        cJSON_AddItemToArray(rules, item);
    }
    for (int32_t i = 0; i < r->unit_count; i++) {
        const tort_quantized_unit *u = &r->units[i];
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "name", u->name);
        cli_json_text(item, "nodes", u->nodes);
        cli_json_number(item, "weights", u->weights);
        cli_json_number(item, "bits", u->bits);
        add_real(item, "low", (double)u->low);
        add_real(item, "high", (double)u->high);
        add_real(item, "saturated", u->saturated);
        add_real(item, "alone", u->alone);
        cJSON_AddBoolToObject(item, "grouped", u->grouped);
        cli_json_text(item, "why", u->why);
        cJSON_AddItemToArray(units, item);
    }
    for (int32_t i = 0; i < r->float_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "name", r->floats[i].name);
        cli_json_text(item, "op", r->floats[i].op);
        cli_json_text(item, "why", r->floats[i].why);
        cJSON_AddItemToArray(floats, item);
    }
    cli_json_number(json, "samples", r->samples);
    cli_json_number(json, "held_out", r->held_out);
    cli_json_number(json, "evaluations", r->evaluations);
    add_real(json, "db_all", r->db_all);
    add_real(json, "db", r->db);
    add_real(json, "agreement_all", r->agreement_all);
    add_real(json, "agreement", r->agreement);
    add_real(json, "float_accuracy", r->float_accuracy);
    cli_json_number(json, "kept", r->kept);
    cJSON_AddBoolToObject(json, "met", r->met);
    cli_json_number(json, "float_bytes", (int64_t)r->float_bytes);
    cli_json_number(json, "bytes", (int64_t)r->bytes);
    cJSON *costs = cJSON_AddArrayToObject(json, "costs");
    for (int i = 0; j->measured && i < 2; i++) {
        cJSON *item = cJSON_CreateObject();
        add_real(item, "milliseconds", j->costs[i].milliseconds);
        cli_json_number(item, "weights", j->costs[i].weights);
        cli_json_number(item, "arena", j->costs[i].arena);
        cJSON_AddItemToArray(costs, item);
    }
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

tort_status cli_quantized_page(const cli_quantized *j, tort_error *error) {
    cJSON *data = cJSON_CreateObject();
    cli_json_text(data, "model", cli_model_path(j->options));
    cli_quantized_json(j, data);
    return cli_page_of(j->options->html, page_lines, sizeof page_lines / sizeof *page_lines, data, error);
}
