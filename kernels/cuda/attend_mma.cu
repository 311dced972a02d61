/* attend_mma.cu - attention on tensor cores, of 16-bit elements or of floats rounded to TF32, with float accumulators
 * (the scheme is in attend.h and attend.cuh). Read first: product_mma.cuh for pieces, ldmatrix and XOR; gpu.h for the
 * fragments of mma.
 *
 * A block has 64 rows of queries in shared memory, 16 per warp (as in FlashAttention-2, Dao 2023, warps divide
 * queries, not keys, so they never exchange sums), and walks over the keys STEP at a time. cp.async brings the
 * values while scores are made, and the next keys while values are summed. Products, weights and sums stay in the
 * registers of a warp: the accumulator fragments of the first product, rounded, are the A fragments of the second. A
 * lane has neighbouring keys there, where mma takes one and the one 4 further on of floats: so these are summed in
 * another order, values alike. */
#include "kernels/cuda/attend.cuh"
#include "kernels/cuda/product_mma.cuh"

enum { ROWS = GPU_ATTEND_ROWS, WARP_ROWS = ROWS / (ATTEND_THREADS / 32) };

template <class T_, int SIZE_, bool PIECES_> struct mma_attend {
    typedef T_ T;
    enum {
        SIZE = SIZE_,
        PIECES = PIECES_, /* rows of q, k and v consist of whole pieces */
        BYTES = sizeof(T_),
        PIECE = piece_of<T_>::SIZE,
        FRAGMENT = 2 * PIECE, /* elements of a key that mma takes */
        STEP = SIZE_ > 128               ? 16
               : SIZE_ > 64 && BYTES > 2 ? 32
                                         : 64,
        /* The room of the keys is reused for a step's products where masks are applied to them. */
        KEYS = SIZE * BYTES > ROWS * 4 ? STEP *SIZE : ROWS *STEP * 4 / BYTES,
        SHARED_BYTES = (ROWS * SIZE + KEYS + STEP * SIZE) * BYTES,
        RESIDENT = resident_blocks(SIZE_ > 64 ? 2 : 3, SHARED_BYTES)
    };
};

template <class T2> static __device__ __forceinline__ uint32_t bits_of(T2 pair) {
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}
static __device__ __forceinline__ uint32_t pair_of(float a, float b, half) {
    return bits_of(__floats2half2_rn(a, b));
}
static __device__ __forceinline__ uint32_t pair_of(float a, float b, nv_bfloat16) {
    return bits_of(__floats2bfloat162_rn(a, b));
}

/* ---- shared memory: lines of SIZE elements, their pieces permuted by XOR ---- */

template <class A> static __device__ __forceinline__ unsigned place_of_piece(unsigned line, unsigned piece) {
    return (line * (A::SIZE / A::PIECE) + (piece ^ (line & 7))) * A::PIECE;
}

