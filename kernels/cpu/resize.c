/* resize.c - Resize and Upsample of float along the last two axes: pictures.
 *
 * Interpolation is separable. Each row of the input is interpolated along itself once, into a ring of as many rows
 * as a row of the output needs, which is their weighted sum. If a shape that was unknown turns out to resize other
 * axes, the plain loop runs. Beside convolutions of blocks of channels (blocked.h), a pixel is the weighted sum of up
 * to four, as its channels lie together. Read next: ops/resize.h. */
#include "ops/resize.h"
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/pieces.h"
#include "ops/contents.h"
#include "runtime/core/base/memory.h"

#include <math.h>
#include <string.h>

#define PAD 64 /* floats behind a row of the ring that vectors may read */

/* ---- form -------------------------------------------------------------------------------------------------------- */

/* X as (planes, rows, columns); a missing axis has one element. */
typedef struct resize_form {
    int64_t planes;
    tort_resize_axis row, column;
} resize_form;

/* Finds the form; false if other axes change too. */
static bool find_form(const tort_resize_params *p, resize_form *form) {
    const tort_resize_axis none = {.in = 1, .out = 1, .identity = true, .scale = 1, .width = 1, .end = 1, .taps = 1};
    *form = (resize_form){.planes = 1, .row = none, .column = p->axes[p->rank - 1]};
    if (p->rank > 1) form->row = p->axes[p->rank - 2];
    for (int32_t d = 0; d < p->rank - 2; d++) {
        if (!p->axes[d].identity) return false;
        form->planes *= p->axes[d].in;
    }
    return form->row.taps > 0 && form->column.taps > 0;
}

static tort_verdict claim_resize(const tort_target *target, const tort_node_view *node) {
    const tort_resize_params *p = node->params;
    resize_form form;
    if (p->transform == TORT_RESIZE_TF_CROP_AND_RESIZE)
        return tort_no(TORT_NO_ATTR, "", "does not crop, coordinate_transformation_mode is tf_crop_and_resize");
    if (p->rank > 0 && !find_form(p, &form))
        return tort_no(TORT_NO_SHAPE, "", "changes the last two axes, others change too");
    return tort_cpu_claim_float(target, node);
}

enum { PLANES, BLOCKS }; /* variants */

/* A view that merges the rows of a picture with its channels is not of blocks. */
static bool is_of_pictures(const resize_form *form, const int64_t *dims) {
    return form->row.in == dims[2] && form->column.in == dims[3];
}

/* True if the form will be of pictures, whatever their sizes are: both of their axes change, others do not. */
static bool will_be_of_pictures(const tort_node_view *node) {
    const tort_resize_params *p = node->params;
    const tort_info *x = &node->inputs[0];
    resize_form form;
    tort_floats scales;
    tort_error error = {0};
    int32_t axes;
    if (p->rank > 0) return find_form(p, &form) && is_of_pictures(&form, x->dims);
    tort_attr_ints(node, "axes", &axes);
    if (axes > 0 || tort_read_floats(node, node->input_count == 2 ? 1 : 2, "scales", &scales, &error) ||
        scales.known != TORT_KNOWN || scales.count != 4)
        return false;
    return scales.values[0] == 1 && scales.values[1] == 1 && scales.values[2] != 1 && scales.values[3] != 1;
}

