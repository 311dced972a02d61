/* conv_cudnn.c - Conv and FusedConv by cuDNN: what it can express, its workspace, its algorithm, and who does the
 * epilogue.
 *
 * Everything that depends on shapes is decided once per plan: size states an upper bound for the node's workspace;
 * fit makes cuDNN's descriptors and takes the first algorithm that keeps within it and works: each is tried, as
 * cuDNN may refuse to run what it has offered. The plan then gives the node what this algorithm needs; where memory is
 * short, one is chosen that needs nothing. Where none works the own convolution serves, and reports say so; with
 * tune=on also where it is faster. run only calls, with the context's own handle and workspace; descriptors are
 * read-only then, so contexts share them. Empty sums, for which cuDNN has no descriptors, are written by an own kernel.
 * Read next: library_api.h, kernels/cudasim/fake_cudnn.cpp. */
#include <limits.h>

#include "ops/conv.h"
#include "kernels/cuda/conv.h"

enum { MAX_AXES = 3 };

/* ---- the epilogue ------------------------------------------------------------------------------------------------ */

/* True if nothing but the sums is wanted. */
static bool is_bare(const tort_conv_params *p, bool biased) {
    return !biased && !gpu_has_epilogue(&p->epilogue);
}

/* True if cudnnConvolutionBiasActivationForward may do everything. It requires a bias, and has one of our
 * activations, Relu, whose NaN it does not promise to keep. Groups and a third axis need a launch of our own, as the
 * documentation does not say that they are supported. */
static bool may_be_one_call(const tort_conv_params *p, bool biased) {
    const tort_activation activation = p->epilogue.activation;
    return biased && (activation == TORT_ACTIVATION_NONE || activation == TORT_ACTIVATION_RELU) && p->group == 1 &&
           p->window.axes <= 2;
}

/* Returns the products of a sum, as if there were a single group; -1: unknown. */
static int64_t sum_length(const tort_conv_params *p) {
    int64_t length = p->channels;
    for (int32_t i = 0; i < p->window.axes; i++)
        if (length < 0 || p->window.kernel[i] < 0 || __builtin_mul_overflow(length, p->window.kernel[i], &length))
            return -1;
    return length;
}

/* Claims a convolution plus a launch over Y, where that pays. Groups always go to cuDNN, which is so much better at
 * them, and so do three axes, for which there is no own kernel. */
static tort_verdict claim_epilogue(const tort_conv_params *p, bool biased) {
    if (is_bare(p, biased) || may_be_one_call(p, biased) || p->group != 1 || p->window.axes > 2) return tort_yes();
    return tort_cuda_claim_second_launch(sum_length(p), "cuDNN");
}

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static bool pads_by_size(const tort_sliding *window) {
    return window->auto_pad == TORT_PAD_SAME_UPPER || window->auto_pad == TORT_PAD_SAME_LOWER;
}

/* True if cuDNN can express the padding of an axis: it pads both ends alike. That is enough if it then counts the
 * windows of the node: padding at the end that no window reaches may differ. If sizes are unknown, padding must be
 * alike at every size: for SAME_* that holds for an odd window with stride 1. */
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

/* Counts the elements of a tensor, 0 if a dim is unknown; false if cuDNN cannot count them. */
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

/* Counts the elements of X, W and Y together; 0 if one of them is unknown or empty. */
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
    tort_verdict verdict = tort_cuda_claim_window(node, &params->window, MAX_AXES);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_float(target, node);
    if (verdict.code == TORT_YES) verdict = claim_padding(&params->window);
    if (verdict.code == TORT_YES && !count_all(node, &unused)) return tort_no(TORT_NO_SHAPE, "", TOO_LARGE);
    return verdict.code == TORT_YES ? claim_epilogue(params, tort_has_input(node, 2)) : verdict;
}

/* ---- workspace --------------------------------------------------------------------------------------------------- */

/* Upper bound for a node's workspace. Algorithms that beat those without any copy X, W and Y into a layout or
 * transform of their own, of up to about twice their size, and make tables of some kilobytes. One node gets no more
 * than a 16th of the device's memory. */
