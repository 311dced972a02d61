/* move.cu - data movement: boxes between strided layouts, and filling. Elements are moved by size, whatever their
 * type.
 *
 * Memory-bound: neighbouring threads write neighbouring elements, and also read neighbours: directly, or through a
 * tile in shared memory if the source is contiguous along another dimension. Read first: move.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/divisor.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/move.h"
#include "kernels/cuda/pack.h"

typedef pack<uint32_t, 4> bytes16;

/* ---- kernels ---- */

/* A box whose elements are each stored `repeats` times, `repeat_stride` apart; 1: once. */
struct repeated_box {
    gpu_box box;
    size_t count; /* pieces of work of threads: an element, and up to MAX_REPEATS places */
    gpu_divisor divisors[GPU_BOX_RANK];
    int64_t repeats, repeat_stride;
};
enum { MAX_REPEATS = 16 }; /* reads are then a sixteenth of writes, and threads still many */

template <class T> static __global__ void copy_box(T *dst, const T *src, const repeated_box r) {
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        uint64_t rest = i;
        int64_t to = 0, from = 0;
        for (int k = r.box.rank - 1; k >= 0; k--) {
            uint64_t at = rest;
            rest = divide(&at, r.divisors[k], r.count);
            to += (int64_t)at * r.box.dst_strides[k];
            from += (int64_t)at * r.box.src_strides[k];
        }
        const T value = load_vector(src + from);
        const int64_t first = (int64_t)rest * MAX_REPEATS, left = r.repeats - first;
        for (int64_t k = first; k < first + (left < MAX_REPEATS ? left : (int64_t)MAX_REPEATS); k++)
            store_vector(dst + to + k * r.repeat_stride, value);
    }
}

/* Side of a tile in elements: each thread moves 16 small ones, which is enough loads in flight, and amortizes the
 * divisions for indices. */
template <class T> struct side_of {
    enum { VALUE = sizeof(T) <= 4 ? 64 : 32 };
};
template <int SIDE> static __host__ __device__ __forceinline__ size_t tiles_along(int64_t dim) {
    return (size_t)(dim + SIDE - 1) / SIDE;
}

/* A tile: its first element in both layouts, and how much of it there is. */
struct tile_place {
    int64_t to, from, columns, rows;
};

/* Tile number i of dimensions `last` (columns) and `across` (rows), SIDE of each. */
template <int SIDE>
static __device__ __forceinline__ tile_place place_of_tile(const gpu_box &box, int across, size_t i, bool is_small) {
    const int last = box.rank - 1;
    size_t column_tile = i, row_tile = divide(&column_tile, tiles_along<SIDE>(box.dims[last]), is_small);
    size_t rest = divide(&row_tile, tiles_along<SIDE>(box.dims[across]), is_small);
    const int64_t column = (int64_t)column_tile * SIDE, row = (int64_t)row_tile * SIDE;
    tile_place place = {row * box.dst_strides[across] + column, row + column * box.src_strides[last],
                        box.dims[last] - column, box.dims[across] - row};
    for (int k = last - 1; k >= 0; k--) {
        if (k == across) continue;
        size_t at = rest;
        rest = divide(&at, (size_t)box.dims[k], is_small);
        place.to += (int64_t)at * box.dst_strides[k];
        place.from += (int64_t)at * box.src_strides[k];
    }
    return place;
}

/* Moves `count` tiles. dst is contiguous along the last dimension, src along `across`: a tile of the two is read
 * along the one and written along the other. Rows are padded by a word, so that the elements of a column are in
 * different banks. */
template <class T> static __global__ void copy_tiles(T *dst, const T *src, gpu_box box, int across, size_t count) {
    enum { SIDE = side_of<T>::VALUE, ROWS = GRID_THREADS / SIDE };
    __shared__ T tile[SIDE][SIDE + (sizeof(T) < 4 ? 4 / sizeof(T) : 1)];
    const int last = box.rank - 1, lane = (int)threadIdx.x % SIDE;
    for (size_t i = blockIdx.x; i < count; i += gridDim.x) {
        const tile_place at = place_of_tile<SIDE>(box, across, i, count <= UINT32_MAX);
#pragma unroll
        for (int k = (int)threadIdx.x / SIDE; k < SIDE; k += ROWS)
            if (lane < at.rows && k < at.columns) tile[k][lane] = src[at.from + k * box.src_strides[last] + lane];
        __syncthreads();
#pragma unroll
        for (int k = (int)threadIdx.x / SIDE; k < SIDE; k += ROWS)
            if (lane < at.columns && k < at.rows) dst[at.to + k * box.dst_strides[across] + lane] = tile[lane][k];
        __syncthreads();
    }
}

/* The same for elements of 16 bits, two at a time: a thread reads two pairs below each other and leaves them as pairs
 * beside each other. All extents and strides are even, and pairs aligned. */
