/* conv_cudnn.c - Conv by cuDNN: what it can express, how much workspace it may have, which algorithm it takes.
 *
 * Everything that depends on shapes is settled when a plan is made: size states the most workspace that the node will
 * have, fit makes cuDNN's descriptors and takes the best algorithm that lives within it. run only calls, with the
 * context's own handle and workspace; descriptors are read alone, so contexts share them.
 * The own kernel stands in where cuDNN cannot be asked: for sums over nothing, which it has no descriptors for, and for
 * buffers of a caller that lie off the device's alignment.
 * Read next: library_api.h, kernels/cudasim/fake_cudnn.cpp. */
#include <limits.h>
#include <string.h>

#include "ops/conv.h"
#include "kernels/cuda/conv.h"

enum { MOST_AXES = 3 };

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static bool pads_by_size(const tort_sliding *window) {
    return window->auto_pad == TORT_PAD_SAME_UPPER || window->auto_pad == TORT_PAD_SAME_LOWER;
}

/* cuDNN pads both ends of an axis alike. Enough where the windows that it then counts are those of the node: padding
 * behind the end that no window reaches may differ. Where sizes are unknown, padding must be alike at every size: that
 * of SAME_* is so for an odd window that moves by one. */
static bool can_pad(const tort_sliding *window, int32_t axis) {
    const int64_t begin = window->begin[axis], stride = window->strides[axis], input = window->input[axis];
    if (input == 0) return true; /* nothing to sum: cuDNN is not asked */
    if (window->kernel[axis] < 0) return !pads_by_size(window) && begin >= 0 && begin == window->end[axis];
    const int64_t extent = tort_sliding_extent(window, axis), room = input + 2 * begin - extent;
    if (input < 0 && pads_by_size(window)) return stride == 1 && extent % 2 == 1;
    if (input < 0) return begin >= 0 && begin == window->end[axis];
    return begin >= 0 && room >= 0 && room / stride + 1 == window->output[axis];
}

static tort_verdict claim_padding(const tort_sliding *window) {
    for (int32_t i = 0; i < window->axes; i++) {
        if (can_pad(window, i)) continue;
        if (pads_by_size(window) && (window->input[i] < 0 || window->kernel[i] < 0))
            return tort_no(TORT_NO_DYNAMIC, "give the model's inputs their shapes (--shape NAME=1x3x224x224)",
                           "auto_pad along spatial axis %d depends on a size that is unknown while planning; cuDNN "
                           "pads both ends alike",
                           i);
        return tort_no(TORT_NO_ATTR, "pad both ends alike, or put a Pad before the node",
                       "padding of %lld before and %lld behind spatial axis %d; cuDNN pads both ends alike",
                       (long long)window->begin[i], (long long)window->end[i], i);
    }
    return tort_yes();
}

/* The elements of a tensor, 0 where a dim is unknown. False: more than cuDNN counts to. */
static bool count_elements(const tort_info *info, int64_t *count) {
    bool known = info->rank >= 0;
    *count = known;
    for (int32_t i = 0; i < info->rank; i++) {
        const int64_t dim = tort_known_dim(info, i);
        known &= dim >= 0;
        if (dim > INT_MAX || (dim > 0 && __builtin_mul_overflow(*count, dim, count))) return false;
        if (dim == 0) *count = 0;
    }
    if (!known) *count = 0;
    return *count <= INT_MAX;
}

/* Elements of X, W and Y together; 0 where one of them is unknown or has none. */
static bool count_all(const tort_node_view *node, int64_t *total) {
    int64_t x, w, y;
    if (!count_elements(&node->inputs[0], &x) || !count_elements(&node->inputs[1], &w) ||
        !count_elements(&node->outputs[0], &y))
        return false;
    *total = x && w && y ? x + w + y : 0;
    return true;
}

#define TOO_LARGE "a tensor has more than 2^31 - 1 elements, which cuDNN does not count to"

tort_verdict tort_cuda_conv_cudnn_claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *params = node->params;
    int64_t unused;
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, MOST_AXES);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_float(target, node);
    if (verdict.code == TORT_YES) verdict = claim_padding(&params->window);
    if (verdict.code == TORT_YES && !count_all(node, &unused)) return tort_no(TORT_NO_SHAPE, "", TOO_LARGE);
    return verdict;
}

/* ---- workspace --------------------------------------------------------------------------------------------------- */

/* The most workspace a node may have. Algorithms that beat those without any copy X, W and Y into a layout or a
 * transform of their own, of up to about twice their size, and make tables of some kilobytes. A device gives no more
 * than a 16th of its memory to one node. */
enum { WORKSPACE_FOR_TABLES = 64 << 10, WORKSPACE_PER_BYTE = 2, WORKSPACE_PART_OF_MEMORY = 16 };

