/* made_up.c - see random.h. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/random.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/values.h"

/* Candidate sizes: multiples of the usual strides of networks, and usual sizes of audio frames and pictures. */
static const int64_t sizes[] = {2,   4,   8,   16,  32,  48,  64,  80,  96,  128, 160, 192,
                                224, 256, 288, 320, 384, 416, 448, 512, 576, 640, 1024};
/* With more open dimensions than MAX_ALONE none is tried alone; with more inputs than MANY they are not compared. */
enum { SIZES = sizeof sizes / sizeof *sizes, MAX_ALONE = 8, MANY = 256 };

static bool has_name(const tort_port *port, int32_t axis, const char *name) {
    return *name && port->dims[axis] < 0 && port->dim_names[axis] && !strcmp(port->dim_names[axis], name);
}

static const char *name_of(const tort_port *port, int32_t axis) {
    return port->dim_names[axis] ? port->dim_names[axis] : "";
}

/* True if an earlier input, or an earlier axis of this one, has an open dimension of this name. */
static bool stands_before(const cli_options *options, const tort_model *model, const char *name, int32_t input,
                          int32_t axis) {
    for (int32_t i = 0; i <= input; i++) {
        const tort_port port = cli_input_port(options, model, i);
        for (int32_t d = 0; d < port.rank && (i < input || d < axis); d++)
            if (has_name(&port, d, name)) return true;
    }
    return false;
}

static bool is_batch(const cli_options *options, const tort_model *model, const tort_port *port, int32_t axis) {
    if (axis == 0 && port->rank > 1) return true;
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port other = cli_input_port(options, model, i);
        if (other.rank > 1 && has_name(&other, 0, name_of(port, axis))) return true;
    }
    return false;
}

/* Counts the open dimensions without batches; dimensions of one name count once. *number is the position of the given
 * axis among them; -1 for a batch. */
static int32_t number_of(const cli_options *options, const tort_model *model, int32_t input, int32_t axis,
                         int32_t *number) {
    int32_t count = 0;
    const tort_port asked = cli_input_port(options, model, input);
    *number = tort_model_input_count(model) > MANY && (axis || asked.rank < 2) ? 0 : -1;
    if (tort_model_input_count(model) > MANY) return MAX_ALONE + 1;
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port port = cli_input_port(options, model, i);
        for (int32_t d = 0; d < port.rank; d++) {
            const char *name = name_of(&port, d);
            if (port.dims[d] >= 0 || is_batch(options, model, &port, d) || stands_before(options, model, name, i, d))
                continue;
            if ((i == input && d == axis) || has_name(&asked, axis, name)) *number = count;
            count++;
        }
    }
    return count;
}

/* Attempts per size: all dimensions together, then each alone if they are few. */
static int32_t rounds_of(int32_t count) {
    return count > 1 && count <= MAX_ALONE ? 1 + count : 1;
}

int64_t cli_made_up_size(const cli_options *options, const tort_model *model, int32_t input, int32_t axis) {
    int32_t number;
    if (options->attempt < 1) return 1;
    const int32_t rounds = rounds_of(number_of(options, model, input, axis, &number)), at = options->attempt - 1;
    if (number < 0 || (at % rounds && at % rounds != number + 1)) return 1;
    return sizes[at / rounds];
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

/* True if a run with the sizes of this attempt costs little: a picture of 32x32, or 1,024 samples of sound. */
static bool sizes_are_small(const cli_options *options, const tort_model *model) {
    double elements = 0;
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port port = cli_input_port(options, model, i);
        double count = 1;
        for (int32_t d = 0; d < port.rank; d++)
            count *= (double)(port.dims[d] < 0 ? cli_made_up_size(options, model, i, d) : port.dims[d]);
        elements += count;
    }
    return elements < 4096;
}

/* Advances to the next attempt; false after the last. */
static bool next_sizes(cli_options *options, const tort_model *model) {
    int32_t number;
    const int32_t count = tort_model_input_count(model) ? number_of(options, model, 0, 0, &number) : 0;
    return count > 0 && options->attempt++ < SIZES * rounds_of(count);
}