/* Copies the lines of a step of keys or values; lines from `last` on, and elements from `size` on, become 0. */
template <class A> struct line_source {
    typedef typename A::T T;
    enum { PIECE = A::PIECE, A_LINE = A::SIZE / PIECE, A_PASS = ATTEND_THREADS / A_LINE, PASSES = A::STEP / A_PASS };
    const T *data;
    int64_t line_stride, element_stride;
    int size, last_step, last_lines;
    unsigned place;

    __device__ __forceinline__ line_source(const void *data_, const tort_head_strides &s, int64_t offset, int64_t last,
                                           int64_t size_)
        : data((const T *)data_ + offset), line_stride(s.position), element_stride(s.element), size((int)size_) {
        const unsigned line = threadIdx.x / A_LINE, piece = threadIdx.x % A_LINE;
        last_step = (int)((last - 1) / A::STEP);
        last_lines = last > 0 ? (int)(last - (int64_t)last_step * A::STEP) : 0;
        if (A::PIECES) data += line * line_stride + piece * PIECE;
        place = kept(place_of_piece<A>(line, piece));
    }
    __device__ __forceinline__ void copy(T *lines, int step) const {
        const int count = step < last_step ? A::STEP : last_lines;
        const T *at = data + (int64_t)step * (A::STEP * line_stride);
        if (A::PIECES) {
            const int left = (int)(threadIdx.x % A_LINE) * PIECE < size ? count - (int)threadIdx.x / A_LINE : 0;
#pragma unroll
            for (int i = 0; i < PASSES; i++, at += A_PASS * line_stride)
                cp_async16_or_zero(lines + place_at(i), at, i * A_PASS < left);
            return;
        }
        const bool along = element_stride ==
                           1; /* neighbouring threads read neighbours in memory: of a line, or of neighbouring lines */
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < A::STEP * A::SIZE; i += ATTEND_THREADS) {
            const int line = along ? i / A::SIZE : i % A::STEP, e = along ? i % A::SIZE : i / A::STEP;
            lines[place_of_piece<A>((unsigned)line, (unsigned)e / PIECE) + e % PIECE] =
                line < count && e < size ? at[line * line_stride + e * element_stride] : (T)0.0f;
        }
    }
    /* Returns the place of a pass. The permutation repeats after 8 lines; 4 or 2 lines on, higher bits are others. */
    __device__ __forceinline__ unsigned place_at(int pass) const {
        const unsigned other = (unsigned)pass * A_PASS % 8 * PIECE;
        return (place ^ other) + (unsigned)pass * A_PASS * A::SIZE;
    }
};

/* Copies the tile's queries, once. */
template <class A>
static __device__ __forceinline__ void copy_queries(const gpu_attend &a, const gpu_attend_tiling &t,
                                                    const attend_place &p, typename A::T *queries) {
    typedef typename A::T T;
    enum { PIECE = A::PIECE };
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ROWS * A::SIZE / PIECE; i += ATTEND_THREADS) {
        const int line = i / (A::SIZE / PIECE), piece = i % (A::SIZE / PIECE);
        const int left = p.first + line < p.last ? (int)a.key_size - piece * PIECE : 0;
        const T *from =
            (const T *)a.q +
            (left > 0 ? row_offset(t, a.q_strides, p, p.first + line) + piece * PIECE * a.q_strides.element : 0);
        T *to = queries + place_of_piece<A>(line, piece);
        if (A::PIECES)
            cp_async16_or_zero(to, from, left > 0);
        else
#pragma unroll 1
            for (int j = 0; j < PIECE; j++) to[j] = j < left ? from[j * a.q_strides.element] : (T)0.0f;
    }
}

/* Offsets that a lane gives to ldmatrix: its row of the four 8x8 matrices of a block of 16 lines by 2 pieces, for each
 * 2 of 8 pieces (the reach of the XOR); further pieces are constant offsets away. */
template <class A> struct block_reader {
    enum { PLACES = 4 };
    unsigned place[PLACES];

    /* line, piece: position of the lane's matrix, the line in eights. */
    __device__ __forceinline__ block_reader(unsigned first, unsigned line, unsigned piece) {
#pragma unroll
        for (unsigned i = 0; i < PLACES; i++)
            place[i] = kept(place_of_piece<A>(first + line * 8 + threadIdx.x % 8, i * 2 + piece));
    }
    __device__ __forceinline__ unsigned at(int line, int element) const {
        return place[element / A::FRAGMENT % PLACES] +
               (unsigned)(line * A::SIZE + element / (PLACES * A::FRAGMENT) * (PLACES * A::FRAGMENT));
    }
};

/* ---- a step ---- */

/* Accumulators of a warp's 16 rows: lane l has rows g = l / 4 and g + 8, and columns 2 * (l % 4) and the next of
 * each block of 8. */
template <class A> struct warp_state {
    float sums[A::SIZE / 8][4];
    float largest[2], weights[2]; /* weights: sums over the lane's own columns */
};

