/* reduce.cu - reductions over any axes. Floats are added in float with compensation (Kahan 1965): a thread carries
 * the low bits that each addition loses, so its share of a long sum has the error of a few roundings. Doubles are
 * added in double, integers in 64 bits that wrap, or in double for roots and logarithms.
 *
 * Two forms. Rows: one block per output, whose threads read neighbouring elements and join by shuffles. Columns, if
 * the last dimension is kept: a block computes 32 neighbouring outputs, each summed by 8 rows of threads; where there
 * are few columns, blocks share their elements, and the last to arrive joins the shares in their order. Both read
 * packs of 16 bytes where neighbours are contiguous and rows are multiples of packs, whether aligned or not, so that
 * sums have the same bits at any address. Read first: reduce.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/any_number.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row.h"

#include <type_traits>

#define COLUMNS 32
#define SLICES 8
#define AHEAD 8
#define PACK_COLUMNS (GPU_REDUCE_BYTES / 16) /* columns of packs, and slices of a block that reads packs */
#define PACK_SLICES GPU_REDUCE_SLICES

/* ---- what is done with an element ---- */

/* Accumulator of elements of T, with the identities of maximum and minimum. */
template <class T> struct accumulator {
    typedef typename std::conditional<(T)-1 < (T)0, int64_t, uint64_t>::type type;
    static constexpr type lowest = (T)-1 < (T)0 ? (type)(~(uint64_t)0 << (sizeof(T) * 8 - 1)) : (type)0;
    static constexpr type highest = (T)-1 < (T)0 ? ~lowest : (type)UINT64_MAX;
};
template <class A> struct real_accumulator {
    typedef A type;
    static constexpr A lowest = -(A)INFINITY, highest = (A)INFINITY;
};
template <> struct accumulator<float> : real_accumulator<float> {};
template <> struct accumulator<half> : real_accumulator<float> {};
template <> struct accumulator<bfloat16> : real_accumulator<float> {};
template <> struct accumulator<double> : real_accumulator<double> {};

/* Element types and their accumulators: double for in_double, the default for in_own. */
template <class T> struct in_double {
    typedef T element;
    typedef real_accumulator<double> limits;
};
template <class T> struct in_own {
    typedef T element;
    typedef accumulator<T> limits;
};

template <class L, class K> static __device__ __forceinline__ typename L::type identity(K kind) {
    typedef typename L::type A;
    return kind == GPU_REDUCE_MAX ? L::lowest : kind == GPU_REDUCE_MIN ? L::highest : (A)(kind == GPU_REDUCE_PROD);
}

/* Joins two totals. NaN wins in maxima and minima (x != x). Unsigned arithmetic wraps. */
template <class K> struct join {
    K kind;
    template <class A> __device__ __forceinline__ A of(A a, A b) const {
        switch (kind) {
        case GPU_REDUCE_MAX: return a >= b || a != a ? a : b;
        case GPU_REDUCE_MIN: return a <= b || a != a ? a : b;
        case GPU_REDUCE_PROD: return product(a, b);
        default: return sum(a, b);
        }
    }
    template <class A> static __device__ __forceinline__ A product(A a, A b) {
        if constexpr (std::is_floating_point<A>::value)
            return a * b;
        else
            return (A)((uint64_t)a * (uint64_t)b);
    }
    template <class A> static __device__ __forceinline__ A sum(A a, A b) {
        if constexpr (std::is_floating_point<A>::value)
            return a + b;
        else
            return (A)((uint64_t)a + (uint64_t)b);
    }
};

template <class K, class A> static __device__ __forceinline__ A element(K kind, A x, A shift) {
    switch (kind) {
    case GPU_REDUCE_L1: return is_negative(x) ? join<K>::product((A)-1, x) : x;
    case GPU_REDUCE_L2: /* in a kernel of all reductions; else it is gathered as the next one */
    case GPU_REDUCE_SUM_SQUARE: return join<K>::product(x, x);
    case GPU_REDUCE_LOG_SUM_EXP:
        if constexpr (std::is_floating_point<A>::value) return exponential(x - shift);
        return x;
    default: return x;
    }
}

/* Adds x to the total; `lost` is the rounding error of the earlier additions. */
template <class K> static __device__ __forceinline__ void take(K kind, float &total, float &lost, float x) {
    if (kind == GPU_REDUCE_MAX || kind == GPU_REDUCE_MIN || kind == GPU_REDUCE_PROD) {
        total = join<K>{kind}.of(total, x);
    } else {
        const float addend = x - lost, sum = total + addend;
        lost = (sum - total) - addend;
        if (lost != lost) lost = 0.0f; /* infinities have no rounding error */
        total = sum;
    }
}
template <class K, class A> static __device__ __forceinline__ void take(K kind, A &total, A &, A x) {
    total = join<K>{kind}.of(total, x);
}

