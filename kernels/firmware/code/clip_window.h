/* clip_window.h - the part of a window that lies in the image: of each axis the first tap that does, and the end. */
#ifndef TORT_FIRMWARE_CODE_CLIP_WINDOW_H
#define TORT_FIRMWARE_CODE_CLIP_WINDOW_H

#include "kernels/firmware/code/sliding.h"

static inline void tinyort_clip_window(const tinyort_sliding *s, int32_t *top, int32_t *left, int32_t *bottom,
                                       int32_t *right) {
    if (*bottom > s->height) {
        *bottom = s->height;
    }
    if (*right > s->width) {
        *right = s->width;
    }
    while (*top < 0) {
        *top += s->dilation_h;
    }
    while (*left < 0) {
        *left += s->dilation_w;
    }
}

#endif
