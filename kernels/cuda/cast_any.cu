/* cast_any.cu - conversions from and to types that few networks have, whose elements are told by a gpu_code: floats of
 * 8 bits and fewer, integers of 4 and 2. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/code.cuh"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/grid.h"

static __device__ __forceinline__ any_number any_number_at(const gpu_cast_type &type, const void *x, size_t i) {
    if (type.number != GPU_NUMBER_COUNT) return any_number_at(type.number, x, i);
    if (type.code.kind == GPU_CODE_INTEGER) return any_integer(integer_at(type.code, x, i));
    return any_real((double)number_at(type.code, x, i));
}

/* ---- to a type that C knows ---- */

template <class To> static __global__ void cast_from_code(const gpu_cast_any p) {
    for (size_t i = grid_first(); i < p.count; i += grid_stride()) {
        const any_number x = any_number_at(p.from, p.x, i);
        if (p.to.number == GPU_NUMBER_BOOL)
            ((uint8_t *)p.y)[i] = x.real != 0.0;
        else
            convert(x, (To *)p.y + i);
    }
}

/* ---- to a code ---- */

static __device__ __forceinline__ uint32_t code_of(const gpu_cast_any &p, const any_number &x) {
    const gpu_code &code = p.to.code;
    if (code.kind == GPU_CODE_E8M0) return encode_e8m0(x.real, p.up, p.saturate);
    if (code.kind == GPU_CODE_SMALL_FLOAT) return encode(&code.format, x.real, p.saturate);
    int64_t integer;
    convert(x, &integer);
    return (uint32_t)integer & ((1u << code.bits) - 1);
}

static __global__ void cast_to_code(const gpu_cast_any p) {
    const unsigned each = elements_in_bytes(p.to.code.bits);
    for (size_t i = grid_first() * each; i < p.count; i += grid_stride() * each)
        store_codes(p.to.code.bits, p.y, i, (unsigned)min(p.count - i, (size_t)each),
                    [&](size_t k) { return code_of(p, any_number_at(p.from, p.x, k)); });
}

/* ---- launchers ---- */

/* Calls use(To()) for a target that C knows; a bool is written as a byte. */
template <class Use> static cudaError_t for_target(gpu_number type, Use use) {
    return type == GPU_NUMBER_BOOL ? use(uint8_t()) : for_number(type, use);
}

cudaError_t gpu_run_cast_any(gpu_stream stream, const gpu_cast_any *p) {
    const size_t each = elements_in_bytes(p->to.code.bits);
    if (!p->count) return cudaSuccess;
    if (p->to.number == GPU_NUMBER_COUNT)
        return launch(cast_to_code, grid_blocks((p->count + each - 1) / each), GRID_THREADS, 0, stream, *p);
    return for_target(p->to.number, [=](auto zero) {
        return launch(cast_from_code<decltype(zero)>, grid_blocks(p->count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_cast_any(gpu_number to) {
    if (to == GPU_NUMBER_COUNT) return load_kernel(cast_to_code);
    return for_target(to, [](auto zero) { return load_kernel(cast_from_code<decltype(zero)>); });
}
