/* vector_types.h - CUDA's built-in vector types and dim3, with the layout and alignment that nvcc gives them.
 *
 * Defined here so that the simulated device builds on machines without NVIDIA's headers. Only the types that kernels
 * use: plain members, the alignment of a single vector load, a make_ function each.
 * Read next: small_float.h for half and bfloat16, device.h for the rest of the device language. */
#ifndef CUDASIM_VECTOR_TYPES_H
#define CUDASIM_VECTOR_TYPES_H

struct uint3 {
    unsigned int x, y, z;
};

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
#endif
};

#ifndef __cplusplus
typedef struct uint3 uint3;
typedef struct dim3 dim3;
#else

#define CUDASIM_VECTOR(scalar, name, align2, align4)                                                                   \
    struct alignas(align2) name##2 {                                                                                   \
        scalar x, y;                                                                                                   \
    };                                                                                                                 \
    struct alignas(align4) name##4 {                                                                                   \
        scalar x, y, z, w;                                                                                             \
    };                                                                                                                 \
    static inline name##2 make_##name##2(scalar x, scalar y) {                                                         \
        return {x, y};                                                                                                 \
    }                                                                                                                  \
    static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {                                     \
        return {x, y, z, w};                                                                                           \
    }

CUDASIM_VECTOR(signed char, char, 2, 4)
CUDASIM_VECTOR(unsigned char, uchar, 2, 4)
CUDASIM_VECTOR(short, short, 4, 8)
CUDASIM_VECTOR(unsigned short, ushort, 4, 8)
CUDASIM_VECTOR(int, int, 8, 16)
CUDASIM_VECTOR(unsigned int, uint, 8, 16)
CUDASIM_VECTOR(long long, longlong, 16, 16)
CUDASIM_VECTOR(unsigned long long, ulonglong, 16, 16)
CUDASIM_VECTOR(float, float, 8, 16)
CUDASIM_VECTOR(double, double, 16, 16)

#undef CUDASIM_VECTOR

struct float3 {
    float x, y, z;
};
static inline float3 make_float3(float x, float y, float z) {
    return {x, y, z};
}

#endif
#endif
