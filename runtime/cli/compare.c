/* compare.c - `tinyort compare`: runs a model on two chains, without folding or fusion, and compares every tensor that
 * a node writes, and model outputs that are sequences, optionals or maps. --outputs-only compares the outputs of the
 * model as it normally runs, folded and fused. The result is the first node that differs: later nodes inherit its
 * error.
 *
 * Of two models the outputs are compared, in their order, and values of one name, type and shape, which tell where a
 * difference begins; --against compares the values of one run with files.
 *
 * Exit status 5 if values differ, or only one run computed a value, or an output is NaN everywhere in both. Exit status
 * 4 if two different chains led to the same placement (a device is down), which compares a device with itself. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/against.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/equality.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/random.h"
#include "runtime/cli/observed.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/values.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"

/* A value of the first run, kept until the second run computes it. */
typedef struct kept {
    char *name;
    int32_t node; /* that makes it; of an output that two models have, FIRST_OUTPUT - its number */
    tort_tensor tensor;
    struct kept *next_in_bucket;
} kept;

enum { BUCKETS = 4096, MAX_MISSING = 3, FIRST_OUTPUT = -2 };

/* A differing value: its node, its name, and the difference in words. */
typedef struct difference {
    int32_t node; /* -1: none */
    char *value, *text;
} difference;

typedef struct comparison {
    cli_options *options;
    tort_model *model;
    tort_model *other; /* the model of the second run, if it has one of its own; else NULL */
    cli_inputs inputs;
    tort_session *sessions[2];
    tort_report *opened[2];  /* taken before the runs */
    tort_value **outputs[2]; /* of the model; NULL for tensors, which are compared when observed */
    kept *buckets[BUCKETS];  /* hash table by node; each list is in the order of computation */
    int32_t compared, different, missing;
    char *missing_names[MAX_MISSING];
    int32_t outputs_different; /* model outputs that differ or are missing */
    int32_t outputs_nan;       /* model outputs that are NaN everywhere in both runs: equal, but meaningless */
    double worst;
    difference first;
    bool same_placement;
    cli_against against;
    tort_status unread; /* of the first file of --against that could not be read */
    tort_error error;
} comparison;

/* ---- values ------------------------------------------------------------------------------------------------------ */

static tort_tensor copy_tensor(const tort_tensor *tensor) {
    tort_tensor copy = *tensor;
    size_t bytes = 0;
    tort_tensor_bytes(tensor, &bytes);
    copy.data = cli_alloc(bytes, 1);
    if (bytes) memcpy(copy.data, tensor->data, bytes);
    tort_string *strings = copy.data;
    for (int64_t i = 0; tensor->type == TORT_STRING && i < tort_count(tensor); i++)
        strings[i].data = cli_copy_text(strings[i].data, strings[i].length);
    return copy;
}

static void free_kept(kept *k) {
    const tort_string *strings = k->tensor.data;
    for (int64_t i = 0; k->tensor.type == TORT_STRING && i < tort_count(&k->tensor); i++)
        free((char *)(uintptr_t)strings[i].data);
    free(k->tensor.data);
    free(k->name);
    free(k);
}

/* Values are found by their node; those inside of two models by their names alone. */
static kept **bucket_of(comparison *c, int32_t node, const char *value) {
    uint32_t key = (uint32_t)node;
    if (c->other && node >= 0)
        for (key = 0; *value; value++) key = 31 * key + (uint8_t)*value;
    return &c->buckets[key % BUCKETS];
}

static void keep(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    kept **link = bucket_of(ud, node, value);
    while (*link) link = &(*link)->next_in_bucket;
    *link = cli_alloc(1, sizeof **link);
    **link = (kept){cli_copy_text(value, strlen(value)), node, copy_tensor(tensor), NULL};
}

static bool is_output(const tort_model *model, const char *value) {
    for (int32_t i = 0; i < tort_model_output_count(model); i++)
        if (!strcmp(cli_output(model, i).name, value)) return true;
    return false;
}

static bool counts_as_output(const comparison *c, int32_t node, const char *value) {
    return c->other ? node <= FIRST_OUTPUT : is_output(c->model, value);
}

/* True if the node is inside a segment, whose inner values are never observed. */
static bool is_inside(const tort_report *report, int32_t node) {
    const int32_t place = cli_place_of(report, node);
    return place < 0 || report->nodes[place]->from_count > 0;
}

/* Counts a value that only one run computed, unless a segment hides it in the other. which: the run without it. */
static void count_missing(comparison *c, int32_t which, int32_t node, const char *value) {
    if (c->other || is_inside(c->opened[which], node)) return;
    if (c->missing < MAX_MISSING) c->missing_names[c->missing] = cli_copy_text(value, strlen(value));
    c->missing++;
    c->outputs_different += is_output(c->model, value);
}

