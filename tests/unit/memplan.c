/* memplan.c - tests of the memory planner, a pure function of life times. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/plan/plan.h"

static tort_env default_env(void) {
    return tort_env_complete(NULL);
}

static bool overlap(const tort_block *a, const tort_block *b) {
    bool in_time = a->first <= b->last && b->first <= a->last;
    return in_time && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

Test(memplan, blocks_that_do_not_meet_share_a_place) {
    tort_env env = default_env();
    tort_block blocks[] = {{.bytes = 100, .first = 0, .last = 1}, {.bytes = 100, .first = 2, .last = 3}};
    cr_expect_eq(tort_memory_plan(&env, blocks, 2, 64, &(uint32_t){0}), 128);
    cr_expect_eq(blocks[0].offset, blocks[1].offset);
}

Test(memplan, blocks_that_meet_do_not) {
    tort_env env = default_env();
    tort_block blocks[] = {{.bytes = 100, .first = 0, .last = 2}, {.bytes = 100, .first = 2, .last = 3}};
    cr_expect_eq(tort_memory_plan(&env, blocks, 2, 64, &(uint32_t){0}), 256);
}

Test(memplan, a_chain_needs_its_two_largest_neighbours) {
    tort_env env = default_env();
    tort_block blocks[20];
    for (int32_t i = 0; i < 20; i++) blocks[i] = (tort_block){.bytes = 64, .first = i, .last = i + 1};
    cr_expect_eq(tort_memory_plan(&env, blocks, 20, 64, &(uint32_t){0}), 128);
}

/* With the largest first they need 7; 6 is what lives at one step at the most. */
Test(memplan, another_order_is_tried_where_the_largest_first_wastes_room) {
    tort_env env = default_env();
    tort_block blocks[] = {{.bytes = 5 * 64, .first = 2, .last = 2},
                           {.bytes = 64, .first = 1, .last = 1},
                           {.bytes = 64, .first = 1, .last = 3},
                           {.bytes = 64, .first = 3, .last = 5},
                           {.bytes = 5 * 64, .first = 5, .last = 5}};
    cr_expect_eq(tort_memory_plan(&env, blocks, 5, 64, &(uint32_t){0}), 6 * 64);
}

Test(memplan, nothing_and_empty_blocks) {
    tort_env env = default_env();
    tort_block block = {.bytes = 0, .first = 0, .last = 0};
    cr_expect_eq(tort_memory_plan(&env, NULL, 0, 64, &(uint32_t){0}), 0);
    cr_expect_eq(tort_memory_plan(&env, &block, 1, 64, &(uint32_t){0}), 0);
}

Test(memplan, overflow_is_told) {
    tort_env env = default_env();
    tort_block block = {.bytes = UINT64_MAX - 1, .first = 0, .last = 0};
    cr_expect_eq(tort_memory_plan(&env, &block, 1, 64, &(uint32_t){0}), UINT64_MAX);
}

Test(memplan, random_life_times_never_collide_and_stay_aligned) {
    tort_env env = default_env();
    srand(7);
    for (int round = 0; round < 200; round++) {
        tort_block blocks[60];
        uint64_t naive = 0;
        for (int i = 0; i < 60; i++) {
            int32_t first = rand() % 40;
            blocks[i] = (tort_block){.bytes = (uint64_t)(rand() % 5000), .first = first, .last = first + rand() % 10};
            naive += (blocks[i].bytes + 255) / 256 * 256;
        }
        uint64_t total = tort_memory_plan(&env, blocks, 60, 256, &(uint32_t){0});
        cr_expect_leq(total, naive);
        for (int i = 0; i < 60; i++) {
            cr_expect_eq(blocks[i].offset % 256, 0);
            cr_expect_leq(blocks[i].offset + blocks[i].bytes, total);
            for (int k = 0; k < i; k++)
                cr_expect_not(overlap(&blocks[i], &blocks[k]), "round %d: %d and %d", round, i, k);
        }
    }
}

