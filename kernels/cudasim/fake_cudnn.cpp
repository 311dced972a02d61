/* fake_cudnn.cpp - the simulated cuDNN: descriptors and the forward convolution of library_api.h, with 2 or 3
 * spatial dims.
 *
 * The convolution is a plain loop over the NCHW or NCDHW layout. Every call overwrites its workspace, and refuses
 * one smaller than the query demanded. Calls that the real library's manual rules out are refused: an identity
 * activation with any algorithm but IMPLICIT_PRECOMP_GEMM, fewer than 4 dims, 2^31 elements, an X that is also Y, a
 * dead handle or descriptor. Stricter than the real library, a tensor must be fully packed and its data aligned to
 * 16 bytes, as all its fast algorithms demand. A test can make it refuse an algorithm that it offered. */
#include "kernels/cudasim/fake_libraries.h"

#include <limits.h>
#include <stdio.h>

using namespace cudasim;

namespace {

const int max_rank = 5;
const size_t precomputed_workspace = 4096, alignment = 16;
const int minor_version = 19;

Element element_of(cudnnDataType_t type) {
    return type == CUDNN_DATA_FLOAT ? Element::f32 : type == CUDNN_DATA_HALF ? Element::f16 : Element::bf16;
}

} // namespace

struct cudnnContext {
    int device;
    cudaStream_t stream;
};

struct cudnnTensorStruct {
    Element element;
    int rank, dims[max_rank];
    size_t count() const {
        size_t product = rank > 0;
        for (int i = 0; i < rank; i++) product *= (size_t)dims[i];
        return product;
    }
    size_t bytes() const {
        return count() * element_size(element);
    }
};
struct cudnnFilterStruct : cudnnTensorStruct {};

struct cudnnConvolutionStruct {
    int spatial_rank, pads[3], strides[3], dilations[3], groups;
    cudnnMathType_t math;
};

struct cudnnActivationStruct {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
};

namespace {

/* Sets the error text of a call that a test makes fail, as the real library does for most failures. */
void tell_failure(const char *function) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    machine().cudnn_error = std::string(function) + " was told to fail";
}

bool fails(const char *function) {
    const bool told = library_call_fails(function);
    if (told) tell_failure(function);
    return told;
}

template <class T> cudnnStatus_t create(const char *function, T **object) {
    if (fails(function)) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    *object = new T();
    machine().library_objects.insert(*object);
    return CUDNN_STATUS_SUCCESS;
}

template <class T> cudnnStatus_t destroy(const char *function, T *object) {
    Call call(function, Needs::nothing);
    if (!machine().library_objects.erase(object)) return CUDNN_STATUS_BAD_PARAM;
    delete object;
    return call.error ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

template <class... T> bool all_live(const T *...objects) {
    bool live = true;
    for (const void *object : {(const void *)objects...}) live = live && library_object_lives(object);
    return live;
}

cudnnStatus_t set_dims(cudnnTensorStruct *tensor, cudnnDataType_t type, int rank, const int *dims) {
    if (rank < 4 || rank > max_rank) return CUDNN_STATUS_NOT_SUPPORTED;
    long long count = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1) return CUDNN_STATUS_BAD_PARAM;
        count *= dims[i];
        if (count > INT_MAX) return CUDNN_STATUS_NOT_SUPPORTED;
    }
    tensor->element = element_of(type);
    tensor->rank = rank;
    for (int i = 0; i < rank; i++) tensor->dims[i] = dims[i];
    return CUDNN_STATUS_SUCCESS;
}

/* A convolution with copies of all it needs, since the descriptors may be gone when it runs. */
struct Convolution {
    cudnnTensorStruct x, y, w, bias;
    cudnnConvolutionStruct how;
    const void *x_data, *w_data, *z_data, *bias_data;
    void *y_data, *workspace;
    size_t workspace_bytes;
    double alpha, beta; /* of z, which is y if the caller has no z */
    bool relu;

    cudnnStatus_t check() const {
        if (x.rank != w.rank || x.rank != y.rank || x.rank != how.spatial_rank + 2) return CUDNN_STATUS_BAD_PARAM;
        if (x.element != w.element || x.element != y.element) return CUDNN_STATUS_NOT_SUPPORTED;
        if (x.dims[1] != w.dims[1] * how.groups || w.dims[0] % how.groups) return CUDNN_STATUS_BAD_PARAM;
        if (y.dims[0] != x.dims[0] || y.dims[1] != w.dims[0]) return CUDNN_STATUS_BAD_PARAM;
        for (int i = 0; i < how.spatial_rank; i++) {
            const int reach = (w.dims[2 + i] - 1) * how.dilations[i] + 1;
            const int expected = (x.dims[2 + i] + 2 * how.pads[i] - reach) / how.strides[i] + 1;
            if (y.dims[2 + i] != expected) return CUDNN_STATUS_BAD_PARAM;
        }
        return CUDNN_STATUS_SUCCESS;
    }

