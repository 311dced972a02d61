/* byte_conv.c - ConvInteger and QLinearConv as a product of bytes, without a stored im2col matrix.
 *
 * Weights (filters, k) are the rows, packed ahead; outputs are the columns. X becomes words of four channels, each
 * of which moves as one element: either planes as in planes.h, from which panels are assembled, or, if each window
 * sees a single element, the panels directly from the channels. k counts words first by their four channels, then by
 * kernel position.
 * Read next: byte_gemm.h, planes.h, byte_depthwise.c; ops/integer_conv.c for the meaning. */
#include "kernels/cpu/byte_conv.h"

#include "kernels/cpu/byte_planes.h"
#include "ops/integer_conv.h"

#include <string.h>

enum { QLINEAR_CONV, CONV_INTEGER }; /* the variants of the rows */

static const tort_byte_conv_inputs conv_integer_inputs = {.x_zero = 2, .w = 1, .w_zero = 3, .w_scale = -1};
const tort_byte_conv_inputs tort_qlinear_conv_inputs = {.x_zero = 2, .w = 3, .w_zero = 5, .w_scale = 4};

static const tort_byte_conv_inputs *inputs_of(const tort_kernel *kernel) {
    return kernel->variant == CONV_INTEGER ? &conv_integer_inputs : &tort_qlinear_conv_inputs;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_byte_conv_inputs *in = inputs_of(node->kernel);
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (!node->inputs[in->w].constant) return tort_no(TORT_NO_DYNAMIC, "", "W must be constant");
    return tort_byte_claim(target, node, 0, in->w);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

typedef struct shape {
    int64_t filters, per_group, quads, positions, k; /* per group; k: bytes as stored */
} shape;

static shape shape_of(const tort_conv_params *p) {
    shape s = {.filters = p->filters / p->group,
               .per_group = p->channels / p->group,
               .positions = tort_sliding_positions(&p->window)};
    s.quads = (s.per_group + 3) / 4;
    s.k = 4 * s.quads * s.positions;
    return s;
}

/* Returns the bytes of the packed weights of a group. `packed` has all groups, then a panel with a row of ones. */
static int64_t group_size(const tort_bytes *bytes, const shape *s) {
    return (tort_packed_byte_rows_size(bytes, s->filters, s->k) + 63) / 64 * 64;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_byte_conv_inputs *in = inputs_of(node->kernel);
    const tort_conv_params *p = node->params;
    const tort_bytes *table = tort_bytes_choose(target->instructions);
    const shape s = shape_of(p);
    const int64_t group = tort_packed_byte_rows_size(table, s.filters, s.k) < 0 ? -1 : group_size(table, &s);
    int64_t total;
    if (group < 0 || __builtin_mul_overflow(group, p->group, &total) || __builtin_add_overflow(total, group, &total))
        return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)total;
    *consumed = 1u << in->w;
    return TORT_OK;
}

/* Reorders filters from [channel][position] to [four channels][position][4]. */
static void reorder(struct tort_watch *watch, const shape *s, const uint8_t *weights, uint8_t *rows, uint8_t nothing) {
    int64_t done = 0;
    for (int64_t f = 0; f < s->filters; f++)
        for (int64_t c = 0; c < 4 * s->quads && tort_work_goes_on(watch, &done, s->positions); c++)
            for (int64_t j = 0; j < s->positions && tort_row_goes_on(watch, j); j++)
                rows[f * s->k + (c / 4 * s->positions + j) * 4 + c % 4] =
                    c < s->per_group ? weights[(f * s->per_group + c) * s->positions + j] : nothing;
}

static void pack_group(const tort_prepare *prepare, const shape *s, tort_byte_sign sign, const uint8_t *weights,
                       uint8_t *rows, uint8_t *packed) {
    const tort_cpu_device *device = prepare->device;
    const tort_byte_matrix matrix = {.data = rows, .line_stride = s->k, .k_stride = 1, .sign = sign};
    reorder(prepare->watch, s, weights, rows, sign.flip);
    tort_pack_byte_rows(prepare->watch, device->simd, device->bytes, packed, &matrix, s->filters, s->k);
}