Test(memplan, blocks_of_two_memories_never_collide_and_the_fast_one_is_filled_first) {
    tort_env env = default_env();
    srand(8);
    for (int round = 0; round < 60; round++) {
        tort_block blocks[40];
        const uint64_t fast = (uint64_t)(1 + rand() % 100) * 64;
        uint64_t end = fast;
        bool smaller = false, any = false;
        for (int i = 0; i < 40; i++) {
            const int32_t first = rand() % 30;
            blocks[i] =
                (tort_block){.bytes = (uint64_t)(64 + rand() % 3000), .first = first, .last = first + rand() % 9};
            smaller = smaller || (blocks[i].bytes + 63) / 64 * 64 <= fast;
        }
        const uint64_t total = tort_memory_split(&env, blocks, 40, 64, fast);
        for (int i = 0; i < 40; i++) {
            const uint64_t last = blocks[i].offset + blocks[i].bytes;
            cr_expect_eq(blocks[i].offset % 64, 0);
            cr_expect(blocks[i].offset >= fast || last <= fast, "round %d: %d lies in both memories", round, i);
            any = any || blocks[i].offset < fast;
            end = last > end ? last : end;
            for (int k = 0; k < i; k++)
                cr_expect_not(overlap(&blocks[i], &blocks[k]), "round %d: %d and %d", round, i, k);
        }
        cr_expect_eq(total, end);
        cr_expect_eq(any, smaller, "round %d: the fast memory is empty", round);
    }
    tort_block two[] = {{.bytes = 64, .first = 0, .last = 9}, {.bytes = 64, .first = 4, .last = 5}};
    cr_expect_eq(tort_memory_split(&env, two, 2, 64, 64), 128);
    cr_expect_eq(two[0].offset, 64, "the block that lives longer is in the slow memory");
    cr_expect_eq(tort_memory_split(&env, two, 2, 64, 128), 128, "all blocks fit");
}

/* Blocks whose sizes grow a little from plan to plan, as a decoder's do. */
static void grown(tort_block *blocks, int32_t count, int64_t more) {
    srand(9);
    for (int32_t i = 0; i < count; i++) {
        const int32_t first = rand() % 40;
        const uint64_t bytes = (uint64_t)(rand() % 5000 + (rand() % 2 ? more * 64 : 0));
        blocks[i] = (tort_block){.bytes = bytes, .first = first, .last = first + rand() % 10};
    }
}

Test(memplan, a_search_that_is_remembered_is_left_out_and_costs_little_memory) {
    tort_env env = default_env();
    uint32_t hint = 0;
    for (int64_t more = 0; more < 40; more++) {
        tort_block searched[60], again[60];
        grown(searched, 60, more);
        grown(again, 60, more);
        const uint64_t best = tort_memory_plan(&env, searched, 60, 64, &(uint32_t){0});
        const uint64_t total = tort_memory_plan(&env, again, 60, 64, &hint);
        cr_expect_neq(hint, 0);
        cr_expect_leq(total, best + best / 10, "%llu more than %llu", (unsigned long long)total,
                      (unsigned long long)best);
        for (int i = 0; i < 60; i++)
            for (int k = 0; k < i; k++) cr_expect_not(overlap(&again[i], &again[k]), "%d and %d", i, k);
    }
}

static bool apart(const tort_block *output, const tort_block *input) {
    const int64_t distance = (int64_t)output->offset - (int64_t)input->offset;
    return distance <= -output->below || distance >= output->rise || !overlap(output, input);
}

