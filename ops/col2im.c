/* col2im.c - Col2Im: sums overlapping blocks, stored as columns, into an image with any number of spatial axes.
 *
 * Each pixel gathers from all blocks that cover it, so that no two threads write to one pixel and sums stay in
 * double. */
#include "ops/col2im.h"

#include "ops/numeric.h"
#include "ops/shapes.h"

/* ---- attributes and shapes ----------------------------------------------------------------------------------- */

/* Fills image, block and places (positions of the block) of axis k, and multiplies them into block_size and
 * place_count. pad_end: padding behind the image. */
static tort_status col2im_axis(tort_error *error, int32_t k, int64_t image, int64_t block, int64_t pad_end,
                               tort_col2im_params *p) {
    if (image < 0 || block < 1 || image > INT32_MAX || block > INT32_MAX)
        return tort_fail(error, TORT_E_MODEL, "an image of %lld and blocks of %lld along axis %d", (long long)image,
                         (long long)block, (int)k);
    int64_t room = image + p->pads[k] + pad_end - p->dilations[k] * (block - 1) - 1;
    p->image[k] = image;
    p->block[k] = block;
    p->places[k] = room < 0 ? 0 : room / p->strides[k] + 1;
    tort_status status = tort_size_mul(error, p->block_size, block, &p->block_size);
    return status ? status : tort_size_mul(error, p->place_count, p->places[k], &p->place_count);
}

/* Fills `p` from the attributes and from image_shape and block_shape; *sizes: true if the contents of both are
 * known. */
static tort_status col2im_read(const tort_node_view *node, tort_error *error, tort_col2im_params *p, bool *sizes) {
    int64_t pads[2 * TORT_COL2IM_RANK];
    tort_numbers image, block;
    tort_status status = tort_read_numbers(node, 1, "image_shape", &image, error);
    if (!status) status = tort_read_numbers(node, 2, "block_shape", &block, error);
    *sizes = false;
    if (status) return status;
    *sizes = image.known == TORT_KNOWN && block.known == TORT_KNOWN;
    p->spatial = image.count < 0 ? block.count : image.count;
    if (p->spatial < 0) return TORT_OK;
    if (p->spatial < 1 || p->spatial > TORT_COL2IM_RANK)
        return tort_fail(error, TORT_E_MODEL, "image_shape and block_shape have %d entries, expected 1 to %d",
                         (int)p->spatial, TORT_COL2IM_RANK);
    status = tort_check_entries(error, "block_shape", block.count, p->spatial);
    if (!status) status = tort_read_sizes(node, "strides", p->spatial, 1, 1, p->strides, error);
    if (!status) status = tort_read_sizes(node, "dilations", p->spatial, 1, 1, p->dilations, error);
    if (!status) status = tort_read_sizes(node, "pads", 2 * p->spatial, 0, 0, pads, error);
    if (status || !*sizes) return status;
    p->block_size = p->place_count = 1;
    for (int32_t k = 0; k < p->spatial && !status; k++) {
        p->pads[k] = pads[k];
        status = col2im_axis(error, k, image.values[k], block.values[k], pads[k + p->spatial], p);
    }
    return status;
}

static tort_status check_blocks(tort_error *error, const tort_info *input) {
    if (input->type == TORT_STRING || input->type == TORT_BOOL)
        return tort_fail(error, TORT_E_UNSUPPORTED, "blocks of type %s cannot be added up",
                         tort_type_name(input->type));
    if (input->rank < 0 || input->rank == 3) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the input must be [N, C * block, L]; it has rank %d", (int)input->rank);
}

/* Channels of the image: axis 1 of the input divided by the elements of a block. */
static tort_status count_channels(const tort_infer *infer, const tort_col2im_params *p, tort_dim *channels) {
    const tort_dim depth = infer->node->inputs[0].dims[1], places = infer->node->inputs[0].dims[2];
    if ((tort_dim_known(depth) && depth % p->block_size) || (tort_dim_known(places) && places != p->place_count))
        return tort_fail(infer->error, TORT_E_MODEL,
                         "the input is [N, %lld, %lld]; needs a multiple of %lld, the block's size, and %lld, its "
                         "number of places",
                         (long long)depth, (long long)places, (long long)p->block_size, (long long)p->place_count);
    *channels = tort_dim_floordiv(infer->dims, depth, p->block_size);
    return TORT_OK;
}

static tort_status col2im_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_col2im_params p = {0};
    tort_symbols image;
    bool known = false;
    tort_status status = check_blocks(infer->error, input);
    if (!status) status = col2im_read(infer->node, infer->error, &p, &known);
    if (status) return status;
    tort_infer_unknown(infer, 0, input->type);
    status = tort_read_symbols(infer->node, infer->dims, 1, "image_shape", &image, infer->error);
    if (status || input->rank < 0 || image.known != TORT_KNOWN) return status;

    tort_dim dims[TORT_MAX_RANK] = {input->dims[0], tort_dim_fresh(infer->dims, !known)};
    for (int32_t k = 0; k < image.count; k++) dims[2 + k] = tort_scalar_to_dim(infer->dims, image.values[k]);
    if (known) status = count_channels(infer, &p, &dims[1]);
    if (!status) tort_infer_shape(infer, 0, input->type, 2 + image.count, dims);
    return status;
}

