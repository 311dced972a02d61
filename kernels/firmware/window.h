/* window.h - a window over one or two axes as the functions of kernels/firmware/code have it: one axis is the second of
 * two. */
#ifndef TORT_KERNELS_FIRMWARE_WINDOW_H
#define TORT_KERNELS_FIRMWARE_WINDOW_H

#include "kernels/firmware/code/sliding.h"
#include "kernels/firmware/firmware.h"
#include "ops/sliding.h"
#include "runtime/include/bands.h"

/* Accepts numbers up to TORT_FIRMWARE_LIMIT. */
tort_verdict tort_firmware_claim_extents(const tort_sliding *sliding);
/* Accepts one or two axes, and numbers up to TORT_FIRMWARE_LIMIT. */
tort_verdict tort_firmware_claim_window(const tort_sliding *sliding);
tinyort_sliding tort_firmware_window_of(const tort_sliding *sliding);
/* Makes the window that of a band of rows: the image is those that are there. */
void tort_firmware_take_band(tinyort_sliding *window, const tinyort_band *band);
/* The rows of a window over `batch` images whose channels are last; none of several images. */
tort_rows tort_firmware_window_rows(const tort_sliding *sliding, int64_t batch);

#endif
