/* plugin_provider.c - the providers that host a plugin of ONNX Runtime: `plugin` for any, and one for each package that
 * is known by name.
 *
 * They choose and compile segments (tort_engine); a node alone runs on none of them. An option that is not one of these
 * is the plugin's: openvino:cache_dir=/tmp becomes the entry ep.openvinoexecutionprovider.cache_dir of its session.
 * Read next: host.h, open.c. */
#include "kernels/plugin/host.h"

static const tort_host_package packages[] = {
    {"openvino", "onnxruntime_ep_openvino", "libonnxruntime_providers_openvino_plugin.so", "onnxruntime-ep-openvino"},
    {"qnn", "onnxruntime_qnn", "libonnxruntime_providers_qnn.so", "onnxruntime-qnn"},
    {"tensorrt-rtx", "onnxruntime_ep_nv_tensorrt_rtx", "libonnxruntime_providers_nv_tensorrt_rtx.so",
     "onnxruntime-ep-nv-tensorrt-rtx-cu13"},
    {"webgpu", "onnxruntime_ep_webgpu", "libonnxruntime_providers_webgpu.so", "onnxruntime-ep-webgpu"},
};
enum { PACKAGES = sizeof packages / sizeof *packages };

static const tort_host_package *package_of(const char *provider) {
    for (size_t i = 0; i < PACKAGES; i++)
        if (!strcmp(packages[i].provider, provider)) return &packages[i];
    return NULL;
}

/* The path, or the condition of a provider whose plugin is not there. */
static bool find_library(const tort_provider_config *config, char *path, size_t size, tort_condition *condition) {
    const char *given = tort_provider_option_get(config, "library");
    const tort_host_package *package = package_of(config->provider);
    char tried[240] = "";
    *condition = (tort_condition){.code = "NOT_BUILT"};
    if (given && package && tort_host_in_folder(package, given, path, size)) return true;
    if (given) {
        const char *slash = strchr(given, '/') ? "" : "./"; /* else dlopen looks elsewhere */
        if ((size_t)snprintf(path, size, "%s%s", slash, given) < size) return true;
        snprintf(condition->message, sizeof condition->message, "option library is longer than %zu bytes", size - 1);
        snprintf(condition->cure, sizeof condition->cure, "move the file, or link it");
        return false;
    }
    if (package && tort_host_find(package, path, size, tried, sizeof tried)) return true;
    if (package) {
        snprintf(condition->message, sizeof condition->message, "%s is in none of: %s", package->file,
                 *tried ? tried : "TINYORT_PLUGINS, VIRTUAL_ENV, the folders of python3");
        snprintf(condition->cure, sizeof condition->cure, "pip install %s, or name the file: %s:library=FILE",
                 package->pip, config->provider);
    } else {
        snprintf(condition->message, sizeof condition->message, "no shared object is named");
        snprintf(condition->cure, sizeof condition->cure, "name the plugin: plugin:library=FILE.so");
    }
    return false;
}

/* Options of a saved plan may be anybody's, and a plugin may load and write what they name. */
static bool may_set(const tort_provider_config *config, tort_condition *condition) {
    for (int32_t i = 0; config->from_file && i < config->option_count; i++) {
        if (!strcmp(config->options[i].key, "device")) continue;
        *condition = (tort_condition){.code = "BAD_OPTION", .cure = "give the chain, too, if you trust the plan: --ep"};
        snprintf(condition->message, sizeof condition->message,
                 "the saved plan sets the option %.60s, by which a plugin may load or write files",
                 config->options[i].key);
        return false;
    }
    return true;
}

static void open_plugin(const tort_provider_config *config, void **device, tort_target *target,
                        tort_condition *condition) {
    char path[256];
    *device = NULL;
    *target = (tort_target){.description = ""};
    if (may_set(config, condition) && find_library(config, path, sizeof path, condition))
        tort_host_open(config, path, device, target, condition);
}

