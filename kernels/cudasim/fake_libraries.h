/* fake_libraries.h - common parts of the simulated cuBLAS and cuDNN: prototypes (kernels/cuda/library_api.h), the
 * gate of calls, and element access. Arithmetic is a plain loop with sums in double and one rounding to the output
 * type. Where a real library would use TF32, operands are rounded to it, so that a test can tell. */
#ifndef CUDASIM_FAKE_LIBRARIES_H
#define CUDASIM_FAKE_LIBRARIES_H

#include "kernels/cudasim/api.h"
#include "kernels/cuda/library_api.h"

extern "C" {
#define CUDASIM_DECLARE(type, name, parameters) type name parameters;
CUBLAS_FUNCTIONS(CUDASIM_DECLARE)
CUDNN_FUNCTIONS(CUDASIM_DECLARE)
#undef CUDASIM_DECLARE
}

namespace cudasim {

bool library_call_fails(const char *function);
bool library_object_lives(const void *object); /* true for a created handle or descriptor until it is destroyed */
/* Submits work of a library to a stream of the handle's device, with access to the device's memory. False: another
 * device is current, there is no such stream, or the work failed. */
bool library_submit(int device, cudaStream_t stream, const std::function<void()> &work);
bool operand_is_valid(const void *memory, size_t bytes); /* device or pinned memory, within one live buffer */

enum class Element { f32, f16, bf16 };

inline size_t element_size(Element element) {
    return element == Element::f32 ? 4 : 2;
}

inline float load_element(const void *memory, long long index, Element element) {
    if (element == Element::f32) return ((const float *)memory)[index];
    if (element == Element::f16) return (float)((const __half *)memory)[index];
    return (float)((const __nv_bfloat16 *)memory)[index];
}

inline void store_element(void *memory, long long index, Element element, double value) {
    if (element == Element::f32)
        ((float *)memory)[index] = (float)value;
    else if (element == Element::f16)
        ((__half *)memory)[index] = __half(value);
    else
        ((__nv_bfloat16 *)memory)[index] = __nv_bfloat16(value);
}

/* Rounds to nearest, ties away from zero, to 10 mantissa bits. */
inline float round_to_tf32(float value) {
    const uint32_t bits = __float_as_uint(value);
    return (bits & 0x7f800000u) == 0x7f800000u ? value : __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}

} // namespace cudasim
#endif
