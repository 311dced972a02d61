/* sliding.c - the geometry of sliding windows: attributes, output sizes, the positions that a window sees.
 *
 * Every number is checked when it is read, so that later arithmetic cannot overflow: kernel, strides, dilations and
 * pads stay below 2^31, inputs below 2^62. Read next: sliding.h. */
#include "ops/sliding.h"

#include <inttypes.h>
#include <string.h>

#define MAX_INPUT ((int64_t)1 << 62)

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static tort_status read_pads(const tort_node_view *node, tort_sliding *sliding, tort_error *error) {
    int64_t pads[2 * TORT_MAX_SPATIAL];
    const int32_t axes = sliding->axes;
    tort_status status = tort_read_sizes(node, "pads", 2 * axes, -INT32_MAX, 0, pads, error);
    for (int32_t i = 0; i < axes && !status && sliding->auto_pad == TORT_PAD_NOTSET; i++) {
        sliding->begin[i] = pads[i];
        sliding->end[i] = pads[i + axes];
    }
    return status;
}

static tort_status read_auto_pad(const tort_node_view *node, tort_auto_pad *out, tort_error *error) {
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const char *text = tort_attr_string(node, "auto_pad");
    *out = TORT_PAD_NOTSET;
    if (text[0] == '\0') return TORT_OK;
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (tort_auto_pad)i;
            return TORT_OK;
        }
    return tort_fail(error, TORT_E_MODEL,
                     "attribute auto_pad is '%.40s', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
}

tort_status tort_sliding_read(const tort_node_view *node, int32_t axes, tort_sliding *sliding, tort_error *error) {
    memset(sliding, 0, sizeof *sliding);
    if (axes < 1 || axes > TORT_MAX_SPATIAL)
        return tort_fail(error, TORT_E_MODEL,
                         "the input has rank %d, expected 3 to %d: batch, channels and at least "
                         "one spatial axis",
                         (int)axes + 2, TORT_MAX_RANK);
    sliding->axes = axes;
    sliding->ceil_mode = tort_attr_int(node, "ceil_mode") != 0;
    tort_status status = read_auto_pad(node, &sliding->auto_pad, error);
    if (!status) status = tort_read_sizes(node, "kernel_shape", axes, 1, -1, sliding->kernel, error);
    if (!status) status = tort_read_sizes(node, "strides", axes, 1, 1, sliding->strides, error);
    if (!status) status = tort_read_sizes(node, "dilations", axes, 1, 1, sliding->dilations, error);
    if (!status) status = read_pads(node, sliding, error);
    for (int32_t i = 0; i < axes; i++) sliding->input[i] = sliding->output[i] = -1;
    return status;
}

tort_status tort_sliding_kernel(tort_sliding *sliding, const tort_dim *dims, tort_error *error) {
    for (int32_t i = 0; i < sliding->axes; i++) {
        if (!tort_dim_known(dims[i])) continue;
        if (sliding->kernel[i] >= 0 && sliding->kernel[i] != dims[i])
            return tort_fail(error, TORT_E_MODEL,
                             "attribute kernel_shape[%d] is %" PRId64 ", the weights have %" PRId64 " there", (int)i,
                             sliding->kernel[i], dims[i]);
        if (dims[i] < 1 || dims[i] > INT32_MAX)
            return tort_fail(error, TORT_E_MODEL,
                             "the weights have size %" PRId64 " along spatial axis %d, expected "
                             "1 to 2147483647",
                             dims[i], (int)i);
        sliding->kernel[i] = dims[i];
    }
    return TORT_OK;
}

/* ---- output sizes ------------------------------------------------------------------------------------------------ */

