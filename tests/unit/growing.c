/* growing.c - tests of upper bounds: sequences that grow by one each run are run in memory that was taken once, and the
 * values are those of sessions that plan for each length. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/counting_env.h"
#include "tests/decoder.h"
#include "tests/report_of.h"
#include "runtime/core/plan/planned.h"

enum { TOKENS = 500, MAX_PLANS = 32 };

static const decoder_form small = {.layers = 2, .heads = 2, .width = 16, .words = 24, .max = TOKENS};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

typedef struct opened {
    onnx_bytes bytes;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} opened;

/* most 0: without bounds. */
static tort_status try_open(const tort_env *env, const decoder_form *form, int64_t max, opened *o, tort_error *error) {
    const tort_symbol_size past = {"N", max};
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "cpu:threads=1", .max_symbols = &past, .max_symbol_count = max > 0};
    *o = (opened){.model = NULL};
    decoder_write(&o->bytes, form);
    tort_status status = tort_model_load_buffer(env, o->bytes.data, o->bytes.size, NULL, &o->model, error);
    if (!status) status = tort_session_create(env, o->model, &options, &o->session, error);
    if (!status) status = tort_context_create(o->session, &o->context, error);
    if (!status) status = decoder_capacities(o->context, form, error);
    return status;
}

static void open_decoder(const tort_env *env, int64_t max, opened *o) {
    tort_error error;
    cr_assert_eq(try_open(env, &small, max, o, &error), TORT_OK, "%s", error.msg);
}

static void close_decoder(opened *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
    tort_model_free(o->model);
    onnx_free(&o->bytes);
}

static void step(opened *o, decoder_sequence *s) {
    tort_error error;
    cr_assert_eq(decoder_step(o->context, s, &error), TORT_OK, "after %lld: %s", (long long)s->past, error.msg);
}

static int32_t count_plans(const tort_session *session) {
    int32_t count = 0;
    for (const tort_planned *p = session->graphs[0].plans; p; p = p->next) count++;
    return count;
}

static void expect_same(const decoder_sequence *a, const decoder_sequence *b, const char *what) {
    const size_t logits = (size_t)small.words * sizeof(float), rows = (size_t)a->past * (size_t)small.width;
    cr_expect_eq(memcmp(a->logits, b->logits, logits), 0, "logits of token %lld: %s", (long long)a->past, what);
    for (int i = 0; i < 2 * small.layers; i++)
        cr_expect_eq(memcmp(a->cache[a->past % 2][i], b->cache[b->past % 2][i], rows * sizeof(float)), 0,
                     "cache %d after token %lld: %s", i, (long long)a->past, what);
}

/* ---- five hundred tokens ----------------------------------------------------------------------------------------- */

Test(growing, five_hundred_tokens_allocate_nothing_and_keep_no_plan) {
    tort_counting_env counting;
    opened o;
    decoder_sequence s;
    tort_counting_env_init(&counting);
    open_decoder(&counting.env, TOKENS - 1, &o);
    decoder_begin(&s, &small);
    const int64_t before = counting.allocations;
    while (s.past < TOKENS) step(&o, &s);
    cr_expect_eq(counting.allocations, before, "%lld allocations", (long long)(counting.allocations - before));
    cr_expect_eq(count_plans(o.session), 0);
    decoder_end(&s);
    close_decoder(&o);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
}

/* A session that never saw another length. */
static void expect_as_fresh(const decoder_sequence *after, decoder_sequence *before) {
    opened o;
    open_decoder(NULL, 0, &o);
    step(&o, before);
    expect_same(after, before, "a fresh session");
    close_decoder(&o);
}

static void copy_sequence(decoder_sequence *to, const decoder_sequence *from) {
    const size_t bytes = (size_t)small.max * (size_t)small.width * sizeof(float);
    to->past = from->past;
    to->token = from->token;
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 2 * small.layers; i++) memcpy(to->cache[which][i], from->cache[which][i], bytes);
}

Test(growing, the_values_are_those_of_sessions_without_bounds) {
    opened bounded, open;
    decoder_sequence a, b, copy;
    open_decoder(NULL, TOKENS - 1, &bounded);
    open_decoder(NULL, 0, &open);
    decoder_begin(&a, &small);
    decoder_begin(&b, &small);
    decoder_begin(&copy, &small);
    while (a.past < TOKENS) {
        const bool compared = a.past < 4 || a.past % 100 == 99;
        if (compared) copy_sequence(&copy, &a);
        step(&bounded, &a);
        step(&open, &b);
        expect_same(&a, &b, "without bounds");
        if (compared) expect_as_fresh(&a, &copy);
    }
    decoder_end(&a);
    decoder_end(&b);
    decoder_end(&copy);
    close_decoder(&bounded);
    close_decoder(&open);
}

