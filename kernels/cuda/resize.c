/* resize.c - kernel table and claims of Resize and Upsample: all modes, transforms and axes. ops/resize.h decodes
 * all operator versions; scales, sizes and regions that are inputs are read on the host. Input elements and weights of
 * output coordinates are tables that fit makes. Kernels: resize.cu. */
#include "kernels/cuda/resize.h"

#include "kernels/cuda/nhwc.h"

/* ---- which axes change ------------------------------------------------------------------------------------------- */

/* True if an output element comes from one element, or from two neighbours, along each axis. */
static bool has_pairs(const tort_resize_params *params, tort_type type) {
    bool pairs =
        params->mode == TORT_RESIZE_NEAREST || type == TORT_FLOAT || type == TORT_FLOAT16 || type == TORT_BFLOAT16;
    pairs = pairs && params->mode != TORT_RESIZE_CUBIC && params->transform != TORT_RESIZE_TF_CROP_AND_RESIZE &&
            !params->exclude_outside;
    for (int32_t d = 0; d < params->rank; d++) pairs = pairs && params->axes[d].taps <= 2;
    return pairs;
}

/* Finds the last two axes of images (batch, channels, rows, columns) in the view, which has joined neighbouring axes
 * that do not change. False if batch or channels change. */
static bool image_axes(const tort_resize_params *params, const int64_t *dims, tort_resize_axis *h,
                       tort_resize_axis *w) {
    int32_t i = params->rank - 1;
    *h = (tort_resize_axis){.in = dims[2], .out = dims[2], .taps = 1, .identity = true};
    *w = (tort_resize_axis){.in = dims[3], .out = dims[3], .taps = 1, .identity = true};
    const bool w_changes = i >= 0 && !params->axes[i].identity, w_is_alone = i >= 0 && params->axes[i].in == dims[3];
    if (w_changes) *w = params->axes[i];
    if (w_changes || w_is_alone) i--;
    if (i >= 0 && !params->axes[i].identity) *h = params->axes[i--];
    return h->in == dims[2] && w->in == dims[3] && (i < 0 || (i == 0 && params->axes[0].identity));
}

enum { GPU_LINE = 1 << 28 }; /* max elements of a line of the output */

static bool is_small(const tort_resize_axis *h, const tort_resize_axis *w, int64_t channels) {
    return h->in <= GPU_LINE && h->out <= GPU_LINE && w->in <= GPU_LINE / channels && w->out <= GPU_LINE / channels;
}

