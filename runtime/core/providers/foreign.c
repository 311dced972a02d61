/* foreign.c - names that other runtimes give to providers and options, so that the error for such a name can tell
 * what to use instead. */
#include <stddef.h>

#include "runtime/core/providers/chain.h"
#include "runtime/include/provider.h"

const tort_foreign_provider tort_foreign_providers[] = {
    {"gpu", "an NVIDIA GPU is cuda, as in cuda,cpu"},
    {"nvidia", "an NVIDIA GPU is cuda, as in cuda,cpu"},
    {"tensorrt", "tinyort runs its own kernels on the same GPU, use cuda; TensorRT for RTX has a plugin, tensorrt-rtx"},
    {"nvtensorrtrtx", "it is tensorrt-rtx here, which the command line has and libtinyort_plugin.so"},
    {"openvino", "the command line and libtinyort_plugin.so host its plugin"},
    {"coreml", "CoreML is not part of tinyort: use cpu"},
    {"nnapi", "NNAPI is not part of tinyort: use cpu"},
    {"qnn", "the command line and libtinyort_plugin.so host its plugin"},
    {"xnnpack", "XNNPACK is not part of tinyort: use cpu"},
    {"dnnl", "oneDNN is not part of tinyort: use cpu"},
    {"directml", "DirectML is not part of tinyort: use cuda or cpu"},
    {"dml", "DirectML is not part of tinyort: use cuda or cpu"},
    {"webgpu", "the command line and libtinyort_plugin.so host its plugin"},
    {"rocm", "ROCm is for AMD GPUs, for which tinyort has no kernels: use cpu"},
    {"migraphx", "MIGraphX is for AMD GPUs, for which tinyort has no kernels: use cpu"},
    {"acl", "the Arm Compute Library is not part of tinyort: use cpu"},
    {NULL, NULL},
};

const tort_foreign_option tort_foreign_options[] = {
    {"device_id", "device", NULL},
    {"gpu_mem_limit", "mem_limit", NULL},
    {"use_tf32", "tf32", NULL},
    {"enable_cuda_graph", "graph", NULL},
    {"intra_op_num_threads", "threads", NULL},
    {"num_threads", "threads", NULL},
    {"inter_op_num_threads", NULL, "nodes run one after the other, each on all threads: use threads"},
    {"arena_extend_strategy", NULL, "memory is planned before the run, and nothing grows: mem_limit bounds it"},
    {"cudnn_conv_algo_search", NULL, "kernels are chosen while planning, by rules that tinyort plan tells"},
    {"do_copy_in_default_stream", NULL, "copies and kernels of a run share one stream"},
    {NULL, NULL, NULL},
};
