/* attend.c - the choice of tiles and parts (attend.h), and functions that the rows of all attention operators share.
 *
 * A tile has as many queries as a block multiplies at a time. If few queries meet many keys (a decoder's next
 * token), the keys are divided among blocks until each multiprocessor has two, as in Flash-Decoding (Dao et al.
 * 2023); heads that share their keys (grouped-query attention) are then rows of one tile, so that a key is read once
 * for all of them.
 * Example: one query of 32 heads with 8 key heads and 4096 keys, on 108 multiprocessors: 8 tiles with 4 rows each,
 * the keys in 22 parts of 192, so 176 blocks instead of 8. */
#include "kernels/cuda/attend.h"

#include "kernels/cuda/images.h"
#include "runtime/core/base/memory.h"

/* Tiles by size of key or value: queries (GPU_ATTEND_ROWS on tensor cores), and a step of keys and values, must fit 64
 * KiB of shared memory, which sm_75 has; 96 in TF32. */
typedef struct attend_shape {
    int32_t size, step_half, step_tf32, rows_float, step_float;
} attend_shape;
static const attend_shape shapes[] = {{64, 64, 64, 64, 32}, {128, 64, 32, 32, 32}, {256, 16, 16, 32, 16}};

/* A part writes its sums to memory, which costs as much as reading some keys. It pays only with KEYS_A_QUERY times as
 * many keys as queries. */
enum { BLOCKS_A_PROCESSOR = 2, MIN_KEYS = 128, KEYS_A_QUERY = 4 };

static const attend_shape *shape_of(int64_t key_size, int64_t value_size) {
    const int64_t size = key_size > value_size ? key_size : value_size;
    const attend_shape *shape = shapes;
    while (shape->size < size && shape->size < GPU_ATTEND_SIZE) shape++;
    return shape;
}

static void divide_keys(gpu_attend_tiling *t, int64_t rows, int64_t keys, int64_t wanted) {
    const int64_t min = rows * KEYS_A_QUERY > MIN_KEYS ? rows * KEYS_A_QUERY : MIN_KEYS;
    const int64_t parts = t->tiles < 1 ? 1 : gpu_pieces(wanted, t->tiles), max = keys / min;
    if (parts < 2 || max < 2) return;
    t->part = gpu_pieces(gpu_pieces(keys, parts < max ? parts : max), t->step) * t->step;
    t->parts = (int32_t)gpu_pieces(keys, t->part); /* none of them empty */
    if (t->parts > 1) t->scratch = (size_t)(t->tiles * t->parts * t->rows) * (size_t)(t->size + 2) * sizeof(float);
}

gpu_attend_tiling tort_cuda_attend_tiling_of(gpu_board board, tort_type type, const gpu_attend *a) {
    const attend_shape *shape = shape_of(a->key_size, a->value_size);
    const gpu_attend_type by = gpu_attended_type_of(board, type);
    gpu_attend_tiling t = {.size = shape->size,
                           .rows = by == GPU_ATTEND_FLOAT ? shape->rows_float : GPU_ATTEND_ROWS,
                           .step = by == GPU_ATTEND_FLOAT  ? shape->step_float
                                   : by == GPU_ATTEND_TF32 ? shape->step_tf32
                                                           : shape->step_half,
                           .pack = 1,
                           .parts = 1,
                           .part = a->keys};
    if (a->group > 1 && a->queries <= t.rows / a->group) t.pack = (int32_t)a->group;
    t.down = gpu_pieces(a->queries * t.pack, t.rows);
    t.tiles = t.down * a->batch * (a->heads / t.pack);
    divide_keys(&t, t.down > 1 ? t.rows : a->queries * t.pack, a->keys,
                (int64_t)BLOCKS_A_PROCESSOR * board.multiprocessors);
    return t;
}

/* The number of parts never exceeds the number wanted, whatever the keys. */
size_t tort_cuda_attend_max_scratch(gpu_board board, tort_type type, const gpu_attend *a) {
    const gpu_attend_tiling t = tort_cuda_attend_tiling_of(board, type, a);
    const int64_t wanted = (int64_t)BLOCKS_A_PROCESSOR * board.multiprocessors;
    if (t.tiles < 1 || t.tiles >= wanted) return 0;
    return (size_t)(t.tiles * gpu_pieces(wanted, t.tiles) * t.rows) * (size_t)(t.size + 2) * sizeof(float);
}

bool tort_cuda_reserve_heads(size_t *end, size_t *at, int64_t batch, int64_t heads, int64_t length, int64_t size,
                             tort_type type) {
    enum { ALIGN = 256 };
    size_t bytes;
    if (!tort_mul_size((uint64_t)batch, (uint64_t)heads, &bytes) || !tort_mul_size(bytes, (uint64_t)length, &bytes) ||
        !tort_mul_size(bytes, (uint64_t)size, &bytes) ||
        !tort_mul_size(bytes, (uint64_t)cuda_element_bytes(type), &bytes) || !tort_align_size(*end, ALIGN, end))
        return false;
    *at = *end;
    return tort_add_size(*end, bytes, end);
}

tort_verdict tort_cuda_claim_attend_type(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    const int32_t code = tort_cuda_image_of((int32_t)target->instructions).code;
    if (type != TORT_FLOAT && type != TORT_FLOAT16 && type != TORT_BFLOAT16)
        return tort_cuda_no_type(node, 0, "float, float16 or bfloat16");
    if (type != TORT_BFLOAT16 || code >= 80) return tort_yes();
    return tort_no(TORT_NO_CAPABILITY, "make it float16 or float",
                   "bfloat16 is multiplied by tensor cores of sm_80 and newer; this device runs code for sm_%d",
                   (int)code);
}

tort_verdict tort_cuda_claim_attend(int64_t key_size, int64_t value_size) {
    if (key_size < 0 || value_size < 0)
        return tort_no(TORT_NO_DYNAMIC, "", "it is not known how many elements a key and a value have");
    if (key_size > GPU_ATTEND_SIZE || value_size > GPU_ATTEND_SIZE)
        return tort_no(TORT_NO_SHAPE, "", "keys have %lld elements and values %lld, the kernel takes up to %d",
                       (long long)key_size, (long long)value_size, GPU_ATTEND_SIZE);
    return tort_yes();
}

#ifdef CUDA_DEVICE
tort_status cuda_prepare_attend(tort_prepare *p, int64_t key_size, int64_t value_size) {
    const cuda_device *device = p->device;
    const gpu_attend_type type = gpu_attended_type_of(device->board, p->node->inputs[0].type);
    const int32_t size = shape_of(key_size, value_size)->size;
    return cuda_loaded(p, type == GPU_ATTEND_FLOAT ? gpu_load_attend_float(size) : gpu_load_attend_mma(type, size));
}

tort_status cuda_run_attend(const tort_call *call, const gpu_attend *attend, void *scratch) {
    const cuda_stream *stream = call->stream;
    const gpu_attend_type type = gpu_attended_type_of(stream->device->board, call->inputs[0].type);
    const gpu_attend_tiling tiling = tort_cuda_attend_tiling_of(stream->device->board, call->inputs[0].type, attend);
    const gpu_parts parts = {scratch, stream->arrivals};
    if (!tiling.tiles || !attend->value_size) return TORT_OK;
    return cuda_launched(call, type == GPU_ATTEND_FLOAT
                                   ? gpu_run_attend_float(cuda_stream_of(call), attend, &tiling, &parts)
                                   : gpu_run_attend_mma(cuda_stream_of(call), type, attend, &tiling, &parts));
}
#endif
