/* attend.cuh - parts that attend_mma.cu and attend_float.cu share: which keys a query sees, how a product becomes a
 * score, and how parts of the keys are joined.
 *
 * Online softmax (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018): a query keeps its
 * largest score m so far, the sum of its weights 2^(s - m), and the weighted sum of values. Where a larger score m'
 * comes, both sums are multiplied by 2^(m - m'). So no score leaves the block, and any number of keys fits. Scores
 * are multiplied by log2(e), as GPUs have an instruction for 2^x. Parts are joined by the same rule.
 * Example: scores 1, then 3: sums (1, v1), then (1 * 2^-2 + 1, v1 * 2^-2 + v2). Read first: attend.h. */
#ifndef TORT_KERNELS_CUDA_ATTEND_CUH
#define TORT_KERNELS_CUDA_ATTEND_CUH

#include "kernels/cuda/gpu.h"

#include <float.h>

#include "kernels/cuda/attend.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/pack.h"
#include "ops/microsoft/heads.h"

enum { ATTEND_THREADS = 128 };

static const float LOG2_E = 1.44269504088896340736f;

/* Calls use(known<SIZE>()) for gpu_attend_tiling.size. */
template <class Use> static inline cudaError_t for_size(int32_t size, Use use) {
    switch (size) {
    case 64: return use(known<64>());
    case 128: return use(known<128>());
    default: return use(known<256>());
    }
}

/* ---- which tile ---- */

struct attend_place {
    int64_t tile, batch, head; /* batch and first head of the tile */
    int64_t first, last;       /* rows: (query, head of the pack) */
    int64_t from, to;          /* keys of the part */
};

static __device__ __forceinline__ attend_place place_of(const gpu_attend &a, const gpu_attend_tiling &t, int64_t tile) {
    const int64_t packs = a.heads / t.pack, matrix = tile / t.down, first = tile % t.down * t.rows;
    /* kept: computed again for each tile, instead of being held, and spilled on sm_75, from one tile to the next. */
    const int64_t from = kept(blockIdx.y) * t.part;
    return {tile,
            matrix / packs,
            matrix % packs * t.pack,
            first,
            min(first + t.rows, a.queries * t.pack),
            from,
            min(a.keys, from + t.part)};
}

static __device__ __forceinline__ int64_t key_offset(const gpu_attend &a, const tort_head_strides &s,
                                                     const attend_place &p) {
    return p.batch * s.batch + p.head / a.group * s.head;
}

/* Returns the query of a row. Packed rows are few: they are in one tile, so 32 bits suffice. */
static __device__ __forceinline__ int64_t query_of(const gpu_attend_tiling &t, int64_t row) {
    return t.pack == 1 ? row : (int64_t)((unsigned)row / (unsigned)t.pack);
}

/* Returns the offset of a row of the tile in q, y, mask or keep. */
static __device__ __forceinline__ int64_t row_offset(const gpu_attend_tiling &t, const tort_head_strides &s,
                                                     const attend_place &p, int64_t row) {
    const int64_t query = query_of(t, row), head = p.head + (row - query * t.pack);
    return p.batch * s.batch + head * s.head + query * s.position;
}

/* ---- which keys ---- */

struct key_span {
    int64_t first, last; /* keys first..last */
};

/* Returns the number of valid keys of a batch; if it is out of range it is reported, and 0. */
static __device__ __forceinline__ int64_t valid_keys(const gpu_attend &a, int64_t batch) {
    if (!a.valid && !a.lengths) return a.keys;
    const int64_t valid = a.valid ? a.valid[batch] : (int64_t)a.lengths[batch] + 1;
    if (valid >= 0 && valid <= a.keys) return valid;
    report_fault((gpu_status *)a.status, a.node, GPU_FAULT_RANGE, valid, (size_t)batch, a.keys);
    return 0;
}

static __device__ __forceinline__ key_span span_of(const gpu_attend &a, int64_t valid, int64_t query) {
    const int64_t at = query + (a.from_end ? valid - a.queries : a.before);
    key_span span = {0, min(valid, a.end)};
    if (a.causal && !(a.last_sees_all && query == a.queries - 1)) span.last = min(span.last, at + 1);
    if (a.right >= 0) span.last = min(span.last, at + a.right + 1);
    if (span.last < 0) span.last = 0;
    if (a.left >= 0) span.first = max(a.lengths ? span.last - a.left : at - a.left, (int64_t)0);
    return span;
}

