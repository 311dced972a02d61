/* affine_grid.c - AffineGrid: the position of each output pixel in the input image, for GridSample. */
#include "ops/affine_grid.h"

#include "ops/numeric.h"
#include "ops/shapes.h"

static tort_status affine_infer(tort_infer *infer) {
    const tort_info *theta = &infer->node->inputs[0];
    tort_symbols size;
    if (theta->rank >= 0 && theta->rank != 3) {
        return tort_fail(infer->error, TORT_E_MODEL, "theta must be [N,2,3] or [N,3,4]; it has rank %d",
                         (int)theta->rank);
    }
    tort_infer_unknown(infer, 0, theta->type);
    tort_status status = tort_read_shape(infer, 1, "size", 0, &size);
    if (status || size.known != TORT_KNOWN) return status;
    if (size.count != 4 && size.count != 5) {
        return tort_fail(infer->error, TORT_E_MODEL, "size has %d entries, expected 4 (N,C,H,W) or 5 (N,C,D,H,W)",
                         (int)size.count);
    }
    int32_t spatial = size.count - 2;
    for (int32_t k = 1; k < 3 && theta->rank == 3; k++) {
        if (!tort_dim_known(theta->dims[k]) || theta->dims[k] == spatial + k - 1) continue;
        return tort_fail(infer->error, TORT_E_MODEL, "theta has %lld elements along axis %d, size asks for %d",
                         (long long)theta->dims[k], (int)k, (int)(spatial + k - 1));
    }
    tort_dim dims[5];
    for (int32_t k = 0; k < size.count; k++) {
        int32_t to = k < 2 ? 0 : k - 1; /* the grid has no axis for C */
        if (k != 1) dims[to] = tort_scalar_to_dim(infer->dims, size.values[k]);
    }
    status = theta->rank == 3 ? tort_dim_unify(infer->error, 0, theta->dims[0], dims[0], &dims[0]) : TORT_OK;
    dims[size.count - 1] = spatial;
    if (!status) tort_infer_shape(infer, 0, theta->type, size.count, dims);
    return status;
}

static tort_status affine_resolve(tort_resolve *resolve) {
    ((tort_affine_grid_params *)resolve->params)->align_corners = tort_attr_int(resolve->node, "align_corners") != 0;
    return TORT_OK;
}

/* Returns the centre of pixel i of n as GridSample counts it, from -1 to 1. */
static double pixel_position(int64_t i, int64_t n, bool align_corners) {
    if (align_corners) return n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1 : 0;
    return (2.0 * (double)i + 1) / (double)n - 1;
}

typedef struct affine_job {
    const tort_tensor *theta, *grid;
    bool align_corners;
} affine_job;

/* Computes rows of the grid; a row has the last two dimensions, W and the coordinates. */
static void affine_rows(void *arg, int64_t begin, int64_t end) {
    const affine_job *job = arg;
    const int64_t *dims = job->grid->dims;
    int32_t spatial = job->grid->rank - 2, last = spatial; /* dims[1..spatial] are D, H, W or H, W */
    for (int64_t row = begin; row < end; row++) {
        double position[4] = {0}, theta[12]; /* homogeneous: x, y, z, 1 */
        int64_t rest = row;
        for (int32_t k = last - 1; k >= 1; k--) {
            position[last - k] = pixel_position(rest % dims[k], dims[k], job->align_corners);
            rest /= dims[k];
        }
        position[spatial] = 1;
        tort_load_doubles(job->theta->type, job->theta->data, rest * spatial * (spatial + 1), spatial * (spatial + 1),
                          theta);
        for (int64_t x = 0; x < dims[last]; x++) {
            double out[3] = {0};
            position[0] = pixel_position(x, dims[last], job->align_corners);
            for (int32_t i = 0; i < spatial; i++) {
                for (int32_t j = 0; j <= spatial; j++) out[i] += theta[i * (spatial + 1) + j] * position[j];
            }
            tort_store_doubles(job->grid->type, job->grid->data, (row * dims[last] + x) * spatial, spatial, out);
        }
    }
}

static tort_status affine_reference(const tort_call *call) {
    const tort_affine_grid_params *params = call->params;
    affine_job job = {&call->inputs[0], &call->outputs[0], params->align_corners};
    int64_t count = tort_count(job.grid), row = job.grid->dims[job.grid->rank - 2] * (job.grid->rank - 2);
    if (count > 0) tort_parallel(call, count / row, 20 * row, affine_rows, &job);
    return TORT_OK;
}

const tort_op tort_ops_affine_grid[] = {
    {"", "AffineGrid", 20, TORT_NEWEST_OPSET, "theta:T1 size:T2", "grid:T1", "T1=floats13 T2=int64",
     "align_corners:int=0", .shape_inputs = 1u << 1, .params_size = sizeof(tort_affine_grid_params), affine_infer,
     affine_resolve, affine_reference},
    {0},
};
