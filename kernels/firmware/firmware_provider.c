/* firmware_provider.c - the provider `firmware`: plain C99 for one core without an operating system, run on the host.
 *
 * Its kernels are the functions of kernels/firmware/code, which `tinyort compile` prints: what is flashed is what was
 * tested. It opens on every host, and runs the loops of its target there, with instructions of the target in plain C.
 * Read next: conv.c, then runtime/firmware/compile/compile.c. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/nhwc.h"
#include "runtime/firmware/bands/bands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- claims ------------------------------------------------------------------------------------------------------ */

tort_verdict tort_firmware_claim_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < node->input_count + node->output_count; i++) {
        const bool input = i < node->input_count;
        const int32_t number = input ? i : i - node->input_count;
        const tort_type type = input ? node->inputs[number].type : node->outputs[number].type;
        if (type != TORT_FLOAT && type != TORT_UNDEFINED)
            return tort_no(TORT_NO_TYPE, "export the model in float32", "%s %d is %s, firmware computes in float",
                           input ? "input" : "output", (int)number, tort_type_name(type));
    }
    return tort_yes();
}

tort_verdict tort_firmware_claim_first_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->inputs[0].type == TORT_FLOAT) return tort_yes();
    return tort_no(TORT_NO_TYPE, "export the model in float32", "input 0 is %s, firmware computes in float",
                   tort_type_name(node->inputs[0].type));
}

void tort_firmware_bounds(const tort_epilogue *epilogue, float *low, float *high) {
    *low = epilogue->activation == TORT_ACTIVATION_RELU ? 0.0f : -INFINITY;
    *high = INFINITY;
    if (epilogue->activation != TORT_ACTIVATION_CLIP) return;
    *high = epilogue->beta;
    *low = epilogue->alpha < epilogue->beta ? epilogue->alpha : epilogue->beta; /* beta where alpha > beta */
}

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *description;
    uint32_t instructions;
} targets[] = {
    {"generic", "plain C99", 0},
    {"cortex-m0plus", "C99 for Cortex-M0+", TORT_FIRMWARE_WHOLE},
    {"cortex-m3", "C99 for Cortex-M3", TORT_FIRMWARE_WHOLE},
    {"cortex-m4", "C99 for Cortex-M4", TORT_FIRMWARE_DSP | TORT_FIRMWARE_FMA},
    {"cortex-m7", "C99 for Cortex-M7", TORT_FIRMWARE_DSP | TORT_FIRMWARE_FMA},
    {"cortex-m23", "C99 for Cortex-M23", TORT_FIRMWARE_WHOLE},
    {"cortex-m33", "C99 for Cortex-M33", TORT_FIRMWARE_DSP | TORT_FIRMWARE_FMA},
    {"cortex-m55", "C99 for Cortex-M55", TORT_FIRMWARE_DSP | TORT_FIRMWARE_MVE | TORT_FIRMWARE_FMA},
    {"cortex-m85", "C99 for Cortex-M85", TORT_FIRMWARE_DSP | TORT_FIRMWARE_MVE | TORT_FIRMWARE_FMA},
    {"cortex-a53", "C99 for Cortex-A53", TORT_FIRMWARE_NEON | TORT_FIRMWARE_FMA},
    {"riscv32", "C99 for RV32IMAFC", TORT_FIRMWARE_FMA},
    {"rv32imac", "C99 for RV32IMAC", TORT_FIRMWARE_WHOLE},
};
enum { COUNT = sizeof targets / sizeof *targets };

