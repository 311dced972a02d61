/* softmax.cu - Softmax and LogSoftmax by the stable formula exp(x - max) / sum exp(x - max), in three sweeps over a
 * lane: maximum, sum, result. 16-bit floats are computed in float and rounded once. A lane that holds NaN or +inf,
 * or only -inf, becomes NaN, as in ops/softmax.c.
 *
 * The threads of a line of a block, several lines if lanes are short, take each contiguous lane and hold it in
 * registers, so that the sweeps read memory once. Of a longer lane maximum and sum take one sweep: each thread corrects
 * its sum once a pack, for the largest number so far (Milakov and Gimelshein 2018, "Online normalizer calculation for
 * softmax"), and leaves what it cannot hold in shared memory for the result. A thread takes each strided lane, and
 * neighbouring threads read neighbouring elements. Cost: one read and one write per element, if the lane fits in the
 * registers or the shared memory of a block, else two reads; 2 exp per element (LogSoftmax: 1).
 * Example: 50,257 halves are 98 KiB: 512 threads hold 8,192 of them in registers. Rows of 50,257 do not begin at packs:
 * the first and the last pack of each are partly of its neighbours, and read and written one by one. Read first:
 * softmax.c, row.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/row.h"
#include "kernels/cuda/softmax.h"

/* ---- kernels ---- */

/* The sum's effect on each element, computed once per lane because division and logarithm are slow. */
template <bool logarithm, class C> static __device__ __forceinline__ C divisor(C sum) {
    return logarithm ? log(sum) : (C)1 / sum;
}
template <bool logarithm, class C> static __device__ __forceinline__ C normalized(C x, C largest, C by) {
    return logarithm ? x - largest - by : exponential(x - largest) * by;
}

/* Adds exp(value - largest) of a pack to the sum, relative to the largest value so far. NaN and +inf make the sum NaN;
 * -inf adds nothing: relative to 0, as long as nothing else has come. */
template <int SIZE, class C> static __device__ __forceinline__ void take(const C *values, C *largest, C *sum) {
    C max = *largest;
#pragma unroll
    for (int j = 0; j < SIZE; j++) max = fmax(max, values[j]);
    const C base = max == -(C)INFINITY ? (C)0 : max;
    *sum *= exponential(*largest - base);
#pragma unroll
    for (int j = 0; j < SIZE; j++) *sum += exponential(values[j] - base);
    *largest = max;
}

/* Rows that a line of a block holds: blockDim.y of them at a time. */
template <bool logarithm, int SIZE, class T>
static __global__ void softmax_rows(const T *x, T *y, size_t count, size_t length, bool aligned) {
    after_previous();
    typedef typename computed<T>::type C;
    __shared__ C lines[BLOCK_MAX_WARPS];
    C *const shared = lines + threadIdx.y * (blockDim.x / 32);
    for (size_t first = (size_t)blockIdx.x * blockDim.y; first < count; first += (size_t)gridDim.x * blockDim.y) {
        const size_t i = first + threadIdx.y;
        const bool there = i < count; /* else the line only comes to the barriers */
        held_row<T, SIZE> row({x + i * length, aligned}, there ? length : 0);
        C largest = -(C)INFINITY, sum = 0;
        row.each_held([&](const C &value) { largest = fmax(largest, value); });
        largest = block_join<join_max>(largest, shared);
        row.each_held([&](C &value) {
            const C below = value - largest, power = exponential(below);
            sum += power;
            value = logarithm ? below : power;
        });
        const C by = divisor<logarithm>(block_join<join_sum>(sum, shared));
        row.write_held(y + i * length, [&](size_t, C *values) {
#pragma unroll
            for (int k = 0; k < SIZE; k++) values[k] = logarithm ? values[k] - by : values[k] * by;
        });
    }
}

enum { LONG_ROW_THREADS = 512 };

/* A row as a source of held_row, of which each pack that a thread reads is left in `copy`, unless that is NULL. EDGES:
 * rows are no multiples of packs; each begins in the pack in which the one before ends, and what is not of the row
 * counts as -inf. */
