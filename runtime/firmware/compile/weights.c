/* weights.c - prints weights as constant arrays, of numbers that read back to the same bits; or writes their bytes, one
 * array behind the other, for programs that have them elsewhere than in their code. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/firmware/compile/unit.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/base/ascii.h"
#include "runtime/core/base/locale.h"

/* Where an array begins in the bytes of all. */
static uint64_t next_place(uint64_t end) {
    return (end + TORT_COMPILE_WEIGHTS_ALIGN - 1) / TORT_COMPILE_WEIGHTS_ALIGN * TORT_COMPILE_WEIGHTS_ALIGN;
}

static uint64_t bytes_of(const tort_compile_array *array) {
    return (uint64_t)array->count * (uint64_t)tort_type_bits(array->type) / 8;
}

uint64_t tort_compile_weights_bytes(const tort_compile_unit *unit) {
    uint64_t end = TORT_COMPILE_HEAD;
    for (int32_t i = 0; i < unit->array_count; i++) end = next_place(end) + bytes_of(&unit->arrays[i]);
    return end;
}

/* Names of places in the bytes that the caller gives. */
static void print_places(const tort_compile_unit *unit, FILE *file) {
    uint64_t at = TORT_COMPILE_HEAD;
    for (int32_t i = 0; i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        at = next_place(at);
        fprintf(file, "#define %s ((const %s *)((const unsigned char *)weights + %llu))\n", array->name,
                tort_compile_type(array->type), (unsigned long long)at);
        at += bytes_of(array);
    }
}

void tort_compile_externs(const tort_compile_unit *unit, FILE *file) {
    if (unit->apart) {
        print_places(unit, file);
        return;
    }
    fprintf(file, "extern const uint64_t %s_weights_of_%016" PRIx64 "[4];\n", unit->name, unit->hashes.code);
    for (int32_t i = 0; i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        fprintf(file, "extern const %s %s[%lld];\n", tort_compile_type(array->type), array->name,
                (long long)(array->count ? array->count : 1));
    }
}

char *tort_compile_float(float number, char *text) {
    tort_snprintf(text, TORT_COMPILE_FLOAT, "%.9g", (double)number);
    if (isnan(number)) return strcpy(text, "NAN");
    if (isinf(number)) return strcpy(text, number < 0 ? "-INFINITY" : "INFINITY");
    return strcat(text, strpbrk(text, ".e") ? "f" : ".0f");
}

static void print_double(double number, FILE *file) {
    char text[TORT_COMPILE_FLOAT];
    tort_snprintf(text, sizeof text, "%.17g", number);
    if (isnan(number))
        fputs("NAN", file);
    else if (isinf(number))
        fputs(number < 0 ? "-INFINITY" : "INFINITY", file);
    else
        fputs(text, file);
}

static void print_number(tort_type type, const void *data, int64_t i, FILE *file) {
    char text[TORT_COMPILE_FLOAT];
    switch (type) {
    case TORT_FLOAT: fputs(tort_compile_float(((const float *)data)[i], text), file); break;
    case TORT_DOUBLE: print_double(((const double *)data)[i], file); break;
    case TORT_INT8: fprintf(file, "%" PRId8, ((const int8_t *)data)[i]); break;
    case TORT_INT16: fprintf(file, "%" PRId16, ((const int16_t *)data)[i]); break;
    case TORT_INT32: fprintf(file, "%" PRId32, ((const int32_t *)data)[i]); break;
    case TORT_UINT32: fprintf(file, "%" PRIu32 "u", ((const uint32_t *)data)[i]); break;
    case TORT_UINT64: fprintf(file, "%" PRIu64 "u", ((const uint64_t *)data)[i]); break;
    case TORT_INT64:
        if (((const int64_t *)data)[i] == INT64_MIN)
            fputs("INT64_MIN", file); /* a minus and a number that no type holds, if it were printed as digits */
        else
            fprintf(file, "%" PRId64, ((const int64_t *)data)[i]);
        break;
    case TORT_UINT16:
    case TORT_FLOAT16:
    case TORT_BFLOAT16: fprintf(file, "%" PRIu16, ((const uint16_t *)data)[i]); break;
    default: fprintf(file, "%" PRIu8, ((const uint8_t *)data)[i]); break;
    }
}

