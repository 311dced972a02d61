/* test.c - `tinyort test`: runs ONNX test directories, DIR/model.onnx with DIR/test_data_set_N/input_K.pb, output_K.pb.
 *
 * A case passes if every output of every data set is equal (equality.h), within the tolerance of a single node, or of a
 * whole model if it has several. A case is skipped, with a code as reason, if a provider refuses a node or this build
 * cannot hold a value. Everything else is a failure; so is a run in which nothing passed. Each line is printed when its
 * case ends, so that a crash belongs to the case after the last line. With --json each case is a document on a line of
 * its own, and the last line is the sum. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/files/data_set.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/equality.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/values.h"
#include "runtime/core/graph/graph.h"

typedef enum outcome { PASS, FAIL, SKIP } outcome;

static const char *const outcome_names[] = {"PASS", "FAIL", "SKIP"};

/* Result of a case. */
typedef struct verdict {
    outcome outcome;
    const char *code; /* static; of a skip: NO_OP ... */
    char *reason;
    tort_error error; /* of a failure */
} verdict;

typedef struct test {
    const cli_options *options;
    const char *folder;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} test;

static verdict pass(void) {
    return (verdict){.outcome = PASS, .code = ""};
}

/* A failure, which takes ownership of the reason. */
static verdict fail_with(char *reason, tort_status code) {
    verdict v = {.outcome = FAIL, .code = "", .reason = reason};
    tort_fail(&v.error, code, "%s", reason);
    return v;
}

static verdict skip_with(const char *code, char *reason) {
    return (verdict){.outcome = SKIP, .code = code, .reason = reason};
}

static verdict from_error(const char *where, const tort_error *error) {
    if (error->code == TORT_E_UNSUPPORTED) return skip_with("UNSUPPORTED", cli_format("%s", error->msg));
    verdict v = {.outcome = FAIL, .code = "", .reason = cli_format("%s: %s", where, error->msg), .error = *error};
    return v;
}

/* ---- values of a data set ---------------------------------------------------------------------------------------- */

/* Reads SET/WHAT_0.pb ... WHAT_count-1.pb as values of the ports' kinds; a missing file leaves NULL. */
static tort_status read_values(const char *set, const char *what, tort_port (*port)(const tort_model *, int32_t),
                               const tort_model *model, int32_t count, tort_value **values, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) {
        char *path = cli_format("%s/%s_%d.pb", set, what, i);
        tort_value_type type = port(model, i).value_type;
        struct stat facts;
        if (tort_type_kind(type) == TORT_TENSOR) type = tort_tensor_type(TORT_UNDEFINED); /* the run reports it */
        if (stat(path, &facts) == 0) status = tort_value_file_read(NULL, path, type, &values[i], error);
        free(path);
    }
    return status;
}

/* Default tolerance for rounding in a single node, or in a model of several. */
static cli_tolerance usual_tolerance(const tort_model *model) {
    int32_t nodes = 0;
    for (int32_t g = 0; g < model->graph_count; g++) nodes += model->graphs[g].node_count;
    return nodes > 1 ? CLI_WHOLE_MODEL : CLI_ONE_NODE;
}

static verdict compare_outputs(const test *t, tort_value *const *found, tort_value *const *expected, int32_t count) {
    int32_t compared = 0;
    for (int32_t i = 0; i < count; i++) {
        double worst;
        if (!expected[i]) continue;
        compared++;
        char *text = cli_value_difference(t->options, found[i], expected[i], usual_tolerance(t->model), &worst);
        if (!text) continue;
        verdict v = fail_with(cli_format("output %d ('%s'): %s", i, cli_output(t->model, i).name, text), TORT_E_RUN);
        free(text);
        return v;
    }
    if (compared) return pass();
    return fail_with(cli_format("the data set has no output to compare with"), TORT_E_INPUT);
}

