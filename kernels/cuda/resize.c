/* resize.c - kernel table and claims of Resize and Upsample: all modes, transforms and axes. ops/resize.h decodes
 * all operator versions; scales, sizes and regions that are inputs are read on the host. Input elements and weights of
 * output coordinates are tables that fit makes. Kernels: resize.cu. */
#include "kernels/cuda/resize.h"

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"
#include "runtime/base/memory.h"

/* ---- nearest and linear in planes -------------------------------------------------------------------------------- */

/* True if an output element comes from one element, or from two neighbours, along each axis. */
static bool has_pairs(const tort_resize_params *params, tort_type type) {
    bool pairs =
        params->mode == TORT_RESIZE_NEAREST || type == TORT_FLOAT || type == TORT_FLOAT16 || type == TORT_BFLOAT16;
    pairs = pairs && params->mode != TORT_RESIZE_CUBIC && params->transform != TORT_RESIZE_TF_CROP_AND_RESIZE &&
            !params->exclude_outside;
    for (int32_t d = 0; d < params->rank; d++) pairs = pairs && params->axes[d].taps <= 2;
    return pairs;
}

static gpu_tiled_axis tiled(const tort_resize_params *params, const tort_resize_axis *axis) {
    enum { REACH = 3 }; /* two elements, and one for what rounding adds */
    const double corners = axis->out > 1 ? (double)(axis->in - 1) / (double)(axis->out - 1) : 0;
    const double step = axis->identity ? 1 : params->transform == TORT_RESIZE_ALIGN_CORNERS ? corners : 1 / axis->scale;
    return (gpu_tiled_axis){.in = axis->in, .out = axis->out, .step = step, .reach = REACH};
}

/* True if the kernels for planes serve: at most the last two axes change. */
static bool planes_of(const tort_resize_params *params, tort_type type, gpu_resize_planes *p) {
    static const tort_resize_axis single = {.in = 1, .out = 1, .identity = true};
    const int32_t rank = params->rank;
    if (rank < 1 || rank > 3 || !has_pairs(params, type) || (rank == 3 && !params->axes[0].identity)) return false;
    const tort_resize_axis *w = &params->axes[rank - 1], *h = rank > 1 ? w - 1 : &single;
    *p = (gpu_resize_planes){.planes = rank == 3 ? params->axes[0].in : 1,
                             .in_h = (int32_t)h->in,
                             .in_w = (int32_t)w->in,
                             .out_h = (int32_t)h->out,
                             .out_w = (int32_t)w->out};
    const gpu_tiled_axis down = tiled(params, h), along = tiled(params, w);
    return tort_cuda_plane_tiles(&down, &along, cuda_element_bytes(type), &p->tiles);
}

static gpu_pair pair_of(const tort_resize_params *params, const tort_resize_axis *axis, int64_t out) {
    int64_t indices[2] = {0};
    double weights[2] = {0};
    (void)tort_resize_taps(params, axis, out, indices, weights);
    const bool reads_both = axis->taps == 2 && indices[1] != indices[0];
    return (gpu_pair){.low = (int32_t)indices[0], .share = reads_both ? (float)weights[1] : 0};
}

static void fill_pairs(const tort_resize_params *params, const gpu_resize_planes *p, gpu_pair *pairs) {
    const tort_resize_axis *w = &params->axes[params->rank - 1];
    for (int64_t i = 0; i < p->out_w; i++) pairs[i] = pair_of(params, w, i);
    pairs[p->out_w] = (gpu_pair){0}; /* the row of a view that has no other axis */
    for (int64_t i = 0; i < p->out_h && params->rank > 1; i++) pairs[p->out_w + i] = pair_of(params, w - 1, i);
}

/* ---- any axes ---------------------------------------------------------------------------------------------------- */

/* Number of entries in the tables of all axes before `axis`: resolve has checked that their bytes fit a size_t. */
static int64_t table_entries(const tort_resize_params *params, int32_t axis) {
    int64_t total = 0;
    for (int32_t d = 0; d < axis; d++)
        if (!params->axes[d].identity) total += params->axes[d].out * params->axes[d].taps;
    return total;
}

