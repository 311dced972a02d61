/* conv_integer.c - ConvInteger and QLinearConv by the float product of conv.c, whose sums of whole numbers are exact.
 *
 * Weights less their zero points are packed ahead as floats; X less its zero point becomes floats in scratch.
 * Read next: conv.c, packed_gemm.h; ops/integer_conv.c for the meaning. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/quantized.h"
#include "ops/integer_conv.h"
#include "ops/microsoft/channels_last.h"
#include "ops/quantized.h"

/* The numbers of the inputs; -1 where the operator has none. */
typedef struct integer_inputs {
    int32_t x, x_zero, w, w_zero;
} integer_inputs;

static const integer_inputs plain = {.x = 0, .x_zero = 2, .w = 1, .w_zero = 3};
static const integer_inputs linear = {.x = 0, .x_zero = 2, .w = 3, .w_zero = 5};

static tort_verdict claim(const tort_target *target, const tort_node_view *node, const integer_inputs *in) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (!node->inputs[in->w].constant || (tort_has_input(node, in->w_zero) && !node->inputs[in->w_zero].constant))
        return tort_no(TORT_NO_DYNAMIC, "", "W and its zero point must be constants");
    if (p->channels / p->group < 4)
        return tort_no(TORT_NO_SHAPE, "", "is for 4 and more channels a group, W has %lld",
                       (long long)(p->channels / p->group));
    return tort_yes();
}

static tort_verdict claim_plain(const tort_target *target, const tort_node_view *node) {
    return claim(target, node, &plain);
}

static tort_verdict claim_linear(const tort_target *target, const tort_node_view *node) {
    return claim(target, node, &linear);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, const integer_inputs *in,
                             size_t *bytes, uint32_t *consumed, tort_error *error) {
    const tort_simd *simd = tort_simd_choose(target->instructions);
    tort_status status = tort_cpu_pack_floats(tort_cpu_conv_packed_size(simd, node->params), bytes, consumed, error);
    *consumed = 1u << in->w;
    return status;
}

static tort_status pack_size_plain(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                   uint32_t *consumed, tort_error *error) {
    return pack_size(target, node, &plain, bytes, consumed, error);
}

static tort_status pack_size_linear(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                    uint32_t *consumed, tort_error *error) {
    return pack_size(target, node, &linear, bytes, consumed, error);
}

/* The zero point is one number, or one a filter. */
static tort_status prepare(tort_prepare *prepare, const integer_inputs *in) {
    const tort_conv_params *p = prepare->node->params;
    const tort_cpu_device *device = prepare->device;
    int64_t per_filter = p->channels / p->group;
    size_t bytes;
    float *floats;
    for (int32_t i = 0; i < p->window.axes; i++) per_filter *= p->window.kernel[i];
    tort_status status = tort_cpu_widen(prepare, in->w, in->w_zero, per_filter, &floats, &bytes);
    if (status) return status;
    tort_cpu_conv_pack(device->simd, p, floats, prepare->packed);
    tort_free(prepare->env, floats, bytes);
    return TORT_OK;
}

static tort_status prepare_plain(tort_prepare *p) {
    return prepare(p, &plain);
}

