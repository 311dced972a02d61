/* header.c - prints the header of a compiled model. */

#include <inttypes.h>

#include "runtime/core/base/ascii.h"
#include "runtime/firmware/compile/compilation.h"
#include "runtime/include/bands.h"

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* The value that callers give for an input. An input that no step reads has no slot: its type and shape are its
 * value's.
 */
tort_slot tort_compile_input(const tort_compilation *c, int32_t i) {
    if (c->inputs[i].slot >= 0) return c->plan->slots[c->inputs[i].slot];
    tort_tensor tensor;
    tort_slot slot = {.type = TORT_FLOAT};
    if (!tort_info_tensor(&c->planned->infos[c->lowered->graph.inputs[i]], &tensor)) return slot;
    slot.type = tensor.type;
    slot.rank = tensor.rank;
    memcpy(slot.dims, tensor.dims, sizeof slot.dims);
    return slot;
}

const tort_slot *tort_compile_output(const tort_compilation *c, int32_t i) {
    return &c->plan->slots[c->outputs[i].slot];
}

void tort_compile_signature(const tort_compilation *c, FILE *file) {
    fprintf(file, "int %s_run(", c->name);
    const tort_plan *plan = c->plan;
    for (int32_t i = 0; i < plan->input_count; i++)
        fprintf(file, "const %s *in%d, ", tort_compile_type(tort_compile_input(c, i).type), (int)i);
    for (int32_t i = 0; i < plan->output_count; i++)
        fprintf(file, "%s *out%d, ", tort_compile_type(tort_compile_output(c, i)->type), (int)i);
    fprintf(file, "%svoid *arena)", c->apart ? "const void *weights, " : "");
}

/* Writes a float of a port as an integer, half to even, or an integer as a float: the bits of the kernels. */
static void print_border(const tort_compilation *c, FILE *file, const char *name, bool input, tort_type type) {
    const char *element = tort_compile_type(type), *capitals = c->capitals;
    const bool is_signed = type == TORT_INT8;
    char port[24];
    for (size_t i = 0; i <= strlen(name); i++) port[i] = tort_to_upper(name[i]);
    if (!input) {
        fprintf(file,
                "\n/* (integer - zero) * scale */\nstatic inline float %s_%s_dequantize(%s integer) {\n"
                "    return (float)((int32_t)integer - %s_%s_ZERO) * %s_%s_SCALE;\n}\n",
                c->name, name, element, capitals, port, capitals, port);
        return;
    }
    fprintf(
        file,
        "\n/* value / scale, rounded half to even, plus the zero point, saturated; NaN gives the least integer. */\n"
        "static inline %s %s_%s_quantize(float value) {\n"
        "    const float low = (float)(%s%s_%s_ZERO), high = (float)(%d - %s_%s_ZERO);\n"
        "    float steps = value / %s_%s_SCALE;\n    int32_t bits;\n",
        element, c->name, name, is_signed ? "-128 - " : "-", capitals, port, is_signed ? 127 : 255, capitals, port,
        capitals, port);
    fprintf(
        file,
        "    if (!(steps > low)) {\n        steps = low;\n    }\n    if (steps > high) {\n        steps = high;\n    }\n"
        "    steps += 12582912.0f; /* 1.5 * 2^23: the integer stands in the low bits */\n"
        "    (void)memcpy(&bits, &steps, sizeof bits);\n    return (%s)(bits - 0x4b400000 + %s_%s_ZERO);\n}\n",
        element, capitals, port);
}

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

/* Prints the macros of a port: its name, type and shape, and the scale of one whose border is left to callers. */
static void print_port(const tort_compilation *c, FILE *file, bool input, int32_t number, int32_t value,
                       const tort_slot *slot, const tort_compile_port *port) {
    char prefix[96], text[TORT_COMPILE_FLOAT];
    float scale;
    int32_t zero;
    snprintf(prefix, sizeof prefix, "#define %s_%s%d", c->capitals, input ? "IN" : "OUT", (int)number);
    fprintf(file, "\n%s_NAME \"", prefix);
    tort_compile_name(file, c->lowered->graph.values[value].name);
    fprintf(file, "\"%s\n", port->in_layout ? " /* channels last */" : "");
    fprintf(file, "%s_TYPE %s /* %s */\n", prefix, tort_compile_type(slot->type), tort_type_name(slot->type));
    fprintf(file, "%s_RANK %d\n", prefix, (int)slot->rank);
    for (int32_t i = 0; i < slot->rank; i++) fprintf(file, "%s_DIM%d %lld\n", prefix, (int)i, (long long)slot->dims[i]);
    fprintf(file, "%s_SIZE %lld /* elements */\n", prefix, (long long)tort_compile_elements(slot));
    if (!tort_compile_scale(c, port, &scale, &zero)) return;
    fprintf(file, "%s_SCALE %s /* value = scale * (integer - zero) */\n", prefix, tort_compile_float(scale, text));
    fprintf(file, "%s_ZERO (%d)\n", prefix, (int)zero);
}

static void print_hash(const tort_compilation *c, FILE *file, const char *kind, uint64_t hash) {
    fprintf(file, "#define %s_%s_HASH UINT64_C(0x%016" PRIx64 ")\n", c->capitals, kind, hash);
}

