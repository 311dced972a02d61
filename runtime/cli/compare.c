/* compare.c - `tinyort compare`: runs a model on two chains, without folding or fusion, and holds every value that the
 * nodes make against each other. What matters is the first node that differs: later ones inherit its error. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/outputs.h"
#include "runtime/op.h"

/* A value of the first run, kept until the second has made it too. */
typedef struct kept {
    char *name;
    int32_t node;
    tort_tensor tensor;
    struct kept *next_in_bucket;
} kept;

enum { BUCKETS = 4096 };

typedef struct difference {
    int32_t node; /* -1: none */
    char value[200], text[500];
} difference;

typedef struct comparison {
    const cli_options *options;
    const tort_model *model;
    kept *buckets[BUCKETS];
    int32_t kept_count, compared, different, missing;
    int32_t outputs_different; /* of the model's own outputs */
    double worst;
    difference first;
} comparison;

static kept **bucket_of(comparison *c, const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &c->buckets[hash % BUCKETS];
}

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

static void keep(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    comparison *c = ud;
    kept **bucket = bucket_of(c, value), *k = cli_alloc(1, sizeof *k);
    *k = (kept){cli_copy_text(value, strlen(value)), node, copy_tensor(tensor), *bucket};
    *bucket = k;
    c->kept_count++;
}

static bool is_output(const tort_model *model, const char *value) {
    for (int32_t i = 0; i < tort_model_output_count(model); i++)
        if (!strcmp(tort_model_output(model, i).name, value)) return true;
    return false;
}

static void compare_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    comparison *c = ud;
    kept **link = bucket_of(c, value);
    while (*link && strcmp((*link)->name, value) != 0) link = &(*link)->next_in_bucket;
    kept *k = *link;
    if (!k) {
        c->missing++;
        return;
    }
    *link = k->next_in_bucket;
    cli_tolerance tolerance = cli_tolerance_of(c->options, tensor->type, (cli_tolerance){1e-3, 1e-4});
    double worst;
    char text[sizeof c->first.text];
    c->compared++;
    bool equal = cli_tensors_equal(tensor, &k->tensor, tolerance, &worst, text, sizeof text);
    if (worst > c->worst) c->worst = worst;
    if (!equal) {
        c->different++;
        c->outputs_different += is_output(c->model, value);
        if (c->first.node < 0 || node < c->first.node) {
            c->first.node = node;
            snprintf(c->first.value, sizeof c->first.value, "%s", value);
            memcpy(c->first.text, text, sizeof text);
        }
    }
    free_kept(k);
}

/* ---- the two runs ---------------------------------------------------------------------------------------------- */

/* Runs on one chain with an observer; *session stays open for its report. */
static tort_status run_observed(comparison *c, const tort_model *model, const char *chain, const cli_inputs *inputs,
                                tort_observer observer, tort_session **session, tort_error *error) {
    tort_session_options session_options = cli_session_options(c->options, chain);
    session_options.unfolded = true;
    tort_status status = cli_open_session(c->options, model, &session_options, session, error);
    if (status) return status;
    tort_context *context = NULL;
    int32_t output_count = tort_model_output_count(model);
    tort_tensor *outputs = cli_alloc((size_t)output_count, sizeof *outputs);
    status = tort_context_create(*session, &context, error);
    if (!status) {
        cli_progress("running on %s", chain);
        tort_context_observe(context, observer, c);
        status = tort_context_run(context, inputs->tensors, inputs->count, outputs, output_count, error);
        cli_progress_end();
    }
    tort_context_free(context);
    free(outputs);
    return status;
}

static const tort_report_node *node_at(const tort_report *report, int32_t index) {
    return index >= 0 && index < report->node_count ? &report->nodes[index] : NULL;
}

static void print_json(const comparison *c, const tort_report *report) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "a", c->options->chains[0]);
    cJSON_AddStringToObject(root, "b", c->options->chains[1]);
    cJSON_AddNumberToObject(root, "compared", c->compared);
    cJSON_AddNumberToObject(root, "different", c->different);
    cJSON_AddNumberToObject(root, "outputs_different", c->outputs_different);
    cJSON_AddNumberToObject(root, "largest_difference", c->worst);
    const tort_report_node *node = node_at(report, c->first.node);
    if (node) {
        cJSON *first = cJSON_AddObjectToObject(root, "first");
        cJSON_AddNumberToObject(first, "index", node->index);
        cJSON_AddStringToObject(first, "path", node->path);
        cJSON_AddStringToObject(first, "op", node->op);
        cJSON_AddStringToObject(first, "kernel", node->kernel);
        cJSON_AddStringToObject(first, "value", c->first.value);
        cJSON_AddStringToObject(first, "difference", c->first.text);
    } else
        cJSON_AddNullToObject(root, "first");
    cli_print_json(root);
}

static void print_text(const comparison *c, const tort_report *report) {
    const char *a = c->options->chains[0], *b = c->options->chains[1];
    printf("%d values compared, %s against %s; the largest difference is %g\n", c->compared, b, a, c->worst);
    const tort_report_node *node = node_at(report, c->first.node);
    if (!node) {
        printf("no node differs\n");
        return;
    }
    printf("%d differ; the first is node #%d %s (%s-%d, %s %s):\n  '%s' on %s %s on %s\n", c->different, node->index,
           node->path, node->op, node->since, node->provider ? node->provider : "?", node->kernel, c->first.value, b,
           c->first.text, a);
    int32_t outputs = tort_model_output_count(c->model);
    printf("of the model's %d output%s, %d differ%s\n", outputs, outputs == 1 ? "" : "s", c->outputs_different,
           c->outputs_different == 1 ? "s" : "");
}

int cli_compare(const cli_options *options) {
    comparison *c = cli_alloc(1, sizeof *c);
    c->options = options;
    c->first.node = -1;
    tort_model *model = NULL;
    tort_session *sessions[2] = {NULL, NULL};
    cli_inputs inputs = {0};
    tort_error error = {0};
    tort_status status = TORT_OK;
    cli_options filled = *options;
    filled.random = options->random || options->input_count == 0;
    if (options->chain_count != 2)
        status = tort_fail(&error, TORT_E_USAGE, "tell it both chains: --ep A --ep B, not %d", options->chain_count);
    if (!status) status = cli_open_model(options, options->operands[0], &model, &error);
    c->model = model;
    if (!status) status = cli_check_shapes(options, model, &error);
    if (!status) status = cli_inputs_read(&filled, model, &inputs, &error);
    if (!status) status = run_observed(c, model, options->chains[0], &inputs, keep, &sessions[0], &error);
    if (!status) status = run_observed(c, model, options->chains[1], &inputs, compare_value, &sessions[1], &error);
    int result = status ? cli_fail(options->command, &error) : c->different ? CLI_FAILED : CLI_OK;
    tort_report *report = status ? NULL : cli_report(sessions[1]);
    if (!status && options->json)
        print_json(c, report);
    else if (!status)
        print_text(c, report);
    tort_report_free(report);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        if (sessions[i]) cli_print_placement(sessions[i], stderr);
        tort_session_free(sessions[i]);
    }
    for (int i = 0; i < BUCKETS; i++)
        for (kept *k = c->buckets[i], *next; k; k = next) {
            next = k->next_in_bucket;
            free_kept(k);
        }
    cli_inputs_free(&inputs);
    tort_model_free(model);
    free(c);
    return result;
}
