/* conv.c - Conv, every version: 1 to 6 spatial axes, groups, dilations, strides, explicit and automatic padding;
 * FusedConv of tinyort and com.microsoft, which adds Z to the result and applies an activation; NhwcConv and
 * NhwcFusedConv, the same with the channels of X, Y and Z last.
 *
 * The plain loop makes one row of outputs at a time, summing in double. Read next: sliding.c for the geometry,
 * conv_transpose.c, kernels/cpu/conv.c for the fast form. */
#include "ops/conv.h"
#include "ops/microsoft/channels_last.h"
#include "ops/numeric.h"
#include "ops/widen.h"

#include <inttypes.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

tort_status tort_infer_conv(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *w = &infer->node->inputs[1];
    const int64_t group = tort_attr_int(infer->node, "group");
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    if (rank < 0) {
        infer->outputs[0].type = x->type;
        return TORT_OK;
    }
    if (w->rank >= 0 && w->rank != rank)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and W rank %d, expected the same", (int)rank,
                         (int)w->rank);
    if (group < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "attribute group is %" PRId64 ", expected at least 1", group);
    tort_sliding window;
    tort_status status = tort_sliding_read(infer->node, rank - 2, &window, infer->error);
    if (!status && w->rank >= 0) status = tort_sliding_kernel(&window, w->dims + 2, infer->error);
    if (status) return status;
    if (w->rank >= 0 && tort_dim_known(w->dims[0]) && w->dims[0] % group != 0)
        return tort_fail(infer->error, TORT_E_MODEL, "W has %" PRId64 " filters, not divisible into %" PRId64 " groups",
                         w->dims[0], group);
    if (x->rank >= 0 && w->rank >= 0 && tort_dim_known(x->dims[1]) && tort_dim_known(w->dims[1]) &&
        (x->dims[1] % group != 0 || x->dims[1] / group != w->dims[1]))
        return tort_fail(infer->error, TORT_E_MODEL,
                         "X has %" PRId64 " channels, W takes %" PRId64 " in each of %" PRId64 " groups", x->dims[1],
                         w->dims[1], group);
    if (tort_has_input(infer->node, 2) && w->rank >= 0) {
        const tort_info *b = &infer->node->inputs[2];
        if (b->rank >= 0 && b->rank != 1)
            return tort_fail(infer->error, TORT_E_MODEL, "B has rank %d, expected 1", (int)b->rank);
        if (b->rank == 1 && tort_dim_known(b->dims[0]) && tort_dim_known(w->dims[0]) && b->dims[0] != w->dims[0])
            return tort_fail(infer->error, TORT_E_MODEL,
                             "B has %" PRId64 " elements, expected %" PRId64 ", one for each filter of W", b->dims[0],
                             w->dims[0]);
    }
    tort_dim dims[TORT_MAX_RANK];
    dims[0] = x->rank >= 0 ? x->dims[0] : tort_dim_fresh(infer->dims, true);
    dims[1] = w->rank >= 0 ? w->dims[0] : tort_dim_fresh(infer->dims, true);
    for (int32_t i = 0; i < window.axes; i++) {
        tort_dim input = x->rank >= 0 ? x->dims[i + 2] : tort_dim_fresh(infer->dims, true);
        status = tort_sliding_output(infer, &window, i, input, &dims[i + 2]);
        if (status) return status;
    }
    tort_infer_shape(infer, 0, x->type, rank, dims);
    return TORT_OK;
}

static tort_status infer_fused_conv(tort_infer *infer) {
    tort_status status = tort_infer_conv(infer);
    return status ? status : tort_infer_added(infer, TORT_EPILOGUE_Z, "Z");
}

static tort_status infer_nhwc_conv(tort_infer *infer) {
    tort_status status = tort_planar_infer(infer, true, tort_infer_conv);
    return status ? status : tort_infer_added(infer, TORT_EPILOGUE_Z, "Z");
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Turns an image of width 1 under a kernel of width 1 into one of height 1, since kernels vectorize along the last
 * axis. X, W and Y keep their bytes: the layout in memory is the same. */
static void lay_column_down(tort_sliding *window) {
    int64_t *const lists[] = {window->input,     window->output, window->kernel, window->strides,
                              window->dilations, window->begin,  window->end};
    const bool narrow = window->axes == 2 && window->input[1] == 1 && window->kernel[1] == 1;
    if (!narrow || window->begin[1] || window->end[1]) return;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const int64_t column = lists[i][0];
        lists[i][0] = lists[i][1];
        lists[i][1] = column;
    }
}

