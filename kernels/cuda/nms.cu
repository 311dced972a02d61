/* nms.cu - NonMaxSuppression. A block takes a list, a class of a batch: it sorts the boxes whose score is above the
 * threshold, and goes through them by tiles of one box a thread. Each is held against the boxes kept so far, then
 * against those before it in the tile, of which a bit mask tells the overlapping ones; one warp goes through the masks
 * in order. So memory does not grow with the square of the boxes, and a list ends when it has as many as were asked
 * for.
 *
 * Arithmetic is rounded step by step, without fused multiply-adds, as the plain loop does it: the same boxes are kept,
 * whatever lies at a threshold. Read first: nms.c, ops/nms.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/nms.h"

#define NMS_THREADS 256
#define NMS_WARPS (NMS_THREADS / 32)
#define NMS_SORTED 2048 /* keys that are sorted in shared memory */

struct nms_box {
    float x1, y1, x2, y2, area; /* x1 <= x2, y1 <= y2, unless a centered box has negative sides */
};

struct nms_shared {
    uint64_t keys[NMS_SORTED], sums[BLOCK_MAX_WARPS];
    nms_box boxes[NMS_THREADS];
    uint32_t overlapped[NMS_THREADS][NMS_WARPS + 1]; /* by box of the tile: those before it; a column for the banks */
    uint32_t alive[NMS_WARPS], kept[NMS_WARPS];      /* bits of the tile's boxes */
    unsigned count;
};

/* ---- geometry ---- */

static __device__ __forceinline__ nms_box box_of(const gpu_nms &s, size_t batch, uint32_t index) {
    const float *at = s.boxes + 4 * (batch * s.count + index);
    const float a = at[0], b = at[1], c = at[2], d = at[3];
    nms_box box;
    if (s.centered)
        box = {__fsub_rn(a, c / 2), __fsub_rn(b, d / 2), __fadd_rn(a, c / 2), __fadd_rn(b, d / 2), 0};
    else
        box = {b < d ? b : d, a < c ? a : c, b > d ? b : d, a > c ? a : c, 0};
    box.area = __fmul_rn(box.x2 - box.x1, box.y2 - box.y1);
    return box;
}

/* True if intersection over union is above the threshold. */
static __device__ __forceinline__ bool overlaps(const nms_box &a, const nms_box &b, float threshold) {
    const float width = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
    const float height = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
    if (!(width > 0 && height > 0 && a.area > 0 && b.area > 0)) return false;
    const float common = __fmul_rn(width, height), all = __fsub_rn(__fadd_rn(a.area, b.area), common);
    return all > 0 && __fdiv_rn(common, all) > threshold;
}

/* ---- candidates, in order ---- */

/* Greater keys come first: by score, then by index. No key is 0; -0 is as good as 0. */
static __device__ __forceinline__ uint64_t key_of(float score, uint32_t index) {
    const uint32_t bits = __float_as_uint(score + 0.0f), ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)ordered << 32 | (uint32_t)~index;
}

/* Collects the keys of the boxes with a sufficient score, in any order; returns their number. */
static __device__ unsigned collect(const gpu_nms &s, size_t list, uint64_t *keys, nms_shared &shared) {
    const float *scores = s.scores + list * s.count, threshold = s.score_threshold ? *s.score_threshold : -INFINITY;
    const unsigned lane = threadIdx.x % 32;
    __syncthreads(); /* the previous list is done */
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
    for (size_t first = 0; first < s.count; first += NMS_THREADS) {
        const size_t i = first + threadIdx.x;
        const float score = i < s.count ? scores[i] : 0;
        const bool taken = i < s.count && score > threshold;
        const uint32_t votes = __ballot_sync(~0u, taken);
        unsigned to = lane == 0 && votes ? atomicAdd(&shared.count, (unsigned)__popc(votes)) : 0;
        to = __shfl_sync(~0u, to, 0) + (unsigned)__popc(votes & ((1u << lane) - 1));
        if (taken) keys[to] = key_of(score, (uint32_t)i);
    }
    __syncthreads();
    return shared.count;
}

/* The lower place of a pair of keys that lie `stride`, a power of two, apart. */
static __device__ __forceinline__ unsigned low_of(unsigned pair, unsigned stride) {
    return (pair & ~(stride - 1)) * 2 + (pair & (stride - 1));
}

