/* device.h - CUDA's device language for a host C++17 compiler: the functions and variables of kernels, and their
 * launch.
 *
 * Every CUDA thread is a fiber; a block runs on one operating system thread; fibers switch only in barriers and warp
 * collectives, so everything between two of them is ordinary code. A kernel file includes this header through
 * kernels/cuda/gpu.h and is compiled unchanged by nvcc. Features that no kernel uses are missing (textures,
 * cooperative groups, clusters). clang++ with -femulated-tls gives __shared__ arrays red zones and poison; under g++
 * they are plain thread-local arrays, with the same results but fewer mistakes caught.
 * Read next: block.cpp for barriers and collectives, warp.cpp for the computation of collectives. */
#ifndef CUDASIM_DEVICE_H
#define CUDASIM_DEVICE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>
#include <utility>

#include "kernels/cudasim/cudart.h"
#include "kernels/cuda/stream.h"
#include "kernels/cudasim/small_float.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

/* Excludes stand-ins for instructions from the race checker's instrumentation, which kernels are compiled with. */
#ifdef __clang__
#define CUDASIM_UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define CUDASIM_UNCHECKED
#endif

namespace cudasim {
/* Max blocks of a grid in instrumented kernels. It is low for the race checker, so that grid-stride loops iterate
 * and reuse shared memory; for the traffic meter it is a GPU's. */
extern unsigned grid_limit;
} // namespace cudasim

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static const int warpSize = 32;

namespace cudasim {

/* Source position of a call, passed as a default argument to everything that waits, for messages. */
struct Site {
    const char *file;
    int line;
};
#define CUDASIM_SITE cudasim::Site site = {__builtin_FILE(), __builtin_LINE()}

void barrier(Site site);
enum class Vote { count, all, any };
int barrier_vote(int predicate, Vote vote, Site site);

/* A lane's data for a warp collective: the last lane of the mask to arrive computes the outputs of all. */
struct Lane {
    alignas(16) unsigned char input[64];
    alignas(16) unsigned char output[64];
    int thread;
};
typedef void (*Collective)(Lane *const *lanes, unsigned mask);
void collect(Collective collective, const char *name, unsigned mask, const void *input, size_t input_size, void *output,
             size_t output_size, Site site);
void synchronize_warp(Lane *const *lanes, unsigned mask);
void shuffle(Lane *const *lanes, unsigned mask);
void ballot(Lane *const *lanes, unsigned mask);
int lane_index();

void *dynamic_shared_memory();
void note_atomic(const void *address, size_t size);
void note_fence();
[[noreturn]] void trap(Site site);

/* Restores the types of a launch's arguments, which are passed as void pointers, and calls the kernel. */
typedef void (*Trampoline)(const void *kernel, void **arguments);
void register_kernel(const void *kernel, Trampoline trampoline, const size_t *argument_sizes, int argument_count,
                     Site site, bool overlaps);
void note_wait(); /* the thread calls after_previous() */

template <class... Parameters> struct Invoke {
    template <size_t... Index>
    CUDASIM_UNCHECKED static void with(void (*kernel)(Parameters...), void **arguments, std::index_sequence<Index...>) {
        (void)arguments;
        kernel(*(Parameters *)arguments[Index]...);
    }
    CUDASIM_UNCHECKED static void trampoline(const void *kernel, void **arguments) {
        with((void (*)(Parameters...))kernel, arguments, std::index_sequence_for<Parameters...>());
    }
};

template <class... Parameters> void register_kernel(void (*kernel)(Parameters...), Site site, bool overlaps = false) {
    static const size_t sizes[] = {sizeof(Parameters)..., 0};
    register_kernel((const void *)kernel, &Invoke<Parameters...>::trampoline, sizes, (int)sizeof...(Parameters), site,
                    overlaps);
}

struct ShuffleInput {
    uint64_t value;
    int source;
};

template <class T> T shuffle_from(unsigned mask, T value, int source, const char *name, Site site) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    ShuffleInput input = {0, source};
    uint64_t result;
    memcpy(&input.value, &value, sizeof value);
    collect(shuffle, name, mask, &input, sizeof input, &result, sizeof result, site);
    memcpy(&value, &result, sizeof value);
    return value;
}

/* Fibers are not preempted, so plain code is atomic. */
template <class T, class F> CUDASIM_UNCHECKED T atomic_update(T *address, F update) {
    note_atomic(address, sizeof(T));
    T old;
    memcpy(&old, address, sizeof old);
    const T updated = update(old);
    memcpy(address, &updated, sizeof updated);
    return old;
}

template <class T> struct Exactly { typedef T type; };

} // namespace cudasim

