/* gpu.h - the only header that a kernel file (.cu) needs: the device language, launch(), and every instruction for
 * which CUDA C++ has no name.
 *
 * Under nvcc it includes CUDA's headers; under a host compiler, kernels/cudasim/device.h, which has the same names,
 * so one source runs on a GPU and on the simulated device. All inline PTX is here, one function per instruction,
 * with fragments as plain arrays. README.md in this folder has the rules for kernel authors. */
#ifndef TORT_KERNELS_CUDA_GPU_H
#define TORT_KERNELS_CUDA_GPU_H

#ifndef __CUDACC__
#include "kernels/cudasim/device.h"
#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/cuda/stream.h"

/* ---- launching: errors are returned; arguments convert to the kernel's parameter types ---- */

template <class T> struct exactly { typedef T type; };

template <class... Parameters>
static inline cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                 gpu_stream stream, typename exactly<Parameters>::type... arguments) {
    void *pointers[] = {(void *)&arguments..., nullptr};
    gpu_count_launch(stream);
    return cudaLaunchKernel((const void *)kernel, grid, block, pointers, shared_bytes, stream.handle);
}

/* The same for a kernel that begins with after_previous(): blocks may be placed, and read their arguments, while the
 * kernel before still runs (programmatic dependent launch), which hides most of what a launch costs. */
template <class... Parameters>
static inline cudaError_t launch_overlapping(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                             gpu_stream stream, typename exactly<Parameters>::type... arguments) {
    void *pointers[] = {(void *)&arguments..., nullptr};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {grid, block, shared_bytes, stream.handle, &attribute, stream.overlaps ? 1u : 0u};
    gpu_count_launch(stream);
    return cudaLaunchKernelExC(&config, (const void *)kernel, pointers);
}

/* Waits until the kernels before have ended and what they wrote is seen, then lets the next one place its blocks.
 * Nothing of memory may be read or written before. */
static __device__ __forceinline__ void after_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Loads a kernel's code now rather than at its first launch; fails if the device has no image of it. */
template <class... Parameters> static inline cudaError_t load_kernel(void (*kernel)(Parameters...)) {
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)kernel);
}

/* Required before a launch with more than 48 KiB of dynamic shared memory. */
template <class... Parameters>
static inline cudaError_t allow_dynamic_shared(void (*kernel)(Parameters...), size_t bytes) {
    return cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

/* Returns the launch's dynamic shared memory, aligned to 16 bytes. */
template <class T> static __device__ __forceinline__ T *dynamic_shared() {
    extern __shared__ __align__(16) unsigned char tort_dynamic_shared[];
    return reinterpret_cast<T *>(tort_dynamic_shared);
}

/* Returns the value in a register of its own: the compiler cannot recompute it in a loop to save that register. */
static __device__ __forceinline__ unsigned kept(unsigned value) {
    asm volatile("" : "+r"(value));
    return value;
}

/* Loads or stores a struct of 2, 4, 8 or 16 bytes, aligned to its size, in one instruction. */
template <class V> static __device__ __forceinline__ V load_vector(const V *from) {
    return *from;
}
template <class V> static __device__ __forceinline__ void store_vector(V *to, const V &value) {
    *to = value;
}

/* Returns 2^x in one instruction, with a relative error of 2^-22; results below 2^-126 become 0. */
static __device__ __forceinline__ float exp2_approximate(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- tensor cores: d = a * b + c, float accumulators ----
 * Lane l holds, with g = l / 4 and t = l % 4:
 *   a of m16n8k16: a[0] = A[g][2t, 2t+1], a[1] = A[g+8][2t, 2t+1], a[2] and a[3] the same 8 columns on;
 *   b of m16n8k16: b[0] = B[2t, 2t+1][g], b[1] the same 8 rows on;
 *   a of m16n8k8 (tf32): A[g][t], A[g+8][t], A[g][t+4], A[g+8][t+4];   b: B[t][g], B[t+4][g];
 *   c, d: [g][2t], [g][2t+1], [g+8][2t], [g+8][2t+1].
 * They are volatile though they touch no memory: the whole warp must execute them, so the compiler must not move them
 * behind a branch that only some lanes take. */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TORT_SM80 1
#endif

static __device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                        const float (&c)[4]) {
#ifdef TORT_SM80
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                   "f"(c[3]));
#else /* sm_75 has only k8: the fragments of k16 are two of k8 side by side */
    float sum[4] = {c[0], c[1], c[2], c[3]};
    for (int i = 0; i < 2; i++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
    for (int i = 0; i < 4; i++) d[i] = sum[i];
#endif
}

/* Needs code for sm_80 or newer: a claim must check tort_cuda_image_of (images.h), not the device. */
static __device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                         const float (&c)[4]) {
#ifdef TORT_SM80
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                   "f"(c[3]));
#else
    (void)a, (void)b, (void)c, (void)d;
    __trap();
#endif
}

/* Likewise. Operands are floats, of which the last 13 bits are dropped. */
static __device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                        const float (&c)[4]) {
#ifdef TORT_SM80
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                   "f"(c[3]));
#else
    (void)a, (void)b, (void)c, (void)d;
    __trap();