template <class A>
static __device__ __forceinline__ void make_products(const typename A::T *queries, const typename A::T *keys,
                                                     const block_reader<A> &query_at, const block_reader<A> &key_at,
                                                     float (&products)[A::STEP / 8][4]) {
#pragma unroll
    for (int i = 0; i < A::STEP / 8; i++) products[i][0] = products[i][1] = products[i][2] = products[i][3] = 0.0f;
#pragma unroll
    for (int e = 0; e < A::SIZE; e += A::FRAGMENT) {
        uint32_t left[4], right[4];
        ldmatrix_x4(left, queries + query_at.at(0, e));
        round_operands(left, typename A::T());
#pragma unroll
        for (int j = 0; j < A::STEP / 16; j++) {
            ldmatrix_x4(right, keys + key_at.at(j * 16, e));
            round_operands(right, typename A::T());
            const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
            multiply(products[2 * j], left, low, typename A::T());
            multiply(products[2 * j + 1], left, high, typename A::T());
        }
    }
}

/* Applies masks to products through shared memory, where lanes read contiguous keys rather than those of fragments. */
template <class A>
static __device__ __forceinline__ void mask_products(const gpu_attend &a, const attend_row *rows, int64_t first_key,
                                                     float *room, float (&products)[A::STEP / 8][4]) {
    const int row = (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < A::STEP / 8; i++)
#pragma unroll
        for (int half_ = 0; half_ < 2; half_++)
            store_pack<2>(room + score_place<A::STEP>(row + half_ * 8, i * 8 + column),
                          pack<float, 2>{{products[i][half_ * 2], products[i][half_ * 2 + 1]}});
    score_rows<A::STEP, WARP_ROWS>(a, rows, first_key, room);
#pragma unroll
    for (int i = 0; i < A::STEP / 8; i++)
#pragma unroll
        for (int half_ = 0; half_ < 2; half_++) {
            const pack<float, 2> two =
                load_pack<2>((const float *)room + score_place<A::STEP>(row + half_ * 8, i * 8 + column));
            products[i][half_ * 2] = two.at[0];
            products[i][half_ * 2 + 1] = two.at[1];
        }
}

/* Turns products into weights. Products times `factor` are scores. */
template <class A>
static __device__ __forceinline__ void weigh(warp_state<A> &w, float factor, float (&products)[A::STEP / 8][4]) {
    float fade[2], shift[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = products[0][r * 2];
#pragma unroll
        for (int i = 0; i < A::STEP / 8; i++) top = fmaxf(top, fmaxf(products[i][r * 2], products[i][r * 2 + 1]));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
        top = fmaxf(w.largest[r], top * factor);
        shift[r] = shift_of(top);
        fade[r] = exp2_approximate(w.largest[r] - shift[r]);
        w.largest[r] = top;
        w.weights[r] *= fade[r];
    }
#pragma unroll
    for (int i = 0; i < A::STEP / 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            products[i][j] = exp2_approximate(products[i][j] * factor - shift[j / 2]);
            w.weights[j / 2] += products[i][j];
        }
#pragma unroll
    for (int i = 0; i < A::SIZE / 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) w.sums[i][j] *= fade[j / 2];
}

template <class A, class T>
static __device__ __forceinline__ void add_values(warp_state<A> &w, const T *values, const block_reader<A> &value_at,
                                                  const float (&weights)[A::STEP / 8][4]) {
#pragma unroll
    for (int k = 0; k < A::STEP / 8; k += 2) {
        const uint32_t left[4] = {
            pair_of(weights[k][0], weights[k][1], T()), pair_of(weights[k][2], weights[k][3], T()),
            pair_of(weights[k + 1][0], weights[k + 1][1], T()), pair_of(weights[k + 1][2], weights[k + 1][3], T())};
#pragma unroll
        for (int e = 0; e < A::SIZE; e += 16) {
            uint32_t right[4];
            ldmatrix_x4_trans(right, values + value_at.at(k * 8, e));
            const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
            multiply(w.sums[e / 8], left, low, T());
            multiply(w.sums[e / 8 + 1], left, high, T());
        }
    }
}

/* The same of floats, whose values ldmatrix cannot transpose: a lane loads 4 neighbours of the values of its two keys,
 * one for each of 4 operands. */