static verdict run_set(test *t, const char *set) {
    int32_t in_count = tort_model_input_count(t->model), out_count = tort_model_output_count(t->model);
    tort_value **inputs = cli_alloc((size_t)in_count, sizeof *inputs);
    tort_value **expected = cli_alloc((size_t)out_count, sizeof *expected);
    tort_value **outputs = cli_alloc((size_t)out_count, sizeof *outputs);
    tort_error error = {0};
    verdict v;
    tort_status status = read_values(set, "input", cli_input, t->model, in_count, inputs, &error);
    if (!status) status = cli_data_set_check(set, "input", in_count, &error);
    if (!status) status = cli_data_set_check(set, "output", out_count, &error);
    if (!status) status = read_values(set, "output", cli_output, t->model, out_count, expected, &error);
    if (status)
        v = from_error("reading data", &error);
    else if (cli_run_model(t->context, t->model, inputs, outputs, &error))
        v = from_error("running", &error);
    else
        v = compare_outputs(t, outputs, expected, out_count);
    cli_values_free(inputs, in_count);
    cli_values_free(expected, out_count);
    cli_values_free(outputs, out_count);
    return v;
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

/* A node that no provider takes is a skip; a placement that --strict refuses is a failure. */
static verdict from_placement(tort_session *session, const tort_error *error) {
    tort_report *report = cli_report(session);
    verdict v = from_error("placing", error);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (node->provider || !node->verdict_count) continue;
        const tort_report_verdict *said = node->verdicts[node->verdict_count - 1];
        free(v.reason);
        v = skip_with(tort_verdict_name(said->code),
                      cli_format("%s (%s-%d) %s", node->path, node->op, node->since, said->message));
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
    return sets ? pass() : fail_with(cli_format("there is no test_data_set_0"), TORT_E_IO);
}

/* True if the folder contains folders with a model.onnx: the user gave the parent of the cases. */
static bool holds_cases(const char *folder) {
    DIR *dir = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        char *path = cli_format("%s/%s/model.onnx", folder, entry->d_name);
        struct stat facts;
        found = *entry->d_name != '.' && stat(path, &facts) == 0;
        free(path);
    }
    if (dir) closedir(dir);
    return found;
}

static verdict no_model(const char *folder) {
    return fail_with(holds_cases(folder) ? cli_format("has no model.onnx; its folders do: give them as %s/*", folder)
                                         : cli_format("has no model.onnx"),
                     TORT_E_IO);
}

static verdict run_model(test *t) {
    tort_error error = {0};
    struct stat facts;
    char *path = cli_format("%s/model.onnx", t->folder);
    if (stat(path, &facts) != 0) {
        free(path);
        return no_model(t->folder);
    }
    tort_status status = tort_model_load(NULL, path, &t->options->load, &t->model, &error);
    free(path);
    if (status) return from_error("loading", &error);
    tort_session_options session_options = cli_session_options(t->options, t->options->chains.items[0]);
    status = tort_session_create(NULL, t->model, &session_options, &t->session, &error);
    if (status == TORT_E_PLACEMENT && t->session) return from_placement(t->session, &error);
    if (status) return from_error("planning", &error);
    status = tort_context_create(t->session, &t->context, &error);
    return status ? from_error("planning", &error) : run_sets(t);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Provider of each node and, if it is not the first one, why: [["Conv", "cpu", "NO_TYPE", "its type is ..."] ...]. */
static cJSON *nodes_json(const tort_report *report) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; report && i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        bool away = node->provider && strcmp(node->provider, report->providers[0]->name) && node->verdict_count;
        const char *words[] = {node->op, node->provider ? node->provider : "nowhere",
                               away ? tort_verdict_name(node->verdicts[0]->code) : "",
                               away ? node->verdicts[0]->message : ""};
        cJSON_AddItemToArray(list, cJSON_CreateStringArray(words, 4));
    }
    return list;
}

static void print_case_json(const char *folder, const verdict *v, const tort_report *report) {
    cJSON *item = cli_json_new("test");
    cli_json_text(item, "case", folder);
    cli_json_text(item, "outcome", outcome_names[v->outcome]);
    cli_json_text(item, "code", v->code);
    cli_json_text(item, "reason", v->reason ? v->reason : "");
    cJSON_AddItemToObject(item, "nodes", nodes_json(report));
    if (report) cli_json_placement(item, report);
    if (v->outcome == FAIL) cli_json_error(item, &v->error, cli_exit_status(v->error.code), report);
    cli_json_print(item, true);
}

static void print_case(const char *folder, const verdict *v, const tort_report *report) {
    static const cli_colour colours[] = {CLI_GREEN, CLI_RED, CLI_YELLOW};
    cli_print_colour(stdout, colours[v->outcome], "%s", outcome_names[v->outcome]);
    cli_print(stdout, " %s", folder);
    if (v->outcome != SKIP && report) {
        char *counts = cli_counts_text(report);
        cli_print(stdout, "  (%s)", counts);
        free(counts);
    }
    if (v->outcome == SKIP) cli_print(stdout, ": %s %s", v->code, v->reason);
    if (v->outcome == FAIL) cli_print(stdout, ": %s", v->reason);
    cli_print(stdout, "\n");
}

/* ---- the sum ----------------------------------------------------------------------------------------------------- */

/* Sum over all cases: outcomes, and the placements as one report that lists no nodes. */
typedef struct sum {
    int32_t counts[3], refused; /* failures by --strict */
    tort_report placement;
    tort_report_provider **providers;
} sum;

static const char *owned(const char *text) {
    return cli_copy_text(text, strlen(text));
}