/* Order of the steps of a part's keys. First come the simple steps: all queries of the tile see all of their keys,
 * and scores are only scaled. Then the steps before and after them. */
template <int STEP> struct key_walk {
    int first, simple, rest; /* numbers of steps, counted from key 0: of the first step, of the first simple one, of the
                                first after those */
    int simple_count, count;
    int64_t last; /* no query sees keys from here on */

    __device__ __forceinline__ key_walk(const gpu_attend &a, const gpu_attend_tiling &t, const attend_place &p,
                                        bool is_simple) {
        const int64_t valid = valid_keys(a, p.batch);
        const key_span top = span_of(a, valid, query_of(t, p.first)),
                       bottom = span_of(a, valid, query_of(t, p.last - 1));
        last = min(p.to, a.causal_adds ? a.keys : bottom.last);
        first = (int)(max(p.from, top.first) / STEP);
        count = max((int)((last + STEP - 1) / STEP) - first, 0);
        simple = max(first, (int)((bottom.first + STEP - 1) / STEP));
        rest = (int)(min(last, top.last) / STEP);
        if (!is_simple || !count || rest < simple) simple = rest = first;
        simple_count = rest - simple;
    }
    /* Returns the number of the i-th step. */
    __device__ __forceinline__ int step(int i) const {
        if (i < simple_count) return simple + i;
        return i - simple_count < simple - first ? first + i - simple_count : first + i;
    }
};

/* ---- scores ---- */

/* A row of the tile: the keys it sees, and offsets. */
struct attend_row {
    key_span span;
    int64_t mask, keep, marks; /* offsets of its elements; marks: the batch if marks are intervals */
};

static __device__ __forceinline__ void describe_rows(const gpu_attend &a, const gpu_attend_tiling &t,
                                                     const attend_place &p, attend_row *rows) {
    const int64_t valid = valid_keys(a, p.batch);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < t.rows; i += ATTEND_THREADS) {
        const int64_t row = p.first + i;
        rows[i] = {{0, 0}, 0, 0, 0};
        if (row >= p.last) continue;
        rows[i] = {span_of(a, valid, query_of(t, row)), row_offset(t, a.mask_strides, p, row),
                   row_offset(t, a.keep_strides, p, row),
                   a.mark_kind == TORT_HEADS_ELEMENTS ? a.mark_offset + row_offset(t, a.mark_strides, p, row)
                                                      : p.batch};
    }
}

static __device__ __forceinline__ float mask_at(const gpu_attend &a, int64_t i) {
    switch (a.mask_type) {
    case GPU_ATTEND_FLOAT: return ((const float *)a.mask)[i];
    case GPU_ATTEND_HALF: return (float)((const half *)a.mask)[i];
    default: return (float)((const nv_bfloat16 *)a.mask)[i];
    }
}

static __device__ __forceinline__ bool is_marked(const gpu_attend &a, const attend_row &row, int64_t key) {
    if (a.mark_kind == TORT_HEADS_ELEMENTS) return a.marks[row.marks + key * a.mark_strides.element] <= 0;
    return key >= a.marks[row.marks] || (a.mark_kind == TORT_HEADS_INTERVAL && key < a.marks[a.batch + row.marks]);
}

static __device__ __forceinline__ float score_of(const gpu_attend &a, const attend_row &row, int64_t key,
                                                 float product) {
    const bool hidden = key < row.span.first || key >= row.span.last;
    if (hidden && !(a.causal_adds && key < a.keys)) return -INFINITY;
    float score = product * a.scale;
    if (a.softcap > 0) /* tanh(x) = 1 - 2 / (e^2x + 1) */
        score = a.softcap * (1.0f - 2.0f / (exp2f(score / a.softcap * 2.0f * LOG2_E) + 1.0f));
    if (a.keep && (a.keep[row.keep + key * a.keep_strides.element] != 0) != a.keep_where) score = a.fill;
    if (a.mask) score += mask_at(a, row.mask + key * a.mask_strides.element);
    if (hidden)
        score += -FLT_MAX;
    else if (a.marks && is_marked(a, row, key))
        score += a.marked;
    const float power = score * LOG2_E; /* very low floats stay finite: such keys count if there are no others */
    return power == -INFINITY && score != -INFINITY ? -FLT_MAX : power;
}

