/* validate.c - `tinyort validate`: a compiled model on a board runs on the same inputs as the provider firmware here;
 * the outputs are compared to the bit, and the board tells how long each step took. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/compile.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/serial.h"
#include "runtime/cli/table.h"
#include "runtime/cli/values.h"
#include "runtime/firmware/compile/serial.h"
#include "runtime/include/op.h"

typedef struct job {
    cli_compilation made;
    tort_context *context;
    cli_inputs inputs;
    tort_value **outputs; /* of the provider */
    cli_line line;
    uint32_t *ticks;    /* by step */
    uint32_t stack;     /* bytes; 0: not measured */
    int64_t *differing; /* by output: bytes */
} job;

static void job_free(job *j) {
    cli_line_close(&j->line);
    if (j->outputs) cli_values_free(j->outputs, j->made.compiled.outputs);
    cli_inputs_free(&j->inputs);
    tort_context_free(j->context);
    cli_compilation_free(&j->made);
    free(j->ticks);
    free(j->differing);
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

/* QuantizeLinear of an element, by the standard's text. */
static uint8_t quantized(const tort_compiled_port *port, float value) {
    const float low = port->type == TORT_INT8 ? -128 : 0, high = low + 255;
    const float rounded = rintf(value / port->scale) + (float)port->zero;
    return (uint8_t)(int32_t)(!(rounded > low) ? low : rounded > high ? high : rounded);
}

/* The bytes of a tensor as the board has them: the caller frees. */
static uint8_t *bytes_of(const tort_compiled_port *port, const tort_tensor *tensor) {
    uint8_t *bytes = cli_alloc((size_t)port->bytes + 1, 1);
    const bool narrows = port->border && tensor->type == TORT_FLOAT;
    if (!narrows) memcpy(bytes, tensor->data, (size_t)port->bytes);
    for (int64_t i = 0; narrows && i < port->bytes; i++) bytes[i] = quantized(port, ((const float *)tensor->data)[i]);
    return bytes;
}

static tort_status check_port(const char *what, int32_t number, const tort_compiled_port *port,
                              const tort_tensor *tensor, tort_error *error) {
    const int64_t elements = tort_count(tensor), bytes = elements * tort_type_bits(tensor->type) / 8;
    if (bytes == port->bytes || (port->border && tensor->type == TORT_FLOAT && elements == port->bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "%s %d has %lld bytes, the board takes %lld", what, (int)number,
                     (long long)bytes, (long long)port->bytes);
}

/* ---- the board --------------------------------------------------------------------------------------------------- */

static tort_status short_answer(const job *j, tort_error *error) {
    return tort_fail(error, TORT_E_IO, "--port %s: an answer has %zu bytes: is the board's program of this version?",
                     j->line.path, j->line.answer_bytes);
}

/* The board must run the code that is compiled here, with the same weights. */
static tort_status greet(job *j, tort_error *error) {
    const tort_compiled_hashes *own = &j->made.compiled.hashes;
    const tort_status status = cli_line_ask(&j->line, TORT_SERIAL_HELLO, NULL, 0, error);
    if (status) return status;
    if (j->line.answer_bytes != 28) return short_answer(j, error);
    const uint64_t code = cli_get_number(j->line.answer + 8, 8), weights = cli_get_number(j->line.answer + 16, 8);
    if (code != own->code)
        return tort_fail(
            error, TORT_E_USAGE,
            "the board runs code %016llx, not %016llx: compile it with the same options as here (--target, "
            "--name, --shape, --io and so on) and the same tinyort",
            (unsigned long long)code, (unsigned long long)own->code);
    if (weights != own->weights)
        return tort_fail(error, TORT_E_USAGE, "the board has weights %016llx, the model here %016llx",
                         (unsigned long long)weights, (unsigned long long)own->weights);
    return TORT_OK;
}

static tort_status send_input(job *j, int32_t number, tort_error *error) {
    const tort_compiled_port *port = &j->made.compiled.ports[number];
    uint8_t *bytes = bytes_of(port, &j->inputs.tensors[number]), question[5 + TORT_SERIAL_DATA];
    tort_status status = TORT_OK;
    for (int64_t at = 0; !status && at < port->bytes; at += TORT_SERIAL_DATA) {
        const int64_t left = port->bytes - at, part = left < TORT_SERIAL_DATA ? left : TORT_SERIAL_DATA;
        question[0] = (uint8_t)number;
        cli_put_word(question + 1, (uint32_t)at);
        memcpy(question + 5, bytes + at, (size_t)part);
        cli_progress("input %d: %lld of %lld bytes", (int)number, (long long)at, (long long)port->bytes);
        status = cli_line_ask(&j->line, TORT_SERIAL_INPUT, question, (size_t)part + 5, error);
    }
    free(bytes);
    return status;
}

/* Reads an output and counts the bytes that are not those of the provider. */
static tort_status read_output(job *j, int32_t number, tort_error *error) {
    const tort_compiled_port *port = &j->made.compiled.ports[j->made.compiled.inputs + number];
    uint8_t *expected = bytes_of(port, tort_value_view(j->outputs[number])), question[5];
    tort_status status = TORT_OK;
    for (int64_t at = 0; !status && at < port->bytes; at += TORT_SERIAL_DATA) {
        const int64_t left = port->bytes - at, part = left < TORT_SERIAL_DATA ? left : TORT_SERIAL_DATA;
        question[0] = (uint8_t)number;
        cli_put_word(question + 1, (uint32_t)at);
        status = cli_line_ask(&j->line, TORT_SERIAL_OUTPUT, question, sizeof question, error);
        if (!status && (int64_t)j->line.answer_bytes != part) status = short_answer(j, error);
        for (int64_t i = 0; !status && i < part; i++) j->differing[number] += j->line.answer[i] != expected[at + i];
    }
    free(expected);
    return status;
}

static tort_status read_ticks(job *j, tort_error *error) {
    uint8_t question[4];
    const int32_t steps = j->made.compiled.step_count;
    tort_status status = TORT_OK;
    for (int32_t at = 0; !status && at < steps;) {
        cli_put_word(question, (uint32_t)at);
        status = cli_line_ask(&j->line, TORT_SERIAL_TICKS, question, sizeof question, error);
        const int32_t got = (int32_t)(j->line.answer_bytes / 4);
        if (!status && (!got || got > steps - at)) status = short_answer(j, error);
        for (int32_t i = 0; !status && i < got; i++)
            j->ticks[at + i] = (uint32_t)cli_get_number(j->line.answer + 4 * i, 4);
        at += got;
    }
    return status;
}

static tort_status run_there(job *j, tort_error *error) {
    uint8_t question[4];
    cli_put_word(question, (uint32_t)(cli_seconds() * 1000) | 1); /* another one than that of a validation before */
    cli_progress("running on the board");
    const tort_status status = cli_line_ask(&j->line, TORT_SERIAL_RUN, question, sizeof question, error);
    if (status) return status;
    if (j->line.answer_bytes != 8) return short_answer(j, error);
    j->stack = (uint32_t)cli_get_number(j->line.answer + 4, 4);
    const int32_t returned = (int32_t)cli_get_number(j->line.answer, 4);
    return returned ? tort_fail(error, TORT_E_RUN, "%s_step returned %d on the board: its errors are in %s.h",
                                j->made.name, (int)returned, j->made.name)
                    : TORT_OK;
}

static tort_status validate(job *j, const cli_options *options, tort_error *error) {
    const tort_compiled *compiled = &j->made.compiled;
    tort_status status = cli_line_open(&j->line, options->port, options->baud ? options->baud : 115200, error);
    if (options->time_limit > 0) j->line.patience = options->time_limit;
    j->ticks = cli_alloc((size_t)compiled->step_count, sizeof *j->ticks);
    j->differing = cli_alloc((size_t)compiled->outputs, sizeof *j->differing);
    if (!status) status = greet(j, error);
    for (int32_t i = 0; !status && i < compiled->inputs; i++) status = send_input(j, i, error);
    if (!status) status = run_there(j, error);
    for (int32_t i = 0; !status && i < compiled->outputs; i++) status = read_output(j, i, error);
    if (!status) status = read_ticks(j, error);
    cli_progress_end();
    return status;
}

/* ---- this machine ------------------------------------------------------------------------------------------------ */

static tort_status run_here(job *j, tort_error *error) {
    const tort_compiled *compiled = &j->made.compiled;
    tort_status status = tort_context_create(j->made.session, &j->context, error);
    for (int32_t i = 0; !status && i < compiled->inputs; i++)
        status = check_port("input", i, &compiled->ports[i], &j->inputs.tensors[i], error);
    if (status) return status;
    cli_inputs_tell(&j->inputs);
    j->outputs = cli_alloc((size_t)compiled->outputs, sizeof *j->outputs);
    tort_value **inputs = cli_input_values(&j->inputs);
    status = cli_run_model(j->context, j->made.model, inputs, j->outputs, error);
    cli_values_free(inputs, j->inputs.count);
    for (int32_t i = 0; !status && i < compiled->outputs; i++)
        status = check_port("output", i, &compiled->ports[compiled->inputs + i], tort_value_view(j->outputs[i]), error);
    return status;
}

static tort_status work(job *j, cli_options *options, tort_error *error) {
    tort_status status = cli_compilation_check(options, &j->made, error);
    if (!status && !options->port)
        status = tort_fail(error, TORT_E_USAGE, "tell it where the board is: --port /dev/ttyACM0");
    if (!status) status = cli_compilation_make(options, &j->made, error);
    if (!status) status = cli_inputs_read(options, j->made.model, &j->inputs, error);
    if (!status) status = run_here(j, error);
    return status ? status : validate(j, options, error);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static int64_t all_differing(const job *j) {
    int64_t count = 0;
    for (int32_t i = 0; i < j->made.compiled.outputs; i++) count += j->differing[i];
    return count;
}

/* Copies the name of the next step, a line of the list. */
static char *next_name(const char **list) {
    const size_t length = strcspn(*list, "\n");
    char *name = cli_copy_text(*list, length);
    *list += length + ((*list)[length] == '\n');
    return name;
}

static void tell(const job *j, int width) {
    const tort_compiled *compiled = &j->made.compiled;
    const char *names = compiled->step_names;
    cli_table *table = cli_table_new("step>|node~|ticks>|share>", 0);
    double total = 0;
    for (int32_t i = 0; i < compiled->step_count; i++) total += j->ticks[i];
    for (int32_t i = 0; i < compiled->step_count; i++) {
        char *name = next_name(&names);
        cli_cell(table, CLI_DIM, "%d", (int)i + 1);
        cli_cell(table, CLI_PLAIN, "%s", name);
        cli_cell(table, CLI_PLAIN, "%lu", (unsigned long)j->ticks[i]);
        cli_cell(table, CLI_PLAIN, "%.1f %%", total > 0 ? 100 * j->ticks[i] / total : 0.0);
        free(name);
    }
    cli_table_print(table, stdout, width);
    for (int32_t i = 0; i < compiled->outputs; i++) {
        const long long bytes = (long long)compiled->ports[compiled->inputs + i].bytes;
        if (j->differing[i])
            cli_print_colour(stdout, CLI_RED, "output %d: %lld of %lld bytes differ\n", (int)i,
                             (long long)j->differing[i], bytes);
        else
            cli_print(stdout, "output %d: %lld bytes, equal\n", (int)i, bytes);
    }
    cli_print(stdout, "%s on the board: %.0f ticks in %d steps", all_differing(j) ? "other bits" : "the same bits",
              total, (int)compiled->step_count);
    if (j->stack) cli_print(stdout, ", %lu bytes of stack", (unsigned long)j->stack);
    if (j->line.asked_again) cli_print(stdout, "; %lld frames were sent again", (long long)j->line.asked_again);
    cli_print(stdout, "\n");
}

static void fill_json(const job *j, const cli_options *options, cJSON *json) {
    const tort_compiled *compiled = &j->made.compiled;
    const char *names = compiled->step_names;
    cli_json_model(json, j->made.model, cli_model_path(options));
    cJSON_AddBoolToObject(json, "equal", !all_differing(j));
    cJSON *steps = cJSON_AddArrayToObject(json, "steps"), *outputs = cJSON_AddArrayToObject(json, "outputs");
    for (int32_t i = 0; i < compiled->step_count; i++) {
        cJSON *step = cJSON_CreateObject();
        char *name = next_name(&names);
        cli_json_text(step, "node", name);
        cli_json_number(step, "ticks", j->ticks[i]);
        cJSON_AddItemToArray(steps, step);
        free(name);
    }
    for (int32_t i = 0; i < compiled->outputs; i++) {
        cJSON *output = cJSON_CreateObject();
        cli_json_number(output, "bytes", compiled->ports[compiled->inputs + i].bytes);
        cli_json_number(output, "differing", j->differing[i]);
        cJSON_AddItemToArray(outputs, output);
    }
    cli_json_number(json, "stack_bytes", j->stack);
    cli_json_number(json, "sent_again", j->line.asked_again);
}

int cli_validate(cli_options *options) {
    job j = {.line.file = -1};
    tort_error error = {0};
    const tort_status status = work(&j, options, &error);
    cJSON *json = cli_json_of(options);
    const bool differs = !status && all_differing(&j);
    if (!status && json)
        fill_json(&j, options, json);
    else if (!status)
        tell(&j, cli_width(stdout, options->width));
    const int result = cli_end(options, &(cli_ending){.error = &error,
                                                      .exit_status = differs ? CLI_FAILED : 0,
                                                      .sessions = &j.made.session,
                                                      .session_count = 1,
                                                      .json = json});
    job_free(&j);
    return result;
}