template <class A>
static __device__ __forceinline__ void add_values(warp_state<A> &w, const float *values, const block_reader<A> &,
                                                  const float (&weights)[A::STEP / 8][4]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < A::STEP / 8; k++) {
        uint32_t left[4] = {__float_as_uint(weights[k][0]), __float_as_uint(weights[k][2]),
                            __float_as_uint(weights[k][1]), __float_as_uint(weights[k][3])};
        round_operands(left, 0.0f);
#pragma unroll
        for (int e = 0; e < A::SIZE; e += 32) {
            uint32_t right[2][4];
#pragma unroll
            for (unsigned i = 0; i < 2; i++) {
                const pack<float, 4> four =
                    load_pack<4>(values + k * 8 * A::SIZE + e + place_of_piece<A>(lane % 4 * 2 + i, lane / 4));
#pragma unroll
                for (int j = 0; j < 4; j++) right[i][j] = __float_as_uint(four.at[j]);
                round_operands(right[i], 0.0f);
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const uint32_t two[2] = {right[0][j], right[1][j]};
                multiply(w.sums[e / 8 + j], left, two, 0.0f);
            }
        }
    }
}

/* ---- output ---- */

template <class A> using summed = neighbours<(A::BYTES > 2), A::SIZE / 8>;

template <class A>
static __device__ __forceinline__ void leave_part(const gpu_attend_tiling &t, const gpu_parts &parts,
                                                  const attend_place &p, const warp_state<A> &w) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = (int)threadIdx.x / 32 * WARP_ROWS + (int)threadIdx.x % 32 / 4 + r * 8;
        if (p.first + row >= p.last) continue;
        float *to = part_row(t, parts, p.tile, blockIdx.y, row);
#pragma unroll
        for (int i = 0; i < summed<A>::COUNT; i++) {
            const typename summed<A>::group sums = summed<A>::of(w.sums, r, i);
            float *at = to + summed<A>::column((unsigned)i);
#pragma unroll
            for (int j = 0; j < summed<A>::SIZE; j += 2) /* rows of parts begin at 8 bytes */
                store_pack<2>(at + j, pack<float, 2>{{sums.at[j], sums.at[j + 1]}});
        }
        if (threadIdx.x % 4 == 0) store_pack<2>(to + A::SIZE, pack<float, 2>{{w.largest[r], w.weights[r]}});
    }
}

static __device__ __forceinline__ void leave_scaled(float *to, const pack<float, 4> &sums, float factor) {
    store_pack<4>(to, pack<float, 4>{{scaled(sums.at[0], factor), scaled(sums.at[1], factor),
                                      scaled(sums.at[2], factor), scaled(sums.at[3], factor)}});
}
template <class T>
static __device__ __forceinline__ void leave_scaled(T *to, const pack<float, 2> &sums, float factor) {
    const uint32_t two = pair_of(scaled(sums.at[0], factor), scaled(sums.at[1], factor), T());
    memcpy(to, &two, sizeof two);
}

/* Stores rows through the shared memory of the warp's queries, so that whole pieces are written. */
template <class A>
static __device__ __forceinline__ void store_rows(const gpu_attend &a, const gpu_attend_tiling &t,
                                                  const attend_place &p, const warp_state<A> &w, bool y_pieces,
                                                  typename A::T *queries) {
    typedef typename A::T T;
    enum { PIECE = A::PIECE };
    const int first = (int)threadIdx.x / 32 * WARP_ROWS, lane = (int)threadIdx.x % 32;
    __syncwarp(); /* the queries have been read */
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const float factor = factor_of(a, w.weights[r]);
        T *const to = queries + (first + lane / 4 + r * 8) * A::SIZE + summed<A>::offset();
#pragma unroll
        for (int i = 0; i < summed<A>::COUNT; i++) /* lines that are eights apart are permuted alike */
            leave_scaled(to + (summed<A>::piece((unsigned)i) ^ (unsigned)lane / 4) * PIECE, summed<A>::of(w.sums, r, i),
                         factor);
    }
    __syncwarp();