/* ---- launching ---- */

namespace cudasim {
/* The stream argument of launch(): the implicit conversion records the caller's line, for messages. */
struct LaunchStream {
    gpu_stream stream;
    Site site;
    bool overlaps = false; /* launch_overlapping */
    LaunchStream(gpu_stream given, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : stream(given), site{file, line} {}
};
} // namespace cudasim

/* Same interface as gpu.h's launch for nvcc. */
template <class... Parameters>
static inline cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                 cudasim::LaunchStream stream,
                                 typename cudasim::Exactly<Parameters>::type... arguments) {
    cudasim::register_kernel(kernel, stream.site, stream.overlaps);
    void *pointers[] = {(void *)&arguments..., nullptr};
    gpu_count_launch(stream.stream);
    return cudaLaunchKernel((const void *)kernel, grid, block, pointers, shared_bytes, stream.stream.handle);
}

/* The same for a kernel whose threads must all call after_previous(). */
template <class... Parameters>
static inline cudaError_t launch_overlapping(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                             cudasim::LaunchStream stream,
                                             typename cudasim::Exactly<Parameters>::type... arguments) {
    stream.overlaps = true;
    return launch(kernel, grid, block, shared_bytes, stream, arguments...);
}
static inline void after_previous() {
    cudasim::note_wait();
}

template <class... Parameters> static inline cudaError_t load_kernel(void (*kernel)(Parameters...), CUDASIM_SITE) {
    cudasim::register_kernel(kernel, site);
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)kernel);
}

template <class... Parameters>
static inline cudaError_t allow_dynamic_shared(void (*kernel)(Parameters...), size_t bytes, CUDASIM_SITE) {
    cudasim::register_kernel(kernel, site);
    return cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

template <class T> static inline T *dynamic_shared() {
    return (T *)cudasim::dynamic_shared_memory();
}

/* ---- barriers, votes, shuffles ---- */

static inline void __syncthreads(CUDASIM_SITE) {
    cudasim::barrier(site);
}
static inline int __syncthreads_count(int predicate, CUDASIM_SITE) {
    return cudasim::barrier_vote(predicate, cudasim::Vote::count, site);
}
static inline int __syncthreads_and(int predicate, CUDASIM_SITE) {
    return cudasim::barrier_vote(predicate, cudasim::Vote::all, site);
}
static inline int __syncthreads_or(int predicate, CUDASIM_SITE) {
    return cudasim::barrier_vote(predicate, cudasim::Vote::any, site);
}
static inline void __syncwarp(unsigned mask = ~0u, CUDASIM_SITE) {
    cudasim::collect(cudasim::synchronize_warp, "__syncwarp", mask, nullptr, 0, nullptr, 0, site);
}
static inline void __threadfence() {
    cudasim::note_fence();
}
static inline void __threadfence_block() {}
static inline void __trap(CUDASIM_SITE) {
    cudasim::trap(site);
}

template <class T> static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, CUDASIM_SITE) {
    const int lane = cudasim::lane_index();
    const int from = (lane & ~(width - 1)) | (source & (width - 1));
    return cudasim::shuffle_from(mask, value, from, "__shfl_sync", site);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32, CUDASIM_SITE) {
    const int lane = cudasim::lane_index(), last = lane | (width - 1), from = lane ^ flip;
    return cudasim::shuffle_from(mask, value, from > last ? lane : from, "__shfl_xor_sync", site);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, CUDASIM_SITE) {
    const int lane = cudasim::lane_index(), last = lane | (width - 1), from = lane + (int)distance;
    return cudasim::shuffle_from(mask, value, from > last ? lane : from, "__shfl_down_sync", site);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, CUDASIM_SITE) {
    const int lane = cudasim::lane_index(), first = lane & ~(width - 1), from = lane - (int)distance;
    return cudasim::shuffle_from(mask, value, from < first ? lane : from, "__shfl_up_sync", site);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, CUDASIM_SITE) {
    unsigned result;
    cudasim::collect(cudasim::ballot, "__ballot_sync", mask, &predicate, sizeof predicate, &result, sizeof result,
                     site);
    return result;
}
static inline int __any_sync(unsigned mask, int predicate, CUDASIM_SITE) {
    return __ballot_sync(mask, predicate, site) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, CUDASIM_SITE) {
    return __ballot_sync(mask, !predicate, site) == 0;
}

static inline unsigned kept(unsigned value) {
    return value;
}

/* ---- tensor cores and asynchronous copies: the simulated side of gpu.h's wrappers ---- */

