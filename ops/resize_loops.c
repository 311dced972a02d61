/* resize_loops.c - the plain loops of Resize. Interpolation is separable: an output row is a weighted sum of input
 * rows, and then of the elements of that sum. Computed in double; integers are rounded to nearest and saturate. */
#include "ops/resize.h"

#include "ops/numeric.h"
#include "ops/strided.h"

#include <math.h>
#include <string.h>

/* ---- rows and scratch -------------------------------------------------------------------------------------------- */

/* Number of workers that share the rows, each with its own buffer in scratch. */
static int64_t worker_count(int64_t rows) {
    return rows < 64 ? rows : 64;
}

/* Last axis that is resized; one behind it is copied along in runs. 0 if none is. */
static int32_t row_axis(const tort_resize_params *params) {
    int32_t axis = params->rank - 1;
    return axis > 0 && params->axes[axis].identity ? axis - 1 : axis;
}

static int64_t row_count(const tort_resize_params *params) {
    int64_t rows = 1;
    for (int32_t d = 0; d < row_axis(params); d++) rows *= params->axes[d].out;
    return rows;
}

static int64_t inner_count(const tort_resize_params *params) {
    int32_t axis = row_axis(params);
    return axis + 1 < params->rank ? params->axes[axis + 1].in : 1;
}

