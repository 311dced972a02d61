/* window.h - a window over one or two axes as the functions of kernels/firmware/code have it: two axes, and int32_t. */
#ifndef TORT_KERNELS_FIRMWARE_WINDOW_H
#define TORT_KERNELS_FIRMWARE_WINDOW_H

#include "kernels/firmware/firmware.h"
#include "ops/sliding.h"

/* Members by axis; of a single axis, the first of two has size 1. */
typedef struct tort_firmware_window {
    int32_t input[2], output[2], kernel[2], stride[2], dilation[2], begin[2], end[2];
} tort_firmware_window;

/* Accepts one or two axes, and numbers up to TORT_FIRMWARE_LIMIT. */
tort_verdict tort_firmware_claim_window(const tort_sliding *sliding);
tort_firmware_window tort_firmware_window_of(const tort_sliding *sliding);

#endif
