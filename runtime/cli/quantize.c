/* quantize.c - `tinyort quantize`: an 8-bit model of a float32 one, and what each of its units costs. The work is done
 * by runtime/quantize; this file reads the samples and tells the report. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/samples.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/core/base/locale.h"

typedef struct job {
    cli_options *options;
    tort_model *model;
    cli_samples samples;
    int64_t *truth;
    tort_quantized *quantized;
} job;

static bool tell(void *ud, const char *phase, int32_t done, int32_t of) {
    (void)ud;
    cli_progress("%s: %d of %d", phase, done, of);
    return true;
}

/* Labels of --truth: a whole number a line, in the order of the samples. */
static tort_status read_truth(job *j, tort_error *error) {
    enum { MAX_BYTES = 64 << 20 };
    const char *path = j->options->truth;
    uint8_t *bytes;
    size_t size;
    if (!path) return TORT_OK;
    tort_status status = cli_read_file(path, MAX_BYTES, &bytes, &size, error);
    if (status) return status;
    int32_t count = 0;
    j->truth = cli_alloc((size_t)j->samples.count + 1, sizeof *j->truth);
    for (char *at = (char *)bytes, *line; !status && (line = cli_take_line(&at));) {
        char *end;
        const long long label = strtoll(line, &end, 10);
        if (end == line || *end)
            status = tort_fail(error, TORT_E_INPUT, "%s: line %d is '%s', no whole number", path, count + 1, line);
        else if (count++ < j->samples.count)
            j->truth[count - 1] = label;
    }
    free(bytes);
    if (!status && count != j->samples.count)
        status = tort_fail(error, TORT_E_INPUT, "%s has %d labels for %d samples", path, count, j->samples.count);
    return status;
}

static tort_status write_model(const job *j, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(j->options->output, &file, error);
    if (status) return status;
    errno = 0;
    if (!tort_quantized_write(j->quantized, file.stream)) file.cause = errno;
    return cli_new_file_end(&file, TORT_OK, error);
}

static tort_status work(job *j, tort_error *error) {
    cli_options *o = j->options;
    tort_status status = cli_check_environment(error);
    if (!status) status = cli_open_model(o, o->operands[0], &j->model, error);
    if (!status) status = cli_check_names(o, j->model, error);
    if (!status) status = tort_new_file_check(o->output, error);
    if (!status && o->data) status = cli_samples_open(o, j->model, &j->samples, error);
    if (!status) status = read_truth(j, error);
    if (status) return status;
    const tort_samples samples = {j->samples.count, cli_samples_read, &j->samples};
    const tort_quantize_options options = {
        .session = cli_session_options(o, o->chains.items[0]),
        .scheme = o->scheme ? (tort_scheme)(o->scheme - 1) : TORT_SCHEME_ORT,
        .keep_nodes = o->keep.items,
        .keep_node_count = o->keep.count,
        .keep_ops = o->keep_ops.items,
        .keep_op_count = o->keep_ops.count,
        .max_error = o->max_error,
        .min_agreement = o->min_agreement,
        .truth = j->truth,
        .max_bytes = o->max_bytes,
        .sensitivity = !o->quick,
        .weight_bits = o->weight_type == CLI_INT4   ? 4
                       : o->weight_type == CLI_INT8 ? 8
                                                    : 0,
        .block = o->block ? o->block : 32,
        .dynamic = o->dynamic,
        .progress = tell,
    };
    if (o->data && samples.count < 16)
        cli_print(stderr, "%d sample%s: 16 or more make a better model\n", samples.count,
                  samples.count == 1 ? "" : "s");
    status = tort_quantize(j->model, o->data ? &samples : NULL, &options, &j->quantized, error);
    cli_progress_end();
    return status ? status : write_model(j, error);
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

/* What is told in place of ranges, if weights alone are quantized, or values in each run. */
static void print_matrices(const job *j) {
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

/* How the ranges were chosen, and what all units in 8 bits cost. */
static void print_ranges(const job *j) {
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

static void print_report(const job *j) {
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
    cli_print(stdout, "%s: %s, was %s\n", o->output, cli_bytes_text((double)r->bytes, to, sizeof to),
              cli_bytes_text((double)r->float_bytes, from, sizeof from));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_real(cJSON *json, const char *key, double number) {
    cJSON_AddItemToObject(json, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

static void fill_json(const job *j, cJSON *json) {
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
}

int cli_quantize(cli_options *options) {
    job j = {.options = options};
    tort_error error = {0};
    const tort_status status = work(&j, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json) fill_json(&j, json);
    if (!status && !json) print_report(&j);
    const int result = cli_end_plain(options, &error, json);
    cli_samples_free(&j.samples);
    tort_quantized_free(j.quantized);
    tort_model_free(j.model);
    free(j.truth);
    return result;
}
