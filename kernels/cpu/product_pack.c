/* product_pack.c - packs a constant B on all threads, piece by piece.
 *
 * A large B is read from its file in pieces, so that it is never in memory as a whole in its original form, and each
 * piece is packed while it is in the L2 cache. Pieces are panels or rows, whichever are contiguous in the file.
 * Read next: packed_gemm.h. */
#include "kernels/cpu/product.h"

typedef struct outcome {
    tort_status status;
    tort_error error;
} outcome;

typedef struct pack_job {
    const tort_prepare *prepare;
    const tort_simd *simd;
    const float *b; /* NULL: read from the file */
    int64_t k_stride, column_stride, n, k;
    float scale;
    bool by_columns;      /* pieces are panels, else rows */
    int64_t unit, pieces; /* columns or rows of a piece; number of pieces */
    size_t piece_bytes;
    int32_t parts;
    char *buffers; /* piece_bytes per part, if B is read */
    outcome *outcomes;
} pack_job;

static tort_b_part piece_at(const pack_job *job, int64_t piece) {
    tort_b_part part = {0, job->k, 0, job->n};
    int64_t *first = job->by_columns ? &part.n_first : &part.k_first,
            *last = job->by_columns ? &part.n_last : &part.k_last;
    *first = piece * job->unit;
    if (*first + job->unit < *last) *last = *first + job->unit;
    return part;
}

static tort_status pack_piece(const pack_job *job, int64_t piece, float *buffer, tort_error *error) {
    const tort_b_part part = piece_at(job, piece);
    const int64_t offset = part.k_first * job->k_stride + part.n_first * job->column_stride;
    const float *b = job->b ? job->b + offset : buffer;
    if (!job->b) {
        const size_t count = (size_t)((part.k_last - part.k_first) * (part.n_last - part.n_first));
        tort_status status =
            tort_prepare_read(job->prepare, 1, (size_t)offset * sizeof(float), count * sizeof(float), buffer, error);
        if (status) return status;
    }
    tort_pack_b_part(job->simd, job->prepare->packed, b, job->k_stride, job->column_stride, job->n, job->k, job->scale,
                     &part);
    return TORT_OK;
}

static void pack_pieces(void *arg, int64_t begin, int64_t end) {
    const pack_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = (float *)(void *)(job->buffers + (size_t)part * job->piece_bytes);
        outcome *mine = &job->outcomes[part];
        int64_t first, last;
        tort_cpu_share(job->pieces, 1, part, job->parts, &first, &last);
        for (int64_t i = first; !mine->status && i < last && tort_goes_on(job->prepare->watch, 0); i++)
            mine->status = pack_piece(job, i, buffer, &mine->error);
    }
}

/* Returns the first failure in the order of the parts. */
static tort_status settle(const pack_job *job, tort_error *error) {
    for (int32_t i = 0; i < job->parts; i++) {
        if (!job->outcomes[i].status) continue;
        if (error) *error = job->outcomes[i].error;
        return job->outcomes[i].status;
    }
    return TORT_OK;
}

static tort_status pack_on_threads(pack_job *job) {
    const tort_prepare *prepare = job->prepare;
    const size_t parts = (size_t)job->parts;
    size_t buffers = 0;
    if (!job->b && !tort_mul_size(job->piece_bytes, parts, &buffers))
        return tort_out_of_memory(prepare->error, SIZE_MAX);
    job->buffers = tort_alloc_aligned(prepare->env, buffers);
    job->outcomes = tort_alloc_zero(prepare->env, parts, sizeof *job->outcomes);
    tort_status status = job->buffers && job->outcomes ? TORT_OK : tort_out_of_memory(prepare->error, buffers);
    if (!status) {
        for (size_t i = 0; i < parts; i++) job->outcomes[i].error.node = -1;
        prepare->env->parallel_for(prepare->env->parallel_ud, job->parts, 1, pack_pieces, job);
        status = settle(job, prepare->error);
    }
    tort_free(prepare->env, job->outcomes, parts * sizeof *job->outcomes);
    tort_free_aligned(prepare->env, job->buffers, buffers);
    return status;
}

#define PIECE ((int64_t)64 << 10) /* floats: the piece and its packed form fit the L2 cache */

/* Divides B into pieces of whole panels, or rows: at most PIECE floats, but at least one panel or row. The bytes of
 * B are known not to overflow; if B is empty, its other extent is arbitrary. */
static void divide(pack_job *job) {
    const int64_t extent = job->by_columns ? job->n : job->k, floats = job->by_columns ? job->k : job->n;
    const int64_t min = job->by_columns ? job->simd->tile_columns : 1;
    const int64_t max = floats ? PIECE / floats / min * min : extent;
    job->unit = max > min ? max : min;
    job->pieces = extent > job->unit ? (extent + job->unit - 1) / job->unit : 1;
    job->piece_bytes = (size_t)(tort_min(job->unit, extent) * floats) * sizeof(float);
    if (job->parts > job->pieces) job->parts = (int32_t)job->pieces;
}

tort_status tort_product_prepare(tort_prepare *prepare, int64_t k_stride, int64_t column_stride, int64_t n, int64_t k,
                                 float scale) {
    const tort_cpu_device *device = prepare->device;
    pack_job job = {.prepare = prepare,
                    .simd = device->simd,
                    .b = prepare->node->inputs[1].data,
                    .k_stride = k_stride,
                    .column_stride = column_stride,
                    .n = n,
                    .k = k,
                    .scale = scale,
                    .by_columns = k_stride == 1 && column_stride == k,
                    .parts = device->threads};
    if (!job.b && !job.by_columns && (column_stride != 1 || k_stride != n))
        return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant B lies in an order that is not read by pieces");
    divide(&job);
    return pack_on_threads(&job);
}
