/* test.c - `tinyort test`: runs ONNX test directories, DIR/model.onnx with DIR/test_data_set_N/input_K.pb, output_K.pb.
 *
 * A case passes if every output of every data set is equal (see cli_tensors_equal). It is skipped, and the reason is
 * named by its code, if a provider refuses a node or this build cannot hold a value. Everything else is a failure.
 * Lines come out as cases end, so that a crash belongs to the case after the last line. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "loader/tensor_file.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/outputs.h"
#include "runtime/cli/table.h"
#include "runtime/graph.h"
#include "runtime/memory.h"

typedef enum outcome { PASS, FAIL, SKIP } outcome;

static const char *const outcome_names[] = {"PASS", "FAIL", "SKIP"};

typedef struct verdict {
    outcome outcome;
    char code[32]; /* of a skip: NO_OP ... */
    char reason[800];
} verdict;

typedef struct test {
    const cli_options *options;
    const char *folder;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} test;

static verdict pass(void) {
    return (verdict){.outcome = PASS};
}

static verdict fail(const char *where, const char *text) {
    verdict v = {.outcome = FAIL};
    snprintf(v.reason, sizeof v.reason, "%s%s%s", where, *where ? ": " : "", text);
    return v;
}

static verdict skip(const char *code, const char *text) {
    verdict v = {.outcome = SKIP};
    snprintf(v.code, sizeof v.code, "%s", code);
    snprintf(v.reason, sizeof v.reason, "%s", text);
    return v;
}

static verdict from_error(const char *where, const tort_error *error) {
    if (error->code == TORT_E_UNSUPPORTED) return skip("UNSUPPORTED", error->msg);
    return fail(where, error->msg);
}

/* ---- tensors of a data set ------------------------------------------------------------------------------------- */

static void free_tensors(tort_tensor *tensors, int32_t count) {
    tort_env env = tort_env_complete(NULL);
    for (int32_t i = 0; i < count; i++) tort_tensor_file_free(&env, &tensors[i]);
    free(tensors);
}

/* SET/WHAT_0.pb ... WHAT_count-1.pb; an absent one leaves type TORT_UNDEFINED. */
static tort_status read_tensors(const char *set, const char *what, int32_t count, tort_tensor *tensors,
                                tort_error *error) {
    tort_env env = tort_env_complete(NULL);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) {
        char *path = cli_format("%s/%s_%d.pb", set, what, i);
        struct stat facts;
        if (stat(path, &facts) == 0) status = tort_tensor_file_read(&env, path, &tensors[i], error);
        free(path);
    }
    return status;
}

static verdict compare_outputs(const test *t, const tort_tensor *found, const tort_tensor *expected, int32_t count) {
    int32_t compared = 0;
    for (int32_t i = 0; i < count; i++) {
        if (expected[i].type == TORT_UNDEFINED) continue;
        compared++;
        cli_tolerance tolerance = cli_tolerance_of(t->options, expected[i].type, (cli_tolerance){1e-4, 1e-5});
        if (t->options->shapes_only && cli_same_form(&found[i], &expected[i])) continue;
        char text[500], where[100];
        double worst;
        if (cli_tensors_equal(&found[i], &expected[i], tolerance, &worst, text, sizeof text)) continue;
        snprintf(where, sizeof where, "output %d ('%.60s')", i, tort_model_output(t->model, i).name);
        return fail(where, text);
    }
    return compared ? pass() : fail("", "the data set has no output to compare with");
}

static verdict run_set(test *t, const char *set) {
    int32_t in_count = tort_model_input_count(t->model), out_count = tort_model_output_count(t->model);
    tort_tensor *inputs = cli_alloc((size_t)in_count, sizeof *inputs);
    tort_tensor *expected = cli_alloc((size_t)out_count, sizeof *expected);
    tort_tensor *outputs = cli_alloc((size_t)out_count, sizeof *outputs);
    tort_error error = {0};
    verdict v;
    tort_status status = read_tensors(set, "input", in_count, inputs, &error);
    if (!status) status = read_tensors(set, "output", out_count, expected, &error);
    if (status)
        v = from_error("reading data", &error);
    else if (tort_context_run(t->context, inputs, in_count, outputs, out_count, &error))
        v = from_error("running", &error);
    else
        v = compare_outputs(t, outputs, expected, out_count);
    free_tensors(inputs, in_count);
    free_tensors(expected, out_count);
    free(outputs);
    return v;
}

/* ---- a case ---------------------------------------------------------------------------------------------------- */

/* A value that is no tensor has no public form to pass it in. */
static bool only_tensors(const tort_model *model, const char **name) {
    const tort_graph *graph = &model->graphs[0];
    for (int pass_number = 0; pass_number < 2; pass_number++) {
        const int32_t *ports = pass_number ? graph->outputs : graph->inputs;
        int32_t count = pass_number ? graph->output_count : graph->input_count;
        for (int32_t i = 0; i < count; i++) {
            *name = graph->values[ports[i]].name;
            if (graph->values[ports[i]].info.kind != TORT_TENSOR) return false;
        }
    }
    return true;
}