static __global__ void __launch_bounds__(GRID_THREADS, 4)
    copy_pairs(uint16_t *dst, const uint16_t *src, gpu_box box, int across, size_t count) {
    enum { SIDE = side_of<uint16_t>::VALUE, PAIRS = SIDE / 2, ROWS = GRID_THREADS / PAIRS };
    __shared__ uint32_t tile[SIDE][PAIRS + 1];
    const int last = box.rank - 1, pair = (int)threadIdx.x % PAIRS;
    const int64_t below = box.src_strides[last];
    for (size_t i = blockIdx.x; i < count; i += gridDim.x) {
        const tile_place at = place_of_tile<SIDE>(box, across, i, count <= UINT32_MAX);
#pragma unroll
        for (int k = (int)threadIdx.x / PAIRS; k < PAIRS; k += ROWS)
            if (2 * pair < at.rows && 2 * k < at.columns) {
                const uint16_t *from = src + at.from + 2 * k * below + 2 * pair;
                const uint32_t low = load_vector((const uint32_t *)from),
                               high = load_vector((const uint32_t *)(from + below));
                tile[2 * pair][k] = (low & 0xffff) | high << 16;
                tile[2 * pair + 1][k] = low >> 16 | (high & 0xffff0000);
            }
        __syncthreads();
#pragma unroll
        for (int k = (int)threadIdx.x / PAIRS; k < SIDE; k += ROWS)
            if (2 * pair < at.columns && k < at.rows)
                store_vector((uint32_t *)(dst + at.to + k * box.dst_strides[across] + 2 * pair), tile[k][pair]);
        __syncthreads();
    }
}

/* first: elements of T, not bytes. */
template <class T> static __global__ void join_rows(const gpu_joined_rows j, gpu_divisor row_elements, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        uint64_t at = i;
        const uint64_t row = divide(&at, row_elements, count);
        int part = 0;
        while (at >= j.first[part + 1]) part++;
        const size_t first = j.first[part], length = j.first[part + 1] - first;
        store_vector((T *)j.y + i, load_vector((const T *)j.parts[part] + row * length + (at - first)));
    }
}

template <class T> static __global__ void fill(T *dst, size_t count, T value) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) dst[i] = value;
}

/* ---- launchers ---- */

static size_t elements(const gpu_box *box) {
    size_t count = 1;
    for (int k = 0; k < box->rank; k++) count *= (size_t)box->dims[k];
    return count;
}

/* Returns the dimension along which src is contiguous, if both sides are long enough for tiles; otherwise -1. */
static int dimension_across(const gpu_box *box) {
    enum { LEAST = 8 };
    const int last = box->rank - 1;
    const bool across_helps = box->src_strides[last] != 1 && box->src_strides[last] != 0;
    if (box->dst_strides[last] != 1 || !across_helps || box->dims[last] < LEAST) return -1;
    for (int k = 0; k < last; k++)
        if (box->src_strides[k] == 1 && box->dims[k] >= LEAST) return k;
    return -1;
}

/* Makes the longest dimension along which src is one element, but the last, the repeats. */
static repeated_box repeated(const gpu_box *box) {
    repeated_box r = {*box, 0, {}, 1, 0};
    int longest = -1;
    for (int k = 0; k < box->rank - 1; k++)
        if (box->src_strides[k] == 0 && (longest < 0 || box->dims[k] > box->dims[longest])) longest = k;
    if (longest >= 0) {
        r.repeats = box->dims[longest];
        r.repeat_stride = box->dst_strides[longest];
        r.box.dims[longest] = 1;
    }
    r.count = elements(&r.box) * (size_t)((r.repeats + MAX_REPEATS - 1) / MAX_REPEATS);
    for (int k = 0; k < box->rank; k++) r.divisors[k] = gpu_divisor_of(r.box.dims[k], r.count);
    return r;
}

template <class T> static cudaError_t run_box(gpu_stream stream, void *dst, const void *src, const gpu_box *box) {
    const repeated_box r = repeated(box);
    return launch(copy_box<T>, grid_blocks(r.count), GRID_THREADS, 0, stream, (T *)dst, (const T *)src, r);
}

/* True if a box of 16-bit elements is one of pairs along both dimensions. */
static bool is_paired(const gpu_box *box, int across, const void *dst, const void *src) {
    const int last = box->rank - 1;
    bool even = ((uintptr_t)dst | (uintptr_t)src) % 4 == 0 && box->dims[last] % 2 == 0 && box->dims[across] % 2 == 0;
    for (int k = 0; k < box->rank; k++)
        even = even && (k == last || box->dst_strides[k] % 2 == 0) && (k == across || box->src_strides[k] % 2 == 0);
    return even;
}

