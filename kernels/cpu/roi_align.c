/* roi_align.c - RoiAlign in fp32 with mode=avg. The places and weights of a bin's samples are computed once and used
 * for all channels.
 *
 * Read next: ops/roi.h. */
#include "ops/roi.h"
#include "kernels/cpu/cpu.h"

#include <math.h>

#define MAX_TAPS 256 /* elements of a bin at a time; a multiple of 4 */

static tort_verdict claim_roi_align(const tort_target *target, const tort_node_view *node) {
    const tort_roi_params *p = node->params;
    if (p->max) return tort_no(TORT_NO_ATTR, "", "is for means, mode is max");
    return tort_cpu_claim_float(target, node);
}

/* A bin of all channels: elements not yet added to Y, and their weights. */
typedef struct roi_bin {
    const tort_call *call;
    const tort_roi_params *p;
    const float *x; /* the image */
    float *y;       /* the bin of the first channel */
    float scale;
    int32_t count;
    int64_t offsets[MAX_TAPS];
    float weights[MAX_TAPS];
} roi_bin;

static void add_taps(roi_bin *bin) {
    const tort_roi_params *p = bin->p;
    const int64_t plane = p->height * p->width, bins = p->bins_high * p->bins_wide;
    for (int64_t c = 0; c < p->channels && tort_row_goes_on(bin->call->watch, c * MAX_TAPS); c++) {
        const float *x = bin->x + c * plane;
        float sums[4] = {0, 0, 0, 0};
        for (int32_t i = 0; i < bin->count; i += 4)
            for (int32_t n = 0; n < 4; n++) sums[n] += bin->weights[i + n] * x[bin->offsets[i + n]];
        bin->y[c * bins] += ((sums[0] + sums[1]) + (sums[2] + sums[3])) * bin->scale;
    }
    bin->count = 0;
}

static void take_sample(void *arg, const tort_roi_sample *sample) {
    roi_bin *bin = arg;
    if (bin->count == MAX_TAPS) add_taps(bin);
    for (int32_t n = 0; n < 4; n++, bin->count++) {
        bin->offsets[bin->count] = sample->offsets[n];
        bin->weights[bin->count] = (float)sample->weights[n];
    }
}

/* Makes bins of regions. */
static void align_bins(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_roi_params *p = call->params;
    const int64_t bins = p->bins_high * p->bins_wide;
    int64_t done = 0;
    roi_bin bin = {.call = call, .p = p};
    for (int64_t item = begin; item < end; item++) {
        const int64_t at = item % bins;
        const tort_roi_region region = tort_roi_region_of(call, item / bins);
        bin.x = (const float *)call->inputs[0].data + region.batch * p->channels * p->height * p->width;
        bin.y = (float *)call->outputs[0].data + item / bins * p->channels * bins + at;
        bin.scale = (float)(1 / fmax(region.samples_high * region.samples_wide, 1));
        for (int64_t c = 0; c < p->channels; c++) bin.y[c * bins] = 0;
        tort_roi_each_sample(call, &region, at / p->bins_wide, at % p->bins_wide, &done, take_sample, &bin);
        add_taps(&bin);
    }
}

static tort_status run_roi_align(const tort_call *call) {
    const tort_roi_params *p = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_status status = tort_roi_check(call);
    if (!status)
        tort_parallel(call, p->regions * p->bins_high * p->bins_wide, 50 + p->channels * 16, align_bins, (void *)call);
    return status;
}

const tort_kernel tort_cpu_roi_align[] = {
    {"", "RoiAlign", "roi_align_bins", .claim = claim_roi_align, .run = run_roi_align},
    {.op = NULL},
};