namespace cudasim {
struct MmaInput {
    uint32_t a[4], b[2];
    float c[4]; /* bits of integers, where these are summed */
};
void mma_m16n8k16_half(Lane *const *lanes, unsigned mask);
void mma_m16n8k16_bfloat16(Lane *const *lanes, unsigned mask);
void mma_m16n8k8_tfloat32(Lane *const *lanes, unsigned mask);
void mma_m16n8k32_signed(Lane *const *lanes, unsigned mask);
void mma_m16n8k32_unsigned(Lane *const *lanes, unsigned mask);
void load_matrix_x2(Lane *const *lanes, unsigned mask);
void load_matrix_x4(Lane *const *lanes, unsigned mask);
void load_matrix_x2_transposed(Lane *const *lanes, unsigned mask);
void load_matrix_x4_transposed(Lane *const *lanes, unsigned mask);
void copy_async(void *shared, const void *global, size_t size, size_t valid, Site site);
void copy_async_commit();
void copy_async_wait(int groups_left);

template <class S>
static inline void multiply_accumulate(Collective instruction, const char *name, S (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2], const S (&c)[4], Site site) {
    MmaInput input;
    memcpy(input.a, a, sizeof a);
    memcpy(input.b, b, sizeof b);
    memcpy(input.c, c, sizeof c);
    collect(instruction, name, ~0u, &input, sizeof input, d, sizeof d, site);
}
} // namespace cudasim

static inline void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4],
                                    CUDASIM_SITE) {
    cudasim::multiply_accumulate(cudasim::mma_m16n8k16_half, "mma.m16n8k16.f16", d, a, b, c, site);
}
static inline void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4],
                                     CUDASIM_SITE) {
    cudasim::multiply_accumulate(cudasim::mma_m16n8k16_bfloat16, "mma.m16n8k16.bf16", d, a, b, c, site);
}
static inline void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4],
                                    CUDASIM_SITE) {
    cudasim::multiply_accumulate(cudasim::mma_m16n8k8_tfloat32, "mma.m16n8k8.tf32", d, a, b, c, site);
}
static inline void mma_m16n8k32_s8s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                     const int32_t (&c)[4], CUDASIM_SITE) {
    cudasim::multiply_accumulate(cudasim::mma_m16n8k32_signed, "mma.m16n8k32.s8", d, a, b, c, site);
}
static inline void mma_m16n8k32_u8s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                     const int32_t (&c)[4], CUDASIM_SITE) {
    cudasim::multiply_accumulate(cudasim::mma_m16n8k32_unsigned, "mma.m16n8k32.u8", d, a, b, c, site);
}

static inline void ldmatrix_x2(uint32_t (&r)[2], const void *row, CUDASIM_SITE) {
    cudasim::collect(cudasim::load_matrix_x2, "ldmatrix.x2", ~0u, &row, sizeof row, r, sizeof r, site);
}
static inline void ldmatrix_x4(uint32_t (&r)[4], const void *row, CUDASIM_SITE) {
    cudasim::collect(cudasim::load_matrix_x4, "ldmatrix.x4", ~0u, &row, sizeof row, r, sizeof r, site);
}
static inline void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row, CUDASIM_SITE) {
    cudasim::collect(cudasim::load_matrix_x2_transposed, "ldmatrix.x2.trans", ~0u, &row, sizeof row, r, sizeof r, site);
}
static inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row, CUDASIM_SITE) {
    cudasim::collect(cudasim::load_matrix_x4_transposed, "ldmatrix.x4.trans", ~0u, &row, sizeof row, r, sizeof r, site);
}

static inline void cp_async4(void *shared, const void *global, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 4, 4, site);
}
static inline void cp_async8(void *shared, const void *global, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 8, 8, site);
}
static inline void cp_async16(void *shared, const void *global, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 16, 16, site);
}
static inline void cp_async4_zero_fill(void *shared, const void *global, bool valid, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 4, valid ? 4 : 0, site);
}
static inline void cp_async16_zero_fill(void *shared, const void *global, unsigned valid_bytes, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 16, valid_bytes, site);
}
static inline void cp_async16_or_zero(void *shared, const void *global, bool valid, CUDASIM_SITE) {
    cudasim::copy_async(shared, global, 16, valid ? 16 : 0, site);
}
static inline void cp_async_commit() {
    cudasim::copy_async_commit();
}
template <int groups_left> static inline void cp_async_wait() {
    cudasim::copy_async_wait(groups_left);
}

/* ---- atomics, loads ---- */

#define CUDASIM_ATOMIC(name, expression)                                                                               \
    template <class T> static inline T name(T *address, typename cudasim::Exactly<T>::type operand) {                  \
        return cudasim::atomic_update(address, [=](T old) CUDASIM_UNCHECKED -> T { return expression; });              \
    }