Test(memplan, blocks_that_may_overlap_keep_their_distance_and_take_less) {
    tort_env env = default_env();
    uint64_t with = 0, without = 0;
    srand(8);
    for (int round = 0; round < 200; round++) {
        tort_block blocks[40], plain[40];
        for (int i = 0; i < 40; i++) {
            const int32_t first = i / 2;
            blocks[i] = (tort_block){.bytes = (uint64_t)(rand() % 5000 + 1), .first = first, .last = first + 1};
            if (i % 2 || !i) blocks[i].last = first + (i % 2 ? 0 : 1);
            plain[i] = blocks[i];
            if (i % 2 || i < 2) continue;
            blocks[i].over = i - 2 + 1; /* a chain of values: each over the one before, beside scratch */
            blocks[i].below = rand() % 900;
            blocks[i].rise = rand() % 900 + 1;
        }
        without += tort_memory_plan(&env, plain, 40, 64, &(uint32_t){0});
        const uint64_t total = tort_memory_plan(&env, blocks, 40, 64, &(uint32_t){0});
        with += total;
        for (int i = 0; i < 40; i++) {
            cr_expect_leq(blocks[i].offset + blocks[i].bytes, total);
            for (int k = 0; k < 40; k++) {
                if (blocks[i].over == k + 1)
                    cr_expect(apart(&blocks[i], &blocks[k]), "round %d: %d over %d", round, i, k);
                else if (k < i)
                    cr_expect_not(overlap(&blocks[i], &blocks[k]), "round %d: %d and %d", round, i, k);
            }
        }
    }
    cr_expect_lt(with, without);
}

/* ---- plan_check: every kind of damage is found ------------------------------------------------------------------- */

/* Two steps over three slots: input -> a -> b, in host memory; the second step has scratch. */
typedef struct tiny_plan {
    tort_slot slots[3];
    tort_step steps[2];
    int32_t operands[4], input, output;
    uint64_t arena[2], naive[2];
    tort_plan plan;
} tiny_plan;

static void make_tiny(tiny_plan *t) {
    *t = (tiny_plan){.operands = {0, 1, 1, 2}, .input = 0, .output = 2, .arena = {256}};
    for (int32_t i = 0; i < 3; i++)
        t->slots[i] = (tort_slot){.value = i,
                                  .home = i ? TORT_HOME_ARENA : TORT_HOME_INPUT,
                                  .output = i == 2 ? 0 : -1,
                                  .within = -1,
                                  .type = TORT_FLOAT,
                                  .rank = 1,
                                  .dims = {16},
                                  .bytes = 64,
                                  .offset = i == 2 ? 128 : 0,
                                  .first_step = i ? i - 1 : 0,
                                  .last_step = i};
    for (int32_t i = 0; i < 2; i++)
        t->steps[i] =
            (tort_step){.kind = TORT_STEP_KERNEL, .node = i, .operands = 2 * i, .input_count = 1, .output_count = 1};
    t->steps[1].scratch_offset = 192;
    t->steps[1].scratch_bytes = 64;
    t->plan = (tort_plan){.complete = true,
                          .slots = t->slots,
                          .steps = t->steps,
                          .operands = t->operands,
                          .input_slots = &t->input,
                          .output_slots = &t->output,
                          .layout_count = 1,
                          .slot_count = 3,
                          .step_count = 2,
                          .operand_count = 4,
                          .input_count = 1,
                          .output_count = 1,
                          .node_count = 2,
                          .value_count = 3,
                          .memory_count = 2,
                          .provider_count = 1,
                          .arena_bytes = t->arena,
                          .naive_bytes = t->naive};
}

static tort_status check(const tiny_plan *t, tort_error *error) {
    tort_env env = default_env();
    return tort_plan_check(&env, &t->plan, error);
}

Test(plan_check, a_sound_plan_passes) {
    tiny_plan t;
    tort_error error;
    make_tiny(&t);
    cr_expect_eq(check(&t, &error), TORT_OK, "%s", error.msg);
}

