/* row.h - a row that a block sweeps several times but reads once, because its threads hold it in registers. The tail
 * of a row too long for the registers is read again in each sweep. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_ROW_H
#define TORT_KERNELS_CUDA_ROW_H

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"

/* SIZE neighbouring elements: one access if `aligned`, otherwise one by one. */
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

/* A row in memory. */
template <class T, int SIZE> struct stored_row {
    enum { EDGES = 0 };
    typedef typename computed<T>::type C;
    const T *data;
    bool aligned; /* rows begin at packs */

    /* H: T, or what it is computed in. */
    template <class H> __device__ __forceinline__ void read(size_t i, H *values) const {
        const pack<T, SIZE> read = load_neighbours<SIZE>(data + i, aligned);
#pragma unroll
        for (int j = 0; j < SIZE; j++) values[j] = (H)read.at[j];
    }
};

/* A row's elements, converted from T to their compute type, SIZE neighbours at a time (`length` is a multiple of SIZE).
 * They are held in type H: what sweeps only read takes half the registers as 16 bits, at a conversion a sweep. Source,
 * such as stored_row, supplies them: read(i, values) and `aligned`; with EDGES the first and last packs may be there in
 * part, from `first` to `last`. Elements are assigned to the threads of the
 * row, blockDim.x of them, independently of alignment, so sums have the same bits at any address. Launch length / HELD
 * threads: with one pack each, a thread would execute four times the instructions per element, and fewer threads with
 * several loads each keep memory as busy. */
template <class T, int SIZE, class Source = stored_row<T, SIZE>, int PACKED = 16, class H = typename computed<T>::type>
struct held_row {
    typedef typename computed<T>::type C;
    enum { HELD = SIZE == 1 ? 8 : PACKED, PACKS = HELD / SIZE, AHEAD = SIZE == 1 ? 4 : 2 };
    Source source;
    size_t length;
    unsigned held; /* elements of it that the block holds */
    H at[HELD];

    __device__ __forceinline__ held_row(const Source &source_, size_t length_) : source(source_), length(length_) {
        held = (unsigned)min(length_, (size_t)PACKS * SIZE * blockDim.x);
#pragma unroll
        for (unsigned p = 0; p < PACKS; p++)
            if (place(p) < held) source.read(place(p), at + p * SIZE);
    }
    /* Offset of the thread's pack p in the row. */
    __device__ __forceinline__ unsigned place(unsigned p) const {
        return (p * blockDim.x + threadIdx.x) * SIZE;
    }
    /* Pack p as it is computed with. Two 16-bit elements are in a register, and converted again in each sweep: the
     * compiler would convert them once and need a register for each. */
    __device__ __forceinline__ void held_pack(unsigned p, C *values) const {
        pack<H, SIZE> own;
#pragma unroll
        for (int j = 0; j < SIZE; j++) own.at[j] = at[p * SIZE + j];
        if constexpr (sizeof(H) == 2 && SIZE > 1) {
            unsigned words[SIZE / 2];
            memcpy(words, &own, sizeof own);
#pragma unroll
            for (int j = 0; j < SIZE / 2; j++) words[j] = kept(words[j]);
            memcpy(&own, words, sizeof own);
        }
#pragma unroll
        for (int j = 0; j < SIZE; j++) values[j] = (C)own.at[j];
    }
    /* Calls visit(values) for each pack of the thread, in order. */
    template <class Visit> __device__ __forceinline__ void each_pack(const Visit &visit) const {
#pragma unroll
        for (unsigned p = 0; p < PACKS; p++) {
            C values[SIZE];
            if (place(p) >= held) break;
            held_pack(p, values);
            visit(values);
        }
#pragma unroll 4 /* loads in flight */
        for (size_t i = place(PACKS); i < length; i += (size_t)blockDim.x * SIZE) {
            C values[SIZE];
            source.read(i, values);
            visit(values);
        }
    }
    /* Calls visit(value) for each element of the thread, in order. */
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) const {
        each_pack([&](const C *values) {
#pragma unroll
            for (int j = 0; j < SIZE; j++) visit(values[j]);
        });
    }
    /* Calls visit(element) for each held element of the thread, of type H, which it may change, in order. */
    template <class Visit> __device__ __forceinline__ void each_held(const Visit &visit) {
#pragma unroll
        for (unsigned p = 0; p < PACKS; p++)
#pragma unroll
            for (int j = 0; j < SIZE; j++)
                if (place(p) < held) visit(at[p * SIZE + j]);
    }
    /* Writes to y each held pack after change(i, values): i is its offset in the row, values its elements. */
    template <class Change> __device__ __forceinline__ void write_held(T *y, const Change &change) const {
#pragma unroll
        for (unsigned p = 0; p < PACKS; p++) {
            C values[SIZE];
            if (place(p) >= held) break;
            held_pack(p, values);
            change(place(p), values);
            store(y, place(p), values);
        }
    }
    /* The same for all packs. */
    template <class Change> __device__ __forceinline__ void write(T *y, const Change &change) const {
        write_held(y, change);
        write_again(y, PACKS, change);
    }
    /* The same for a row of which most is not held. Loads do not move across stores, so those of AHEAD packs come
     * first: they are under way together. */
    template <class Change> __device__ __forceinline__ void write_long(T *y, const Change &change) const {
        const size_t step = (size_t)blockDim.x * SIZE;
        write_held(y, change);
        for (size_t i = place(PACKS); i < length; i += AHEAD * step) {
            C values[AHEAD][SIZE];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (i + p * step < length) source.read(i + p * step, values[p]);
#pragma unroll
            for (int p = 0; p < AHEAD; p++) {
                if (i + p * step >= length) break;
                change(i + p * step, values[p]);
                store(y, i + p * step, values[p]);
            }
        }
    }
    /* The same for the thread's packs from p on, which are read again: for a long `change`, since it is instantiated
     * once. */
    template <class Change> __device__ __forceinline__ void write_again(T *y, unsigned p, const Change &change) const {
#pragma unroll 1
        for (size_t i = place(p); i < length; i += (size_t)blockDim.x * SIZE) {
            C values[SIZE];
            source.read(i, values);
            change(i, values);
            store(y, i, values);
        }
    }
    __device__ __forceinline__ void store(T *y, size_t i, const C *values) const {
        pack<T, SIZE> made;
#pragma unroll
        for (int j = 0; j < SIZE; j++) made.at[j] = (T)values[j];
        if constexpr (Source::EDGES)
            if (!source.is_whole(i)) {
#pragma unroll
                for (int j = 0; j < SIZE; j++)
                    if (source.has(i + j)) y[i + j] = made.at[j];
                return;
            }
        store_neighbours<SIZE>(y + i, made, source.aligned);
    }
};

/* ---- launchers ---- */

/* Rows that a block takes at a time, one a line of so many threads: fewer where blocks would be fewer than min_blocks.
 */
static inline unsigned lines_of(size_t rows, unsigned threads, size_t min_blocks) {
    const size_t wanted = (rows + min_blocks - 1) / min_blocks, max = 32 * BLOCK_MAX_WARPS / threads;
    return (unsigned)(wanted < max ? wanted : max);
}

/* True if x and y both begin at an aligned pack; their rows are multiples of packs. */
template <int SIZE, class T> static bool both_aligned(const T *x, const T *y) {
    return pack_aligned<SIZE>(x) && pack_aligned<SIZE>(y);
}

#endif
