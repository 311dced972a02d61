/* norm.cu - LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization, which compute
 * statistics per row, also of sums (SkipLayerNormalization, EmbedLayerNormalization); BatchNormalization, whose
 * statistics are inputs. 16-bit floats are computed in float and rounded once.
 *
 * The threads of a row hold it in registers and sweep it for the mean, for the variance about the mean, and for the
 * result. A single sweep with E[x^2] - E[x]^2 would cancel digits. A block takes several rows at a time if they are
 * short; a scale and a bias that all rows share it reads once, into shared memory.
 *
 * Example: a row of 768 floats is held by one warp, 24 floats a thread, and needs no barrier. 256 such rows are 32
 * blocks of 8 warps, which together read the lists 32 times: an eighth of what x and y are. Read first: norm.c, row.h.
 */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/index.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/row.h"

/* ---- kernels ---- */

/* Layout of scale and bias relative to a row: the same list for all rows, one number per row, or any strides. */
enum affine_kind { AFFINE_LIST, AFFINE_NUMBER, AFFINE_ANY };

template <class T, int SIZE> struct affine_packs { pack<T, SIZE> scale, bias; };

template <class T, int SIZE>
static __device__ __forceinline__ affine_packs<T, SIZE> load_affine(const gpu_norm &norm, size_t i, bool aligned) {
    const T *scale = (const T *)norm.scale, *bias = (const T *)norm.bias;
    int64_t at[2];
    loop_offsets(norm.affine, i, at);
    const int last = norm.affine.rank - 1;
    const bool one_scale = last < 0 || norm.affine.strides[0][last] == 0, /* for a whole pack */
        one_bias = last < 0 || norm.affine.strides[1][last] == 0;
    affine_packs<T, SIZE> found = {same_pack<SIZE>((T)(typename computed<T>::type)0),
                                   same_pack<SIZE>((T)(typename computed<T>::type)0)};
    found.scale = one_scale ? same_pack<SIZE>(scale[at[0]]) : load_neighbours<SIZE>(scale + at[0], aligned);
    if (bias) found.bias = one_bias ? same_pack<SIZE>(bias[at[1]]) : load_neighbours<SIZE>(bias + at[1], aligned);
    return found;
}

/* Lists that all rows share: where they lie, or in shared memory. */
template <class T> struct row_lists {
    const T *scale, *bias, *term; /* term: the last one; bias and term may be NULL */
};

/* The pack at index i, if scale and bias are lists. */
template <int SIZE, class T>
static __device__ __forceinline__ affine_packs<T, SIZE> listed_affine(const row_lists<T> &lists, size_t i,
                                                                      bool aligned) {
    affine_packs<T, SIZE> found;
    found.scale = load_neighbours<SIZE>(lists.scale + i, aligned);
    found.bias =
        lists.bias ? load_neighbours<SIZE>(lists.bias + i, aligned) : same_pack<SIZE>((T)(typename computed<T>::type)0);
    return found;
}

/* Copies a list to shared memory and returns it there; the block's barrier is left to the caller. NULL stays NULL. */
template <int SIZE, class T>
static __device__ __forceinline__ const T *staged_list(const T *list, T *to, size_t size, bool aligned) {
    if (!list) return list;
    const size_t thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    for (size_t i = thread * SIZE; i < size; i += threads * SIZE)
        store_pack<SIZE>(to + i, load_neighbours<SIZE>(list + i, aligned));
    return to;
}

/* Moves the lists to the dynamic shared memory. */
template <class T, int SIZE, bool SUMMED>
static __device__ __forceinline__ void stage_lists(const gpu_norm &norm, row_lists<T> *lists, bool aligned) {
    T *shared = dynamic_shared<T>();
    lists->scale = staged_list<SIZE>(lists->scale, shared, norm.size, aligned);
    lists->bias = staged_list<SIZE>(lists->bias, shared + norm.size, norm.size, aligned);
    const gpu_norm_term &last = norm.terms[GPU_NORM_TERMS - 1];
    if (SUMMED && last.period == 1 && !last.ids)
        lists->term = staged_list<SIZE>(lists->term, shared + 2 * norm.size, norm.size, aligned);
    __syncthreads();
}

