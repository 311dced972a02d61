/* run.c - `tinyort run`: one model, one run. The whole life of an application of tinyort.h in one page:
 * load, create a session, make a context, run, look at the outputs, free in reverse. */
#include <stdlib.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/outputs.h"
#include "runtime/cli/table.h"

/* What a run produced; freed in one place whatever failed. */
typedef struct job {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    cli_inputs inputs;
    tort_tensor *outputs;
    int32_t output_count;
    cli_labels labels;
    cli_top *tops;
    int64_t top_count;
} job;

static void job_free(job *j) {
    free(j->tops);
    cli_labels_free(&j->labels);
    free(j->outputs);
    tort_context_free(j->context);
    cli_inputs_free(&j->inputs);
    tort_session_free(j->session);
    tort_model_free(j->model);
}

static tort_status run_once(job *j, tort_error *error) {
    tort_status status = tort_context_create(j->session, &j->context, error);
    if (status) return status;
    j->output_count = tort_model_output_count(j->model);
    j->outputs = cli_alloc((size_t)j->output_count, sizeof *j->outputs);
    cli_progress("running");
    status = tort_context_run(j->context, j->inputs.tensors, j->inputs.count, j->outputs, j->output_count, error);
    cli_progress_end();
    if (status == TORT_E_MEMORY) error->code = status = TORT_E_RUN;
    return status;
}

static tort_status work(job *j, const cli_options *options, tort_error *error) {
    tort_status status = cli_open_model(options, options->operands[0], &j->model, error);
    if (!status) status = cli_check_shapes(options, j->model, error);
    if (!status) status = cli_inputs_read(options, j->model, &j->inputs, error);
    if (!status && options->labels) status = cli_labels_read(options->labels, &j->labels, error);
    if (status) return status;
    tort_session_options session_options = cli_session_options(options, options->chains[0]);
    status = cli_open_session(options, j->model, &session_options, &j->session, error);
    if (!status) status = run_once(j, error);
    if (!status && options->save) status = cli_save_outputs(options, j->model, j->outputs, j->output_count, error);
    if (!status && options->top && j->output_count)
        status = cli_top_of(&j->outputs[0], options->top, &j->labels, &j->tops, &j->top_count, error);
    return status;
}

static void print_json(const job *j) {
    cJSON *root = cJSON_CreateObject(), *placement = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "outputs", cli_outputs_json(j->model, j->outputs, j->output_count));
    if (j->tops) {
        cJSON *list = cJSON_AddArrayToObject(root, "top");
        for (int64_t i = 0; i < j->top_count; i++) {
            cJSON *item = cJSON_CreateObject();
            cJSON_AddNumberToObject(item, "row", (double)j->tops[i].row);
            cJSON_AddNumberToObject(item, "index", (double)j->tops[i].index);
            cJSON_AddNumberToObject(item, "value", j->tops[i].value);
            cJSON_AddStringToObject(item, "label", j->tops[i].label);
            cJSON_AddItemToArray(list, item);
        }
    }
    tort_report *report = cli_report(j->session);
    for (int32_t i = 0; i < report->provider_count; i++)
        cJSON_AddNumberToObject(placement, report->providers[i].name, report->providers[i].nodes);
    cJSON_AddNumberToObject(placement, "host", report->host);
    cJSON_AddNumberToObject(placement, "folded", report->folded);
    cJSON_AddItemToObject(root, "placement", placement);
    tort_report_free(report);
    cli_print_json(root);
}

static void print_top(const job *j) {
    cli_table *table = cli_table_new("row>|rank>|index>|value>|label", 0);
    bool several = j->top_count && j->tops[j->top_count - 1].row > 0;
    int64_t rank = 0;
    for (int64_t i = 0; i < j->top_count; i++) {
        const cli_top *top = &j->tops[i];
        rank = i && j->tops[i - 1].row == top->row ? rank + 1 : 1;
        cli_colour colour = rank == 1 ? CLI_GREEN : CLI_PLAIN;
        if (several)
            cli_cell(table, CLI_DIM, "%lld", (long long)top->row);
        else
            cli_cell(table, CLI_DIM, "%s", "");
        cli_cell(table, CLI_DIM, "%lld", (long long)rank);
        cli_cell(table, CLI_PLAIN, "%lld", (long long)top->index);
        cli_cell(table, colour, "%.4f", top->value);
        cli_cell(table, colour, "%s", top->label);
    }
    printf("\n");
    cli_table_print(table, stdout);
}

int cli_run(const cli_options *options) {
    job j = {0};
    tort_error error = {0};
    tort_status status = work(&j, options, &error);
    int result = status ? cli_fail_session(options->command, &error, j.session) : CLI_OK;
    if (!status && options->json)
        print_json(&j);
    else if (!status) {
        cli_print_outputs(j.model, j.outputs, j.output_count);
        if (j.tops) print_top(&j);
    }
    if (j.session) {
        fflush(stdout);
        cli_print_placement(j.session, stderr);
    }
    job_free(&j);
    return result;
}