/* Result of an output from its total. K is how elements were gathered: a kernel for sums serves means and logarithms of
 * sums too, as they differ only here. */
template <class K, class A>
static __device__ __forceinline__ A finish(K kind, gpu_reduction result, A total, A shift, size_t count) {
    if (result == GPU_REDUCE_MEAN && (kind == GPU_REDUCE_SUM || kind == GPU_REDUCE_MEAN))
        return std::is_floating_point<A>::value || count ? total / (A)count : total;
    if constexpr (std::is_floating_point<A>::value) {
        if (kind == GPU_REDUCE_LOG_SUM_EXP) return log(total) + shift;
        if (kind == GPU_REDUCE_L2 || kind == GPU_REDUCE_SUM_SQUARE)
            return result == GPU_REDUCE_L2 ? sqrt(total) : total;
        if (result == GPU_REDUCE_LOG_SUM && (kind == GPU_REDUCE_SUM || kind == GPU_REDUCE_LOG_SUM)) return log(total);
    }
    return total;
}

/* Stores a total as an element. Only a double total of integers must be truncated. */
template <class T, class A> static __device__ __forceinline__ void store(T *to, A total) {
    *to = (T)total;
}
template <class T> static __device__ __forceinline__ void store(T *to, double total) {
    convert(any_real(total), to);
}

/* A thread's share of an output: reduced elements first, first + step, ... E: in_own or in_double. If the reduced
 * elements form one dimension (most do once adjacent dimensions are merged), AHEAD of them are loaded before the
 * first is added: a thread with one load in flight would wait some 700 cycles for each. */
template <class E, class K, class A>
static __device__ __forceinline__ A share(K kind, const gpu_loop &reduced, const typename E::element *x, size_t first,
                                          size_t step, A shift) {
    A total = identity<typename E::limits>(kind), lost = 0;
    size_t j = first;
    if (reduced.rank == 1) {
        const int64_t stride = reduced.strides[0][0];
        for (; j + (AHEAD - 1) * step < reduced.count; j += AHEAD * step) {
            typename E::element loaded[AHEAD];
#pragma unroll
            for (size_t k = 0; k < AHEAD; k++) loaded[k] = x[(int64_t)(j + k * step) * stride];
#pragma unroll
            for (size_t k = 0; k < AHEAD; k++) take(kind, total, lost, element(kind, (A)loaded[k], shift));
        }
    }
    for (; j < reduced.count; j += step) {
        int64_t at[1];
        loop_offsets(reduced, j, at);
        take(kind, total, lost, element(kind, (A)x[at[0]], shift));
    }
    return total;
}

/* Totals of neighbouring elements, each by itself. */
template <class E, class K, int SIZE> struct pack_totals {
    typedef typename E::element T;
    typedef typename E::limits::type A;
    enum { PACKS_AHEAD = 16 / SIZE };
    K kind;
    A total[SIZE], lost[SIZE];

    __device__ __forceinline__ pack_totals(K kind_) : kind(kind_) {
#pragma unroll
        for (int j = 0; j < SIZE; j++) total[j] = identity<typename E::limits>(kind), lost[j] = 0;
    }
    /* Takes the packs at first, first + step ... below end, PACKS_AHEAD of which are loaded at a time. */
    __device__ __forceinline__ void take_packs(const T *x, size_t first, size_t end, size_t step, bool aligned,
                                               A shift) {
        for (size_t i = first; i < end; i += PACKS_AHEAD * step) {
            pack<T, SIZE> loaded[PACKS_AHEAD];
#pragma unroll
            for (int p = 0; p < PACKS_AHEAD; p++)
                if (i + p * step < end) loaded[p] = load_neighbours<SIZE>(x + i + p * step, aligned);
#pragma unroll
            for (int p = 0; p < PACKS_AHEAD; p++) {
                if (i + p * step >= end) break;
#pragma unroll
                for (int j = 0; j < SIZE; j++) take(kind, total[j], lost[j], element(kind, (A)loaded[p].at[j], shift));
            }
        }
    }
    __device__ __forceinline__ A joined() const {
        A all = total[0];
#pragma unroll
        for (int j = 1; j < SIZE; j++) all = join<K>{kind}.of(all, total[j]);
        return all;
    }
};

