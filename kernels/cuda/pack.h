/* pack.h - neighbouring elements read and written at once, 16 bytes where aligned: a memory-bound kernel needs such
 * wide accesses to approach the bandwidth of a GPU. For .cu files, after gpu.h.
 *
 * The body of such a kernel is a function of a range, with the number of elements per step as a template argument.
 * The kernel calls it twice: in packs over the elements that the launcher has proven aligned, and one by one over
 * the rest, which is everything if nothing is aligned (README.md, rule 7). */
#ifndef TORT_KERNELS_CUDA_PACK_H
#define TORT_KERNELS_CUDA_PACK_H

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/grid.h"

template <class T, int size> struct alignas(sizeof(T) * size < 16 ? sizeof(T) * size : 16) pack { T at[size]; };

/* Elements in a pack, for kernels that access both types: a pack of the wider type fills 16 bytes. */
template <class A, class B = A> struct pack_size {
    enum { VALUE = 16 / (sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B)) };
};

/* A pack of more than 16 bytes takes an access for each 16. */
template <int size, class T> static __device__ __forceinline__ pack<T, size> load_pack(const T *from) {
    if constexpr (sizeof(T) * size <= 16) {
        return load_vector((const pack<T, size> *)from);
    } else {
        const pack<T, size / 2> parts[2] = {load_pack<size / 2>(from), load_pack<size / 2>(from + size / 2)};
        pack<T, size> all;
#pragma unroll
        for (int i = 0; i < size; i++) all.at[i] = parts[i / (size / 2)].at[i % (size / 2)];
        return all;
    }
}

template <int size, class T> static __device__ __forceinline__ void store_pack(T *to, const pack<T, size> &value) {
    if constexpr (sizeof(T) * size <= 16) {
        store_vector((pack<T, size> *)to, value);
    } else {
        pack<T, size / 2> parts[2];
#pragma unroll
        for (int i = 0; i < size; i++) parts[i / (size / 2)].at[i % (size / 2)] = value.at[i];
        store_pack<size / 2>(to, parts[0]);
        store_pack<size / 2>(to + size / 2, parts[1]);
    }
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

/* Number of leading elements, of `count` in x and y, that may be accessed in packs. */
template <int size, class X, class Y> static size_t packed_count(size_t count, const X *x, const Y *y) {
    return pack_aligned<size>(x) && pack_aligned<size>(y) ? count - count % size : 0;
}

/* Number of blocks of a kernel that takes `packed` of `count` elements in packs. */
template <int size> static unsigned pack_blocks(size_t count, size_t packed) {
    return grid_blocks(packed / size + (count - packed));
}

/* ---- with broadcasting: a pack lies in one row of the loop, its last dimension ---- */

/* True if operand k can be loaded in packs: constant along a row, or contiguous with each row aligned. */
template <int size, class T> static bool operand_packable(const gpu_loop *loop, int k, const T *data) {
    const int64_t *strides = loop->strides[k];
    if (strides[loop->rank - 1] == 0) return true;
    bool rows_aligned = strides[loop->rank - 1] == 1 && pack_aligned<size>(data);
    for (int d = 0; d < loop->rank - 1; d++) rows_aligned = rows_aligned && strides[d] % size == 0;
    return rows_aligned;
}

/* Number of leading elements of the loop's output that form whole packs, each within one row. Operands are checked
 * separately (operand_packable). */
template <int size, class Y> static size_t rows_packed(const gpu_loop *loop, const Y *y) {
    if (loop->rank == 0 || !pack_aligned<size>(y)) return 0;
    if (loop->rank > 1 && loop->dims[loop->rank - 1] % size) return 0;
    return loop->count - loop->count % size;
}

/* Loads a pack of operand k at offset `at`. */
template <int size, class T>
static __device__ __forceinline__ pack<T, size> load_operand(const gpu_loop &loop, int k, const T *data, int64_t at) {
    if (size == 1 || loop.strides[k][loop.rank - 1] != 0) return load_pack<size>(data + at);
    return same_pack<size>(data[at]);
}

#endif
