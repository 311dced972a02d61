/* conv_transpose.c - ConvTranspose, every version: output_padding, output_shape, automatic padding, groups, dilations;
 * and ConvTransposeWithDynamicPads, whose pads are an input.
 *
 * Its params are those of Conv (conv.h). The plain loop makes one row of outputs at a time from the inputs that reach
 * it, summing in double. Version 1 describes the split of an odd padding differently from later ones; all versions
 * follow the later text: the extra element goes to the end for SAME_UPPER, else to the beginning.
 * Read next: conv.h, sliding.h. */
#include "ops/conv.h"
#include "ops/widen.h"

#include <inttypes.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static bool takes_pads(const tort_node_view *node) {
    return node->op->shape_inputs >> TORT_CONV_PADS & 1;
}

/* Reads output_shape: an entry for each spatial axis, or none. Some exporters put batch and channels in front, which
 * are skipped. */
static tort_status read_output_shape(const tort_node_view *node, int32_t axes, int64_t *out, bool *given,
                                     tort_error *error) {
    int32_t count;
    const int64_t *values = tort_attr_ints(node, "output_shape", &count);
    *given = count != 0;
    if (count != axes + 2) return tort_read_sizes(node, "output_shape", axes, 0, 0, out, error);
    for (int32_t i = 0; i < axes; i++) {
        out[i] = values[i + 2];
        if (out[i] < 0 || out[i] > INT32_MAX)
            return tort_fail(error, TORT_E_MODEL, "attribute output_shape[%d] is %" PRId64 ", expected 0 to 2147483647",
                             (int)i + 2, out[i]);
    }
    return TORT_OK;
}

typedef struct transpose_sizes {
    bool shape_given, pads_unknown; /* output_shape is given; the contents of Pads are unknown */
    int64_t shape[TORT_MAX_SPATIAL], padding[TORT_MAX_SPATIAL]; /* output_shape, output_padding */
} transpose_sizes;

/* Reads the input Pads, which has no effect with SAME_*. */
static tort_status read_pads(const tort_node_view *node, tort_sliding *window, bool *unknown, tort_error *error) {
    tort_numbers pads;
    const int32_t axes = window->axes;
    tort_status status = tort_read_numbers(node, TORT_CONV_PADS, "Pads", &pads, error);
    if (!status && pads.known != TORT_ABSENT) status = tort_check_entries(error, "Pads", pads.count, 2 * axes);
    *unknown = pads.known == TORT_UNKNOWN;
    if (status || pads.known != TORT_KNOWN || tort_sliding_is_same(window)) return status;
    for (int32_t i = 0; i < 2 * axes; i++) {
        if (pads.values[i] < -INT32_MAX || pads.values[i] > INT32_MAX)
            return tort_fail(error, TORT_E_MODEL, "Pads[%d] is %" PRId64 ", expected -2147483647 to 2147483647", (int)i,
                             pads.values[i]);
        *(i < axes ? &window->begin[i] : &window->end[i - axes]) = pads.values[i];
    }
    return TORT_OK;
}

static tort_status read_node(const tort_node_view *node, int32_t rank, tort_sliding *window, transpose_sizes *sizes,
                             tort_error *error) {
    const tort_info *w = &node->inputs[1];
    tort_status status = tort_sliding_read(node, rank - 2, window, error);
    if (!status && w->rank >= 0) status = tort_sliding_kernel(window, w->dims + 2, error);
    if (!status) status = read_output_shape(node, rank - 2, sizes->shape, &sizes->shape_given, error);
    if (!status) status = tort_read_sizes(node, "output_padding", rank - 2, 0, 0, sizes->padding, error);
    sizes->pads_unknown = false;
    if (!status && takes_pads(node)) status = read_pads(node, window, &sizes->pads_unknown, error);
    return status;
}

static tort_status output_dim(const tort_infer *infer, const tort_sliding *window, const transpose_sizes *sizes,
                              int32_t axis, tort_dim input, tort_dim *output) {
    tort_dims *dims = infer->dims;
    if (sizes->shape_given) {
        *output = sizes->shape[axis];
        return TORT_OK;
    }
    if (tort_dim_known(input) && input > (int64_t)1 << 31)
        return tort_fail(infer->error, TORT_E_MODEL, "the input has %" PRId64 " elements along spatial axis %d", input,
                         (int)axis);
    if (tort_sliding_is_same(window)) {
        *output = tort_dim_mul(dims, input, window->strides[axis]);
        return TORT_OK;
    }
    if (window->kernel[axis] < 0 || sizes->pads_unknown) {
        *output = tort_dim_fresh(dims, sizes->pads_unknown || tort_dim_dynamic(dims, input));
        return TORT_OK;
    }
    /* (input - 1) * stride + extent + output_padding - pads */
    const int64_t rest = tort_sliding_extent(window, axis) + sizes->padding[axis] - window->begin[axis] -
                         window->end[axis] - window->strides[axis];
    if (tort_dim_known(input)) {
        *output = input == 0 ? 0 : input * window->strides[axis] + rest;
        if (*output < 0)
            return tort_fail(infer->error, TORT_E_MODEL,
                             "the output would have %" PRId64 " elements along spatial axis %d: pads are too large",
                             *output, (int)axis);
        return TORT_OK;
    }
    *output = tort_dim_add_const(dims, tort_dim_mul(dims, input, window->strides[axis]), rest);
    return TORT_OK;
}