template <class T, int SIZE, int EDGES_> struct copied_row {
    enum { EDGES = EDGES_ };
    typedef typename computed<T>::type C;
    const T *data;
    T *copy;
    bool aligned;
    size_t first, last; /* the row's elements, counted from its first pack */

    __device__ __forceinline__ bool has(size_t i) const {
        return i >= first && i < last;
    }
    __device__ __forceinline__ bool is_whole(size_t i) const {
        return i >= first && i + SIZE <= last;
    }
    __device__ __forceinline__ pack<T, SIZE> load(size_t i) const {
        if constexpr (EDGES)
            if (!is_whole(i)) {
                pack<T, SIZE> edge;
#pragma unroll
                for (int j = 0; j < SIZE; j++) edge.at[j] = has(i + j) ? data[i + j] : (T)-INFINITY;
                return edge;
            }
        return load_neighbours<SIZE>(data + i, aligned);
    }
    __device__ __forceinline__ void read(size_t i, C *values) const {
        const pack<T, SIZE> read = load(i);
        if (copy) store_pack<SIZE>(copy + i, read);
#pragma unroll
        for (int j = 0; j < SIZE; j++) values[j] = (C)read.at[j];
    }
};

/* `copied`: the dynamic shared memory has room for a row. A thread reads only its own elements there.
 * Two blocks a multiprocessor would spill logarithms of rows with edges on sm_100 and sm_120. */
template <bool logarithm, int SIZE, int EDGES, class T>
static __global__ void __launch_bounds__(LONG_ROW_THREADS, sizeof(T) <= 4 && !(EDGES && logarithm) ? 2 : 1)
    softmax_long_rows(const T *x, T *y, size_t count, size_t length, bool aligned, bool copied) {
    after_previous();
    typedef typename computed<T>::type C;
    __shared__ C shared[LONG_ROW_THREADS / 32];
    for (size_t i = blockIdx.x; i < count; i += gridDim.x) {
        const size_t before = EDGES ? i * length % SIZE : 0, whole = (before + length + SIZE - 1) / SIZE * SIZE;
        held_row<T, SIZE, copied_row<T, SIZE, EDGES>> row(
            {x + i * length - before, NULL, aligned, before, before + length}, EDGES ? whole : length);
        if (copied) row.source.copy = dynamic_shared<T>();
        C own = -(C)INFINITY, sum = 0;
        row.each_pack([&](const C *values) { take<SIZE>(values, &own, &sum); });
        const C largest = block_join<join_max>(own, shared);
        if (own != largest) sum *= exponential(own - largest);
        const C by = divisor<logarithm>(block_join<join_sum>(sum, shared));
        if (copied) row.source.data = row.source.copy;
        row.source.copy = NULL;
        row.write_long(y + i * length - before, [&](size_t, C *values) {
#pragma unroll
            for (int k = 0; k < SIZE; k++) values[k] = normalized<logarithm>(values[k], largest, by);
        });
    }
}

template <bool logarithm, class T>
static __global__ void softmax_lanes(const T *x, T *y, size_t count, size_t length, size_t inner) {
    after_previous();
    typedef typename computed<T>::type C;
    for (size_t lane = grid_first(); lane < count; lane += grid_stride()) {
        const size_t first = lane / inner * length * inner + lane % inner;
        C largest = -(C)INFINITY, sum = 0;
        for (size_t i = 0; i < length; i++) largest = fmax(largest, (C)x[first + i * inner]);
        for (size_t i = 0; i < length; i++) sum += exponential((C)x[first + i * inner] - largest);
        const C by = divisor<logarithm>(sum);
        for (size_t i = 0; i < length; i++)
            y[first + i * inner] = (T)normalized<logarithm>((C)x[first + i * inner], largest, by);
    }
}

/* ---- launchers ---- */

enum { MIN_BLOCKS = 512 }; /* some for each multiprocessor */