/* A row to normalize, as a source of held_row: one, or the sum of several. */
template <class T, int SIZE, bool SUMMED> struct norm_row {
    enum { EDGES = 0 };
    typedef typename computed<T>::type C;
    enum { TERMS = SUMMED ? GPU_NORM_TERMS : 1 };
    const T *terms[TERMS]; /* the last of a sum may be NULL */
    bool aligned;

    template <class H> __device__ __forceinline__ void read(size_t i, H *values) const {
#pragma unroll
        for (int k = 0; k < TERMS; k++) {
            if (SUMMED && k == GPU_NORM_TERMS - 1 && !terms[k]) continue;
            const pack<T, SIZE> read = load_neighbours<SIZE>(terms[k] + i, aligned);
#pragma unroll
            for (int j = 0; j < SIZE; j++) values[j] = k ? values[j] + (H)read.at[j] : (H)read.at[j];
        }
    }
};

/* Finds the row of term k that row r takes; false if its id is no row of the table, which is reported. */
static __device__ __forceinline__ bool find_term(const gpu_norm &norm, int k, size_t r, size_t *row) {
    const gpu_norm_term &term = norm.terms[k];
    *row = r;
    if (r >= term.period) divide(row, term.period, norm.rows <= UINT32_MAX);
    if (!term.ids) return true;
    const size_t place = *row;
    const int32_t id = term.ids[place];
    const bool good = id >= 0 && id < term.table_rows;
    *row = good ? (size_t)id : 0; /* no pointer outside of the table is formed */
    if (good) return true;
    if (threadIdx.x == 0)
        report_fault((gpu_status *)norm.status, norm.node, GPU_FAULT_RANGE, id, place, term.table_rows - 1);
    return false;
}

/* Finds row r; false if it has an id that is no row of its table. */
template <class T, int SIZE, bool SUMMED>
static __device__ __forceinline__ bool find_row(const gpu_norm &norm, const row_lists<T> &lists, size_t r,
                                                norm_row<T, SIZE, SUMMED> *row) {
    if (!SUMMED) {
        row->terms[0] = (const T *)norm.x + r * norm.size;
        return true;
    }
    bool good = true;
#pragma unroll
    for (int k = 0; k < norm_row<T, SIZE, SUMMED>::TERMS; k++) {
        const T *data = k == GPU_NORM_TERMS - 1 ? lists.term : (const T *)norm.terms[k].data;
        size_t from = 0;
        if (data) good = find_term(norm, k, r, &from) && good;
        row->terms[k] = data ? data + from * norm.size : data;
    }
    return good;
}

/* Statistics of a row; `shared` has an element per warp of its threads. */
template <class C, class Row>
static __device__ __forceinline__ C mean_of(const gpu_norm &norm, const Row &row, C *shared) {
    if (!norm.centered) return 0;
    C sum = 0;
    row.each([&](C value) { sum += value; });
    return block_join<join_sum>(sum, shared) / (C)norm.size;
}
template <class C, class Row>
static __device__ __forceinline__ C inverse_deviation(const gpu_norm &norm, const Row &row, C mean, C *shared) {
    C squares = 0;
    row.each([&](C value) { squares += (value - mean) * (value - mean); });
    squares = block_join<join_sum>(squares, shared);
    return (C)1 / sqrt(squares / (C)norm.size + (C)norm.epsilon);
}

template <class T, bool SUMMED> struct held_as { typedef T type; };
template <class T> struct held_as<T, true> { typedef typename computed<T>::type type; };

/* A row in the registers of its threads: 32 elements in each, if they come in packs, or 16 doubles. Sums are held in
 * the type they are computed in, as rounding them would change the result. */
template <class T, int SIZE, bool SUMMED>
using norm_held = held_row<T, SIZE, norm_row<T, SIZE, SUMMED>, 128 / sizeof(typename computed<T>::type),
                           typename held_as<T, SUMMED>::type>;

/* Blocks that a multiprocessor holds: as many as the compiler has registers for without spilling. Two have at least 32
 * KiB of loads in flight, which hides the latency of memory. */
template <class T, bool SUMMED> constexpr int norm_resident() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    return sizeof(T) == 4 && !SUMMED ? 3 : 2; /* three of halves would spill */
#else
    return sizeof(T) <= 4 && !SUMMED ? 3 : 2;