#endif
}

/* d = a * b + c of bytes with 32-bit sums, B signed, A signed or not; bytes lie as the pairs of 16 bits of m16n8k16 do:
 * a[0] = A[g][4t .. 4t+3], a[1] = A[g+8][the same], a[2] and a[3] 16 columns on; b[0] = B[4t .. 4t+3][g]. */
#ifdef TORT_SM80
#define MMA_BYTES(name, type)                                                                                          \
    static __device__ __forceinline__ void name(int32_t(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2],          \
                                                const int32_t(&c)[4]) {                                                \
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type ".s8.s32 "                                          \
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"                                          \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),         \
                       "r"(c[2]), "r"(c[3]));                                                                          \
    }
#else /* sm_75 has only m8n8k16: halves of the rows, then of k */
#define MMA_BYTES(name, type)                                                                                          \
    static __device__ __forceinline__ void name(int32_t(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2],          \
                                                const int32_t(&c)[4]) {                                                \
        int32_t sum[4] = {c[0], c[1], c[2], c[3]};                                                                     \
        for (int i = 0; i < 4; i++)                                                                                    \
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." type ".s8.s32 {%0,%1},{%2},{%3},{%0,%1};"             \
                         : "+r"(sum[i % 2 * 2]), "+r"(sum[i % 2 * 2 + 1])                                              \
                         : "r"(a[i]), "r"(b[i / 2]));                                                                  \
        for (int i = 0; i < 4; i++) d[i] = sum[i];                                                                     \
    }
#endif
MMA_BYTES(mma_m16n8k32_s8s8, "s8")
MMA_BYTES(mma_m16n8k32_u8s8, "u8")

/* ---- ldmatrix: 8x8 matrices of 16-bit elements from shared memory; lane i names row i % 8 of matrix i / 8, 16 bytes
 * aligned to 16. r[m] of lane l holds elements 2(l%4), 2(l%4)+1 of row l/4 of matrix m, or of its transpose. x2 reads
 * the addresses of lanes 0 to 15 only; the others' must be valid all the same. ---- */

static __device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}
static __device__ __forceinline__ void ldmatrix_x2(uint32_t (&r)[2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ __forceinline__ void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* ---- cp.async: global to shared memory without registers; the data are there only after cp_async_wait, for the thread
 * that copied, and for others after a barrier behind it. sm_75 copies at once. zero_fill: what is not valid is not read
 * and becomes zero. ---- */

static __device__ __forceinline__ void cp_async16_zero_fill(void *shared, const void *global, unsigned valid_bytes) {
#ifdef TORT_SM80
    asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid_bytes)
                 : "memory");
#else
    for (unsigned i = 0; i < 16; i++)
        ((unsigned char *)shared)[i] = i < valid_bytes ? ((const unsigned char *)global)[i] : (unsigned char)0;
#endif
}
static __device__ __forceinline__ void cp_async16(void *shared, const void *global) {
#ifdef TORT_SM80
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
#else
    *(int4 *)shared = *(const int4 *)global;
#endif
}
/* Copies all or nothing, which is cheaper than a number of bytes. */
static __device__ __forceinline__ void cp_async16_or_zero(void *shared, const void *global, bool valid) {
#ifdef TORT_SM80
    asm volatile("{ .reg .pred ignored; setp.eq.u32 ignored, %2, 0;"
                 " cp.async.cg.shared.global [%0],[%1],16,ignored; }" ::"r"(shared_address(shared)),
                 "l"(global), "r"((unsigned)valid)
                 : "memory");
#else
    *(int4 *)shared = valid ? *(const int4 *)global : make_int4(0, 0, 0, 0);
#endif
}
static __device__ __forceinline__ void cp_async4_zero_fill(void *shared, const void *global, bool valid) {
#ifdef TORT_SM80
    asm volatile("{ .reg .pred ignored; setp.eq.u32 ignored, %2, 0;"
                 " cp.async.ca.shared.global [%0],[%1],4,ignored; }" ::"r"(shared_address(shared)),
                 "l"(global), "r"((unsigned)valid)
                 : "memory");
#else
    *(int *)shared = valid ? *(const int *)global : 0;
#endif
}
static __device__ __forceinline__ void cp_async8(void *shared, const void *global) {
#ifdef TORT_SM80
    asm volatile("cp.async.ca.shared.global [%0],[%1],8;" ::"r"(shared_address(shared)), "l"(global) : "memory");
#else
    *(int2 *)shared = *(const int2 *)global;
#endif
}
static __device__ __forceinline__ void cp_async4(void *shared, const void *global) {
    cp_async4_zero_fill(shared, global, true);
}
/* Closes a group of the copies since the last commit. */
static __device__ __forceinline__ void cp_async_commit() {
#ifdef TORT_SM80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Waits until at most groups_left of the newest groups are pending. */
template <int groups_left> static __device__ __forceinline__ void cp_async_wait() {
#ifdef TORT_SM80
    asm volatile("cp.async.wait_group %0;" ::"n"(groups_left) : "memory");
#endif
}

#endif
#endif