/* Elements in a pack; 1: other types than those of the table share a kernel for all reductions, which is large. */
template <class E, class K> struct reduced_pack : pack_size<typename E::element> {};
template <class E> struct reduced_pack<E, int> {
    enum { VALUE = 1 };
};

/* How packs may be read: not at all, one element after the other, or at once. */
enum pack_access { NO_PACKS, UNALIGNED_PACKS, ALIGNED_PACKS };

/* The share of a thread of a row. */
template <class E, int SIZE, class K, class A>
static __device__ __forceinline__ A row_share(K kind, const gpu_loop &reduced, const typename E::element *x,
                                              pack_access packs, A shift) {
    if constexpr (SIZE > 1)
        if (packs) {
            pack_totals<E, K, SIZE> totals(kind);
            totals.take_packs(x, threadIdx.x * SIZE, reduced.count, blockDim.x * SIZE, packs == ALIGNED_PACKS, shift);
            return totals.joined();
        }
    return share<E>(kind, reduced, x, threadIdx.x, blockDim.x, shift);
}

/* The maximum, subtracted before exp so that it cannot overflow; 0 if it is infinite, as inf - inf is NaN. */
template <class A> static __device__ __forceinline__ A shift_of(A largest) {
    return largest - largest == (A)0 ? largest : (A)0;
}

/* ---- kernels ---- */

template <class E, class K>
static __global__ void reduce_rows(K kind, gpu_reduction result, const gpu_loop kept, const gpu_loop reduced,
                                   const typename E::element *x, typename E::element *y, pack_access packs) {
    typedef typename E::limits::type A;
    const known<GPU_REDUCE_MAX> maximum = {};
    __shared__ A shared[BLOCK_MAX_WARPS];
    for (size_t i = blockIdx.x; i < kept.count; i += gridDim.x) {
        int64_t at[1];
        loop_offsets(kept, i, at);
        A shift = 0;
        if (kind == GPU_REDUCE_LOG_SUM_EXP) {
            shift = row_share<E, reduced_pack<E, K>::VALUE>(maximum, reduced, x + at[0], packs, shift);
            shift = shift_of(block_join(shift, shared, join<known<GPU_REDUCE_MAX>>{maximum}));
        }
        A total = row_share<E, reduced_pack<E, K>::VALUE>(kind, reduced, x + at[0], packs, shift);
        total = block_join(total, shared, join<K>{kind});
        if (threadIdx.x == 0) store(y + i, finish(kind, result, total, shift, reduced.count));
    }
}