static tort_status known_output(const tort_sliding *sliding, int32_t axis, int64_t input, int64_t *output,
                                tort_error *error) {
    const int64_t stride = sliding->strides[axis], extent = tort_sliding_extent(sliding, axis);
    if (input > MAX_INPUT)
        return tort_fail(error, TORT_E_MODEL, "the input has %" PRId64 " elements along spatial axis %d", input,
                         (int)axis);
    const int64_t room = input + sliding->begin[axis] + sliding->end[axis] - extent;
    int64_t steps = room / stride;
    if (sliding->ceil_mode && room > 0 && room % stride != 0) steps++;
    /* Windows that would start in the padding behind the input are dropped: the standard says so since version 22, but
     * means it before (version 12 points to PyTorch's rule); such a window has no maximum. */
    if (sliding->ceil_mode && steps * stride >= input + sliding->begin[axis]) steps--;
    const bool fits = sliding->ceil_mode ? room > -stride && steps >= 0 : room >= 0;
    /* The standard's formula gives 0 for windows that are up to a stride too large: the output is empty. */
    const bool empty = room >= (sliding->ceil_mode ? 1 - 2 * stride : -stride);
    if (!fits && !empty && input > 0)
        return tort_fail(error, TORT_E_MODEL,
                         "the window spans %" PRId64 " elements along spatial axis %d, more than the padded input's "
                         "%" PRId64,
                         extent, (int)axis, room + extent);
    *output = fits ? steps + 1 : 0;
    return TORT_OK;
}

tort_status tort_sliding_output(const tort_infer *infer, const tort_sliding *sliding, int32_t axis, tort_dim input,
                                tort_dim *output) {
    tort_dims *dims = infer->dims;
    const int64_t stride = sliding->strides[axis];
    if (tort_sliding_is_same(sliding)) {
        *output = tort_dim_ceildiv(dims, input, stride);
        return TORT_OK;
    }
    if (sliding->kernel[axis] < 0) {
        *output = tort_dim_fresh(dims, tort_dim_dynamic(dims, input));
        return TORT_OK;
    }
    if (tort_dim_known(input)) return known_output(sliding, axis, input, output, infer->error);
    const int64_t padding = sliding->begin[axis] + sliding->end[axis];
    const tort_dim room = tort_dim_add_const(dims, input, padding - tort_sliding_extent(sliding, axis));
    tort_dim steps = sliding->ceil_mode ? tort_dim_ceildiv(dims, room, stride) : tort_dim_floordiv(dims, room, stride);
    *output = tort_dim_add_const(dims, steps, 1);
    if (sliding->ceil_mode)
        *output = tort_dim_min(dims, *output,
                               tort_dim_ceildiv(dims, tort_dim_add_const(dims, input, sliding->begin[axis]), stride));
    return TORT_OK;
}

void tort_sliding_place(const tort_node_view *node, tort_sliding *sliding) {
    for (int32_t i = 0; i < sliding->axes; i++) {
        sliding->input[i] = tort_known_dim(&node->inputs[0], i + 2);
        sliding->output[i] = tort_known_dim(&node->outputs[0], i + 2);
        if (!tort_sliding_is_same(sliding) || sliding->input[i] < 0 || sliding->output[i] < 0 || sliding->kernel[i] < 0)
            continue;
        int64_t total =
            (sliding->output[i] - 1) * sliding->strides[i] + tort_sliding_extent(sliding, i) - sliding->input[i];
        if (total < 0) total = 0;
        sliding->begin[i] = sliding->auto_pad == TORT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        sliding->end[i] = total - sliding->begin[i];
    }
}

/* ---- plain loops ------------------------------------------------------------------------------------------------- */

int64_t tort_sliding_rows(const tort_sliding *sliding, const int64_t *sizes) {
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < sliding->axes; i++) rows *= sizes[i];
    return rows;
}

void tort_sliding_coordinates(const tort_sliding *sliding, const int64_t *sizes, int64_t row, int64_t *coordinates) {
    for (int32_t i = sliding->axes - 2; i >= 0; i--) {
        coordinates[i] = row % sizes[i];
        row /= sizes[i];
    }
}

