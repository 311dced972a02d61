/* tokens.c - what a sequence that grows costs beside its arithmetic: a small decoder makes 500 tokens, each with a
 * cache that is one longer than before, with an upper bound and without. Prints microseconds a token, the part of it
 * that planning takes (the target is 5 percent), and allocations a token.
 *
 * Usage: tokens [LAYERS [WIDTH]], 4 and 128 without. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/clock.h"
#include "tests/counting_env.h"
#include "tests/decoder.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/planned.h"

enum { TOKENS = 500, ROUNDS = 5, PORTS = 1 + 2 * DECODER_MAX_LAYERS };

static void check(tort_status status, const char *what, const tort_error *error) {
    if (!status) return;
    fprintf(stderr, "tokens: %s: %s\n", what, error->msg);
    exit(1);
}

typedef struct measured {
    double token, plan, allocations; /* a token */
} measured;

/* Of the plans alone, in memory that is made for the bound; the runs made the same ones. */
static double time_plans(tort_session *session, const decoder_form *form) {
    tort_planned *planned = NULL;
    bool changed;
    tort_error error;
    tort_tensor inputs[PORTS] = {{.type = TORT_INT64, .rank = 2, .dims = {1, 1}}};
    tort_lowered *lowered = tort_main_graph(session);
    check(tort_plan_bounds(lowered, &session->env, &planned, &error), "planning", &error);
    planned->bound = lowered->bound;
    const double begin = 1e3 * clock_milliseconds();
    for (int64_t past = 0; past < TOKENS; past++) {
        for (int i = 1; i < PORTS; i++)
            inputs[i] =
                (tort_tensor){.type = TORT_FLOAT, .rank = 4, .dims = {1, form->heads, past, form->width / form->heads}};
        check(tort_plan_for(lowered, inputs, &planned, &changed, &error), "planning", &error);
    }
    const double taken = 1e3 * clock_milliseconds() - begin;
    tort_planned_free(planned);
    return taken / TOKENS;
}

static double time_tokens(tort_context *context, const decoder_form *form) {
    decoder_sequence sequence;
    tort_error error;
    decoder_begin(&sequence, form);
    const double begin = 1e3 * clock_milliseconds();
    while (sequence.past < TOKENS) check(decoder_step(context, &sequence, &error), "running", &error);
    const double taken = 1e3 * clock_milliseconds() - begin;
    decoder_end(&sequence);
    return taken / TOKENS;
}

/* The fastest of a few rounds; most 0: without a bound. */
static measured measure(tort_model *model, const decoder_form *form, int64_t max) {
    const tort_symbol_size past = {"N", max};
    const tort_session_options options = {
        .struct_size = sizeof options, .max_symbols = &past, .max_symbol_count = max > 0};
    tort_counting_env counting;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    measured best = {1e9, max ? 1e9 : 0, 0};
    tort_counting_env_init(&counting);
    check(tort_session_create(&counting.env, model, &options, &session, &error), "opening", &error);
    check(tort_context_create(session, &context, &error), "opening", &error);
    check(decoder_capacities(context, form, &error), "opening", &error);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t before = counting.allocations;
        const double token = time_tokens(context, form);
        best.allocations = (double)(counting.allocations - before) / TOKENS;
        const double plan = max ? time_plans(session, form) : 0;
        best.token = token < best.token ? token : best.token;
        best.plan = plan < best.plan ? plan : best.plan;
    }
    tort_context_free(context);
    tort_session_free(session);
    return best;
}

int main(int argc, char **argv) {
    decoder_form form = {.layers = 4, .heads = 4, .width = 128, .words = 1000, .max = TOKENS};
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    tort_error error;
    if (argc > 1) form.layers = (int32_t)strtol(argv[1], NULL, 10);
    if (argc > 2) form.width = (int32_t)strtol(argv[2], NULL, 10);
    if (form.layers < 1 || form.layers > DECODER_MAX_LAYERS || form.width < 4 || form.width % 4) {
        fprintf(stderr, "usage: tokens [LAYERS [WIDTH]], 1 to %d, a multiple of 4\n", DECODER_MAX_LAYERS);
        return 2;
    }
    decoder_write(&bytes, &form);
    check(tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error), "loading", &error);
    const measured bounded = measure(model, &form, TOKENS - 1), open = measure(model, &form, 0);
    printf("%d layers of width %d, %d tokens\n", (int)form.layers, (int)form.width, TOKENS);
    printf("               us/token  planning  part   allocations/token\n");
    printf("with a bound   %8.1f  %8.1f  %4.1f%%  %.2f\n", bounded.token, bounded.plan,
           100 * bounded.plan / bounded.token, bounded.allocations);
    printf("without        %8.1f                   %.2f\n", open.token, open.allocations);
    tort_model_free(model);
    onnx_free(&bytes);
    return 0;
}
