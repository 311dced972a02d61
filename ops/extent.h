/* extent.h - products of dimensions, single elements: helpers for the loops of many families. */
#ifndef TORT_OPS_EXTENT_H
#define TORT_OPS_EXTENT_H

#include "ops/numeric.h"

#include <string.h>

/* Product of dims[begin..end), at most INT64_MAX: part of an empty tensor's shape may be larger than any tensor, but no
 * loop uses it, because the whole is empty. */
static inline int64_t tort_extent(const int64_t *dims, int32_t begin, int32_t end) {
    int64_t product = 1;
    for (int32_t i = begin; i < end; i++)
        if (__builtin_mul_overflow(product, dims[i], &product)) product = INT64_MAX;
    return product;
}

/* Copies an element of 1, 2, 4, 8 or 16 bytes; constant sizes compile to plain moves. */
static inline void tort_copy_element(char *to, const char *from, size_t size) {
    switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, 16); break;
    }
}

/* Element i as a number, for loops with a stride; contiguous elements are faster by tort_load_doubles. */
static inline double tort_element_at(const tort_tensor *tensor, int64_t i) {
    if (tensor->type == TORT_FLOAT) return (double)((const float *)tensor->data)[i];
    double value;
    tort_load_doubles(tensor->type, tensor->data, i, 1, &value);
    return value;
}

/* values += elements first .. first+count-1 of a tensor, at most TORT_BLOCK. */
static inline void tort_add_elements(const tort_tensor *tensor, int64_t first, int64_t count, double *values) {
    double other[TORT_BLOCK];
    tort_load_doubles(tensor->type, tensor->data, first, count, other);
    for (int64_t i = 0; i < count; i++) values[i] += other[i];
}

/* Dot product, in four partial sums so that the compiler can vectorize it. */
static inline double tort_dot(const double *a, const double *b, int64_t count) {
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int32_t k = 0; k < 4; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++) sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

#endif
