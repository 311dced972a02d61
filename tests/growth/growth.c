/* growth.c - how the time of planning grows with the graph: a chain, and a fan of nodes that all read one value,
 * planned at once and again for a new shape. Prints milliseconds, the fastest of a few rounds, and what five times the
 * nodes cost in comparison: 5 is linear. For models in files it prints what a new shape costs in an old session.
 *
 * Usage: growth [NODES]; NODES (default 50000) and a fifth of them are compared.
 *        growth FILE... */
#include <stdio.h>
#include <stdlib.h>

#include "tests/build_model.h"
#include "tests/clock.h"
#include "tests/report_of.h"

enum { ROUNDS = 5 };

typedef enum graph_form { CHAIN, FAN } graph_form;

static const char *const form_names[] = {"chain", "fan"};

static void die(const char *what, const tort_error *error) {
    fprintf(stderr, "growth: %s: %s\n", what, error->msg);
    exit(1);
}

/* x of shape [n, 4]. A chain has one output; of a fan every node is one, so that all of its values live to the end. */
static tort_model *make_model(graph_form form, int32_t nodes) {
    model_builder b = build_begin(NULL);
    tort_error error = {.msg = ""};
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 4});
    int32_t value = x;
    for (int32_t i = 0; i < nodes; i++) {
        char name[32];
        snprintf(name, sizeof name, "node_%d", i);
        value = build_node(&b, i % 2 ? "Relu" : "Neg", name, (const int32_t[]){form == FAN ? x : value, -1});
        if (form == FAN) build_output(&b, value);
    }
    if (form == CHAIN) build_output(&b, value);
    tort_model *model = build_end(&b, &error);
    if (!model) die("building", &error);
    return model;
}

typedef struct measured {
    double plan, replan; /* a new session for a known shape; a new shape in an old session */
} measured;

static double time_plan(const tort_model *model) {
    const tort_symbol_size n = {"n", 2};
    const tort_session_options options = {
        .struct_size = sizeof options, .plan_only = true, .symbols = &n, .symbol_count = 1};
    tort_session *session = NULL;
    tort_error error;
    const double begin = clock_milliseconds();
    if (tort_session_create(NULL, model, &options, &session, &error)) die("planning", &error);
    const double taken = clock_milliseconds() - begin;
    tort_session_free(session);
    return taken;
}

static double time_replan(tort_session *session, int64_t size) {
    const tort_input_shape shape = {"x", 2, {size, 4}};
    tort_error error;
    const double begin = clock_milliseconds();
    if (tort_session_plan(session, &shape, 1, &error)) die("planning again", &error);
    return clock_milliseconds() - begin;
}

static measured measure(graph_form form, int32_t nodes) {
    measured best = {1e9, 1e9};
    tort_model *model = make_model(form, nodes);
    tort_session *session = NULL;
    tort_error error;
    if (tort_session_create(NULL, model, NULL, &session, &error)) die("opening", &error);
    for (int round = 0; round < ROUNDS; round++) {
        const double plan = time_plan(model), replan = time_replan(session, 3 + round);
        if (plan < best.plan) best.plan = plan;
        if (replan < best.replan) best.replan = replan;
    }
    tort_session_free(session);
    tort_model_free(model);
    return best;
}

/* ---- models in files --------------------------------------------------------------------------------------------- */

enum { MAX_INPUTS = 16, FILE_ROUNDS = 40 };

/* Shapes of all inputs where a dimension that is open has this size. */
static int32_t shapes_of(const tort_model *model, int64_t size, tort_input_shape *shapes) {
    const int32_t count = tort_model_input_count(model);
    for (int32_t i = 0; i < count && i < MAX_INPUTS; i++) {
        const tort_port port = input_of(model, i);
        shapes[i] = (tort_input_shape){.name = port.name, .rank = port.rank};
        for (int32_t d = 0; d < port.rank; d++) shapes[i].dims[d] = port.dims[d] < 0 ? size : port.dims[d];
    }
    return count;
}

/* Milliseconds of the fastest of new shapes, and of all of them on average. */
static void measure_file(const char *path) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    tort_input_shape shapes[MAX_INPUTS];
    double best = 1e9, all = 0;
    int64_t size = 1;
    if (tort_model_load(NULL, path, NULL, &model, &error)) die(path, &error);
    if (tort_model_input_count(model) > MAX_INPUTS) die(path, &(tort_error){.msg = "too many inputs"});
    if (tort_session_create(NULL, model, NULL, &session, &error)) die(path, &error);
    int taken = 0;
    for (; taken < FILE_ROUNDS && size < 10 * FILE_ROUNDS; size++) {
        const int32_t count = shapes_of(model, size, shapes);
        const double begin = clock_milliseconds();
        if (tort_session_plan(session, shapes, count, &error)) continue; /* not every size is one for this model */
        const double spent = clock_milliseconds() - begin;
        best = spent < best ? spent : best;
        all += spent;
        taken++;
    }
    if (!taken) die(path, &error);
    tort_report *report = report_of(session);
    printf("%6d  %8.3f  %8.3f  %s\n", report->node_count, best, all / taken, path);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

static int measure_files(int count, char **paths) {
    printf(" nodes   best ms   mean ms  of a new shape\n");
    for (int i = 0; i < count; i++) measure_file(paths[i]);
    return 0;
}

int main(int argc, char **argv) {
    char *end = argc > 1 ? argv[1] : NULL;
    if (end && !strtol(argv[1], &end, 10) && *end) return measure_files(argc - 1, argv + 1);
    const int32_t nodes = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 50000;
    if (nodes < 10 || nodes > 10000000) {
        fprintf(stderr, "usage: growth [NODES], 10 to 10000000\n");
        return 2;
    }
    printf("graph   nodes     plan ms  new shape ms\n");
    for (graph_form form = CHAIN; form <= FAN; form++) {
        const measured few = measure(form, nodes / 5), many = measure(form, nodes);
        printf("%-5s %7d  %10.1f  %12.1f\n", form_names[form], nodes / 5, few.plan, few.replan);
        printf("%-5s %7d  %10.1f  %12.1f\n", form_names[form], nodes, many.plan, many.replan);
        printf("%-5s   ratio  %10.2f  %12.2f\n", form_names[form], many.plan / few.plan, many.replan / few.replan);
    }
    return 0;
}
