/* window_bytes.h - the window of a convolution over bytes whose channels are last: rows of the kernel one after the
 * other, the zero point where the window is outside of the image. */
#ifndef TORT_FIRMWARE_CODE_WINDOW_BYTES_H
#define TORT_FIRMWARE_CODE_WINDOW_BYTES_H

#include "kernels/firmware/code/conv_bytes_shape.h"

#include <string.h>

#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
/* Stores q0, which `vector` may load, in each vector of `count` bytes at `to`; of the last one, those that there are.
 */
#define TINYORT_EACH_VECTOR(before, vector, ...)                                                                       \
    __asm__ volatile(before "wlstp.8 lr, %[count], 2f\n"                                                               \
                            "1:\t" vector "vstrb.8 q0, [%[to]], #16\n\t"                                               \
                            "letp lr, 1b\n"                                                                            \
                            "2:"                                                                                       \
                     : [to] "+r"(to), __VA_ARGS__                                                                      \
                     : "lr", "q0", "q1", "memory");
#endif /* __ARM_FEATURE_MVE */

/* Copies `count` bytes, by vectors or words. */
static void tinyort_copy_bytes(int8_t *to, const int8_t *from, int32_t count, uint32_t flip) {
    (void)flip;
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
#if defined(TINYORT_UINT8)
    TINYORT_EACH_VECTOR("vdup.8 q1, %[flip]\n\t", "vldrb.8 q0, [%[from]], #16\n\tveor q0, q0, q1\n\t", [from] "+r"(from)
                        : [count] "r"(count), [flip] "r"(flip))
#else
    TINYORT_EACH_VECTOR("", "vldrb.8 q0, [%[from]], #16\n\t", [from] "+r"(from) : [count] "r"(count))
#endif /* TINYORT_UINT8 */
#else
    uint32_t word;
    for (; count >= 4; count -= 4) {
        (void)memcpy(&word, from, sizeof word);
        word = tinyort_flipped(word, flip);
        (void)memcpy(to, &word, sizeof word);
        from += 4;
        to += 4;
    }
    for (; count > 0; count--) {
        *to++ = (int8_t)tinyort_flipped((uint32_t)(uint8_t)*from++, flip & 0xffu);
    }
#endif /* __ARM_FEATURE_MVE */
}

static void tinyort_fill_bytes(int8_t *to, uint32_t word, int32_t count) {
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
    TINYORT_EACH_VECTOR("vdup.8 q0, %[word]\n\t", "", [word] "+r"(word) : [count] "r"(count))
#else
    for (; count >= 4; count -= 4) {
        (void)memcpy(to, &word, sizeof word);
        to += 4;
    }
    for (; count > 0; count--) {
        *to++ = (int8_t)(word & 0xffu);
    }
#endif /* __ARM_FEATURE_MVE */
}

TINYORT_OWN_FRAME static void tinyort_window(const tinyort_window_shape *s, const int8_t *image, int32_t out_h,
                                             int32_t out_w, int8_t *to) {
    const int32_t first = (out_w * s->at.stride_w) - s->at.left, n = s->channels, all = n * s->at.kernel_w;
    const int32_t near = (s->at.dilation_w == 1) && (n == s->pixel); /* a row of the window is one piece of memory */
    const uint32_t fill = (uint32_t)s->fill, flip = (uint32_t)s->flip;
    int32_t h = (out_h * s->at.stride_h) - s->at.top;
    if (near && (first >= 0) && ((first + s->at.kernel_w) <= s->at.width) && (h >= 0) &&
        ((h + ((s->at.kernel_h - 1) * s->at.dilation_h)) < s->at.height)) {
        const int8_t *line = image + (((h * s->at.width) + first) * n);
        const int32_t step = s->at.dilation_h * s->at.width * n;
        for (int32_t kh = s->at.kernel_h; kh > 0; kh--) {
            tinyort_copy_bytes(to, line, all, flip);
            line += step;
            to += all;
        }
        return;
    }
    int32_t before = (first < 0) ? -first : 0, behind = first + s->at.kernel_w - s->at.width;
    if (before > s->at.kernel_w) {
        before = s->at.kernel_w;
    }
    if (behind < 0) {
        behind = 0;
    }
    if (behind > s->at.kernel_w) {
        behind = s->at.kernel_w;
    }
    before *= n;
    behind *= n;
    for (int32_t kh = s->at.kernel_h; kh > 0; kh--) {
        const int8_t *line = image + (h * s->at.width * s->pixel);
        if ((h < 0) || (h >= s->at.height)) {
            tinyort_fill_bytes(to, fill, all);
        } else if (near != 0) {
            if (before != 0) {
                tinyort_fill_bytes(to, fill, before);
            }
            tinyort_copy_bytes(to + before, line + (first * n) + before, all - before - behind, flip);
            if (behind != 0) {
                tinyort_fill_bytes(to + all - behind, fill, behind);
            }
        } else {
            for (int32_t kw = 0, w = first; kw < s->at.kernel_w; kw++) {
                if ((w < 0) || (w >= s->at.width)) {
                    tinyort_fill_bytes(to + (kw * n), fill, n);
                } else {
                    tinyort_copy_bytes(to + (kw * n), line + (w * s->pixel), n, flip);
                }
                w += s->at.dilation_w;
            }
        }
        to += all;
        h += s->at.dilation_h;
    }
}

#endif
