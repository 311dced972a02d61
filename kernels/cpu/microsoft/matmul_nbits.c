/* matmul_nbits.c - MatMulNBits: few rows multiply the packed numbers directly, many rows unpack panels for the float
 * product.
 *
 * B is packed ahead in panels of as many columns as a vector has floats: words, then scales, then zero points, so
 * that a row of A reads memory sequentially. With accuracy_level 4 A is quantized to bytes, and all rows multiply
 * directly. Read next: simd/nbits.c; packed_gemm.h. */
#include "ops/microsoft/matmul_nbits.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "ops/extent.h"

enum { FEW_ROWS = 24 };   /* up to so many rows, unpacking to memory does not pay */
enum { MAX_K = 1 << 20 }; /* a row is multiplied in one piece */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_nbits *p = node->params;
    if (p->grouped) return tort_no(TORT_NO_ATTR, "", "takes no g_idx");
    if (p->k > MAX_K) return tort_no(TORT_NO_ATTR, "", "is for rows of at most %d elements", MAX_K);
    for (int32_t i = TORT_NBITS_B; i <= TORT_NBITS_ZEROS; i++)
        if (tort_has_input(node, i) && !node->inputs[i].constant)
            return tort_no(TORT_NO_DYNAMIC, "", "B, scales and zero_points must be constants");
    return tort_cpu_claim_processor(target);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static int64_t word_numbers(const tort_nbits *p) {
    return 32 / tort_type_bits(p->type);
}

/* Returns the size of a panel in words and floats, 4 bytes each. */
static int64_t panel_size(const tort_nbits *p, int64_t width) {
    const bool has_zeros = p->zeros_type != TORT_UNDEFINED;
    return p->blocks * (p->block / word_numbers(p) + 1 + has_zeros) * width;
}