static void firmware_open(const tort_provider_config *config, void **device, tort_target *target,
                          tort_condition *condition) {
    const char *given = tort_provider_option_get(config, "target"), *name = given ? given : "generic";
    const char *bands = tort_provider_option_get(config, "bands");
    size_t i = 0;
    while (i < COUNT && strcmp(targets[i].name, name) != 0) i++;
    *device = NULL;
    *target = (tort_target){.threads = 1, .memory = TORT_FIRMWARE_MEMORY};
    *condition = (tort_condition){.ready = i < COUNT, .code = "READY"};
    if (bands && strcmp(bands, "on") != 0 && strcmp(bands, "off") != 0) {
        *condition = (tort_condition){.code = "BAD_OPTION", .cure = "write bands=on, or leave it out"};
        snprintf(condition->message, sizeof condition->message, "option bands is \"%.40s\", expected on or off", bands);
        return;
    }
    if (i < COUNT) {
        target->instructions = targets[i].instructions;
        target->banding = bands && !strcmp(bands, "on") ? &tort_row_banding : NULL;
        *device = (void *)(uintptr_t)tort_firmware_bytes_of(target);
        snprintf(target->description, sizeof target->description, "%s, one core", targets[i].description);
        return;
    }
    snprintf(condition->code, sizeof condition->code, "BAD_OPTION");
    const int length =
        snprintf(condition->message, sizeof condition->message, "option target is \"%.40s\", expected one of", name);
    for (size_t k = 0, used = (size_t)length; k < COUNT && used < sizeof condition->message; k++)
        used += (size_t)snprintf(condition->message + used, sizeof condition->message - used, " %s", targets[k].name);
    snprintf(condition->cure, sizeof condition->cure, "write target=generic, or leave it out");
}

static const tort_kernel *const tables[] = {tort_firmware_conv_float,
                                            tort_firmware_conv_bytes,
                                            tort_firmware_dense_bytes,
                                            tort_firmware_elements_bytes,
                                            tort_firmware_pool_bytes,
                                            tort_firmware_reduce_bytes,
                                            tort_firmware_resize_bytes,
                                            tort_firmware_norm_bytes,
                                            tort_firmware_conv_transpose_bytes,
                                            tort_firmware_concat_bytes,
                                            tort_firmware_conv,
                                            tort_firmware_gemm,
                                            tort_firmware_pool,
                                            tort_firmware_elements,
                                            tort_firmware_move,
                                            tort_firmware_maps,
                                            tort_firmware_zip,
                                            tort_firmware_reduce,
                                            tort_firmware_norm,
                                            tort_firmware_rnn,
                                            tort_firmware_resize,
                                            tort_firmware_volume,
                                            tort_firmware_loss,
                                            tort_firmware_places,
                                            tort_firmware_grid_sample,
                                            tort_firmware_linear_attention,
                                            tort_firmware_attention,
                                            tort_firmware_integers,
                                            tort_firmware_scales,
                                            tort_firmware_sequences,
                                            tort_firmware_fourier,
                                            tort_firmware_col2im,
                                            tort_firmware_trees,
                                            tort_firmware_feature_rows,
                                            NULL};
/* Operators that quantize_dynamic of onnxruntime writes, with scales that each run finds anew, over all elements of a
 * value. */
static const char static_scales[] =
    "quantize with a calibration data set instead: onnxruntime.quantization.quantize_static";
static const tort_refusal refusals[] = {
    {"com.microsoft", "DynamicQuantizeMatMul", "finds scales while it runs", static_scales},
    {"com.microsoft", "MatMulIntegerToFloat", "takes scales that are found while it runs", static_scales},
    {"com.microsoft", "DynamicQuantizeLSTM", "finds scales while it runs",
     "leave the LSTM in float32: firmware runs that"},
    {"ai.onnx.ml", "ZipMap", "makes a map for each row, for which C has no form",
     "export with options={'zipmap': False}, or drop its output: that of the node before has the same scores"},
    {0},
};
static const tort_option_help options[] = {
    {"target", "cortex-m4", "or another processor of compile --help (default generic)"},
    {"bands", "on", "layers in bands of rows, for less memory (default off)"},
    {0},
};

extern const tort_provider tort_provider_firmware;
const tort_provider tort_provider_firmware = {
    .abi = TORT_PROVIDER_ABI,
    .name = "firmware",
    .summary = "plain C99 for firmware, as `tinyort compile` prints it, on the host",
    .host_memory = true,
    .kernels = tables,
    .layouts = tort_firmware_layouts,
    .options = options,
    .refusals = refusals,
    .open = firmware_open,
};
