/* attend_float.cu - attention of floats by FMA (the scheme is in attend.h and attend.cuh).
 *
 * A block has ROWS queries in shared memory and walks over the keys STEP at a time; keys and values use the same
 * shared memory in turn. Eight neighbouring lanes share QUERIES rows: each makes an eighth of their products, and
 * keeps an eighth of their sums in registers. Weights pass between lanes through shared memory, within a warp. */
#include "kernels/cuda/attend.cuh"

enum { LANES = 8, FOUR = 4 };

template <int SIZE_> struct float_attend {
    enum {
        SIZE = SIZE_,
        LINE = SIZE + FOUR, /* padded, so that lines begin in different banks */
        ROWS = SIZE > 64 ? 32 : 64,
        STEP = SIZE > 128 ? 16 : 32,
        QUERIES = ROWS * LANES / ATTEND_THREADS, /* of a thread */
        KEYS = STEP / LANES,
        PACKS = SIZE / FOUR / LANES,
        WARP_ROWS = QUERIES * 32 / LANES,
        SHARED_BYTES = ((ROWS + STEP) * LINE + ROWS * STEP) * 4
    };
};

/* Copies lines first..first + STEP of keys or values; lines from `last` on, and elements from `size` on, become 0. */
template <class A>
static __device__ __forceinline__ void copy_lines(float *to, const float *data, const tort_head_strides &s,
                                                  int64_t first, int64_t last, int64_t size, bool packs) {
    if (packs) {
        for (int i = (int)threadIdx.x; i < A::STEP * A::SIZE / FOUR; i += ATTEND_THREADS) {
            const int line = i / (A::SIZE / FOUR), at = i % (A::SIZE / FOUR) * FOUR;
            const bool inside = first + line < last && at < size;
            store_pack<FOUR>(to + line * A::LINE + at,
                             inside ? load_pack<FOUR>(data + (first + line) * s.position + at) : same_pack<FOUR>(0.0f));
        }
        return;
    }
    const bool along =
        s.element == 1; /* neighbouring threads read neighbours in memory: of a line, or of neighbouring lines */
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < A::STEP * A::SIZE; i += ATTEND_THREADS) {
        const int line = along ? i / A::SIZE : i % A::STEP, at = along ? i % A::SIZE : i / A::STEP;
        const bool inside = first + line < last && at < size;
        to[line * A::LINE + at] = inside ? data[(first + line) * s.position + at * s.element] : 0.0f;
    }
}

template <class A>
static __device__ __forceinline__ void copy_queries(const gpu_attend &a, const gpu_attend_tiling &t,
                                                    const attend_place &p, float *queries) {
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < A::ROWS * A::SIZE; i += ATTEND_THREADS) {
        const int line = i / A::SIZE, at = i % A::SIZE;
        const bool inside = p.first + line < p.last && at < a.key_size;
        queries[line * A::LINE + at] =
            inside ? ((const float *)a.q)[row_offset(t, a.q_strides, p, p.first + line) + at * a.q_strides.element]
                   : 0.0f;
    }
}

/* A thread's queries, and its part of their sums. */
template <class A> struct thread_state {
    int row;      /* first row, within the tile */
    int warp_row; /* the same, within the warp */
    int lane;     /* of the lanes that share the rows */
    float sums[A::QUERIES][A::PACKS][FOUR];
    float largest[A::QUERIES], weights[A::QUERIES];
};

template <class A>
static __device__ __forceinline__ void make_products(const thread_state<A> &w, const float *queries, const float *keys,
                                                     float (&products)[A::QUERIES][A::KEYS]) {
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++)
#pragma unroll
        for (int j = 0; j < A::KEYS; j++) products[i][j] = 0.0f;
#pragma unroll 4
    for (int e = 0; e < A::SIZE; e += FOUR) {
        pack<float, FOUR> q[A::QUERIES];
#pragma unroll
        for (int i = 0; i < A::QUERIES; i++) q[i] = load_pack<FOUR>(queries + (w.row + i) * A::LINE + e);
#pragma unroll
        for (int j = 0; j < A::KEYS; j++) {
            const pack<float, FOUR> k = load_pack<FOUR>(keys + (j * LANES + w.lane) * A::LINE + e);
#pragma unroll
            for (int i = 0; i < A::QUERIES; i++)
#pragma unroll
                for (int f = 0; f < FOUR; f++) products[i][j] += q[i].at[f] * k.at[f];
        }
    }
}