static tort_verdict claim_blocked(const tort_target *target, const tort_node_view *node) {
    const tort_resize_params *p = node->params;
    const tort_info *x = &node->inputs[0];
    if (x->rank != 4 || x->dims[1] < TORT_LANES)
        return tort_no(TORT_NO_SHAPE, "", "is for pictures of %d channels and more that are known", TORT_LANES);
    if (p->mode == TORT_RESIZE_CUBIC || p->antialias || p->transform == TORT_RESIZE_TF_HALF_PIXEL_FOR_NN)
        return tort_no(TORT_NO_ATTR, "", "is for modes nearest and linear without antialias");
    if (!will_be_of_pictures(node))
        return tort_no(TORT_NO_DYNAMIC, "", "is for height and width alone, by scales or sizes that are known");
    return claim_resize(target, node);
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

/* Interpolation along an axis: `taps` indices and weights per output coordinate. */
typedef struct resize_table {
    int64_t taps;
    int32_t *indices;
    float *weights;
} resize_table;

static bool reserve_table(const tort_resize_axis *axis, size_t *bytes) {
    size_t count;
    return axis->in <= INT32_MAX && tort_mul_size((uint64_t)axis->out, (uint64_t)axis->taps, &count) &&
           count <= PTRDIFF_MAX && tort_cpu_reserve_floats(bytes, (int64_t)count) &&
           tort_cpu_reserve_floats(bytes, (int64_t)count);
}

/* Computes the bytes of a thread's buffer: the ring, the weights and offsets of the rows that are summed, and the
 * rows held. */
static bool part_bytes(const resize_form *form, size_t *bytes) {
    size_t ring;
    const int64_t max = form->row.taps > form->column.taps ? form->row.taps : form->column.taps;
    *bytes = 0;
    return tort_add_size((uint64_t)form->column.out, PAD, &ring) &&
           tort_mul_size(ring, (uint64_t)form->row.taps, &ring) && ring <= PTRDIFF_MAX &&
           tort_cpu_reserve_floats(bytes, (int64_t)ring) && tort_cpu_reserve_floats(bytes, max) &&
           tort_cpu_reserve(bytes, (size_t)max * sizeof(int64_t)) &&
           tort_cpu_reserve(bytes, (size_t)max * sizeof(int64_t));
}

static bool reserve_all(const resize_form *form, int32_t threads, size_t *scratch) {
    size_t bytes;
    *scratch = 0;
    return reserve_table(&form->row, scratch) && reserve_table(&form->column, scratch) && part_bytes(form, &bytes) &&
           tort_mul_size(bytes, (uint64_t)threads, &bytes) && tort_cpu_reserve(scratch, bytes);
}

static tort_status size_resize(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_resize_params *p = node->params;
    tort_resolve plain = {.node = node, .error = error};
    resize_form form;
    *scratch = 0;
    if (p->rank == 0) return TORT_OK;
    tort_status status = tort_resize_scratch(&plain, p);
    if (!status && find_form(p, &form) && !reserve_all(&form, target->threads, scratch))
        status = tort_out_of_memory(error, SIZE_MAX);
    if (plain.scratch_bytes > *scratch) *scratch = plain.scratch_bytes;
    return status;
}

/* ---- along a row ------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void sum_taps(const resize_table *table, int64_t taps, const float *x,
                                                           float *y, int64_t count) {
    const int32_t *restrict indices = table->indices;
    const float *restrict weights = table->weights;
    for (int64_t i = 0; i < count; i++) {
        float sum = weights[i * taps] * x[indices[i * taps]];
        for (int64_t t = 1; t < taps; t++) sum += weights[i * taps + t] * x[indices[i * taps + t]];
        y[i] = sum;
    }
}

static void interpolate_row(const resize_table *table, const float *restrict x, float *restrict y, int64_t count) {
    switch (table->taps) {
    case 2: sum_taps(table, 2, x, y, count); break;
    case 4: sum_taps(table, 4, x, y, count); break;
    default: sum_taps(table, table->taps, x, y, count); break;
    }
}

static void copy_nearest(const resize_table *table, bool doubles, const float *restrict x, float *restrict y,
                         int64_t count) {
    const int32_t *restrict indices = table->indices;
    if (doubles)
        for (int64_t i = 0; i < count / 2; i++) y[2 * i] = y[2 * i + 1] = x[i];
    else
        for (int64_t i = 0; i < count; i++) y[i] = x[indices[i]];
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct resize_job {
    const tort_call *call;
    const tort_resize_params *p;
    const tort_simd *simd;
    resize_form form;
    resize_table row, column;
    bool doubles; /* nearest: each element of a row appears twice */
    const float *x;
    float *y;
    char *buffers;
    size_t part_bytes;
    int32_t parts;
} resize_job;

static resize_table take_table(char **scratch, const tort_resize_axis *axis) {
    const size_t bytes = (size_t)(axis->out * axis->taps) * sizeof(float);
    resize_table table = {.taps = axis->taps};
    table.indices = tort_cpu_take(scratch, bytes);
    table.weights = tort_cpu_take(scratch, bytes);
    return table;
}

/* Fills a table. indices and weights: room for the taps of one coordinate. */
static void fill_table(const resize_job *job, const tort_resize_axis *axis, const resize_table *table, int64_t *indices,
                       double *weights) {
    const int64_t work = tort_work(axis->taps, 16, 16);
    for (int64_t o = 0; o < axis->out && tort_piece_goes_on(job->call, o, work); o++) {
        tort_resize_taps(job->p, axis, o, indices, weights);
        for (int64_t t = 0; t < axis->taps; t++) {
            table->indices[o * axis->taps + t] = (int32_t)indices[t];
            table->weights[o * axis->taps + t] = (float)weights[t];
        }
    }
}

