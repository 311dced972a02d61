/* sliding.h - a window that slides over an image of two axes: sizes, steps, and the padding on four sides. */
#ifndef TORT_FIRMWARE_CODE_SLIDING_H
#define TORT_FIRMWARE_CODE_SLIDING_H

#include <stdint.h>

typedef struct tinyort_sliding {
    int32_t height, width, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int32_t top, left, bottom, right;
} tinyort_sliding;

#endif
