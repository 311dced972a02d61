/* conv_stem.cu - the first convolution of a network for images, whose few channels are planes, and whose filters
 * become the last dimension (nhwc.h). Read first: conv_stem.c, product_mma.cuh.
 *
 * A block keeps the weights of 64 filters in shared memory and goes from tile to tile of 8 x 16 pixels. Of each it
 * copies the rows of the image below, in pieces of 16 bytes that cp.async brings while the tile before is multiplied.
 * No window is written out: neighbours in a row of a window are neighbours in the image, so that a lane's two elements
 * of an operand of mma are one word of that copy. For this the elements of a window come in groups of 4 of one row
 * (quads), a row is padded to 4 or 8 taps, and a tap of weight 0 is put in front where the window would begin at an
 * odd column. What lies at padded taps is masked, as 0 times infinity is not 0. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/product_mma.cuh"

enum { QUAD = GPU_STEM_QUAD, FRAGMENT = 16, WARPS = GPU_STEM_THREADS / 32, ROWS_A_WARP = GPU_STEM_ROWS / WARPS };

/* A tile: an image, and its first pixel. */
struct stem_tile {
    int image, y, x;
};

static __device__ __forceinline__ stem_tile tile_at(const gpu_stem &p, unsigned index) {
    const unsigned image = index / (unsigned)p.tiles, rest = index - image * (unsigned)p.tiles;
    const unsigned row = rest / (unsigned)p.across;
    return {(int)image, (int)row * GPU_STEM_ROWS, (int)(rest - row * (unsigned)p.across) * GPU_STEM_COLUMNS};
}

/* Copies what the pixels of a tile see: zeros outside of the image. `whole`: pieces are aligned, and inside or outside
 * as a whole. */
template <class T>
static __device__ __forceinline__ void stage_tile(const gpu_stem &p, const T *x, const stem_tile &tile, T *stage,
                                                  bool whole) {
    const int y = tile.y * p.stride_h - p.pad_h, first = tile.x * p.stride_w + p.origin;
    const T *const image = x + (int64_t)tile.image * p.channels * p.in_h * p.in_w;
    for (unsigned i = threadIdx.x; i < (unsigned)p.staged; i += GPU_STEM_THREADS) {
        uint64_t piece = i;
        uint64_t row = divide(&piece, p.by_pieces, GPU_NARROW_MAX);
        const unsigned channel = (unsigned)divide(&row, p.by_rows, GPU_NARROW_MAX);
        const int at_y = y + (int)row, at_x = first + (int)piece * PIECE;
        const bool inside = (unsigned)at_y < (unsigned)p.in_h;
        const T *from = image + ((int64_t)channel * p.in_h + at_y) * p.in_w + at_x;
        if (whole) {
            cp_async16_or_zero(stage + i * PIECE, from, inside && (unsigned)at_x < (unsigned)p.in_w);
            continue;
        }
#pragma unroll
        for (int j = 0; j < PIECE; j++)
            stage[i * PIECE + j] = inside && (unsigned)(at_x + j) < (unsigned)p.in_w ? from[j] : (T)0.0f;
    }
}

/* Two neighbours of the copy. Windows of odd pixels begin in the middle of a word if the stride is odd: the two are
 * then taken from two words; middle: 16 there, else 0. */
template <int STRIDE> static __device__ __forceinline__ uint32_t two_at(const uint32_t *word, unsigned middle) {
    return STRIDE % 2 ? (uint32_t)(((uint64_t)word[1] << 32 | word[0]) >> middle) : *word;
}

/* Sums of two rows of 16 pixels by 64 filters. */
typedef float stem_sums[ROWS_A_WARP][GPU_STEM_FILTERS / 8][4];

