/* provider_attend.c - how attention divides keys among blocks, and what scratch that takes: memory must not grow with
 * the square of a sequence. Read first: provider_tester.h, kernels/cuda/attend.h. */
#include <stdio.h>

#include "kernels/cuda/attend.h"
#include "tests/cuda/provider_tester.h"

static const gpu_board board = {.capability = 90, .multiprocessors = 132};

static gpu_attend_tiling tiling_of(int64_t batch, int64_t heads, int64_t group, int64_t queries, int64_t keys) {
    const gpu_attend attend = {.batch = batch,
                               .heads = heads,
                               .group = group,
                               .queries = queries,
                               .keys = keys,
                               .key_size = 128,
                               .value_size = 128};
    return tort_cuda_attend_tiling_of(board, TORT_FLOAT16, &attend);
}

/* Scratch for two lengths: of a prompt there is none, of a token as much as the device's multiprocessors ask for. */
static void check_scratch(tester *t) {
    const gpu_attend_tiling prompt[] = {tiling_of(1, 32, 4, 2048, 2048), tiling_of(1, 32, 4, 16384, 16384)};
    const gpu_attend_tiling token[] = {tiling_of(1, 32, 4, 1, 8192), tiling_of(1, 32, 4, 1, 65536)};
    tester_check(t, prompt[0].scratch == 0 && prompt[1].scratch == 0, "attention", "a prompt takes scratch");
    tester_check(t, token[0].scratch > 0 && token[0].scratch == token[1].scratch, "attention",
                 "the scratch of a token grows with its past");
    tester_check(t, token[0].pack == 4 && token[0].tiles == 8, "attention", "heads of a group are not in one tile");
}

/* No key is left out, no part is empty, and a plan for the most keys has room for fewer. */
static void check_parts(tester *t) {
    for (int64_t keys = 1; keys < 5000; keys += 37)
        for (int64_t queries = 1; queries < 200; queries += 66) {
            const gpu_attend attend = {
                .batch = 1, .heads = 8, .group = 2, .queries = queries, .keys = 5000, .key_size = 64, .value_size = 64};
            gpu_attend fewer = attend;
            fewer.keys = keys;
            const gpu_attend_tiling found = tort_cuda_attend_tiling_of(board, TORT_FLOAT16, &fewer);
            char text[120];
            snprintf(text, sizeof text, "%d parts of %lld for %lld keys", (int)found.parts, (long long)found.part,
                     (long long)keys);
            tester_check(t,
                         found.part * found.parts >= keys && found.part * (found.parts - 1) < keys &&
                             (found.parts == 1 || found.part % found.step == 0),
                         "attention", text);
            tester_check(t, tort_cuda_attend_max_scratch(board, TORT_FLOAT16, &attend) >= found.scratch, "attention",
                         text);
            tester_check(t, found.parts == 1 || found.tiles <= GPU_ARRIVALS, "attention", "more tiles than counters");
        }
}

void provider_test_attend(tester *t) {
    check_scratch(t);
    check_parts(t);
}