static tort_status prepare_weights(tort_prepare *prepare) {
    const tort_byte_conv_inputs *in = inputs_of(prepare->node->kernel);
    const tort_conv_params *p = prepare->node->params;
    const tort_cpu_device *device = prepare->device;
    const tort_info *w = &prepare->node->inputs[in->w];
    const shape s = shape_of(p);
    if (!w->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    const size_t bytes = (size_t)(s.filters * s.k) + (size_t)s.per_group * (size_t)s.positions + 1;
    uint8_t *rows = tort_alloc(prepare->env, bytes), *packed = prepare->packed;
    if (!rows) return tort_out_of_memory(prepare->error, bytes);
    const tort_byte_sign sign = tort_byte_sign_of(device->bytes, w->type, true), as_it_is = {.is_signed = true};
    for (int64_t g = 0; g < p->group && tort_goes_on(prepare->watch, 0); g++, packed += group_size(device->bytes, &s))
        pack_group(prepare, &s, sign, (const uint8_t *)w->data + g * s.filters * s.per_group * s.positions, rows,
                   packed);
    shape one = s;
    one.filters = 1;
    uint8_t *ones = rows + s.filters * s.k;
    memset(ones, 1, (size_t)(s.per_group * s.positions));
    if (s.filters > 0) pack_group(prepare, &one, as_it_is, ones, rows, packed);
    tort_free(prepare->env, rows, bytes);
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* A run's state; scratch has parts in the order of these pointers. */
typedef struct conv_job {
    const tort_conv_params *params;
    const tort_cpu_device *device;
    shape shape;
    tort_planes planes;
    tort_byte_gemm gemm;
    int64_t *offsets; /* of each word of k, relative to the first plane of the group */
    uint32_t *words;  /* a row of the input, per part */
    uint32_t *stored; /* planes of words of one image; unused if pointwise */
    uint8_t *nothing; /* a plane of zeros, in place of channels beyond the last */
    uint8_t *buffers; /* one per part */
    int32_t *row_zeros;
    float *factors;
    const uint8_t *image, *group;
    const uint32_t *group_stored;
    uint32_t fill; /* four times the zero point of x */
    int64_t input, buffer_bytes;
    tort_byte_sign sign;
    int32_t parts;
    tort_cpu_split split; /* of the columns (pixels) and rows (filters) */
} conv_job;

/* True if windows see single consecutive elements, so that channels are read where they are. */
static bool is_pointwise(const tort_planes *planes) {
    return planes->direct && planes->kernel_size == 1 && planes->outputs == planes->plane;
}

static int64_t input_plane(const tort_planes *planes) {
    return planes->input[0] * planes->input[1] * planes->input[2];
}

/* Bytes of each part of scratch; -1: overflow. */
typedef struct sizes {
    int64_t offsets, words, stored, nothing, buffers, row_zeros, factors;
} sizes;

static sizes sizes_of(const tort_bytes *bytes, const tort_conv_params *p, const tort_planes *planes, int32_t threads) {
    const shape s = shape_of(p);
    const int64_t plane = input_plane(planes);
    sizes z = {.offsets = tort_multiply(s.k / 4, sizeof(int64_t)),
               .nothing = plane,
               .buffers = tort_multiply(tort_byte_gemm_buffer(bytes, s.filters, s.k, true, false), threads),
               .row_zeros = tort_multiply(p->filters, sizeof(int32_t)),
               .factors = tort_multiply(p->filters, sizeof(float))};
    if (is_pointwise(planes)) return z;
    z.words = tort_multiply(planes->input[2], 4 * (int64_t)threads);
    z.stored = tort_multiply(tort_multiply(planes->plane, s.quads * p->group) + TORT_PLANE_TAIL, sizeof(float));
    return z;
}

static bool reserve(const sizes *z, size_t *scratch) {
    const int64_t all[] = {z->offsets, z->words, z->stored, z->nothing, z->buffers, z->row_zeros, z->factors};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] < 0 || !tort_cpu_reserve(scratch, (size_t)all[i])) return false;
    return true;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    tort_planes planes;
    tort_planes_init(&planes, &p->window);
    const sizes z = sizes_of(tort_bytes_choose(target->instructions), p, &planes, target->threads);
    *scratch = 0;
    return reserve(&z, scratch) ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

/* Sets the rows of channels 4 * quad .. of a group, from element `at` on. */
static void quad_rows(const conv_job *job, const uint8_t *group, int64_t quad, int64_t at, const uint8_t **rows) {
    for (int64_t r = 0; r < 4; r++)
        rows[r] = (4 * quad + r < job->shape.per_group ? group + (4 * quad + r) * job->input : job->nothing) + at;
}

#define WORDS 8192 /* of k that are packed between two questions whether the run goes on */

/* Packs outputs column_first .. +columns of an image, as runs along the stored rows. */
static void pack_stored(const tort_byte_gemm *gemm, int64_t column_first, int32_t columns, uint8_t *panel) {
    const conv_job *job = gemm->pack_arg;
    tort_run runs[TORT_MAX_COLUMNS];
    const int32_t count = tort_planes_runs(&job->planes, column_first, columns, runs);
    for (int64_t word = 0; word < gemm->k / 4; word += WORDS) {
        if (word > 0 && !tort_call_goes_on(gemm->call, 0)) return;
        gemm->simd->byte_runs(panel + word * 4 * gemm->bytes->tile_columns, (const uint8_t *)job->group_stored,
                              job->offsets + word, tort_min(WORDS, gemm->k / 4 - word), runs, count);
    }
}

/* Packs outputs from the channels themselves, four channels at a time. */
static void pack_pointwise(const tort_byte_gemm *gemm, int64_t column_first, int32_t columns, uint8_t *panel) {
    const conv_job *job = gemm->pack_arg;
    for (int64_t quad = 0; quad < job->shape.quads; quad++, panel += 4 * gemm->bytes->tile_columns) {
        const uint8_t *rows[4];
        if (quad % WORDS == WORDS - 1 && !tort_call_goes_on(gemm->call, 0)) return;
        quad_rows(job, job->group, quad, column_first, rows);
        gemm->simd->byte_words(panel, rows, columns, job->sign.flip);
    }
}

static void store_quads(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    const int64_t work = tort_work(job->planes.plane, 4, 1);
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        tort_cpu_share(job->shape.quads * job->params->group, 1, part, job->parts, &first, &last);
        for (int64_t q = first; q < last && tort_piece_goes_on(job->gemm.call, q - first, work); q++) {
            const uint8_t *rows[4];
            quad_rows(job, job->image + q / job->shape.quads * job->shape.per_group * job->input, q % job->shape.quads,
                      0, rows);
            tort_byte_planes_store(job->device->simd, &job->planes, rows, job->sign.flip, job->fill,
                                   job->words + part * job->planes.input[2], job->stored + q * job->planes.plane);
        }
    }
}