#endif
}

/* Each line of the block's threads takes a row. `staged`: the lists are to be in the dynamic shared memory. */
template <class T, int SIZE, bool SUMMED>
static __global__ void __launch_bounds__(32 * BLOCK_MAX_WARPS, norm_resident<T, SUMMED>())
    normalize_rows(const gpu_norm norm, affine_kind kind, bool staged, bool aligned) {
    after_previous();
    typedef typename computed<T>::type C;
    __shared__ C warps[BLOCK_MAX_WARPS];
    C *const shared = warps + threadIdx.y * (blockDim.x / 32);
    row_lists<T> lists = {(const T *)norm.scale, (const T *)norm.bias, (const T *)norm.terms[GPU_NORM_TERMS - 1].data};
    if (staged) stage_lists<T, SIZE, SUMMED>(norm, &lists, aligned);
    for (size_t line = (size_t)blockIdx.x * blockDim.y; line < norm.rows; line += (size_t)gridDim.x * blockDim.y) {
        const size_t r = line + threadIdx.y, first = r * norm.size;
        norm_row<T, SIZE, SUMMED> found = {{NULL}, aligned};
        const bool good = r < norm.rows && find_row(norm, lists, r, &found);
        const norm_held<T, SIZE, SUMMED> row(found, good ? norm.size : 0);
        const C mean = mean_of(norm, row, shared), inverse = inverse_deviation(norm, row, mean, shared);
        if (!good) continue;
        if (threadIdx.x == 0 && norm.mean) norm.mean[r] = (float)mean;
        if (threadIdx.x == 0 && norm.inverse) norm.inverse[r] = (float)inverse;
        affine_packs<T, SIZE> affine;
        if (kind == AFFINE_NUMBER) affine = load_affine<T, SIZE>(norm, first, aligned);
        const auto change = [&](size_t i, C *values) {
            if (SUMMED && norm.sums) row.store((T *)norm.sums + first, i, values);
            if (kind == AFFINE_LIST) affine = listed_affine<SIZE>(lists, i, aligned);
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                values[j] = (values[j] - mean) * inverse * (C)affine.scale.at[j];
                if (norm.bias) values[j] += (C)affine.bias.at[j];
            }
        };
        if (kind == AFFINE_ANY)
            row.write_again((T *)norm.y + first, 0, [&](size_t i, C *values) {
                affine = load_affine<T, SIZE>(norm, first + i, aligned);
                change(i, values);
            });
        else
            row.write((T *)norm.y + first, change);
    }
}

/* A warp takes a row. */
static __global__ void count_ones(const int32_t *mask, int32_t *counts, size_t rows, size_t length) {
    const size_t warps = grid_stride() / 32;
    for (size_t row = grid_first() / 32; row < rows; row += warps) {
        int32_t count = 0;
        for (size_t i = threadIdx.x % 32; mask && i < length; i += 32) count += mask[row * length + i] == 1;
        for (int offset = 16; offset; offset >>= 1) count += __shfl_xor_sync(~0u, count, offset);
        if (threadIdx.x % 32 == 0) counts[row] = count;
    }
}

/* S is the type of scale, bias, mean and variance. A block normalizes a plane, which has a single channel. */
template <class T, class S, int SIZE> static __global__ void normalize_planes(const gpu_batch_norm norm) {
    typedef typename computed<T>::type C;
    const size_t planes = norm.count / norm.inner;
    for (size_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
        const size_t c = plane % norm.channels;
        const C factor = number_as<C>(((const S *)norm.scale)[c]) /
                         sqrt(number_as<C>(((const S *)norm.variance)[c]) + (C)norm.epsilon);
        const C mean = number_as<C>(((const S *)norm.mean)[c]), bias = number_as<C>(((const S *)norm.bias)[c]);
        const T *x = (const T *)norm.x + plane * norm.inner;
        T *y = (T *)norm.y + plane * norm.inner;
        for (size_t i = (size_t)threadIdx.x * SIZE; i < norm.inner; i += (size_t)blockDim.x * SIZE) {
            pack<T, SIZE> values = load_pack<SIZE>(x + i);
#pragma unroll
            for (int j = 0; j < SIZE; j++) values.at[j] = (T)(((C)values.at[j] - mean) * factor + bias);
            store_pack<SIZE>(y + i, values);
        }
    }
}

