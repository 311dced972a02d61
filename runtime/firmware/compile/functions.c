/* functions.c - prints the functions of a compiled model: one that runs a step, and one that runs them all.
 *
 * There is one body, a switch over steps: the run is a loop over it. So a caller may do something else between steps,
 * and a step costs a few instructions. State 0 begins: it checks what the caller has given. */
#include <inttypes.h>

#include "runtime/firmware/compile/compilation.h"

/* Errors of a compiled model, as the header lists them. */
static const struct {
    const char *name, *meaning;
} errors[] = {
    {"OK", "all steps are done"},
    {"E_ALIGN", "an address is not a multiple of its ALIGN"},
    {"E_WEIGHTS", "the weights are of another model, training or target than the code"},
    {"E_NULL", "an address is NULL"},
    {"E_ARENA", "the state has fewer bytes of an arena than the model needs"},
    {"E_STEP", "state->next is no step: it is 0 before the first"},
    {"E_CANCELLED", "the run was cancelled between two steps"},
};

void tort_compile_errors(const tort_compilation *c, FILE *file) {
    fprintf(file, "\nenum {\n");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        fprintf(file, "    %s_%s = %d%s /* %s */\n", c->capitals, errors[i].name, -(int)i,
                i + 1 < sizeof errors / sizeof *errors ? "," : "", errors[i].meaning);
    fprintf(file, "};\n");
}

/* Marks of the port for which a part of a template is repeated: its type, name, name in capitals, and elements,
 * at least one, as C has no empty arrays. */
static void print_of_port(const tort_compilation *c, char what, int32_t port, FILE *file) {
    const bool input = port < c->plan->input_count;
    const int32_t number = input ? port : port - c->plan->input_count;
    const tort_slot slot = input ? tort_compile_input(c, number) : *tort_compile_output(c, number);
    const long long elements = (long long)tort_compile_elements(&slot);
    switch (what) {
    case 't': fputs(tort_compile_type(slot.type), file); break;
    case 'e': fprintf(file, "%lld", elements ? elements : 1); break;
    case 'p': fprintf(file, "%s%d", input ? "in" : "out", (int)number); break;
    default: fprintf(file, "%s%d", input ? "IN" : "OUT", (int)number);
    }
}

/* Prints a template up to its end, or to that of the part that is repeated for a port, and returns what is behind. */
static const char *fill_part(const tort_compilation *c, const char *text, int32_t port, FILE *file) {
    for (bool kept = true; *text; text++) {
        if (*text != '@') {
            if (kept) fputc(*text, file);
            continue;
        }
        switch (*++text) {
        case '[': kept = !c->apart; break;
        case '{': kept = c->apart; break;
        case '(': kept = c->slow_bytes > 0; break;
        case '<': kept = c->plan->band_count > 0; break;
        case ']':
        case '}':
        case ')':
        case '>': kept = true; break;
        case '*': {
            const char *part = text + 1;
            for (int32_t i = 0; i < c->plan->input_count + c->plan->output_count; i++)
                text = fill_part(c, part, i, file);
            break;
        }
        case ';': return text;
        case 'n':
        case 'N':
        case 'v':
            if (kept) fputs(*text == 'n' ? c->name : *text == 'N' ? c->capitals : TORT_VERSION, file);
            break;
        default: print_of_port(c, *text, port, file);
        }
    }
    return text;
}

void tort_compile_fill(const tort_compilation *c, const char *text, FILE *file) {
    fill_part(c, text, -1, file);
}

/* Prints what tells whether weights apart belong to the code: by their head, and by all of their bytes. */
static void print_verify(const tort_compilation *c, FILE *file) {
    fprintf(file,
            "%s_CODE static int %s_is_head(const uint64_t *head) {\n    return (head[0] == UINT64_C(0x%016" PRIx64
            ")) && (head[2] == %s_CODE_HASH);\n}\n\n",
            c->capitals, c->name, TORT_COMPILE_MAGIC, c->capitals);
    fprintf(file,
            "int %s_verify(const void *weights) {\n    const uint64_t *const head = (const uint64_t *)weights;\n"
            "    const unsigned char *const bytes = (const unsigned char *)weights;\n"
            "    uint64_t hash = UINT64_C(0x%016" PRIx64 ");\n    uint32_t i;\n",
            c->name, TORT_COMPILE_HASH);
    tort_compile_fill(
        c,
        "    if (!weights || (((uintptr_t)weights % (uintptr_t)@N_WEIGHTS_ALIGN) != 0u) || !@n_is_head(head) ||\n"
        "        (head[4] != (uint64_t)@N_WEIGHTS_BYTES)) {\n        return @N_E_WEIGHTS;\n    }\n",
        file);
    fprintf(file, "    for (i = %d; i < %s_WEIGHTS_BYTES; i++) {\n", TORT_COMPILE_HEAD, c->capitals);
    tort_compile_fill(c,
                      "        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);\n    }\n"
                      "    return hash == head[3] ? @N_OK : @N_E_WEIGHTS;\n}\n\n",
                      file);
}

