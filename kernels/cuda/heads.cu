/* heads.cu - lays out the queries, keys and values of attention operators, a row per warp. Read
 * first: heads.c, ops/heads_rows.c (the meaning). */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/heads.h"
#include "kernels/cuda/index.h"

enum { QUERY, KEY, VALUE, WARPS = 4 };

/* For a batch: the number of keys taken from the past, and the position of the first new one. */
struct heads_span {
    int64_t past, before;
    bool valid;
};

/* Returns the span of a batch. An invalid length is reported; then nothing of the past is read, and no cache changes.
 */
static __device__ __forceinline__ heads_span span_of(const gpu_heads &h, int64_t batch) {
    const tort_heads_params &p = h.params;
    if (!h.lengths) return {h.past_count, h.past_count, true};
    const int64_t total = (int64_t)h.lengths[batch] + 1, before = h.past_key && !h.first ? total - p.queries : 0,
                  past = p.new_keys == 0 ? total : before;
    if (total >= 1 && total <= h.longest && before >= 0 && past <= p.past_length && total <= past + p.new_keys)
        return {past, before, true};
    report_fault((gpu_status *)h.status, h.node, GPU_FAULT_RANGE, total - 1, (size_t)batch, h.longest - 1);
    return {0, 0, false};
}

static __device__ __forceinline__ int64_t rotary_row(const gpu_heads &h, int64_t batch, int64_t position,
                                                     int64_t before) {
    const int64_t place = batch * h.params.queries + position;
    int64_t row = before + position;
    if (h.positions) row = h.first ? h.positions[0] + position : h.positions[place];
    if (row >= 0 && row < h.params.cache_length) return row;
    report_fault((gpu_status *)h.status, h.node, GPU_FAULT_RANGE, row, (size_t)place, h.params.cache_length - 1);
    return 0;
}

/* A new row: its elements with their biases. */
template <class T> struct fresh_row {
    const T *x, *bias; /* bias NULL: none */

    __device__ __forceinline__ float at(int64_t i) const {
        return (float)x[i] + (bias ? (float)bias[i] : 0.0f);
    }
    /* Returns element i of the row, rotated. */
    __device__ __forceinline__ float rotated(const gpu_heads &h, int64_t row, int64_t i) const {
        const int64_t half_ = h.params.rotated / 2;
        const bool interleaved = h.params.interleaved, second = interleaved ? i % 2 : i >= half_;
        const int64_t pair = interleaved ? i / 2 : i % half_, step = interleaved ? 1 : half_;
        const float cosine = (float)((const T *)h.cosines)[row * half_ + pair],
                    sine = (float)((const T *)h.sines)[row * half_ + pair];
        return second ? at(i - step) * sine + at(i) * cosine : at(i) * cosine - at(i + step) * sine;
    }
};

template <class T>
static __device__ __forceinline__ void make_row(const gpu_heads &h, int which, int64_t batch, int64_t head,
                                                int64_t position, int64_t before, T *to) {
    const tort_heads_params &p = h.params;
    const tort_heads_rows &rows = which == QUERY ? p.query : which == KEY ? p.key : p.value;
    const int64_t size = which == VALUE ? p.value_size : p.key_size, bias = p.bias_offsets[which];
    const T *data = (const T *)(which == QUERY ? h.query : which == KEY ? h.key : h.value);
    const fresh_row<T> row = {data + rows.offset + batch * rows.strides.batch + head * rows.strides.head +
                                  position * rows.strides.position,
                              h.bias && bias >= 0 ? (const T *)h.bias + bias + head * size : NULL};
    const int64_t rotated = which == VALUE ? 0 : p.rotated,
                  angle = rotated ? rotary_row(h, batch, position, before) : 0;
    for (int64_t i = threadIdx.x % 32; i < size; i += 32)
        to[i] = (T)(i < rotated ? row.rotated(h, angle, i) : row.at(i));
}

