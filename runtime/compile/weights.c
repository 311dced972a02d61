/* weights.c - prints weights as constant arrays, of numbers that read back to the same bits. */
#include <inttypes.h>
#include <math.h>

#include "runtime/compile/unit.h"
#include "runtime/lowered/constants.h"

void tort_compile_externs(const tort_compile_unit *unit, FILE *file) {
    for (int32_t i = 0; i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        fprintf(file, "extern const %s %s[%lld];\n", tort_compile_type(array->type), array->name,
                (long long)(array->count ? array->count : 1));
    }
}

char *tort_compile_float(float number, char *text) {
    snprintf(text, TORT_COMPILE_FLOAT, "%.9g", (double)number);
    if (isnan(number)) return strcpy(text, "NAN");
    if (isinf(number)) return strcpy(text, number < 0 ? "-INFINITY" : "INFINITY");
    return strcat(text, strpbrk(text, ".e") ? "f" : ".0f");
}

static void print_double(double number, FILE *file) {
    if (isnan(number))
        fputs("NAN", file);
    else if (isinf(number))
        fputs(number < 0 ? "-INFINITY" : "INFINITY", file);
    else
        fprintf(file, "%.17g", number);
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

static void print_array(const tort_compile_array *array, const void *data, FILE *file) {
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

tort_status tort_compile_weights(tort_compile_unit *unit, FILE *file) {
    tort_status status = TORT_OK;
    fprintf(
        file,
        "/* %s_weights.c - the weights of %s, made by tinyort %s. */\n#include <math.h>\n#include <stdint.h>\n\n"
        "/* Kernels read words of bytes. */\n#if defined(__GNUC__)\n#define TINYORT_ALIGNED __attribute__((aligned(8)))\n"
        "#else\n#define TINYORT_ALIGNED\n#endif\n",
        unit->name, unit->name, TORT_VERSION);
    for (int32_t i = 0; !status && i < unit->array_count; i++) {
        const tort_compile_array *array = &unit->arrays[i];
        const void *data = array->data;
        if (array->constant >= 0) status = tort_constant_acquire(unit->session, array->constant, &data, unit->error);
        if (status) break;
        print_array(array, data, file);
        if (array->constant >= 0) tort_constant_release(unit->session, array->constant);
    }
    return status;
}
