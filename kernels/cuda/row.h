/* row.h - a row that a block goes over several times, but reads once: its threads keep it in registers. Of a longer row
 * they keep the begin, and read the rest again. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_ROW_H
#define TORT_KERNELS_CUDA_ROW_H

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"

/* SIZE neighbours; those that do not begin at a pack go one by one. */
template <int SIZE, class T>
static __device__ __forceinline__ pack<T, SIZE> load_neighbours(const T *from, bool aligned) {
    pack<T, SIZE> read;
    if (aligned) return load_pack<SIZE>(from);
#pragma unroll
    for (int j = 0; j < SIZE; j++) read.at[j] = from[j];
    return read;
}
template <int SIZE, class T>
static __device__ __forceinline__ void store_neighbours(T *to, const pack<T, SIZE> &value, bool aligned) {
    if (aligned) {
        store_pack<SIZE>(to, value);
        return;
    }
#pragma unroll
    for (int j = 0; j < SIZE; j++) to[j] = value.at[j];
}

/* Elements of T as what they are computed in, SIZE neighbours at a time: `length` is a multiple of that. Which thread
 * has which elements does not depend on where they are in memory (`aligned`: at packs), so that sums have the same bits
 * anywhere. Launch length / HELD threads: with one pack each, a thread executes four times the instructions for each
 * element, and fewer threads with several loads each keep the memory as busy. */
template <class T, int SIZE> struct held_row {
    typedef typename computed<T>::type C;
    enum { HELD = SIZE == 1 ? 8 : 16, PACKS = HELD / SIZE };
    const T *data;
    size_t length;
    bool aligned;
    C at[HELD];

    __device__ __forceinline__ held_row(const T *data_, size_t length_, bool aligned_)
        : data(data_), length(length_), aligned(aligned_) {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            if (place(p) < length) read(place(p), at + p * SIZE);
    }
    /* Where the thread's pack number p begins. */
    __device__ __forceinline__ size_t place(size_t p) const {
        return (p * blockDim.x + threadIdx.x) * SIZE;
    }
    __device__ __forceinline__ void read(size_t i, C *values) const {
        const pack<T, SIZE> read = load_neighbours<SIZE>(data + i, aligned);
#pragma unroll
        for (int j = 0; j < SIZE; j++) values[j] = (C)read.at[j];
    }
    /* visit(value) for each element of the thread, in their order. */
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) const {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int j = 0; j < SIZE; j++)
                if (place(p) < length) visit(at[p * SIZE + j]);
#pragma unroll 4 /* four loads under way */
        for (size_t i = place(PACKS); i < length; i += (size_t)blockDim.x * SIZE) {
            C values[SIZE];
            read(i, values);
#pragma unroll
            for (int j = 0; j < SIZE; j++) visit(values[j]);
        }
    }
    /* y becomes what change(i, held, values) makes of the pack at i, which is at[held] and on; held < 0: it is not. */
    template <class Change> __device__ __forceinline__ void write(T *y, const Change &change) const {
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            C values[SIZE];
            if (place(p) >= length) break;
#pragma unroll
            for (int j = 0; j < SIZE; j++) values[j] = at[p * SIZE + j];
            change(place(p), p * SIZE, values);
            store(y + place(p), values);
        }
        write_again(y, PACKS, change);
    }
    /* The same from the thread's pack number p on, which is read again: for a long `change`, as it stands there once.
     */
    template <class Change> __device__ __forceinline__ void write_again(T *y, size_t p, const Change &change) const {
#pragma unroll 1
        for (size_t i = place(p); i < length; i += (size_t)blockDim.x * SIZE) {
            C values[SIZE];
            read(i, values);
            change(i, -1, values);
            store(y + i, values);
        }
    }
    __device__ __forceinline__ void store(T *y, const C *values) const {
        pack<T, SIZE> made;
#pragma unroll
        for (int j = 0; j < SIZE; j++) made.at[j] = (T)values[j];
        store_neighbours<SIZE>(y, made, aligned);
    }
};

/* ---- launchers ---- */

/* Do x and y, whose rows are multiples of packs, begin at one? */
template <int SIZE, class T> static bool both_aligned(const T *x, const T *y) {
    return pack_aligned<SIZE>(x) && pack_aligned<SIZE>(y);
}

#endif