/* Puts a pair of keys in the order that a bitonic sequence wants at this place. */
static __device__ __forceinline__ void exchange(uint64_t *keys, unsigned pair, unsigned stride, bool falls) {
    const unsigned low = low_of(pair, stride);
    const uint64_t a = keys[low], b = keys[low + stride];
    if (falls ? a < b : a > b) {
        keys[low] = b;
        keys[low + stride] = a;
    }
}

/* The steps from `stride` down of a merge, chunk by chunk in shared memory. */
static __device__ void merge_chunks(uint64_t *keys, unsigned total, unsigned size, unsigned stride, uint64_t *chunk) {
    const unsigned length = total < NMS_SORTED ? total : NMS_SORTED;
    for (unsigned first = 0; first < total; first += length) {
        for (unsigned i = threadIdx.x; i < length; i += NMS_THREADS) chunk[i] = keys[first + i];
        __syncthreads();
        for (unsigned by = stride; by; by /= 2) {
            for (unsigned pair = threadIdx.x; pair < length / 2; pair += NMS_THREADS)
                exchange(chunk, pair, by, !((first + 2 * pair) & size));
            __syncthreads();
        }
        for (unsigned i = threadIdx.x; i < length; i += NMS_THREADS) keys[first + i] = chunk[i];
        __syncthreads();
    }
}

/* Bitonic sort, greatest first; strides that fit are done in shared memory. */
static __device__ void sort(uint64_t *keys, unsigned count, nms_shared &shared) {
    unsigned total = 1;
    while (total < count) total *= 2;
    for (unsigned i = count + threadIdx.x; i < total; i += NMS_THREADS) keys[i] = 0;
    __syncthreads();
    for (unsigned size = 2; size <= total && size; size *= 2) {
        unsigned stride = size / 2;
        for (; 2 * stride > NMS_SORTED; stride /= 2) {
            for (unsigned pair = threadIdx.x; pair < total / 2; pair += NMS_THREADS)
                exchange(keys, pair, stride, !(low_of(pair, stride) & size));
            __syncthreads();
        }
        merge_chunks(keys, total, size, stride, shared.keys);
    }
}

/* ---- selection ---- */

/* True unless a box that was kept before the tile overlaps this one. */
static __device__ bool survives(const gpu_nms &s, size_t batch, const uint64_t *keys, unsigned kept, const nms_box &box,
                                float threshold, nms_shared &shared) {
    bool alive = true;
    for (unsigned first = 0; first < kept; first += NMS_THREADS) {
        const unsigned count = kept - first < NMS_THREADS ? kept - first : NMS_THREADS;
        __syncthreads(); /* reads of the boxes before are over */
        if (threadIdx.x < count) shared.boxes[threadIdx.x] = box_of(s, batch, (uint32_t)keys[first + threadIdx.x]);
        __syncthreads();
        for (unsigned i = 0; i < count && alive; i++) alive = !overlaps(box, shared.boxes[i], threshold);
    }
    return alive;
}

/* Notes which boxes of the tile before this thread's overlap it, and which are alive. */
static __device__ void compare_tile(const nms_box &box, bool alive, float threshold, nms_shared &shared) {
    __syncthreads();
    shared.boxes[threadIdx.x] = box;
    __syncthreads();
    for (unsigned word = 0; word < NMS_WARPS; word++) {
        uint32_t bits = 0;
        for (unsigned i = 32 * word; alive && i < 32 * word + 32 && i < threadIdx.x; i++)
            bits |= (uint32_t)overlaps(box, shared.boxes[i], threshold) << i % 32;
        shared.overlapped[threadIdx.x][word] = bits;
    }
    const uint32_t votes = __ballot_sync(~0u, alive);
    if (threadIdx.x % 32 == 0) shared.alive[threadIdx.x / 32] = votes;
    __syncthreads();
}

/* The first warp goes through the tile; each of its lanes has a word of the bits of kept boxes. */
static __device__ void keep_in_order(unsigned room, nms_shared &shared) {
    const unsigned lane = threadIdx.x;
    uint32_t kept = 0;
    for (unsigned i = 0; i < NMS_THREADS && room; i++) {
        if (!(shared.alive[i / 32] >> i % 32 & 1)) continue;
        const bool hit = lane < NMS_WARPS && (shared.overlapped[i][lane] & kept);
        if (__any_sync(~0u, hit)) continue;
        if (lane == i / 32) kept |= 1u << i % 32;
        room--;
    }
    if (lane < NMS_WARPS) shared.kept[lane] = kept;
}

