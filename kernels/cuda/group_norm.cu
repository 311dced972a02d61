/* group_norm.cu - com.microsoft's GroupNorm and SkipGroupNorm: a block normalizes a group of channels of an image, or
 * of image + skip + bias, in three sweeps, as E[x^2] - E[x]^2 would cancel digits. Read first: group_norm.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/group_norm.h"

/* An element of a group: its channel, and its place in x. */
struct group_place {
    size_t channel, at;
};

static __device__ __forceinline__ group_place place_of(const gpu_group_norm &n, size_t image, size_t group, size_t i) {
    const size_t channels = n.channels / n.groups;
    uint64_t rest = i;
    const size_t run = divide(&rest, n.run, channels * n.pixels);
    const size_t channel = group * channels + (n.channels_last ? rest : run);
    return {channel, n.channels_last ? (image * n.pixels + run) * n.channels + channel
                                     : (image * n.channels + channel) * n.pixels + rest};
}

template <class T>
static __device__ __forceinline__ float sum_at(const gpu_group_norm &n, size_t image, const group_place &place) {
    float sum = (float)((const T *)n.x)[place.at];
    if (n.skip) sum += (float)((const T *)n.skip)[n.skip_is_pixel ? image * n.channels + place.channel : place.at];
    if (n.bias) sum += (float)((const T *)n.bias)[place.channel];
    return sum;
}

template <class T, class M> static __global__ void normalize_groups(const gpu_group_norm n) {
    __shared__ float shared[BLOCK_MAX_WARPS];
    const size_t size = n.channels / n.groups * n.pixels;
    for (size_t block = blockIdx.x; block < n.batch * n.groups; block += gridDim.x) {
        const size_t image = block / n.groups, group = block % n.groups;
        float mean = 0, squares = 0;
        for (size_t i = threadIdx.x; i < size; i += blockDim.x)
            mean += sum_at<T>(n, image, place_of(n, image, group, i));
        mean = block_join<join_sum>(mean, shared) / (float)size;
        for (size_t i = threadIdx.x; i < size; i += blockDim.x) {
            const float distance = sum_at<T>(n, image, place_of(n, image, group, i)) - mean;
            squares += distance * distance;
        }
        const float inverse = 1.0f / sqrtf(block_join<join_sum>(squares, shared) / (float)size + n.epsilon);
        for (size_t i = threadIdx.x; i < size; i += blockDim.x) {
            const group_place place = place_of(n, image, group, i);
            const float sum = sum_at<T>(n, image, place);
            const float scale = (float)((const M *)n.gamma)[place.channel];
            const float y = (sum - mean) * inverse * scale + (float)((const M *)n.beta)[place.channel];
            if (n.sums) ((T *)n.sums)[place.at] = (T)sum;
            if (n.y) ((T *)n.y)[place.at] = (T)(n.silu ? swish(y, 1.0f) : y);
        }
    }
}

/* Calls use(T(), M()). */
template <class Use> static cudaError_t for_pair(gpu_type type, gpu_type m, Use use) {
    if (type == GPU_HALF) return m == GPU_HALF ? use(half(), half()) : use(half(), float());
    return m == GPU_HALF ? use(float(), half()) : use(float(), float());
}

cudaError_t gpu_run_group_norm(gpu_stream stream, gpu_type type, gpu_type m, const gpu_group_norm *n) {
    return for_pair(type, m, [=](auto zero, auto list) {
        return launch(normalize_groups<decltype(zero), decltype(list)>, grid_extent(n->batch * n->groups),
                      block_threads(n->channels / n->groups * n->pixels), 0, stream, *n);
    });
}

cudaError_t gpu_load_group_norm(gpu_type type, gpu_type m) {
    return for_pair(type, m,
                    [](auto zero, auto list) { return load_kernel(normalize_groups<decltype(zero), decltype(list)>); });
}