/* Prints a check of what the caller has given: of addresses that steps read or write. */
static void print_check(const tort_compilation *c, FILE *file) {
    tort_compile_fill(c, "@N_CODE static int @n_check(const @n_state *state, const void *arena) {\n    if (", file);
    for (int32_t i = 0; i < c->plan->input_count; i++) {
        const tort_slot slot = tort_compile_input(c, i);
        if (c->inputs[i].slot >= 0 && tort_compile_elements(&slot)) fprintf(file, "!state->in%d || ", (int)i);
    }
    for (int32_t i = 0; i < c->plan->output_count; i++)
        if (tort_compile_elements(tort_compile_output(c, i))) fprintf(file, "!state->out%d || ", (int)i);
    tort_compile_fill(
        c,
        "@{!state->weights || @}@(!state->slow_arena || @)!arena) {\n        return @N_E_NULL;\n    }\n"
        "    if ((((uintptr_t)arena % (uintptr_t)@N_ARENA_ALIGN) != 0u)"
        "@( || (((uintptr_t)state->slow_arena % (uintptr_t)@N_ARENA_ALIGN) != 0u)@)"
        "@{ || (((uintptr_t)state->weights % (uintptr_t)@N_WEIGHTS_ALIGN) != 0u)@}) {\n        return @N_E_ALIGN;\n    }\n"
        "    if ((state->arena_bytes < (size_t)@N_ARENA_BYTES)"
        "@( || (state->slow_arena_bytes < (size_t)@N_SLOW_ARENA_BYTES)@)) {\n        return @N_E_ARENA;\n    }\n",
        file);
    if (c->apart)
        tort_compile_fill(c, "    if (!@n_is_head((const uint64_t *)state->weights)) {\n", file);
    else
        fprintf(file, "    if (%s_weights_of_%016" PRIx64 "[2] != %s_CODE_HASH) {\n", c->name, c->hashes.code,
                c->capitals);
    tort_compile_fill(c, "        return @N_E_WEIGHTS;\n    }\n    return @N_OK;\n}\n", file);
}

/* Macros that a product may define, in NAME_config.h or on the compiler's command line. */
void tort_compile_config(const tort_compilation *c, FILE *file) {
    static const struct {
        const char *name, *nothing, *meaning;
    } macros[] = {{"CODE", "", "before each function: an attribute such as its section"},
                  {"WEIGHTS", "", "before each array of weights"},
                  {"HOT_WEIGHTS", "", "before those that a run reads many times"},
                  {"BEFORE(step)", "((void)0)", "a statement before each step"},
                  {"AFTER(step)", "((void)0)", "a statement after each step"},
                  {"CANCELS(step)", "0", "true: the run ends before this step"}};
    tort_compile_fill(c,
                      "/* The product's own macros, if it has a file with some. */\n#if defined(__has_include)\n"
                      "#if __has_include(\"@n_config.h\")\n#include \"@n_config.h\"\n#endif\n#endif\n",
                      file);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        fprintf(file, "#if !defined(%s_%.*s)\n#define %s_%s %s /* %s */\n#endif\n", c->capitals,
                (int)strcspn(macros[i].name, "("), macros[i].name, c->capitals, macros[i].name, macros[i].nothing,
                macros[i].meaning);
    fprintf(file, "\n");
}

static void print_step(const tort_compilation *c, const char *cases, FILE *file) {
    tort_compile_fill(c,
                      "\n@N_CODE int @n_step(@n_state *state, void *arena) {\n"
                      "    unsigned char *const values = (unsigned char *)arena;\n"
                      "@(    unsigned char *slow;\n@)"
                      "    int step;\n"
                      "@<    int again = 0; /* a step in bands has more of them */\n@>"
                      "    if (!state) {\n        return @N_E_NULL;\n    }\n"
                      "    step = state->next;\n"
                      "    if (step == 0) {\n"
                      "        const int status = @n_check(state, arena);\n"
                      "        if (status != @N_OK) {\n            return status;\n        }\n"
                      "@<        (void)memset(state->bands, 0, sizeof state->bands); /* of a run that was left */\n@>"
                      "        step = 1;\n    }\n"
                      "@(    slow = (unsigned char *)state->slow_arena;\n@)"
                      "    (void)values;\n"
                      "    @N_BEFORE(step);\n"
                      "    switch (step) {\n",
                      file);
    fprintf(file, "%s    default:\n", cases);
    tort_compile_fill(c,
                      "        return @N_E_STEP;\n    }\n"
                      "    @N_AFTER(step);\n"
                      "@<    if (again == 0) {\n        step = (step < @N_STEPS) ? (step + 1) : 0;\n    }\n@>",
                      file);
    if (!c->plan->band_count) tort_compile_fill(c, "    step = (step < @N_STEPS) ? (step + 1) : 0;\n", file);
    tort_compile_fill(c, "    state->next = step;\n    return step;\n}\n", file);
}

void tort_compile_functions(const tort_compilation *c, const char *cases, FILE *file) {
    fprintf(file,
            "\n/* Fails to compile if the header is of another model, or bytes and floats are not as expected. */\n"
            "typedef char %s_header_is_of_this_code[(%s_CODE_HASH == UINT64_C(0x%016" PRIx64
            ") && sizeof(float) == 4) ? 1 : -1];\n\n",
            c->name, c->capitals, c->hashes.code);
    if (c->apart) print_verify(c, file);
    print_check(c, file);
    print_step(c, cases, file);
    tort_compile_fill(c, "\n@N_CODE ", file);
    tort_compile_signature(c, file);
    tort_compile_fill(c,
                      " {\n    @n_state state;\n    int next;\n"
                      "@*    state.@p = @p;\n@;"
                      "@{    state.weights = weights;\n@}"
                      "@(    state.slow_arena = slow_arena;\n    state.slow_arena_bytes = @N_SLOW_ARENA_BYTES;\n@)"
                      "    state.arena_bytes = @N_ARENA_BYTES;\n"
                      "    state.next = 0;\n"
                      "    do {\n"
                      "        next = @n_step(&state, arena);\n"
                      "        if ((next > 0) && (@N_CANCELS(next))) {\n"
                      "            next = @N_E_CANCELLED;\n"
                      "        }\n"
                      "    } while (next > 0);\n"
                      "    return next;\n}\n",
                      file);
}
