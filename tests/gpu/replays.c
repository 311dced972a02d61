/* replays.c - holds recorded and replayed runs of a model against runs that are never recorded, bit by bit.
 *
 *   replays MODEL PROVIDER
 *
 * Two sessions on PROVIDER (cuda, or cudasim in tests), one of them with graph=off, get the same random inputs again
 * and again: the first run of the other is plain, the second is recorded, later ones are replayed. Then the sizes of
 * symbolic dimensions change and change back, and two threads, each with a context of its own, run on one session while
 * the main thread opens and closes sessions. Nothing else tells whether a graph does what its steps do: `compare` looks
 * at each step, and what is looked at is not recorded. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/tinyort.h"
#include "runtime/include/tinyort_profile.h"
#include "tests/report_of.h"

enum { MAX_TENSORS = 8, TURNS = 12, SAME_SIZE = 4, THREADS = 2, SESSIONS = 3 };

typedef struct values {
    tort_tensor tensors[MAX_TENSORS];
    int32_t count;
} values;

typedef struct tester {
    tort_model *model;
    char plain[80], recorded[80]; /* chains */
    tort_session *sessions[2];    /* plain, recorded */
    values inputs[TURNS], expected[TURNS];
    int passed, failed;
} tester;

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (memory) return memory;
    fprintf(stderr, "replays: out of memory\n");
    exit(2);
}

static void check(tester *t, bool good, const char *what, const char *detail) {
    if (!good) printf("FAILED: %s: %s\n", what, detail);
    t->passed += good;
    t->failed += !good;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Floats in [-1, 1) in steps that every type of float has; integers that are rows of any table. */
static void fill(tort_tensor *tensor, size_t bytes, uint64_t *random) {
    static const uint16_t halves[] = {0x0000, 0x3400, 0x3800, 0x3a00, 0xb400, 0xb800, 0xba00, 0xbc00};
    const size_t size = tensor->type == TORT_INT64 ? 8 : tensor->type == TORT_FLOAT16 ? 2 : 4;
    for (size_t i = 0; i < bytes / size; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t drawn = (uint32_t)(*random >> 40) % 8;
        if (tensor->type == TORT_INT64) ((int64_t *)tensor->data)[i] = drawn;
        if (tensor->type == TORT_INT32) ((int32_t *)tensor->data)[i] = (int32_t)drawn;
        if (tensor->type == TORT_FLOAT) ((float *)tensor->data)[i] = (float)drawn / 4 - 1;
        if (tensor->type == TORT_FLOAT16) ((uint16_t *)tensor->data)[i] = halves[drawn];
    }
}

/* Makes inputs for a turn; symbolic dimensions are 1, and in every other group of turns 2. */
static tort_status make_inputs(const tester *t, int turn, values *v, tort_error *error) {
    uint64_t random = (uint64_t)turn + 1;
    tort_status status = TORT_OK;
    v->count = tort_model_input_count(t->model);
    for (int32_t i = 0; !status && i < v->count && i < MAX_TENSORS; i++) {
        tort_port port = {.struct_size = sizeof port};
        tort_tensor *tensor = &v->tensors[i];
        size_t bytes = 0;
        status = tort_model_input(t->model, i, &port, error);
        *tensor = (tort_tensor){.type = port.type, .rank = port.rank};
        for (int32_t d = 0; !status && d < port.rank; d++)
            tensor->dims[d] = port.dims[d] >= 0 ? port.dims[d] : 1 + turn / SAME_SIZE % 2;
        if (!status && !tort_tensor_bytes(tensor, &bytes)) status = TORT_E_INPUT;
        tensor->data = allocate(bytes);
        fill(tensor, bytes, &random);
    }
    return status;
}

static void free_values(values *v) {
    for (int32_t i = 0; i < v->count && i < MAX_TENSORS; i++) free(v->tensors[i].data);
}

static tort_status run(const tester *t, tort_context *context, int turn, values *outputs, tort_error *error) {
    outputs->count = tort_model_output_count(t->model);
    for (int32_t i = 0; i < outputs->count && i < MAX_TENSORS; i++) outputs->tensors[i] = (tort_tensor){.data = NULL};
    return tort_context_run(context, t->inputs[turn].tensors, t->inputs[turn].count, outputs->tensors, outputs->count,
                            error);
}

/* Outputs belong to their context until its next run: these are kept. */
static void keep(values *outputs) {
    for (int32_t i = 0; i < outputs->count; i++) {
        size_t bytes = 0;
        (void)tort_tensor_bytes(&outputs->tensors[i], &bytes);
        void *copy = allocate(bytes);
        memcpy(copy, outputs->tensors[i].data, bytes);
        outputs->tensors[i].data = copy;
    }
}

static bool are_same(const values *a, const values *b) {
    for (int32_t i = 0; i < a->count; i++) {
        size_t bytes = 0, others = 0;
        (void)tort_tensor_bytes(&a->tensors[i], &bytes);
        (void)tort_tensor_bytes(&b->tensors[i], &others);
        if (bytes != others || memcmp(a->tensors[i].data, b->tensors[i].data, bytes)) return false;
    }
    return true;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static tort_status open_session(const tester *t, const char *chain, tort_session **session, tort_error *error) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    return tort_session_create(NULL, t->model, &options, session, error);
}

/* Runs all turns in a context of its own; returns how many gave other bits than expected, or -1 for a failure. */
static int run_turns(const tester *t, tort_session *session, tort_error *error) {
    tort_context *context = NULL;
    int others = 0;
    tort_status status = tort_context_create(session, &context, error);
    for (int turn = 0; !status && turn < TURNS; turn++) {
        values found;
        status = run(t, context, turn, &found, error);
        others += !status && !are_same(&found, &t->expected[turn]);
    }
    tort_context_free(context);
    return status ? -1 : others;
}

static tort_status expect(tester *t, tort_error *error) {
    tort_context *context = NULL;
    tort_status status = tort_context_create(t->sessions[0], &context, error);
    for (int turn = 0; !status && turn < TURNS; turn++) {
        status = make_inputs(t, turn, &t->inputs[turn], error);
        if (!status) status = run(t, context, turn, &t->expected[turn], error);
        if (!status) keep(&t->expected[turn]);
    }
    tort_context_free(context);
    return status;
}

typedef struct worker {
    const tester *t;
    tort_error error;
    int others;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    w->others = run_turns(w->t, w->t->sessions[1], &w->error);
    return NULL;
}

static void check_turns(tester *t, int others, const char *what, const char *message) {
    check(t, others == 0, what, others < 0 ? message : "outputs of recorded runs have other bits");
}

static void check_recorded(tester *t) {
    tort_report *report = report_of(t->sessions[1]);
    check(t, report && report->recording == TORT_RECORDING_WHOLE && !*report->recording_note, "runs are not recorded",
          report ? report->recording_note : "no report");
    tort_report_free(report);
}

static void check_threads(tester *t) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    bool started[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.t = t};
        started[i] = !pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < SESSIONS; i++) {
        tort_session *session = NULL;
        tort_error error = {.msg = ""};
        const int others = open_session(t, t->recorded, &session, &error) ? -1 : run_turns(t, session, &error);
        check_turns(t, others, "a session that is opened while others run", error.msg);
        tort_session_free(session);
    }
    for (int i = 0; i < THREADS; i++) {
        if (started[i]) pthread_join(threads[i], NULL);
        if (started[i]) check_turns(t, workers[i].others, "two threads on a session", workers[i].error.msg);
    }
}