/* Copies a row of the past; beyond the new rows, whatever the past has there, or zeros. */
template <class T>
static __device__ __forceinline__ void keep_row(const gpu_heads &h, int which, int64_t batch, int64_t head,
                                                int64_t position, bool zero, T *to) {
    const tort_heads_rows &rows = which == KEY ? h.params.past_key : h.params.past_value;
    const int64_t size = which == VALUE ? h.params.value_size : h.params.key_size;
    const T *from = (const T *)(which == KEY ? h.past_key : h.past_value) + rows.offset + batch * rows.strides.batch +
                    head * rows.strides.head + position * rows.strides.position;
    for (int64_t i = threadIdx.x % 32; i < size; i += 32) to[i] = zero ? (T)0.0f : from[i];
}

/* Positions of a head that are written: all of its room, or the new ones of a buffer that has the past. */
static __host__ __device__ __forceinline__ int64_t written_length(const gpu_heads &h, const void *room, bool stays) {
    return !room ? 0 : stays ? h.params.new_keys : h.room_length;
}

template <class T> static __global__ void lay_out_heads(const gpu_heads h, int64_t query_rows, int64_t rows) {
    after_previous();
    const tort_heads_params &p = h.params;
    const int64_t key_length = written_length(h, h.key_room, h.key_stays),
                  value_length = written_length(h, h.value_room, h.value_stays),
                  value_first = query_rows + p.batch * p.key_heads * key_length;
    for (int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; i < rows; i += (int64_t)gridDim.x * WARPS) {
        const int which = i < query_rows ? QUERY : i < value_first ? KEY : VALUE;
        const int64_t heads = which == QUERY ? p.query_heads : p.key_heads,
                      length = which == QUERY ? p.queries
                               : which == KEY ? key_length
                                              : value_length,
                      at = which == QUERY ? i : i - (which == KEY ? query_rows : value_first);
        const int64_t head = at / length % heads, batch = at / length / heads;
        const heads_span span = span_of(h, batch);
        const bool stays = which == KEY ? h.key_stays : which == VALUE && h.value_stays;
        if (stays && !span.valid) continue;
        const int64_t position = at % length + (stays ? span.past : 0), room = which == QUERY ? length : h.room_length;
        T *to = (T *)(which == QUERY ? h.query_room
                      : which == KEY ? h.key_room
                                     : h.value_room) +
                ((batch * heads + head) * room + position) * (which == VALUE ? p.value_size : p.key_size);
        const int64_t fresh = which == QUERY ? position : position - span.past;
        if (fresh >= 0 && (which == QUERY || fresh < p.new_keys))
            make_row<T>(h, which, batch, head, fresh, span.before, to);
        else
            keep_row<T>(h, which, batch, head, position, fresh >= 0 && (p.zero_rest || !h.past_key), to);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_heads *h) {
    const tort_heads_params &p = h->params;
    const int64_t queries = h->query_room ? p.batch * p.query_heads * p.queries : 0,
                  written =
                      written_length(*h, h->key_room, h->key_stays) + written_length(*h, h->value_room, h->value_stays),
                  rows = queries + p.batch * p.key_heads * written;
    if (!rows) return cudaSuccess;
    return launch_overlapping(lay_out_heads<T>, grid_extent((size_t)(rows + WARPS - 1) / WARPS), WARPS * 32, 0, stream,
                              *h, queries, rows);
}

cudaError_t gpu_lay_out_heads(gpu_stream stream, gpu_attend_type type, const gpu_heads *h) {
    switch (type) {
    case GPU_ATTEND_FLOAT: return run<float>(stream, h);
    case GPU_ATTEND_HALF: return run<half>(stream, h);
    default: return run<nv_bfloat16>(stream, h);
    }
}

cudaError_t gpu_load_heads(gpu_attend_type type) {
    switch (type) {
    case GPU_ATTEND_FLOAT: return load_kernel(lay_out_heads<float>);
    case GPU_ATTEND_HALF: return load_kernel(lay_out_heads<half>);
    default: return load_kernel(lay_out_heads<nv_bfloat16>);
    }
}
