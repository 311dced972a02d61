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
    tort_compile_fill(c, "@{const void *weights, @}void *arena@(, void *slow_arena@))", file);
}

/* Prints a function between a float of a port and its integer: with the bits of the kernels, so of QuantizeLinear and
 * DequantizeLinear. Scale and zero point that are with the weights apart are found by their address. */
static void print_border(const tort_compilation *c, FILE *file, const char *name, bool input, tort_type type,
                         bool found) {
    const char *element = tort_compile_type(type), *at = found ? "(weights)" : "";
    const char *more = found ? ", const void *weights" : "";
    char port[24];
    for (size_t i = 0; i <= strlen(name); i++) port[i] = tort_to_upper(name[i]);
    if (input)
        fprintf(
            file,
            "\n/* value / scale, rounded half to even, plus the zero point, saturated; NaN gives the least integer. */\n"
            "static inline %s %s_%s_quantize(float value%s) {\n",
            element, c->name, name, more);
    else
        fprintf(file, "\n/* (integer - zero) * scale */\nstatic inline float %s_%s_dequantize(%s integer%s) {\n",
                c->name, name, element, more);
    fprintf(file, "    const float scale = %s_%s_SCALE%s;\n    const int32_t zero = %s_%s_ZERO%s;\n", c->capitals, port,
            at, c->capitals, port, at);
    if (!input) {
        fprintf(file, "    return (float)((int32_t)integer - zero) * scale;\n}\n");
        return;
    }
    fprintf(
        file,
        "    const float low = (float)(%szero), high = (float)(%d - zero);\n"
        "    float steps = value / scale;\n    int32_t bits;\n"
        "    if (!(steps > low)) {\n        steps = low;\n    }\n    if (steps > high) {\n        steps = high;\n    }\n"
        "    steps += 12582912.0f; /* 1.5 * 2^23: the integer stands in the low bits */\n"
        "    (void)memcpy(&bits, &steps, sizeof bits);\n    return (%s)(bits - 0x4b400000 + zero);\n}\n",
        type == TORT_INT8 ? "-128 - " : "-", type == TORT_INT8 ? 127 : 255, element);
}

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

/* Prints a number of a port that is with the weights. */
static void print_listed(const tort_compilation *c, FILE *file, const char *prefix, const char *what, const char *type,
                         const char *array) {
    if (!c->apart)
        fprintf(file, "extern const %s %s[1];\n%s_%s (%s[0])\n", type, array, prefix, what, array);
    else
        fprintf(file, "%s_%s(weights) (*(const %s *)(const void *)((const unsigned char *)(weights) + %llu))\n", prefix,
                what, type, (unsigned long long)tort_compile_weight_place(c, array));
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
    if (port->scale) {
        print_listed(c, file, prefix, "SCALE", "float", port->scale);
        print_listed(c, file, prefix, "ZERO", "int32_t", port->zero);
        return;
    }
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
    tort_compile_fill(c,
                      "@{    const void *weights;\n@}    size_t arena_bytes; /* @N_ARENA_BYTES or more */\n"
                      "@(    void *slow_arena;\n    size_t slow_arena_bytes; /* @N_SLOW_ARENA_BYTES or more */\n@)"
                      "    int next;\n",
                      file);
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
            c->name, c->capitals, c->name, c->apart ? "what follows their head of 40 bytes" : "all arrays' bytes");
    fprintf(file, "#ifndef %s_TINYORT_H\n#define %s_TINYORT_H\n\n#include <stddef.h>\n#include <stdint.h>\n%s",
            c->capitals, c->capitals, c->integers ? "#include <string.h>\n" : "");
}

static void print_facts(const tort_compilation *c, FILE *file) {
    fprintf(file, "\n#define %s_TARGET \"%s\"\n#define %s_OPSET %lld\n#define %s_MULTIPLY_ADDS %lld\n", c->capitals,
            c->target ? c->target : "generic", c->capitals, (long long)tort_model_opset(c->session->model, ""),
            c->capitals, (long long)c->multiply_adds);
    fprintf(file, "#define %s_ARENA_BYTES %llu\n", c->capitals,
            (unsigned long long)(c->arena_bytes ? c->arena_bytes : 1)); /* C has no empty arrays */
    if (c->slow_bytes)
        fprintf(file, "#define %s_SLOW_ARENA_BYTES %llu\n", c->capitals, (unsigned long long)c->slow_bytes);
    fprintf(file, "#define %s_ARENA_ALIGN %d\n", c->capitals, (int)c->align);
    if (c->stack_bytes)
        fprintf(file, "#define %s_STACK_BYTES %u /* at most, below the call, by gcc with -O2 or -Os */\n", c->capitals,
                (unsigned)c->stack_bytes);
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
        if (is_byte(type) && tort_compile_scale(c, port, &scale, &zero))
            print_border(c, file, name, input, type, port->scale && c->apart);
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
    tort_compile_fill(
        c,
        "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
        "@{/* @N_OK if the weights, of which @N_WEIGHTS_BYTES are readable, are for this code and have the "
        "hash\n * that their head tells; else @N_E_WEIGHTS. For the time after an update: runs look at the "
        "head alone. */\nint @n_verify(const void *weights);\n@}"
        "int @n_step(@n_state *state, void *arena);\n",
        file);
    tort_compile_signature(c, file);
    fprintf(file, ";\n#ifdef __cplusplus\n}\n#endif\n");
    print_borders(c, file);
    fprintf(file, "\n#endif\n");
    return TORT_OK;
}
