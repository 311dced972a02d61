/* hash.c - com.microsoft: MurmurHash3, the 32-bit variant (x86_32), of the bytes of every element. */
#include "ops/extent.h"

typedef struct hash_params {
    uint32_t seed;
} hash_params;

static tort_status infer_hash(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = tort_attr_int(infer->node, "positive") == 1 ? TORT_UINT32 : TORT_INT32;
    return TORT_OK;
}

static tort_status resolve_hash(tort_resolve *resolve) {
    hash_params *params = resolve->params;
    params->seed = (uint32_t)tort_attr_int(resolve->node, "seed");
    return TORT_OK;
}

static uint32_t rotate(uint32_t bits, int by) {
    return bits << by | bits >> (32 - by);
}

static uint32_t scramble(uint32_t block) {
    return rotate(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static uint32_t hash_of(const unsigned char *bytes, size_t length, uint32_t seed) {
    uint32_t hash = seed, block;
    size_t at = 0;
    for (; at + 4 <= length; at += 4) {
        memcpy(&block, bytes + at, 4);
        hash = rotate(hash ^ scramble(block), 13) * 5 + 0xe6546b64u;
    }
    block = 0;
    for (size_t i = length; i > at; i--) block = block << 8 | bytes[i - 1];
    hash ^= scramble(block);
    hash ^= (uint32_t)length;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static void hash_range(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_tensor *x = &call->inputs[0];
    const uint32_t seed = ((const hash_params *)call->params)->seed;
    const size_t size = (size_t)tort_type_bits(x->type) / 8;
    uint32_t *out = call->outputs[0].data;
    int64_t done = 0;
    for (int64_t i = begin; i < end; i++) {
        const tort_string *texts = x->data;
        const int64_t bytes = x->type == TORT_STRING ? (int64_t)texts[i].length : 8;
        if (!tort_work_goes_on(call->watch, &done, 4 + bytes / 4)) return;
        out[i] = x->type == TORT_STRING ? hash_of((const unsigned char *)texts[i].data, texts[i].length, seed)
                                        : hash_of((const unsigned char *)x->data + (size_t)i * size, size, seed);
    }
}

static tort_status run_hash(const tort_call *call) {
    tort_parallel(call, tort_count(&call->outputs[0]), 8, hash_range, (void *)call);
    return TORT_OK;
}

const tort_op tort_ops_microsoft_hash[] = {
    {"com.microsoft", "MurmurHash3", 1, 1, "X:T1", "Y:T2",
     "T1=uint32|int32|uint64|int64|float|double|string T2=uint32|int32", "positive:int=1 seed:int=0",
     .params_size = sizeof(hash_params), infer_hash, resolve_hash, run_hash},
    {0},
};
