/* norm.cu - LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization, which compute
 * statistics per row; BatchNormalization, whose statistics are inputs. 16-bit floats are computed in float and
 * rounded once.
 *
 * A block holds a row in registers and sweeps it for the mean, for the variance about the mean, and for the result.
 * A single sweep with E[x^2] - E[x]^2 would cancel digits. Read first: norm.c, row.h. */
#include "kernels/cuda/gpu.h"

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

/* The pack at index i, if scale and bias are lists. */
template <class T, int SIZE>
static __device__ __forceinline__ affine_packs<T, SIZE> listed_affine(const gpu_norm &norm, size_t i, bool aligned) {
    affine_packs<T, SIZE> found;
    found.scale = load_neighbours<SIZE>((const T *)norm.scale + i, aligned);
    found.bias = norm.bias ? load_neighbours<SIZE>((const T *)norm.bias + i, aligned)
                           : same_pack<SIZE>((T)(typename computed<T>::type)0);
    return found;
}

template <class T, int SIZE>
static __device__ __forceinline__ typename computed<T>::type
inverse_deviation(const gpu_norm &norm, const held_row<T, SIZE> &row, typename computed<T>::type mean,
                  typename computed<T>::type *shared) {
    typedef typename computed<T>::type C;
    C squares = 0;
    row.each([&](C value) { squares += (value - mean) * (value - mean); });
    squares = block_join<join_sum>(squares, shared);
    return (C)1 / sqrt(squares / (C)norm.size + (C)norm.epsilon);
}

/* Scale and bias lists are held in registers too, for all rows of the block. */
template <class T, int SIZE>
static __global__ void normalize_rows(const gpu_norm norm, affine_kind kind, bool aligned) {
    typedef typename computed<T>::type C;
    __shared__ C shared[BLOCK_MAX_WARPS];
    const size_t listed = kind == AFFINE_LIST ? norm.size : 0;
    const held_row<T, SIZE> scale((const T *)norm.scale, listed, aligned),
        bias((const T *)norm.bias, norm.bias ? listed : 0, aligned);
    for (size_t r = blockIdx.x; r < norm.rows; r += gridDim.x) {
        const size_t first = r * norm.size;
        const held_row<T, SIZE> row((const T *)norm.x + first, norm.size, aligned);
        C mean = 0;
        if (norm.centered) {
            row.each([&](C value) { mean += value; });
            mean = block_join<join_sum>(mean, shared) / (C)norm.size;
        }
        const C inverse = inverse_deviation(norm, row, mean, shared);
        if (threadIdx.x == 0 && norm.mean) norm.mean[r] = (float)mean;
        if (threadIdx.x == 0 && norm.inverse) norm.inverse[r] = (float)inverse;
        if (!norm.size) continue;
        affine_packs<T, SIZE> affine = {same_pack<SIZE>((T)(typename computed<T>::type)0),
                                        same_pack<SIZE>((T)(typename computed<T>::type)0)};
        if (kind == AFFINE_NUMBER) affine = load_affine<T, SIZE>(norm, first, aligned);
        const auto change = [&](size_t i, int held, C *values) {
            const bool kept = kind == AFFINE_LIST && held >= 0;
            if (kind == AFFINE_LIST && !kept) affine = listed_affine<T, SIZE>(norm, i, aligned);
#pragma unroll
            for (int j = 0; j < SIZE; j++) {
                const C factor = kept ? scale.at[held + j] : (C)affine.scale.at[j];
                values[j] = (values[j] - mean) * inverse * factor;
                if (norm.bias) values[j] += kept ? bias.at[held + j] : (C)affine.bias.at[j];
            }
        };
        if (kind == AFFINE_ANY)
            row.write_again((T *)norm.y + first, 0, [&](size_t i, int, C *values) {
                affine = load_affine<T, SIZE>(norm, first + i, aligned);
                change(i, -1, values);
            });
        else
            row.write((T *)norm.y + first, change);
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
enum { BLOCKS_WITH_A_LIST = 2048 };

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

template <class T> static cudaError_t run_rows(gpu_stream stream, const gpu_norm *norm) {
    enum { PACK = pack_size<T>::VALUE };
    const affine_kind kind = kind_of(norm);
    const size_t most = kind == AFFINE_LIST ? (size_t)BLOCKS_WITH_A_LIST : norm->rows;
    const unsigned blocks = grid_extent(norm->rows < most ? norm->rows : most);
    const bool aligned = both_aligned<PACK>((const T *)norm->x, (const T *)norm->y) &&
                         both_aligned<PACK>((const T *)norm->scale, (const T *)norm->bias);
    if (norm_packs<PACK>(norm))
        return launch(normalize_rows<T, PACK>, blocks, block_threads(norm->size / held_row<T, PACK>::HELD), 0, stream,
                      *norm, kind, aligned);
    return launch(normalize_rows<T, 1>, blocks, block_threads(norm->size / held_row<T, 1>::HELD), 0, stream, *norm,
                  kind, true);
}

cudaError_t gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm) {
    if (!norm->rows) return cudaSuccess; /* rows of size 0 still report a mean: NaN */
    return for_real(type, [=](auto zero) { return run_rows<decltype(zero)>(stream, norm); });
}

template <class T> static cudaError_t load_rows() {
    const cudaError_t code = load_kernel(normalize_rows<T, pack_size<T>::VALUE>);
    return code == cudaSuccess ? load_kernel(normalize_rows<T, 1>) : code;
}

cudaError_t gpu_load_norm(gpu_type type) {
    return for_real(type, [](auto zero) { return load_rows<decltype(zero)>(); });
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