static tort_status check_channels(const tort_infer *infer, const tort_info *x, const tort_info *w, int64_t group) {
    if (group < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "attribute group is %" PRId64 ", expected at least 1", group);
    if (x->rank < 0 || w->rank < 0) return TORT_OK;
    if (x->rank != w->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and W rank %d, expected the same", (int)x->rank,
                         (int)w->rank);
    if (tort_dim_known(x->dims[1]) && tort_dim_known(w->dims[0]) && x->dims[1] != w->dims[0])
        return tort_fail(infer->error, TORT_E_MODEL, "X has %" PRId64 " channels, W takes %" PRId64, x->dims[1],
                         w->dims[0]);
    if (tort_dim_known(x->dims[1]) && x->dims[1] % group != 0)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "X has %" PRId64 " channels, not divisible into %" PRId64 " groups", x->dims[1], group);
    return TORT_OK;
}

static tort_status check_bias(const tort_infer *infer, tort_dim filters) {
    const int32_t input = takes_pads(infer->node) ? TORT_CONV_PADS + 1 : 2;
    if (!tort_has_input(infer->node, input)) return TORT_OK;
    const tort_info *b = &infer->node->inputs[input];
    if (b->rank >= 0 && b->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "B has rank %d, expected 1", (int)b->rank);
    if (b->rank == 1 && tort_dim_known(b->dims[0]) && tort_dim_known(filters) && b->dims[0] != filters)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "B has %" PRId64 " elements, expected %" PRId64 ", one for each output channel", b->dims[0],
                         filters);
    return TORT_OK;
}

tort_status tort_infer_conv_transpose(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *w = &infer->node->inputs[1];
    const int64_t group = tort_attr_int(infer->node, "group");
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    tort_status status = check_channels(infer, x, w, group);
    if (status) return status;
    if (rank < 0) {
        infer->outputs[0].type = x->type;
        return TORT_OK;
    }
    tort_sliding window;
    transpose_sizes sizes;
    status = read_node(infer->node, rank, &window, &sizes, infer->error);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK];
    dims[0] = x->rank >= 0 ? x->dims[0] : tort_dim_fresh(infer->dims, true);
    dims[1] = tort_dim_fresh(infer->dims, true);
    if (w->rank >= 0 && tort_dim_known(w->dims[1])) {
        if (__builtin_mul_overflow(w->dims[1], group, &dims[1]))
            return tort_fail(infer->error, TORT_E_MODEL, "W gives %" PRId64 " channels in each of %" PRId64 " groups",
                             w->dims[1], group);
    }
    status = check_bias(infer, dims[1]);
    for (int32_t i = 0; i < window.axes && !status; i++) {
        tort_dim input = x->rank >= 0 ? x->dims[i + 2] : tort_dim_fresh(infer->dims, true);
        status = output_dim(infer, &window, &sizes, i, input, &dims[i + 2]);
    }
    if (!status) tort_infer_shape(infer, 0, x->type, rank, dims);
    return status;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Computes the padding for output_shape or SAME_*; a negative total becomes 0, and outputs that no input reaches get
 * the bias alone. */
static void place_padding(tort_sliding *window, const transpose_sizes *sizes) {
    if (!sizes->shape_given && !tort_sliding_is_same(window)) return;
    for (int32_t i = 0; i < window->axes; i++) {
        if (window->input[i] < 0 || window->output[i] < 0 || window->kernel[i] < 0) continue;
        int64_t total = (window->input[i] - 1) * window->strides[i] + sizes->padding[i] +
                        tort_sliding_extent(window, i) - window->output[i];
        if (total < 0) total = 0;
        window->begin[i] = window->auto_pad == TORT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        window->end[i] = total - window->begin[i];
    }
}

