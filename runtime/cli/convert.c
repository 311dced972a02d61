/* convert.c - `tinyort convert`: a model with floats of another type, and which nodes stay as they are. The work is
 * done by runtime/quantize/convert.c; this file gives it samples, of files or made up, and tells the report. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/random.h"
#include "runtime/cli/samples.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/quantize/convert.h"

enum { RANDOM_SAMPLES = 2, DEFAULT_DB = 40 };

typedef struct job {
    cli_options *options;
    tort_model *model;
    cli_samples samples;
    cli_inputs random[RANDOM_SAMPLES]; /* in place of samples */
    tort_converted *converted;
} job;

static const struct {
    tort_type type;
    const char *name;
} types[] = {[CLI_FLOAT16] = {TORT_FLOAT16, "float16"},
             [CLI_BFLOAT16] = {TORT_BFLOAT16, "bfloat16"},
             [CLI_FLOAT32] = {TORT_FLOAT, "float32"}};

/* ---- samples at random ------------------------------------------------------------------------------------------- */

static tort_status read_random(void *ud, int32_t index, tort_tensor *inputs, tort_error *error) {
    const cli_inputs *read = &((job *)ud)->random[index];
    (void)error;
    memcpy(inputs, read->tensors, (size_t)read->count * sizeof *inputs);
    return TORT_OK;
}

