/* weights.c - prints weights as constant arrays, of numbers that read back to the same bits. */
#include <math.h>

#include "runtime/compile/unit.h"
#include "runtime/lowered/constants.h"

void tort_compile_externs(const tort_compile_unit *unit, FILE *file) {
    for (int32_t i = 0; i < unit->weight_count; i++)
        fprintf(file, "extern const float %s_w%d[%lld];\n", unit->name, (int)i,
                (long long)tort_compile_elements(&unit->plan->slots[unit->slots[i]]));
}

char *tort_compile_float(float number, char *text) {
    snprintf(text, TORT_COMPILE_FLOAT, "%.9g", (double)number);
    if (isnan(number)) return strcpy(text, "NAN");
    if (isinf(number)) return strcpy(text, number < 0 ? "-INFINITY" : "INFINITY");
    return strcat(text, strpbrk(text, ".e") ? "f" : ".0f");
}

static tort_status print_array(const tort_compile_unit *unit, int32_t number, FILE *file) {
    enum { IN_A_LINE = 8 };
    char text[TORT_COMPILE_FLOAT];
    const tort_slot *slot = &unit->plan->slots[unit->slots[number]];
    const int64_t count = tort_compile_elements(slot);
    const int32_t constant = unit->lowered->constant_of[slot->value];
    const void *data;
    const tort_status status = tort_constant_acquire(unit->session, constant, &data, unit->error);
    if (status) return status;
    fprintf(file, "\n/* ");
    tort_compile_name(file, unit->lowered->graph.values[slot->value].name);
    for (int32_t i = 0; i < slot->rank; i++) fprintf(file, "%s%lld", i ? " x " : ": ", (long long)slot->dims[i]);
    fprintf(file, " */\nextern const float %s_w%d[%lld];\nconst float %s_w%d[%lld] = {", unit->name, (int)number,
            (long long)count, unit->name, (int)number, (long long)count);
    for (int64_t i = 0; i < count; i++) {
        fprintf(file, "%s", i % IN_A_LINE ? ", " : i ? ",\n    " : "\n    ");
        fputs(tort_compile_float(((const float *)data)[i], text), file);
    }
    fprintf(file, "\n};\n");
    tort_constant_release(unit->session, constant);
    return TORT_OK;
}

tort_status tort_compile_weights(tort_compile_unit *unit, FILE *file) {
    tort_status status = TORT_OK;
    fprintf(file, "/* %s_weights.c - the weights of %s, made by tinyort %s. */\n#include <math.h>\n", unit->name,
            unit->name, TORT_VERSION);
    for (int32_t i = 0; !status && i < unit->weight_count; i++) status = print_array(unit, i, file);
    return status;
}