/* Joins the values of a column over the block's rows of threads. */
template <class K, class A>
static __device__ __forceinline__ A join_slices(K kind, A value, A (&shared)[SLICES][COLUMNS]) {
    __syncthreads(); /* reads of the previous call are over */
    shared[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    value = shared[0][threadIdx.x];
    for (int k = 1; k < SLICES; k++) value = join<K>{kind}.of(value, shared[k][threadIdx.x]);
    return value;
}

template <class E, class K>
static __global__ void reduce_columns(K kind, gpu_reduction result, const gpu_loop kept, const gpu_loop reduced,
                                      const typename E::element *x, typename E::element *y) {
    typedef typename E::limits::type A;
    const known<GPU_REDUCE_MAX> maximum = {};
    __shared__ A shared[SLICES][COLUMNS];
    for (size_t first = (size_t)blockIdx.x * COLUMNS; first < kept.count; first += (size_t)gridDim.x * COLUMNS) {
        const size_t i = first + threadIdx.x;
        const bool there = i < kept.count;
        int64_t at[1] = {0};
        if (there) loop_offsets(kept, i, at);
        A shift = 0, total = identity<typename E::limits>(kind);
        if (kind == GPU_REDUCE_LOG_SUM_EXP) {
            if (there) shift = share<E>(maximum, reduced, x + at[0], threadIdx.y, SLICES, shift);
            shift = shift_of(join_slices(maximum, shift, shared));
        }
        if (there) total = share<E>(kind, reduced, x + at[0], threadIdx.y, SLICES, shift);
        total = join_slices(kind, total, shared);
        if (there && threadIdx.y == 0) store(y + i, finish(kind, result, total, shift, reduced.count));
    }
}

/* The same by packs: of columns that are contiguous, over one reduced dimension; parts of it along y. */
template <class E, class K, int SIZE>
static __global__ void reduce_packed_columns(K kind, gpu_reduction result, const gpu_loop kept, const gpu_loop reduced,
                                             const typename E::element *x, typename E::element *y, gpu_parts joint,
                                             bool aligned) {
    typedef typename E::limits::type A;
    enum { ACROSS = PACK_COLUMNS * SIZE };
    __shared__ A shared[PACK_SLICES][ACROSS];
    __shared__ unsigned is_last;
    const unsigned thread = threadIdx.y * PACK_COLUMNS + threadIdx.x;
    const size_t stride = (size_t)reduced.strides[0][0], part = (reduced.count + gridDim.y - 1) / gridDim.y;
    const size_t from = blockIdx.y * part, to = min(reduced.count, from + part);
    for (size_t first = (size_t)blockIdx.x * ACROSS; first < kept.count; first += (size_t)gridDim.x * ACROSS) {
        const size_t i = first + threadIdx.x * SIZE;
        pack_totals<E, K, SIZE> totals(kind);
        int64_t at[1] = {0};
        if (i < kept.count) {
            loop_offsets(kept, i, at);
            totals.take_packs(x + at[0], (from + threadIdx.y) * stride, to * stride, PACK_SLICES * stride, aligned,
                              (A)0);
        }
        __syncthreads(); /* reads of the previous columns are over */
#pragma unroll
        for (int j = 0; j < SIZE; j++) shared[threadIdx.y][threadIdx.x * SIZE + j] = totals.total[j];
        __syncthreads();
        A total = identity<typename E::limits>(kind);
        for (int k = 0; thread < ACROSS && k < PACK_SLICES; k++) total = join<K>{kind}.of(total, shared[k][thread]);
        if (gridDim.y > 1) {
            const size_t columns = first / ACROSS;
            A *shares = (A *)joint.sums + columns * gridDim.y * ACROSS + thread;
            if (thread < ACROSS) shares[blockIdx.y * ACROSS] = total;
            if (!last_to_arrive(joint.arrivals + columns, gridDim.y, &is_last)) continue;
            total = identity<typename E::limits>(kind);
            for (unsigned k = 0; thread < ACROSS && k < gridDim.y; k++)
                total = join<K>{kind}.of(total, shares[k * ACROSS]);
        }
        if (thread < ACROSS && first + thread < kept.count)
            store(y + first + thread, finish(kind, result, total, (A)0, reduced.count));
    }
}

/* ---- launchers ---- */

/* exp needs the maximum first, which rows of packs find in a sweep of their own. */
template <class E, class K>
constexpr bool has_packed_columns =
    reduced_pack<E, K>::VALUE > 1 && !std::is_same<K, known<GPU_REDUCE_LOG_SUM_EXP>>::value;

/* True if the elements of a loop come in contiguous packs, and all else lies a multiple of a pack from them. */
template <int SIZE> static bool comes_in_packs(const gpu_loop *of, const gpu_loop *other) {
    const int last = of->rank - 1;
    bool packs = SIZE > 1 && last >= 0 && of->strides[0][last] == 1 && of->dims[last] % SIZE == 0;
    for (int d = 0; d < last; d++) packs = packs && of->strides[0][d] % SIZE == 0;
    for (int d = 0; d < other->rank; d++) packs = packs && other->strides[0][d] % SIZE == 0;
    return packs;
}

template <class E, class K>
static cudaError_t run(gpu_stream stream, K kind, gpu_reduction result, const gpu_reduce *reduce, const void *x,
                       void *y) {
    typedef typename E::element T;
    enum { SIZE = reduced_pack<E, K>::VALUE, MIN_BLOCKS = 32 };
    const gpu_loop &kept = reduce->kept, &reduced = reduce->reduced;
    const bool aligned = pack_aligned<SIZE>((const T *)x);
    if constexpr (has_packed_columns<E, K>) {
        const size_t blocks = (size_t)gpu_reduce_blocks((int64_t)kept.count, sizeof(T));
        const bool many = blocks >= MIN_BLOCKS || reduce->parts > 1;
        if (reduce->columns && reduced.rank == 1 && many && comes_in_packs<SIZE>(&kept, &reduced))
            return launch(reduce_packed_columns<E, K, SIZE>, dim3(grid_extent(blocks), (unsigned)reduce->parts),
                          dim3(PACK_COLUMNS, PACK_SLICES), 0, stream, kind, result, kept, reduced, (const T *)x, (T *)y,
                          reduce->joint, aligned);
    }
    const unsigned grid = grid_extent(reduce->columns ? (kept.count + COLUMNS - 1) / COLUMNS : kept.count);
    if (reduce->columns)
        return launch(reduce_columns<E, K>, grid, dim3(COLUMNS, SLICES), 0, stream, kind, result, kept, reduced,
                      (const T *)x, (T *)y);
    const bool packed = reduced.rank == 1 && comes_in_packs<SIZE>(&reduced, &kept);
    const unsigned threads = block_threads(reduced.count / (packed ? 2 * SIZE : AHEAD));
    return launch(reduce_rows<E, K>, grid, threads, 0, stream, kind, result, kept, reduced, (const T *)x, (T *)y,
                  !packed   ? NO_PACKS
                  : aligned ? ALIGNED_PACKS
                            : UNALIGNED_PACKS);
}

template <class E, class K> static cudaError_t load() {
    enum { SIZE = reduced_pack<E, K>::VALUE };
    cudaError_t code = load_kernel(reduce_rows<E, K>);
    if constexpr (has_packed_columns<E, K>)
        if (code == cudaSuccess) code = load_kernel(reduce_packed_columns<E, K, SIZE>);
    return code == cudaSuccess ? load_kernel(reduce_columns<E, K>) : code;
}

typedef struct reduce_row {
    cudaError_t (*run)(gpu_stream, gpu_reduction, const gpu_reduce *, const void *, void *);
    cudaError_t (*load)();
} reduce_row;

template <int KIND, class T>
static cudaError_t run_known(gpu_stream stream, gpu_reduction result, const gpu_reduce *reduce, const void *x,
                             void *y) {
    return run<in_own<T>>(stream, known<KIND>(), result, reduce, x, y);
}

#define ENTRY(kind, type)                                                                                              \
    { run_known<kind, type>, load<in_own<type>, known<kind>> }
#define FLOATS(kind)                                                                                                   \
    { ENTRY(kind, float), ENTRY(kind, half), ENTRY(kind, bfloat16) }

/* Indexed by gpu_reduction and gpu_number; the kind of an entry is how elements are gathered. Other types share one
 * kernel per type for all reductions. */
static const reduce_row table[GPU_REDUCTION_COUNT][GPU_NUMBER_BFLOAT16 + 1] = {
    FLOATS(GPU_REDUCE_SUM),         FLOATS(GPU_REDUCE_SUM), /* mean */
    FLOATS(GPU_REDUCE_MAX),         FLOATS(GPU_REDUCE_MIN),        FLOATS(GPU_REDUCE_PROD),
    FLOATS(GPU_REDUCE_L1),          FLOATS(GPU_REDUCE_SUM_SQUARE), /* L2 */
    FLOATS(GPU_REDUCE_SUM),                                        /* logarithm of a sum */
    FLOATS(GPU_REDUCE_LOG_SUM_EXP), FLOATS(GPU_REDUCE_SUM_SQUARE),
};

/* Calls use(E()) for the integer types that ONNX allows in all reductions. */
template <template <class> class E, class Use> static cudaError_t for_reduced_integer(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_INT32: return use(E<int32_t>());
    case GPU_NUMBER_UINT32: return use(E<uint32_t>());
    case GPU_NUMBER_UINT64: return use(E<uint64_t>());
    default: return use(E<int64_t>());
    }
}