tort_status tort_resolve_conv_transpose(tort_resolve *resolve) {
    tort_conv_params *params = resolve->params;
    const tort_info *x = &resolve->node->inputs[0], *w = &resolve->node->inputs[1];
    const int32_t rank = x->rank >= 0 ? x->rank : w->rank;
    params->group = tort_attr_int(resolve->node, "group");
    params->batch = tort_known_dim(x, 0);
    params->channels = tort_known_dim(x, 1) >= 0 ? tort_known_dim(x, 1) : tort_known_dim(w, 0);
    params->filters = tort_known_dim(w, 1);
    if (params->filters >= 0 && __builtin_mul_overflow(params->filters, params->group, &params->filters))
        params->filters = -1;
    if (rank < 0) return TORT_OK;
    transpose_sizes sizes;
    tort_sliding *window = &params->window;
    tort_status status = read_node(resolve->node, rank, window, &sizes, resolve->error);
    if (status) return status;
    const tort_auto_pad auto_pad = window->auto_pad;
    window->auto_pad = TORT_PAD_NOTSET; /* tort_sliding_place would compute the padding of Conv */
    tort_sliding_place(resolve->node, window);
    window->auto_pad = auto_pad;
    place_padding(window, &sizes);
    if (!tort_widen_scratch(resolve->node, TORT_CONV_PADS + 2, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    return TORT_OK;
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

/* Finds the input row that reaches the output row at `out` through kernel row k_row; false: none. */
static bool source_row(const tort_sliding *window, const int64_t *out, int64_t k_row, int64_t *in_row) {
    int64_t k[TORT_MAX_SPATIAL];
    tort_sliding_coordinates(window, window->kernel, k_row, k);
    *in_row = 0;
    for (int32_t i = 0; i + 1 < window->axes; i++) {
        const int64_t shifted = out[i] + window->begin[i] - k[i] * window->dilations[i];
        if (shifted < 0 || shifted % window->strides[i] != 0 || shifted / window->strides[i] >= window->input[i])
            return false;
        *in_row = *in_row * window->input[i] + shifted / window->strides[i];
    }
    return true;
}

void tort_conv_transpose_row(const tort_conv_loop *loop, int64_t n, int64_t m, const int64_t *out, int64_t first,
                             int64_t last, double *acc) {
    const tort_conv_params *p = loop->params;
    const tort_sliding *window = &p->window;
    const int32_t x = window->axes - 1;
    const int64_t kernel = window->kernel[x], input = window->input[x], stride = window->strides[x];
    const int64_t channels = p->channels / p->group, filters = p->filters / p->group, group = m / filters;
    const double bias = tort_conv_bias(loop, m);
    int64_t done = 0;
    for (int64_t i = first; i < last; i++) acc[i - first] = bias;
    for (int64_t k_row = 0; k_row < loop->kernel_rows; k_row++) {
        int64_t in_row;
        if (!tort_work_goes_on(loop->call->watch, &done, 8)) return;
        if (!source_row(window, out, k_row, &in_row)) continue;
        for (int64_t k = 0; k < kernel; k++) {
            const int64_t shift = k * window->dilations[x] - window->begin[x];
            if (!tort_work_goes_on(loop->call->watch, &done, 8)) return;
            const int64_t from = tort_sliding_first_at(first - shift, stride);
            int64_t to = tort_sliding_first_at(last - shift, stride);
            if (to > input) to = input;
            if (to <= from) continue;
            for (int64_t c = group * channels; c < (group + 1) * channels; c++) {
                if (!tort_work_goes_on(loop->call->watch, &done, 8 + to - from)) return;
                const int64_t weight = ((c * filters + m % filters) * loop->kernel_rows + k_row) * kernel + k;
                const int64_t row = (n * p->channels + c) * loop->input_rows + in_row;
                tort_sliding_add(loop->type, acc + (from * stride + shift - first), stride, loop->data[0],
                                 row * input + from, 1, tort_wide_element(loop->type, loop->data[1], weight),
                                 to - from);
            }
        }
    }
}

static tort_status run_conv_transpose(const tort_call *call) {
    return tort_conv_run(call, tort_conv_transpose_row);
}

static tort_status run_dynamic_pads(const tort_call *call) {
    tort_tensor inputs[3];
    const tort_call plain = tort_conv_without_pads(call, inputs);
    return tort_conv_run(&plain, tort_conv_transpose_row);
}

#define CONV_TRANSPOSE(since_, until_, types_)                                                                         \
    {                                                                                                                  \
        "", "ConvTranspose", since_, until_, "X:T W:T B?:T", "Y:T", types_,                                            \
            "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints output_padding:ints "                 \
            "output_shape:ints pads:ints strides:ints",                                                                \
            .params_size = sizeof(tort_conv_params), tort_infer_conv_transpose, tort_resolve_conv_transpose,           \
            run_conv_transpose                                                                                         \
    }

const tort_op tort_ops_conv_transpose[] = {
    CONV_TRANSPOSE(1, 10, "T=floats"),
    CONV_TRANSPOSE(11, 21, "T=floats"),
    CONV_TRANSPOSE(22, TORT_NEWEST_OPSET, "T=floats13"),
    {"com.microsoft", "ConvTransposeWithDynamicPads", 1, 1, "X:T W:T Pads?:int64 B?:T", "Y:T", "T=floats",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints output_padding:ints "
     "strides:ints",
     .shape_inputs = 1u << TORT_CONV_PADS, .params_size = sizeof(tort_conv_params), tort_infer_conv_transpose,
     tort_resolve_conv_transpose, run_dynamic_pads},
    {0},
};