static bool doubles(const resize_job *job) {
    for (int64_t i = 0; i < job->form.column.out; i++)
        if (job->column.indices[i] != i / 2) return false;
    return job->form.column.out % 2 == 0;
}

/* Makes rows; a row with the same source as the one before it is copied from that. */
static void nearest_rows(const resize_job *job, int64_t first, int64_t last) {
    const int64_t height = job->form.row.out, width = job->form.column.out, in = job->form.column.in;
    const int64_t work = tort_work(width, 16, 1);
    const float *before = NULL;
    for (int64_t i = first; i < last && tort_piece_goes_on(job->call, i, work); i++) {
        const float *from = job->x + (i / height * job->form.row.in + job->row.indices[i % height]) * in;
        float *to = job->y + i * width;
        if (from == before)
            memcpy(to, to - width, (size_t)width * sizeof *to);
        else
            copy_nearest(&job->column, job->doubles, from, to, width);
        before = from;
    }
}

/* y = the weighted sum of the pixels at `at`, of two rows of a block. */
static inline void blend_pixel(const float *const *rows, const int32_t *at, const float *weights, int64_t taps,
                               float *restrict y) {
    for (int32_t lane = 0; lane < TORT_LANES; lane++) {
        float sum = 0;
        for (int64_t r = 0; r < 2; r++)
            for (int64_t t = 0; t < taps; t++) sum += weights[r * taps + t] * rows[r][at[t] * TORT_LANES + lane];
        y[lane] = sum;
    }
}

/* A row of outputs has two taps: if the height stayed, it would be merged with the channels. A column has one if the
 * width stays. */
static void blend_row(const resize_job *job, int64_t row, const float *x, float *y) {
    const int64_t width = job->form.column.in * TORT_LANES, taps = job->column.taps;
    const int32_t *down = job->row.indices + 2 * row;
    const float *rows[2] = {x + down[0] * width, x + down[1] * width};
    for (int64_t i = 0; i < job->form.column.out; i++, y += TORT_LANES) {
        const int32_t *at = job->column.indices + i * taps;
        float weights[4];
        for (int64_t r = 0; r < 2; r++)
            for (int64_t t = 0; t < taps; t++)
                weights[r * taps + t] = job->row.weights[2 * row + r] * job->column.weights[i * taps + t];
        if (taps == 2)
            blend_pixel(rows, at, weights, 2, y);
        else
            blend_pixel(rows, at, weights, 1, y);
    }
}

static void blocked_rows(const resize_job *job, int64_t first, int64_t last) {
    const int64_t height = job->form.row.out, width = job->form.column.out * TORT_LANES;
    const int64_t in = job->form.column.in * TORT_LANES, work = tort_work(width, 4, 4);
    for (int64_t i = first; i < last && tort_piece_goes_on(job->call, i, work); i++) {
        const float *x = job->x + i / height * job->form.row.in * in;
        float *y = job->y + i * width;
        if (job->p->mode != TORT_RESIZE_NEAREST) {
            blend_row(job, i % height, x, y);
            continue;
        }
        x += job->row.indices[i % height] * in;
        for (int64_t at = 0; at < job->form.column.out; at++, y += TORT_LANES)
            memcpy(y, x + job->column.indices[at] * TORT_LANES, TORT_LANES * sizeof *y);
    }
}

/* Ring of input rows: row i is in slot i modulo the taps. */
typedef struct row_ring {
    float *rows, *weights;
    int64_t *held, *offsets; /* held: row of the whole input per slot, -1: none; offsets: of the rows that are summed */
    int64_t stride;
} row_ring;

static void put_row(const resize_job *job, const row_ring *ring, int64_t slot, int64_t row) {
    const float *from = job->x + row * job->form.column.in;
    float *to = ring->rows + slot * ring->stride;
    if (ring->held[slot] == row) return;
    ring->held[slot] = row;
    if (job->form.column.identity)
        memcpy(to, from, (size_t)job->form.column.out * sizeof *to);
    else
        interpolate_row(&job->column, from, to, job->form.column.out);
}

