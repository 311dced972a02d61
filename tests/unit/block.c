/* Tests of runtime/core/session/block.c: an allocator in a block of the caller, and the exact size that a session needs
 * of one.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"

enum { BLOCK = 1 << 16, PIECES = 64 };

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

typedef struct piece {
    unsigned char *data;
    size_t size;
} piece;

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(const piece *p, unsigned char mark) {
    if (p->data) memset(p->data, mark, p->size);
}

static void check(const piece *p, unsigned char mark) {
    for (size_t i = 0; p->data && i < p->size; i++) cr_assert_eq(p->data[i], mark);
}

/* A hundred thousand random steps: whatever is in use keeps what was written there. */
static size_t use_at_random(const tort_env *env, const unsigned char *memory, size_t bytes, uint32_t seed) {
    piece pieces[PIECES] = {{NULL, 0}};
    size_t refusals = 0;
    for (int step = 0; step < 100000; step++) {
        const uint32_t k = next_random(&seed) % PIECES, dice = next_random(&seed) % 4;
        piece *p = &pieces[k];
        const size_t size = dice == 0 ? 0 : 1 + next_random(&seed) % (dice == 1 ? 4000 : 200);
        check(p, (unsigned char)k);
        if (!size && !p->data) continue;
        unsigned char *moved = env->alloc(env->alloc_ud, p->data, p->size, size);
        refusals += size && !moved;
        if (size && !moved) continue; /* the old one stays */
        cr_assert(!moved || (moved > memory && moved + size <= memory + bytes && (uintptr_t)moved % 16 == 0));
        const piece kept = {moved, p->size < size ? p->size : size};
        if (p->data) check(&kept, (unsigned char)k);
        *p = (piece){moved, size};
        fill(p, (unsigned char)k);
    }
    for (int k = 0; k < PIECES; k++) {
        check(&pieces[k], (unsigned char)k);
        if (pieces[k].data) env->alloc(env->alloc_ud, pieces[k].data, pieces[k].size, 0);
    }
    return refusals;
}

static tort_env env_in(void *memory, size_t bytes) {
    tort_env env = {.struct_size = sizeof env};
    tort_error error;
    cr_assert_eq(tort_env_in_block(&env, memory, bytes, &error), TORT_OK, "%s", error.msg);
    return env;
}

Test(block, pieces_stay_apart_and_what_is_freed_is_used_again) {
    unsigned char *memory = aligned_alloc(16, BLOCK);
    cr_assert(memory);
    for (uint32_t seed = 1; seed <= 3; seed++) {
        const tort_env env = env_in(memory, BLOCK);
        const size_t before = tort_block_max(&env);
        use_at_random(&env, memory, BLOCK, seed);
        void *whole = env.alloc(env.alloc_ud, NULL, 0, BLOCK - before); /* all of it is free again, in one piece */
        cr_assert_not_null(whole);
        cr_assert_null(env.alloc(env.alloc_ud, NULL, 0, 1));
        cr_assert_eq(tort_block_max(&env), BLOCK);
    }
    free(memory);
}

/* The same steps in a block of as much as was needed at most refuse nothing; in a smaller one they do. */
Test(block, what_was_needed_is_enough) {
    unsigned char *memory = aligned_alloc(16, 16 * BLOCK);
    cr_assert(memory);
    for (uint32_t seed = 1; seed <= 3; seed++) {
        const tort_env large = env_in(memory, 16 * BLOCK);
        cr_assert_eq(use_at_random(&large, memory, 16 * BLOCK, seed), 0);
        const size_t max = tort_block_max(&large);
        const tort_env exact = env_in(memory, max);
        cr_assert_eq(use_at_random(&exact, memory, max, seed), 0);
        cr_assert_eq(tort_block_max(&exact), max);
        const tort_env less = env_in(memory, max - 1);
        cr_assert_gt(use_at_random(&less, memory, max - 1, seed), 0);
    }
    free(memory);
}

Test(block, wrong_blocks_are_errors) {
    _Alignas(16) unsigned char memory[512];
    tort_env env = {.struct_size = 0}, other = {.struct_size = sizeof other};
    tort_error error;
    cr_expect_eq(tort_env_in_block(&env, memory, sizeof memory, &error), TORT_E_USAGE);
    env.struct_size = sizeof env;
    cr_expect_eq(tort_env_in_block(&env, memory + 8, sizeof memory - 8, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "a multiple of 16"), "%s", error.msg);
    cr_expect_eq(tort_env_in_block(&env, NULL, 512, &error), TORT_E_USAGE);
    cr_expect_eq(tort_env_in_block(&env, memory, 16, &error), TORT_E_MEMORY);
    cr_expect_eq(tort_block_max(&other), 0);
    cr_expect_eq(tort_env_in_block(&env, memory, sizeof memory, &error), TORT_OK);
    cr_expect_null(env.alloc(env.alloc_ud, NULL, 0, SIZE_MAX));
    cr_expect_null(env.alloc(env.alloc_ud, NULL, 0, SIZE_MAX - 15));
}

