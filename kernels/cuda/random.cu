/* random.cu - random numbers by the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), in the order of
 * ops/generator.c, so that a seed gives the same numbers. One block draws all: the 624 words of the state are renewed
 * together, in three parts of which none reads what it writes, and give 312 uniform numbers, or 156 attempts at a pair
 * of normal ones. A network draws some noise a run; a thread that is slow costs it little. Read first: random.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/random.h"

enum { THREADS = 256, WORDS = 624, DISTANCE = 397, PART = WORDS - DISTANCE };
enum { UNIFORMS = WORDS / 2, ATTEMPTS = WORDS / 4 };

struct generator {
    uint32_t state[WORDS];
    unsigned ranks[THREADS / 32];
};

/* ---- words ---- */

static __device__ void start(generator &g, uint32_t seed) {
    if (threadIdx.x == 0)
        for (uint32_t i = 0; i < WORDS; i++) {
            g.state[i] = seed;
            seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
        }
    __syncthreads();
}

static __device__ void renew(generator &g) {
    __syncthreads(); /* the words are used up */
    for (unsigned first = 0; first < WORDS; first += PART) {
        const unsigned i = first + threadIdx.x, next = i + 1 == WORDS ? 0 : i + 1;
        const bool mine = threadIdx.x < PART && i < WORDS;
        uint32_t word = 0;
        if (mine) {
            const uint32_t joined = (g.state[i] & 0x80000000u) | (g.state[next] & 0x7fffffffu);
            const unsigned other = i < PART ? i + DISTANCE : i - PART;
            word = g.state[other] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
        }
        __syncthreads();
        if (mine) g.state[i] = word;
        __syncthreads();
    }
}

static __device__ __forceinline__ uint32_t word_of(const generator &g, unsigned i) {
    uint32_t y = g.state[i];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static __device__ __forceinline__ double uniform(const generator &g, unsigned i) {
    return ((word_of(g, 2 * i) >> 5) * 0x1p26 + (word_of(g, 2 * i + 1) >> 6)) * 0x1p-53;
}

/* Number of threads before this one that have the flag; *all: of all. */
static __device__ unsigned rank_of(generator &g, bool flag, unsigned *all) {
    const uint32_t votes = __ballot_sync(~0u, flag);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned rank = (unsigned)__popc(votes & ((1u << lane) - 1));
    __syncthreads();
    if (lane == 0) g.ranks[warp] = (unsigned)__popc(votes);
    __syncthreads();
    *all = 0;
    for (unsigned w = 0; w < THREADS / 32; w++) {
        if (w < warp) rank += g.ranks[w];
        *all += g.ranks[w];
    }
    return rank;
}

/* ---- elements ---- */

static __device__ __forceinline__ void store(const gpu_random &p, size_t i, double value) {
    store_real(p.y_type, p.y, i, value);
}

static __device__ __forceinline__ double scaled(const gpu_random &p, double drawn) {
    return __dadd_rn(__dmul_rn(drawn, p.scale), p.base);
}

/* The first class whose share of the sum of exponentials, with those before it, passes u. */
static __device__ double pick(const gpu_random &p, size_t lane, double u) {
    double max = -INFINITY, total = 0, sum = 0;
    const size_t first = lane * p.classes;
    for (size_t c = 0; c < p.classes; c++) max = fmax(max, any_number_at(p.x_type, p.x, first + c).real);
    for (size_t c = 0; c < p.classes; c++) total += exp(any_number_at(p.x_type, p.x, first + c).real - max);
    for (size_t c = 0; c < p.classes; c++) {
        sum += exp(any_number_at(p.x_type, p.x, first + c).real - max);
        if (sum > u * total) return (double)c;
    }
    return (double)(p.classes - 1);
}

/* ---- draws ---- */

/* An element from a uniform number. */
static __device__ __forceinline__ double element(const gpu_random &p, size_t i, double u) {
    if (p.drawn == GPU_UNIFORM) return scaled(p, u);
    if (p.drawn == GPU_MULTINOMIAL) return pick(p, i / p.samples, u);
    const double share = any_number_at(p.x_type, p.x, i).real;
    if (!(share >= 0 && share <= 1))
        report_fault((gpu_status *)p.status, p.node, GPU_FAULT_PROBABILITY, __double_as_longlong(share), i, 1);
    return (share <= 0.5 ? u > 1 - share : u <= share) ? 1.0 : 0.0;
}

static __device__ void draw_uniform(const gpu_random &p, generator &g) {
    for (size_t first = 0; first < p.count; first += UNIFORMS) {
        renew(g);
        for (unsigned i = threadIdx.x; i < UNIFORMS && first + i < p.count; i += THREADS)
            store(p, first + i, element(p, first + i, uniform(g, i)));
    }
}

/* Marsaglia's polar method; an accepted attempt gives two numbers. */
static __device__ void draw_normal(const gpu_random &p, generator &g) {
    for (size_t first = 0; first < p.count;) {
        renew(g);
        const bool tries = threadIdx.x < ATTEMPTS;
        const double x = tries ? 2 * uniform(g, 2 * threadIdx.x) - 1 : 1;
        const double y = tries ? 2 * uniform(g, 2 * threadIdx.x + 1) - 1 : 1;
        const double square = __dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y));
        const bool accepted = square < 1 && square != 0;
        unsigned all;
        const size_t at = first + 2 * (size_t)rank_of(g, accepted, &all);
        if (accepted) {
            const double factor = sqrt(-2 * log(square) / square);
            if (at < p.count) store(p, at, scaled(p, factor * y));
            if (at + 1 < p.count) store(p, at + 1, scaled(p, factor * x));
        }
        first += 2 * (size_t)all;
    }
}

static __global__ void __launch_bounds__(THREADS) random_numbers(const gpu_random p) {
    __shared__ generator g;
    start(g, p.seed);
    if (p.drawn == GPU_NORMAL)
        draw_normal(p, g);
    else
        draw_uniform(p, g);
}

cudaError_t gpu_run_random(gpu_stream stream, const gpu_random *p) {
    return launch(random_numbers, 1, THREADS, 0, stream, *p);
}

cudaError_t gpu_load_random() {
    return load_kernel(random_numbers);
}