int main(int count, char **arguments) {
    static tester t;
    tort_error error = {.msg = ""};
    if (count != 3) {
        fprintf(stderr, "usage: replays MODEL PROVIDER\n");
        return 2;
    }
    snprintf(t.plain, sizeof t.plain, "%.40s:graph=off,cpu", arguments[2]);
    snprintf(t.recorded, sizeof t.recorded, "%.40s,cpu", arguments[2]);
    tort_status status = tort_model_load(NULL, arguments[1], NULL, &t.model, &error);
    if (!status) status = open_session(&t, t.plain, &t.sessions[0], &error);
    if (!status) status = open_session(&t, t.recorded, &t.sessions[1], &error);
    if (!status && tort_model_input_count(t.model) > MAX_TENSORS) status = TORT_E_USAGE;
    if (!status && tort_model_output_count(t.model) > MAX_TENSORS) status = TORT_E_USAGE;
    if (!status) status = expect(&t, &error);
    check(&t, !status, arguments[1], *error.msg ? error.msg : "has more inputs or outputs than this program expects");
    if (!status) check_turns(&t, run_turns(&t, t.sessions[1], &error), "a context", error.msg);
    if (!status) check_recorded(&t);
    if (!status) check_threads(&t);
    for (int i = 0; i < 2; i++) tort_session_free(t.sessions[i]);
    for (int i = 0; i < TURNS; i++) free_values(&t.inputs[i]), free_values(&t.expected[i]);
    tort_model_free(t.model);
    printf("gpu-replays: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed > 0;
}