/* The node that makes output i of the model. */
static int32_t producer_of(const tort_model *model, int32_t i) {
    return model->graphs[0].values[model->graphs[0].outputs[i]].producer;
}

/* Counts a compared value. text: its difference, owned from here on; NULL if the values are equal. */
static void count_compared(comparison *c, int32_t node, const char *value, char *text, double worst) {
    c->compared++;
    if (worst > c->worst) c->worst = worst;
    if (text) {
        c->different++;
        c->outputs_different += counts_as_output(c, node, value);
    }
    if (node <= FIRST_OUTPUT) node = producer_of(c->model, FIRST_OUTPUT - node);
    if (text && (c->first.node < 0 || node < c->first.node)) {
        free(c->first.value);
        free(c->first.text);
        c->first = (difference){node, cli_copy_text(value, strlen(value)), text};
    } else
        free(text);
}

static void compare_tensors(comparison *c, int32_t node, const char *value, const tort_tensor *found,
                            const tort_tensor *expected) {
    double worst;
    char *text = cli_difference(found, expected, cli_tolerance_of(c->options, found->type, CLI_WHOLE_MODEL), &worst);
    c->outputs_nan += !text && counts_as_output(c, node, value) && cli_is_all_nan(found);
    count_compared(c, node, value, text, worst);
}

static void compare_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    comparison *c = ud;
    kept **link = bucket_of(c, node, value), *k;
    const bool by_name = c->other && node >= 0;
    while ((k = *link) && ((!by_name && k->node != node) || strcmp(k->name, value) != 0)) link = &k->next_in_bucket;
    if (!k) {
        count_missing(c, 0, node, value);
        return;
    }
    *link = k->next_in_bucket;
    if (!by_name || (tensor->type == k->tensor.type && tort_same_shape(tensor, &k->tensor)))
        compare_tensors(c, k->node, value, tensor, &k->tensor);
    free_kept(k);
}

/* Compares a tensor with its file, if there is one. output: its number among the outputs; -1: by name. */
static void compare_file(comparison *c, int32_t node, const char *value, int32_t output, const tort_tensor *tensor) {
    char *path = c->unread ? NULL : cli_against_take(&c->against, value, output);
    tort_value *expected = NULL;
    if (path) {
        c->unread = tort_value_file_read(NULL, path, tort_tensor_type(tensor->type), &expected, &c->error);
        if (!c->unread) compare_tensors(c, node, value, tensor, tort_value_view(expected));
        tort_value_release(expected);
    }
    free(path);
}

static void compare_with_file(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    compare_file(ud, node, value, -1, tensor);
}

/* The same for an output that is no tensor, and for output_0.npy and so on. */
static void compare_output_file(comparison *c, int32_t output, const tort_value *found) {
    const tort_port port = cli_output(c->model, output);
    const int32_t node = producer_of(c->model, output);
    if (tort_value_view(found)) {
        compare_file(c, node, port.name, output, tort_value_view(found));
        return;
    }
    char *path = c->unread ? NULL : cli_against_take(&c->against, port.name, c->against.by_name ? -1 : output);
    tort_value *expected = NULL;
    double worst;
    if (path) c->unread = tort_value_file_read(NULL, path, port.value_type, &expected, &c->error);
    if (expected) {
        char *text = cli_value_difference(c->options, found, expected, CLI_WHOLE_MODEL, &worst);
        count_compared(c, node, port.name, text, worst);
    }
    tort_value_release(expected);
    free(path);
}

/* Frees the values left in the buckets and, if both runs succeeded, counts them: the second run did not compute them.
 */
static void finish_comparing(comparison *c, bool ran) {
    for (int i = 0; i < BUCKETS; i++)
        for (kept *k = c->buckets[i], *next; k; k = next) {
            next = k->next_in_bucket;
            if (ran) count_missing(c, 1, k->node, k->name);
            free_kept(k);
        }
}

/* Compares the outputs that are not tensors, which observers do not see. */
static void compare_outputs(comparison *c) {
    const tort_graph *graph = &c->model->graphs[0];
    for (int32_t i = 0; i < graph->output_count; i++) {
        const tort_graph_value *value = &graph->values[graph->outputs[i]];
        double worst;
        if (!c->outputs[0][i]) continue;
        char *text = cli_value_difference(c->options, c->outputs[1][i], c->outputs[0][i], CLI_WHOLE_MODEL, &worst);
        count_compared(c, c->other ? FIRST_OUTPUT - i : value->producer, value->name, text, worst);
    }
}