template <int STRIDE, class T>
static __device__ __forceinline__ void multiply_tile(const gpu_stem &p, const T *weights, const T *stage,
                                                     const gpu_stem_quad *quads, stem_sums &sums) {
    enum { BELOW = 8 * STRIDE / 2 }; /* words to the window of the pixel 8 on */
    const unsigned lane = threadIdx.x % 32, pixel = lane / 4, pair = lane % 4, middle = pixel % 2 * 16;
    const int below = p.stride_h * p.pieces * PIECE, row = (int)(threadIdx.x / 32) * ROWS_A_WARP;
    const T *const first = stage + row * below + (int)pixel * STRIDE / 2 * 2 + p.skip + (int)(pair % 2) * 2;
    const uint32_t mask = p.masks[p.width == QUAD ? pair % 2 : pair];
    const unsigned line = lane % 8 + (lane >> 4) * 8;
    const T *b = weights + line * FRAGMENT + ((lane >> 3 ^ line >> 2) & 1) * PIECE;
    const gpu_stem_quad *quad = quads + pair / 2;
#pragma unroll 2
    for (int step = 0; step < p.quads / 4; step++, quad += 4, b += GPU_STEM_FILTERS * FRAGMENT) {
        uint32_t right[GPU_STEM_FILTERS / FRAGMENT][4];
#pragma unroll
        for (int j = 0; j < GPU_STEM_FILTERS / FRAGMENT; j++) ldmatrix_x4(right[j], b + j * FRAGMENT * FRAGMENT);
        const gpu_stem_quad low = load_vector(quad), high = load_vector(quad + 2);
        const uint32_t keep_low = low.mask & mask, keep_high = high.mask & mask;
#pragma unroll
        for (int i = 0; i < ROWS_A_WARP; i++) {
            const uint32_t *at_low = (const uint32_t *)(const void *)(first + i * below + low.offset),
                           *at_high = (const uint32_t *)(const void *)(first + i * below + high.offset);
            const uint32_t left[4] = {
                two_at<STRIDE>(at_low, middle) & keep_low, two_at<STRIDE>(at_low + BELOW, middle) & keep_low,
                two_at<STRIDE>(at_high, middle) & keep_high, two_at<STRIDE>(at_high + BELOW, middle) & keep_high};
#pragma unroll
            for (int j = 0; j < GPU_STEM_FILTERS / 8; j++) {
                const uint32_t two[2] = {right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]};
                multiply(sums[i][j], left, two, T());
            }
        }
    }
}

/* Writes a warp's sums by way of its part of the shared memory: 16 pixels of a row by 64 filters at a time. */
template <class T>
static __device__ __forceinline__ void store_sums(const gpu_stem &p, const product_output<T> &y, const stem_tile &tile,
                                                  const stem_sums &sums, float *shared) {
    const unsigned lane = threadIdx.x % 32, pixel = lane / 4, pair = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < ROWS_A_WARP; i++) {
        __syncwarp();
#pragma unroll
        for (int j = 0; j < GPU_STEM_FILTERS / 8; j++)
#pragma unroll
            for (int part = 0; part < 2; part++) {
                const unsigned row = pixel + part * 8;
                store_pack<2>(shared + row * GPU_STEM_FILTERS + tile_column(row, j * 8 + pair),
                              pack<float, 2>{{sums[i][j][part * 2], sums[i][j][part * 2 + 1]}});
            }
        __syncwarp();
        const int at_y = tile.y + (int)(threadIdx.x / 32) * ROWS_A_WARP + i;
        for (unsigned k = lane; k < FRAGMENT * GPU_STEM_FILTERS / PIECE; k += 32) {
            const unsigned row = k / (GPU_STEM_FILTERS / PIECE), filter = k % (GPU_STEM_FILTERS / PIECE) * PIECE;
            const int at_x = tile.x + (int)row;
            const int64_t column = (int64_t)blockIdx.y * GPU_STEM_FILTERS + filter;
            if (at_y >= p.out_h || at_x >= p.out_w || column >= p.filters) continue;
            y.template store<PIECE>(((int64_t)tile.image * p.out_h + at_y) * p.out_w + at_x, column,
                                    shared + row * GPU_STEM_FILTERS + tile_column(row, filter));
        }
    }
}