/* Copies a provider with a node count of 0; the original and its strings go with their session. */
static tort_report_provider *owned_provider(const tort_report_provider *provider) {
    tort_report_provider *copy = cli_alloc(1, sizeof *copy);
    *copy = *provider;
    copy->nodes = 0;
    copy->name = owned(provider->name);
    copy->code = owned(provider->code);
    copy->description = owned(provider->description);
    copy->message = owned(provider->message);
    copy->cure = owned(provider->cure);
    return copy;
}

static void add_placement(sum *s, const tort_report *report) {
    if (!s->providers) {
        s->providers = cli_alloc((size_t)report->provider_count, sizeof *s->providers);
        for (int32_t i = 0; i < report->provider_count; i++) s->providers[i] = owned_provider(report->providers[i]);
        s->placement.providers = (const tort_report_provider *const *)s->providers;
        s->placement.provider_count = report->provider_count;
    }
    for (int32_t i = 0; i < report->provider_count; i++) s->providers[i]->nodes += report->providers[i]->nodes;
    s->placement.host += report->host;
    s->placement.folded += report->folded;
    s->placement.fused += report->fused;
    s->placement.unplaced += report->unplaced;
    s->placement.fallen_back += report->fallen_back;
}

static void sum_free(sum *s) {
    for (int32_t i = 0; i < s->placement.provider_count; i++) {
        tort_report_provider *provider = s->providers[i];
        const char *texts[] = {provider->name, provider->code, provider->description, provider->message,
                               provider->cure};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free((char *)(uintptr_t)texts[k]);
        free(provider);
    }
    free(s->providers);
}

static void run_case(const cli_options *options, const char *folder, sum *s) {
    test t = {.options = options, .folder = folder};
    verdict v = run_model(&t);
    tort_report *report = t.session ? cli_report(t.session) : NULL;
    cli_progress_end();
    if (options->json)
        print_case_json(folder, &v, report);
    else
        print_case(folder, &v, report);
    fflush(stdout);
    s->counts[v.outcome]++;
    s->refused += v.outcome == FAIL && v.error.code == TORT_E_PLACEMENT;
    if (report) add_placement(s, report);
    tort_report_free(report);
    tort_context_free(t.context);
    tort_session_free(t.session);
    tort_model_free(t.model);
    free(v.reason);
}

static void judge(const sum *s, int32_t cases, tort_error *error) {
    const int32_t failed = s->counts[FAIL];
    if (failed)
        tort_fail(error, s->refused == failed ? TORT_E_PLACEMENT : TORT_E_RUN, "%d of %d case%s failed", failed, cases,
                  cases == 1 ? "" : "s");
    else if (!s->counts[PASS])
        tort_fail(error, TORT_E_RUN, "no case passed: %s skipped", cases == 1 ? "the only one was" : "all were");
}

/* Checks before the first case runs that each operand is a folder. */
static tort_status check_folders(const cli_options *options, tort_error *error) {
    for (int32_t i = 0; i < options->operand_count; i++) {
        struct stat facts;
        if (stat(options->operands[i], &facts) != 0)
            return tort_fail(error, TORT_E_USAGE, "%s: there is no such folder", options->operands[i]);
        if (!S_ISDIR(facts.st_mode))
            return tort_fail(error, TORT_E_USAGE,
                             "%s is a file: a case is a folder with model.onnx and test_data_set_0 ('tinyort run' "
                             "runs a model)",
                             options->operands[i]);
    }
    return TORT_OK;
}

int cli_test(cli_options *options) {
    sum s = {0};
    tort_error error = {0};
    tort_status status = cli_check_environment(&error);
    options->json_lines = true;
    if (!status) status = cli_check_names(options, NULL, &error);
    if (!status) status = check_folders(options, &error);
    if (!status && options->require) status = cli_check_required(options, &error);
    for (int32_t i = 0; !status && i < options->operand_count; i++) {
        if (options->operand_count > 20 && !options->json) cli_progress("%d of %d", i + 1, options->operand_count);
        run_case(options, options->operands[i], &s);
    }
    cJSON *json = cli_json_of(options);
    if (!status) judge(&s, options->operand_count, &error);
    if (json) {
        cli_json_number(json, "passed", s.counts[PASS]);
        cli_json_number(json, "failed", s.counts[FAIL]);
        cli_json_number(json, "skipped", s.counts[SKIP]);
    } else if (!status) {
        char *ran = s.providers ? cli_counts_text(&s.placement) : NULL;
        cli_print(stdout, "%d passed, %d failed, %d skipped%s%s\n", s.counts[PASS], s.counts[FAIL], s.counts[SKIP],
                  ran ? "; nodes: " : "", ran ? ran : "");
        free(ran);
    }
    int result =
        cli_end(options, &(cli_ending){.error = &error, .total = s.providers ? &s.placement : NULL, .json = json});
    sum_free(&s);
    return result;
}