    bool operands_are_valid() const {
        for (const void *data : {x_data, w_data, z_data, bias_data, (const void *)y_data, (const void *)workspace})
            if ((uintptr_t)data % alignment) return false;
        return x_data != y_data && operand_is_valid(x_data, x.bytes()) && operand_is_valid(w_data, w.bytes()) &&
               operand_is_valid(y_data, y.bytes()) && operand_is_valid(workspace, workspace_bytes) &&
               (!bias_data || operand_is_valid(bias_data, bias.bytes())) &&
               (!z_data || operand_is_valid(z_data, y.bytes()));
    }

    float operand(const void *data, long long index) const {
        const float value = load_element(data, index, x.element);
        return x.element == Element::f32 && how.math != CUDNN_FMA_MATH ? round_to_tf32(value) : value;
    }

    /* Sizes and settings of spatial axis i of 3; a 2-D convolution has a first axis of size 1. */
    int spatial(const cudnnTensorStruct &tensor, int i) const {
        const int missing = 3 - how.spatial_rank;
        return i < missing ? 1 : tensor.dims[2 + i - missing];
    }
    int setting(const int *values, int i, int otherwise) const {
        const int missing = 3 - how.spatial_rank;
        return i < missing ? otherwise : values[i - missing];
    }

    /* Returns the input coordinate for output o and filter tap r, or -1 in the padding. */
    int input_at(int i, int o, int r) const {
        const int at = o * setting(how.strides, i, 1) - setting(how.pads, i, 0) + r * setting(how.dilations, i, 1);
        return at >= 0 && at < spatial(x, i) ? at : -1;
    }

    double sum_at(int n, int k, const int *o) const {
        const int channels = w.dims[1], first_channel = k / (w.dims[0] / how.groups) * channels;
        const int taps[3] = {spatial(w, 0), spatial(w, 1), spatial(w, 2)};
        const long long plane = (long long)spatial(x, 0) * spatial(x, 1) * spatial(x, 2);
        double sum = 0;
        long long tap = (long long)k * channels * taps[0] * taps[1] * taps[2];
        for (int c = 0; c < channels; c++) {
            const long long start = ((long long)n * x.dims[1] + first_channel + c) * plane;
            for (int d = 0; d < taps[0]; d++)
                for (int r = 0; r < taps[1]; r++)
                    for (int s = 0; s < taps[2]; s++, tap++) {
                        const int at[3] = {input_at(0, o[0], d), input_at(1, o[1], r), input_at(2, o[2], s)};
                        if (at[0] < 0 || at[1] < 0 || at[2] < 0) continue;
                        const long long where = ((long long)at[0] * spatial(x, 1) + at[1]) * spatial(x, 2) + at[2];
                        sum += (double)operand(x_data, start + where) * operand(w_data, tap);
                    }
        }
        return sum;
    }

    void run() const {
        if (workspace_bytes) memset(workspace, poison, workspace_bytes);
        long long index = 0;
        for (int n = 0; n < y.dims[0]; n++)
            for (int k = 0; k < y.dims[1]; k++)
                for (int d = 0; d < spatial(y, 0); d++)
                    for (int p = 0; p < spatial(y, 1); p++)
                        for (int q = 0; q < spatial(y, 2); q++, index++) {
                            const int at[3] = {d, p, q};
                            double value = alpha * sum_at(n, k, at);
                            if (beta != 0) value += beta * (double)load_element(z_data, index, y.element);
                            if (bias_data) value += (double)load_element(bias_data, k, bias.element);
                            if (relu && !(value > 0)) value = 0; /* replaces NaN: not propagated */
                            store_element(y_data, index, y.element, value);
                        }
    }
};

/* True if `a` has the shape (1, channels, 1, 1), with the channels of the tensor. */
bool is_one_a_channel(const cudnnTensorStruct &a, const cudnnTensorStruct &tensor) {
    return a.rank == tensor.rank && a.element == tensor.element && a.dims[1] == tensor.dims[1] &&
           a.count() == (size_t)tensor.dims[1];
}

