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
#include "runtime/cli/quantized.h"
#include "runtime/cli/text.h"

/* Labels of --truth: a whole number a line, in the order of the samples. */
static tort_status read_truth(const char *path, int32_t samples, int64_t **truth, tort_error *error) {
    enum { MAX_BYTES = 64 << 20 };
    uint8_t *bytes;
    size_t size;
    tort_status status = cli_read_file(path, MAX_BYTES, &bytes, &size, error);
    if (status) return status;
    int32_t count = 0;
    *truth = cli_alloc((size_t)samples + 1, sizeof **truth);
    for (char *at = (char *)bytes, *line; !status && (line = cli_take_line(&at));) {
        char *end;
        const long long label = strtoll(line, &end, 10);
        if (end == line || *end)
            status = tort_fail(error, TORT_E_INPUT, "%s: line %d is '%s', no whole number", path, count + 1, line);
        else if (count++ < samples)
            (*truth)[count - 1] = label;
    }
    free(bytes);
    if (!status && count != samples)
        status = tort_fail(error, TORT_E_INPUT, "%s has %d labels for %d samples", path, count, samples);
    return status;
}

static tort_status write_model(const cli_quantized *j, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(j->options->output, &file, error);
    if (status) return status;
    errno = 0;
    if (!tort_quantized_write(j->quantized, file.stream)) file.cause = errno;
    return cli_failed_write(cli_new_file_end(&file, TORT_OK, error), error);
}

/* The paths that will be written to, before anything runs. */
static tort_status check_paths(const cli_quantized *j, tort_error *error) {
    const char *const paths[] = {j->options->output, j->options->html, j->options->write_choices};
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < sizeof paths / sizeof *paths; i++)
        if (paths[i]) status = cli_check_new_file(paths[i], j->model, error);
    return status;
}

static tort_quantize_options options_of(const cli_quantized *j) {
    const cli_options *o = j->options;
    return (tort_quantize_options){
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
        .progress = cli_samples_tell,
    };
}

/* Quantizes, writes the model, and then measures it. */
static tort_status make(cli_quantized *j, tort_error *error) {
    const cli_options *o = j->options;
    const tort_samples samples = {j->samples->count, cli_samples_read, j->samples};
    const tort_quantize_options options = options_of(j);
    if (o->data && samples.count < 16)
        cli_print(stderr, "%d sample%s: 16 or more make a better model\n", samples.count,
                  samples.count == 1 ? "" : "s");
    tort_status status = tort_quantize(j->model, o->data ? &samples : NULL, &options, &j->quantized, error);
    cli_progress_end();
    if (!status) status = write_model(j, error);
    if (!status && o->data && !o->quick) status = cli_quantized_measure(j, error);
    if (!status && o->write_choices) status = cli_choices_write(j, error);
    if (!status && o->html) status = cli_quantized_page(j, error);
    return status;
}

int cli_quantize(cli_options *options) {
    cli_samples samples = {0};
    cli_choices choices = {0};
    cli_quantized j = {.options = options, .samples = &samples};
    int64_t *truth = NULL;
    tort_error error = {0};
    cli_memory_returns();
    tort_status status = cli_check_environment(&error);
    if (!status) status = cli_open_model(options, options->operands[0], &j.model, &error);
    if (!status) status = cli_check_names(options, j.model, &error);
    if (!status) status = check_paths(&j, &error);
    if (!status && options->choices) status = cli_choices_read(options->choices, &choices, &error);
    if (!status && options->data) status = cli_samples_open(options, j.model, &samples, &error);
    if (!status && options->truth) status = read_truth(options->truth, samples.count, &truth, &error);
    for (int32_t i = 0; i < choices.keep.count; i++) cli_texts_add(&options->keep, choices.keep.items[i]);
    j.truth = truth;
    if (!status) status = make(&j, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json) cli_quantized_json(&j, json);
    if (!status && !json) cli_quantized_print(&j);
    const int result = cli_end_plain(options, &error, json);
    cli_samples_free(&samples);
    cli_choices_free(&choices);
    tort_quantized_free(j.quantized);
    tort_model_free(j.model);
    free(truth);
    return result;
}