template <class T> static cudaError_t run(gpu_stream stream, void *dst, const void *src, const gpu_box *box) {
    enum { SIDE = side_of<T>::VALUE };
    const int across = dimension_across(box);
    if (across < 0) return run_box<T>(stream, dst, src, box);
    const int64_t rows = box->dims[across], columns = box->dims[box->rank - 1];
    const size_t tiles =
        elements(box) / (size_t)(rows * columns) * tiles_along<SIDE>(rows) * tiles_along<SIDE>(columns);
    void (*kernel)(T *, const T *, gpu_box, int, size_t) = copy_tiles<T>;
    if constexpr (sizeof(T) == 2)
        if (is_paired(box, across, dst, src)) kernel = copy_pairs;
    return launch(kernel, grid_extent(tiles), GRID_THREADS, 0, stream, (T *)dst, (const T *)src, *box, across, tiles);
}

template <class T> static cudaError_t load() {
    cudaError_t code = load_kernel(copy_box<T>);
    if (code == cudaSuccess && sizeof(T) == 2) code = load_kernel(copy_pairs);
    return code == cudaSuccess ? load_kernel(copy_tiles<T>) : code;
}

/* If possible, makes the box one of elements twice as large; otherwise false. */
static bool widen(gpu_box *box, int element_bytes, const void *dst, const void *src) {
    const int last = box->rank - 1;
    bool even = ((uintptr_t)dst | (uintptr_t)src) % (2 * (size_t)element_bytes) == 0 && box->dims[last] % 2 == 0 &&
                box->dst_strides[last] == 1 && box->src_strides[last] == 1;
    for (int k = 0; k < last; k++) even = even && box->dst_strides[k] % 2 == 0 && box->src_strides[k] % 2 == 0;
    if (!even) return false;
    box->dims[last] /= 2;
    for (int k = 0; k < last; k++) {
        box->dst_strides[k] /= 2;
        box->src_strides[k] /= 2;
    }
    return true;
}

cudaError_t gpu_copy_box(gpu_stream stream, int element_bytes, void *dst, const void *src, const gpu_box *box) {
    gpu_box wide = *box;
    while (element_bytes < 16 && widen(&wide, element_bytes, dst, src)) element_bytes *= 2;
    if (element_bytes == 16) return run_box<bytes16>(stream, dst, src, &wide);
    return for_bytes(element_bytes, [&](auto zero) { return run<decltype(zero)>(stream, dst, src, &wide); });
}

/* Loads the kernels for elements of this size and those to which they may be widened. */
cudaError_t gpu_load_copy_box(int element_bytes) {
    cudaError_t code = load_kernel(copy_box<bytes16>);
    if (code == cudaSuccess) code = load<uint64_t>();
    if (code == cudaSuccess && element_bytes <= 4) code = load<uint32_t>();
    if (code == cudaSuccess && element_bytes <= 2) code = load<uint16_t>();
    if (code == cudaSuccess && element_bytes <= 1) code = load<uint8_t>();
    return code;
}

/* Calls use(T()) for elements of a size and those they may be widened to. */
template <class Use> static cudaError_t for_wide(int bytes, Use use) {
    return bytes == 16 ? use(bytes16()) : for_bytes(bytes, use);
}

/* Bytes of the largest element of which all rows of all parts consist. */
static int widest(const gpu_joined_rows *j, int element_bytes) {
    uintptr_t places = (uintptr_t)j->y;
    for (int i = 0; i < j->count; i++) places |= (uintptr_t)j->parts[i] | j->first[i + 1];
    while (element_bytes < 16 && places % (2 * (uintptr_t)element_bytes) == 0) element_bytes *= 2;
    return element_bytes;
}

cudaError_t gpu_join_rows(gpu_stream stream, int element_bytes, const gpu_joined_rows *joined) {
    const int bytes = widest(joined, element_bytes);
    gpu_joined_rows j = *joined;
    for (int i = 0; i <= j.count; i++) j.first[i] /= (size_t)bytes;
    const size_t row = j.first[j.count], count = j.rows * row;
    return for_wide(bytes, [=](auto zero) {
        return launch(join_rows<decltype(zero)>, grid_blocks(count), GRID_THREADS, 0, stream, j,
                      gpu_divisor_of((int64_t)row, count), count);
    });
}

cudaError_t gpu_load_join_rows(int element_bytes) {
    cudaError_t code = cudaSuccess;
    for (int bytes = element_bytes; bytes <= 16 && code == cudaSuccess; bytes *= 2)
        code = for_wide(bytes, [](auto zero) { return load_kernel(join_rows<decltype(zero)>); });
    return code;
}

template <class T> static cudaError_t run_fill(gpu_stream stream, void *dst, size_t count, const void *value) {
    if (!count) return cudaSuccess;
    return launch(fill<T>, grid_blocks(count), GRID_THREADS, 0, stream, (T *)dst, count, *(const T *)value);
}

cudaError_t gpu_fill(gpu_stream stream, int element_bytes, void *dst, size_t count, const void *value) {
    return for_bytes(element_bytes, [=](auto zero) { return run_fill<decltype(zero)>(stream, dst, count, value); });
}

cudaError_t gpu_load_fill(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(fill<decltype(zero)>); });
}
