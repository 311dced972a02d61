/* ratio.c - what fusion pays: a session with it and one without run the same inputs in turns, so that whatever else the
 * machine does meets both. Prints the ratio of each pair of runs (its median and quartiles), and the time that nine in
 * ten runs take longer than. Below 1: fusion pays.
 *
 * Usage: ratio MODEL SIZE SECONDS [CHAIN [OFF OTHER_OFF]]; SIZE is that of open dimensions but the first, which is 1;
 * CHAIN is cpu:threads=1; OFF and OTHER_OFF are lists of fusions that are off, "" and "*". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/tinyort.h"
#include "tests/clock.h"

enum { MAX_PORTS = 64, MAX_PAIRS = 100000, WARMUP = 3 };

typedef struct race {
    tort_session *sessions[2];
    tort_context *contexts[2];
    tort_tensor inputs[MAX_PORTS];
    int32_t input_count, output_count;
    double *times[2], *ratios; /* MAX_PAIRS each, milliseconds */
    int32_t pairs;
} race;

static void check(tort_status status, const tort_error *error) {
    if (!status) return;
    fprintf(stderr, "ratio: %s\n", error->msg);
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (block) return block;
    fprintf(stderr, "ratio: out of memory\n");
    exit(1);
}

/* Floats from 0 to 1; anything else is 0, which is in range wherever it is an index. */
static void make_input(tort_tensor *tensor, const tort_port *port, int64_t size) {
    size_t bytes;
    *tensor = (tort_tensor){.type = port->type, .rank = port->rank < 0 ? 0 : port->rank};
    for (int32_t d = 0; d < tensor->rank; d++) tensor->dims[d] = port->dims[d] >= 0 ? port->dims[d] : d == 0 ? 1 : size;
    if (!tort_tensor_bytes(tensor, &bytes)) bytes = 0;
    tensor->data = allocate(bytes, 1);
    float *values = tensor->data;
    for (size_t i = 0; tensor->type == TORT_FLOAT && i < bytes / sizeof *values; i++)
        values[i] = (float)(rand() % 1000) / 1000;
}

static void open_race(race *r, const tort_model *model, int64_t size, const char *chain, const char *const off[2]) {
    tort_error error;
    r->input_count = tort_model_input_count(model);
    r->output_count = tort_model_output_count(model);
    if (r->input_count > MAX_PORTS || r->output_count > MAX_PORTS) {
        fprintf(stderr, "ratio: more than %d inputs or outputs\n", MAX_PORTS);
        exit(1);
    }
    for (int32_t i = 0; i < r->input_count; i++) {
        tort_port port = {.struct_size = sizeof port};
        check(tort_model_input(model, i, &port, &error), &error);
        make_input(&r->inputs[i], &port, size);
    }
    for (int side = 0; side < 2; side++) {
        const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .fusions_off = off[side]};
        check(tort_session_create(NULL, model, &options, &r->sessions[side], &error), &error);
        check(tort_context_create(r->sessions[side], &r->contexts[side], &error), &error);
        r->times[side] = allocate(MAX_PAIRS, sizeof(double));
    }
    r->ratios = allocate(MAX_PAIRS, sizeof(double));
}

static void close_race(race *r) {
    for (int side = 0; side < 2; side++) {
        tort_context_free(r->contexts[side]);
        tort_session_free(r->sessions[side]);
        free(r->times[side]);
    }
    for (int32_t i = 0; i < r->input_count; i++) free(r->inputs[i].data);
    free(r->ratios);
}

static double run(race *r, int side) {
    tort_tensor outputs[MAX_PORTS] = {{0}};
    tort_error error;
    const double begin = clock_milliseconds();
    check(tort_context_run(r->contexts[side], r->inputs, r->input_count, outputs, r->output_count, &error), &error);
    return clock_milliseconds() - begin;
}

/* Who goes first changes from pair to pair. */
static void measure(race *r, double seconds) {
    for (int i = 0; i < 2 * WARMUP; i++) (void)run(r, i % 2);
    const double end = clock_milliseconds() + 1e3 * seconds;
    for (r->pairs = 0; r->pairs < MAX_PAIRS && (r->pairs == 0 || clock_milliseconds() < end); r->pairs++) {
        const int first = r->pairs & 1;
        r->times[first][r->pairs] = run(r, first);
        r->times[!first][r->pairs] = run(r, !first);
        r->ratios[r->pairs] = r->times[0][r->pairs] / r->times[1][r->pairs];
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(race *r, const char *path) {
    const char *slash = strrchr(path, '/');
    const size_t n = (size_t)r->pairs;
    qsort(r->ratios, n, sizeof(double), compare);
    for (int side = 0; side < 2; side++) qsort(r->times[side], n, sizeof(double), compare);
    printf("%-28s ratio %.3f (%.3f..%.3f) of %5zu pairs; fast runs %9.3f and %9.3f ms, ratio %.3f\n",
           slash ? slash + 1 : path, r->ratios[n / 2], r->ratios[n / 4], r->ratios[3 * n / 4], n, r->times[0][n / 10],
           r->times[1][n / 10], r->times[0][n / 10] / r->times[1][n / 10]);
}

int main(int argc, char **argv) {
    tort_model *model;
    tort_error error;
    race r = {.pairs = 0};
    if (argc < 4 || argc > 7 || argc == 6) {
        fprintf(stderr, "usage: ratio MODEL SIZE SECONDS [CHAIN [OFF OTHER_OFF]]\n");
        return 2;
    }
    const char *const off[2] = {argc == 7 ? argv[5] : "", argc == 7 ? argv[6] : "*"};
    check(tort_model_load(NULL, argv[1], NULL, &model, &error), &error);
    open_race(&r, model, atoll(argv[2]), argc > 4 ? argv[4] : "cpu:threads=1", off);
    measure(&r, atof(argv[3]));
    print(&r, argv[1]);
    close_race(&r);
    tort_model_free(model);
    return 0;
}