enum { WORKSPACE_FOR_TABLES = 64 << 10, WORKSPACE_PER_BYTE = 2, WORKSPACE_PART_OF_MEMORY = 16 };

tort_status tort_cuda_conv_cudnn_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                      tort_error *error) {
    int64_t elements;
    if (!count_all(node, &elements))
        return tort_fail(error, TORT_E_UNSUPPORTED, "%s; switch it off by libraries=off", TOO_LARGE);
    const uint64_t bytes = (uint64_t)elements * (uint64_t)cuda_element_bytes(node->inputs[0].type);
    uint64_t max = WORKSPACE_FOR_TABLES + WORKSPACE_PER_BYTE * bytes;
    if (target->memory && max > target->memory / WORKSPACE_PART_OF_MEMORY)
        max = target->memory / WORKSPACE_PART_OF_MEMORY;
    size_t own = 0;
    if (tort_cuda_conv_size(target, node, &own, NULL)) own = 0; /* too large for the own kernel, which will not serve */
    *scratch = !elements ? 0 : own > max ? own : (size_t)max;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
#include "kernels/cuda/table.h"
#include "kernels/cuda/trial.h"

/* ---- fit: descriptors -------------------------------------------------------------------------------------------- */

/* A Conv of known shapes. */
typedef struct fitted_conv {
    bool own;                           /* the own convolution serves, and the members of cuDNN are not used */
    void *own_fitted;                   /* of its fit; may be NULL */
    cudnnTensorDescriptor_t x, y, bias; /* bias: NULL if absent; the residual is like y */
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t window;
    cudnnActivationDescriptor_t activation; /* not NULL: one call does everything; NULL: sums only */
    cudnnConvolutionFwdAlgo_t algorithm;
    size_t workspace;
} fitted_conv;

/* Convolves; on failure *function is the function that failed. */
static cudnnStatus_t convolve(const cudnn_functions *cudnn, cudnnHandle_t handle, const fitted_conv *conv,
                              const gpu_conv_operands *o, void *workspace, const char **function) {
    static const float one = 1.0f, zero = 0.0f;
    if (conv->activation) { /* where alpha2 is 0, z is not read; it must still be a tensor like y */
        *function = "cudnnConvolutionBiasActivationForward";
        return cudnn->cudnnConvolutionBiasActivationForward(
            handle, &one, conv->x, o->x, conv->w, o->w, conv->window, conv->algorithm, workspace, conv->workspace,
            o->residual ? &one : &zero, conv->y, o->residual ? o->residual : o->y, conv->bias, o->bias,
            conv->activation, conv->y, o->y);
    }
    *function = "cudnnConvolutionForward";
    return cudnn->cudnnConvolutionForward(handle, &one, conv->x, o->x, conv->w, o->w, conv->window, conv->algorithm,
                                          workspace, conv->workspace, &zero, conv->y, o->y);
}

enum { MAX_ALGORITHMS = 16 };

typedef struct fitting {
    tort_fit *fit;
    const cudnn_functions *cudnn;
    cudnnHandle_t handle;
    cudnnDataType_t type;
    cudnnConvolutionFwdAlgoPerf_t offers[MAX_ALGORITHMS]; /* fastest first, as cuDNN expects */
    int offer_count;
    cuda_trial trial;
    bool times; /* all that works is timed, and nothing taken */
} fitting;

static tort_status check(const fitting *f, const char *function, cudnnStatus_t code) {
    if (code == CUDNN_STATUS_SUCCESS) return TORT_OK;
    if (code == CUDNN_STATUS_NOT_SUPPORTED) return TORT_E_UNSUPPORTED; /* no failure: the own convolution serves */
    return cuda_cudnn_failed(f->fit->error, f->fit->device, f->fit->stream, function, code);
}

/* Sets two outer dims and the spatial ones; returns the rank. cuDNN has at least two spatial dims, so a 1-D Conv
 * gets a height of 1. */
static int set_dims(int dims[2 + MAX_AXES], int64_t first, int64_t second, const int64_t *spatial, int32_t axes) {
    const int lead = axes == 1 ? 3 : 2;
    dims[0] = (int)first;
    dims[1] = (int)second;
    dims[2] = 1;
    for (int32_t i = 0; i < axes; i++) dims[lead + i] = (int)spatial[i];
    return lead + axes;
}

static tort_status describe_tensor(const fitting *f, int rank, const int *dims, cudnnTensorDescriptor_t *descriptor) {
    int strides[2 + MAX_AXES], step = 1;
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
    static const int64_t ones[MAX_AXES] = {1, 1, 1};
    const tort_sliding *window = &p->window;
    int dims[2 + MAX_AXES];
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

/* Returns the math type. Sums are float32 for both types. TF32 has reduced precision, so the user must ask for it. */
static cudnnMathType_t wanted_math(const fitting *f) {
    if (f->type == CUDNN_DATA_HALF) return CUDNN_TENSOR_OP_MATH;
    return f->fit->target->facts[CUDA_TF32] ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static tort_status describe_window(const fitting *f, const tort_conv_params *p, fitted_conv *conv) {
    const tort_sliding *window = &p->window;
    const int lead = window->axes == 1;
    int pads[MAX_AXES] = {0}, strides[MAX_AXES] = {1}, dilations[MAX_AXES] = {1};
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

/* Tries an algorithm. A lost device is an error; a refusal is none. */
static tort_status try_out(fitting *f, const fitted_conv *conv, bool *works) {
    const char *function = "";
    *works = !f->trial.memory && !conv->activation; /* a form that only a trial can confirm is not taken without one */
    if (!f->trial.memory) return TORT_OK;
    const gpu_conv_operands o = tort_cuda_conv_operands(&f->trial.call);
    cudnnStatus_t code = convolve(f->cudnn, f->handle, conv, &o, f->trial.call.scratch, &function);
    const cuda_device *device = f->fit->device;
    tort_status status = cuda_wait_uploads(device, NULL, function);
    *works = !status && code == CUDNN_STATUS_SUCCESS;
    if (status == TORT_E_DEVICE_LOST) return cuda_wait_uploads(device, f->fit->error, function);
    return TORT_OK;
}

/* The number of an offer for tort_fit.choice. */
static uint32_t choice_of(const cudnnConvolutionFwdAlgoPerf_t *offer, const fitted_conv *conv) {
    return CUDA_CHOSE_OWN + 1 + ((uint32_t)offer->algo << 3 | (uint32_t)offer->mathType << 1 | !!conv->activation);
}

/* Sets algorithm and workspace of an offer. cuDNN may offer another math type than was asked for: for half it may
 * choose tensor cores or not; TF32 is refused. The workspace of the combination must be asked for again. */
static bool take_offer(fitting *f, const cudnnConvolutionFwdAlgoPerf_t *offer, fitted_conv *conv) {
    const cudnnMathType_t math = wanted_math(f) == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : offer->mathType;
    cudnnStatus_t code = offer->status;
    conv->algorithm = offer->algo;
    if (code == CUDNN_STATUS_SUCCESS) code = f->cudnn->cudnnSetConvolutionMathType(conv->window, math);
    if (code == CUDNN_STATUS_SUCCESS)
        code = f->cudnn->cudnnGetConvolutionForwardWorkspaceSize(f->handle, conv->x, conv->w, conv->window, conv->y,
                                                                 offer->algo, &conv->workspace);
    return code == CUDNN_STATUS_SUCCESS && conv->workspace <= (f->fit->frugal ? 0 : f->fit->scratch);
}

static tort_status describe_activation(const fitting *f, cudnnActivationMode_t mode, fitted_conv *conv) {
    tort_status status =
        check(f, "cudnnCreateActivationDescriptor", f->cudnn->cudnnCreateActivationDescriptor(&conv->activation));
    if (status) return status;
    return check(f, "cudnnSetActivationDescriptor",
                 f->cudnn->cudnnSetActivationDescriptor(conv->activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0.0));
}

static void drop_activation(const cudnn_functions *cudnn, fitted_conv *conv) {
    if (conv->activation) cudnn->cudnnDestroyActivationDescriptor(conv->activation);
    conv->activation = NULL;
}

/* Takes the first offer that works, or the one that was chosen; by_precomputed: of IMPLICIT_PRECOMP_GEMM only. */
static tort_status try_offers(fitting *f, bool by_precomputed, fitted_conv *conv, bool *works) {
    tort_status status = TORT_OK;
    for (int i = 0; !status && !*works && i < f->offer_count; i++) {
        const cudnnConvolutionFwdAlgoPerf_t *offer = &f->offers[i];
        const uint32_t choice = choice_of(offer, conv);
        if (by_precomputed && offer->algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) continue;
        if ((f->fit->choice && f->fit->choice != choice) || !take_offer(f, offer, conv)) continue;
        if (f->times)
            status = cuda_trial_time(&f->trial, choice, tort_cuda_conv_cudnn_run, conv);
        else
            status = try_out(f, conv, works);
    }
    return status;
}

/* Chooses one call for everything if cuDNN can: a faster algorithm would gain less than a launch that reads and
 * writes Y again costs. Without an activation cuDNN allows only one algorithm there. */
static tort_status choose_one_call(fitting *f, const tort_conv_params *p, fitted_conv *conv, bool *works) {
    const bool plain = p->epilogue.activation == TORT_ACTIVATION_NONE;
    tort_status status = describe_activation(f, plain ? CUDNN_ACTIVATION_IDENTITY : CUDNN_ACTIVATION_RELU, conv);
    if (!status) status = try_offers(f, plain, conv, works);
    if (*works) return status;
    drop_activation(f->cudnn, conv);
    return status;
}

/* Takes the own convolution, for which scratch suffices too; an image that is too large for it is an error. */
static tort_status take_own(tort_fit *fit, fitted_conv *conv) {
    size_t scratch;
    tort_status status = tort_cuda_conv_size(fit->target, fit->node, &scratch, fit->error);
    if (!status)
        status = cuda_status(fit->error, tort_cuda_conv_load(tort_cuda_board_of(fit->target), fit->node),
                             "loading a kernel");
    if (!status) status = tort_cuda_conv_fit(fit);
    fit->needs = scratch;
    conv->own = true;
    conv->own_fitted = fit->fitted;
    fit->fitted = NULL;
    fit->label = "conv_implicit_gemm, as cuDNN has no algorithm that works";
    return status;
}

static void drop_own(const tort_fit *fit, fitted_conv *conv) {
    if (conv->own_fitted) cuda_table_unfit(fit->device, fit->env, conv->own_fitted);
    conv->own_fitted = NULL;
    conv->own = false;
}

/* *works stays false if cuDNN has no algorithm for this. */
static tort_status choose(fitting *f, const tort_conv_params *p, fitted_conv *conv, bool *works) {
    const tort_status status = may_be_one_call(p, conv->bias) ? choose_one_call(f, p, conv, works) : TORT_OK;
    return status || *works ? status : try_offers(f, false, conv, works);
}

/* Times the offers, then the own convolution; the fastest becomes fit->choice. */
static tort_status time_all(fitting *f, const tort_conv_params *p, fitted_conv *conv) {
    tort_fit own = *f->fit;
    bool works = false;
    own.error = NULL; /* an image may be too large for it */
    f->times = true;
    tort_status status = choose(f, p, conv, &works);
    f->times = false;
    if (!status && !take_own(&own, conv))
        status = cuda_trial_time(&f->trial, CUDA_CHOSE_OWN, tort_cuda_conv_cudnn_run, conv);
    drop_own(f->fit, conv);
    cuda_trial_choose(&f->trial, "conv_implicit_gemm");
    return status;
}

/* Asks cuDNN what it offers, and chooses; *works as above. */
static tort_status ask(fitting *f, const tort_conv_params *p, fitted_conv *conv, bool *works) {
    tort_fit *fit = f->fit;
    tort_status status =
        check(f, "cudnnGetConvolutionForwardAlgorithm_v7",
              f->cudnn->cudnnGetConvolutionForwardAlgorithm_v7(f->handle, conv->x, conv->w, conv->window, conv->y,
                                                               MAX_ALGORITHMS, &f->offer_count, f->offers));
    if (!status && cuda_trial_pays(&f->trial)) status = time_all(f, p, conv);
    if (status || fit->choice == CUDA_CHOSE_OWN) return status;
    status = choose(f, p, conv, works);
    if (status || *works || !fit->choice) return status;
    fit->choice = 0; /* it is not offered here */
    return choose(f, p, conv, works);
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
    drop_activation(cudnn, conv);
    if (conv->own_fitted) cuda_table_unfit(opened, env, conv->own_fitted);
    tort_free(env, conv, sizeof *conv);
}

tort_status tort_cuda_conv_cudnn_fit(tort_fit *fit) {
    const tort_conv_params *params = fit->node->params;
    cuda_device *device = fit->device;
    const cuda_stream *stream = fit->stream;
    fitting f = {.fit = fit,
                 .cudnn = &device->libraries.cudnn,
                 .handle = stream ? stream->dnn : device->dnn,
                 .type = fit->node->inputs[0].type == TORT_FLOAT16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT};
    int64_t elements = 0;
    (void)count_all(fit->node, &elements); /* size has refused larger ones */
    if (!elements) return TORT_OK;         /* nothing to write, or nothing to sum: cuDNN has no such tensors */
    fitted_conv *conv = tort_alloc_zero(fit->env, 1, sizeof *conv);
    if (!conv) return tort_out_of_memory(fit->error, sizeof *conv);
    tort_status status = describe_tensors(&f, params, tort_has_input(fit->node, 2), conv);
    if (!status) status = describe_window(&f, params, conv);
    bool works = false;
    if (!status) {
        cuda_trial_open(&f.trial, fit);
        status = ask(&f, params, conv, &works);
        cuda_trial_close(&f.trial);
    }
    fit->needs = conv->workspace;
    if (fit->frugal) fit->label = "conv_cudnn, without a workspace, as memory is short";
    if (status == TORT_E_UNSUPPORTED || (!status && !works)) {
        if (fit->choice != CUDA_CHOSE_OWN) fit->choice = 0;
        status = take_own(fit, conv);
    }
    if (status)
        tort_cuda_conv_cudnn_unfit(device, fit->env, conv);
    else
        fit->fitted = conv;
    return status;
}

/* ---- prepare, run ------------------------------------------------------------------------------------------------ */

/* Loads the launch for the epilogue, which fit may choose, and the own convolution, if something may be empty.
 * cuDNN's own code is loaded by the trial in fit. */
tort_status tort_cuda_conv_cudnn_prepare(tort_prepare *p) {
    int64_t elements = 0;
    tort_status status = is_bare(p->node->params, tort_has_input(p->node, 2)) ? TORT_OK : tort_cuda_prepare_epilogue(p);
    (void)count_all(p->node, &elements);
    if (status || elements) return status;
    return tort_cuda_conv_prepare_empty(p);
}

static int64_t pixels_of(const tort_sliding *window) {
    int64_t pixels = 1;
    for (int32_t i = 0; i < window->axes; i++) pixels *= window->output[i];
    return pixels;
}

static tort_status run_epilogue(const tort_call *call, const gpu_conv_operands *o) {
    const tort_conv_params *params = call->params;
    const int64_t dims[] = {params->batch, params->filters, pixels_of(&params->window)}, one_a_filter[] = {0, 1, 0};
    return tort_cuda_run_epilogue(call, &params->epilogue, o->bias, 1.0f, 3, dims, one_a_filter);
}

tort_status tort_cuda_conv_cudnn_run(const tort_call *call) {
    cuda_stream *stream = call->stream;
    const fitted_conv *conv = call->fitted;
    const gpu_conv_operands o = tort_cuda_conv_operands(call);
    const char *function;
    if (!conv) return tort_cuda_conv_run_empty(call);
    if (conv->own) {
        tort_call own = *call;
        own.fitted = conv->own_fitted;
        return tort_cuda_conv_run(&own);
    }
    stream->launches++;
    cudnnStatus_t code = convolve(&stream->device->libraries.cudnn, stream->dnn, conv, &o, call->scratch, &function);
    if (code != CUDNN_STATUS_SUCCESS) return cuda_cudnn_failed(call->error, stream->device, stream, function, code);
    return conv->activation || is_bare(call->params, o.bias) ? TORT_OK : run_epilogue(call, &o);
}
#endif