/* The same for planes too small for a block: one thread per element. */
template <class T, class S> static __global__ void normalize_channels(const gpu_batch_norm norm) {
    typedef typename computed<T>::type C;
    const S *scale = (const S *)norm.scale, *bias = (const S *)norm.bias, *mean = (const S *)norm.mean,
            *variance = (const S *)norm.variance;
    for (size_t i = grid_first(); i < norm.count; i += grid_stride()) {
        const size_t c = i / norm.inner % norm.channels;
        const C factor = number_as<C>(scale[c]) / sqrt(number_as<C>(variance[c]) + (C)norm.epsilon);
        ((T *)norm.y)[i] = (T)(((C)((const T *)norm.x)[i] - number_as<C>(mean[c])) * factor + number_as<C>(bias[c]));
    }
}

/* ---- launchers ---- */

enum { MIN_PLANE = 32 }; /* elements that justify a block */
/* Max blocks of a norm whose rows share one list: enough to fill every multiprocessor; each block reads the list. */
enum { BLOCKS_WITH_A_LIST = 1024 };
enum { MIN_BLOCKS = 32 };          /* blocks take fewer rows at a time where they would be fewer */
enum { MAX_STAGED_BYTES = 32768 }; /* of lists in shared memory: a multiprocessor holds several blocks */

static affine_kind kind_of(const gpu_norm *norm) {
    const gpu_loop *loop = &norm->affine;
    const int last = loop->rank - 1;
    bool list = last >= 0 && (size_t)loop->dims[last] == norm->size, number = last >= 0;
    number = number && norm->size && (size_t)loop->dims[last] % norm->size == 0;
    for (int k = 0; k < 2; k++) {
        number = number && loop->strides[k][last] == 0;
        list = list && loop->strides[k][last] == 1;
        for (int d = 0; d < last; d++) list = list && loop->strides[k][d] == 0;
    }
    return list ? AFFINE_LIST : number ? AFFINE_NUMBER : AFFINE_ANY;
}

/* True if a pack of x meets either one number or one contiguous, aligned pack of operand k. */
template <int SIZE> static bool affine_packs_too(const gpu_loop *loop, int k) {
    const int64_t *strides = loop->strides[k];
    bool packs = strides[loop->rank - 1] == 0 || strides[loop->rank - 1] == 1;
    for (int d = 0; d < loop->rank - 1; d++) packs = packs && (strides[loop->rank - 1] == 0 || strides[d] % SIZE == 0);
    return packs;
}

template <int SIZE> static bool norm_packs(const gpu_norm *norm) {
    const gpu_loop *loop = &norm->affine;
    return norm->size % SIZE == 0 && loop->rank > 0 && loop->dims[loop->rank - 1] % SIZE == 0 &&
           affine_packs_too<SIZE>(loop, 0) && affine_packs_too<SIZE>(loop, 1);
}

template <class T, int SIZE, bool SUMMED>
static cudaError_t run_lines(gpu_stream stream, const gpu_norm *norm, bool aligned) {
    const affine_kind kind = kind_of(norm);
    const unsigned threads = block_threads(norm->size / norm_held<T, SIZE, SUMMED>::HELD);
    const unsigned lines = lines_of(norm->rows, threads, MIN_BLOCKS);
    unsigned blocks = grid_extent((norm->rows + lines - 1) / lines);
    if (kind == AFFINE_LIST && blocks > BLOCKS_WITH_A_LIST) blocks = BLOCKS_WITH_A_LIST;
    const size_t max_listed = MAX_STAGED_BYTES / sizeof(T) / (SUMMED ? 3 : 2);
    const bool staged = kind == AFFINE_LIST && norm->rows > blocks && norm->size <= max_listed;
    const size_t bytes = staged ? norm->size * sizeof(T) * (SUMMED ? 3 : 2) : 0;
    return launch_overlapping(normalize_rows<T, SIZE, SUMMED>, blocks, dim3(threads, lines), bytes, stream, *norm, kind,
                              staged, aligned);
}