/* Plans are made again in the memory of others, and tables stay: what is held grows with the length alone. */
Test(growing, without_bounds_few_plans_are_kept) {
    tort_counting_env counting;
    opened o;
    decoder_sequence s;
    int64_t blocks = 0;
    tort_counting_env_init(&counting);
    open_decoder(&counting.env, 0, &o);
    decoder_begin(&s, &small);
    while (s.past < TOKENS) {
        step(&o, &s);
        if (s.past == 2 * MAX_PLANS) blocks = counting.live_blocks;
    }
    cr_expect_eq(count_plans(o.session), MAX_PLANS);
    cr_expect_eq(counting.live_blocks, blocks);
    decoder_end(&s);
    close_decoder(&o);
    cr_expect_eq(counting.live_blocks, 0);
}

/* From the longest to the shortest, and back and forth: what was there before has no say. */
Test(growing, lengths_may_come_in_any_order) {
    static const int64_t lengths[] = {40, 0, 39, 1, 1, 7, 0, 40, 3};
    opened bounded, open;
    decoder_sequence a, b;
    open_decoder(NULL, 40, &bounded);
    open_decoder(NULL, 0, &open);
    decoder_begin(&a, &small);
    decoder_begin(&b, &small);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        a.past = b.past = lengths[i];
        a.token = b.token = (int64_t)i;
        step(&bounded, &a);
        step(&open, &b);
        expect_same(&a, &b, "another order");
    }
    decoder_end(&a);
    decoder_end(&b);
    close_decoder(&bounded);
    close_decoder(&open);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static tort_status open_and_step(const tort_env *env, opened *o, decoder_sequence *s, tort_error *error) {
    tort_status status = try_open(env, &small, 20, o, error);
    for (int i = 0; !status && i < 3; i++) status = decoder_step(o->context, s, error);
    return status;
}

Test(growing, every_allocation_that_fails_is_told) {
    tort_counting_env counting;
    decoder_sequence s;
    tort_status status = TORT_E_MEMORY;
    int64_t n = 1;
    decoder_begin(&s, &small);
    for (; status; n++) {
        opened o;
        tort_error error;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        counting.fail_once = true;
        s.past = s.token = 0;
        status = open_and_step(&counting.env, &o, &s, &error);
        cr_assert(status == TORT_OK || status == TORT_E_MEMORY, "allocation %lld: %s", (long long)n, error.msg);
        close_decoder(&o);
        cr_assert_eq(counting.live_blocks, 0, "allocation %lld", (long long)n);
        cr_assert_eq(counting.wrong_sizes, 0, "allocation %lld", (long long)n);
    }
    cr_expect(n > 100, "only %lld allocations", (long long)n);
    decoder_end(&s);
}

/* Without bounds a length that finds no memory fails, and the next run is as if it had not been. */
Test(growing, a_length_without_memory_can_be_tried_again) {
    tort_counting_env counting;
    opened o, other;
    decoder_sequence s, same;
    tort_error error;
    tort_counting_env_init(&counting);
    open_decoder(&counting.env, 0, &o);
    open_decoder(NULL, 0, &other);
    decoder_begin(&s, &small);
    decoder_begin(&same, &small);
    for (int64_t n = 1; s.past < 3 * MAX_PLANS; n++) {
        counting.allocations = 0;
        counting.fail_at = n;
        counting.fail_once = true;
        const tort_status status = decoder_step(o.context, &s, &error);
        cr_assert(status == TORT_OK || status == TORT_E_MEMORY, "%s", error.msg);
        if (status) continue;
        n = 0;
        step(&other, &same);
        expect_same(&s, &same, "after failures");
    }
    decoder_end(&s);
    decoder_end(&same);
    close_decoder(&o);
    close_decoder(&other);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
}

Test(growing, the_report_tells_the_bytes_at_the_bounds) {
    tort_counting_env counting;
    opened o;
    decoder_sequence s;
    tort_counting_env_init(&counting);
    open_decoder(&counting.env, 100, &o);
    decoder_begin(&s, &small);
    step(&o, &s);
    const int64_t held = (int64_t)counting.live_bytes;
    tort_report *report = report_of(o.session);
    const int64_t told = report->memory->total;
    cr_expect(llabs(told - held) * 100 <= held, "%lld bytes told, %lld are held", (long long)told, (long long)held);
    cr_assert_eq(report->bound_count, 1);
    cr_expect_str_eq(report->bounds[0].name, "N");
    cr_expect_eq(report->bounds[0].size, 100);
    cr_expect_str_eq(report->bounds_note, "");
    cr_expect_eq(tort_session_output_bytes(o.session, 1), 101 * (size_t)small.width * sizeof(float));
    cr_expect_eq(tort_session_output_bytes(o.session, 99), 0);
    tort_report_free(report);
    decoder_end(&s);
    close_decoder(&o);
}