/* Multiplies a part's share of the rows by its share of the columns. */
static void multiply_share(void *arg, int64_t begin, int64_t end) {
    const conv_job *job = arg;
    const tort_bytes *bytes = job->device->bytes;
    const tort_cpu_split split = job->split;
    for (int64_t part = begin; part < end; part++) {
        uint8_t *buffer = job->buffers + part * job->buffer_bytes;
        int64_t m_first, m_last, n_first, n_last;
        tort_cpu_share(job->gemm.m, bytes->tile_rows, part % split.filter_parts, split.filter_parts, &m_first, &m_last);
        tort_cpu_share(job->gemm.n, bytes->tile_columns, part / split.filter_parts, split.pixel_parts, &n_first,
                       &n_last);
        if (m_first < m_last && n_first < n_last)
            tort_byte_gemm_block(&job->gemm, m_first, m_last, n_first, n_last, buffer);
    }
}

static void take_scratch(conv_job *job, char *scratch) {
    const sizes z = sizes_of(job->device->bytes, job->params, &job->planes, job->parts);
    job->offsets = tort_cpu_take(&scratch, (size_t)z.offsets);
    job->words = tort_cpu_take(&scratch, (size_t)z.words);
    job->stored = tort_cpu_take(&scratch, (size_t)z.stored);
    job->nothing = tort_cpu_take(&scratch, (size_t)z.nothing);
    job->buffers = tort_cpu_take(&scratch, (size_t)z.buffers);
    job->row_zeros = tort_cpu_take(&scratch, (size_t)z.row_zeros);
    job->factors = tort_cpu_take(&scratch, (size_t)z.factors);
    job->buffer_bytes = z.buffers / job->parts;
    memset(job->nothing, 0, (size_t)z.nothing);
}

bool tort_byte_zeros_are_none(const tort_tensor *zeros) {
    const int64_t count = tort_count(zeros);
    for (int64_t i = 0; i < count; i++)
        if (((const uint8_t *)zeros->data)[i]) return false;
    return true;
}

void tort_byte_conv_factors(const tort_call *call, const tort_byte_conv_inputs *in, int64_t filters, float *factors) {
    const tort_tensor *w_scale = &call->inputs[in->w_scale];
    const bool many = tort_count(w_scale) > 1;
    const float x_scale = *(const float *)call->inputs[1].data, y_scale = *(const float *)call->inputs[6].data;
    for (int64_t m = 0; m < filters; m++) factors[m] = x_scale * ((const float *)w_scale->data)[many ? m : 0] / y_scale;
}