/* ---- the two runs ------------------------------------------------------------------------------------------------ */

/* True if the chain lists a provider of this name. */
static bool names_provider(const char *chain, const char *name, size_t length) {
    for (bool begins = true; *chain; begins = *chain++ == ',') {
        if (begins && !strncmp(chain, name, length) && strchr(":,", chain[length])) return true;
        if (*chain == '\\' && chain[1]) chain++;
    }
    return false;
}

/* Names of --require that apply to a chain: those that it lists, and those that neither chain lists, so that opening
 * refuses them. The caller frees. */
static char *required_of(const cli_options *options, int32_t which) {
    char *list = cli_copy_text("", 0);
    for (const char *p = options->require ? options->require : ""; *p; p += strcspn(p, ","), p += *p == ',') {
        const size_t length = strcspn(p, ",");
        if (names_provider(options->chains.items[which], p, length) ||
            !names_provider(options->chains.items[1 - which], p, length))
            cli_append(&list, "%s%.*s", *list ? "," : "", (int)length, p);
    }
    return list;
}

static const tort_model *model_of(const comparison *c, int32_t which) {
    return which && c->other ? c->other : c->model;
}

/* The inputs in the order of the other model: by name, or else by place. The caller frees the array, not the values. */
static tort_value **ordered_inputs(const comparison *c, const tort_model *model, tort_value *const *inputs) {
    tort_value **ordered = cli_alloc((size_t)c->inputs.count, sizeof *ordered);
    for (int32_t i = 0; i < c->inputs.count; i++) {
        const int32_t index = tort_model_input_index(c->model, cli_input(model, i).name);
        ordered[i] = inputs[index >= 0 ? index : i];
    }
    return ordered;
}