/* All of a session in a block of its own, into which it fits exactly. */
Test(growing, a_block_serves_all_lengths) {
    const tort_symbol_size past = {"N", TOKENS - 1};
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "cpu:threads=1", .max_symbols = &past, .max_symbol_count = 1};
    opened o;
    decoder_sequence s;
    tort_error error;
    tort_env env = {.struct_size = sizeof env};
    tort_session *session;
    size_t bytes;
    open_decoder(NULL, 0, &o);
    tort_context_free(o.context);
    o.context = NULL;
    cr_assert_eq(tort_session_bytes(NULL, o.model, &options, 1, &bytes, &error), TORT_OK, "%s", error.msg);
    void *block = aligned_alloc(16, (bytes + 15) / 16 * 16);
    cr_assert_eq(tort_env_in_block(&env, block, bytes, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(&env, o.model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &o.context, &error), TORT_OK, "%s", error.msg);
    decoder_begin(&s, &small);
    const size_t outputs = 1 + 2 * (size_t)small.layers;
    tort_tensor *first = calloc(outputs, sizeof *first);
    tort_tensor *inputs = calloc(outputs, sizeof *inputs);
    for (; s.past < TOKENS; s.past += 7) {
        inputs[0] = (tort_tensor){.type = TORT_INT64, .rank = 2, .dims = {1, 1}, .data = &s.token};
        for (size_t i = 1; i < outputs; i++)
            inputs[i] = (tort_tensor){.type = TORT_FLOAT,
                                      .rank = 4,
                                      .dims = {1, small.heads, s.past, small.width / small.heads},
                                      .data = s.cache[0][i - 1]};
        memset(first, 0, outputs * sizeof *first);
        const tort_status status =
            tort_context_run(o.context, inputs, (int32_t)outputs, first, (int32_t)outputs, &error);
        cr_assert_eq(status, TORT_OK, "after %lld: %s", (long long)s.past, error.msg);
        cr_assert_eq(first[1].dims[2], s.past + 1);
    }
    free(first);
    free(inputs);
    tort_context_free(o.context);
    o.context = NULL;
    tort_session_free(session);
    free(block);
    decoder_end(&s);
    close_decoder(&o);
}

/* ---- two contexts ------------------------------------------------------------------------------------------------ */

typedef struct runner {
    opened o;
    tort_context *context;
    decoder_sequence sequence;
    int64_t tokens;
    tort_status status;
} runner;

static void *run_tokens(void *arg) {
    runner *r = arg;
    while (!r->status && r->sequence.past < r->tokens) r->status = decoder_step(r->context, &r->sequence, NULL);
    return NULL;
}

Test(growing, two_contexts_run_different_lengths_at_once) {
    tort_error error;
    opened o, alone;
    runner runners[2];
    pthread_t threads[2];
    open_decoder(NULL, TOKENS - 1, &o);
    for (int i = 0; i < 2; i++) {
        runners[i] = (runner){.context = o.context, .tokens = i ? 50 : 80};
        if (i) cr_assert_eq(tort_context_create(o.session, &runners[i].context, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(decoder_capacities(runners[i].context, &small, &error), TORT_OK, "%s", error.msg);
        decoder_begin(&runners[i].sequence, &small);
        runners[i].sequence.past = i ? 0 : 30;
        runners[i].sequence.token = i;
    }
    for (int i = 0; i < 2; i++) cr_assert_eq(pthread_create(&threads[i], NULL, run_tokens, &runners[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        decoder_sequence s;
        cr_expect_eq(runners[i].status, TORT_OK);
        open_decoder(NULL, 0, &alone);
        decoder_begin(&s, &small);
        s.past = i ? 0 : 30;
        s.token = i;
        while (s.past < runners[i].tokens) step(&alone, &s);
        expect_same(&runners[i].sequence, &s, i ? "the second" : "the first");
        decoder_end(&s);
        close_decoder(&alone);
        decoder_end(&runners[i].sequence);
    }
    tort_context_free(runners[1].context);
    close_decoder(&o);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

Test(growing, a_run_beyond_the_bound_is_refused_by_symbol_size_and_bound) {
    opened o;
    decoder_sequence s;
    tort_error error;
    open_decoder(NULL, 5, &o);
    decoder_begin(&s, &small);
    while (s.past < 6) step(&o, &s);
    cr_expect_eq(decoder_step(o.context, &s, &error), TORT_E_INPUT);
    cr_expect(strstr(error.msg, "\"N\", is 6, but at most 5"), "%s", error.msg);
    cr_expect(strstr(error.msg, "--max N=6"), "%s", error.msg);
    s.past = 2;
    step(&o, &s);
    tort_input_shape shapes[5] = {{"token", 2, {1, 1}}};
    for (int i = 1; i < 5; i++) shapes[i] = (tort_input_shape){"", 4, {1, 2, 9, 8}};
    cr_expect_eq(tort_session_plan(o.session, shapes, 5, &error), TORT_E_INPUT);
    for (int i = 1; i < 5; i++) shapes[i].dims[2] = 5;
    cr_expect_eq(tort_session_plan(o.session, shapes, 5, &error), TORT_OK, "%s", error.msg);
    decoder_end(&s);
    close_decoder(&o);
}