static tort_verdict claim_images(const tort_target *target, const tort_node_view *node) {
    const tort_resize_params *params = node->params;
    const tort_info *x = &node->inputs[0], *y = &node->outputs[0];
    tort_resize_axis h, w;
    const tort_verdict verdict = tort_cuda_claim_nhwc(target, node, x->rank > 1 ? x->dims[1] : 0);
    if (verdict.code != TORT_YES) return verdict;
    if (x->rank != 4) return tort_no(TORT_NO_SHAPE, "", "is for images of 2 axes");
    if (!has_pairs(params, x->type) || params->antialias)
        return tort_no(TORT_NO_ATTR, "", "is for nearest and linear, without regions and antialias");
    if (y->rank != 4 || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
        return tort_no(TORT_NO_SHAPE, "", "batch or channels change");
    if (params->rank < 1) return verdict; /* sizes are not known yet: fit sees them */
    if (!image_axes(params, x->dims, &h, &w)) return tort_no(TORT_NO_SHAPE, "", "batch or channels change");
    if (!is_small(&h, &w, x->dims[1])) return tort_no(TORT_NO_SHAPE, "", "a line has more than %d elements", GPU_LINE);
    return verdict;
}

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"

/* ---- nearest and linear in planes -------------------------------------------------------------------------------- */

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

static void fill_axis(const tort_resize_params *params, const tort_resize_axis *axis, gpu_pair *pairs) {
    for (int64_t i = 0; i < axis->out; i++)
        pairs[i] = axis->identity ? (gpu_pair){.low = (int32_t)i} : pair_of(params, axis, i);
}

/* The row of a view that has no other axis is pair 0, of zeros. */
static void fill_pairs(const tort_node_view *node, void *entries) {
    const tort_resize_params *params = node->params;
    const tort_resize_axis *w = &params->axes[params->rank - 1];
    gpu_pair *pairs = entries;
    fill_axis(params, w, pairs);
    if (params->rank > 1) fill_axis(params, w - 1, pairs + w->out);
}

/* ---- nearest and linear with channels last ----------------------------------------------------------------------- */

static tort_status prepare_images(tort_prepare *p) {
    const tort_resize_params *params = p->node->params;
    return tort_cuda_nhwc_loaded(
        p, gpu_load_resize_images(gpu_number_of(p->node->inputs[0].type), params->mode == TORT_RESIZE_LINEAR));
}

static void fill_images(const tort_node_view *node, void *entries) {
    const tort_resize_params *params = node->params;
    tort_resize_axis h, w;
    if (!image_axes(params, node->inputs[0].dims, &h, &w)) return; /* fit_images has refused those */
    gpu_pair *pairs = entries;
    fill_axis(params, &w, pairs);
    fill_axis(params, &h, pairs + w.out);
}

static tort_status fit_images(tort_fit *fit) {
    const tort_resize_params *params = fit->node->params;
    tort_resize_axis h, w;
    if (!image_axes(params, fit->node->inputs[0].dims, &h, &w))
        return tort_fail(fit->error, TORT_E_UNSUPPORTED, "batch or channels change; pin the node to cpu");
    if (!is_small(&h, &w, fit->node->inputs[0].dims[1]))
        return tort_fail(fit->error, TORT_E_UNSUPPORTED, "a line has more than %d elements; pin the node to cpu",
                         GPU_LINE);
    return cuda_table_fit(fit, (size_t)(w.out + h.out) * sizeof(gpu_pair), fill_images);
}

static tort_status run_images(const tort_call *call) {
    const tort_resize_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const cuda_table *table = call->fitted;
    const gpu_resize_planes p = {.planes = x->dims[0],
                                 .in_h = (int32_t)x->dims[2],
                                 .in_w = (int32_t)x->dims[3],
                                 .out_h = (int32_t)y->dims[2],
                                 .out_w = (int32_t)y->dims[3],
                                 .pairs = table->entries};
    return cuda_launched(call,
                         gpu_run_resize_images(cuda_stream_of(call), gpu_number_of(x->type),
                                               params->mode == TORT_RESIZE_LINEAR, &p, x->dims[1], x->data, y->data));
}

/* ---- any axes ---------------------------------------------------------------------------------------------------- */

/* Number of entries in the tables of all axes before `axis`: resolve has checked that their bytes fit a size_t. */
static int64_t table_entries(const tort_resize_params *params, int32_t axis) {
    int64_t total = 0;
    for (int32_t d = 0; d < axis; d++)
        if (!params->axes[d].identity) total += params->axes[d].out * params->axes[d].taps;
    return total;
}

static void fill_tables(const tort_node_view *node, void *entries) {
    const tort_resize_params *params = node->params;
    int64_t *indices = entries;
    double *weights = (double *)(void *)(indices + table_entries(params, params->rank));
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
    gpu_resize_planes p;
    if (planes_of(params, fit->node->inputs[0].type, &p))
        return cuda_table_fit(fit, ((size_t)p.out_w + (size_t)p.out_h) * sizeof(gpu_pair), fill_pairs);
    const size_t entries = (size_t)table_entries(params, params->rank);
    return cuda_table_fit(fit, entries * (sizeof(int64_t) + sizeof(double)), fill_tables);
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

#define IMAGES(op_name, host)                                                                                          \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "resize_nhwc", .host_inputs = host, .claim = claim_images,                \
        .prepare = CUDA_ONLY(prepare_images), .fit = CUDA_ONLY(fit_images), .unfit = CUDA_ONLY(cuda_table_unfit),      \
        .run = CUDA_ONLY(run_images), .layout.id = GPU_NHWC, .layout.inputs = 1, .layout.outputs = 1,                  \
        .layout.follows = true                                                                                         \
    }

const tort_kernel tort_cuda_resize_kernels[] = {
    IMAGES("Resize", 1u << 1 | 1u << 2 | 1u << 3),
    IMAGES("Upsample", 1u << 1),
    ROW("Resize", 1u << 1 | 1u << 2 | 1u << 3),
    ROW("Upsample", 1u << 1),
    {.op = NULL},
};
