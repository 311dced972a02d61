/* openvino.c - what OpenVINO computes otherwise than ONNX says, so that its nodes go on along the chain.
 *
 * Found by ONNX's backend cases on plugin 1.8.1 (OpenVINO 2026.4), device CPU, in float32; each rule is confirmed by
 * onnxruntime with the same plugin, which gives the same wrong numbers, in silence. The rules say more than the cases
 * prove: where a type, a mode or a form of an operator was wrong, all nodes that have it are declined. What no rule can
 * tell is in tests/plugin_host/openvino.txt. Read next: plugin_provider.c. */
#include "kernels/plugin/host.h"

static bool has_type(const tort_node_view *node, const tort_type *types, size_t count) {
    for (int32_t i = 0; i < node->input_count + node->output_count; i++) {
        const tort_info *info = i < node->input_count ? &node->inputs[i] : &node->outputs[i - node->input_count];
        for (size_t t = 0; t < count; t++)
            if (info->type == types[t]) return true;
    }
    return false;
}

/* double: 3.4e38 where ONNX has infinity or 5.9e199. */
static bool has_double(const tort_node_view *node) {
    return has_type(node, &(tort_type){TORT_DOUBLE}, 1);
}

/* Casts to these do not saturate. */
static bool has_small_float(const tort_node_view *node) {
    static const tort_type types[] = {TORT_FLOAT8E4M3FN,   TORT_FLOAT8E4M3FNUZ, TORT_FLOAT8E5M2,
                                      TORT_FLOAT8E5M2FNUZ, TORT_FLOAT8E8M0,     TORT_FLOAT4E2M1};
    return has_type(node, types, sizeof types / sizeof *types);
}

/* Shifts of negative numbers, and by the width of the type or more. */
static bool shifts_signed(const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    return type == TORT_INT8 || type == TORT_INT16 || type == TORT_INT32 || type == TORT_INT64;
}

static bool has_peepholes(const tort_node_view *node) {
    return tort_has_input(node, 7);
}

static bool pools_by_max(const tort_node_view *node) {
    return !strcmp(tort_attr_string(node, "mode"), "max");
}

static bool makes_scalar(const tort_node_view *node) {
    return node->outputs[0].rank == 0;
}

static bool takes_channels_first(const tort_node_view *node) {
    return !strcmp(tort_attr_string(node, "mode"), "CRD");
}

static const struct {
    const char *op;                         /* "*": any */
    bool (*is)(const tort_node_view *node); /* NULL: all of them */
    int32_t before;                         /* opset; 0: in all */
    tort_verdict_code code;
    const char *why;
} rules[] = {
    {"*", has_double, 0, TORT_NO_TYPE, "it computes double as float32"},
    {"*", has_small_float, 0, TORT_NO_TYPE, "its floats of 4 and 8 bits do not saturate"},
    {"BatchNormalization", NULL, 7, TORT_NO_OPSET, "before opset 7 it takes it for one in training"},
    {"BitShift", shifts_signed, 0, TORT_NO_TYPE,
     "it shifts negative numbers, and by a whole width, otherwise than ONNX"},
    {"DFT", NULL, 20, TORT_NO_OPSET, "it makes another shape of it before opset 20"},
    {"Einsum", makes_scalar, 0, TORT_NO_SHAPE, "it leaves a scalar unwritten"},
    {"LSTM", has_peepholes, 0, TORT_NO_ATTR, "it leaves out peepholes"},
    {"RoiAlign", pools_by_max, 0, TORT_NO_ATTR, "its mode max is not ONNX's"},
    {"SpaceToDepth", takes_channels_first, 0, TORT_NO_ATTR, "it does not know mode CRD"},
};

/* Attention over a past that grows: with 16 entries and more its fused form (MatMul, Softmax, MatMul) gives other
 * numbers, off by as much as there is. OpenVINO's own package does, too; without its "snippets" it is right. */
static bool grows(const tort_node_view *node) {
    const tort_info *input = &node->inputs[0];
    return !strcmp(node->op->name, "Softmax") && input->rank > 0 && !tort_dim_known(input->dims[input->rank - 1]);
}

tort_verdict tort_host_claim_openvino(const tort_target *target, const tort_node_view *node) {
    if (!target->facts[TORT_HOST_SNIPPETS] && grows(node))
        return tort_no(TORT_NO_DYNAMIC,
                       "give openvino:load_config=FILE.json of {\"CPU\": {\"SNIPPETS_MODE\": \"DISABLE\"}}",
                       "OpenVINO is wrong here: attention over a length that grows");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const bool named = !strcmp(rules[i].op, "*") || (!strcmp(rules[i].op, node->op->name) && !*node->op->domain);
        const bool its = named && (!rules[i].before || node->opset < rules[i].before);
        if (its && (!rules[i].is || rules[i].is(node)))
            return tort_no(rules[i].code, "", "OpenVINO is wrong here: %s", rules[i].why);
    }
    return tort_yes();
}

/* The option load_config: JSON, or the name of a file of it, of which the beginning is read; "" without. */
static const char *read_config(const tort_provider_config *config, char *text, size_t size) {
    const char *given = tort_provider_option_get(config, "load_config");
    FILE *file = given && *given != '{' ? fopen(given, "r") : NULL;
    *text = 0;
    if (!file) return given ? given : text;
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
    return text;
}

static bool has_bfloat16(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

void tort_host_know_openvino(const tort_provider_config *config, tort_target *target, char *note, size_t size) {
    char text[4096];
    const char *json = read_config(config, text, sizeof text);
    const size_t used = strlen(note);
    target->facts[TORT_HOST_OPENVINO] = 1;
    target->facts[TORT_HOST_SNIPPETS] = strstr(json, "SNIPPETS_MODE") != NULL;
    if (has_bfloat16() && !strstr(json, "INFERENCE_PRECISION_HINT"))
        snprintf(note + used, size - used,
                 "%sit computes in bfloat16 here, in float32 with load_config=FILE.json of {\"CPU\": "
                 "{\"INFERENCE_PRECISION_HINT\": \"f32\"}}",
                 used ? "; " : "");
}
