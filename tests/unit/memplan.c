/* memplan.c - tests of the memory planner, a pure function of life times. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/plan.h"

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
    cr_expect_eq(tort_memory_plan(&env, blocks, 2, 64), 128);
    cr_expect_eq(blocks[0].offset, blocks[1].offset);
}

Test(memplan, blocks_that_meet_do_not) {
    tort_env env = default_env();
    tort_block blocks[] = {{.bytes = 100, .first = 0, .last = 2}, {.bytes = 100, .first = 2, .last = 3}};
    cr_expect_eq(tort_memory_plan(&env, blocks, 2, 64), 256);
}

Test(memplan, a_chain_needs_its_two_largest_neighbours) {
    tort_env env = default_env();
    tort_block blocks[20];
    for (int32_t i = 0; i < 20; i++) blocks[i] = (tort_block){.bytes = 64, .first = i, .last = i + 1};
    cr_expect_eq(tort_memory_plan(&env, blocks, 20, 64), 128);
}

Test(memplan, nothing_and_empty_blocks) {
    tort_env env = default_env();
    tort_block block = {.bytes = 0, .first = 0, .last = 0};
    cr_expect_eq(tort_memory_plan(&env, NULL, 0, 64), 0);
    cr_expect_eq(tort_memory_plan(&env, &block, 1, 64), 0);
}

Test(memplan, overflow_is_told) {
    tort_env env = default_env();
    tort_block block = {.bytes = UINT64_MAX - 1, .first = 0, .last = 0};
    cr_expect_eq(tort_memory_plan(&env, &block, 1, 64), UINT64_MAX);
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
        uint64_t total = tort_memory_plan(&env, blocks, 60, 256);
        cr_expect_leq(total, naive);
        for (int i = 0; i < 60; i++) {
            cr_expect_eq(blocks[i].offset % 256, 0);
            cr_expect_leq(blocks[i].offset + blocks[i].bytes, total);
            for (int k = 0; k < i; k++)
                cr_expect_not(overlap(&blocks[i], &blocks[k]), "round %d: %d and %d", round, i, k);
        }
    }
}

/* ---- plan_check: every kind of damage is found ------------------------------------------------------------------- */

/* Two steps over three slots: input -> a -> b, in host memory. */
typedef struct tiny_plan {
    tort_slot slots[3];
    tort_step steps[2];
    int32_t operands[4], input, output;
    uint64_t arena[1], naive[1];
    tort_plan plan;
} tiny_plan;

static void make_tiny(tiny_plan *t) {
    *t = (tiny_plan){.operands = {0, 1, 1, 2}, .input = 0, .output = 2, .arena = {256}};
    for (int32_t i = 0; i < 3; i++)
        t->slots[i] = (tort_slot){.value = i,
                                  .home = i ? TORT_HOME_ARENA : TORT_HOME_INPUT,
                                  .type = TORT_FLOAT,
                                  .rank = 1,
                                  .dims = {16},
                                  .bytes = 64,
                                  .offset = i == 2 ? 128 : 0,
                                  .first_step = i ? i - 1 : 0,
                                  .last_step = i};
    for (int32_t i = 0; i < 2; i++)
        t->steps[i] = (tort_step){.kind = TORT_STEP_KERNEL,
                                  .node = i,
                                  .operands = 2 * i,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .shape_operands = -1};
    t->plan = (tort_plan){.complete = true,
                          .slots = t->slots,
                          .steps = t->steps,
                          .operands = t->operands,
                          .input_slots = &t->input,
                          .output_slots = &t->output,
                          .slot_count = 3,
                          .step_count = 2,
                          .operand_count = 4,
                          .input_count = 1,
                          .output_count = 1,
                          .memory_count = 2,
                          .arena_bytes = t->arena,
                          .naive_bytes = t->naive};
}

static tort_status check(const tiny_plan *t) {
    tort_env env = default_env();
    return tort_plan_check(&env, &t->plan, NULL);
}

Test(plan_check, a_sound_plan_passes) {
    tiny_plan t;
    make_tiny(&t);
    cr_expect_eq(check(&t), TORT_OK);
}

Test(plan_check, every_damage_is_found) {
    tiny_plan t;
    make_tiny(&t), t.slots[2].offset = 1024;
    cr_expect_neq(check(&t), TORT_OK, "offset out of the arena");
    make_tiny(&t), t.slots[2].offset = 8;
    cr_expect_neq(check(&t), TORT_OK, "misaligned");
    make_tiny(&t), t.slots[2].offset = 0;
    cr_expect_neq(check(&t), TORT_OK, "two live values at one place");
    make_tiny(&t), t.slots[1].bytes = -1;
    cr_expect_neq(check(&t), TORT_OK, "unknown size in the arena");
    make_tiny(&t), t.slots[1].memory = 7;
    cr_expect_neq(check(&t), TORT_OK, "no such memory");
    make_tiny(&t), t.slots[0].source = 3;
    cr_expect_neq(check(&t), TORT_OK, "no such input");
    make_tiny(&t), t.operands[2] = 9;
    cr_expect_neq(check(&t), TORT_OK, "no such slot");
    make_tiny(&t), t.operands[0] = 2;
    cr_expect_neq(check(&t), TORT_OK, "read before it is made");
    make_tiny(&t), t.steps[1].operands = 3;
    cr_expect_neq(check(&t), TORT_OK, "operands behind the end");
    make_tiny(&t), t.steps[1].provider = 5;
    cr_expect_neq(check(&t), TORT_OK, "no such provider");
    make_tiny(&t), t.output = 3;
    cr_expect_neq(check(&t), TORT_OK, "no such output");
    make_tiny(&t), t.slots[2].home = TORT_HOME_ALIAS, t.slots[2].source = 2;
    cr_expect_neq(check(&t), TORT_OK, "alias of itself");
}
