/* roi.h - params of RoiAlign, CropAndResize and MaxRoiPool, and the samples of RoiAlign, for every provider. */
#ifndef TORT_OPS_ROI_H
#define TORT_OPS_ROI_H

#include "runtime/include/op.h"

typedef struct tort_roi_params {
    int64_t channels, height, width, batches, regions;
    int64_t bins_high, bins_wide;
    double spatial_scale;
    double offset;          /* RoiAlign: subtracted from each corner: 0.5 (half_pixel) or 0 */
    bool max;               /* RoiAlign: maximum, not mean */
    int64_t sampling_ratio; /* samples per bin and axis; 0: one per element, rounded up */
    bool nearest;           /* CropAndResize: the nearest element, not bilinear */
    double outside;         /* CropAndResize: value of a sample beyond the image */
} tort_roi_params;

/* A region of RoiAlign in elements of X, with its bins and the samples of a bin. */
typedef struct tort_roi_region {
    int64_t batch;
    double x, y, bin_width, bin_height;
    double samples_wide, samples_high; /* whole numbers */
} tort_roi_region;

/* The four elements of a plane around a sample and their weights. */
typedef struct tort_roi_sample {
    int64_t offsets[4];
    double weights[4];
} tort_roi_sample;

/* RoiAlign: TORT_E_RUN if the image is empty or a batch index is out of range. */
tort_status tort_roi_check(const tort_call *call);
tort_roi_region tort_roi_region_of(const tort_call *call, int64_t region);
/* Calls `take` for each sample of bin (by, bx) that lies in the image. *done counts samples, from 0 before the first
 * bin: the run may end between them. */
void tort_roi_each_sample(const tort_call *call, const tort_roi_region *region, int64_t by, int64_t bx, int64_t *done,
                          void (*take)(void *arg, const tort_roi_sample *sample), void *arg);

#endif
