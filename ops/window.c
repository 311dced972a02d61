/* window.c - HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: tables for processing signals. */
#include "ops/window.h"

#include "ops/numeric.h"
#include "ops/shapes.h"

#include <math.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Infers a dimension from input i, one integer: value / divisor + more. */
static tort_status infer_length(tort_infer *infer, int32_t i, const char *name, int64_t divisor, int64_t more,
                                tort_dim *out) {
    tort_scalar value;
    tort_status status = tort_read_symbol(infer, i, name, &value);
    if (status != TORT_OK) return status;
    if (!value.symbolic && value.value < 0)
        return tort_fail(infer->error, TORT_E_MODEL, "%s is %lld, expected 0 or more", name, (long long)value.value);
    tort_dim length = tort_scalar_to_dim(infer->dims, value);
    *out = tort_dim_add_const(infer->dims, tort_dim_floordiv(infer->dims, length, divisor), more);
    return TORT_OK;
}

static tort_status infer_window(tort_infer *infer) {
    tort_dim length;
    tort_status status = infer_length(infer, 0, "size", 1, 0, &length);
    if (status != TORT_OK) return status;
    tort_infer_shape(infer, 0, tort_attr_type(infer->node, "output_datatype"), 1, &length);
    return TORT_OK;
}

static tort_status infer_mel(tort_infer *infer) {
    static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                        "upper_edge_hertz"};
    tort_dim dims[2];
    tort_status status = infer_length(infer, 1, names[1], 2, 1, &dims[0]);
    if (status == TORT_OK) status = infer_length(infer, 0, names[0], 1, 0, &dims[1]);
    for (int32_t i = 2; status == TORT_OK && i < 5; i++)
        status = tort_check_single(infer->node, i, names[i], infer->error);
    if (status != TORT_OK) return status;
    tort_infer_shape(infer, 0, tort_attr_type(infer->node, "output_datatype"), 2, dims);
    return TORT_OK;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_window(tort_resolve *resolve) {
    tort_window *params = resolve->params;
    params->periodic = tort_attr_int(resolve->node, "periodic") != 0;
    return TORT_OK;
}

typedef enum window_kind { HANN, HAMMING, BLACKMAN } window_kind;

tort_cosines tort_window_cosines(const tort_op *op) {
    static const tort_cosines cosines[] = {
        [HANN] = {0.5, 0.5, 0}, [HAMMING] = {25.0 / 46, 21.0 / 46, 0}, [BLACKMAN] = {0.42, 0.5, 0.08}};
    return cosines[op->variant];
}

static tort_status run_window(const tort_call *call) {
    const double turn = 6.283185307179586;
    const tort_window *params = call->params;
    const tort_tensor *out = &call->outputs[0];
    const tort_cosines c = tort_window_cosines(call->op);
    int64_t size = out->dims[0];
    double period = (double)(params->periodic ? size : size - 1);
    for (int64_t n = 0; n < size && tort_row_goes_on(call->watch, n); n++) {
        double angle = turn * (double)n / period;
        double value = c.a - c.b * cos(angle) + c.c * cos(2 * angle);
        tort_store_doubles(out->type, out->data, n, 1, &value);
    }
    return TORT_OK;
}

/* ---- MelWeightMatrix --------------------------------------------------------------------------------------------- */

static double hertz_to_mel(double hertz) {
    return 2595 * log10(1 + hertz / 700);
}

/* Spectrogram bin of point k. */
static int64_t bin_of(const tort_mel *m, int64_t k) {
    double hertz = 700 * (pow(10, (m->low + (double)k * m->step) / 2595) - 1);
    return tort_double_to_int64(floor((double)(m->length + 1) * hertz / (double)m->rate));
}

tort_status tort_mel_read(const tort_call *call, tort_mel *m) {
    double edges[2];
    int64_t *integers[3] = {&m->bins, &m->length, &m->rate};
    for (int i = 0; i < 3; i++) tort_load_integers(call->inputs[i].type, call->inputs[i].data, 0, 1, integers[i]);
    for (int i = 0; i < 2; i++) tort_load_doubles(call->inputs[3 + i].type, call->inputs[3 + i].data, 0, 1, &edges[i]);
    m->low = hertz_to_mel(edges[0]);
    m->step = (hertz_to_mel(edges[1]) - m->low) / (double)(m->bins + 2);
    if (m->rate > 0) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN, "sample_rate is %lld, expected 1 or more", (long long)m->rate);
}

tort_status tort_mel_column(const tort_call *call, const tort_mel *m, int64_t column, int64_t rows, int64_t bins[3]) {
    for (int k = 0; k < 3; k++) bins[k] = bin_of(m, column + k);
    if (bins[0] >= 0 && bins[1] >= bins[0] && bins[2] >= bins[1] && bins[1] < rows && bins[2] <= rows) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN,
                     "mel bin %lld reaches spectrogram bins %lld to %lld, but dft_length gives %lld: the edges must be "
                     "from 0 to half of sample_rate",
                     (long long)column, (long long)bins[0], (long long)bins[2], (long long)rows);
}

/* Fills column i with a triangle over the bins of points i, i + 1 and i + 2. */
static tort_status run_mel(const tort_call *call) {
    const tort_tensor *out = &call->outputs[0];
    int64_t rows = out->dims[0], columns = out->dims[1], done = 0;
    tort_mel m;
    tort_status status = tort_mel_read(call, &m);
    for (int64_t i = 0; !status && i < columns; i++) {
        int64_t bins[3];
        status = tort_mel_column(call, &m, i, rows, bins);
        const int64_t left = bins[0], center = bins[1], right = bins[2];
        for (int64_t j = 0; !status && j < rows; j++) {
            if (!tort_work_goes_on(call->watch, &done, 4)) return TORT_OK;
            double weight = j == center ? 1 : 0;
            if (j >= left && j < center) weight = (double)(j - left) / (double)(center - left);
            if (j > center && j < right) weight = (double)(right - j) / (double)(right - center);
            tort_store_doubles(out->type, out->data, j * columns + i, 1, &weight);
        }
    }
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_window[] = {
    {"", "BlackmanWindow", 17, TORT_NEWEST_OPSET, "size:T1", "output:T2", "T1=int32|int64 T2=numeric13",
     "output_datatype:int(T2)=1 periodic:int=1", .shape_inputs = 1u, .variant = BLACKMAN,
     .params_size = sizeof(tort_window), .infer = infer_window, .resolve = resolve_window, .reference = run_window},
    {"", "HammingWindow", 17, TORT_NEWEST_OPSET, "size:T1", "output:T2", "T1=int32|int64 T2=numeric13",
     "output_datatype:int(T2)=1 periodic:int=1", .shape_inputs = 1u, .variant = HAMMING,
     .params_size = sizeof(tort_window), .infer = infer_window, .resolve = resolve_window, .reference = run_window},
    {"", "HannWindow", 17, TORT_NEWEST_OPSET, "size:T1", "output:T2", "T1=int32|int64 T2=numeric13",
     "output_datatype:int(T2)=1 periodic:int=1", .shape_inputs = 1u, .variant = HANN,
     .params_size = sizeof(tort_window), .infer = infer_window, .resolve = resolve_window, .reference = run_window},
    {"", "MelWeightMatrix", 17, TORT_NEWEST_OPSET,
     "num_mel_bins:T1 dft_length:T1 sample_rate:T1 lower_edge_hertz:T2 upper_edge_hertz:T2", "output:T3",
     "T1=int32|int64 T2=floats13 T3=numeric13", "output_datatype:int(T3)=1", .shape_inputs = 3u, .infer = infer_mel,
     .reference = run_mel},
    {0},
};