static void print_array(const tort_compile_array *array, const void *data, void *to) {
    FILE *file = to;
    const char *type = tort_compile_type(array->type);
    const int64_t in_a_line = tort_type_bits(array->type) == 8 ? 24 : 8;
    const long long count = (long long)(array->count ? array->count : 1); /* C has no empty arrays */
    fprintf(file, "\n/* ");
    tort_compile_name(file, array->of);
    fprintf(file, " */\nextern const %s %s[%lld];\nTINYORT_ALIGNED const %s %s[%lld] = {", type, array->name, count,
            type, array->name, count);
    if (!array->count) fprintf(file, "0");
    for (int64_t i = 0; i < array->count; i++) {
        fprintf(file, "%s", i % in_a_line ? ", " : i ? ",\n    " : "\n    ");
        print_number(array->type, data, i, file);
    }
    fprintf(file, "\n};\n");
}

/* Calls a printer for each array, with its elements. */
static tort_status for_arrays(const tort_compile_unit *unit,
                              void (*print)(const tort_compile_array *array, const void *data, void *to), void *to) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        const void *data = array->data;
        if (array->constant >= 0) status = tort_constant_acquire(unit->session, array->constant, &data, unit->error);
        if (status) break;
        print(array, data, to);
        if (array->constant >= 0) tort_constant_release(unit->session, array->constant);
    }
    return status;
}

static void hash_array(const tort_compile_array *array, const void *data, void *to) {
    tort_compile_hash(to, data, (size_t)bytes_of(array));
}

tort_status tort_compile_hash_weights(tort_compile_unit *unit) {
    return for_arrays(unit, hash_array, &unit->hashes.weights);
}

/* Arrays of constants are named NAME_w and their number. A kernel that has packed a constant, or has its numbers in the
 * statement, does not name it. */
void tort_compile_drop_unread(tort_compile_unit *unit, const char *body) {
    const size_t length = strlen(unit->name);
    int32_t kept = 0;
    for (const char *at = body; (at = strstr(at, unit->name)); at += length) {
        char *end;
        const bool whole = (at == body || (!tort_is_word(at[-1]) && at[-1] != '_')) && !strncmp(at + length, "_w", 2);
        const long number = whole ? strtol(at + length + 2, &end, 10) : -1;
        if (number >= 0 && number < unit->array_count && end > at + length + 2) unit->arrays[number].read = true;
    }
    unit->weight_bytes = 0;
    for (int32_t i = 0; i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        if (!array->read) continue;
        unit->weight_bytes += bytes_of(array);
        unit->arrays[kept++] = *array;
    }
    unit->array_count = kept;
}

static void write_array(const tort_compile_array *array, const void *data, void *to) {
    FILE *file = to;
    const uint64_t end = (uint64_t)ftell(file);
    for (uint64_t at = end; at < next_place(end); at++) fputc(0, file);
    fwrite(data, 1, (size_t)bytes_of(array), file);
}

tort_status tort_compile_weights_apart(tort_compile_unit *unit, FILE *file) {
    const uint64_t head[] = {TORT_COMPILE_MAGIC, unit->hashes.graph, unit->hashes.code, unit->hashes.weights,
                             tort_compile_weights_bytes(unit)};
    fwrite(head, sizeof *head, sizeof head / sizeof *head, file);
    return for_arrays(unit, write_array, file);
}

tort_status tort_compile_weights(tort_compile_unit *unit, FILE *file) {
    fprintf(file,
            "/* %s_weights.c - the weights of %s, made by tinyort %s. */\n#include <math.h>\n#include <stdint.h>\n\n"
            "/* Kernels read words of bytes. x86-64 aligns arrays to 16, and compilers rely on it. */\n"
            "#if defined(__GNUC__) && !defined(__x86_64__)\n#define TINYORT_ALIGNED __attribute__((aligned(8)))\n"
            "#else\n#define TINYORT_ALIGNED\n#endif\n",
            unit->name, unit->name, TORT_VERSION);
    fprintf(file,
            "\n/* The code that they are for, by its hash; \"tinyort\", hashes of graph, code and weights. */\n"
            "extern const uint64_t %s_weights_of_%016" PRIx64 "[4];\nconst uint64_t %s_weights_of_%016" PRIx64
            "[4] = {",
            unit->name, unit->hashes.code, unit->name, unit->hashes.code);
    fprintf(file, "0x%016" PRIx64 "u,\n    0x%016" PRIx64 "u, 0x%016" PRIx64 "u, 0x%016" PRIx64 "u};\n",
            TORT_COMPILE_MAGIC, unit->hashes.graph, unit->hashes.code, unit->hashes.weights);
    return for_arrays(unit, print_array, file);
}
