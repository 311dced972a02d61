/* grid_sample.c - GridSample of float pictures, nearest and linear, with padding by zeros or the border.
 *
 * The elements and weights of a block of points are computed once for all channels. Read next: ops/grid_sample.c
 * (the meaning). */
#include "ops/grid_sample.h"
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <string.h>

#define BLOCK 128 /* points at a time */

static tort_verdict claim_grid_sample(const tort_target *target, const tort_node_view *node) {
    const tort_grid_params *p = node->params;
    if (p->mode == TORT_GRID_CUBIC) return tort_no(TORT_NO_ATTR, "", "is for nearest and linear, mode is cubic");
    if (p->padding == TORT_GRID_REFLECTION)
        return tort_no(TORT_NO_ATTR, "", "does not reflect, padding_mode is reflection");
    if (node->inputs[0].rank != 4) return tort_no(TORT_NO_SHAPE, "", "is for pictures, X has another rank than 4");
    if (node->inputs[1].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, grid is %s", tort_type_name(node->inputs[1].type));
    return tort_cpu_claim_float(target, node);
}

/* Elements and weights of each point: four, or one if nearest; an element outside has the weight 0. */
typedef struct grid_places {
    int32_t offsets[4][BLOCK];
    float weights[4][BLOCK];
    uint32_t inside[4][BLOCK]; /* all bits set, or 0 */
} grid_places;

typedef struct grid_job {
    const tort_call *call;
    const tort_grid_params *p;
    const float *x, *grid;
    float *y;
} grid_job;

/* Converts -1..1 to an element's coordinate, in float as other implementations do. */
static float to_element(float n, int64_t size, bool align_corners) {
    const float length = (float)size;
    return align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
}

/* Neighbours of a coordinate along an axis: two, or one if nearest; inside is false beyond the picture. */
typedef struct axis_place {
    int32_t index[2];
    bool inside[2];
    float weight[2];
} axis_place;

static axis_place place_of(const tort_grid_params *p, float x, int64_t size) {
    const float last = (float)(size - 1), edge = p->align_corners ? 0 : 0.5f;
    axis_place place = {.weight = {1, 0}};
    if (p->mode == TORT_GRID_NEAREST) x = nearbyintf(x);
    if (p->padding == TORT_GRID_BORDER && !(x >= -edge && x <= last + edge)) x = x > last ? last : 0;
    if (!(x >= -8)) x = -8; /* far enough outside that no neighbour is inside; NaN goes here too */
    if (x > last + 8) x = last + 8;
    const float base = floorf(x);
    if (p->mode == TORT_GRID_LINEAR) {
        place.weight[1] = x - base;
        place.weight[0] = 1 - place.weight[1];
    }
    for (int32_t t = 0; t < 2; t++) {
        const float index = base + (float)t;
        place.inside[t] = p->padding == TORT_GRID_BORDER || (index >= 0 && index <= last);
        place.index[t] = index > 0 ? index > last ? (int32_t)last : (int32_t)index : 0;
    }
    return place;
}

static void find_places(const grid_job *job, const float *grid, int64_t count, grid_places *places) {
    const tort_grid_params *p = job->p;
    const int32_t taps = p->mode == TORT_GRID_LINEAR ? 2 : 1;
    for (int64_t i = 0; i < count; i++) {
        const axis_place x = place_of(p, to_element(grid[2 * i], p->sizes[1], p->align_corners), p->sizes[1]);
        const axis_place y = place_of(p, to_element(grid[2 * i + 1], p->sizes[0], p->align_corners), p->sizes[0]);
        for (int32_t t = 0; t < taps * taps; t++) {
            const int32_t row = t / taps, column = t % taps;
            const bool inside = y.inside[row] && x.inside[column];
            places->offsets[t][i] = y.index[row] * (int32_t)p->sizes[1] + x.index[column];
            places->weights[t][i] = inside ? y.weight[row] * x.weight[column] : 0;
            places->inside[t][i] = inside ? UINT32_MAX : 0;
        }
    }
}

/* Returns an element, or 0 if it is outside. Masking its bits keeps an infinity or NaN of the picture out (a weight
 * of 0 would not), and a branch would be unpredictable. */
static inline float element(const grid_places *places, int32_t tap, int64_t i, const float *x) {
    uint32_t bits;
    memcpy(&bits, x + places->offsets[tap][i], sizeof bits);
    bits &= places->inside[tap][i];
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void sample_linear(const grid_places *places, const float *restrict x, float *restrict y, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        y[i] = (places->weights[0][i] * element(places, 0, i, x) + places->weights[1][i] * element(places, 1, i, x)) +
               (places->weights[2][i] * element(places, 2, i, x) + places->weights[3][i] * element(places, 3, i, x));
}

static void sample_nearest(const grid_places *places, const float *restrict x, float *restrict y, int64_t count) {
    for (int64_t i = 0; i < count; i++) y[i] = element(places, 0, i, x);
}

/* Samples blocks of points of images. */
static void sample_blocks(void *arg, int64_t begin, int64_t end) {
    const grid_job *job = arg;
    const tort_grid_params *p = job->p;
    const int64_t blocks = (p->points + BLOCK - 1) / BLOCK, elements = p->sizes[0] * p->sizes[1];
    grid_places places;
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / blocks, first = item % blocks * BLOCK;
        const int64_t count = p->points - first < BLOCK ? p->points - first : BLOCK;
        find_places(job, job->grid + (image * p->points + first) * 2, count, &places);
        for (int64_t c = image * p->channels; c < (image + 1) * p->channels; c++) {
            if (!tort_work_goes_on(job->call->watch, &done, 16 + count)) return;
            const float *x = job->x + c * elements;
            float *y = job->y + c * p->points + first;
            if (p->mode == TORT_GRID_LINEAR)
                sample_linear(&places, x, y, count);
            else
                sample_nearest(&places, x, y, count);
        }
    }
}

static tort_status run_grid_sample(const tort_call *call) {
    const tort_grid_params *p = call->params;
    const grid_job job = {call, p, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (p->sizes[0] == 0 || p->sizes[1] == 0)
        return tort_fail(call->error, TORT_E_RUN, "axis %d of X is empty: there is nothing to sample",
                         p->sizes[0] == 0 ? 2 : 3);
    if (p->sizes[0] > (INT32_MAX - 1) / p->sizes[1])
        return tort_fail(call->error, TORT_E_UNSUPPORTED,
                         "pictures of %lld x %lld; at most 2^31 elements are supported", (long long)p->sizes[0],
                         (long long)p->sizes[1]);
    const int64_t blocks = (p->points + BLOCK - 1) / BLOCK;
    tort_parallel(call, p->batch * blocks, BLOCK * (p->channels + 8), sample_blocks, (void *)&job);
    return TORT_OK;
}

#define ROW(domain_)                                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = "GridSample", .name = "grid_sample_points", .claim = claim_grid_sample,               \
        .run = run_grid_sample                                                                                         \
    }

const tort_kernel tort_cpu_grid_sample[] = {
    ROW(""),
    ROW("com.microsoft"),
    {.op = NULL},
};