static int64_t panel_count(const tort_nbits *p, int64_t width) {
    return (p->n + width - 1) / width;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_nbits *p = node->params;
    const int64_t width = tort_simd_choose(target->instructions)->width;
    *consumed = 1u << TORT_NBITS_B | 1u << TORT_NBITS_SCALES;
    if (tort_has_input(node, TORT_NBITS_ZEROS)) *consumed |= 1u << TORT_NBITS_ZEROS;
    if (tort_mul_size((uint64_t)panel_count(p, width), (uint64_t)panel_size(p, width) * 4, bytes)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_nbits_panel panel_at(const tort_nbits *p, int64_t width, const void *packed, int64_t i) {
    const uint32_t *words = (const uint32_t *)packed + i * panel_size(p, width);
    tort_nbits_panel panel = {.words = words,
                              .zero = tort_nbits_zero(p, NULL, 0, 0),
                              .bits = (int32_t)tort_type_bits(p->type),
                              .block_words = p->block / word_numbers(p),
                              .blocks = p->blocks};
    const float *scales = (const float *)(const void *)(words + p->blocks * panel.block_words * width);
    panel.scales = scales;
    if (p->zeros_type != TORT_UNDEFINED) panel.zeros = scales + p->blocks * width;
    return panel;
}

/* Packs column j of B into lane j % width of its panel, which is zero before. */
static void pack_column(const tort_prepare *prepare, int64_t width, int64_t j) {
    const tort_nbits *p = prepare->node->params;
    const tort_info *in = prepare->node->inputs;
    const int64_t words = p->blocks * p->block / word_numbers(p), lane = j % width;
    const char *column = (const char *)in[TORT_NBITS_B].data + j * words * 4;
    uint32_t *panel = (uint32_t *)prepare->packed + j / width * panel_size(p, width);
    float *scales = (float *)(void *)(panel + words * width) + lane, *zeros = scales + p->blocks * width;
    for (int64_t w = 0; w < words && tort_row_goes_on(prepare->watch, w); w++)
        memcpy(&panel[w * width + lane], column + w * 4, 4);
    for (int64_t block = 0; block < p->blocks && tort_row_goes_on(prepare->watch, block); block++) {
        const tort_info *from = &in[TORT_NBITS_SCALES];
        tort_load_floats(from->type, from->data, j * p->blocks + block, 1, &scales[block * width]);
        if (p->zeros_type != TORT_UNDEFINED)
            zeros[block * width] = tort_nbits_zero(p, in[TORT_NBITS_ZEROS].data, j, block);
    }
}

static tort_status prepare_nbits(tort_prepare *prepare) {
    const tort_nbits *p = prepare->node->params;
    const tort_cpu_device *device = prepare->device;
    int64_t done = 0;
    for (int64_t j = 0; j < p->n && tort_work_goes_on(prepare->watch, &done, p->blocks * p->block); j++)
        pack_column(prepare, device->simd->width, j);
    return TORT_OK;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* Arrays of a run besides its tensors. */
typedef struct nbits_scratch {
    float *a;             /* [m][depth], whole blocks; with many rows [m][k] */
    int8_t *bytes;        /* [m][depth], if few rows are quantized */
    float *scales, *sums; /* [m][blocks], with few rows */
    float *bias;          /* [n] */
    float *y;             /* [m][whole panels of n]; with many rows [m][n] */
    void *buffers;        /* of the product of many rows */
} nbits_scratch;

static bool unpacks(const tort_nbits *p) {
    return p->m > FEW_ROWS && !p->quantizes_a;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_simd *simd = tort_simd_choose(target->instructions);
    const tort_nbits *p = node->params;
    const int64_t depth = p->blocks * p->block, columns = panel_count(p, simd->width) * simd->width;
    const int64_t counts[5] = {depth, (depth + 3) / 4, p->blocks, p->blocks, columns};
    *scratch = 0;
    for (int32_t i = 0; i < 5; i++) {
        int64_t count;
        if (__builtin_mul_overflow(p->m, counts[i], &count) || !tort_cpu_reserve_floats(scratch, count))
            return tort_out_of_memory(error, SIZE_MAX);
    }
    const size_t buffers = tort_packed_gemm_buffer(simd, false, false) * (size_t)target->threads;
    if (!tort_cpu_reserve_floats(scratch, p->n) || (unpacks(p) && !tort_cpu_reserve(scratch, buffers)))
        return tort_out_of_memory(error, SIZE_MAX);
    return TORT_OK;
}

static nbits_scratch take_scratch(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const tort_nbits *p = call->params;
    const int64_t width = device->simd->width;
    const size_t rows = (size_t)p->m * sizeof(float);
    char *scratch = call->scratch;
    nbits_scratch s;
    s.a = tort_cpu_take(&scratch, rows * (size_t)(p->blocks * p->block));
    s.bytes = tort_cpu_take(&scratch, rows / 4 * (size_t)(p->blocks * p->block));
    s.scales = tort_cpu_take(&scratch, rows * (size_t)p->blocks);
    s.sums = tort_cpu_take(&scratch, rows * (size_t)p->blocks);
    s.y = tort_cpu_take(&scratch, rows * (size_t)(panel_count(p, width) * width));
    s.bias = tort_cpu_take(&scratch, (size_t)p->n * sizeof(float));
    s.buffers = scratch;
    return s;
}

/* ---- few rows ---------------------------------------------------------------------------------------------------- */

typedef struct rows_job {
    const tort_call *call;
    nbits_scratch scratch;
    bool biased;
} rows_job;

static float sum_of(const float *a, int64_t count) {
    float sums[4] = {0};
    for (int64_t i = 0; i < count; i += 4) /* blocks have 16 elements or more */
        for (int32_t c = 0; c < 4; c++) sums[c] += a[i + c];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Divides the elements of a block by 2^(bits * j), by which the masked number j of a word is too large
 * (simd/nbits.c). */
static void scale_block(const tort_nbits *p, float *a) {
    const int64_t numbers = word_numbers(p);
    const int32_t bits = (int32_t)tort_type_bits(p->type);
    for (int64_t j = 0; j < numbers - 1; j++) {
        const float factor = 1.0f / (float)(1u << (bits * j));
        for (int64_t i = j; i < p->block; i += numbers) a[i] *= factor;
    }
}

/* Quantizes the elements of a block to bytes in the order of tort_nbits_rows (simd.h); returns their sum. */
static float round_block(const tort_nbits *p, const float *a, float scale, int8_t *bytes) {
    const int64_t numbers = word_numbers(p), parts = numbers / 4;
    const float inverse = scale > 0 ? 1 / scale : 0, round = 0x1.8p23f;
    int32_t sum = 0;
    for (int64_t w = 0; w < p->block; w += numbers)
        for (int64_t i = 0; i < 4; i++)
            for (int64_t g = 0; g < parts; g++) {
                const float x = a[w + i * parts + g] * inverse, above = x > -127 ? x : -127;
                const int32_t whole = (int32_t)(((above < 127 ? above : 127) + round) - round);
                bytes[w + 4 * g + i] = (int8_t)whole;
                sum += whole;
            }
    return (float)sum;
}

static void prepare_rows(void *arg, int64_t begin, int64_t end) {
    const rows_job *job = arg;
    const tort_nbits *p = job->call->params;
    const tort_tensor *a = &job->call->inputs[TORT_NBITS_A];
    const int64_t depth = p->blocks * p->block;
    const int64_t work = tort_work(depth, 16, 1);
    for (int64_t row = begin; row < end && tort_piece_goes_on(job->call, row, work); row++) {
        float *floats = job->scratch.a + row * depth;
        int8_t *bytes = job->scratch.bytes + row * depth;
        tort_load_floats(a->type, a->data, row * p->k, p->k, floats);
        memset(floats + p->k, 0, (size_t)(depth - p->k) * sizeof(float));
        for (int64_t block = 0; block < p->blocks; block++) {
            const int64_t at = row * p->blocks + block;
            float *elements = floats + block * p->block;
            if (p->quantizes_a) {
                job->scratch.scales[at] = tort_nbits_scale_of(elements, p->block);
                job->scratch.sums[at] = round_block(p, elements, job->scratch.scales[at], bytes + block * p->block);
            } else {
                job->scratch.sums[at] = sum_of(elements, p->block);
                scale_block(p, elements);
            }
        }
    }
}

enum { SOME_ROWS = 4 }; /* of tort_nbits_rows, which are multiplied together */

/* Multiplies all rows with a panel: some rows at a time, if they are long. */
static void multiply_panel(const tort_call *call, const tort_nbits_panel *panel, const tort_nbits_rows *all) {
    const tort_simd *simd = ((const tort_cpu_device *)call->device)->simd;
    const int64_t work = tort_work(SOME_ROWS, all->k, simd->width * 4);
    const int64_t at_once = tort_max(1, (1 << TORT_PIECE_BITS) / work) * SOME_ROWS;
    for (int64_t row = 0; row < all->count && (row == 0 || tort_call_goes_on(call, 0)); row += at_once) {
        tort_nbits_rows rows = *all;
        rows.count = tort_min(at_once, all->count - row);
        rows.sums += row * panel->blocks;
        rows.y += row * all->y_stride;
        if (rows.scales) {
            rows.bytes += row * all->k;
            rows.scales += row * panel->blocks;
        } else {
            rows.floats += row * all->k;
        }
        simd->nbits_rows(panel, &rows);
    }
}

static void multiply_panels(void *arg, int64_t begin, int64_t end) {
    const rows_job *job = arg;
    const tort_cpu_device *device = job->call->device;
    const tort_nbits *p = job->call->params;
    const int64_t width = device->simd->width, columns = panel_count(p, width) * width;
    tort_nbits_rows rows = {.count = p->m, .k = p->blocks * p->block, .sums = job->scratch.sums, .y_stride = columns};
    rows.floats = job->scratch.a;
    if (p->quantizes_a) {
        rows.bytes = job->scratch.bytes;
        rows.scales = job->scratch.scales;
    }
    const int64_t work = tort_work(p->m, rows.k, width * 4);
    for (int64_t i = begin; i < end && tort_piece_goes_on(job->call, i, work); i++) {
        const tort_nbits_panel panel = panel_at(p, width, job->call->packed, i);
        rows.y = job->scratch.y + i * width;
        multiply_panel(job->call, &panel, &rows);
    }
}

static void store_rows(void *arg, int64_t begin, int64_t end) {
    const rows_job *job = arg;
    const tort_cpu_device *device = job->call->device;
    const tort_nbits *p = job->call->params;
    const tort_tensor *y = &job->call->outputs[0];
    const int64_t width = device->simd->width, columns = unpacks(p) ? p->n : panel_count(p, width) * width;
    for (int64_t row = begin; row < end; row++) {
        float *sums = job->scratch.y + row * columns;
        for (int64_t j = 0; job->biased && j < p->n; j++) sums[j] += job->scratch.bias[j];
        tort_store_floats(y->type, y->data, row * p->n, p->n, sums);
    }
}

static void run_few(rows_job *job) {
    const tort_cpu_device *device = job->call->device;
    const tort_nbits *p = job->call->params;
    tort_parallel(job->call, p->m, p->k, prepare_rows, job);
    tort_parallel(job->call, panel_count(p, device->simd->width), p->m * p->k, multiply_panels, job);
    tort_parallel(job->call, p->m, p->n, store_rows, job);
}

/* ---- many rows --------------------------------------------------------------------------------------------------- */

/* Unpacks `columns` columns of B for tort_packed_gemm: whole panels, except at the end of B. */
static void unpack_b(const tort_packed_gemm *gemm, int64_t k_first, int64_t k_count, int64_t column_first,
                     int32_t columns, float *panel) {
    const tort_call *call = gemm->b_arg;
    const tort_nbits *p = call->params;
    const int64_t width = gemm->simd->width, lanes = gemm->simd->tile_columns, numbers = word_numbers(p);
    for (int64_t j = 0; j < columns; j += width) {
        const tort_nbits_panel from = panel_at(p, width, call->packed, (column_first + j) / width);
        gemm->simd->nbits_unpack(&from, k_first / numbers, k_count, panel + j, lanes);
    }
}

typedef struct gemm_job {
    const tort_packed_gemm *gemm;
    float *buffers;
    size_t buffer_bytes;
    int32_t parts;
} gemm_job;

static void multiply_parts(void *arg, int64_t begin, int64_t end) {
    const gemm_job *job = arg;
    const tort_packed_gemm *g = job->gemm;
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        tort_cpu_share(g->n, g->simd->tile_columns, part, job->parts, &first, &last);
        if (first < last)
            tort_packed_gemm_block(g, 0, g->m, first, last, job->buffers + (size_t)part * job->buffer_bytes / 4);
    }
}

static void run_many(rows_job *job) {
    const tort_call *call = job->call;
    const tort_cpu_device *device = call->device;
    const tort_nbits *p = call->params;
    const tort_tensor *a = &call->inputs[TORT_NBITS_A], *y = &call->outputs[0];
    tort_packed_gemm gemm = {.call = call, .simd = device->simd, .m = p->m, .n = p->n, .k = p->k, .scale = 1};
    gemm.a = a->data;
    if (a->type != TORT_FLOAT) {
        tort_nbits_load_a(call, job->scratch.a);
        gemm.a = job->scratch.a;
    }
    gemm.a_row_stride = p->k;
    gemm.a_k_stride = 1;
    gemm.pack_b = unpack_b;
    gemm.b_arg = call;
    gemm.c = y->type == TORT_FLOAT ? y->data : job->scratch.y;
    gemm.c_stride = p->n;
    gemm.column_bias = job->biased ? job->scratch.bias : NULL;
    gemm_job parts = {.gemm = &gemm,
                      .buffers = job->scratch.buffers,
                      .buffer_bytes = tort_packed_gemm_buffer(device->simd, false, false),
                      .parts = device->threads};
    tort_cpu_parts(call, parts.parts, multiply_parts, &parts);
    job->biased = false;
    if (y->type != TORT_FLOAT) tort_parallel(call, p->m, p->n, store_rows, job);
}

static tort_status run(const tort_call *call) {
    const tort_nbits *p = call->params;
    const tort_tensor *bias = tort_call_input(call, TORT_NBITS_BIAS);
    if (p->m == 0) return TORT_OK;
    rows_job job = {.call = call, .scratch = take_scratch(call), .biased = bias != NULL};
    if (bias) tort_load_floats(bias->type, bias->data, 0, p->n, job.scratch.bias);
    if (unpacks(p))
        run_many(&job);
    else
        run_few(&job);
    return TORT_OK;
}

const tort_kernel tort_cpu_matmul_nbits[] = {
    {"com.microsoft", "MatMulNBits", "matmul_nbits_packed", .claim = claim, .size = size, .pack.size = pack_size,
     .prepare = prepare_nbits, .run = run},
    {.op = NULL},
};