static tort_status prepare_linear(tort_prepare *p) {
    return prepare(p, &linear);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool reserve_like(const tort_info *info, size_t *scratch) {
    int64_t count = 1;
    for (int32_t i = 0; i < info->rank; i++)
        if (__builtin_mul_overflow(count, info->dims[i], &count)) return false;
    return tort_cpu_reserve_floats(scratch, count);
}

static tort_status size_plain(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    *scratch = 0;
    if (reserve_like(&node->inputs[0], scratch) && tort_cpu_conv_reserve(target, node->params, scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* The sums too. */
static tort_status size_linear(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    *scratch = 0;
    if (reserve_like(&node->outputs[0], scratch) && reserve_like(&node->inputs[0], scratch) &&
        tort_cpu_conv_reserve(target, node->params, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static void add_up(const tort_call *call, int32_t *sums, char *scratch) {
    tort_tensor zero;
    float *x = tort_cpu_take(&scratch, (size_t)tort_count(&call->inputs[0]) * sizeof *x);
    tort_subtract_zero_point(call, &call->inputs[0], tort_optional_input(call, 2, 0, &zero), x);
    tort_cpu_conv_run(call, x, call->packed, NULL, NULL, sums, scratch);
}

static tort_status run_plain(const tort_call *call) {
    if (tort_count(&call->outputs[0]) > 0) add_up(call, call->outputs[0].data, call->scratch);
    return TORT_OK;
}

typedef struct linear_job {
    const tort_call *call;
    const int32_t *sums, *bias; /* bias NULL: none */
    int64_t plane;              /* elements of a filter's output */
    float x_scale, y_scale;
    tort_requantized requantized; /* of any filter: without its bias and factor */
} linear_job;

static void quantize_planes(void *arg, int64_t begin, int64_t end) {
    const linear_job *job = arg;
    const tort_conv_params *p = job->call->params;
    const tort_cpu_device *device = job->call->device;
    const tort_tensor *w_scale = &job->call->inputs[4];
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t m = plane % p->filters, first = plane * job->plane;
        tort_requantized r = job->requantized;
        float scale;
        tort_load_floats(w_scale->type, w_scale->data, tort_count(w_scale) > 1 ? m : 0, 1, &scale);
        r.bias = job->bias ? job->bias[m] : 0;
        r.factor = job->x_scale * scale / job->y_scale;
        device->simd->requantize(&r, job->sums + first, (uint8_t *)job->call->outputs[0].data + first, job->plane);
    }
}

static tort_status run_linear(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_tensor *in = call->inputs;
    const int64_t count = tort_count(&call->outputs[0]);
    char *scratch = call->scratch;
    float y_zero_point;
    if (count == 0) return TORT_OK;
    int32_t *sums = tort_cpu_take(&scratch, (size_t)count * sizeof *sums);
    add_up(call, sums, scratch);
    linear_job job = {.call = call, .sums = sums, .plane = count / (p->batch * p->filters)};
    if (call->input_count > 8 && tort_present(&in[8])) job.bias = in[8].data;
    tort_load_floats(in[1].type, in[1].data, 0, 1, &job.x_scale);
    tort_load_floats(in[6].type, in[6].data, 0, 1, &job.y_scale);
    tort_load_floats(in[7].type, in[7].data, 0, 1, &y_zero_point);
    job.requantized = tort_cpu_requantized(call, y_zero_point);
    tort_parallel(call, p->batch * p->filters, 4 * job.plane, quantize_planes, &job);
    return TORT_OK;
}

/* ---- of com.microsoft, channels first or last -------------------------------------------------------------------- */

static tort_status size_either(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_either_conv *params = node->params;
    tort_status status = size_linear(target, node, scratch, error);
    if (status || !params->channels_last || tort_planar_scratch(node, TORT_PLANAR_X, scratch)) return status;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_either(const tort_call *call) {
    const tort_either_conv *params = call->params;
    return params->channels_last ? tort_planar_run(call, TORT_PLANAR_X, run_linear) : run_linear(call);
}

const tort_kernel tort_cpu_conv_integer[] = {
    {.domain = "",
     .op = "ConvInteger",
     .name = "conv_integer_packed_gemm",
     .claim = claim_plain,
     .size = size_plain,
     .pack_size = pack_size_plain,
     .prepare = prepare_plain,
     .run = run_plain},
    {.domain = "",
     .op = "QLinearConv",
     .name = "qlinear_conv_packed_gemm",
     .claim = claim_linear,
     .size = size_linear,
     .pack_size = pack_size_linear,
     .prepare = prepare_linear,
     .run = run_linear},
    {.domain = "com.microsoft",
     .op = "QLinearConv",
     .name = "qlinear_conv_packed_gemm",
     .claim = claim_linear,
     .size = size_either,
     .pack_size = pack_size_linear,
     .prepare = prepare_linear,
     .run = run_either},
    {.op = NULL},
};