void tort_sliding_reach(const tort_sliding *sliding, int32_t axis, int64_t first, int64_t last, int64_t *from,
                        int64_t *to) {
    const int64_t stride = sliding->strides[axis], step = sliding->dilations[axis], begin = sliding->begin[axis];
    *from = tort_sliding_first_at(begin - (last - 1) * stride, step);
    *to = tort_sliding_first_at(sliding->input[axis] + begin - first * stride, step);
    if (*to > sliding->kernel[axis]) *to = sliding->kernel[axis];
}

bool tort_sliding_walk_begin(const tort_sliding *sliding, const int64_t *out, tort_sliding_walk *walk) {
    for (int32_t i = 0; i + 1 < sliding->axes; i++) {
        tort_sliding_reach(sliding, i, out[i], out[i] + 1, &walk->from[i], &walk->to[i]);
        if (walk->from[i] >= walk->to[i]) return false;
        walk->at[i] = walk->from[i];
    }
    return true;
}

bool tort_sliding_walk_next(const tort_sliding *sliding, tort_sliding_walk *walk) {
    for (int32_t i = sliding->axes - 2; i >= 0; i--) {
        if (++walk->at[i] < walk->to[i]) return true;
        walk->at[i] = walk->from[i];
    }
    return false;
}

int64_t tort_sliding_input_row(const tort_sliding *sliding, const int64_t *out, const tort_sliding_walk *walk) {
    int64_t row = 0;
    for (int32_t i = 0; i + 1 < sliding->axes; i++)
        row = row * sliding->input[i] + out[i] * sliding->strides[i] + walk->at[i] * sliding->dilations[i] -
              sliding->begin[i];
    return row;
}

int64_t tort_sliding_kernel_row(const tort_sliding *sliding, const tort_sliding_walk *walk) {
    int64_t row = 0;
    for (int32_t i = 0; i + 1 < sliding->axes; i++) row = row * sliding->kernel[i] + walk->at[i];
    return row;
}

int64_t tort_sliding_row_cost(const tort_sliding *sliding, int64_t each) {
    int64_t cost = each;
    for (int32_t i = 0; i < sliding->axes; i++) {
        const int64_t seen = sliding->kernel[i] < sliding->input[i] ? sliding->kernel[i] : sliding->input[i];
        if (__builtin_mul_overflow(cost, seen, &cost)) return INT64_MAX / 2;
    }
    if (__builtin_mul_overflow(cost, sliding->output[sliding->axes - 1], &cost)) return INT64_MAX / 2;
    return cost + 1;
}

void tort_sliding_span(const tort_sliding *sliding, int64_t k, int64_t first, int64_t last, int64_t *from,
                       int64_t *to) {
    const int32_t x = sliding->axes - 1;
    const int64_t stride = sliding->strides[x], shift = sliding->begin[x] - k * sliding->dilations[x];
    /* Smallest output with output * stride >= shift, and with output * stride >= input + shift. */
    const int64_t low = tort_sliding_first_at(shift, stride),
                  high = tort_sliding_first_at(sliding->input[x] + shift, stride);
    *from = low > first ? low : first;
    *to = high < last ? high : last;
    if (*to < *from) *to = *from;
}

#define ADD_PRODUCTS(T, name)                                                                                          \
    static void add_##name(double *acc, int64_t acc_step, const T *in, int64_t in_step, double weight,                 \
                           int64_t count) {                                                                            \
        if (acc_step == 1 && in_step == 1)                                                                             \
            for (int64_t i = 0; i < count; i++) acc[i] += weight * (double)in[i];                                      \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++) acc[i * acc_step] += weight * (double)in[i * in_step];                 \
    }
ADD_PRODUCTS(float, float)
ADD_PRODUCTS(double, double)

void tort_sliding_add(tort_type type, double *acc, int64_t acc_step, const void *in, int64_t first, int64_t in_step,
                      double weight, int64_t count) {
    if (type == TORT_DOUBLE)
        add_double(acc, acc_step, (const double *)in + first, in_step, weight, count);
    else
        add_float(acc, acc_step, (const float *)in + first, in_step, weight, count);
}