tort_status tort_resolve_conv(tort_resolve *resolve) {
    tort_conv_params *params = resolve->params;
    const tort_info *x = &resolve->node->inputs[0], *w = &resolve->node->inputs[1];
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    params->group = tort_attr_int(resolve->node, "group");
    params->batch = tort_known_dim(x, 0);
    params->channels = tort_known_dim(x, 1);
    params->filters = tort_known_dim(w, 0);
    if (params->channels < 0 && tort_known_dim(w, 1) >= 0 &&
        __builtin_mul_overflow(tort_known_dim(w, 1), params->group, &params->channels))
        params->channels = -1;
    if (rank < 0) return TORT_OK;
    tort_status status = tort_sliding_read(resolve->node, rank - 2, &params->window, resolve->error);
    if (!status && w->rank >= 0) status = tort_sliding_kernel(&params->window, w->dims + 2, resolve->error);
    if (status) return status;
    tort_sliding_place(resolve->node, &params->window);
    lay_column_down(&params->window);
    if (!tort_widen_scratch(resolve->node, 3, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    return TORT_OK;
}

static tort_status resolve_fused_conv(tort_resolve *resolve) {
    tort_conv_params *params = resolve->params;
    tort_status status = tort_resolve_conv(resolve);
    return status ? status : tort_epilogue_resolve(resolve, &params->epilogue);
}

static tort_status resolve_activated_conv(tort_resolve *resolve) {
    tort_conv_params *params = resolve->params;
    tort_status status = tort_resolve_conv(resolve);
    return status ? status : tort_epilogue_resolve_operator(resolve, &params->epilogue);
}

/* Scratch: the transposed tensors, then the scratch of the plain loop. */
static tort_status resolve_nhwc_conv(tort_resolve *resolve) {
    tort_status status = tort_planar_resolve(resolve, true, resolve->params, resolve_activated_conv);
    if (status || tort_planar_scratch(resolve->node, TORT_CONV_PLANAR, &resolve->scratch_bytes)) return status;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct conv_task {
    const tort_conv_loop *loop;
    tort_conv_row row;
    tort_conv_store store;
} conv_task;

void tort_conv_row_of(const tort_conv_loop *loop, int64_t n, int64_t m, const int64_t *out, int64_t first, int64_t last,
                      double *acc) {
    const tort_conv_params *p = loop->params;
    const tort_sliding *window = &p->window;
    const int32_t x = window->axes - 1;
    const int64_t kernel = window->kernel[x], input = window->input[x], stride = window->strides[x];
    const int64_t per_group = p->channels / p->group, group = m / (p->filters / p->group);
    const double bias = tort_conv_bias(loop, m);
    tort_sliding_walk walk;
    int64_t k_from, k_to, done = 0;
    for (int64_t i = first; i < last; i++) acc[i - first] = bias;
    tort_sliding_reach(window, x, first, last, &k_from, &k_to);
    if (!per_group || k_from >= k_to || !tort_sliding_walk_begin(window, out, &walk)) return;
    do {
        const int64_t in_row = tort_sliding_input_row(window, out, &walk),
                      k_row = tort_sliding_kernel_row(window, &walk);
        for (int64_t k = k_from; k < k_to; k++) {
            int64_t from, to;
            tort_sliding_span(window, k, first, last, &from, &to);
            const int64_t start = from * stride + k * window->dilations[x] - window->begin[x];
            for (int64_t c = 0; c < per_group; c++) {
                if (!tort_work_goes_on(loop->call->watch, &done, 8 + to - from)) return;
                int64_t plane = n * p->channels + group * per_group + c;
                int64_t weight = ((m * per_group + c) * loop->kernel_rows + k_row) * kernel + k;
                tort_sliding_add(loop->type, acc + (from - first), 1, loop->data[0],
                                 (plane * loop->input_rows + in_row) * input + start, stride,
                                 tort_wide_element(loop->type, loop->data[1], weight), to - from);
            }
        }
    } while (tort_sliding_walk_next(window, &walk));
}

static void conv_rows(void *arg, int64_t begin, int64_t end) {
    const conv_task *task = arg;
    const tort_conv_loop *loop = task->loop;
    const tort_sliding *window = &loop->params->window;
    const int64_t width = window->output[window->axes - 1], filters = loop->params->filters;
    const int64_t cost = tort_sliding_row_cost(window, loop->params->channels / loop->params->group) / (width + 1) + 1;
    int64_t done = 0;
    double acc[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++) {
        int64_t out[TORT_MAX_SPATIAL];
        tort_sliding_coordinates(window, window->output, row % loop->output_rows, out);
        const int64_t plane = row / loop->output_rows;
        for (int64_t first = 0; first < width; first += TORT_BLOCK) {
            const int64_t last = first + tort_block_count(width, first);
            if (!tort_work_goes_on(loop->call->watch, &done, (8 + last - first) * cost)) return;
            task->row(loop, plane / filters, plane % filters, out, first, last, acc);
            task->store(loop, plane % filters, row * width + first, last - first, acc);
        }
    }
}

void tort_conv_rows(const tort_call *call, tort_conv_loop *loop, tort_conv_row row, tort_conv_store store) {
    const tort_conv_params *params = loop->params;
    const tort_sliding *window = &params->window;
    if (tort_count(&call->outputs[0]) == 0) return;
    loop->output_rows = tort_sliding_rows(window, window->output);
    /* Without channels X and W are empty: their other sizes may be so large that products overflow. */
    loop->input_rows = params->channels ? tort_sliding_rows(window, window->input) : 0;
    loop->kernel_rows = params->channels ? tort_sliding_rows(window, window->kernel) : 0;
    conv_task task = {loop, row, store};
    tort_parallel(call, params->batch * params->filters * loop->output_rows,
                  tort_sliding_row_cost(window, params->channels / params->group) / 2 + 1, conv_rows, &task);
}

static void store_rounded(const tort_conv_loop *loop, int64_t m, int64_t first, int64_t count, const double *acc) {
    (void)m;
    tort_store_doubles(loop->y->type, loop->y->data, first, count, acc);
}

tort_status tort_conv_run(const tort_call *call, tort_conv_row row) {
    tort_conv_loop loop = {.call = call, .params = call->params, .y = &call->outputs[0]};
    tort_widen_inputs(call, 3, &loop.type, loop.data);
    tort_conv_rows(call, &loop, row, store_rounded);
    return TORT_OK;
}

double tort_conv_bias(const tort_conv_loop *loop, int64_t m) {
    return loop->data[2] ? tort_wide_element(loop->type, loop->data[2], m) : 0;
}

static tort_status run_conv(const tort_call *call) {
    return tort_conv_run(call, tort_conv_row_of);
}

static tort_status run_fused_conv(const tort_call *call) {
    const tort_conv_params *params = call->params;
    tort_status status = tort_conv_run(call, tort_conv_row_of);
    if (!status) tort_epilogue_run(call, &params->epilogue, NULL);
    return status;
}

static tort_status run_nhwc_conv(const tort_call *call) {
    return tort_planar_run(call, TORT_CONV_PLANAR, run_fused_conv);
}

#define CONV_ATTRIBUTES "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints"
#define CONV(since_, until_, types_)                                                                                   \
    {                                                                                                                  \
        "", "Conv", since_, until_, "X:T W:T B?:T", "Y:T", types_, CONV_ATTRIBUTES,                                    \
            .params_size = sizeof(tort_conv_params), tort_infer_conv, tort_resolve_conv, run_conv                      \
    }

const tort_op tort_ops_conv[] = {
    CONV(1, 10, "T=floats"),
    CONV(11, 21, "T=floats"),
    CONV(22, TORT_NEWEST_OPSET, "T=floats13"),
    {"tinyort", "FusedConv", 1, 1, "X:T W:T B?:T Z?:T", "Y:T", "T=floats13",
     CONV_ATTRIBUTES " " TORT_EPILOGUE_ATTRIBUTES, .params_size = sizeof(tort_conv_params), infer_fused_conv,
     resolve_fused_conv, run_fused_conv},
    {"com.microsoft", "FusedConv", 1, 1, "X:T W:T B?:T Z?:T", "Y:T", "T=floats",
     CONV_ATTRIBUTES " activation:string activation_params:floats", .params_size = sizeof(tort_conv_params),
     infer_fused_conv, resolve_activated_conv, run_fused_conv},
    {"com.microsoft", "NhwcConv", 1, 1, "X:T W:T B?:T", "Y:T", "T=floats", CONV_ATTRIBUTES,
     .params_size = sizeof(tort_conv_params), infer_nhwc_conv, resolve_nhwc_conv, run_nhwc_conv},
    {"com.microsoft", "NhwcFusedConv", 1, 1, "X:T W:T B?:T Z?:T", "Y:T", "T=float|float16",
     CONV_ATTRIBUTES " activation:string activation_params:floats", .params_size = sizeof(tort_conv_params),
     infer_nhwc_conv, resolve_nhwc_conv, run_nhwc_conv},
    {0},
};