/* Shared memory that a block has for a row, beside what it joins by. */
template <class T> static cudaError_t max_row_bytes(size_t *bytes) {
    unsigned available = 0;
    const cudaError_t code = max_dynamic_shared(&available);
    *bytes = available - LONG_ROW_THREADS / 32 * sizeof(typename computed<T>::type);
    return code;
}

/* Rows that no block can hold. */
template <bool logarithm, int SIZE, int EDGES, class T>
static cudaError_t run_long_rows(gpu_stream stream, const T *x, T *y, size_t count, size_t length, bool aligned) {
    const size_t staged = EDGES ? (length / SIZE + 2) * SIZE : length; /* at most, with both edges */
    size_t room;
    const cudaError_t code = max_row_bytes<T>(&room);
    const bool copied = length > (size_t)held_row<T, SIZE>::HELD * LONG_ROW_THREADS && staged <= room / sizeof(T);
    if (code != cudaSuccess) return code;
    return launch_overlapping(softmax_long_rows<logarithm, SIZE, EDGES, T>, grid_extent(count), LONG_ROW_THREADS,
                              copied ? staged * sizeof(T) : 0, stream, x, y, count, length, aligned, copied);
}

template <bool logarithm, int SIZE, class T>
static cudaError_t run_rows(gpu_stream stream, const T *x, T *y, size_t count, size_t length) {
    enum { PACK = pack_size<T>::VALUE };
    const unsigned threads = block_threads(length / held_row<T, SIZE>::HELD);
    const bool aligned = SIZE == 1 || both_aligned<SIZE>(x, y),
               held = (size_t)held_row<T, SIZE>::HELD * threads >= length;
    if (!held) return run_long_rows<logarithm, PACK, SIZE == 1>(stream, x, y, count, length, both_aligned<PACK>(x, y));
    const unsigned lines = lines_of(count, threads, MIN_BLOCKS);
    return launch_overlapping(softmax_rows<logarithm, SIZE, T>, grid_extent((count + lines - 1) / lines),
                              dim3(threads, lines), 0, stream, x, y, count, length, aligned);
}

template <bool logarithm, class T>
static cudaError_t run(gpu_stream stream, const void *x, void *y, size_t outer, size_t length, size_t inner) {
    enum { PACK = pack_size<T>::VALUE };
    if (inner == 1 && length % PACK == 0) return run_rows<logarithm, PACK>(stream, (const T *)x, (T *)y, outer, length);
    if (inner == 1) return run_rows<logarithm, 1>(stream, (const T *)x, (T *)y, outer, length);
    return launch_overlapping(softmax_lanes<logarithm, T>, grid_blocks(outer * inner), GRID_THREADS, 0, stream,
                              (const T *)x, (T *)y, outer * inner, length, inner);
}

template <bool logarithm, class T> static cudaError_t load() {
    enum { PACK = pack_size<T>::VALUE };
    size_t room;
    cudaError_t code = max_row_bytes<T>(&room);
    if (code == cudaSuccess) code = load_kernel(softmax_rows<logarithm, PACK, T>);
    if (code == cudaSuccess) code = load_kernel(softmax_rows<logarithm, 1, T>);
    if (code == cudaSuccess) code = allow_dynamic_shared(softmax_long_rows<logarithm, PACK, 0, T>, room);
    if (code == cudaSuccess) code = allow_dynamic_shared(softmax_long_rows<logarithm, PACK, 1, T>, room);
    return code == cudaSuccess ? load_kernel(softmax_lanes<logarithm, T>) : code;
}

cudaError_t gpu_run_softmax(gpu_stream stream, gpu_type type, bool logarithm, const void *x, void *y, size_t outer,
                            size_t length, size_t inner) {
    if (!outer || !length || !inner) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return logarithm ? run<true, T>(stream, x, y, outer, length, inner)
                         : run<false, T>(stream, x, y, outer, length, inner);
    });
}

cudaError_t gpu_load_softmax(gpu_type type, bool logarithm) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return logarithm ? load<true, T>() : load<false, T>();
    });
}