/* Runs once. Keeps the outputs that are not tensors; where outputs count as such, the observer gets those that are. */
static tort_status run_on(comparison *c, tort_context *context, int32_t which, tort_observer observer,
                          tort_error *error) {
    const tort_model *model = model_of(c, which);
    const int32_t count = tort_model_output_count(model);
    tort_value **outputs = c->outputs[which] = cli_alloc((size_t)count, sizeof *outputs);
    tort_value **inputs = cli_input_values(&c->inputs), **ordered = ordered_inputs(c, model, inputs);
    const tort_status status = cli_run_model(context, model, ordered, outputs, error);
    cli_values_free(inputs, c->inputs.count);
    free(ordered);
    for (int32_t i = 0; i < count; i++) {
        if (outputs[i] && c->options->against) compare_output_file(c, i, outputs[i]);
        if (!outputs[i] || !tort_value_view(outputs[i])) continue;
        if (c->other || c->options->outputs_only)
            observer(c, c->other ? FIRST_OUTPUT - i : producer_of(c->model, i), cli_output(c->model, i).name,
                     tort_value_view(outputs[i]));
        tort_value_release(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

/* Runs on one chain with an observer; the session stays open for its report. */
static tort_status run_observed(comparison *c, int32_t which, tort_observer observer, tort_error *error) {
    const char *chain = c->options->chains.items[which];
    tort_session_options session_options = cli_session_options(c->options, chain);
    char *required = required_of(c->options, which);
    session_options.unfolded = !c->options->outputs_only;
    session_options.require = required;
    if (which == 1 && c->other) /* its inputs tell; its own dimensions may have other names, or be fixed */
        session_options.shape_count = session_options.symbol_count = 0;
    tort_status status = cli_open_session(model_of(c, which), &session_options, &c->sessions[which], error);
    session_options.require = NULL;
    free(required);
    if (status) return status;
    c->opened[which] = cli_report(c->sessions[which]);
    tort_context *context = NULL;
    status = tort_context_create(c->sessions[which], &context, error);
    if (!status && which == 0)
        status = cli_settle_sizes(c->options, c->model, &session_options, context, &c->inputs, error);
    if (!status && which == 0) cli_inputs_tell(&c->inputs);
    if (!status) {
        cli_progress("running on %s", chain);
        if (!c->options->outputs_only) tort_context_observe(context, observer, c);
        status = run_on(c, context, which, observer, error);
        cli_progress_end();
        if (status) cli_inputs_explain(&c->inputs, c->model, error);
    }
    tort_context_free(context);
    return status;
}

/* True if both chains list the same providers in the same order: then the user compares a provider with itself on
 * purpose. */
static bool same_chains(const tort_report *a, const tort_report *b) {
    bool same = a->provider_count == b->provider_count;
    for (int32_t i = 0; same && i < a->provider_count; i++)
        same = !strcmp(a->providers[i]->name, b->providers[i]->name);
    return same;
}

static bool same_placement(const tort_report *a, const tort_report *b) {
    bool same = a->node_count == b->node_count;
    for (int32_t i = 0; same && i < a->node_count; i++)
        same = cli_same_text(a->nodes[i]->provider, b->nodes[i]->provider);
    return same;
}

/* Opens the second model, which must have as many inputs and outputs. */
static tort_status open_other(comparison *c, cli_options *options, tort_error *error) {
    const tort_status status = cli_open_model(options, options->operands[1], &c->other, error);
    if (status) return status;
    const int32_t a[] = {tort_model_input_count(c->model), tort_model_output_count(c->model)},
                  b[] = {tort_model_input_count(c->other), tort_model_output_count(c->other)};
    if (a[0] == b[0] && a[1] == b[1]) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "the first model has %d inputs and %d outputs, the second %d and %d",
                     (int)a[0], (int)a[1], (int)b[0], (int)b[1]);
}

/* One run, compared with files. */
static tort_status run_against(comparison *c, tort_error *error) {
    tort_status status = cli_against_open(c->options->against, &c->against, error);
    if (!status) status = run_observed(c, 0, compare_with_file, error);
    if (!status && c->unread) *error = c->error;
    if (status || c->unread) return status ? status : c->unread;
    char *left = cli_against_left(&c->against);
    if (!c->compared)
        status =
            tort_fail(error, TORT_E_INPUT,
                      "--against: no value of the model has a file in '%s', where there is %s; 'run --dump all=DIR' "
                      "shows the names, 'run --save' writes output_0.npy",
                      c->options->against, left);
    else if (left)
        cli_print_colour(stderr, CLI_YELLOW, "not compared, as no value has this name: %s\n", left);
    free(left);
    return status;
}

static tort_status work(comparison *c, cli_options *options, tort_error *error) {
    tort_status status = cli_check_environment(error);
    options->random = options->random || options->inputs.count == 0;
    if (!status) status = cli_open_model(options, options->operands[0], &c->model, error);
    if (!status && options->operand_count > 1) status = open_other(c, options, error);
    if (!status) status = cli_check_names(options, c->model, error);
    if (!status) status = cli_inputs_read(options, c->model, &c->inputs, error);
    if (options->against) return status ? status : run_against(c, error);
    if (!status) status = run_observed(c, 0, keep, error);
    if (!status) status = run_observed(c, 1, compare_value, error);
    if (!status) compare_outputs(c);
    finish_comparing(c, !status);
    return status;
}

/* Decides whether the findings are a failure. */
static tort_status judge(const comparison *c, bool chains_alike, tort_error *error) {
    const int32_t different = c->different + c->missing;
    if (different)
        return tort_fail(error, TORT_E_RUN, "%d value%s differ%s", different, different == 1 ? "" : "s",
                         different == 1 ? "s" : "");
    if (c->outputs_nan)
        return tort_fail(error, TORT_E_RUN, "%d output%s without a number in both runs: NaN everywhere", c->outputs_nan,
                         c->outputs_nan == 1 ? " is" : "s are");
    if (c->same_placement && !chains_alike && !c->other)
        return tort_fail(error, TORT_E_PLACEMENT,
                         "--ep %s and --ep %s came to the same placement: this compared a provider with itself",
                         c->options->chains.items[0], c->options->chains.items[1]);
    return TORT_OK;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* The report's node of this index, or the segment that contains it; NULL if there is none. */
static const tort_report_node *node_at(const comparison *c, const tort_report *report, int32_t index) {
    const int32_t place = cli_place_of(report, index);
    const tort_report_node *found = place >= 0 ? report->nodes[place] : NULL;
    if (found || index < 0) return found;
    char *path = cli_node_path(c->model, index);
    for (int32_t i = 0; i < report->node_count; i++)
        for (int32_t k = 0; k < report->nodes[i]->from_count; k++)
            if (!strcmp(report->nodes[i]->from[k], path)) found = report->nodes[i];
    free(path);
    return found;
}

/* A side of the comparison: a chain, a model or a folder. `which` 1 is held against 0. */
static const char *side(const comparison *c, int32_t which) {
    const cli_options *options = c->options;
    if (options->against) return which ? options->chains.items[0] : options->against;
    return c->other ? options->operands[which] : options->chains.items[which];
}

static void fill_json(const comparison *c, const tort_report *report, cJSON *root) {
    cli_json_text(root, "a", side(c, 0));
    cli_json_text(root, "b", side(c, 1));
    cJSON_AddBoolToObject(root, "same_placement", c->same_placement);
    cli_json_number(root, "compared", c->compared);
    cli_json_number(root, "different", c->different);
    cli_json_number(root, "missing", c->missing);
    cli_json_number(root, "outputs_different", c->outputs_different);
    cli_json_number(root, "outputs_nan", c->outputs_nan);
    cJSON_AddNumberToObject(root, "largest_difference", c->worst);
    const tort_report_node *node = node_at(c, report, c->first.node);
    if (!node) {
        cJSON_AddNullToObject(root, "first");
        return;
    }
    cJSON *first = cJSON_AddObjectToObject(root, "first");
    cli_json_number(first, "index", node->index);
    cli_json_text(first, "path", node->path);
    cli_json_text(first, "op", node->op);
    cli_json_text(first, "kernel", node->kernel);
    cli_json_text(first, "value", c->first.value);
    cli_json_text(first, "difference", c->first.text);
}

static void print_missing(const comparison *c) {
    if (!c->missing) return;
    cli_print(stdout, "%d value%s made by one of the runs alone:", c->missing, c->missing == 1 ? " was" : "s were");
    for (int32_t i = 0; i < c->missing && i < MAX_MISSING; i++)
        cli_print(stdout, "%s '%s'", i ? "," : "", c->missing_names[i]);
    cli_print(stdout, "%s\n", c->missing > MAX_MISSING ? " ..." : "");
}

static void print_text(const comparison *c, const tort_report *report) {
    const char *a = side(c, 0), *b = side(c, 1);
    if (c->same_placement && !c->other) {
        char *counts = cli_counts_text(report);
        cli_print_line(stdout, "both chains placed every node alike (%s): no two devices are compared", counts);
        free(counts);
    }
    cli_print_line(stdout, "%d value%s compared, %s against %s; the largest difference is %g", c->compared,
                   c->compared == 1 ? "" : "s", b, a, c->worst);
    print_missing(c);
    const tort_report_node *node = node_at(c, report, c->first.node);
    if (!node) {
        if (!c->missing) cli_print(stdout, c->options->outputs_only ? "no output differs\n" : "no node differs\n");
        return;
    }
    cli_print_line(stdout, "%d differ; the first is node #%d %s (%s-%d, %s %s):", c->different, node->index, node->path,
                   node->op, node->since, node->provider ? node->provider : "?", node->kernel);
    cli_print_line(stdout, "  '%s' on %s: %s on %s", c->first.value, b, c->first.text, a);
    int32_t outputs = tort_model_output_count(c->model);
    cli_print(stdout, "of the model's %d output%s, %d differ%s\n", outputs, outputs == 1 ? "" : "s",
              c->outputs_different, c->outputs_different == 1 ? "s" : "");
}

/* Reports a finished comparison. */
static void tell(comparison *c, cJSON *json, tort_error *error) {
    tort_report *a = cli_report(c->sessions[0]), *b = cli_report(c->sessions[c->sessions[1] ? 1 : 0]);
    const tort_report *told = c->other ? a : b; /* nodes are those of the first model */
    c->same_placement = c->sessions[1] && same_placement(a, b);
    judge(c, same_chains(a, b), error);
    if (json)
        fill_json(c, told, json);
    else
        print_text(c, told);
    tort_report_free(a);
    tort_report_free(b);
}

/* Two models run on one chain, if only one is given; without any, on cpu. */
static void complete_chains(cli_options *options) {
    cli_texts *chains = &options->chains;
    if (chains->count == 2) return;
    const char *chain = chains->items[0] ? chains->items[0] : "cpu";
    chains->items = cli_realloc(chains->items, 2, sizeof *chains->items);
    chains->items[0] = chains->items[1] = chain;
    chains->count = 2;
}

int cli_compare(cli_options *options) {
    comparison *c = cli_alloc(1, sizeof *c);
    c->options = options;
    complete_chains(options);
    c->first.node = -1;
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    if (!work(c, options, &error)) tell(c, json, &error);
    int result =
        cli_end(options, &(cli_ending){.error = &error, .sessions = c->sessions, .session_count = 2, .json = json});
    for (int i = 0; i < 2; i++)
        if (c->outputs[i]) cli_values_free(c->outputs[i], tort_model_output_count(c->model));
    for (int i = 0; i < 2; i++) tort_report_free(c->opened[i]);
    for (int i = 0; i < 2; i++) tort_session_free(c->sessions[i]);
    for (int i = 0; i < MAX_MISSING; i++) free(c->missing_names[i]);
    free(c->first.value);
    free(c->first.text);
    cli_against_free(&c->against);
    cli_inputs_free(&c->inputs);
    tort_model_free(c->other);
    tort_model_free(c->model);
    free(c);
    return result;
}
