/* header.c - prints the header of a compiled model. */

#include <inttypes.h>

#include "runtime/firmware/compile/compilation.h"

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

/* The scale and zero point of a port whose border is left to callers. */
static void print_scale(const tort_compilation *c, FILE *file, const char *kind, int32_t number,
                        const tort_compile_port *port) {
    float scale;
    int32_t zero;
    char text[TORT_COMPILE_FLOAT];
    if (!tort_compile_scale(c, port, &scale, &zero)) return;
    fprintf(file, "#define %s_%s%d_SCALE %s /* value = scale * (integer - zero) */\n", c->capitals, kind, (int)number,
            tort_compile_float(scale, text));
    fprintf(file, "#define %s_%s%d_ZERO %d\n", c->capitals, kind, (int)number, (int)zero);
}

static void print_port(const tort_compilation *c, FILE *file, const char *kind, int32_t number, int32_t value,
                       const tort_slot *slot, const tort_compile_port *port) {
    fprintf(file, "#define %s_%s%d_SIZE %lld /* ", c->capitals, kind, (int)number,
            (long long)tort_compile_elements(slot));
    tort_compile_name(file, c->lowered->graph.values[value].name);
    fprintf(file, ": %s", tort_type_name(slot->type));
    for (int32_t i = 0; i < slot->rank; i++) fprintf(file, "%s%lld", i ? " x " : " ", (long long)slot->dims[i]);
    if (port->in_layout) fprintf(file, ", in layout %s", c->layout);
    fprintf(file, " */\n");
    print_scale(c, file, kind, number, port);
}

static void print_hash(const tort_compilation *c, FILE *file, const char *kind, uint64_t hash) {
    fprintf(file, "#define %s_%s_HASH UINT64_C(0x%016" PRIx64 ")\n", c->capitals, kind, hash);
}

void tort_compile_assertion(const tort_compilation *c, FILE *file) {
    fprintf(file,
            "\n/* Fails to compile if the header is of another model, or bytes and floats are not as expected. */\n"
            "typedef char %s_header_is_of_this_code[(%s_CODE_HASH == UINT64_C(0x%016" PRIx64
            ") && sizeof(float) == 4) ? 1 : -1];\n\n",
            c->name, c->capitals, c->hashes.code);
}

void tort_compile_guard(const tort_compilation *c, FILE *file) {
    fprintf(file, "    if ((uintptr_t)arena %% %s_ARENA_ALIGN) return 1;\n", c->capitals);
    if (c->apart)
        fprintf(file,
                "    if ((uintptr_t)weights %% %s_WEIGHTS_ALIGN) return 1;\n"
                "    if (((const uint64_t *)weights)[0] != UINT64_C(0x%016" PRIx64
                ") || ((const uint64_t *)weights)[2] != %s_CODE_HASH) return 2;\n",
                c->capitals, TORT_COMPILE_MAGIC, c->capitals);
    else
        fprintf(file, "    if (%s_weights_of_%016" PRIx64 "[2] != %s_CODE_HASH) return 2;\n", c->name, c->hashes.code,
                c->capitals);
}

tort_status tort_compile_header(tort_compilation *c, FILE *file) {
    const tort_plan *plan = c->plan;
    fprintf(file, "/* %s.h - a model compiled by tinyort %s.\n *\n", c->name, TORT_VERSION);
    fprintf(file,
            " * %s_run needs no allocator, file or thread, and keeps nothing between calls: it is reentrant. It\n"
            " * returns 0; 1 if an address is not a multiple of its ALIGN; 2 if the weights are not for this code,\n"
            " * but of another model, training or target. `arena` is memory for the values between; sizes of inputs\n"
            " * and outputs are in elements. Hashes are FNV-1a of 64 bits; that of the weights is of %s. */\n",
            c->name, c->apart ? "what follows their head of 40 bytes, without padding" : "all arrays' bytes");
    fprintf(file, "#ifndef %s_H\n#define %s_H\n\n#include <stdint.h>\n\n", c->capitals, c->capitals);
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = tort_compile_input(c, i);
        print_port(c, file, "IN", i, c->lowered->graph.inputs[i], &slot, &c->inputs[i]);
    }
    for (int32_t i = 0; i < plan->output_count; i++)
        print_port(c, file, "OUT", i, c->lowered->graph.outputs[i], tort_compile_output(c, i), &c->outputs[i]);
    fprintf(file, "#define %s_ARENA_BYTES %llu\n#define %s_ARENA_ALIGN %d\n", c->capitals,
            (unsigned long long)c->arena_bytes, c->capitals, TORT_COMPILE_ALIGN);
    print_hash(c, file, "GRAPH", c->hashes.graph);
    print_hash(c, file, "CODE", c->hashes.code);
    print_hash(c, file, "WEIGHTS", c->hashes.weights);
    if (c->apart)
        fprintf(file,
                "#define %s_WEIGHTS_BYTES %llu /* of %s_weights.bin, little-endian */\n#define %s_WEIGHTS_ALIGN %d",
                c->capitals, (unsigned long long)tort_compile_weights_bytes(c), c->name, c->capitals,
                TORT_COMPILE_WEIGHTS_ALIGN);
    fprintf(file, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    tort_compile_signature(c, file);
    fprintf(file, ";\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return TORT_OK;
}
