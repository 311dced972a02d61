/* sensitivity.c - what each unit alone costs at the outputs, and which stay float32.
 *
 * By bisection: a group whose units together cost less than a fortieth of all is not looked into. Costs order the units
 * and predict nothing: what stays float32 is measured after each step, as more is not always better. */
#include <math.h>
#include <string.h>

#include "runtime/quantize/state.h"

enum { MAX_JUDGING = 8, ONE_BY_ONE = 60 /* units */ };
static const double SMALL = 1.0 / 40;

typedef struct search {
    tort_quantized *q;
    bool *trial;    /* by node */
    double *costs;  /* by unit: power of the error / power of the signal */
    int32_t *order; /* units */
    double small;
    int32_t done; /* evaluations */
} search;

static double power_of(double db) {
    return pow(10, -db / 10);
}

static tort_status cost_of(search *s, int32_t first, int32_t count, double *cost) {
    tort_quantized *q = s->q;
    const tort_fold *fold = &q->folds[0];
    tort_judgement judgement;
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const int32_t unit = q->rules.unit[i];
        s->trial[i] = unit >= first && unit < first + count;
    }
    tort_status status = tort_quantize_tell(q, "sensitivity", s->done++, q->rules.unit_count);
    if (!status) status = tort_quantize_judge(q, fold, s->trial, fold->chosen, fold->shift, MAX_JUDGING, &judgement);
    *cost = status ? 0 : power_of(judgement.db);
    return status;
}

static tort_status look_into(search *s, int32_t first, int32_t count, bool measured) {
    double cost = 0;
    tort_status status = measured ? TORT_OK : cost_of(s, first, count, &cost);
    if (status) return status;
    if (!measured && (count == 1 || cost < s->small)) {
        for (int32_t i = 0; i < count; i++) {
            s->costs[first + i] = cost / count;
            s->q->report.units[first + i].grouped = count > 1;
        }
        return TORT_OK;
    }
    if (s->q->rules.unit_count < ONE_BY_ONE) {
        for (int32_t i = 0; !status && i < count; i++) status = cost_of(s, first + i, 1, &s->costs[first + i]);
        return status;
    }
    status = look_into(s, first, count / 2, false);
    return status ? status : look_into(s, first + count / 2, count - count / 2, false);
}

/* Units from the dearest on; of equal ones the smaller first. */
static void sort_units(search *s) {
    const tort_quantized_unit *units = s->q->report.units;
    for (int32_t i = 0; i < s->q->rules.unit_count; i++) {
        int32_t k = i;
        for (; k > 0; k--) {
            const int32_t before = s->order[k - 1];
            if (s->costs[before] > s->costs[i] ||
                (s->costs[before] >= s->costs[i] && units[before].weights <= units[i].weights))
                break;
            s->order[k] = before;
        }
        s->order[k] = i;
    }
}

static bool meets(const tort_quantized *q, const tort_judgement *judgement) {
    return judgement->db >= q->options->max_error && judgement->agreement >= q->options->min_agreement;
}

static void set_unit(tort_quantized *q, bool *bytes, int32_t unit, bool value) {
    for (int32_t i = 0; i < q->net.node_count; i++)
        if (q->rules.unit[i] == unit) bytes[i] = value;
}

/* Keeps the first `count` units of the order in float32, but for those with which the model would exceed its bytes. */
static tort_status try_prefix(search *s, int32_t count, bool *bytes, tort_judgement *judgement) {
    tort_quantized *q = s->q;
    uint64_t size = q->report.bytes;
    for (int32_t i = 0; i < q->net.node_count; i++) bytes[i] = q->rules.able[i];
    for (int32_t k = 0; k < count; k++) {
        const uint64_t more = 3 * (uint64_t)q->report.units[s->order[k]].weights;
        if (q->options->max_bytes && size + more > q->options->max_bytes) continue;
        size += more;
        set_unit(q, bytes, s->order[k], false);
    }
    *judgement = (tort_judgement){0};
    for (int32_t f = 0; f < q->fold_count; f++) {
        tort_judgement one;
        const tort_fold *fold = &q->folds[f];
        const tort_status status = tort_quantize_judge(q, fold, bytes, fold->chosen, fold->shift, INT32_MAX, &one);
        if (status) return status;
        judgement->db += one.db / q->fold_count;
        judgement->agreement += one.agreement / q->fold_count;
    }
    return TORT_OK;
}

/* Tries 1, 2, 3, 5, 8, 12, 18 ... units until what was asked for holds; else the best of all tries stays. */
static tort_status keep_units(search *s, bool *bytes) {
    tort_quantized *q = s->q;
    bool *trial = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *trial);
    const int32_t units = q->rules.unit_count;
    tort_judgement best = {.db = q->report.db, .agreement = q->report.agreement};
    for (int32_t count = 1; units && !q->report.met; count += count < 3 ? 1 : count / 2 + count % 2) {
        tort_judgement judgement;
        const int32_t n = count < units ? count : units;
        tort_status status = tort_quantize_tell(q, "units that stay float32", n, units);
        if (!status) status = try_prefix(s, n, trial, &judgement);
        if (status) return status;
        q->report.met = meets(q, &judgement);
        if (q->report.met || judgement.db > best.db) {
            best = judgement;
            memcpy(bytes, trial, (size_t)q->net.node_count * sizeof *bytes);
        }
        if (n == units) break;
    }
    q->report.db = best.db;
    q->report.agreement = best.agreement;
    return TORT_OK;
}

static void note_kept(tort_quantized *q, const bool *bytes) {
    for (int32_t i = 0; i < q->net.node_count; i++) {
        if (!q->rules.able[i] || bytes[i]) continue;
        tort_quantized_unit *unit = &q->report.units[q->rules.unit[i]];
        q->report.kept += unit->bits == 8;
        unit->bits = 32;
        unit->why = "sensitive";
    }
}

tort_status tort_quantize_keep(tort_quantized *q, bool *bytes) {
    const int32_t units = q->rules.unit_count;
    const bool asked = q->options->max_error > 0 || q->options->min_agreement > 0;
    search s = {.q = q,
                .trial = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *s.trial),
                .costs = tort_make(&q->maker, (size_t)units, sizeof *s.costs),
                .order = tort_make(&q->maker, (size_t)units, sizeof *s.order),
                .small = SMALL * power_of(q->report.db_all)};
    const tort_judgement all = {.db = q->report.db_all, .agreement = q->report.agreement_all};
    tort_status status = TORT_OK;
    q->report.met = meets(q, &all);
    if (!q->options->sensitivity && (!asked || q->report.met)) return TORT_OK;
    if (units) status = look_into(&s, 0, units, true);
    for (int32_t i = 0; !status && i < units; i++)
        q->report.units[i].alone = s.costs[i] > 0 ? -10 * log10(s.costs[i]) : 120;
    q->report.evaluations = s.done;
    if (status || !asked || q->report.met) return status;
    sort_units(&s);
    if (q->options->max_bytes) q->report.bytes = tort_quantize_bytes(q, bytes);
    status = keep_units(&s, bytes);
    if (!status) note_kept(q, bytes);
    return status;
}