tort_status tort_resize_scratch(tort_resolve *resolve, const tort_resize_params *params) {
    size_t total = 0, bytes;
    for (int32_t d = 0; d < params->rank; d++) {
        const tort_resize_axis *axis = &params->axes[d];
        if (!tort_mul_size((uint64_t)axis->out, (uint64_t)axis->taps, &bytes) ||
            !tort_mul_size(bytes, sizeof(int64_t) + sizeof(double), &bytes) || !tort_add_size(total, bytes, &total))
            return tort_fail(resolve->error, TORT_E_MEMORY, "the tables for axis %d do not fit in memory", d);
    }
    int64_t row = params->axes[row_axis(params)].in * inner_count(params);
    if (!tort_mul_size((uint64_t)row, (uint64_t)worker_count(row_count(params)) * sizeof(double), &bytes) ||
        !tort_add_size(total, bytes, &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "rows of %lld elements do not fit in memory", (long long)row);
    return TORT_OK;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* Taps of all output coordinates of one axis. */
typedef struct resize_table {
    int64_t *indices; /* [out, taps]; the first is -1 where the coordinate is outside */
    double *weights;
} resize_table;

typedef struct resize_task {
    const tort_call *call;
    const tort_resize_params *params;
    resize_table tables[TORT_MAX_RANK];
    double *rows; /* a buffer of row_length for each worker */
    int64_t row_length, row_count, workers, inner;
    int32_t row_axis;
    int64_t strides[TORT_MAX_RANK]; /* input strides of the axes before row_axis */
} resize_task;

static void build_task(const tort_call *call, resize_task *task) {
    const tort_resize_params *params = call->params;
    *task = (resize_task){.call = call, .params = params, .row_axis = row_axis(params), .inner = inner_count(params)};
    char *scratch = call->scratch;
    for (int32_t d = 0; d < params->rank; d++) {
        const tort_resize_axis *axis = &params->axes[d];
        size_t count = (size_t)(axis->out * axis->taps);
        task->tables[d].indices = (int64_t *)(void *)scratch;
        task->tables[d].weights = (double *)(void *)(scratch + count * sizeof(int64_t));
        scratch += count * (sizeof(int64_t) + sizeof(double));
        for (int64_t o = 0; o < axis->out; o++) {
            int64_t *indices = task->tables[d].indices + o * axis->taps;
            if (!tort_resize_taps(params, axis, o, indices, task->tables[d].weights + o * axis->taps)) indices[0] = -1;
        }
    }
    task->rows = (double *)(void *)scratch;
    task->row_length = params->axes[task->row_axis].in * task->inner;
    task->row_count = row_count(params);
    task->workers = worker_count(task->row_count);
    int64_t stride = task->row_length;
    for (int32_t d = task->row_axis - 1; d >= 0; d--) {
        task->strides[d] = stride;
        stride *= params->axes[d].in;
    }
}

/* Output coordinates of a row along the axes before its own. */
static void row_coordinates(const resize_task *task, int64_t row, int64_t *coordinates) {
    for (int32_t d = task->row_axis - 1; d >= 0; d--) {
        coordinates[d] = row % task->params->axes[d].out;
        row /= task->params->axes[d].out;
    }
}

/* Computes the weighted sum of the input rows of an output row. False if the row is outside. */
static bool sum_rows(const resize_task *task, const int64_t *coordinates, double *sum) {
    const tort_tensor *input = &task->call->inputs[0];
    int64_t taps[TORT_MAX_RANK] = {0}, done = 0;
    double x[TORT_BLOCK];
    for (int32_t d = 0; d < task->row_axis; d++)
        if (task->tables[d].indices[coordinates[d] * task->params->axes[d].taps] < 0) return false;
    for (int64_t i = 0; i < task->row_length; i++) sum[i] = 0;
    for (;;) {
        int64_t from = 0;
        double weight = 1;
        for (int32_t d = 0; d < task->row_axis; d++) {
            int64_t entry = coordinates[d] * task->params->axes[d].taps + taps[d];
            from += task->tables[d].indices[entry] * task->strides[d];
            weight *= task->tables[d].weights[entry];
        }
        for (int64_t first = 0; weight != 0 && first < task->row_length; first += TORT_BLOCK) {
            int64_t count = tort_block_count(task->row_length, first);
            if (!tort_work_goes_on(task->call->watch, &done, count)) return false;
            tort_load_doubles(input->type, input->data, from + first, count, x);
            for (int64_t i = 0; i < count; i++) sum[first + i] += weight * x[i];
        }
        int32_t d = task->row_axis - 1;
        while (d >= 0 && ++taps[d] == task->params->axes[d].taps) taps[d--] = 0;
        if (d < 0) return true;
    }
}

/* Rounds to the nearest integer within low .. high, which are less than 2^50; NaN becomes low. Adding 1.5 * 2^52 leaves
 * no digits behind the point: a loop of it needs no calls. */
static void round_narrow(double *part, int64_t count, double low, double high) {
    for (int64_t i = 0; i < count; i++) {
        double value = part[i] > low ? part[i] : low;
        value = value < high ? value : high;
        part[i] = value + 0x1.8p52 - 0x1.8p52;
    }
}

/* Stores part of a row; integers are rounded to nearest and saturate. */
static void store_part(const tort_tensor *output, int64_t first, int64_t count, double *part) {
    if (!tort_type_is_float(output->type)) {
        int bits = output->type == TORT_BOOL ? 1 : tort_type_bits(output->type);
        bool is_signed = tort_type_is_signed(output->type);
        double low = is_signed ? -ldexp(1, bits - 1) : 0;
        double high = nextafter(ldexp(1, is_signed ? bits - 1 : bits), 0);
        if (bits <= 32)
            round_narrow(part, count, low, floor(high));
        else
            for (int64_t i = 0; i < count; i++) part[i] = fmin(fmax(nearbyint(part[i]), low), high);
    }
    tort_store_doubles(output->type, output->data, first, count, part);
}

/* Computes elements first .. first+count-1 of an output row from the sum of input rows. */
static void interpolate_part(const resize_task *task, const double *sum, int64_t first, int64_t count, double *part) {
    const resize_table *table = &task->tables[task->row_axis];
    const int64_t taps = task->params->axes[task->row_axis].taps, inner = task->inner;
    int64_t at = first / inner, behind = first % inner; /* the output coordinate, and the element of its run */
    for (int64_t i = 0; i < count; i++, behind++) {
        if (behind == inner) {
            behind = 0;
            at++;
        }
        const int64_t *indices = table->indices + at * taps;
        const double *weights = table->weights + at * taps;
        double value = 0;
        part[i] = task->params->extrapolation;
        if (indices[0] < 0) continue;
        for (int64_t t = 0; t < taps; t++) value += weights[t] * sum[indices[t] * inner + behind];
        part[i] = value;
    }
}

static void interpolate_row(const resize_task *task, int64_t row, double *sum) {
    const int64_t length = task->params->axes[task->row_axis].out * task->inner;
    int64_t coordinates[TORT_MAX_RANK];
    double part[TORT_BLOCK];
    row_coordinates(task, row, coordinates);
    bool inside = sum_rows(task, coordinates, sum);
    const int64_t taps = task->params->axes[task->row_axis].taps;
    for (int64_t first = 0, done = 0; first < length; first += TORT_BLOCK) {
        int64_t count = tort_block_count(length, first);
        if (!tort_work_goes_on(task->call->watch, &done, count * taps)) return;
        if (inside) interpolate_part(task, sum, first, count, part);
        for (int64_t i = 0; i < count && !inside; i++) part[i] = task->params->extrapolation;
        store_part(&task->call->outputs[0], row * length + first, count, part);
    }
}

static void interpolate_rows(void *arg, int64_t begin, int64_t end) {
    const resize_task *task = arg;
    for (int64_t worker = begin; worker < end; worker++)
        for (int64_t row = worker; row < task->row_count && tort_call_goes_on(task->call, 0); row += task->workers)
            interpolate_row(task, row, task->rows + worker * task->row_length);
}

/* to[i] = from[indices[i]], elements of `size` bytes. */
static void copy_indexed(char *to, const char *from, const int64_t *indices, int64_t count, size_t size) {
#define COPY(type)                                                                                                     \
    for (int64_t i = 0; i < count; i++) ((type *)(void *)to)[i] = ((const type *)(const void *)from)[indices[i]]
    switch (size) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    case 8: COPY(uint64_t); break;
    default: COPY(tort_string); break;
    }
#undef COPY
}

/* Fills a row that may have elements outside of the input, or whose elements are runs. */
static void nearest_runs(const resize_task *task, int64_t row, bool inside, const char *from) {
    const tort_tensor *output = &task->call->outputs[0];
    const int64_t length = task->params->axes[task->row_axis].out, *indices = task->tables[task->row_axis].indices;
    const size_t bytes = (size_t)task->inner * (size_t)tort_type_bits(output->type) / 8;
    for (int64_t o = 0; o < length; o++) {
        const int64_t first = (row * length + o) * task->inner;
        if (inside && indices[o] >= 0) {
            memcpy((char *)output->data + (size_t)(row * length + o) * bytes, from + (size_t)indices[o] * bytes, bytes);
            continue;
        }
        for (int64_t i = 0; i < task->inner; i++) {
            double value = task->params->extrapolation;
            store_part(output, first + i, 1, &value);
        }
    }
}

static void nearest_rows(void *arg, int64_t begin, int64_t end) {
    const resize_task *task = arg;
    const tort_resize_axis *axis = &task->params->axes[task->row_axis];
    const tort_tensor *output = &task->call->outputs[0];
    const size_t size = (size_t)tort_type_bits(output->type) / 8;
    const bool plain = task->inner == 1 && task->params->transform != TORT_RESIZE_TF_CROP_AND_RESIZE;
    int64_t coordinates[TORT_MAX_RANK];
    for (int64_t row = begin; row < end; row++) {
        int64_t from = 0;
        bool inside = true;
        row_coordinates(task, row, coordinates);
        for (int32_t d = 0; d < task->row_axis && inside; d++) {
            int64_t index = task->tables[d].indices[coordinates[d]];
            inside = index >= 0;
            if (inside) from += index * task->strides[d];
        }
        const char *source = (const char *)task->call->inputs[0].data + (size_t)from * size;
        if (plain)
            copy_indexed((char *)output->data + (size_t)(row * axis->out) * size, source,
                         task->tables[task->row_axis].indices, axis->out, size);
        else
            nearest_runs(task, row, inside, source);
    }
}

tort_status tort_resize_reference(const tort_call *call) {
    const tort_resize_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    resize_task task;
    if (tort_count(output) == 0) return TORT_OK;
    if (params->rank == 0) {
        if (output->rank > 0) return tort_fail(call->error, TORT_E_INTERNAL, "scales or sizes were not known in time");
        tort_fill_tensor(call, output, call->inputs[0].data, 1);
        return TORT_OK;
    }
    build_task(call, &task);
    int64_t row_work = (task.row_length + params->axes[task.row_axis].out * task.inner) * 2;
    if (params->mode == TORT_RESIZE_NEAREST)
        tort_parallel(call, task.row_count, row_work, nearest_rows, &task);
    else
        tort_parallel(call, task.workers, row_work * 4 * (task.row_count / task.workers), interpolate_rows, &task);
    return TORT_OK;
}
