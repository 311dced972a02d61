/* nhwc_max_pool.c - NhwcMaxPool: MaxPool of 8-bit elements whose channels are last.
 *
 * Read next: pool.h, channels_last.h. */
#include "ops/microsoft/channels_last.h"
#include "ops/pool.h"

static tort_status infer(tort_infer *infer) {
    return tort_planar_infer(infer, true, tort_infer_pool);
}

/* Scratch: X and Y with the channels first, then the scratch of the pool. */
static tort_status resolve(tort_resolve *resolve) {
    tort_status status = tort_planar_resolve(resolve, true, resolve->params, tort_resolve_max_pool);
    if (status != TORT_OK) return status;
    if (tort_planar_scratch(resolve->node, TORT_PLANAR_X, &resolve->scratch_bytes)) return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

static tort_status run(const tort_call *call) {
    return tort_planar_run(call, TORT_PLANAR_X, tort_run_pool);
}

const tort_op tort_ops_nhwc_max_pool[] = {
    {"com.microsoft", "NhwcMaxPool", 1, 1, "x:T", "y:T", "T=uint8|int8",
     "auto_pad:string=NOTSET ceil_mode:int=0 dilations:ints kernel_shape:ints! pads:ints strides:ints",
     .params_size = sizeof(tort_pool_params), infer, resolve, run},
    {0},
};
