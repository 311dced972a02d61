/* cumulative.c - CumSum and CumProd along an axis.
 *
 * x is [outer, length, inner]. Floats accumulate in double and round once per element; integers wrap. With inner = 1,
 * blocks follow each other along the axis; otherwise a block is a part of inner, accumulated along the axis as a
 * whole. */
#include "ops/cumulative.h"

#include "ops/extent.h"
#include "ops/shapes.h"

enum { CUMULATIVE_SUM, CUMULATIVE_PRODUCT }; /* values of tort_op.variant */

static tort_status infer_cumulative(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    int64_t axis;
    int32_t normalized;
    bool known;
    tort_infer_same(infer, 0, 0);
    tort_status status = tort_read_number(infer->node, 1, "axis", &axis, &known, infer->error);
    if (status || x->rank < 0 || !known) return status;
    return tort_normalize_axis(infer->error, axis, x->rank, &normalized);
}

static tort_status resolve_cumulative(tort_resolve *resolve) {
    tort_cumulative_params *params = resolve->params;
    params->exclusive = tort_attr_int(resolve->node, "exclusive") != 0;
    params->reverse = tort_attr_int(resolve->node, "reverse") != 0;
    return TORT_OK;
}

typedef union block {
    double d[TORT_BLOCK];
    uint64_t u[TORT_BLOCK];
    int64_t i[TORT_BLOCK];
} block;

typedef struct accumulation {
    const tort_call *call;
    bool product, exclusive, reverse, in_double;
    int64_t length, inner;
    int64_t parts; /* number of blocks in inner */
} accumulation;

static void load(const accumulation *a, int64_t first, int64_t count, block *to) {
    const tort_tensor *x = &a->call->inputs[0];
    if (a->in_double) {
        tort_load_doubles(x->type, x->data, first, count, to->d);
    } else {
        tort_load_integers(x->type, x->data, first, count, to->i);
    }
}

static void store(const accumulation *a, int64_t first, int64_t count, const block *from) {
    const tort_tensor *out = &a->call->outputs[0];
    if (a->in_double) {
        tort_store_doubles(out->type, out->data, first, count, from->d);
    } else {
        tort_store_integers(out->type, out->data, first, count, from->i);
    }
}

static double join_doubles(const accumulation *a, double x, double y) {
    return a->product ? x * y : x + y;
}
static uint64_t join_integers(const accumulation *a, uint64_t x, uint64_t y) {
    return a->product ? x * y : x + y;
}

static void start(const accumulation *a, int64_t count, block *sums) {
    for (int64_t i = 0; i < count; i++) {
        if (a->in_double) {
            sums->d[i] = a->product;
        } else {
            sums->u[i] = a->product;
        }
    }
}

/* Accumulates one contiguous line (inner == 1), from its element `first` on. */
static void along_line(const accumulation *a, int64_t first) {
    block values, sum;
    start(a, 1, &sum);
    for (int64_t done = 0; done < a->length && tort_row_goes_on(a->call->watch, done); done += TORT_BLOCK) {
        int64_t count = tort_block_count(a->length, done);
        int64_t at = first + (a->reverse ? a->length - done - count : done);
        load(a, at, count, &values);
        for (int64_t k = 0; k < count; k++) {
            int64_t i = a->reverse ? count - 1 - k : k;
            if (a->in_double) {
                double before = sum.d[0];
                sum.d[0] = join_doubles(a, before, values.d[i]);
                values.d[i] = a->exclusive ? before : sum.d[0];
            } else {
                uint64_t before = sum.u[0];
                sum.u[0] = join_integers(a, before, values.u[i]);
                values.u[i] = a->exclusive ? before : sum.u[0];
            }
        }
        store(a, at, count, &values);
    }
}

/* Accumulates `count` neighbouring lines along the axis, which begin at elements first .. first+count-1. */
static void across(const accumulation *a, int64_t first, int64_t count) {
    block values, sums;
    start(a, count, &sums);
    for (int64_t done = 0; done < a->length && tort_row_goes_on(a->call->watch, done * TORT_BLOCK); done++) {
        int64_t at = first + (a->reverse ? a->length - 1 - done : done) * a->inner;
        load(a, at, count, &values);
        if (a->exclusive) store(a, at, count, &sums);
        for (int64_t i = 0; i < count; i++) {
            if (a->in_double) {
                sums.d[i] = join_doubles(a, sums.d[i], values.d[i]);
            } else {
                sums.u[i] = join_integers(a, sums.u[i], values.u[i]);
            }
        }
        if (!a->exclusive) store(a, at, count, &sums);
    }
}

static void accumulate(void *arg, int64_t begin, int64_t end) {
    const accumulation *a = arg;
    for (int64_t line = begin; line < end; line++) {
        int64_t outer = line / a->parts, part = line % a->parts * TORT_BLOCK;
        int64_t first = outer * a->length * a->inner + part;
        if (a->inner == 1) {
            along_line(a, first);
        } else {
            across(a, first, tort_block_count(a->inner, part));
        }
    }
}

tort_status tort_cumulative_view_of(const tort_call *call, tort_cumulative_view *view) {
    const tort_tensor *x = &call->inputs[0];
    int64_t given;
    int32_t axis;
    tort_load_integers(call->inputs[1].type, call->inputs[1].data, 0, 1, &given);
    if (tort_normalize_axis(call->error, given, x->rank, &axis) != TORT_OK)
        return tort_fail(call->error, TORT_E_RUN, "axis is %lld, expected -%d to %d", (long long)given, x->rank,
                         x->rank - 1);
    *view = (tort_cumulative_view){.outer = tort_extent(x->dims, 0, axis),
                                   .length = x->dims[axis],
                                   .inner = tort_extent(x->dims, axis + 1, x->rank)};
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_cumulative_params *params = call->params;
    tort_cumulative_view view;
    tort_status status = tort_cumulative_view_of(call, &view);
    if (status || tort_count(&call->inputs[0]) == 0) return status;
    accumulation a = {.call = call,
                      .product = call->op->variant == CUMULATIVE_PRODUCT,
                      .exclusive = params->exclusive,
                      .reverse = params->reverse,
                      .in_double = tort_type_is_float(call->inputs[0].type),
                      .length = view.length,
                      .inner = view.inner,
                      .parts = (view.inner + TORT_BLOCK - 1) / TORT_BLOCK};
    tort_parallel(call, view.outer * a.parts, a.length * tort_block_count(a.inner, 0) * 2, accumulate, &a);
    return TORT_OK;
}

#define BY(kind)                                                                                                       \
    .variant = CUMULATIVE_##kind, .params_size = sizeof(tort_cumulative_params), .infer = infer_cumulative,            \
    .resolve = resolve_cumulative, .reference = run

const tort_op tort_ops_cumulative[] = {
    {"", "CumProd", 26, TORT_NEWEST_OPSET, "x:T axis:T2", "y:T", "T=high13 T2=int32|int64",
     "exclusive:int=0 reverse:int=0", BY(PRODUCT)},
    {"", "CumSum", 11, 13, "x:T axis:T2", "y:T", "T=high|-float16 T2=int32|int64", "exclusive:int=0 reverse:int=0",
     BY(SUM)},
    {"", "CumSum", 14, TORT_NEWEST_OPSET, "x:T axis:T2", "y:T", "T=high13 T2=int32|int64",
     "exclusive:int=0 reverse:int=0", BY(SUM)},
    {0},
};
