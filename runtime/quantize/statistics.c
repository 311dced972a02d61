/* statistics.c - extremes and histograms of a value's elements (statistics.h). */
#include "runtime/quantize/statistics.h"

#include <math.h>
#include <string.h>

/* ---- counting ---------------------------------------------------------------------------------------------------- */

enum { LANES = 16, PART = 1 << 15, MAX_PARTS = 64 };

typedef struct extent {
    float low, high;
    bool finite;
} extent;

/* Extremes in lanes, of which compilers make vectors. A NaN or an infinity leaves a NaN in the sum of x * 0. */
static extent extremes(const float *elements, int64_t count) {
    float low[LANES], high[LANES], sum[LANES] = {0};
    int64_t i = 0;
    for (int k = 0; k < LANES; k++) low[k] = high[k] = elements[0];
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const float x = elements[i + k];
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
            sum[k] += x * 0;
        }
    for (; i < count; i++) {
        low[0] = elements[i] < low[0] ? elements[i] : low[0];
        high[0] = elements[i] > high[0] ? elements[i] : high[0];
        sum[0] += elements[i] * 0;
    }
    for (int k = 1; k < LANES; k++) {
        low[0] = low[k] < low[0] ? low[k] : low[0];
        high[0] = high[k] > high[0] ? high[k] : high[0];
        sum[0] += sum[k];
    }
    return (extent){low[0], high[0], sum[0] == 0};
}

/* Parts of equal length, each read on some thread. Elements that a histogram will count, every step-th, are picked
 * while they are in its cache. */
typedef struct parts {
    const float *elements;
    int64_t count, length, step;
    float *picked;
    extent extents[MAX_PARTS];
} parts;

static void read_parts(void *arg, int64_t begin, int64_t end) {
    parts *p = arg;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * p->length, last = first + p->length < p->count ? first + p->length : p->count;
        p->extents[i] = extremes(p->elements + first, last - first);
        for (int64_t k = (first + p->step - 1) / p->step; k * p->step < last; k++)
            p->picked[k] = p->elements[k * p->step];
    }
}

/* Extremes of all parts. */
static extent read_all(parts *p, const tort_env *env) {
    while (p->length * MAX_PARTS < p->count) p->length *= 2;
    const int64_t part_count = (p->count + p->length - 1) / p->length;
    if (part_count > 1 && env->parallel_for)
        env->parallel_for(env->parallel_ud, part_count, 1, read_parts, p);
    else
        read_parts(p, 0, part_count);
    extent all = p->extents[0];
    for (int64_t i = 1; i < part_count; i++) {
        all.low = fminf(all.low, p->extents[i].low);
        all.high = fmaxf(all.high, p->extents[i].high);
        all.finite = all.finite && p->extents[i].finite;
    }
    return all;
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

bool tort_statistics_add(tort_statistics *s, const tort_env *env, const float *elements, int64_t count, float *picked,
                         int32_t room) {
    if (count < 1) return true;
    parts p = {.elements = elements,
               .count = count,
               .length = PART,
               .step = (count + room - 1) / room | 1, /* odd: not always the same channel */
               .picked = picked};
    const extent all = read_all(&p, env);
    if (!all.finite) return false;
    s->low = !s->seen || all.low < s->low ? all.low : s->low;
    s->high = !s->seen || all.high > s->high ? all.high : s->high;
    widen(s, 0, all.high);
    widen(s, 1, -all.low);
    const float factor[2] = {s->reach[0] > 0 ? TORT_BINS / s->reach[0] : 0,
                             s->reach[1] > 0 ? TORT_BINS / s->reach[1] : 0};
    const int64_t picked_count = (count + p.step - 1) / p.step;
    for (int64_t i = 0; i < picked_count; i++) {
        const int sign = picked[i] < 0;
        const float at = fabsf(picked[i]) * factor[sign];
        s->counts[sign][at < TORT_BINS - 1 ? (int)at : TORT_BINS - 1]++;
    }
    s->counted += picked_count;
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