/* True if all outputs are empty tensors. */
static bool are_empty(tort_value *const *outputs, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const tort_tensor *tensor = tort_value_view(outputs[i]);
        int64_t elements;
        if (!tensor || (tort_tensor_count(tensor, &elements) && elements > 0)) return false;
    }
    return count > 0;
}

/* Outcomes of a run with sizes that were made up, from the worst to the best. */
typedef enum outcome {
    FAILED,
    ALL_EMPTY,  /* outputs without elements: a picture of 4 pixels has no room for a window of 5 */
    SOME_EMPTY, /* a value inside has none: a mean of it is NaN */
    WORKS
} outcome;

typedef struct trial {
    cli_options *options;
    const tort_model *model;
    tort_context *context;
    cli_inputs *inputs;
    tort_error *error;
    bool empty; /* a value of the run has no elements */
} trial;

static void see_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    trial *t = ud;
    int64_t elements;
    (void)node, (void)value;
    t->empty = t->empty || (tort_tensor_count(tensor, &elements) && elements == 0);
}

static outcome run_trial(trial *t, tort_status *status) {
    const int32_t count = tort_model_output_count(t->model);
    tort_value **inputs = cli_input_values(t->inputs), **outputs = cli_alloc((size_t)count, sizeof *outputs);
    t->empty = false;
    tort_context_observe(t->context, see_value, t);
    *status = cli_run_model(t->context, t->model, inputs, outputs, t->error);
    tort_context_observe(t->context, NULL, NULL);
    const bool none = !*status && are_empty(outputs, count);
    cli_values_free(inputs, t->inputs->count);
    cli_values_free(outputs, count);
    return *status ? FAILED : none ? ALL_EMPTY : t->empty ? SOME_EMPTY : WORKS;
}

/* If a value is still empty at all small sizes, the values of inputs rather than their sizes may be the cause: settles
 * for the first of the best attempts. */
static tort_status settle(trial *t) {
    cli_options *options = t->options;
    tort_status status;
    outcome now = run_trial(t, &status), best = now;
    int32_t best_attempt = 0;
    const bool in_a_run = status == TORT_E_RUN; /* another cause than sizes is then likelier: fewer are tried */
    if (status && status != TORT_E_MODEL && status != TORT_E_INPUT && !in_a_run) return TORT_OK;
    const tort_error first = *t->error;
    cli_progress("looking for sizes with which the model runs");
    while (now != WORKS && ((best == FAILED && !in_a_run) || sizes_are_small(options, t->model)) &&
           next_sizes(options, t->model)) {
        now = cli_inputs_refill(options, t->model, t->inputs, t->error) ? FAILED : run_trial(t, &status);
        if (now > best) best_attempt = options->attempt;
        if (now > best) best = now;
    }
    cli_progress_end();
    if (now == WORKS) return TORT_OK;
    if (best == FAILED && !in_a_run)
        return tort_fail(t->error, TORT_E_USAGE,
                         "--random found no sizes with which the model runs: say them by --shape; where all are 1, %s",
                         first.msg);
    options->attempt = best_attempt;
    return cli_inputs_refill(options, t->model, t->inputs, t->error);
}

tort_status cli_settle_sizes(cli_options *options, const tort_model *model, const tort_session_options *session_options,
                             tort_context *context, cli_inputs *inputs, tort_error *error) {
    trial t = {.options = options, .model = model, .context = context, .inputs = inputs, .error = error};
    if (!*inputs->shapes) return TORT_OK;
    if (!session_options->unfolded && !session_options->binding_count) return settle(&t);
    tort_session_options usual = *session_options;
    tort_session *session = NULL;
    usual.unfolded = false;
    usual.binding_count = 0;
    t.context = NULL;
    tort_status status = cli_open_session(model, &usual, &session, error);
    if (!status) status = tort_context_create(session, &t.context, error);
    if (!status) status = settle(&t);
    tort_context_free(t.context);
    tort_session_free(session);
    return status;
}
