/* halves.c - conversions between float and float16 or bfloat16, on all threads, also as an operator: Cast.
 *
 * Read next: simd/halves.c, widened.c. */
#include "kernels/cpu/halves.h"

#define BLOCK 8192      /* minimum of elements that a thread converts */
#define BLOCK_TIME 1000 /* nanoseconds, for elements in the L2 cache */

void tort_halves_widen(const tort_simd *simd, tort_type type, const void *halves, float *floats, int64_t count) {
    (type == TORT_FLOAT16 ? simd->from_float16 : simd->from_bfloat16)(halves, floats, count);
}

void tort_halves_narrow(const tort_simd *simd, tort_type type, const float *floats, void *halves, int64_t count) {
    (type == TORT_FLOAT16 ? simd->to_float16 : simd->to_bfloat16)(floats, halves, count);
}

typedef struct convert_job {
    const tort_simd *simd;
    const tort_halves *list;
    bool widen;
} convert_job;

static int64_t blocks_of(const tort_halves *h) {
    return (h->count + BLOCK - 1) / BLOCK;
}

/* Converts blocks, counted over all arrays of the list. */
static void convert_blocks(void *arg, int64_t begin, int64_t end) {
    const convert_job *job = arg;
    const tort_halves *h = job->list;
    int64_t before = 0; /* blocks of the arrays before h */
    for (int64_t block = begin; block < end; block++) {
        for (; block >= before + blocks_of(h); h++) before += blocks_of(h);
        const int64_t first = (block - before) * BLOCK, left = h->count - first;
        const int64_t count = left < BLOCK ? left : BLOCK;
        uint16_t *halves = (uint16_t *)h->halves + first;
        if (job->widen)
            tort_halves_widen(job->simd, h->type, halves, h->floats + first, count);
        else
            tort_halves_narrow(job->simd, h->type, h->floats + first, halves, count);
    }
}

void tort_halves_convert(const tort_call *call, bool widen, const tort_halves *list, int32_t list_count) {
    convert_job job = {.simd = ((const tort_cpu_device *)call->device)->simd, .list = list, .widen = widen};
    int64_t blocks = 0;
    for (int32_t i = 0; i < list_count; i++) blocks += blocks_of(&list[i]);
    tort_parallel(call, blocks, BLOCK_TIME, convert_blocks, &job);
}

/* ---- Cast -------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    const tort_type from = node->inputs[0].type, to = node->outputs[0].type;
    if (!(tort_is_half(from) && to == TORT_FLOAT) && !(from == TORT_FLOAT && tort_is_half(to)))
        return tort_no(TORT_NO_TYPE, "", "is for float16 or bfloat16 and float, this is from %s to %s",
                       tort_type_name(from), tort_type_name(to));
    return tort_cpu_claim_processor(target);
}

static tort_status run_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const bool widen = tort_is_half(x->type);
    const tort_halves cast = {.type = widen ? x->type : y->type,
                              .halves = widen ? x->data : y->data,
                              .floats = widen ? y->data : x->data,
                              .count = tort_count(x)};
    tort_halves_convert(call, widen, &cast, 1);
    return TORT_OK;
}

const tort_kernel tort_cpu_halves[] = {
    {"", "Cast", "cast_halves", .claim = claim_cast, .run = run_cast},
    {"", "CastLike", "cast_halves", .claim = claim_cast, .run = run_cast},
    {.op = NULL},
};