static void fill_tables(const tort_resize_params *params, int64_t *indices, double *weights) {
    for (int32_t d = 0; d < params->rank; d++) {
        const tort_resize_axis *axis = &params->axes[d];
        for (int64_t out = 0; out < axis->out && !axis->identity; out++) {
            if (!tort_resize_taps(params, axis, out, indices, weights)) indices[0] = -1;
            indices += axis->taps;
            weights += axis->taps;
        }
    }
}

static cudaError_t run_any(const tort_call *call) {
    const tort_resize_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const cuda_table *table = call->fitted;
    gpu_resize resize = {.params = *params, .count = (size_t)tort_count(y), .combinations = 1};
    for (int32_t d = 0; d < params->rank; d++) {
        resize.tables[d] = params->axes[d].identity ? -1 : table_entries(params, d);
        if (!params->axes[d].identity) resize.combinations *= params->axes[d].taps;
    }
    if (table) {
        resize.indices = table->entries;
        resize.weights = (const double *)(const void *)(resize.indices + table_entries(params, params->rank));
    }
    return gpu_run_resize(cuda_stream_of(call), gpu_number_of(x->type), &resize, x->data, y->data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static tort_status prepare_resize(tort_prepare *p) {
    const tort_resize_params *params = p->node->params;
    const tort_type type = p->node->inputs[0].type;
    cudaError_t code = gpu_load_resize(gpu_number_of(type));
    if (code == cudaSuccess && params->mode == TORT_RESIZE_NEAREST)
        code = gpu_load_resize_nearest(cuda_element_bytes(type));
    if (code == cudaSuccess && params->mode == TORT_RESIZE_LINEAR) code = gpu_load_resize_linear(gpu_type_of(type));
    return cuda_loaded(p, code);
}

static tort_status fit_resize(tort_fit *fit) {
    const tort_resize_params *params = fit->node->params;
    const size_t entries = (size_t)table_entries(params, params->rank);
    gpu_resize_planes p;
    const bool in_planes = planes_of(params, fit->node->inputs[0].type, &p);
    const size_t bytes = in_planes ? ((size_t)p.out_w + (size_t)p.out_h) * sizeof(gpu_pair)
                                   : entries * (sizeof(int64_t) + sizeof(double));
    if (!bytes) return TORT_OK;
    void *table = tort_alloc(fit->env, bytes);
    if (!table) return tort_out_of_memory(fit->error, bytes);
    if (in_planes)
        fill_pairs(params, &p, table);
    else
        fill_tables(params, table, (double *)(void *)((int64_t *)table + entries));
    const tort_status status = cuda_table_fit(fit, table, bytes);
    tort_free(fit->env, table, bytes);
    return status;
}

static tort_status run_resize(const tort_call *call) {
    const tort_resize_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const gpu_stream stream = cuda_stream_of(call);
    gpu_resize_planes p;
    if (!planes_of(params, x->type, &p)) return cuda_launched(call, run_any(call));
    p.pairs = ((const cuda_table *)call->fitted)->entries;
    if (params->mode == TORT_RESIZE_LINEAR)
        return cuda_launched(call, gpu_run_resize_linear(stream, gpu_type_of(x->type), &p, x->data, y->data));
    return cuda_launched(call, gpu_run_resize_nearest(stream, cuda_element_bytes(x->type), &p, x->data, y->data));
}
#endif

#define ROW(op_name, host)                                                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "resize", .host_inputs = host, .claim = tort_cuda_claim_number,           \
        .prepare = CUDA_ONLY(prepare_resize), .fit = CUDA_ONLY(fit_resize), .unfit = CUDA_ONLY(cuda_table_unfit),      \
        .run = CUDA_ONLY(run_resize)                                                                                   \
    }

const tort_kernel tort_cuda_resize_kernels[] = {
    ROW("Resize", 1u << 1 | 1u << 2 | 1u << 3),
    ROW("Upsample", 1u << 1),
    {.op = NULL},
};
