/* move.c - Transpose, DepthToSpace and SpaceToDepth: planes are transposed by square tiles, and pixels of a few
 * channels dealt out.
 *
 * Permutations of another kind go to the plain mover (ops/strided.h). Elements are moved by size, whatever
 * their type. Vectors have 16 bytes, which every instruction set supports. */
#include "kernels/cpu/cpu.h"
#include "ops/strided.h"

#include <string.h>

enum { SIDE = 16 }; /* of a tile */

/* Moves a tile (rows, columns) whose columns are contiguous in the destination; in the source rows are contiguous,
 * and columns are from_stride apart. */
typedef void (*tile_mover)(char *to, int64_t to_stride, const char *from, int64_t from_stride);

/* Needed for an array of vectors to stay in registers. */
#define UNROLL _Pragma("GCC unroll 16")

/* Defines a mover. Interleaving the halves of a list of n vectors log2(n) times transposes it. */
#define TILE(name, ctype, lanes, low, high)                                                                            \
    typedef ctype name##_vector __attribute__((vector_size(16), aligned(1), may_alias));                               \
    static inline __attribute__((always_inline)) void name##_stage(name##_vector *v) {                                 \
        name##_vector next[lanes];                                                                                     \
        UNROLL for (int i = 0; i < lanes / 2; i++) {                                                                   \
            next[2 * i] = __builtin_shufflevector(v[i], v[i + lanes / 2], low);                                        \
            next[2 * i + 1] = __builtin_shufflevector(v[i], v[i + lanes / 2], high);                                   \
        }                                                                                                              \
        UNROLL for (int i = 0; i < lanes; i++) v[i] = next[i];                                                         \
    }                                                                                                                  \
    static void name##_tile(char *to, int64_t to_stride, const char *from, int64_t from_stride) {                      \
        for (int64_t y = 0; y < SIDE; y += lanes)                                                                      \
            for (int64_t x = 0; x < SIDE; x += lanes) {                                                                \
                const char *read = from + x * from_stride + y * (int64_t)sizeof(ctype);                                \
                char *write = to + y * to_stride + x * (int64_t)sizeof(ctype);                                         \
                name##_vector v[lanes];                                                                                \
                UNROLL for (int i = 0; i < lanes; i++) v[i] =                                                          \
                    *(const name##_vector *)(const void *)(read + i * from_stride);                                    \
                UNROLL for (int stage = 1; stage < lanes; stage *= 2) name##_stage(v);                                 \
                UNROLL for (int i = 0; i < lanes; i++) * (name##_vector *)(void *)(write + i * to_stride) = v[i];      \
            }                                                                                                          \
    }
#define LOW_2 0, 2
#define HIGH_2 1, 3
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
TILE(bytes1, uint8_t, 16, LOW_16, HIGH_16)
TILE(bytes2, uint16_t, 8, LOW_8, HIGH_8)
TILE(bytes4, uint32_t, 4, LOW_4, HIGH_4)
TILE(bytes8, uint64_t, 2, LOW_2, HIGH_2)

static tile_mover tile_mover_of(int bits) {
    switch (bits) {
    case 8: return bytes1_tile;
    case 16: return bytes2_tile;
    case 32: return bytes4_tile;
    case 64: return bytes8_tile;
    default: return NULL;
    }
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* A job of planes: tiles follow each other along the longer side of a plane, in bands across it. */
typedef struct move_job {
    tile_mover tile;
    tort_box box; /* the dimensions besides the plane */
    int64_t rows, columns;
    bool rows_are_long;
    int64_t across;                 /* the shorter side, in rows or columns */
    int64_t to_stride, from_stride; /* bytes from a row of `to` to the next, and from a column of `from` to the next */
    int64_t size;                   /* bytes of an element */
    char *to;
    const char *from;
} move_job;

/* Returns the start of a tile. The last tile ends at the edge, overlapping the one before it. */
static int64_t tile_start(int64_t tile, int64_t length) {
    return (tile + 1) * SIDE <= length ? tile * SIDE : length - SIDE;
}

static void move_band(const move_job *job, int64_t band, int64_t to_first, int64_t from_first) {
    const int64_t start = tile_start(band, job->across), length = job->rows_are_long ? job->rows : job->columns;
    for (int64_t tile = 0; tile * SIDE < length; tile++) {
        const int64_t along = tile_start(tile, length);
        const int64_t row = job->rows_are_long ? along : start, column = job->rows_are_long ? start : along;
        job->tile(job->to + (to_first + column) * job->size + row * job->to_stride, job->to_stride,
                  job->from + (from_first + row) * job->size + column * job->from_stride, job->from_stride);
    }
}

/* Moves bands. The last band of a plane overlaps the one before it and writes the same bytes; one thread does both,
 * so that there is no race. */
static void move_planes(void *arg, int64_t begin, int64_t end) {
    const move_job *job = arg;
    const tort_box *box = &job->box;
    const int64_t whole = job->across / SIDE; /* bands that do not overlap */
    for (int64_t item = begin; item < end; item++) {
        int64_t rest = item / whole, to = box->dst_first, from = box->src_first;
        const int64_t band = item % whole;
        for (int32_t d = box->rank - 1; d >= 0; d--) {
            to += rest % box->dims[d] * box->dst_strides[d];
            from += rest % box->dims[d] * box->src_strides[d];
            rest /= box->dims[d];
        }
        move_band(job, band, to, from);
        if (band == whole - 1 && job->across % SIDE) move_band(job, whole, to, from);
    }
}

/* Returns a dimension of stride 1 that is at least as long as a tile; -1: none. */
static int32_t neighbours(const tort_box *box, const int64_t *strides) {
    for (int32_t d = 0; d < box->rank; d++)
        if (strides[d] == 1 && box->dims[d] >= SIDE) return d;
    return -1;
}

/* ---- pixels of a few channels ------------------------------------------------------------------------------------ */

enum { HANDS = 4, DEALT = 4096 }; /* maximum channels of a pixel; pixels that are dealt at a time */

typedef struct deal_job {
    const tort_simd *simd;
    tort_box box;          /* the dimensions besides pixels and channels */
    int64_t pixels, hands; /* hands: channels */
    int64_t stride;        /* elements from a channel to the next in `to` */
    int64_t size;          /* bytes of an element: 1 or 4 */
    char *to;
    const char *from;
} deal_job;

static void deal_pixels(void *arg, int64_t begin, int64_t end) {
    const deal_job *job = arg;
    const tort_box *box = &job->box;
    const int64_t parts = (job->pixels + DEALT - 1) / DEALT;
    for (int64_t item = begin; item < end; item++) {
        const int64_t pixel = item % parts * DEALT, count = tort_min(DEALT, job->pixels - pixel);
        int64_t rest = item / parts, to = box->dst_first + pixel, from = box->src_first + pixel * job->hands;
        for (int32_t d = box->rank - 1; d >= 0; d--) {
            to += rest % box->dims[d] * box->dst_strides[d];
            from += rest % box->dims[d] * box->src_strides[d];
            rest /= box->dims[d];
        }
        if (job->size == 1)
            job->simd->deal_bytes((const uint8_t *)job->from + from, count, job->hands, (uint8_t *)job->to + to,
                                  job->stride);
        else
            job->simd->deal((const float *)(const void *)job->from + from, count, job->hands,
                            (float *)(void *)job->to + to, job->stride);
    }
}

/* Moves a box of pixels whose channels are contiguous in the source, and whose pixels are in the destination. False: it
 * is none. */
static bool move_pixels(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    deal_job job = {.simd = ((const tort_cpu_device *)call->device)->simd,
                    .box = {.dst_first = box->dst_first, .src_first = box->src_first},
                    .size = tort_type_bits(type) / 8,
                    .to = dst,
                    .from = src};
    int64_t boxes = 1;
    int32_t channels = -1, pixels = -1;
    for (int32_t d = 0; d < box->rank; d++) {
        if (box->src_strides[d] == 1 && box->dims[d] <= HANDS) channels = d;
        if (box->dst_strides[d] == 1 && box->dims[d] >= SIDE) pixels = d;
    }
    if (channels < 0 || pixels < 0 || box->src_strides[pixels] != box->dims[channels]) return false;
    if (tort_type_bits(type) != 8 && tort_type_bits(type) != 32) return false;
    for (int32_t d = 0; d < box->rank; d++) {
        if (d == channels || d == pixels) continue;
        tort_box_add(&job.box, box->dims[d], box->dst_strides[d], box->src_strides[d]);
        boxes *= box->dims[d];
    }
    job.hands = box->dims[channels];
    job.stride = box->dst_strides[channels];
    job.pixels = box->dims[pixels];
    tort_parallel(call, boxes * ((job.pixels + DEALT - 1) / DEALT), tort_min(job.pixels, DEALT) / 4 + 10, deal_pixels,
                  &job);
    return true;
}

static tort_status move_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *given) {
    tort_box box;
    move_job job = {
        .tile = tile_mover_of(tort_type_bits(type)), .size = tort_type_bits(type) / 8, .to = dst, .from = src};
    if (!tort_box_simplify(given, &box) || move_pixels(call, type, dst, src, &box)) return TORT_OK;
    const int32_t column = neighbours(&box, box.dst_strides), row = neighbours(&box, box.src_strides);
    if (!job.tile || column < 0 || row < 0 || column == row) return tort_copy_box(call, type, dst, src, given);
    int64_t planes = 1;
    job.box = (tort_box){.dst_first = box.dst_first, .src_first = box.src_first};
    for (int32_t d = 0; d < box.rank; d++) {
        if (d == column || d == row) continue;
        tort_box_add(&job.box, box.dims[d], box.dst_strides[d], box.src_strides[d]);
        planes *= box.dims[d];
    }
    job.rows = box.dims[row];
    job.columns = box.dims[column];
    job.to_stride = box.dst_strides[row] * job.size;
    job.from_stride = box.src_strides[column] * job.size;
    job.rows_are_long = job.rows >= job.columns;
    job.across = job.rows_are_long ? job.columns : job.rows;
    const int64_t length = job.rows_are_long ? job.rows : job.columns;
    tort_parallel(call, planes * (job.across / SIDE), length * SIDE / 4, move_planes, &job);
    return TORT_OK;
}

enum { TRANSPOSE, DEPTH_TO_SPACE, SPACE_TO_DEPTH }; /* the variants of the rows */

static tort_status run(const tort_call *call) {
    if (call->kernel->variant == DEPTH_TO_SPACE) return tort_move_depth_to_space(call, move_box);
    if (call->kernel->variant == SPACE_TO_DEPTH) return tort_move_space_to_depth(call, move_box);
    return tort_move_transpose(call, move_box);
}

static tort_verdict claim_bytes(const tort_target *target, const tort_node_view *node) {
    if (tile_mover_of(tort_type_bits(node->inputs[0].type))) return tort_cpu_claim_processor(target);
    return tort_no(TORT_NO_TYPE, "", "is for elements of 1, 2, 4 or 8 bytes, those of %s are not",
                   tort_type_name(node->inputs[0].type));
}

const tort_kernel tort_cpu_move[] = {
    {"", "Transpose", "move_tiles", .claim = claim_bytes, .run = run, .variant = TRANSPOSE},
    {"", "DepthToSpace", "move_tiles", .claim = claim_bytes, .run = run, .variant = DEPTH_TO_SPACE},
    {"", "SpaceToDepth", "move_tiles", .claim = claim_bytes, .run = run, .variant = SPACE_TO_DEPTH},
    {.op = NULL},
};