/* Leaves the numbers of the boxes that are kept, at most `limit`, in the place of the sorted keys; returns how many. */
static __device__ unsigned select(const gpu_nms &s, size_t list, uint64_t *keys, unsigned count, unsigned limit,
                                  nms_shared &shared) {
    const float threshold = s.iou_threshold ? *s.iou_threshold : 0;
    const size_t batch = list / s.classes;
    unsigned kept = 0;
    for (unsigned first = 0; first < count && kept < limit; first += NMS_THREADS) {
        const bool there = first + threadIdx.x < count;
        const uint32_t index = there ? (uint32_t)~keys[first + threadIdx.x] : 0;
        const nms_box box = there ? box_of(s, batch, index) : nms_box{};
        const bool alive = survives(s, batch, keys, kept, box, threshold, shared) && there;
        compare_tile(box, alive, threshold, shared);
        if (threadIdx.x < 32) keep_in_order(limit - kept, shared);
        __syncthreads();
        const unsigned warp = threadIdx.x / 32, bit = threadIdx.x % 32;
        unsigned to = kept + (unsigned)__popc(shared.kept[warp] & ((1u << bit) - 1));
        for (unsigned w = 0; w < NMS_WARPS; w++) {
            to += w < warp ? (unsigned)__popc(shared.kept[w]) : 0;
            kept += (unsigned)__popc(shared.kept[w]);
        }
        if (shared.kept[warp] >> bit & 1) keys[to] = index;
        __syncthreads();
    }
    return kept;
}

/* ---- kernels ---- */

static __global__ void nms_select(const gpu_nms s) {
    __shared__ nms_shared shared;
    const int64_t asked = s.max_boxes ? *s.max_boxes : 0;
    const unsigned limit = (unsigned)(asked < 0 ? 0 : asked < (int64_t)s.count ? asked : (int64_t)s.count);
    for (size_t list = blockIdx.x; list < s.lists; list += gridDim.x) {
        uint64_t *keys = s.keys + list * s.room;
        unsigned kept = 0;
        if (limit) {
            const unsigned count = collect(s, list, keys, shared);
            sort(keys, count, shared);
            kept = select(s, list, keys, count, limit, shared);
        }
        if (threadIdx.x == 0) s.counts[list] = kept;
    }
    if (!last_to_arrive(s.arrivals, gridDim.x, &shared.count)) return;
    uint64_t sum = 0;
    for (size_t list = threadIdx.x; list < s.lists; list += NMS_THREADS) sum += s.counts[list];
    sum = block_join<join_sum>(sum, shared.sums);
    if (threadIdx.x == 0) s.counts[s.lists] = sum;
}

static __global__ void nms_write(const gpu_nms s) {
    __shared__ uint64_t shared[BLOCK_MAX_WARPS];
    for (size_t list = blockIdx.x; list < s.lists; list += gridDim.x) {
        uint64_t before = 0;
        for (size_t i = threadIdx.x; i < list; i += NMS_THREADS) before += s.counts[i];
        before = block_join<join_sum>(before, shared);
        for (size_t i = threadIdx.x; i < s.counts[list]; i += NMS_THREADS) {
            int64_t *to = s.selected + 3 * (before + i);
            to[0] = (int64_t)(list / s.classes);
            to[1] = (int64_t)(list % s.classes);
            to[2] = (int64_t)s.keys[list * s.room + i];
        }
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_nms_select(gpu_stream stream, const gpu_nms *nms) {
    if (!nms->lists || !nms->count) return cudaSuccess;
    return launch(nms_select, grid_extent(nms->lists), NMS_THREADS, 0, stream, *nms);
}

cudaError_t gpu_run_nms_write(gpu_stream stream, const gpu_nms *nms) {
    return launch(nms_write, grid_extent(nms->lists), NMS_THREADS, 0, stream, *nms);
}

cudaError_t gpu_load_nms(void) {
    const cudaError_t code = load_kernel(nms_select);
    return code == cudaSuccess ? load_kernel(nms_write) : code;
}
