/* pack.h - neighbouring elements read and written at once, 16 bytes where they lie right: what a memory-bound kernel
 * needs to come near the bandwidth of a GPU. For .cu files, after gpu.h.
 *
 * The body of such a kernel is a function of a range, with the number of elements a step takes as a template argument.
 * The kernel calls it twice: in packs over the elements that the launcher has proven aligned, and with 1 over the rest,
 * which is all of them where nothing is aligned (README.md, rule 7). */
#ifndef TORT_KERNELS_CUDA_PACK_H
#define TORT_KERNELS_CUDA_PACK_H

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/grid.h"

template <class T, int size> struct alignas(sizeof(T) * size) pack { T at[size]; };

/* Elements in a pack for kernels that read or write both types: the wider one fills 16 bytes. */
template <class A, class B = A> struct pack_size {
    enum { VALUE = 16 / (sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B)) };
};

template <int size, class T> static __device__ __forceinline__ pack<T, size> load_pack(const T *from) {
    return load_vector((const pack<T, size> *)from);
}

template <int size, class T> static __device__ __forceinline__ void store_pack(T *to, const pack<T, size> &value) {
    store_vector((pack<T, size> *)to, value);
}

template <int size, class T> static __device__ __forceinline__ pack<T, size> same_pack(T value) {
    pack<T, size> same;
#pragma unroll
    for (int i = 0; i < size; i++) same.at[i] = value;
    return same;
}

/* ---- launchers ---- */

template <int size, class T> static bool pack_aligned(const T *data) {
    return (uintptr_t)data % (sizeof(T) * size) == 0;
}

/* How many of `count` elements of x and y, from the first on, may go in packs. */
template <int size, class X, class Y> static size_t packed_count(size_t count, const X *x, const Y *y) {
    return pack_aligned<size>(x) && pack_aligned<size>(y) ? count - count % size : 0;
}

/* The blocks of a kernel that takes `packed` of `count` elements in packs. */
template <int size> static unsigned pack_blocks(size_t count, size_t packed) {
    return grid_blocks(packed / size + (count - packed));
}

/* ---- with broadcasting: a pack lies in one row of the loop, its last dimension ---- */

/* May operand k go in packs? It stays along a row, or it walks by 1 and every row of it begins at an aligned element.
 */
template <int size, class T> static bool operand_packable(const gpu_loop *loop, int k, const T *data) {
    const int64_t *strides = loop->strides[k];
    if (strides[loop->rank - 1] == 0) return true;
    bool rows_aligned = strides[loop->rank - 1] == 1 && pack_aligned<size>(data);
    for (int d = 0; d < loop->rank - 1; d++) rows_aligned = rows_aligned && strides[d] % size == 0;
    return rows_aligned;
}

/* How many elements of the loop's output, from the first on, consist of whole packs of a row each. Operands are apart.
 */
template <int size, class Y> static size_t rows_packed(const gpu_loop *loop, const Y *y) {
    if (loop->rank == 0 || !pack_aligned<size>(y)) return 0;
    if (loop->rank > 1 && loop->dims[loop->rank - 1] % size) return 0;
    return loop->count - loop->count % size;
}

/* Operand k from this offset on, as many elements as a pack has. */
template <int size, class T>
static __device__ __forceinline__ pack<T, size> load_operand(const gpu_loop &loop, int k, const T *data, int64_t at) {
    if (size == 1 || loop.strides[k][loop.rank - 1] != 0) return load_pack<size>(data + at);
    return same_pack<size>(data[at]);
}

#endif