/* Prints what callers give to a step: the ports of the model, and which step is next. */
static void print_state(const tort_compilation *c, FILE *file) {
    const tort_plan *plan = c->plan;
    fprintf(file,
            "\n/* A run between two steps. The caller fills it, with 0 for the step that is next, and owns what it\n"
            " * points to, which stays where it is until the run has ended. */\ntypedef struct %s_state {\n",
            c->name);
    for (int32_t i = 0; i < plan->input_count; i++)
        fprintf(file, "    const %s *in%d;\n", tort_compile_type(tort_compile_input(c, i).type), (int)i);
    for (int32_t i = 0; i < plan->output_count; i++)
        fprintf(file, "    %s *out%d;\n", tort_compile_type(tort_compile_output(c, i)->type), (int)i);
    fprintf(file, "%s    size_t arena_bytes; /* %s_ARENA_BYTES or more */\n    int next;\n",
            c->apart ? "    const void *weights;\n" : "", c->capitals);
    if (plan->band_count) fprintf(file, "    int32_t bands[%d]; /* of the step */\n", 3 * TINYORT_LAYERS);
    fprintf(file, "} %s_state;\n", c->name);
}

static void print_names(const tort_compilation *c, FILE *file) {
    fprintf(file,
            "#define %s_STEPS %d\n/* Names of the steps: the nodes that they begin with. */\n#define %s_STEP_NAMES",
            c->capitals, (int)c->step_count, c->capitals);
    for (int32_t i = 0; i < c->step_count; i++) {
        fprintf(file, "%s \\\n    \"", i ? "," : "");
        tort_compile_name(file, c->step_names[i]);
        fprintf(file, "\"");
    }
    fprintf(file, "\n");
}

static void print_about(const tort_compilation *c, FILE *file) {
    fprintf(file, "/* %s.h - a model compiled by tinyort %s.\n *\n", c->name, TORT_VERSION);
    fprintf(file,
            " * %s_run runs the model; it needs no allocator, file or thread, and keeps nothing between calls: it is\n"
            " * reentrant. It returns %s_OK or an error. `arena` is memory for the values between.\n *\n"
            " * %s_step runs one step and returns the number of the next one, 0 after the last, or an error; a caller\n"
            " * may do something else between steps, or leave the run.\n *\n"
            " * Hashes are FNV-1a of 64 bits; that of the weights is of %s. */\n",
            c->name, c->capitals, c->name,
            c->apart ? "what follows their head of 40 bytes, without padding" : "all arrays' bytes");
    fprintf(file, "#ifndef %s_TINYORT_H\n#define %s_TINYORT_H\n\n#include <stddef.h>\n#include <stdint.h>\n%s",
            c->capitals, c->capitals, c->integers ? "#include <string.h>\n" : "");
}

static void print_facts(const tort_compilation *c, FILE *file) {
    fprintf(file, "\n#define %s_TARGET \"%s\"\n#define %s_OPSET %lld\n#define %s_MULTIPLY_ADDS %lld\n", c->capitals,
            c->target ? c->target : "generic", c->capitals, (long long)tort_model_opset(c->session->model, ""),
            c->capitals, (long long)c->multiply_adds);
    fprintf(file, "#define %s_ARENA_BYTES %llu\n#define %s_ARENA_ALIGN %d\n", c->capitals,
            (unsigned long long)c->arena_bytes, c->capitals, (int)c->align);
    if (c->apart)
        fprintf(file,
                "#define %s_WEIGHTS_BYTES %llu /* of %s_weights.bin, little-endian */\n#define %s_WEIGHTS_ALIGN %d\n",
                c->capitals, (unsigned long long)tort_compile_weights_bytes(c), c->name, c->capitals, (int)c->align);
    print_hash(c, file, "GRAPH", c->hashes.graph);
    print_hash(c, file, "CODE", c->hashes.code);
    print_hash(c, file, "WEIGHTS", c->hashes.weights);
    print_names(c, file);
}

static void print_borders(const tort_compilation *c, FILE *file) {
    char name[24];
    float scale;
    int32_t zero;
    for (int32_t i = 0; i < c->plan->input_count + c->plan->output_count; i++) {
        const int32_t own = i < c->plan->input_count ? i : i - c->plan->input_count;
        const bool input = i == own;
        const tort_compile_port *port = input ? &c->inputs[own] : &c->outputs[own];
        const tort_type type = input ? tort_compile_input(c, own).type : tort_compile_output(c, own)->type;
        snprintf(name, sizeof name, "%s%d", input ? "in" : "out", (int)own);
        if (is_byte(type) && tort_compile_scale(c, port, &scale, &zero)) print_border(c, file, name, input, type);
    }
}

tort_status tort_compile_header(tort_compilation *c, FILE *file) {
    const tort_plan *plan = c->plan;
    print_about(c, file);
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = tort_compile_input(c, i);
        print_port(c, file, true, i, c->lowered->graph.inputs[i], &slot, &c->inputs[i]);
    }
    for (int32_t i = 0; i < plan->output_count; i++)
        print_port(c, file, false, i, c->lowered->graph.outputs[i], tort_compile_output(c, i), &c->outputs[i]);
    print_facts(c, file);
    tort_compile_errors(c, file);
    print_state(c, file);
    fprintf(file, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint %s_step(%s_state *state, void *arena);\n", c->name,
            c->name);
    tort_compile_signature(c, file);
    fprintf(file, ";\n#ifdef __cplusplus\n}\n#endif\n");
    print_borders(c, file);
    fprintf(file, "\n#endif\n");
    return TORT_OK;
}
