/* qlinear_softmax.c - QLinearSoftmax: the byte of the softmax of the numbers that the bytes stand for.
 *
 * A table has e^x of all distances from the largest element, as 32 bits of its fraction; a lane has their sum, and each
 * quotient is rounded once, half to even. ONNX Runtime's operator is not this function: it takes floor(1 / scale) for
 * the steps that make up 1, which is 254 for the scale 1/255 that its own quantizer writes. Read next: qlinear.h,
 * softmax.h. */
#include "ops/microsoft/qlinear.h"

#include <inttypes.h>
#include <math.h>

#include "ops/shapes.h"
#include "ops/softmax.h"

static tort_status infer_softmax(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    int32_t axis;
    tort_infer_same(infer, 0, 0);
    tort_status status = tort_linear_check(infer, 0x1e);
    if (status != TORT_OK || x->rank < 0) return status;
    return tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), x->rank, &axis);
}

static tort_status resolve_softmax(tort_resolve *resolve) {
    return tort_attr_int(resolve->node, "opset") < 13 ? tort_resolve_softmax_coerced(resolve)
                                                      : tort_resolve_softmax_axis(resolve);
}

typedef struct softmax_job {
    const tort_call *call;
    const tort_softmax_params *params;
    const uint8_t *x;
    uint8_t *y;
    tort_softmax_bytes s;
    void (*lane)(const tort_softmax_bytes *softmax, const uint8_t *x, uint8_t *y, int64_t count);
} softmax_job;

typedef struct softmax_lane {
    const softmax_job *job;
    const uint8_t *x;
    uint8_t *y, largest;
    uint64_t sum;
} softmax_lane;

/* The passes over a lane, for elements begin .. end-1. */

static void find_largest(softmax_lane *l, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        const uint8_t value = l->x[i * l->job->params->inner] ^ l->job->s.flip;
        l->largest = value > l->largest ? value : l->largest;
    }
}

static void add_powers(softmax_lane *l, int64_t begin, int64_t end) {
    const uint32_t *powers = l->job->s.powers + (255 - l->largest);
    for (int64_t i = begin; i < end; i++) l->sum += powers[l->x[i * l->job->params->inner] ^ l->job->s.flip];
}

static void divide(softmax_lane *l, int64_t begin, int64_t end) {
    const tort_softmax_bytes *s = &l->job->s;
    const int64_t step = l->job->params->inner;
    const uint32_t *powers = s->powers + (255 - l->largest);
    const float factor = 1 / (s->scale * (float)l->sum), round = 0x1.8p23f;
    for (int64_t i = begin; i < end; i++) {
        const float steps = (float)powers[l->x[i * step] ^ s->flip] * factor;
        const float below = steps < s->max ? steps : s->max, within = below > s->min ? below : s->min;
        l->y[i * step] = (uint8_t)(int32_t)((within + round) - round + s->zero);
    }
}

static void normalize_lane(const softmax_job *job, int64_t first) {
    static void (*const passes[])(softmax_lane *, int64_t, int64_t) = {find_largest, add_powers, divide};
    const int64_t length = job->params->length;
    softmax_lane l = {.job = job, .x = job->x + first, .y = job->y + first};
    if (job->lane && job->params->inner == 1 && length <= TORT_PART) {
        job->lane(&job->s, l.x, l.y, length);
        return;
    }
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (int64_t at = 0; at < length; at += TORT_PART) {
            if (!tort_row_goes_on(job->call->watch, at)) return;
            passes[p](&l, at, at + tort_part_count(length, at));
        }
}

static void normalize_lanes(void *arg, int64_t begin, int64_t end) {
    const softmax_job *job = arg;
    const tort_softmax_params *p = job->params;
    const int64_t work = p->length;
    int64_t done = 0;
    for (int64_t lane = begin; lane < end && tort_work_goes_on(job->call->watch, &done, work); lane++)
        normalize_lane(job, lane / p->inner * p->length * p->inner + lane % p->inner);
}

void tort_linear_powers(float scale, uint32_t *powers) {
    enum { NEAR = 16 }; /* e^(16 i + k) is a product: 32 calls of exp in place of 256 */
    double far[256 / NEAR], near[NEAR];
    for (int32_t i = 0; i < NEAR; i++) near[i] = exp(-i * (double)scale);
    for (int32_t i = 0; i < 256 / NEAR; i++) far[i] = UINT32_MAX * exp(-NEAR * i * (double)scale);
    for (int32_t d = 0; d < 256; d++) powers[255 - d] = (uint32_t)rint(far[d / NEAR] * near[d % NEAR]);
}

tort_status tort_run_linear_softmax(const tort_call *call, void (*lane)(const tort_softmax_bytes *softmax,
                                                                        const uint8_t *x, uint8_t *y, int64_t count)) {
    const tort_softmax_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, 1, 2), to = tort_linear_of(call, 3, 4);
    const bool is_signed = x->type == TORT_INT8;
    softmax_job job = {.call = call, .params = p, .x = x->data, .y = y->data, .lane = lane};
    if (tort_count(x) == 0) return TORT_OK;
    job.s.scale = to.scale;
    job.s.zero = to.zero;
    job.s.flip = is_signed ? 0x80 : 0;
    job.s.min = (is_signed ? -128 : 0) - to.zero;
    job.s.max = (is_signed ? 127 : 255) - to.zero;
    tort_linear_powers(from.scale, job.s.powers);
    for (int32_t i = 256; i < 511; i++) job.s.powers[i] = job.s.powers[255];
    tort_parallel(call, p->outer * p->inner, 4 * p->length, normalize_lanes, &job);
    return TORT_OK;
}

static tort_status run_plainly(const tort_call *call) {
    return tort_run_linear_softmax(call, NULL);
}

const tort_op tort_ops_qlinear_softmax[] = {
    {"com.microsoft", "QLinearSoftmax", 1, 1, "X:T X_scale:float x_zero_point?:T y_scale:float y_zero_point:T", "Y:T",
     "T=uint8|int8", "axis:int=-1 opset:int!", .params_size = sizeof(tort_softmax_params), infer_softmax,
     resolve_softmax, run_plainly},
    {0},
};