/* Calls use(E()) for types outside the table; integers in double for roots and logarithms. bool and 8-bit integers
 * have only maxima and minima. */
template <class Use> static cudaError_t for_other(gpu_reduction kind, gpu_number type, Use use) {
    const bool of_reals = kind == GPU_REDUCE_L2 || kind == GPU_REDUCE_LOG_SUM || kind == GPU_REDUCE_LOG_SUM_EXP;
    switch (type) {
    case GPU_NUMBER_DOUBLE: return use(in_own<double>());
    case GPU_NUMBER_BOOL: return use(in_own<bool>());
    case GPU_NUMBER_INT8: return use(in_own<int8_t>());
    case GPU_NUMBER_UINT8: return use(in_own<uint8_t>());
    default: return of_reals ? for_reduced_integer<in_double>(type, use) : for_reduced_integer<in_own>(type, use);
    }
}

cudaError_t gpu_run_reduce(gpu_stream stream, gpu_reduction kind, gpu_number type, const gpu_reduce *reduce,
                           const void *x, void *y) {
    if (!reduce->kept.count) return cudaSuccess;
    if (type <= GPU_NUMBER_BFLOAT16) return table[kind][type].run(stream, kind, reduce, x, y);
    return for_other(kind, type, [=](auto e) { return run<decltype(e)>(stream, (int)kind, kind, reduce, x, y); });
}

cudaError_t gpu_load_reduce(gpu_reduction kind, gpu_number type) {
    if (type <= GPU_NUMBER_BFLOAT16) return table[kind][type].load();
    return for_other(kind, type, [](auto e) { return load<decltype(e), int>(); });
}