/* Fills the inputs with one seed after another, in sizes with which the model runs. */
static tort_status make_random(job *j, const tort_session_options *session_options, tort_error *error) {
    cli_options *o = j->options;
    tort_session *session = NULL;
    tort_context *context = NULL;
    const uint64_t seed = o->seed;
    o->random = true;
    tort_status status = cli_inputs_read(o, j->model, &j->random[0], error);
    if (!status) status = cli_open_session(j->model, session_options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = cli_settle_sizes(o, j->model, session_options, context, &j->random[0], error);
    tort_context_free(context);
    tort_session_free(session);
    for (int32_t i = 1; !status && i < RANDOM_SAMPLES; i++) {
        o->seed = seed + (uint64_t)i;
        status = cli_inputs_read(o, j->model, &j->random[i], error);
    }
    o->seed = seed;
    if (status) return status;
    cli_inputs_tell(&j->random[0]);
    cli_print(stderr, "run on %d inputs at random: samples of what the model will see (--data FOLDER) find more\n",
              (int)RANDOM_SAMPLES);
    return TORT_OK;
}

/* ---- the work ---------------------------------------------------------------------------------------------------- */

static tort_status write_model(const job *j, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(j->options->output, &file, error);
    if (status) return status;
    errno = 0;
    if (!tort_converted_write(j->converted, file.stream)) file.cause = errno;
    return cli_failed_write(cli_new_file_end(&file, TORT_OK, error), error);
}

static tort_status work(job *j, tort_error *error) {
    cli_options *o = j->options;
    cli_memory_returns();
    tort_status status = cli_check_environment(error);
    if (!status) status = cli_open_model(o, o->operands[0], &j->model, error);
    if (!status) status = cli_check_names(o, j->model, error);
    if (!status) status = tort_new_file_check(o->output, error);
    if (status) return status;
    const tort_convert_options options = {
        .session = cli_session_options(o, o->chains.items[0]),
        .to = types[o->type].type,
        .ports = o->ports == CLI_CONVERT,
        .keep_nodes = o->keep.items,
        .keep_node_count = o->keep.count,
        .keep_ops = o->keep_ops.items,
        .keep_op_count = o->keep_ops.count,
        .min_db = cli_is_given(o, OPTION_MIN_DB) ? o->min_db : DEFAULT_DB,
        .progress = cli_samples_tell,
    };
    status = o->data ? cli_samples_open(o, j->model, &j->samples, error) : make_random(j, &options.session, error);
    if (status) return status;
    const tort_samples samples = o->data ? (tort_samples){j->samples.count, cli_samples_read, &j->samples}
                                         : (tort_samples){RANDOM_SAMPLES, read_random, j};
    status = tort_convert(j->model, &samples, &options, &j->converted, error);
    cli_progress_end();
    return status ? status : write_model(j, error);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Nodes that stay, 20 of them, or all of --full. */
static void print_kept(const tort_converted_report *r, bool full, int width) {
    enum { SHOWN = 20 };
    if (!r->kept_count) return;
    cli_table *table = cli_table_new("node that stays~|operator?|why", 0);
    for (int32_t i = 0; i < r->kept_count && (full || i < SHOWN); i++) {
        cli_cell(table, CLI_BOLD, "%s", r->kept[i].name);
        cli_cell(table, CLI_PLAIN, "%s", r->kept[i].op);
        cli_cell(table, CLI_DIM, "%s", r->kept[i].why);
        cli_row_end(table);
    }
    cli_table_print(table, stdout, width);
    if (!full && r->kept_count > SHOWN) cli_print(stdout, "%d more; --full lists them\n", r->kept_count - SHOWN);
}

static void print_report(const job *j) {
    const tort_converted_report *r = tort_converted_report_of(j->converted);
    const char *type = types[j->options->type].name;
    char from[40], to[40];
    print_kept(r, j->options->full, cli_width(stdout, j->options->width));
    cli_print(stdout, "%d nodes in %s, %d as they were; %d Cast%s between, %d at inputs and outputs\n", r->changed,
              type, r->kept_count, r->casts, r->casts == 1 ? "" : "s", r->port_casts);
    if (!r->finite)
        cli_print(stdout, "an output is infinite or NaN, or has another shape, where it was not so before\n");
    else
        cli_print(stdout, "%.1f dB at the worst output, of %d run%s%s\n", r->db, r->samples, r->samples == 1 ? "" : "s",
                  r->met ? "" : "; this is the best of what was tried, and less than was asked for");
    cli_print(stdout, "%s: %s, was %s\n", j->options->output, cli_bytes_text((double)r->bytes, to, sizeof to),
              cli_bytes_text((double)r->before, from, sizeof from));
}

static void fill_json(const job *j, cJSON *json) {
    const tort_converted_report *r = tort_converted_report_of(j->converted);
    cJSON *kept = cJSON_AddArrayToObject(json, "kept");
    cli_json_text(json, "output", j->options->output);
    cli_json_text(json, "to", types[j->options->type].name);
    for (int32_t i = 0; i < r->kept_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "name", r->kept[i].name);
        cli_json_text(item, "op", r->kept[i].op);
        cli_json_text(item, "why", r->kept[i].why);
        cJSON_AddItemToArray(kept, item);
    }
    cli_json_number(json, "changed", r->changed);
    cli_json_number(json, "casts", r->casts);
    cli_json_number(json, "port_casts", r->port_casts);
    cli_json_number(json, "samples", r->samples);
    cJSON_AddBoolToObject(json, "random", !j->options->data);
    cli_json_number(json, "evaluations", r->evaluations);
    cJSON_AddNumberToObject(json, "db_rules", r->db_rules);
    cJSON_AddNumberToObject(json, "db", r->db);
    cJSON_AddBoolToObject(json, "finite", r->finite);
    cJSON_AddBoolToObject(json, "met", r->met);
    cli_json_number(json, "before", (int64_t)r->before);
    cli_json_number(json, "bytes", (int64_t)r->bytes);
}

int cli_convert(cli_options *options) {
    job j = {.options = options};
    tort_error error = {0};
    const tort_status status = work(&j, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json) fill_json(&j, json);
    if (!status && !json) print_report(&j);
    const int result = cli_end_plain(options, &error, json);
    for (int32_t i = 0; i < RANDOM_SAMPLES; i++) cli_inputs_free(&j.random[i]);
    cli_samples_free(&j.samples);
    tort_converted_free(j.converted);
    tort_model_free(j.model);
    return result;
}