tort_status tort_cuda_conv_cudnn_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                      tort_error *error) {
    int64_t elements;
    if (!count_all(node, &elements))
        return tort_fail(error, TORT_E_UNSUPPORTED, "%s; switch it off by libraries=off", TOO_LARGE);
    const uint64_t bytes = (uint64_t)elements * (uint64_t)(tort_type_bits(node->inputs[0].type) / 8);
    uint64_t most = WORKSPACE_FOR_TABLES + WORKSPACE_PER_BYTE * bytes;
    if (target->memory && most > target->memory / WORKSPACE_PART_OF_MEMORY)
        most = target->memory / WORKSPACE_PART_OF_MEMORY;
    *scratch = elements ? (size_t)most : 0;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
/* ---- fit: descriptors -------------------------------------------------------------------------------------------- */

/* A Conv of known shapes. */
typedef struct fitted_conv {
    cudnnTensorDescriptor_t x, y, bias; /* bias: NULL where there is none */
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t window;
    cudnnActivationDescriptor_t identity; /* not NULL: the bias is added by the convolution itself */
    cudnnConvolutionFwdAlgo_t algorithm;
    size_t workspace;
} fitted_conv;

typedef struct fitting {
    const tort_fit *fit;
    const cudnn_functions *cudnn;
    cudnnHandle_t handle;
    cudnnDataType_t type;
} fitting;

static tort_status check(const fitting *f, const char *function, cudnnStatus_t code) {
    if (code == CUDNN_STATUS_SUCCESS) return TORT_OK;
    return cuda_cudnn_failed(f->fit->error, f->fit->device, f->fit->stream, function, code);
}

/* Two outer dims and the spatial ones; cuDNN has at least two of those, so a 1-D Conv gets a row of height 1. Returns
 * the rank. */
static int set_dims(int dims[2 + MOST_AXES], int64_t first, int64_t second, const int64_t *spatial, int32_t axes) {
    const int lead = axes == 1 ? 3 : 2;
    dims[0] = (int)first;
    dims[1] = (int)second;
    dims[2] = 1;
    for (int32_t i = 0; i < axes; i++) dims[lead + i] = (int)spatial[i];
    return lead + axes;
}

static tort_status describe_tensor(const fitting *f, int rank, const int *dims, cudnnTensorDescriptor_t *descriptor) {
    int strides[2 + MOST_AXES], step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
    tort_status status = check(f, "cudnnCreateTensorDescriptor", f->cudnn->cudnnCreateTensorDescriptor(descriptor));
    if (status) return status;
    return check(f, "cudnnSetTensorNdDescriptor",
                 f->cudnn->cudnnSetTensorNdDescriptor(*descriptor, f->type, rank, dims, strides));
}

static tort_status describe_tensors(const fitting *f, const tort_conv_params *p, bool biased, fitted_conv *conv) {
    static const int64_t ones[MOST_AXES] = {1, 1, 1};
    const tort_sliding *window = &p->window;
    int dims[2 + MOST_AXES];
    int rank = set_dims(dims, p->batch, p->channels, window->input, window->axes);
    tort_status status = describe_tensor(f, rank, dims, &conv->x);
    set_dims(dims, p->batch, p->filters, window->output, window->axes);
    if (!status) status = describe_tensor(f, rank, dims, &conv->y);
    set_dims(dims, 1, p->filters, ones, window->axes);
    if (!status && biased) status = describe_tensor(f, rank, dims, &conv->bias);
    set_dims(dims, p->filters, p->channels / p->group, window->kernel, window->axes);
    if (!status) status = check(f, "cudnnCreateFilterDescriptor", f->cudnn->cudnnCreateFilterDescriptor(&conv->w));
    if (!status)
        status = check(f, "cudnnSetFilterNdDescriptor",
                       f->cudnn->cudnnSetFilterNdDescriptor(conv->w, f->type, CUDNN_TENSOR_NCHW, rank, dims));
    return status;
}

/* Sums are of float32 in either type. TF32 is a reduced float32, so it must be asked for. */
static cudnnMathType_t wanted_math(const fitting *f) {
    if (f->type == CUDNN_DATA_HALF) return CUDNN_TENSOR_OP_MATH;
    return f->fit->target->tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static tort_status describe_window(const fitting *f, const tort_conv_params *p, fitted_conv *conv) {
    const tort_sliding *window = &p->window;
    const int lead = window->axes == 1;
    int pads[MOST_AXES] = {0}, strides[MOST_AXES] = {1}, dilations[MOST_AXES] = {1};
    for (int32_t i = 0; i < window->axes; i++) {
        pads[lead + i] = (int)window->begin[i];
        strides[lead + i] = (int)window->strides[i];
        dilations[lead + i] = (int)window->dilations[i];
    }
    tort_status status =
        check(f, "cudnnCreateConvolutionDescriptor", f->cudnn->cudnnCreateConvolutionDescriptor(&conv->window));
    if (!status)
        status = check(f, "cudnnSetConvolutionNdDescriptor",
                       f->cudnn->cudnnSetConvolutionNdDescriptor(conv->window, lead + window->axes, pads, strides,
                                                                 dilations, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    if (!status)
        status = check(f, "cudnnSetConvolutionGroupCount",
                       f->cudnn->cudnnSetConvolutionGroupCount(conv->window, (int)p->group));
    if (!status)
        status = check(f, "cudnnSetConvolutionMathType",
                       f->cudnn->cudnnSetConvolutionMathType(conv->window, wanted_math(f)));
    return status;
}

/* ---- fit: the algorithm ------------------------------------------------------------------------------------------ */

enum { MOST_ALGORITHMS = 16 };

/* Sets algorithm and workspace. cuDNN may offer an algorithm with another math type than was asked for: for halfs,
 * tensor cores or not is its choice; TF32 is not. What a combination then needs, only this second question tells. */
static cudnnStatus_t take_offer(const fitting *f, const cudnnConvolutionFwdAlgoPerf_t *offer, fitted_conv *conv) {
    if (offer->status != CUDNN_STATUS_SUCCESS) return offer->status;
    const cudnnMathType_t math = wanted_math(f) == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : offer->mathType;
    conv->algorithm = offer->algo;
    cudnnStatus_t code = f->cudnn->cudnnSetConvolutionMathType(conv->window, math);
    if (code != CUDNN_STATUS_SUCCESS) return code;
    return f->cudnn->cudnnGetConvolutionForwardWorkspaceSize(f->handle, conv->x, conv->w, conv->window, conv->y,
                                                             offer->algo, &conv->workspace);
}

static tort_status choose_algorithm(const fitting *f, fitted_conv *conv) {
    cudnnConvolutionFwdAlgoPerf_t offers[MOST_ALGORITHMS];
    cudnnStatus_t refusal = CUDNN_STATUS_SUCCESS;
    int count = 0;
    tort_status status =
        check(f, "cudnnGetConvolutionForwardAlgorithm_v7",
              f->cudnn->cudnnGetConvolutionForwardAlgorithm_v7(f->handle, conv->x, conv->w, conv->window, conv->y,
                                                               MOST_ALGORITHMS, &count, offers));
    if (status) return status;
    for (int i = 0; i < count; i++) { /* the fastest first */
        cudnnStatus_t code = take_offer(f, &offers[i], conv);
        if (code == CUDNN_STATUS_SUCCESS && conv->workspace <= f->fit->scratch) return TORT_OK;
        if (code != CUDNN_STATUS_SUCCESS) refusal = code;
    }
    return tort_fail(f->fit->error, TORT_E_RUN,
                     "cudnnGetConvolutionForwardAlgorithm_v7 offers no algorithm that works (%s) within %zu bytes of "
                     "workspace; switch cuDNN off by libraries=off",
                     f->cudnn->cudnnGetErrorString(refusal), f->fit->scratch);
}

/* The convolution may add the bias itself, but without an activation only by this algorithm. Groups and a third axis
 * are left to the separate call, as nothing says that they are supported. */
static tort_status choose_bias(const fitting *f, const tort_conv_params *p, fitted_conv *conv) {
    if (!conv->bias || conv->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM || p->group != 1 ||
        p->window.axes > 2)
        return TORT_OK;
    tort_status status =
        check(f, "cudnnCreateActivationDescriptor", f->cudnn->cudnnCreateActivationDescriptor(&conv->identity));
    if (status) return status;
    return check(f, "cudnnSetActivationDescriptor",
                 f->cudnn->cudnnSetActivationDescriptor(conv->identity, CUDNN_ACTIVATION_IDENTITY,
                                                        CUDNN_NOT_PROPAGATE_NAN, 0.0));
}

void tort_cuda_conv_cudnn_unfit(void *opened, const tort_env *env, void *fitted) {
    const cuda_device *device = opened;
    const cudnn_functions *cudnn = &device->libraries.cudnn;
    fitted_conv *conv = fitted;
    if (conv->x) cudnn->cudnnDestroyTensorDescriptor(conv->x);
    if (conv->y) cudnn->cudnnDestroyTensorDescriptor(conv->y);
    if (conv->bias) cudnn->cudnnDestroyTensorDescriptor(conv->bias);
    if (conv->w) cudnn->cudnnDestroyFilterDescriptor(conv->w);
    if (conv->window) cudnn->cudnnDestroyConvolutionDescriptor(conv->window);
    if (conv->identity) cudnn->cudnnDestroyActivationDescriptor(conv->identity);
    tort_free(env, conv, sizeof *conv);
}

tort_status tort_cuda_conv_cudnn_fit(tort_fit *fit) {
    const tort_conv_params *params = fit->node->params;
    cuda_device *device = fit->device;
    const cuda_stream *stream = fit->stream;
    const fitting f = {.fit = fit,
                       .cudnn = &device->libraries.cudnn,
                       .handle = stream ? stream->dnn : device->dnn,
                       .type = fit->node->inputs[0].type == TORT_FLOAT16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT};
    int64_t elements = 0;
    (void)count_all(fit->node, &elements); /* size has refused what is too large */
    if (!elements) return TORT_OK;         /* nothing to write, or nothing to sum: cuDNN has no such tensors */
    fitted_conv *conv = tort_alloc_zero(fit->env, 1, sizeof *conv);
    if (!conv) return tort_out_of_memory(fit->error, sizeof *conv);
    tort_status status = describe_tensors(&f, params, tort_has_input(fit->node, 2), conv);
    if (!status) status = describe_window(&f, params, conv);
    if (!status) status = choose_algorithm(&f, conv);
    if (!status) status = choose_bias(&f, params, conv);
    if (status)
        tort_cuda_conv_cudnn_unfit(device, fit->env, conv);
    else
        fit->fitted = conv;
    return status;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* An empty X, or no channels: every sum is over nothing, so Y is the bias alone. */
static tort_status run_empty(const tort_call *call) {
    const tort_conv_params *params = call->params;
    const tort_tensor *bias = tort_call_input(call, 2);
    gpu_conv p = {.window = {.out_h = 1, .out_w = 1, .kernel_h = 1, .kernel_w = 1},
                  .batch = params->batch,
                  .group = 1,
                  .filters = params->filters};
    for (int32_t i = 0; i < params->window.axes; i++) p.window.out_w *= params->window.output[i];
    return cuda_launched(call,
                         gpu_run_conv(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &p, call->inputs[0].data,
                                      call->inputs[1].data, bias ? bias->data : NULL, call->outputs[0].data));
}

static tort_status check_call(const tort_call *call, const char *function, cudnnStatus_t code) {
    const cuda_stream *stream = call->stream;
    if (code == CUDNN_STATUS_SUCCESS) return TORT_OK;
    return cuda_cudnn_failed(call->error, stream->device, stream, function, code);
}

/* cuDNN chose its algorithm for tensors as a device aligns them. A caller's own buffer may lie at any element. */
enum { ALIGNMENT = 16 };

static bool is_aligned(const tort_call *call) {
    uintptr_t bits = (uintptr_t)call->outputs[0].data;
    for (int32_t i = 0; i < call->input_count; i++)
        if (tort_call_input(call, i)) bits |= (uintptr_t)call->inputs[i].data;
    return bits % ALIGNMENT == 0;
}

static tort_status run_unaligned(const tort_call *call) {
    const tort_conv_params *params = call->params;
    if (params->window.axes <= 2) return tort_cuda_conv_run(call);
    return tort_fail(call->error, TORT_E_INPUT,
                     "the caller's buffer for an input or output is not aligned to %d bytes, which cuDNN needs",
                     ALIGNMENT);
}

tort_status tort_cuda_conv_cudnn_run(const tort_call *call) {
    static const float one = 1.0f, zero = 0.0f;
    const fitted_conv *conv = call->fitted;
    const cuda_stream *stream = call->stream;
    const cudnn_functions *cudnn = &stream->device->libraries.cudnn;
    const void *x = call->inputs[0].data, *w = call->inputs[1].data;
    void *y = call->outputs[0].data;
    if (!conv) return run_empty(call);
    if (!is_aligned(call)) return run_unaligned(call);
    if (conv->identity) /* alpha2 is 0, so z is not read; it must still be a tensor like y */
        return check_call(call, "cudnnConvolutionBiasActivationForward",
                          cudnn->cudnnConvolutionBiasActivationForward(
                              stream->dnn, &one, conv->x, x, conv->w, w, conv->window, conv->algorithm, call->scratch,
                              conv->workspace, &zero, conv->y, y, conv->bias, call->inputs[2].data, conv->identity,
                              conv->y, y));
    tort_status status =
        check_call(call, "cudnnConvolutionForward",
                   cudnn->cudnnConvolutionForward(stream->dnn, &one, conv->x, x, conv->w, w, conv->window,
                                                  conv->algorithm, call->scratch, conv->workspace, &zero, conv->y, y));
    if (!status && conv->bias)
        status =
            check_call(call, "cudnnAddTensor",
                       cudnn->cudnnAddTensor(stream->dnn, &one, conv->bias, call->inputs[2].data, &one, conv->y, y));
    return status;
}
#endif
