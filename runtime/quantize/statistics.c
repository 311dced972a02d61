/* statistics.c - extremes and histograms of a value's elements (statistics.h). */
#include "runtime/quantize/statistics.h"

#include <math.h>
#include <string.h>

enum { MAX_COUNTED = 1 << 16 }; /* elements of a tensor that the histogram takes */

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* The bits of a float as a number of the same order: compilers make vectors of its minimum and maximum, and NaN and
 * infinities lie outside of what finite floats have. */
static int32_t order_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static float float_of(int32_t order) {
    const int32_t bits = order ^ (int32_t)((uint32_t)(order >> 31) >> 1);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool extremes(const float *elements, int64_t count, float *low, float *high) {
    int32_t min = INT32_MAX, max = INT32_MIN;
    for (int64_t i = 0; i < count; i++) {
        const int32_t order = order_of(elements[i]);
        min = order < min ? order : min;
        max = order > max ? order : max;
    }
    if (min <= order_of(-INFINITY) || max >= order_of(INFINITY)) return false;
    *low = float_of(min);
    *high = float_of(max);
    return true;
}

/* Widens the bins of a sign until they hold an element of this size. */
static void widen(tort_statistics *s, int sign, float size) {
    int exponent;
    if (size <= s->reach[sign]) return;
    frexpf(size, &exponent);
    const float reach = ldexpf(1, exponent > 127 ? 127 : exponent); /* 2^128 is no float: the last bin has the rest */
    while (s->reach[sign] > 0 && s->reach[sign] < reach) {
        uint32_t *counts = s->counts[sign];
        for (int i = 0; i < TORT_BINS / 2; i++) counts[i] = counts[2 * i] + counts[2 * i + 1];
        memset(counts + TORT_BINS / 2, 0, TORT_BINS / 2 * sizeof *counts);
        s->reach[sign] *= 2;
    }
    s->reach[sign] = reach;
}

bool tort_statistics_add(tort_statistics *s, const float *elements, int64_t count) {
    float low, high;
    if (count < 1) return true;
    if (!extremes(elements, count, &low, &high)) return false;
    s->low = !s->seen || low < s->low ? low : s->low;
    s->high = !s->seen || high > s->high ? high : s->high;
    widen(s, 0, high);
    widen(s, 1, -low);
    const float factor[2] = {s->reach[0] > 0 ? TORT_BINS / s->reach[0] : 0,
                             s->reach[1] > 0 ? TORT_BINS / s->reach[1] : 0};
    const int64_t step = (count + MAX_COUNTED - 1) / MAX_COUNTED | 1; /* odd: not always the same channel */
    for (int64_t i = 0; i < count; i += step) {
        const int sign = elements[i] < 0;
        const float at = fabsf(elements[i]) * factor[sign];
        s->counts[sign][at < TORT_BINS - 1 ? (int)at : TORT_BINS - 1]++;
        s->counted++;
    }
    s->seen += count;
    return true;
}

void tort_statistics_merge(tort_statistics *s, const tort_statistics *other) {
    if (!other->seen) return;
    s->low = !s->seen || other->low < s->low ? other->low : s->low;
    s->high = !s->seen || other->high > s->high ? other->high : s->high;
    for (int sign = 0; sign < 2; sign++) {
        if (!(other->reach[sign] > 0)) continue;
        widen(s, sign, other->reach[sign] * 0.75f); /* whose power of two is that reach */
        const int factor = (int)(s->reach[sign] / other->reach[sign]);
        for (int i = 0; i < TORT_BINS; i++)
            s->counts[sign][factor > TORT_BINS ? 0 : i / factor] += other->counts[sign][i];
    }
    s->seen += other->seen;
    s->counted += other->counted;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* The middle of bin i, counted from the most negative to the most positive. */
static double middle(const tort_statistics *s, int i) {
    const int sign = i < TORT_BINS, at = sign ? TORT_BINS - 1 - i : i - TORT_BINS;
    const double size = (at + 0.5) * (double)s->reach[sign] / TORT_BINS;
    return sign ? -size : size;
}

static uint32_t count_at(const tort_statistics *s, int i) {
    return i < TORT_BINS ? s->counts[1][TORT_BINS - 1 - i] : s->counts[0][i - TORT_BINS];
}

double tort_statistics_outside(const tort_statistics *s, float low, float high) {
    int64_t outside = 0;
    for (int i = 0; i < 2 * TORT_BINS; i++) {
        const double half = (double)s->reach[i < TORT_BINS] / TORT_BINS / 2, at = middle(s, i);
        if (at - half > (double)high || at + half < (double)low) outside += count_at(s, i);
    }
    return s->counted ? (double)outside / (double)s->counted : 0;
}

void tort_statistics_percentile(const tort_statistics *s, double share, float *low, float *high) {
    const double limit = share * (double)s->counted;
    double below = 0, above = 0;
    int first = 0, last = 2 * TORT_BINS - 1;
    while (first < last && (below += count_at(s, first)) <= limit) first++;
    while (last > first && (above += count_at(s, last)) <= limit) last--;
    const float a = (float)middle(s, first), b = (float)middle(s, last);
    *low = a > s->low ? a : s->low;
    *high = b < s->high ? b : s->high;
}

/* Bins that hold elements: for many trials of a range. */
typedef struct bins {
    double middles[2 * TORT_BINS], shares[2 * TORT_BINS];
    int count;
} bins;

/* The mean squared error of a range: inside, rounding errors are uniform (a bin may be wider than a step, and its
 * middle says nothing then); outside, the distance to the range. */
static double error_of(const bins *b, double low, double high, int32_t steps) {
    const double step = (high - low) / steps, inside = step * step / 12;
    double error = 0;
    for (int i = 0; i < b->count; i++) {
        const double x = b->middles[i], beyond = x < low ? low - x : x > high ? x - high : 0;
        error += b->shares[i] * (beyond > 0 ? beyond * beyond : inside);
    }
    return error;
}

enum { SYMMETRIC_TRIALS = 81, SIDE_TRIALS = 46 };

/* Shrinks both sides together, from all of the range to a fifth. */
static void shrink_both(const bins *b, int32_t steps, double *low, double *high) {
    const double reach = fmax(-*low, *high);
    double min_error = INFINITY, best = reach;
    for (int i = 0; i < SYMMETRIC_TRIALS; i++) {
        const double x = reach * (0.2 + 0.8 * i / (SYMMETRIC_TRIALS - 1)), error = error_of(b, -x, x, steps);
        if (error <= min_error) min_error = error, best = x;
    }
    *low = -best;
    *high = best;
}

/* Shrinks one side, then the other, to a tenth at most; and again with what came out. */
static void shrink_sides(const bins *b, int32_t steps, double *low, double *high) {
    const double ends[2] = {*low, *high};
    double best[2] = {*low, *high}, min_error = error_of(b, *low, *high, steps);
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < SIDE_TRIALS; i++) {
            double range[2] = {best[0], best[1]};
            range[turn % 2] = ends[turn % 2] * (0.1 + 0.9 * i / (SIDE_TRIALS - 1));
            const double error = error_of(b, range[0], range[1], steps);
            if (error < min_error) min_error = error, memcpy(best, range, sizeof best);
        }
    *low = best[0];
    *high = best[1];
}

void tort_statistics_mse(const tort_statistics *s, int32_t steps, bool symmetric, float min, float max, float *low,
                         float *high) {
    bins b = {.count = 0};
    for (int i = 0; i < 2 * TORT_BINS; i++) {
        if (!count_at(s, i)) continue;
        b.middles[b.count] = fmin(fmax(middle(s, i), (double)min), (double)max);
        b.shares[b.count++] = (double)count_at(s, i) / (double)s->counted;
    }
    double a = fmin(fmax((double)s->low, (double)min), 0), z = fmax(fmin((double)s->high, (double)max), 0);
    if (symmetric)
        shrink_both(&b, steps, &a, &z);
    else
        shrink_sides(&b, steps, &a, &z);
    *low = (float)a;
    *high = (float)z;
}
