/* weights.c - prints weights as constant arrays, whose numbers read back to the same bits; or writes their bytes, array
 * after array, to a file for programs that keep weights apart from their code. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/firmware/compile/compilation.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/base/ascii.h"
#include "runtime/core/base/locale.h"

/* Where an array begins in the bytes of all. */
static uint64_t next_place(uint64_t end, uint64_t align) {
    return (end + align - 1) / align * align;
}

static uint64_t bytes_of(const tort_compile_array *array) {
    return (uint64_t)array->count * (uint64_t)tort_type_bits(array->type) / 8;
}

uint64_t tort_compile_weights_bytes(const tort_compilation *c) {
    uint64_t end = TORT_COMPILE_HEAD;
    for (int32_t i = 0; i < c->array_count; i++) end = next_place(end, c->align) + bytes_of(&c->arrays[i]);
    return end;
}

uint64_t tort_compile_weight_place(const tort_compilation *c, const char *name) {
    uint64_t at = next_place(TORT_COMPILE_HEAD, c->align);
    for (int32_t i = 0; i < c->array_count && strcmp(c->arrays[i].name, name) != 0; i++)
        at = next_place(at + bytes_of(&c->arrays[i]), c->align);
    return at;
}

/* Names of places in the bytes that the caller gives. */
static void print_places(const tort_compilation *c, FILE *file) {
    uint64_t at = TORT_COMPILE_HEAD;
    for (int32_t i = 0; i < c->array_count; i++) {
        const tort_compile_array *array = &c->arrays[i];
        at = next_place(at, c->align);
        fprintf(file, "#define %s ((const %s *)((const unsigned char *)state->weights + %llu))\n", array->name,
                tort_compile_type(array->type), (unsigned long long)at);
        at += bytes_of(array);
    }
}

void tort_compile_externs(const tort_compilation *c, FILE *file) {
    if (c->apart) {
        print_places(c, file);
        return;
    }
    fprintf(file, "extern const uint64_t %s_weights_of_%016" PRIx64 "[4];\n", c->name, c->hashes.code);
    for (int32_t i = 0; i < c->array_count; i++) {
        const tort_compile_array *array = &c->arrays[i];
        fprintf(file, "extern const %s %s[%lld];\n", tort_compile_type(array->type), array->name,
                (long long)(array->count ? array->count : 1));
    }
}

/* Writes a number in so many digits; `end` is the suffix of its type. */
static char *write_number(double number, int digits, const char *end, char *text) {
    tort_snprintf(text, TORT_COMPILE_FLOAT, "%.*g", digits, number);
    if (isnan(number)) return strcpy(text, "NAN");
    if (isinf(number)) return strcpy(text, number < 0 ? "-INFINITY" : "INFINITY");
    if (!strpbrk(text, ".e")) strcat(text, ".0"); /* -0 would be a whole number, which has no sign */
    return strcat(text, end);
}

char *tort_compile_float(float number, char *text) {
    return write_number((double)number, 9, "f", text);
}

static void print_number(tort_type type, const void *data, int64_t i, FILE *file) {
    char text[TORT_COMPILE_FLOAT];
    switch (type) {
    case TORT_FLOAT: fputs(tort_compile_float(((const float *)data)[i], text), file); break;
    case TORT_DOUBLE: fputs(write_number(((const double *)data)[i], 17, "", text), file); break;
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

static void print_array(const tort_compilation *c, const tort_compile_array *array, const void *data, void *to) {
    FILE *file = to;
    const char *type = tort_compile_type(array->type);
    const int64_t in_a_line = tort_type_bits(array->type) == 8 ? 24 : 8;
    const long long count = (long long)(array->count ? array->count : 1); /* C has no empty arrays */
    fprintf(file, "\n/* ");
    tort_compile_name(file, array->of);
    fprintf(file, " */\nextern const %s %s[%lld];\n%s_%sWEIGHTS %s_ALIGNED const %s %s[%lld] = {", type, array->name,
            count, c->capitals, array->hot ? "HOT_" : "", c->capitals, type, array->name, count);
    if (!array->count) fprintf(file, "0");
    for (int64_t i = 0; i < array->count; i++) {
        fprintf(file, "%s", i % in_a_line ? ", " : i ? ",\n    " : "\n    ");
        print_number(array->type, data, i, file);
    }
    fprintf(file, "\n};\n");
}

/* Calls a printer for each array, with its elements. */
static tort_status for_arrays(const tort_compilation *c,
                              void (*print)(const tort_compilation *c, const tort_compile_array *array,
                                            const void *data, void *to),
                              void *to) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->array_count; i++) {
        const tort_compile_array *array = &c->arrays[i];
        const void *data = array->data;
        if (array->constant >= 0) status = tort_constant_acquire(c->session, array->constant, &data, c->error);
        if (status) break;
        print(c, array, data, to);
        if (array->constant >= 0) tort_constant_release(c->session, array->constant);
    }
    return status;
}