/* Winograd F(2x2, 3x3): a 4x4 tile for each 2x2 outputs makes the transformed tensors four times as large. */
size_t workspace_of(cudnnConvolutionFwdAlgo_t algorithm, const Convolution &c) {
    if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED)
        return 4 * (c.x.bytes() + c.y.bytes()) + 2 * c.w.bytes();
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ? precomputed_workspace : 0;
}

bool suits_winograd(const Convolution &c) {
    bool suits = c.how.spatial_rank == 2;
    for (int i = 0; suits && i < 2; i++)
        suits = c.w.dims[2 + i] == 3 && c.how.strides[i] == 1 && c.how.dilations[i] == 1;
    return suits;
}

bool is_supported(cudnnConvolutionFwdAlgo_t algorithm, const Convolution &c) {
    if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED) return suits_winograd(c);
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
}

bool is_unsupported(const char *function) {
    const char *unsupported = machine().settings.unsupported;
    return unsupported && !strcmp(unsupported, function);
}

cudnnStatus_t start(const char *function, cudnnHandle_t handle, const Convolution &convolution,
                    cudnnConvolutionFwdAlgo_t algorithm) {
    const cudnnStatus_t status = convolution.check();
    if (status) return status;
    if (!is_supported(algorithm, convolution) || is_unsupported(function) ||
        machine().settings.unsupported_algorithms >> algorithm & 1)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (convolution.workspace_bytes < workspace_of(algorithm, convolution) || !convolution.operands_are_valid())
        return CUDNN_STATUS_BAD_PARAM;
    return library_submit(handle->device, handle->stream, [convolution] { convolution.run(); })
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

} // namespace

extern "C" {

size_t cudnnGetVersion(void) {
    const int major = machine().settings.cudnn_version;
    return major >= 9 ? (size_t)(major * 10000 + minor_version * 100) : (size_t)(major * 1000 + 907);
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
#define CUDASIM_NAME(name, value)                                                                                      \
    case name: return #name;
    switch (status) { CUDNN_STATUSES(CUDASIM_NAME) }
#undef CUDASIM_NAME
    return "unknown cuDNN status";
}

/* One text for all threads; the real library keeps one per thread. */
void cudnnGetLastErrorString(char *message, size_t max_size) {
    const std::lock_guard<std::recursive_mutex> guard(machine().lock);
    snprintf(message, max_size, "%s", machine().cudnn_error.c_str());
    machine().cudnn_error.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    Call call(__func__);
    *handle = nullptr;
    if (call.error) {
        tell_failure(__func__);
        return CUDNN_STATUS_NOT_INITIALIZED;
    }
    *handle = new cudnnContext{call.device(), nullptr};
    machine().library_objects.insert(*handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    (void)refuse_device_wait(thread_state().device());
    return destroy(__func__, handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!all_live(handle)) return CUDNN_STATUS_BAD_PARAM;
    const CUstream_st *found = find_stream(stream);
    if (!found || (stream && found->device != handle->device)) return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *descriptor) {
    return create(__func__, descriptor);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
    return destroy(__func__, descriptor);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                                         const int dims[], const int strides[]) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    const cudnnStatus_t status = set_dims(descriptor, type, rank, dims);
    if (status) return status;
    int packed = 1;
    for (int i = rank - 1; i >= 0; i--) {
        if (strides[i] != packed) return CUDNN_STATUS_NOT_SUPPORTED;
        packed *= dims[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *descriptor) {
    return create(__func__, descriptor);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
    return destroy(__func__, descriptor);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type, cudnnTensorFormat_t,
                                         int rank, const int dims[]) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    return set_dims(descriptor, type, rank, dims);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *descriptor) {
    return create(__func__, descriptor);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
    return destroy(__func__, descriptor);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int spatial_rank,
                                              const int pads[], const int strides[], const int dilations[],
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute_type) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (spatial_rank < 2 || spatial_rank > 3 || mode != CUDNN_CROSS_CORRELATION || compute_type != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < spatial_rank; i++) {
        if (pads[i] < 0 || strides[i] < 1 || dilations[i] < 1) return CUDNN_STATUS_BAD_PARAM;
        descriptor->pads[i] = pads[i];
        descriptor->strides[i] = strides[i];
        descriptor->dilations[i] = dilations[i];
    }
    descriptor->spatial_rank = spatial_rank;
    descriptor->groups = 1;
    descriptor->math = CUDNN_DEFAULT_MATH;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (groups < 1) return CUDNN_STATUS_BAD_PARAM;
    descriptor->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    descriptor->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *descriptor) {
    return create(__func__, descriptor);
}

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t descriptor) {
    return destroy(__func__, descriptor);
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    descriptor->mode = mode;
    descriptor->nan = nan;
    return CUDNN_STATUS_SUCCESS;
}