/* Tiles of all images along x, 64 filters along y. `whole`: see stage_tile. */
template <class T, int STRIDE>
static __global__ void __launch_bounds__(GPU_STEM_THREADS, resident_blocks(4, GPU_STEM_SHARED))
    conv_stem(gpu_stem p, gpu_conv_operands o, bool whole, bool packs) {
    after_previous();
    const unsigned stage = (unsigned)p.staged * PIECE, packed = GPU_STEM_FILTERS * QUAD * (unsigned)p.quads;
    T *const weights = dynamic_shared<T>(), *const stages = weights + packed;
    float *const leaving = (float *)(stages + 2 * stage);
    gpu_stem_quad *const quads = (gpu_stem_quad *)(leaving + WARPS * FRAGMENT * GPU_STEM_FILTERS);
    const product_output<T> y = {
        (T *)o.y, (const T *)o.bias, (const T *)o.residual, 0, p.filters, p.filters, 0, 1, 1.0f, 1.0f,
        packs,    p.epilogue};
    const unsigned all = (unsigned)p.batch * (unsigned)p.tiles;
    for (unsigned i = threadIdx.x * PIECE; i < packed; i += GPU_STEM_THREADS * PIECE)
        cp_async16(weights + i, (const T *)o.w + (size_t)blockIdx.y * packed + i);
    for (unsigned i = threadIdx.x; i < (unsigned)p.quads; i += GPU_STEM_THREADS) quads[i] = p.places[i];
    stage_tile(p, (const T *)o.x, tile_at(p, blockIdx.x), stages, whole);
    cp_async_commit();
    unsigned now = 0;
    for (unsigned index = blockIdx.x; index < all; index += gridDim.x, now ^= 1) {
        stem_sums sums = {};
        cp_async_wait<0>();
        __syncthreads();
        if (index + gridDim.x < all)
            stage_tile(p, (const T *)o.x, tile_at(p, index + gridDim.x), stages + (now ^ 1) * stage, whole);
        cp_async_commit();
        multiply_tile<STRIDE>(p, weights, stages + now * stage, quads, sums);
        store_sums(p, y, tile_at(p, index), sums, leaving + threadIdx.x / 32 * FRAGMENT * GPU_STEM_FILTERS);
    }
    cp_async_wait<0>();
}

/* ---- launchers ---- */

/* Each block reads the weights once, so there are only some for each multiprocessor. */
static const unsigned MAX_BLOCKS = 1024;

typedef void (*stem_kernel)(gpu_stem, gpu_conv_operands, bool, bool);

template <class T> static stem_kernel choose_stride(int32_t stride) {
    return stride == 1 ? conv_stem<T, 1> : stride == 2 ? conv_stem<T, 2> : conv_stem<T, 4>;
}

static stem_kernel choose(gpu_type type, int32_t stride) {
    return type == GPU_BFLOAT16 ? choose_stride<bfloat16>(stride) : choose_stride<half>(stride);
}

cudaError_t gpu_run_stem(gpu_stream stream, gpu_type type, const gpu_stem *p, const gpu_conv_operands *o) {
    const size_t all = (size_t)p->batch * (size_t)p->tiles;
    if (!all) return cudaSuccess;
    const dim3 grid(all < MAX_BLOCKS ? (unsigned)all : MAX_BLOCKS, (unsigned)gpu_pieces(p->filters, GPU_STEM_FILTERS));
    const bool whole = (uintptr_t)o->x % 16 == 0 && p->in_w % PIECE == 0;
    const bool packs = ((uintptr_t)o->y | (uintptr_t)o->residual | (uintptr_t)o->bias) % 16 == 0;
    return launch_overlapping(choose(type, p->stride_w), grid, GPU_STEM_THREADS, gpu_stem_shared(p), stream, *p, *o,
                              whole, packs);
}

cudaError_t gpu_load_stem(gpu_type type, int32_t stride) {
    return allow_dynamic_shared(choose(type, stride), GPU_STEM_SHARED);
}
