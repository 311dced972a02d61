/* vector.h - sixteen bytes as M-profile vectors (MVE, also called Helium) hold them, or as a pointer to them where the
 * compiler has none. */
#ifndef TORT_FIRMWARE_CODE_VECTOR_H
#define TORT_FIRMWARE_CODE_VECTOR_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
typedef int8x16_t tinyort_vector;
#define tinyort_vector_load(from) vldrbq_s8(from)
#define tinyort_vector_multiply(sum, a, b) vmladavaq_s8(sum, a, b)
#else
typedef const int8_t *tinyort_vector;
#define tinyort_vector_load(from) (from)
#define tinyort_vector_multiply(sum, a, b) tinyort_sum_of_products(sum, a, b)
#endif /* __ARM_FEATURE_MVE */

#endif