static __device__ __forceinline__ float lanes_max(float value) {
    for (int offset = 1; offset < LANES; offset *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

static __device__ __forceinline__ float lanes_sum(float value) {
    for (int offset = 1; offset < LANES; offset *= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

/* Turns products into weights. Products times `factor` are scores; weights go to shared memory, where all lanes of
 * their rows read them. */
template <class A>
static __device__ __forceinline__ void weigh(thread_state<A> &w, float factor, float (&products)[A::QUERIES][A::KEYS],
                                             float *room) {
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++) {
        float most = products[i][0];
#pragma unroll
        for (int j = 1; j < A::KEYS; j++) most = fmaxf(most, products[i][j]);
        most = fmaxf(w.largest[i], lanes_max(most) * factor);
        const float shift = shift_of(most), fade = exp2f(w.largest[i] - shift);
        w.largest[i] = most;
        w.weights[i] *= fade;
#pragma unroll
        for (int j = 0; j < A::KEYS; j++) {
            const float weight = exp2f(products[i][j] * factor - shift);
            w.weights[i] += weight;
            room[score_place<A::STEP>(w.warp_row + i, j * LANES + w.lane)] = weight;
        }
#pragma unroll
        for (int k = 0; k < A::PACKS; k++)
#pragma unroll
            for (int f = 0; f < FOUR; f++) w.sums[i][k][f] *= fade;
    }
}

template <class A>
static __device__ __forceinline__ void add_values(thread_state<A> &w, const float *values, const float *room) {
#pragma unroll 1
    for (int key = 0; key < A::STEP; key += FOUR) {
        pack<float, FOUR> weights[A::QUERIES];
#pragma unroll
        for (int i = 0; i < A::QUERIES; i++)
            weights[i] = load_pack<FOUR>(room + score_place<A::STEP>(w.warp_row + i, key));
#pragma unroll
        for (int n = 0; n < FOUR; n++)
#pragma unroll
            for (int k = 0; k < A::PACKS; k++) {
                const pack<float, FOUR> v = load_pack<FOUR>(values + (key + n) * A::LINE + (k * LANES + w.lane) * FOUR);
#pragma unroll
                for (int i = 0; i < A::QUERIES; i++)
#pragma unroll
                    for (int f = 0; f < FOUR; f++) w.sums[i][k][f] += weights[i].at[n] * v.at[f];
            }
    }
}

template <class A>
static __device__ __forceinline__ void mask_products(const gpu_attend &a, const thread_state<A> &w,
                                                     const attend_row *rows, int64_t first_key, float *room,
                                                     float (&products)[A::QUERIES][A::KEYS]) {
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++)
#pragma unroll
        for (int j = 0; j < A::KEYS; j++)
            room[score_place<A::STEP>(w.warp_row + i, j * LANES + w.lane)] = products[i][j];
    score_rows<A::STEP, A::WARP_ROWS>(a, rows, first_key, room);
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++)
#pragma unroll
        for (int j = 0; j < A::KEYS; j++)
            products[i][j] = room[score_place<A::STEP>(w.warp_row + i, j * LANES + w.lane)];
}

/* Stores a thread's elements of its rows: four of each LANES * FOUR. */
template <class A>
static __device__ __forceinline__ void store_rows(const gpu_attend &a, const gpu_attend_tiling &t,
                                                  const attend_place &p, const thread_state<A> &w, bool packs) {
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++) {
        const int64_t row = p.first + w.row + i;
        if (row >= p.last) continue;
        float *y = (float *)a.y + row_offset(t, a.y_strides, p, row);
        const float factor = factor_of(a, w.weights[i]);
#pragma unroll
        for (int k = 0; k < A::PACKS; k++) {
            const int at = (k * LANES + w.lane) * FOUR;
            pack<float, FOUR> four;
#pragma unroll
            for (int f = 0; f < FOUR; f++) four.at[f] = scaled(w.sums[i][k][f], factor);
            if (packs && at < a.value_size) store_pack<FOUR>(y + at, four);
#pragma unroll
            for (int f = 0; f < FOUR; f++)
                if (!packs && at + f < a.value_size) y[(at + f) * a.y_strides.element] = four.at[f];
        }
    }
}

template <class A>
static __device__ __forceinline__ void leave_part(const gpu_attend_tiling &t, const gpu_parts &parts,
                                                  const attend_place &p, const thread_state<A> &w) {
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++) {
        if (p.first + w.row + i >= p.last) continue;
        float *to = part_row(t, parts, p.tile, blockIdx.y, w.row + i);
#pragma unroll
        for (int k = 0; k < A::PACKS; k++)
#pragma unroll
            for (int f = 0; f < FOUR; f += 2)
                store_pack<2>(to + (k * LANES + w.lane) * FOUR + f,
                              pack<float, 2>{{w.sums[i][k][f], w.sums[i][k][f + 1]}});
        if (w.lane == 0) store_pack<2>(to + A::SIZE, pack<float, 2>{{w.largest[i], w.weights[i]}});
    }
}