static tort_status col2im_resolve(tort_resolve *resolve) {
    bool known;
    return col2im_read(resolve->node, resolve->error, resolve->params, &known);
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

typedef struct col2im_job {
    const tort_call *call;
    const tort_col2im_params *p;
    const void *in;
    void *out;
    tort_type type; /* of a part: a complex number has two, real and imaginary */
    int64_t parts, pixels;
} col2im_job;

/* Walk over the positions in the block, along each axis, with which a placed block can cover a pixel. */
typedef struct col2im_walk {
    int64_t offset[TORT_COL2IM_RANK]; /* of the pixel, from the first element of the padded image */
    int64_t at[TORT_COL2IM_RANK], from[TORT_COL2IM_RANK], to[TORT_COL2IM_RANK];
} col2im_walk;

/* Starts the walk; false: no block covers the pixel. Only positions that can reach it are walked, since a block may be
 * far larger than the image. */
static bool walk_begin(const tort_col2im_params *p, const int64_t *position, col2im_walk *walk) {
    for (int32_t k = 0; k < p->spatial; k++) {
        const int64_t step = p->dilations[k], offset = position[k] + p->pads[k];
        const int64_t behind = offset - (p->places[k] - 1) * p->strides[k];
        walk->offset[k] = offset;
        walk->at[k] = walk->from[k] = behind > 0 ? (behind + step - 1) / step : 0;
        walk->to[k] = offset / step + 1 < p->block[k] ? offset / step + 1 : p->block[k];
        if (p->places[k] == 0 || walk->from[k] >= walk->to[k]) return false;
    }
    return true;
}

static bool walk_next(const tort_col2im_params *p, col2im_walk *walk) {
    for (int32_t k = p->spatial - 1; k >= 0; k--) {
        if (++walk->at[k] < walk->to[k]) return true;
        walk->at[k] = walk->from[k];
    }
    return false;
}

/* Offset, from the channel's first element, of the input element that covers the pixel at this position; -1: no block
 * is placed there. */
static int64_t covered(const tort_col2im_params *p, const col2im_walk *walk) {
    int64_t cell = 0, place = 0;
    for (int32_t k = 0; k < p->spatial; k++) {
        const int64_t from = walk->offset[k] - walk->at[k] * p->dilations[k];
        if (from % p->strides[k] != 0) return -1;
        cell = cell * p->block[k] + walk->at[k];
        place = place * p->places[k] + from / p->strides[k];
    }
    return cell * p->place_count + place;
}

/* Sum over all blocks that cover the pixel at `position` (of integers: *integer); `base`: the channel's first
 * element. */
static double gather(const col2im_job *job, const int64_t *position, int64_t base, int64_t part, int64_t *integer) {
    const tort_col2im_params *p = job->p;
    col2im_walk walk;
    double sum = 0;
    uint64_t exact = 0;
    int64_t done = 0;
    for (bool more = walk_begin(p, position, &walk); more && tort_row_goes_on(job->call->watch, done++);
         more = walk_next(p, &walk)) {
        const int64_t found = covered(p, &walk), at = (base + found) * job->parts + part;
        if (found < 0) continue;
        if (tort_type_is_float(job->type)) {
            double value;
            tort_load_doubles(job->type, job->in, at, 1, &value);
            sum += value;
        } else {
            int64_t value;
            tort_load_integers(job->type, job->in, at, 1, &value);
            exact += (uint64_t)value; /* wraps */
        }
    }
    *integer = (int64_t)exact;
    return sum;
}

static void gather_pixels(void *arg, int64_t begin, int64_t end) {
    const col2im_job *job = arg;
    const tort_col2im_params *p = job->p;
    for (int64_t pixel = begin; pixel < end; pixel++) {
        int64_t position[TORT_COL2IM_RANK], rest = pixel % job->pixels;
        const int64_t plane = p->place_count ? pixel / job->pixels * p->block_size * p->place_count : 0;
        for (int32_t k = p->spatial - 1; k >= 0; k--) {
            position[k] = rest % p->image[k];
            rest /= p->image[k];
        }
        for (int64_t part = 0; part < job->parts; part++) {
            int64_t integer;
            double sum = gather(job, position, plane, part, &integer);
            if (tort_type_is_float(job->type)) {
                tort_store_doubles(job->type, job->out, pixel * job->parts + part, 1, &sum);
            } else {
                tort_store_integers(job->type, job->out, pixel * job->parts + part, 1, &integer);
            }
        }
    }
}

static tort_status col2im_reference(const tort_call *call) {
    const tort_col2im_params *p = call->params;
    const tort_tensor *output = &call->outputs[0];
    col2im_job job = {call, p, call->inputs[0].data, output->data, output->type, 1, 1};
    if (output->type == TORT_COMPLEX64 || output->type == TORT_COMPLEX128) {
        job.type = output->type == TORT_COMPLEX64 ? TORT_FLOAT : TORT_DOUBLE;
        job.parts = 2;
    }
    for (int32_t k = 0; k < p->spatial; k++) job.pixels *= p->image[k];
    int64_t cells = 1; /* that may cover a pixel */
    for (int32_t k = 0; k < p->spatial; k++) {
        const int64_t reach = (p->places[k] - 1) * p->strides[k] / p->dilations[k] + 1;
        cells *= p->block[k] < reach ? p->block[k] : reach;
    }
    tort_parallel(call, tort_count(output), 10 * cells, gather_pixels, &job);
    return TORT_OK;
}

const tort_op tort_ops_col2im[] = {
    {"", "Col2Im", 18, TORT_NEWEST_OPSET, "input:T image_shape:int64 block_shape:int64", "output:T", "T=all13",
     "dilations:ints pads:ints strides:ints", .shape_inputs = 1u << 1 | 1u << 2,
     .params_size = sizeof(tort_col2im_params), col2im_infer, col2im_resolve, col2im_reference},
    {0},
};