/* ---- what can be in a segment ------------------------------------------------------------------------------------ */

static tort_verdict claim_value(const tort_info *info, const char *what, int32_t number) {
    if (info->type == TORT_UNDEFINED ||
        (info->kind == TORT_TENSOR && info->type != TORT_STRING && tort_host_element(info->type)))
        return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "%s %d is %s, which plugins are not given", what, (int)number,
                   info->kind == TORT_TENSOR ? tort_type_name(info->type) : "no tensor");
}

/* Everything that a plugin could be told of. */
static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    tort_verdict verdict = target->facts[TORT_HOST_OPENVINO] ? tort_host_claim_openvino(target, node) : tort_yes();
    if (verdict.code != TORT_YES) return verdict;
    if (node->op->domain && !strcmp(node->op->domain, "tinyort"))
        return tort_no(TORT_NO_OP, "", "an operator of tinyort's own, which plugins do not know");
    if (node->captured) return tort_no(TORT_NO_OP, "", "it has bodies, which plugins are not given");
    for (int32_t i = 0; i < node->attribute_count; i++) {
        const tort_attribute *a = &node->attributes[i];
        if (a->kind == TORT_ATTR_GRAPH || a->kind > TORT_ATTR_STRINGS)
            return tort_no(TORT_NO_ATTR, "", "attribute %.60s is of a kind that plugins are not given", a->name);
    }
    for (int32_t i = 0; verdict.code == TORT_YES && i < node->input_count; i++)
        verdict = claim_value(&node->inputs[i], "input", i);
    for (int32_t o = 0; verdict.code == TORT_YES && o < node->output_count; o++)
        verdict = claim_value(&node->outputs[o], "output", o);
    return verdict;
}

static const tort_kernel rows[] = {
    {.op = "*", .name = "plugin", .claim = claim, .segment = TORT_SEGMENT_ONLY},
    {.op = NULL},
};
static const tort_kernel *const tables[] = {rows, NULL};
static const tort_kernel segments = {.name = "plugin", .run = tort_host_run, .release = tort_host_release};
static const tort_engine engine = {
    .choose = tort_host_choose, .compile = tort_host_compile, .begin = tort_host_begin, .end = tort_host_end};

/* ---- the providers ----------------------------------------------------------------------------------------------- */

static const tort_option_help options[] = {
    {"library", "FILE.so", "the plugin, or its folder (default: of an installed package)"},
    {"device", "CPU", "of its devices: number, name or value of the metadata (default 0)"},
    {"*", "VALUE", "any other option is the plugin's own; of the next four, too"},
    {0},
};

#define PROVIDER(symbol, title, line)                                                                                  \
    extern TORT_API const tort_provider symbol;                                                                        \
    const tort_provider symbol = {.abi = TORT_PROVIDER_ABI,                                                            \
                                  .name = title,                                                                       \
                                  .summary = line,                                                                     \
                                  .kernels = tables,                                                                   \
                                  .options = options,                                                                  \
                                  .host_memory = true,                                                                 \
                                  .open = open_plugin,                                                                 \
                                  .close = tort_host_close,                                                            \
                                  .segments = &segments,                                                               \
                                  .engine = &engine}

PROVIDER(tort_provider_plugin, "plugin", "any execution provider plugin of ONNX Runtime: plugin:library=FILE");
PROVIDER(tort_provider_openvino, "openvino", "OpenVINO: the package onnxruntime-ep-openvino");
PROVIDER(tort_provider_qnn, "qnn", "Qualcomm AI Engine Direct: the package onnxruntime-qnn");
PROVIDER(tort_provider_tensorrt_rtx, "tensorrt-rtx",
         "TensorRT for RTX: the package onnxruntime-ep-nv-tensorrt-rtx-cu13");
PROVIDER(tort_provider_webgpu, "webgpu", "WebGPU: the package onnxruntime-ep-webgpu");