/* A fresh tiny plan with one thing changed must fail, and for that very reason. */
#define EXPECT_FOUND(words, change)                                                                                    \
    do {                                                                                                               \
        tiny_plan t;                                                                                                   \
        tort_error error = {.msg = ""};                                                                                \
        make_tiny(&t);                                                                                                 \
        change;                                                                                                        \
        cr_expect_eq(check(&t, &error), TORT_E_INTERNAL, #change);                                                     \
        cr_expect(strstr(error.msg, words), "%s: %s", #change, error.msg);                                             \
    } while (0)

Test(plan_check, damage_to_slots_is_found) {
    EXPECT_FOUND("offset of slot 2", t.slots[2].offset = 1024);
    EXPECT_FOUND("alignment of slot 2", t.slots[2].offset = 8);
    EXPECT_FOUND("unknown size of slot 1", t.slots[1].bytes = -1);
    EXPECT_FOUND("size of slot 1", t.slots[1].bytes = 32);
    EXPECT_FOUND("size of slot 1", t.slots[1].dims[0] = 1000);
    EXPECT_FOUND("size of slot 1", t.slots[1].dims[0] = -3);
    EXPECT_FOUND("rank of slot 1", t.slots[1].rank = 9);
    EXPECT_FOUND("memory of slot 1", t.slots[1].memory = 7);
    EXPECT_FOUND("value of slot 1", t.slots[1].value = 3);
    EXPECT_FOUND("input of slot 0", t.slots[0].source = 3);
    EXPECT_FOUND("output of slot 2", t.slots[2].output = 1);
    EXPECT_FOUND("life time of slot 1", t.slots[1].last_step = 3);
    EXPECT_FOUND("source of slot 2", (t.slots[2].home = TORT_HOME_ALIAS, t.slots[2].source = 2));
    EXPECT_FOUND("size of the alias", (t.slots[2].home = TORT_HOME_ALIAS, t.slots[2].source = 1, t.slots[1].bytes = 32,
                                       t.slots[1].dims[0] = 8, t.slots[1].last_step = 2, t.slots[1].output = 0));
    EXPECT_FOUND("life time of what is aliased", (t.slots[2].home = TORT_HOME_ALIAS, t.slots[2].source = 1));
}

Test(plan_check, damage_to_steps_is_found) {
    EXPECT_FOUND("operand of step 1", t.operands[2] = 9);
    EXPECT_FOUND("operand of step 1", t.operands[2] = -2);
    EXPECT_FOUND("not made yet in step 0", t.operands[0] = 2);
    EXPECT_FOUND("gone in step 1", t.slots[1].last_step = 0);
    EXPECT_FOUND("operands of step 1", t.steps[1].operands = 3);
    EXPECT_FOUND("operands of step 1", t.steps[1].input_count = INT32_MAX);
    EXPECT_FOUND("shape operands of step 1", t.steps[1].shape_count = 5);
    EXPECT_FOUND("provider of step 1", t.steps[1].provider = 5);
    EXPECT_FOUND("provider of step 1", t.steps[1].provider = -1);
    EXPECT_FOUND("node of step 1", t.steps[1].node = 2);
    EXPECT_FOUND("node of step 1", t.steps[1].node = -1);
    EXPECT_FOUND("params of step 1", t.steps[1].params = 1);
    EXPECT_FOUND("scratch of step 1", t.steps[1].scratch_offset = 256);
    EXPECT_FOUND("scratch of step 1", t.steps[1].scratch_bytes = UINT64_MAX);
    EXPECT_FOUND("memory of step 1", t.steps[1].memory = 2);
    EXPECT_FOUND("made twice by step 1", t.slots[2].first_step = 0);
    EXPECT_FOUND("not to be written in step 1", (t.slots[2].home = TORT_HOME_INPUT, t.slots[2].source = 0));
}

Test(plan_check, what_shares_bytes_at_one_time_is_found) {
    EXPECT_FOUND("one place and time", t.slots[2].offset = 0);
    EXPECT_FOUND("one place and time", t.steps[1].scratch_offset = 128);
    EXPECT_FOUND("one place and time", t.steps[1].scratch_offset = 0);
}

/* Step 0 makes slot 1; slot 2 takes its bytes as a view, or is written over it by step 1. */
static void make_shared(tiny_plan *t, bool view) {
    make_tiny(t);
    t->slots[2].offset = t->slots[1].offset;
    t->slots[2].within = 1;
    t->steps[1].scratch_bytes = 0;
    if (view)
        t->steps[1].kind = TORT_STEP_VIEW;
    else
        t->steps[1].in_place = 1;
}

static tort_status check_shared(bool view, void (*damage)(tiny_plan *t), const char *words) {
    tiny_plan t;
    tort_error error = {.msg = ""};
    make_shared(&t, view);
    if (damage) damage(&t);
    const tort_status status = check(&t, &error);
    cr_expect(strstr(error.msg, words), "%s", error.msg);
    return status;
}

static void say_nothing(tiny_plan *t) {
    t->steps[1].in_place = 0;
}
static void shift(tiny_plan *t) {
    t->slots[2].offset += 64;
}
static void read_later(tiny_plan *t) {
    t->slots[1].last_step = 2;
}
static void name_no_input(tiny_plan *t) {
    t->steps[1].in_place = 2;
}
static void call_it_a_view_too(tiny_plan *t) {
    t->steps[1].kind = TORT_STEP_VIEW;
}
static void scratch_there(tiny_plan *t) {
    t->steps[1].scratch_bytes = 64;
    t->steps[1].scratch_offset = t->slots[1].offset;
}

Test(plan_check, bytes_that_are_shared_by_a_decision_are_followed) {
    cr_expect_eq(check_shared(false, NULL, ""), TORT_OK);
    cr_expect_eq(check_shared(true, NULL, ""), TORT_OK);
    cr_expect_eq(check_shared(true, read_later, ""), TORT_OK);
    cr_expect_eq(check_shared(false, say_nothing, "one place and time"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(false, shift, "written over in step 1"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(false, read_later, "one place and time"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(false, name_no_input, "written over in step 1"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(false, call_it_a_view_too, "written over in step 1"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(false, scratch_there, "one place and time"), TORT_E_INTERNAL);
    cr_expect_eq(check_shared(true, shift, "viewed in step 1"), TORT_E_INTERNAL);
}

/* Step 0 brings the input into a layout, which takes more bytes; step 1 reads it there and writes plain. */
static void make_converted(tiny_plan *t) {
    make_tiny(t);
    t->plan.layout_count = 2;
    t->slots[1].value = 0;
    t->slots[1].layout = 1;
    t->slots[1].bytes = 128;
    t->steps[0].kind = TORT_STEP_CONVERT;
}

static void expect_layout_found(const char *words, void (*damage)(tiny_plan *t)) {
    tiny_plan t;
    tort_error error = {.msg = ""};
    make_converted(&t);
    damage(&t);
    cr_expect_eq(check(&t, &error), TORT_E_INTERNAL, "%s", words);
    cr_expect(strstr(error.msg, words), "%s, not: %s", words, error.msg);
}

static void beyond(tiny_plan *t) {
    t->slots[1].layout = 2;
}
static void below(tiny_plan *t) {
    t->slots[1].layout = -1;
}
static void input_in_layout(tiny_plan *t) {
    t->slots[0].layout = 1;
}
static void output_in_layout(tiny_plan *t) {
    t->slots[2].layout = 1;
}
static void too_small(tiny_plan *t) {
    t->slots[1].bytes = 32;
}
static void another_value(tiny_plan *t) {
    t->slots[1].value = 1;
}
static void both_plain(tiny_plan *t) {
    t->slots[1].layout = 0;
    t->slots[1].bytes = 64;
}
static void by_nobody(tiny_plan *t) {
    t->steps[0].provider = -1;
}
static void copied(tiny_plan *t) {
    t->steps[0].kind = TORT_STEP_COPY;
}
static void called_with(tiny_plan *t) {
    t->steps[1].kind = TORT_STEP_CALL;
}
static void asked_for_a_shape(tiny_plan *t) {
    t->steps[1].shape_operands = 1;
    t->steps[1].shape_count = 1;
}
static void aliased(tiny_plan *t) {
    t->slots[2].home = TORT_HOME_ALIAS;
    t->slots[2].source = 1;
    t->slots[1].last_step = 2;
}
static void viewed(tiny_plan *t) {
    t->steps[1].kind = TORT_STEP_VIEW;
    t->steps[1].scratch_bytes = 0;
    t->slots[1].bytes = 64;
    t->slots[2].offset = 0;
}
static void written_over(tiny_plan *t) {
    viewed(t);
    t->steps[1].kind = TORT_STEP_KERNEL;
    t->steps[1].in_place = 1;
}

Test(plan_check, damage_to_layouts_is_found) {
    tiny_plan t;
    tort_error error = {.msg = ""};
    make_converted(&t);
    cr_expect_eq(check(&t, &error), TORT_OK, "%s", error.msg);
    expect_layout_found("layout of slot 1", beyond);
    expect_layout_found("layout of slot 1", below);
    expect_layout_found("layout of slot 0", input_in_layout);
    expect_layout_found("layout of output 0", output_in_layout);
    expect_layout_found("size of slot 1", too_small);
    expect_layout_found("what is converted by step 0", another_value);
    expect_layout_found("what is converted by step 0", both_plain);
    expect_layout_found("what is converted by step 0", by_nobody);
    expect_layout_found("layouts of the operands of step 0", copied);
    expect_layout_found("layouts of the operands of step 1", called_with);
    expect_layout_found("layouts of the operands of step 1", asked_for_a_shape);
    expect_layout_found("layout of what is aliased by slot 2", aliased);
    expect_layout_found("layouts of the operands of step 1", viewed);
    expect_layout_found("written over in step 1", written_over);
}

Test(plan_check, damage_to_outputs_is_found) {
    EXPECT_FOUND("output 0", t.output = 3);
    EXPECT_FOUND("output's own", t.slots[2].output = -1);
    EXPECT_FOUND("life time of output 0", t.slots[2].last_step = 1);
}

/* ---- very many --------------------------------------------------------------------------------------------------- */

/* A fan lives at one time as a whole, beyond what is looked at pair by pair: it lies side by side, without a hole. */
Test(memplan, a_fan_of_blocks_that_all_meet_is_packed) {
    enum { COUNT = 5000 };
    tort_env env = default_env();
    tort_block *blocks = calloc(COUNT, sizeof *blocks);
    for (int32_t i = 0; i < COUNT; i++) blocks[i] = (tort_block){.bytes = 64, .first = i, .last = COUNT};
    cr_expect_eq(tort_memory_plan(&env, blocks, COUNT, 64, &(uint32_t){0}), 64 * COUNT);
    free(blocks);
}

Test(memplan, many_blocks_never_collide) {
    enum { COUNT = 3000 };
    tort_env env = default_env();
    tort_block *blocks = calloc(COUNT, sizeof *blocks);
    srand(11);
    for (int32_t i = 0; i < COUNT; i++) {
        const int32_t first = rand() % 2000, life = i % 3 ? rand() % 5 : rand() % 2000;
        blocks[i] = (tort_block){.bytes = (uint64_t)(rand() % 5000), .first = first, .last = first + life};
    }
    const uint64_t total = tort_memory_plan(&env, blocks, COUNT, 64, &(uint32_t){0});
    for (int32_t i = 0; i < COUNT; i++) {
        cr_assert_leq(blocks[i].offset + blocks[i].bytes, total);
        for (int32_t k = 0; k < i; k++) cr_assert_not(overlap(&blocks[i], &blocks[k]), "%d and %d", i, k);
    }
    free(blocks);
}