CUDASIM_ATOMIC(atomicAdd, (T)(old + operand))
CUDASIM_ATOMIC(atomicSub, (T)(old - operand))
CUDASIM_ATOMIC(atomicMax, old > operand ? old : operand)
CUDASIM_ATOMIC(atomicMin, old < operand ? old : operand)
CUDASIM_ATOMIC(atomicAnd, (T)(old &operand))
CUDASIM_ATOMIC(atomicOr, (T)(old | operand))
CUDASIM_ATOMIC(atomicExch, ((void)old, operand))
#undef CUDASIM_ATOMIC
template <class T>
static inline T atomicCAS(T *address, typename cudasim::Exactly<T>::type expected,
                          typename cudasim::Exactly<T>::type desired) {
    return cudasim::atomic_update(address, [=](T old) CUDASIM_UNCHECKED { return old == expected ? desired : old; });
}

template <class T> static inline T __ldg(const T *address) {
    return *address;
}
template <class T> static inline T __ldcs(const T *address) {
    return *address;
}
template <class T> static inline void __stcs(T *address, T value) {
    *address = value;
}

/* ---- one load or store of up to 16 bytes, a power of two. The traffic meter must count one access, so the compiler
 * must not split it into one per member. ---- */

namespace cudasim {
template <size_t size> struct Whole;
template <> struct Whole<1> { typedef uint8_t type __attribute__((may_alias)); };
template <> struct Whole<2> { typedef uint16_t type __attribute__((may_alias)); };
template <> struct Whole<4> { typedef uint32_t type __attribute__((may_alias)); };
template <> struct Whole<8> { typedef uint64_t type __attribute__((may_alias)); };
template <> struct Whole<16> { typedef unsigned __int128 type __attribute__((may_alias)); };
} // namespace cudasim

template <class V> static inline V load_vector(const V *from) {
    typedef typename cudasim::Whole<sizeof(V)>::type whole;
    const whole bits = *(const volatile whole *)from;
    V value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class V> static inline void store_vector(V *to, const V &value) {
    typedef typename cudasim::Whole<sizeof(V)>::type whole;
    whole bits;
    memcpy(&bits, &value, sizeof bits);
    *(volatile whole *)to = bits;
}

/* ---- arithmetic. The fast float functions must be macros: glibc declares the same names for itself. ---- */

#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)

static inline float exp2_approximate(float x) {
    return x < -126.0f ? 0.0f : exp2f(x);
}
static inline float __fdividef(float a, float b) {
    return a / b;
}
static inline double cospi(double x) {
    return cos(M_PI * fmod(x, 2));
}
static inline double sinpi(double x) {
    return sin(M_PI * fmod(x, 2));
}
static inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
static inline float __frsqrt_rn(float x) {
    return 1.0f / sqrtf(x);
}
static inline float __fsqrt_rn(float x) {
    return sqrtf(x);
}
static inline float __frcp_rn(float x) {
    return 1.0f / x;
}
static inline float __fadd_rn(float a, float b) {
    return a + b;
}
static inline float __fsub_rn(float a, float b) {
    return a - b;
}
static inline float __fmul_rn(float a, float b) {
    return a * b;
}
static inline double __dadd_rn(double a, double b) {
    return a + b;
}
static inline double __dmul_rn(double a, double b) {
    return a * b;
}
static inline float __fdiv_rn(float a, float b) {
    return a / b;
}
static inline float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
static inline float __saturatef(float x) {
    return x > 0 ? (x < 1 ? x : 1) : 0; /* NaN gives 0 */
}
static inline float normcdff(float x) {
    return 0.5f * erfcf(-x * 0.70710678118654752f);
}
static inline int __float2int_rn(float x) {
    return (int)rintf(x);
}
static inline int __float_as_int(float x) {
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline unsigned __float_as_uint(float x) {
    return (unsigned)__float_as_int(x);
}
static inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline float __uint_as_float(unsigned bits) {
    return __int_as_float((int)bits);
}
static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
static inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __ffs(int x) {
    return __builtin_ffs(x);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
/* Adds four products of signed bytes to c. */
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
    return c;
}

/* Minimum and maximum of NaN and a number are the number, as on the GPU. */
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b) {
    typedef std::common_type_t<A, B> T;
    return (T)b < (T)a || (T)a != (T)a ? (T)b : (T)a;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b) {
    typedef std::common_type_t<A, B> T;
    return (T)a < (T)b || (T)a != (T)a ? (T)b : (T)a;
}

#endif