/* Returns the place of a product in shared memory, permuted by XOR so that the rows of a warp are in different
 * banks. */
template <int STEP> static __device__ __forceinline__ int score_place(int row, int column) {
    return row * STEP + (column ^ (row * 8 & (STEP - 8)));
}

/* Turns the products of a warp's rows into scores. Neighbouring lanes take neighbouring keys, whose mask elements
 * are contiguous. */
template <int STEP, int WARP_ROWS>
static __device__ __forceinline__ void score_rows(const gpu_attend &a, const attend_row *rows, int64_t first_key,
                                                  float *products) {
    __syncwarp();
#pragma unroll 1
    for (int i = (int)threadIdx.x % 32; i < WARP_ROWS * STEP; i += 32) {
        float *at = products + score_place<STEP>(i / STEP, i % STEP);
        *at = score_of(a, rows[i / STEP], first_key + i % STEP, *at);
    }
    __syncwarp();
}

/* ---- softmax ---- */

/* Returns the score that weights are relative to: 0 as long as no key was seen, since -inf - -inf would be NaN. */
static __device__ __forceinline__ float shift_of(float largest) {
    return largest == -INFINITY ? 0.0f : largest;
}

/* Returns the factor that turns a sum of weighted values into the result: 1 / sum of weights, or 0. */
static __device__ __forceinline__ float factor_of(const gpu_attend &a, float sum) {
    if (a.keys == 0 || (a.empty == GPU_ATTEND_EMPTY_IS_ZERO && sum == 0.0f)) return 0.0f;
    if (a.empty == GPU_ATTEND_NAN_IS_ZERO && !(sum > 0.0f)) return 0.0f;
    return 1.0f / sum;
}

/* A factor of 0 gives 0 even for NaN. */
static __device__ __forceinline__ float scaled(float sum, float factor) {
    return factor == 0.0f ? 0.0f : sum * factor;
}

/* ---- parts ---- */

/* Returns a row of a part: `size` sums, then the largest score and the sum of the weights. */
static __device__ __forceinline__ float *part_row(const gpu_attend_tiling &t, const gpu_parts &parts, int64_t tile,
                                                  int64_t part, int row) {
    return parts.sums + ((tile * t.parts + part) * t.rows + row) * (t.size + 2);
}

/* Joins the parts of a tile, in the block that arrives last. The order of parts is fixed, so results do not depend
 * on which block that is. */
template <class T>
static __device__ __forceinline__ void join_keys(const gpu_attend &a, const gpu_attend_tiling &t,
                                                 const gpu_parts &parts, const attend_place &p) {
    if (!last_to_arrive(parts.arrivals + p.tile, (unsigned)t.parts, dynamic_shared<unsigned>())) return;
    const int rows = (int)(p.last - p.first), count = rows * (int)a.value_size;
    const int64_t stride = (int64_t)t.rows * (t.size + 2);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count; i += ATTEND_THREADS) {
        const int row = i / (int)a.value_size, column = i % (int)a.value_size;
        const float *const first = part_row(t, parts, p.tile, 0, row);
        float largest = -INFINITY, total = 0.0f, sum = 0.0f;
#pragma unroll 1
        for (int part = 0; part < t.parts; part++) largest = fmaxf(largest, first[part * stride + t.size]);
        const float shift = shift_of(largest);
#pragma unroll 1
        for (int part = 0; part < t.parts; part++) {
            const float *at = first + part * stride, weight = exp2f(at[t.size] - shift);
            total += weight * at[t.size + 1];
            sum += weight * at[column];
        }
        T *y = (T *)a.y + row_offset(t, a.y_strides, p, p.first + row);
        y[column * a.y_strides.element] = (T)scaled(sum, factor_of(a, total));
    }
}

/* ---- launchers ---- */

/* True if every row consists of aligned pieces of 16 bytes. */
template <class T> static inline bool rows_of_pieces(const void *data, const tort_head_strides &s, int64_t size) {
    const int64_t piece = 16 / (int64_t)sizeof(T);
    return (uintptr_t)data % 16 == 0 && s.element == 1 && s.batch % piece == 0 && s.head % piece == 0 &&
           s.position % piece == 0 && size % piece == 0;
}

/* True if a score is just a product times a positive number, wherever the query sees the key. */
static inline bool is_simple(const gpu_attend *a) {
    return !a->mask && !a->keep && !a->marks && !(a->softcap > 0) && a->scale > 0;
}

#endif