template <class T, bool SUMMED> static cudaError_t run_rows(gpu_stream stream, const gpu_norm *norm) {
    enum { PACK = pack_size<T>::VALUE };
    bool aligned = both_aligned<PACK>((const T *)norm->scale, (const T *)norm->bias) &&
                   both_aligned<PACK>((const T *)norm->x, (const T *)norm->y) &&
                   pack_aligned<PACK>((const T *)norm->sums);
    for (int k = 0; SUMMED && k < GPU_NORM_TERMS; k++)
        aligned = aligned && pack_aligned<PACK>((const T *)norm->terms[k].data);
    return norm_packs<PACK>(norm) ? run_lines<T, PACK, SUMMED>(stream, norm, aligned)
                                  : run_lines<T, 1, SUMMED>(stream, norm, true);
}

cudaError_t gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm) {
    if (!norm->rows) return cudaSuccess; /* rows of size 0 still report a mean: NaN */
    return for_real(type, [=](auto zero) { return run_rows<decltype(zero), false>(stream, norm); });
}

cudaError_t gpu_run_norm_of_sums(gpu_stream stream, gpu_type type, const gpu_norm *norm) {
    if (!norm->rows) return cudaSuccess;
    switch (type) {
    case GPU_HALF: return run_rows<half, true>(stream, norm);
    case GPU_BFLOAT16: return run_rows<bfloat16, true>(stream, norm);
    default: return run_rows<float, true>(stream, norm);
    }
}

template <class T, bool SUMMED> static cudaError_t load_rows() {
    const cudaError_t code = load_kernel(normalize_rows<T, pack_size<T>::VALUE, SUMMED>);
    return code == cudaSuccess ? load_kernel(normalize_rows<T, 1, SUMMED>) : code;
}

cudaError_t gpu_load_norm(gpu_type type) {
    return for_real(type, [](auto zero) { return load_rows<decltype(zero), false>(); });
}

cudaError_t gpu_load_norm_of_sums(gpu_type type) {
    switch (type) {
    case GPU_HALF: return load_rows<half, true>();
    case GPU_BFLOAT16: return load_rows<bfloat16, true>();
    default: return load_rows<float, true>();
    }
}

cudaError_t gpu_run_count_ones(gpu_stream stream, const int32_t *mask, int32_t *counts, size_t rows, size_t length) {
    if (!rows) return cudaSuccess;
    const size_t rows_of_a_block = GRID_THREADS / 32;
    return launch(count_ones, grid_extent((rows + rows_of_a_block - 1) / rows_of_a_block), GRID_THREADS, 0, stream,
                  mask, counts, rows, length);
}

cudaError_t gpu_load_count_ones(void) {
    return load_kernel(count_ones);
}

template <class T, class S> static cudaError_t run_channels(gpu_stream stream, const gpu_batch_norm *norm) {
    enum { PACK = pack_size<T>::VALUE };
    const unsigned planes = grid_extent(norm->count / norm->inner);
    if (norm->inner < MIN_PLANE)
        return launch(normalize_channels<T, S>, grid_blocks(norm->count), GRID_THREADS, 0, stream, *norm);
    if (norm->inner % PACK == 0 && both_aligned<PACK>((const T *)norm->x, (const T *)norm->y))
        return launch(normalize_planes<T, S, PACK>, planes, block_threads(norm->inner / PACK / 2), 0, stream, *norm);
    return launch(normalize_planes<T, S, 1>, planes, block_threads(norm->inner), 0, stream, *norm);
}

cudaError_t gpu_run_batch_norm(gpu_stream stream, gpu_type type, gpu_type statistics, const gpu_batch_norm *norm) {
    if (!norm->count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return statistics == type ? run_channels<T, T>(stream, norm) : run_channels<T, float>(stream, norm);
    });
}

template <class T, class S> static cudaError_t load_channels() {
    cudaError_t code = load_kernel(normalize_channels<T, S>);
    if (code == cudaSuccess) code = load_kernel(normalize_planes<T, S, pack_size<T>::VALUE>);
    return code == cudaSuccess ? load_kernel(normalize_planes<T, S, 1>) : code;
}

cudaError_t gpu_load_batch_norm(gpu_type type, gpu_type statistics) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return statistics == type ? load_channels<T, T>() : load_channels<T, float>();
    });
}