#pragma unroll 1
    for (int i = lane; i < WARP_ROWS * A::SIZE / PIECE; i += 32) {
        const int row = first + i / (A::SIZE / PIECE), piece = i % (A::SIZE / PIECE);
        if (p.first + row >= p.last || piece * PIECE >= a.value_size) continue;
        const T *from = queries + place_of_piece<A>((unsigned)row, (unsigned)piece);
        T *to = (T *)a.y + row_offset(t, a.y_strides, p, p.first + row) + piece * PIECE * a.y_strides.element;
        if (y_pieces)
            store_pack<PIECE>(to, load_pack<PIECE>(from));
        else
#pragma unroll 1
            for (int j = 0; j < PIECE && piece * PIECE + j < a.value_size; j++) to[j * a.y_strides.element] = from[j];
    }
}

/* ---- the whole tile ---- */

template <class A> struct attend_block {
    typedef typename A::T T;
    T *queries, *keys, *values;
    line_source<A> key_source, value_source;
    block_reader<A> query_at, key_at, value_at;
    warp_state<A> w;
    bool active; /* this warp has rows */

    /* Makes step i of the walk, whose keys are being copied: fetches its values, and the keys of the next step. */
    template <bool SIMPLE>
    __device__ __forceinline__ void step(const gpu_attend &a, const key_walk<A::STEP> &walk, int i,
                                         const attend_row *rows) {
        const int warp = (int)threadIdx.x / 32;
        float products[A::STEP / 8][4];
        cp_async_wait<0>();
        __syncthreads(); /* the keys have arrived; the previous step's values have been read */
        value_source.copy(values, walk.step(i));
        cp_async_commit();
        if (active) make_products<A>(queries, keys, query_at, key_at, products);
        if (!SIMPLE) {
            __syncthreads(); /* the keys have been read: their room is reused for products */
            if (active)
                mask_products<A>(a, rows + warp * WARP_ROWS, (int64_t)walk.step(i) * A::STEP,
                                 (float *)keys + warp * WARP_ROWS * A::STEP, products);
        }
        if (active) weigh<A>(w, SIMPLE ? a.scale * LOG2_E : 1.0f, products);
        cp_async_wait<0>();
        __syncthreads(); /* the values have arrived; the keys have been read */
        if (i + 1 < walk.count) key_source.copy(keys, walk.step(i + 1));
        cp_async_commit();
        if (active) add_values<A>(w, values, value_at, products);
    }
};

template <class A>
static __device__ __forceinline__ void attend_tile(const gpu_attend &a, const gpu_attend_tiling &t,
                                                   const gpu_parts &parts, int64_t tile, bool simple, bool y_pieces) {
    typedef typename A::T T;
    __shared__ attend_row rows[ROWS];
    T *const queries = dynamic_shared<T>(), *const keys = queries + ROWS * A::SIZE, *const values = keys + A::KEYS;
    const attend_place p = place_of(a, t, tile);
    const key_walk<A::STEP> walk(a, t, p, simple);
    const unsigned low = threadIdx.x >> 3 & 1, high = threadIdx.x >> 4 & 1, first = threadIdx.x / 32 * WARP_ROWS;
    attend_block<A> b = {queries,
                         keys,
                         values,
                         {a.k, a.k_strides, key_offset(a, a.k_strides, p), walk.last, a.key_size},
                         {a.v, a.v_strides, key_offset(a, a.v_strides, p), walk.last, a.value_size},
                         {first, low, high},
                         {0, high, low},
                         {0, low, high},
                         {{}, {-INFINITY, -INFINITY}, {0.0f, 0.0f}},
                         p.first + first < p.last};
    describe_rows(a, t, p, rows);
    copy_queries<A>(a, t, p, queries);
    if (walk.count) b.key_source.copy(keys, walk.step(0));
    cp_async_commit();
    int i = 0;
    for (; i < walk.simple_count; i++) b.template step<true>(a, walk, i, rows);
    for (; i < walk.count; i++) b.template step<false>(a, walk, i, rows);
    cp_async_wait<0>();
    for (int r = 0; r < 2; r++) {
        b.w.weights[r] += __shfl_xor_sync(~0u, b.w.weights[r], 1);
        b.w.weights[r] += __shfl_xor_sync(~0u, b.w.weights[r], 2);
    }
    __syncthreads(); /* waits for copies of queries if there was no step */
    /* The place is computed again: held over the steps, it would be spilled on sm_75. */
    const attend_place again = place_of(a, t, (int64_t)kept((unsigned)(tile >> 31)) << 31 | kept(tile & INT32_MAX));
    if (t.parts > 1) {
        leave_part<A>(t, parts, again, b.w);
        join_keys<T>(a, t, parts, again);
    } else {
        store_rows<A>(a, t, again, b.w, y_pieces, queries);
    }
}

