/* run.c - `tinyort run`: one model, one run. The whole life of an application of tinyort.h in one page:
 * load, create a session, make a context, run, look at the outputs, free in reverse. */
#include <math.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/random.h"
#include "runtime/cli/observed.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/outputs.h"
#include "runtime/cli/table.h"
#include "runtime/cli/values.h"

/* Everything that a run owns, freed in one place whatever failed. */
typedef struct job {
    tort_model *loaded;      /* NULL if the session owns the model */
    const tort_model *model; /* to run */
    tort_session *session;
    tort_context *context;
    cli_inputs inputs;
    cli_observed *observed; /* NULL: nobody looks inside */
    tort_value **outputs;
    int32_t output_count;
    cli_labels labels;
    cli_top *tops;
    int64_t top_count;
} job;

static void job_free(job *j) {
    free(j->tops);
    cli_labels_free(&j->labels);
    cli_values_free(j->outputs, j->output_count);
    tort_context_free(j->context);
    cli_observed_free(j->observed);
    cli_inputs_free(&j->inputs);
    tort_session_free(j->session);
    tort_model_free(j->loaded);
}

/* Holds --top and --labels against what the model says of its first output, before the run. */
static tort_status check_top(const cli_options *options, const job *j, tort_error *error) {
    if (!options->top) return TORT_OK;
    if (!tort_model_output_count(j->model)) return tort_fail(error, TORT_E_USAGE, "--top: the model has no output");
    const tort_port port = cli_output(j->model, 0);
    return port.rank < 0 ? TORT_OK : cli_labels_fit(&j->labels, port.rank, port.dims, error);
}

/* Checks everything that the user could have mistyped, before slow steps begin. */
static tort_status prepare(job *j, cli_options *options, tort_error *error) {
    tort_status status = cli_check_environment(error);
    if (!status && options->save) status = cli_check_folder("--save", options->save, error);
    if (!status && options->labels) status = cli_labels_read(options->labels, &j->labels, error);
    if (!status) status = cli_open_either(options, &j->loaded, &j->session, &j->model, error);
    if (!status) status = cli_check_names(options, j->model, error);
    if (!status && options->save) status = cli_check_save(options, j->model, error);
    if (!status) status = check_top(options, j, error);
    if (!status) status = cli_inputs_read(options, j->model, &j->inputs, error);
    if (status || !cli_observes(options)) return status;
    return cli_observed_open(options, j->model, &j->inputs, &j->observed, error);
}

static tort_status run_once(job *j, cli_options *options, const tort_session_options *session_options,
                            tort_error *error) {
    tort_status status = tort_context_create(j->session, &j->context, error);
    if (!status) status = cli_settle_sizes(options, j->model, session_options, j->context, &j->inputs, error);
    if (status) return status;
    cli_inputs_tell(&j->inputs);
    j->output_count = tort_model_output_count(j->model);
    j->outputs = cli_alloc((size_t)j->output_count, sizeof *j->outputs);
    if (j->observed) tort_context_observe(j->context, cli_observe_value, j->observed);
    cli_progress("running");
    tort_value **inputs = cli_input_values(&j->inputs);
    status = cli_run_model(j->context, j->model, inputs, j->outputs, error);
    cli_values_free(inputs, j->inputs.count);
    cli_progress_end();
    if (status) cli_inputs_explain(&j->inputs, j->model, error);
    return status;
}

/* For a provider that takes some nodes only where they are fused, as firmware does. */
static tort_status open_fused(job *j, tort_session_options *session_options, tort_error *error) {
    tort_session_free(j->session);
    j->session = NULL;
    session_options->unfolded = false;
    const tort_status status = cli_open_session(j->model, session_options, &j->session, error);
    if (!status)
        cli_print(stderr, "folded and fused nodes are looked at as they are: no provider takes the single ones\n");
    return status;
}

static tort_status work(job *j, cli_options *options, tort_error *error) {
    tort_status status = prepare(j, options, error);
    if (status) return status;
    tort_session_options session_options = cli_session_options(options, options->chains.items[0]);
    session_options.unfolded = j->observed != NULL;
    if (!j->session) status = cli_open_session(j->model, &session_options, &j->session, error);
    if (status == TORT_E_PLACEMENT && session_options.unfolded) status = open_fused(j, &session_options, error);
    if (!status) status = run_once(j, options, &session_options, error);
    if (!status && options->save) status = cli_save_outputs(options, j->model, j->outputs, j->output_count, error);
    if (!status && options->top)
        status = cli_top_of(j->outputs[0], options->top, &j->labels, &j->tops, &j->top_count, error);
    return status;
}

static void fill_json(const job *j, cJSON *root) {
    cJSON_AddItemToObject(root, "outputs", cli_outputs_json(j->model, j->outputs, j->output_count));
    if (j->tops) {
        cJSON *list = cJSON_AddArrayToObject(root, "top");
        for (int64_t i = 0; i < j->top_count; i++) {
            cJSON *item = cJSON_CreateObject();
            cli_json_number(item, "row", j->tops[i].row);
            cli_json_number(item, "index", j->tops[i].index);
            cJSON_AddNumberToObject(item, "value", j->tops[i].value);
            cli_json_text(item, "label", j->tops[i].label);
            cJSON_AddItemToArray(list, item);
        }
    }
}

static void print_top(const job *j, int width) {
    cli_table *table = cli_table_new("row>|rank>|index>|value>|label", 0);
    bool several = j->top_count && j->tops[j->top_count - 1].row > 0;
    int64_t rank = 0;
    for (int64_t i = 0; i < j->top_count; i++) {
        const cli_top *top = &j->tops[i];
        rank = i && j->tops[i - 1].row == top->row ? rank + 1 : 1;
        cli_colour colour = rank == 1 ? CLI_GREEN : CLI_PLAIN;
        cli_cell_if(table, several, CLI_DIM, "%lld", (long long)top->row);
        cli_cell(table, CLI_DIM, "%lld", (long long)rank);
        cli_cell(table, CLI_PLAIN, "%lld", (long long)top->index);
        const double size = fabs(top->value);
        cli_cell(table, colour, size == 0 || (size >= 1e-3 && size < 1e7) ? "%.4f" : "%.3e", top->value);
        cli_cell(table, colour, "%s", top->label);
    }
    cli_print(stdout, "\n");
    cli_table_print(table, stdout, width);
}

int cli_run(cli_options *options) {
    job j = {0};
    tort_error error = {0};
    tort_status status = work(&j, options, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json)
        fill_json(&j, json);
    else if (!status) {
        const int width = cli_width(stdout, options->width);
        cli_print_outputs(j.model, j.outputs, j.output_count, width);
        if (j.tops) print_top(&j, width);
    }
    if (!status && j.observed) {
        tort_report *report = cli_report(j.session);
        cli_observed_tell(j.observed, report, json, &error);
        tort_report_free(report);
    }
    int result =
        cli_end(options, &(cli_ending){.error = &error, .sessions = &j.session, .session_count = 1, .json = json});
    job_free(&j);
    return result;
}