/* ---- a session in a block ---------------------------------------------------------------------------------------- */

typedef struct setting {
    const tort_model *model;
    tort_session_options options;
    int32_t contexts;
    int64_t elements; /* of the input */
} setting;

static tort_status run(tort_context *context, int64_t elements, tort_error *error) {
    float *x = calloc((size_t)elements, sizeof *x);
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = x}, output = {.data = NULL};
    cr_assert(x);
    tort_status status = tort_context_run(context, &input, 1, &output, 1, error);
    free(x);
    return status;
}

/* The whole life of a session in one block, which ends where it ends: the sanitizers see what leaves it. */
static tort_status live_in(size_t bytes, const setting *s, tort_error *error) {
    void *memory = NULL;
    tort_session *session = NULL;
    tort_context *contexts[4] = {NULL};
    cr_assert(posix_memalign(&memory, 16, bytes) == 0);
    tort_env env = env_in(memory, bytes);
    tort_status status = tort_session_create(&env, s->model, &s->options, &session, error);
    for (int32_t i = 0; !status && i < s->contexts; i++) status = tort_context_create(session, &contexts[i], error);
    for (int32_t i = 0; !status && i < s->contexts; i++) status = run(contexts[i], s->elements, error);
    if (!status) cr_expect_eq(tort_block_max(&env), bytes, "%zu of %zu", tort_block_max(&env), bytes);
    for (int32_t i = 0; i < s->contexts; i++) tort_context_free(contexts[i]);
    tort_session_free(session);
    free(memory);
    return status;
}

Test(block, a_session_fits_exactly_into_the_bytes_that_are_told) {
    static const char *const chains[] = {"cpu:threads=1", "cpu:threads=3", "fake,cpu:threads=1"};
    tort_model *model = NULL;
    tort_error error;
    cr_assert_eq(tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error), TORT_OK, "%s", error.msg);
    const tort_symbol_size one = {"N", 1};
    size_t told[3] = {0};
    for (int32_t i = 0; i < 9; i++) {
        setting s = {.model = model, .contexts = i % 3, .elements = 64};
        s.options = (tort_session_options){.struct_size = sizeof s.options,
                                           .chain = chains[i / 3],
                                           .providers = fake_providers,
                                           .symbols = &one,
                                           .symbol_count = 1};
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        cr_assert_eq(tort_session_bytes(&counting.env, model, &s.options, s.contexts, &told[i % 3], &error), TORT_OK,
                     "%s", error.msg);
        cr_expect_eq(counting.live_blocks, 0);
        cr_assert_eq(live_in(told[i % 3], &s, &error), TORT_OK, "%d: %zu bytes: %s", i, told[i % 3], error.msg);
        cr_assert_eq(live_in(told[i % 3] - 1, &s, &error), TORT_E_MEMORY, "%d: %zu bytes", i, told[i % 3]);
        /* Weights beside their packed form may take more than contexts do later. */
        if (i % 3 == 2) cr_expect(told[0] <= told[1] && told[1] <= told[2]);
    }
    tort_model_free(model);
}

Test(block, what_stands_in_the_way_is_told) {
    tort_model *model = NULL;
    tort_error error;
    size_t bytes = 7;
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:mem_limit=50k"};
    cr_assert_eq(tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_bytes(NULL, model, &options, 1, &bytes, &error), TORT_E_MEMORY, "no block helps: %s",
                 error.msg);
    options.chain = "cpuu";
    cr_expect_eq(tort_session_bytes(NULL, model, &options, 1, &bytes, &error), TORT_E_USAGE);
    options.chain = "cpu";
    cr_expect_eq(tort_session_bytes(NULL, model, &options, -1, &bytes, &error), TORT_E_USAGE);
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    counting.fail_at = 2;
    cr_expect_eq(tort_session_bytes(&counting.env, model, &options, 1, &bytes, &error), TORT_E_MEMORY);
    cr_expect_eq(counting.live_blocks, 0);
    tort_model_free(model);
}