static verdict from_placement(tort_session *session, const tort_error *error) {
    tort_report *report = cli_report(session);
    verdict v = fail("placing", error->msg);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = &report->nodes[i];
        if (node->provider || !node->verdict_count) continue;
        const tort_report_verdict *said = &node->verdicts[node->verdict_count - 1];
        char text[600];
        snprintf(text, sizeof text, "%s (%s-%d) %s", node->path, node->op, node->since, said->message);
        v = skip(tort_verdict_name(said->code), text);
        break;
    }
    tort_report_free(report);
    return v;
}

static verdict run_sets(test *t) {
    int32_t sets = 0;
    for (;; sets++) {
        char *set = cli_format("%s/test_data_set_%d", t->folder, sets);
        struct stat facts;
        bool there = stat(set, &facts) == 0;
        verdict v = there ? run_set(t, set) : pass();
        free(set);
        if (v.outcome != PASS) return v;
        if (!there) break;
    }
    return sets ? pass() : fail("", "there is no test_data_set_0");
}

static verdict run_model(test *t) {
    tort_error error = {0};
    char *path = cli_format("%s/model.onnx", t->folder);
    tort_status status = tort_model_load(NULL, path, &t->options->load, &t->model, &error);
    free(path);
    if (status) return from_error("loading", &error);
    const char *name;
    if (!only_tensors(t->model, &name)) {
        char text[200];
        snprintf(text, sizeof text, "'%.100s' is not a tensor", name);
        return skip("NO_KIND", text);
    }
    tort_session_options session_options = cli_session_options(t->options, t->options->chains[0]);
    status = tort_session_create(NULL, t->model, &session_options, &t->session, &error);
    if (status == TORT_E_PLACEMENT && t->session) return from_placement(t->session, &error);
    if (status) return from_error("planning", &error);
    status = tort_context_create(t->session, &t->context, &error);
    return status ? from_error("planning", &error) : run_sets(t);
}

/* Where each node ran and, away from the first provider, why: [["Conv", "cpu", "NO_TYPE", "its type is ..."] ...]. */
static cJSON *placement_json(tort_session *session) {
    tort_report *report = cli_report(session);
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = &report->nodes[i];
        bool fell_back = node->provider && strcmp(node->provider, report->providers[0].name) && node->verdict_count;
        cJSON *item = cJSON_CreateArray();
        cJSON_AddItemToArray(item, cJSON_CreateString(node->op));
        cJSON_AddItemToArray(item, cJSON_CreateString(node->provider ? node->provider : "nowhere"));
        cJSON_AddItemToArray(item, cJSON_CreateString(fell_back ? tort_verdict_name(node->verdicts[0].code) : ""));
        cJSON_AddItemToArray(item, cJSON_CreateString(fell_back ? node->verdicts[0].message : ""));
        cJSON_AddItemToArray(list, item);
    }
    tort_report_free(report);
    return list;
}

/* The placement is the caller's; NULL where there is none or nobody asked for JSON. */
static verdict run_case(const cli_options *options, const char *folder, cJSON **placement) {
    test t = {.options = options, .folder = folder};
    verdict v = run_model(&t);
    *placement = t.session && options->json ? placement_json(t.session) : NULL;
    tort_context_free(t.context);
    tort_session_free(t.session);
    tort_model_free(t.model);
    return v;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

/* Owns the placement. */
static void print_case(const cli_options *options, const char *folder, const verdict *v, cJSON *placement) {
    static const cli_colour colours[] = {CLI_GREEN, CLI_RED, CLI_YELLOW};
    if (options->json) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "case", folder);
        cJSON_AddStringToObject(item, "outcome", outcome_names[v->outcome]);
        cJSON_AddStringToObject(item, "code", v->code);
        cJSON_AddStringToObject(item, "reason", v->reason);
        cJSON_AddItemToObject(item, "nodes", placement ? placement : cJSON_CreateArray());
        char *text = cJSON_PrintUnformatted(item);
        puts(text ? text : "{}");
        cJSON_free(text);
        cJSON_Delete(item);
    } else {
        printf("%s%s%s %s", cli_colour_begin(stdout, colours[v->outcome]), outcome_names[v->outcome],
               cli_colour_end(stdout, colours[v->outcome]), folder);
        if (v->outcome == SKIP) printf(": %s %s", v->code, v->reason);
        if (v->outcome == FAIL) printf(": %s", v->reason);
        putchar('\n');
    }
    fflush(stdout);
}

int cli_test(const cli_options *options) {
    int32_t counts[3] = {0};
    for (int32_t i = 0; i < options->operand_count; i++) {
        if (options->operand_count > 20 && !options->json) cli_progress("%d of %d", i + 1, options->operand_count);
        cJSON *placement;
        verdict v = run_case(options, options->operands[i], &placement);
        cli_progress_end();
        counts[v.outcome]++;
        print_case(options, options->operands[i], &v, placement);
    }
    if (!options->json) printf("%d passed, %d failed, %d skipped\n", counts[PASS], counts[FAIL], counts[SKIP]);
    return counts[FAIL] ? CLI_FAILED : CLI_OK;
}