/* Offers algorithms best first, including one that cannot run, as the real list may. An offer's math type may differ
 * from the one requested: a caller that adopts it unseen gets TF32. */
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t convolution,
                                                     const cudnnTensorDescriptor_t y, int asked, int *returned,
                                                     cudnnConvolutionFwdAlgoPerf_t *results) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    static const cudnnConvolutionFwdAlgo_t ranking[] = {
        CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
    if (!all_live(handle, x, w, convolution, y)) return CUDNN_STATUS_BAD_PARAM;
    if (is_unsupported(__func__)) return CUDNN_STATUS_NOT_SUPPORTED;
    Convolution query = {};
    query.x = *x, query.w = *w, query.y = *y, query.how = *convolution;
    const cudnnStatus_t status = query.check();
    if (status) return status;
    *returned = 0;
    for (cudnnConvolutionFwdAlgo_t algorithm : ranking) {
        if (*returned == asked) break;
        cudnnConvolutionFwdAlgoPerf_t *result = &results[(*returned)++];
        *result = cudnnConvolutionFwdAlgoPerf_t();
        result->algo = algorithm;
        result->status = is_supported(algorithm, query) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
        result->time = -1;
        result->memory = workspace_of(algorithm, query);
        result->determinism = CUDNN_DETERMINISTIC;
        result->mathType = query.x.element == Element::f32 ? CUDNN_DEFAULT_MATH : convolution->math;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!all_live(handle, x, w, convolution, y)) return CUDNN_STATUS_BAD_PARAM;
    Convolution query = {};
    query.x = *x, query.w = *w, query.y = *y, query.how = *convolution;
    const cudnnStatus_t status = query.check();
    if (status) return status;
    if (!is_supported(algorithm, query)) return CUDNN_STATUS_NOT_SUPPORTED;
    *bytes = workspace_of(algorithm, query);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                      const cudnnFilterDescriptor_t w_descriptor, const void *w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t workspace_bytes,
                                      const void *beta, const cudnnTensorDescriptor_t y_descriptor, void *y) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!all_live(handle, x_descriptor, w_descriptor, convolution, y_descriptor)) return CUDNN_STATUS_BAD_PARAM;
    Convolution work = {};
    work.x = *x_descriptor, work.w = *w_descriptor, work.y = *y_descriptor, work.how = *convolution;
    work.x_data = x, work.w_data = w, work.y_data = y, work.z_data = y;
    work.workspace = workspace, work.workspace_bytes = workspace_bytes;
    work.alpha = *(const float *)alpha, work.beta = *(const float *)beta;
    return start(__func__, handle, work, algorithm);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_descriptor, const void *x,
    const cudnnFilterDescriptor_t w_descriptor, const void *w, const cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t workspace_bytes, const void *alpha2,
    const cudnnTensorDescriptor_t z_descriptor, const void *z, const cudnnTensorDescriptor_t bias_descriptor,
    const void *bias, const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor,
    void *y) {
    if (fails(__func__)) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!all_live(handle, x_descriptor, w_descriptor, convolution, z_descriptor, bias_descriptor, activation,
                  y_descriptor))
        return CUDNN_STATUS_BAD_PARAM;
    Convolution work = {};
    work.x = *x_descriptor, work.w = *w_descriptor, work.y = *y_descriptor, work.how = *convolution;
    work.bias = *bias_descriptor;
    work.x_data = x, work.w_data = w, work.y_data = y, work.z_data = z, work.bias_data = bias;
    work.workspace = workspace, work.workspace_bytes = workspace_bytes;
    work.alpha = *(const float *)alpha1, work.beta = *(const float *)alpha2;
    work.relu = activation->mode == CUDNN_ACTIVATION_RELU;
    if (!is_one_a_channel(work.bias, work.y) || z_descriptor->count() != work.y.count() ||
        activation->nan != CUDNN_NOT_PROPAGATE_NAN)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!work.relu && algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) return CUDNN_STATUS_NOT_SUPPORTED;
    return start(__func__, handle, work, algorithm);
}
}