struct float_options {
    bool simple, k_packs, v_packs, y_packs; /* packs: rows consist of whole packs */
};

template <class A>
static __device__ __forceinline__ void attend_tile(const gpu_attend &a, const gpu_attend_tiling &t,
                                                   const gpu_parts &parts, int64_t tile, const float_options &options) {
    __shared__ attend_row rows[A::ROWS];
    float *const queries = dynamic_shared<float>(), *const lines = queries + A::ROWS * A::LINE,
                 *const weights = lines + A::STEP * A::LINE;
    const int warp = (int)threadIdx.x / 32, group = (int)threadIdx.x % 32 / LANES;
    const attend_place p = place_of(a, t, tile);
    const key_walk<A::STEP> walk(a, t, p, options.simple);
    const float *k = (const float *)a.k + key_offset(a, a.k_strides, p);
    const float *v = (const float *)a.v + key_offset(a, a.v_strides, p);
    float *const room = weights + warp * A::WARP_ROWS * A::STEP;
    thread_state<A> w = {
        warp * A::WARP_ROWS + group * A::QUERIES, group * A::QUERIES, (int)threadIdx.x % LANES, {}, {}, {}};
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++) w.largest[i] = -INFINITY;
    describe_rows(a, t, p, rows);
    copy_queries<A>(a, t, p, queries);
#pragma unroll 1
    for (int i = 0; i < walk.count; i++) {
        const int64_t first = (int64_t)walk.step(i) * A::STEP;
        float products[A::QUERIES][A::KEYS];
        __syncthreads(); /* the values of the previous step have been read */
        copy_lines<A>(lines, k, a.k_strides, first, walk.last, a.key_size, options.k_packs);
        __syncthreads();
        make_products<A>(w, queries, lines, products);
        if (i >= walk.simple_count) mask_products<A>(a, w, rows + warp * A::WARP_ROWS, first, room, products);
        weigh<A>(w, i < walk.simple_count ? a.scale * LOG2_E : 1.0f, products, room);
        __syncthreads(); /* the keys have been read */
        copy_lines<A>(lines, v, a.v_strides, first, walk.last, a.value_size, options.v_packs);
        __syncthreads();
        add_values<A>(w, lines, room);
    }
#pragma unroll
    for (int i = 0; i < A::QUERIES; i++) w.weights[i] = lanes_sum(w.weights[i]);
    if (t.parts > 1) {
        leave_part<A>(t, parts, p, w);
        join_keys<float>(a, t, parts, p);
    } else {
        store_rows<A>(a, t, p, w, options.y_packs);
    }
}

template <class A>
static __global__ void __launch_bounds__(ATTEND_THREADS, 2)
    attend_float(const gpu_attend a, const gpu_attend_tiling t, const gpu_parts parts, const float_options options) {
    after_previous();
    for (int64_t tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
        attend_tile<A>(a, t, parts, tile, options);
        __syncthreads(); /* the rows have been read */
    }
}

/* ---- launchers ---- */

template <int SIZE>
static cudaError_t run(gpu_stream stream, const gpu_attend *a, const gpu_attend_tiling *t, const gpu_parts *parts) {
    typedef float_attend<SIZE> A;
    const float_options options = {is_simple(a), rows_of_pieces<float>(a->k, a->k_strides, a->key_size),
                                   rows_of_pieces<float>(a->v, a->v_strides, a->value_size),
                                   rows_of_pieces<float>(a->y, a->y_strides, a->value_size)};
    return launch_overlapping(attend_float<A>, dim3(grid_extent((size_t)t->tiles), (unsigned)t->parts), ATTEND_THREADS,
                              A::SHARED_BYTES, stream, *a, *t, *parts, options);
}

template <int SIZE> static cudaError_t load() {
    const cudaError_t code = load_kernel(attend_float<float_attend<SIZE>>);
    return code == cudaSuccess
               ? allow_dynamic_shared(attend_float<float_attend<SIZE>>, float_attend<SIZE>::SHARED_BYTES)
               : code;
}

cudaError_t gpu_run_attend_float(gpu_stream stream, const gpu_attend *a, const gpu_attend_tiling *t,
                                 const gpu_parts *parts) {
    return for_size(t->size, [=](auto room) { return run<room>(stream, a, t, parts); });
}

cudaError_t gpu_load_attend_float(int32_t size) {
    return for_size(size, [](auto room) { return load<room>(); });
}