static void open_gemm(conv_job *job, const tort_call *call, const tort_byte_conv_inputs *in) {
    const tort_tensor *x_zero = tort_call_input(call, in->x_zero), *w_zero = tort_call_input(call, in->w_zero);
    const tort_conv_params *p = job->params;
    const tort_byte_sign w_sign = tort_byte_sign_of(job->device->bytes, call->inputs[in->w].type, true);
    tort_byte_gemm *g = &job->gemm;
    job->sign = tort_byte_sign_of(job->device->bytes, call->inputs[0].type, false);
    *g = (tort_byte_gemm){.call = call,
                          .simd = job->device->simd,
                          .bytes = job->device->bytes,
                          .m = job->shape.filters,
                          .n = job->planes.outputs,
                          .k = job->shape.k,
                          .products = job->shape.per_group * job->shape.positions,
                          .pack = is_pointwise(&job->planes) ? pack_pointwise : pack_stored,
                          .pack_arg = job,
                          .y_stride = job->planes.outputs};
    g->column_zeros.one = tort_byte_zero(x_zero, &job->sign);
    g->row_zeros = tort_byte_zeros_of(w_zero, &w_sign, p->filters, job->row_zeros);
    memset(&job->fill, g->column_zeros.one, sizeof job->fill);
    tort_byte_product_result(call, in->w_scale < 0 ? NULL : &call->inputs[7], g);
    if (in->w_scale < 0) return;
    tort_byte_conv_factors(call, in, p->filters, job->factors);
}

/* Runs group g of image n. */
static void run_group(const tort_call *call, conv_job *job, const tort_byte_conv_inputs *in, int64_t n, int64_t g) {
    const tort_conv_params *p = job->params;
    const shape *s = &job->shape;
    const int64_t filter = g * s->filters, size = group_size(job->device->bytes, s);
    const tort_byte_zeros zeros = job->gemm.row_zeros;
    const uint8_t *packed = call->packed;
    job->group = job->image + g * s->per_group * job->input;
    job->group_stored = job->stored + g * s->quads * job->planes.plane;
    job->gemm.packed_rows = tort_packed_byte_rows(job->device->bytes, packed + g * size, s->filters, s->k);
    job->gemm.ones = packed + p->group * size;
    if (zeros.each) job->gemm.row_zeros.each = zeros.each + filter;
    if (in->w_scale >= 0) job->gemm.row_factors = job->factors + filter;
    const tort_tensor *bias = in->w_scale >= 0 ? tort_call_input(call, 8) : NULL;
    if (bias) job->gemm.row_bias = (const int32_t *)bias->data + filter;
    job->gemm.y =
        (uint8_t *)call->outputs[0].data + (n * p->filters + filter) * job->planes.outputs * (in->w_scale >= 0 ? 1 : 4);
    tort_cpu_parts(call, job->split.filter_parts * job->split.pixel_parts, multiply_share, job);
    job->gemm.row_zeros = zeros;
}

static tort_status run(const tort_call *call) {
    const tort_byte_conv_inputs *in = inputs_of(call->kernel);
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    conv_job job = {.params = p, .device = device, .parts = device->threads, .shape = shape_of(p)};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_planes_init(&job.planes, &p->window);
    job.input = input_plane(&job.planes);
    take_scratch(&job, call->scratch);
    tort_planes_offsets(&job.planes, job.shape.quads, job.offsets);
    open_gemm(&job, call, in);
    job.split = tort_cpu_split_tiles(job.gemm.m, device->bytes->tile_rows, job.gemm.n, device->bytes->tile_columns, 1,
                                     job.parts);
    for (int64_t n = 0; n < p->batch && tort_call_goes_on(call, 0); n++) {
        job.image = (const uint8_t *)call->inputs[0].data + n * p->channels * job.input;
        if (!is_pointwise(&job.planes)) tort_cpu_parts(call, job.parts, store_quads, &job);
        for (int64_t g = 0; g < p->group && tort_call_goes_on(call, 0); g++) run_group(call, &job, in, n, g);
    }
    return TORT_OK;
}

/* ---- the two operators ------------------------------------------------------------------------------------------- */

/* Rows of com.microsoft, with channels first or last. */
static tort_status size_either(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_status status = size(target, node, scratch, error);
    return status ? status : tort_either_conv_size(node, node->params, scratch, error);
}

static tort_status run_either(const tort_call *call) {
    return tort_either_conv_run(call, run);
}

#define PACKED .claim = claim, .pack.size = pack_size, .prepare = prepare_weights

const tort_kernel tort_cpu_byte_conv[] = {
    {"", "ConvInteger", "conv_integer_packed", PACKED, .variant = CONV_INTEGER, .size = size, .run = run},
    {"", "QLinearConv", "qlinear_conv_packed", PACKED, .size = size, .run = run},
    {"com.microsoft", "QLinearConv", "qlinear_conv_packed", PACKED, .size = size_either, .run = run_either},
    {.op = NULL},
};
