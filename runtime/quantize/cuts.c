/* cuts.c - where the range of a value may end because what reads it does not change beyond: HardSwish is 0 below -3, so
 * that codes for -45..-3 would be wasted.
 *
 * A root whose readers are all in its region (rules.c) is read as the region's functions alone. They are run on a grid
 * over the extremes of the root, by the runtime itself, and a side is cut where all of them stay within a quarter of a
 * step of their own codes. */
#include <math.h>
#include <string.h>

#include "runtime/include/op.h"
#include "runtime/quantize/state.h"

enum { POINTS = 4096 };

static bool is_cut(const tort_quantized *q, const tort_ranges *ranges, int32_t value) {
    const tort_net_value *v = &q->net.values[value];
    if (!ranges->statistics[value] || v->is_output || v->captured || !v->reader_count) return false;
    if (q->rules.joined[value] || q->rules.root[value] != value) return false;
    for (int32_t k = 0; k < v->reader_count; k++) {
        const int32_t reader = tort_net_reader(&q->net, v, k), output = q->net.nodes[reader].outputs[0];
        if (!q->rules.able[reader] || output < 0 || q->rules.root[output] != value) return false;
    }
    return true;
}

/* A value of a region that something else reads, or an output: its rounding is that of the region. */
static bool is_end(const tort_quantized *q, const tort_ranges *ranges, int32_t value) {
    return q->rules.root[value] != value && ranges->statistics[value] &&
           !tort_rules_is_inner(&q->rules, q->rules.able, value);
}

static TortOnnx__ValueInfoProto *port_of(tort_quantized *q, char *name, bool grid) {
    tort_maker *maker = &q->scratch;
    TortOnnx__ValueInfoProto *port = tort_make(maker, 1, sizeof *port);
    tort_onnx__value_info_proto__init(port);
    port->name = name;
    if (!grid) return port;
    port->type = tort_make(maker, 1, sizeof *port->type);
    tort_onnx__type_proto__init(port->type);
    port->type->value_case = TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    TortOnnx__TypeProto__Tensor *type = port->type->tensor_type = tort_make(maker, 1, sizeof *type);
    tort_onnx__type_proto__tensor__init(type);
    type->has_elem_type = true;
    type->elem_type = TORT_FLOAT;
    type->shape = tort_make(maker, 1, sizeof *type->shape);
    tort_onnx__tensor_shape_proto__init(type->shape);
    TortOnnx__TensorShapeProto__Dimension *dim = tort_make(maker, 1, sizeof *dim);
    type->shape->dim = tort_make(maker, 1, sizeof *type->shape->dim);
    type->shape->dim[type->shape->n_dim++] = dim;
    tort_onnx__tensor_shape_proto__dimension__init(dim);
    dim->value_case = TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = POINTS;
    return port;
}

/* The regions of all roots that are cut, as a model from grids to their ends. roots, ends: the values, in the order of
 * its inputs and outputs. */
static TortOnnx__ModelProto *write_regions(tort_quantized *q, const tort_ranges *ranges, int32_t *roots,
                                           int32_t *root_count, int32_t *ends, int32_t *end_count) {
    const size_t values = (size_t)q->net.value_count;
    tort_net_writer out;
    tort_net_begin(&out, &q->net, &q->scratch);
    TortOnnx__GraphProto *graph = out.proto->graph;
    graph->input = tort_make(&q->scratch, values, sizeof *graph->input);
    graph->output = tort_make(&q->scratch, values, sizeof *graph->output);
    graph->n_input = graph->n_output = 0;
    for (int32_t i = 0; i < q->net.value_count; i++) {
        if (is_cut(q, ranges, i)) {
            roots[(*root_count)++] = i;
            graph->input[graph->n_input++] = port_of(q, q->net.values[i].name, true);
        } else if (is_end(q, ranges, i) && is_cut(q, ranges, q->rules.root[i])) {
            ends[(*end_count)++] = i;
            graph->output[graph->n_output++] = port_of(q, q->net.values[i].name, false);
        }
    }
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const int32_t value = q->net.nodes[i].output_count ? q->net.nodes[i].outputs[0] : -1;
        if (value >= 0 && q->rules.able[i] && q->rules.root[value] != value && is_cut(q, ranges, q->rules.root[value]))
            tort_net_add_node(&out, tort_net_copy_node(&out, &q->net.nodes[i], 0));
    }
    tort_net_end(&out, &q->net);
    return out.proto;
}

/* The grid: both extremes, and equal distances between. */
static float point(const tort_statistics *s, int32_t i) {
    return s->low + (s->high - s->low) * (float)i / (POINTS - 1);
}

/* Narrows the cut of a root by one end of its region. */
static void cut(tort_range *range, const tort_statistics *root, const tort_statistics *end, const float *f) {
    const double step = (fmax((double)end->high, 0) - fmin((double)end->low, 0)) / 255, near = step / 4;
    int32_t first = 0, last = POINTS - 1;
    while (first < last && fabs((double)f[first + 1] - (double)f[0]) <= near) first++;
    while (last > first && fabs((double)f[last - 1] - (double)f[POINTS - 1]) <= near) last--;
    range->low = fminf(range->low, first > 0 ? point(root, first) : -INFINITY);
    range->high = fmaxf(range->high, last < POINTS - 1 ? point(root, last) : INFINITY);
}

static tort_status run_regions(tort_quantized *q, tort_ranges *ranges, const int32_t *roots, int32_t root_count,
                               const int32_t *ends, int32_t end_count) {
    float *grids = tort_make(&q->scratch, (size_t)root_count * POINTS, sizeof *grids);
    tort_tensor *inputs = tort_make(&q->scratch, (size_t)root_count, sizeof *inputs);
    tort_tensor *outputs = tort_make(&q->scratch, (size_t)end_count, sizeof *outputs);
    for (int32_t i = 0; i < root_count; i++) {
        inputs[i] = (tort_tensor){TORT_FLOAT, 1, {POINTS}, grids + (size_t)i * POINTS};
        for (int32_t k = 0; k < POINTS; k++) grids[i * POINTS + k] = point(ranges->statistics[roots[i]], k);
    }
    const tort_status status = tort_context_run(q->trial.context, inputs, root_count, outputs, end_count, q->error);
    for (int32_t i = 0; !status && i < root_count; i++) ranges->cuts[roots[i]] = (tort_range){INFINITY, -INFINITY};
    for (int32_t i = 0; !status && i < end_count; i++) {
        const int32_t root = q->rules.root[ends[i]];
        cut(&ranges->cuts[root], ranges->statistics[root], ranges->statistics[ends[i]], outputs[i].data);
    }
    return status;
}

tort_status tort_quantize_cut(tort_quantized *q, tort_ranges *ranges) {
    const size_t values = (size_t)q->net.value_count;
    int32_t *roots = tort_make(&q->maker, values, sizeof *roots), root_count = 0;
    int32_t *ends = tort_make(&q->maker, values, sizeof *ends), end_count = 0;
    ranges->cuts = tort_make(&q->maker, values, sizeof *ranges->cuts);
    for (int32_t i = 0; i < q->net.value_count; i++) ranges->cuts[i] = (tort_range){-INFINITY, INFINITY};
    const TortOnnx__ModelProto *proto = write_regions(q, ranges, roots, &root_count, ends, &end_count);
    if (!end_count) return TORT_OK;
    tort_status status = tort_quantize_open(q, proto, false);
    if (!status) status = run_regions(q, ranges, roots, root_count, ends, end_count);
    tort_quantize_close(q);
    return status;
}