template <class A>
static __global__ void __launch_bounds__(ATTEND_THREADS, A::RESIDENT)
    attend_mma(const gpu_attend a, const gpu_attend_tiling t, const gpu_parts parts, bool simple, bool y_pieces) {
    after_previous();
    for (int64_t tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
        attend_tile<A>(a, t, parts, tile, simple, y_pieces);
        __syncthreads(); /* the rows have been read */
    }
}

/* ---- launchers ---- */

template <class A>
static cudaError_t run_as(gpu_stream stream, const gpu_attend *a, const gpu_attend_tiling *t, const gpu_parts *parts) {
    const bool y_pieces = rows_of_pieces<typename A::T>(a->y, a->y_strides, a->value_size);
    return launch_overlapping(attend_mma<A>, dim3(grid_extent((size_t)t->tiles), (unsigned)t->parts), ATTEND_THREADS,
                              A::SHARED_BYTES, stream, *a, *t, *parts, is_simple(a), y_pieces);
}

template <class A> static cudaError_t load_as() {
    const cudaError_t code = load_kernel(attend_mma<A>);
    return code == cudaSuccess ? allow_dynamic_shared(attend_mma<A>, A::SHARED_BYTES) : code;
}

template <class T, int SIZE> struct by_size {
    typedef mma_attend<T, SIZE, true> pieces;
    typedef mma_attend<T, SIZE, false> anyhow;

    static cudaError_t run(gpu_stream stream, const gpu_attend *a, const gpu_attend_tiling *t, const gpu_parts *parts) {
        const bool whole = rows_of_pieces<T>(a->q, a->q_strides, a->key_size) &&
                           rows_of_pieces<T>(a->k, a->k_strides, a->key_size) &&
                           rows_of_pieces<T>(a->v, a->v_strides, a->value_size);
        return whole ? run_as<pieces>(stream, a, t, parts) : run_as<anyhow>(stream, a, t, parts);
    }
    static cudaError_t load() {
        const cudaError_t code = load_as<pieces>();
        return code == cudaSuccess ? load_as<anyhow>() : code;
    }
};

template <class T>
static cudaError_t run(gpu_stream stream, const gpu_attend *a, const gpu_attend_tiling *t, const gpu_parts *parts) {
    return for_size(t->size, [=](auto room) { return by_size<T, room>::run(stream, a, t, parts); });
}

template <class T> static cudaError_t load(int32_t size) {
    return for_size(size, [](auto room) { return by_size<T, room>::load(); });
}

cudaError_t gpu_run_attend_mma(gpu_stream stream, gpu_attend_type type, const gpu_attend *a, const gpu_attend_tiling *t,
                               const gpu_parts *parts) {
    switch (type) {
    case GPU_ATTEND_HALF: return run<half>(stream, a, t, parts);
    case GPU_ATTEND_BFLOAT16: return run<nv_bfloat16>(stream, a, t, parts);
    default: return run<float>(stream, a, t, parts);
    }
}

cudaError_t gpu_load_attend_mma(gpu_attend_type type, int32_t size) {
    switch (type) {
    case GPU_ATTEND_HALF: return load<half>(size);
    case GPU_ATTEND_BFLOAT16: return load<nv_bfloat16>(size);
    default: return load<float>(size);
    }
}