typedef struct hashed {
    uint64_t hash, end; /* end: of the file so far */
} hashed;

/* Weights apart are hashed as their file has them, with the zeros between arrays. */
static void hash_array(const tort_compilation *c, const tort_compile_array *array, const void *data, void *to) {
    hashed *all = to;
    static const uint8_t none[1];
    for (uint64_t end = all->end; c->apart && all->end < next_place(end, c->align); all->end++)
        tort_compile_hash(&all->hash, none, 1);
    tort_compile_hash(&all->hash, data, (size_t)bytes_of(array));
    all->end += bytes_of(array);
}

tort_status tort_compile_hash_weights(tort_compilation *c) {
    hashed all = {TORT_COMPILE_HASH, TORT_COMPILE_HEAD};
    const tort_status status = for_arrays(c, hash_array, &all);
    c->hashes.weights = all.hash;
    return status;
}

/* Arrays of constants are named NAME_w and their number. A kernel that has packed a constant, or has its numbers in the
 * statement, does not name it. */
void tort_compile_drop_unread(tort_compilation *c, const char *body) {
    const size_t length = strlen(c->name);
    int32_t kept = 0;
    for (const char *at = body; (at = strstr(at, c->name)); at += length) {
        char *end;
        const bool whole = (at == body || (!tort_is_word(at[-1]) && at[-1] != '_')) && !strncmp(at + length, "_w", 2);
        const long number = whole ? strtol(at + length + 2, &end, 10) : -1;
        if (number >= 0 && number < c->array_count && end > at + length + 2) c->arrays[number].read = true;
    }
    c->weight_bytes = 0;
    for (int32_t i = 0; i < c->array_count; i++) {
        const tort_compile_array *array = &c->arrays[i];
        if (!array->read) continue;
        c->weight_bytes += bytes_of(array);
        c->arrays[kept++] = *array;
    }
    c->array_count = kept;
}

static void write_array(const tort_compilation *c, const tort_compile_array *array, const void *data, void *to) {
    FILE *file = to;
    const uint64_t end = (uint64_t)ftell(file);
    for (uint64_t at = end; at < next_place(end, c->align); at++) fputc(0, file);
    fwrite(data, 1, (size_t)bytes_of(array), file);
}

tort_status tort_compile_weights_apart(tort_compilation *c, FILE *file) {
    const uint64_t head[] = {TORT_COMPILE_MAGIC, c->hashes.graph, c->hashes.code, c->hashes.weights,
                             tort_compile_weights_bytes(c)};
    fwrite(head, sizeof *head, sizeof head / sizeof *head, file);
    return for_arrays(c, write_array, file);
}

tort_status tort_compile_weights(tort_compilation *c, FILE *file) {
    const unsigned align = c->align;
    fprintf(file,
            "/* %s_weights.c - the weights of %s, made by tinyort %s. */\n#include <math.h>\n#include <stdint.h>\n\n",
            c->name, c->name, TORT_VERSION);
    tort_compile_config(c, file);
    fprintf(file,
            "/* Kernels read words of bytes. x86-64 aligns arrays to 16, and compilers rely on it. */\n"
            "#if defined(__x86_64__) && %u <= 16\n#define %s_ALIGNED\n#elif defined(__GNUC__)\n"
            "#define %s_ALIGNED __attribute__((aligned(%u)))\n#elif __STDC_VERSION__ >= 201112L\n"
            "#define %s_ALIGNED _Alignas(%u)\n#elif defined(__ARMCC_VERSION)\n#define %s_ALIGNED __align(%u)\n"
            "#else\n#define %s_ALIGNED\n#endif\n",
            align, c->capitals, c->capitals, align, c->capitals, align, c->capitals, align, c->capitals);
    fprintf(file,
            "\n/* The code that they are for, by its hash; \"tinyort\", hashes of graph, code and weights. */\n"
            "extern const uint64_t %s_weights_of_%016" PRIx64 "[4];\nconst uint64_t %s_weights_of_%016" PRIx64
            "[4] = {",
            c->name, c->hashes.code, c->name, c->hashes.code);
    fprintf(file, "0x%016" PRIx64 "u,\n    0x%016" PRIx64 "u, 0x%016" PRIx64 "u, 0x%016" PRIx64 "u};\n",
            TORT_COMPILE_MAGIC, c->hashes.graph, c->hashes.code, c->hashes.weights);
    return for_arrays(c, print_array, file);
}
