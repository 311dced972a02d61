/* grid_taps.h - the elements along an axis of `size` that a coordinate of a grid, -1 to 1, is made of: 1 (mode 0: the
 * nearest), 2 (1: linear) or 4 (2: cubic), with their weights. Those outside have index -1 (padding 0: zeros), or
 * become the outermost (1) or mirrored ones (2). */
#ifndef TORT_FIRMWARE_CODE_GRID_TAPS_H
#define TORT_FIRMWARE_CODE_GRID_TAPS_H

#include <math.h>
#include <stdint.h>

typedef struct tinyort_grid {
    int32_t mode, padding, align_corners;
} tinyort_grid;

/* x, mirrored at both borders until it is between them. */
static float tinyort_mirrored(float x, float low, float high) {
    const float span = high - low;
    if (!(span > 0.0f) || !(fabsf(x) < INFINITY)) {
        return 0.0f;
    }
    const float rest = fmodf(fabsf(x - low), 2.0f * span);
    return (rest <= span) ? (low + rest) : (high - (rest - span));
}

static int32_t tinyort_grid_index(const tinyort_grid *s, float x, float last, float edge) {
    const int32_t inside = (x >= 0.0f) && (x <= last);
    if (!inside && (s->padding == 0)) {
        return -1;
    }
    if (!inside && (s->padding == 2)) {
        x = tinyort_mirrored(x, -edge, last + edge);
    }
    return !(x > 0.0f) ? 0 : (int32_t)((x > last) ? last : x);
}

static void tinyort_grid_taps(const tinyort_grid *s, float coordinate, int32_t size, int32_t *indices, float *weights) {
    const float last = (float)(size - 1), edge = s->align_corners ? 0.0f : 0.5f, from_first = coordinate + 1.0f;
    const float scaled = s->align_corners ? (from_first / 2.0f * last) : (from_first * (float)size);
    float x = s->align_corners ? scaled : ((scaled - 1.0f) / 2.0f);
    if ((s->mode == 0) && (fabsf(x) < 4194304.0f)) {
        const float shifted = x + 12582912.0f; /* has no place for a fraction */
        x = shifted - 12582912.0f;
    }
    if (!((x >= -edge) && (x <= (last + edge)))) {
        if ((s->padding == 1) && (s->mode != 2)) {
            x = (x > last) ? last : 0.0f;
        }
        if (s->padding == 2) {
            x = tinyort_mirrored(x, -edge, last + edge);
        }
    }
    if (!(fabsf(x) < INFINITY)) {
        x = (x > 0.0f) ? (last + 8.0f) : -8.0f; /* all taps are outside */
    }
    const float base = (s->mode == 0) ? x : floorf(x), t = x - base, u = 1.0f - t;
    const float far = 1.25f * t, near = 1.25f * u, beyond = far * t, before = near * u;
    const float cubic[] = {-0.75f * t * u * u, u * (1.0f + t - beyond), t * (1.0f + u - before), -0.75f * u * t * t};
    for (int32_t k = 0; k < (1 << s->mode); k++) {
        indices[k] = tinyort_grid_index(s, base + (float)(k - (s->mode == 2)), last, edge);
        weights[k] = (s->mode == 2) ? cubic[k] : k ? t : u;
    }
}

#endif