static void interpolate_rows(const resize_job *job, const row_ring *ring, int64_t first, int64_t last) {
    const int64_t height = job->form.row.out, taps = job->row.taps;
    const int64_t row_work = tort_work(job->form.column.out, job->column.taps, 16),
                  work = tort_work(row_work, taps, 16);
    for (int64_t i = first; i < last && tort_piece_goes_on(job->call, i, work); i++) {
        const int64_t plane = i / height * job->form.row.in;
        tort_weighted sum = {.offsets = ring->offsets, .weights = ring->weights};
        tort_simd_bounds(NULL, &sum.bounds);
        for (int64_t t = 0; t < taps; t++) {
            if (work >> TORT_PIECE_BITS && !tort_piece_goes_on(job->call, t, row_work)) return;
            const int64_t at = i % height * taps + t, row = job->row.indices[at];
            if (job->row.weights[at] == 0) continue;
            put_row(job, ring, row % taps, plane + row);
            ring->offsets[sum.count] = row % taps * ring->stride;
            ring->weights[sum.count++] = job->row.weights[at];
        }
        job->simd->weighted_sum(&(tort_window_rows){.out = job->y + i * job->form.column.out,
                                                    .source = ring->rows,
                                                    .rows = 1,
                                                    .width = job->form.column.out},
                                &sum);
    }
}

static row_ring take_ring(const resize_job *job, char *buffer) {
    const int64_t taps = job->row.taps, max = taps > job->column.taps ? taps : job->column.taps;
    row_ring ring = {.stride = job->form.column.out + PAD};
    ring.rows = tort_cpu_take(&buffer, (size_t)(taps * ring.stride) * sizeof(float));
    ring.weights = tort_cpu_take(&buffer, (size_t)max * sizeof(float));
    ring.held = tort_cpu_take(&buffer, (size_t)max * sizeof(int64_t));
    ring.offsets = tort_cpu_take(&buffer, (size_t)max * sizeof(int64_t));
    return ring;
}

static void resize_parts(void *arg, int64_t begin, int64_t end) {
    const resize_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        const row_ring ring = take_ring(job, job->buffers + (size_t)part * job->part_bytes);
        int64_t first, last;
        tort_cpu_share(job->form.planes * job->form.row.out, 1, part, job->parts, &first, &last);
        for (int64_t t = 0; t < job->row.taps; t++) ring.held[t] = -1;
        if (job->call->kernel->variant == BLOCKS)
            blocked_rows(job, first, last);
        else if (job->p->mode == TORT_RESIZE_NEAREST)
            nearest_rows(job, first, last);
        else
            interpolate_rows(job, &ring, first, last);
    }
}

static tort_status run_resize(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const tort_resize_params *p = call->params;
    resize_job job = {
        .call = call, .p = p, .simd = device->simd, .x = call->inputs[0].data, .y = call->outputs[0].data};
    const int64_t count = tort_count(&call->outputs[0]);
    if (call->kernel->variant == BLOCKS) {
        const int64_t *dims = call->inputs[0].dims;
        if (count == 0) return TORT_OK;
        if (p->rank == 0 || !find_form(p, &job.form) || !is_of_pictures(&job.form, dims))
            return tort_fail(call->error, TORT_E_INTERNAL, "the sizes were not known in time");
        job.form.planes = dims[0] * tort_blocks(dims[1]);
    } else if (count == 0 || p->rank == 0 || !find_form(p, &job.form)) {
        return tort_resize_reference(call);
    }
    if (!part_bytes(&job.form, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    char *scratch = call->scratch;
    job.row = take_table(&scratch, &job.form.row);
    job.column = take_table(&scratch, &job.form.column);
    job.buffers = scratch;
    const row_ring ring = take_ring(&job, job.buffers);
    fill_table(&job, &job.form.row, &job.row, ring.held, (double *)(void *)ring.offsets);
    fill_table(&job, &job.form.column, &job.column, ring.held, (double *)(void *)ring.offsets);
    if (!tort_call_goes_on(call, 0)) return TORT_OK; /* the tables may be incomplete */
    job.doubles = doubles(&job);
    job.parts = count < 16 * 1024 ? 1 : device->threads; /* done before another thread would have started */
    tort_cpu_parts(call, job.parts, resize_parts, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_resize[] = {
    {"", "Resize", "resize_blocked", .claim = claim_blocked, .size = size_resize, .run = run_resize, .variant = BLOCKS,
     .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1, .follows = true, .enlarges = true}},
    {"", "Upsample", "resize_blocked", .claim = claim_blocked, .size = size_resize, .run = run_resize,
     .variant = BLOCKS, .layout = {TORT_BLOCKED, .inputs = 1, .outputs = 1, .follows = true, .enlarges = true}},
    {"", "Resize", "resize_rows", .claim = claim_resize, .size = size_resize, .run = run_resize},
    {"", "Upsample", "resize_rows", .claim = claim_resize, .size = size_resize, .run = run_resize},
    {.op = NULL},
};
