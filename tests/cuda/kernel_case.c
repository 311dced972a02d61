/* kernel_case.c - see kernel_case.h for the language of the case table. */
#include "tests/cuda/kernel_case.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"

enum { MAX_ELEMENTS = 30000 };

static const char TYPE_LETTERS[] = "TRNB";

/* ---- random numbers: xorshift, so that a seed gives the same cases everywhere ---- */

uint64_t kernel_case_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static double uniform(uint64_t *state, double low, double high) {
    return low + (high - low) * (double)(kernel_case_random(state) & 0xffffff) / 0xffffff;
}

static int64_t random_extent(char letter, uint64_t *state) {
    static const int64_t small[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 35, 50},
                         large[] = {1, 31, 64, 65, 257, 768, 1031, 1500};
    return isupper((unsigned char)letter) ? large[kernel_case_random(state) % (sizeof large / sizeof *large)]
                                          : small[kernel_case_random(state) % (sizeof small / sizeof *small)];
}

/* ---- reading ---- */

static const char *skip_to(const char *at, char stop) {
    while (*at && *at != stop) at++;
    return at;
}

/* The field of a line between its semicolons. */
static const char *field(const char *line, int index) {
    for (; index > 0 && *line; index--) {
        line = skip_to(line, ';');
        if (*line) line++;
    }
    return line + strspn(line, " ");
}

static tort_type type_named(const char *word, size_t length, tort_type letter) {
    static const struct {
        const char *word;
        tort_type type;
    } types[] = {{"f32", TORT_FLOAT},
                 {"f16", TORT_FLOAT16},
                 {"bf16", TORT_BFLOAT16},
                 {"f64", TORT_DOUBLE},
                 {"i8", TORT_INT8},
                 {"i16", TORT_INT16},
                 {"i32", TORT_INT32},
                 {"i64", TORT_INT64},
                 {"u8", TORT_UINT8},
                 {"u16", TORT_UINT16},
                 {"u32", TORT_UINT32},
                 {"u64", TORT_UINT64},
                 {"bool", TORT_BOOL},
                 {"i4", TORT_INT4},
                 {"u4", TORT_UINT4},
                 {"i2", TORT_INT2},
                 {"u2", TORT_UINT2},
                 {"f4e2m1", TORT_FLOAT4E2M1},
                 {"f6e2m3", TORT_FLOAT6E2M3},
                 {"f6e3m2", TORT_FLOAT6E3M2},
                 {"f8e4m3fn", TORT_FLOAT8E4M3FN},
                 {"f8e4m3fnuz", TORT_FLOAT8E4M3FNUZ},
                 {"f8e5m2", TORT_FLOAT8E5M2},
                 {"f8e5m2fnuz", TORT_FLOAT8E5M2FNUZ},
                 {"f8e8m0", TORT_FLOAT8E8M0}};
    if (length == 1 && strchr(TYPE_LETTERS, *word)) return letter;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].word) == length && !memcmp(types[i].word, word, length)) return types[i].type;
    return TORT_UNDEFINED;
}

/* "3*c+2": sums and differences of products, from left to right; ends before ',' or anything else. */
static int64_t evaluate(const int64_t *extents, const char **at) {
    int64_t total = 0, sign = 1;
    for (;;) {
        if (**at == '-' || **at == '+') sign = *(*at)++ == '-' ? -1 : 1;
        int64_t product = 1;
        for (;;) {
            if (isalpha((unsigned char)**at)) {
                product *= extents[(unsigned char)*(*at)++];
            } else {
                product *= strtoll(*at, (char **)at, 10);
            }
            if (**at != '*') break;
            (*at)++;
        }
        total += sign * product;
        if (**at != '+' && **at != '-') return total;
    }
}

/* Names of the main domain and of tinyort are apart; those of other domains follow the domain and a point. */
static bool is_named(const tort_op *row, const char *name) {
    const size_t length = strlen(row->domain);
    if (!length || !strcmp(row->domain, "tinyort")) return !strcmp(row->name, name);
    return !strncmp(name, row->domain, length) && name[length] == '.' && !strcmp(name + length + 1, row->name);
}

const tort_op *kernel_case_row(const char *line) {
    char name[CASE_WORD];
    int opset;
    if (sscanf(line, "%63s %d;", name, &opset) != 2) return NULL;
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++)
            if (is_named(row, name) && row->since <= opset && opset <= row->until) return row;
    return NULL;
}

bool kernel_case_has_type_letter(const char *line) {
    return strstr(field(line, 2), "T[") != NULL;
}

const tort_type *kernel_case_types(const char *line, int *count) {
    static const tort_type floats[] = {TORT_FLOAT, TORT_FLOAT16};
    static const tort_type numbers[] = {TORT_BFLOAT16, TORT_DOUBLE, TORT_INT8,   TORT_INT16,  TORT_INT32,
                                        TORT_INT64,    TORT_UINT8,  TORT_UINT16, TORT_UINT32, TORT_UINT64};
    static const tort_type bytes[] = {TORT_INT8, TORT_UINT8};
    const char *inputs = field(line, 2);
    if (strstr(inputs, "B[")) {
        *count = 2;
        return bytes;
    }
    const bool all = strstr(inputs, "N[") != NULL, reals = strstr(inputs, "R[") != NULL;
    *count = all ? (int)(sizeof numbers / sizeof *numbers) : reals || kernel_case_has_type_letter(line) ? 2 : 1;
    return all || reals ? numbers : floats;
}

void kernel_case_letters(const char *line, char letters[CASE_WORD]) {
    size_t count = 0;
    for (const char *at = field(line, 2); *at && *at != ';'; at++) {
        if (*at != '[') continue;
        for (; *at && *at != ']'; at++)
            if (isalpha((unsigned char)*at) && !memchr(letters, *at, count)) letters[count++] = *at;
    }
    letters[count] = '\0';
}

/* ---- values ---- */

static void fill(tort_tensor *tensor, int64_t count, double low, double high, uint64_t *random) {
    for (int64_t i = 0; i < count; i++) {
        if (tort_type_is_float(tensor->type)) {
            double value = uniform(random, low, high);
            tort_store_doubles(tensor->type, tensor->data, i, 1, &value);
        } else {
            int64_t span = (int64_t)(high - low) + 1;
            int64_t value = (int64_t)low + (int64_t)(kernel_case_random(random) % (uint64_t)span);
            tort_store_integers(tensor->type, tensor->data, i, 1, &value);
        }
    }
}

/* "0..9", behind its first number: those from it on. */
static bool fill_counting(tort_tensor *tensor, int64_t count, int64_t first, const char **at) {
    const int64_t span = strtoll(*at + strspn(*at, "."), (char **)at, 10) - first + 1;
    for (int64_t i = 0; i < count; i++)
        tort_store_integers(tensor->type, tensor->data, i, 1, &(int64_t){first + i % span});
    return true;
}

static bool fill_literally(const kernel_case *c, tort_tensor *tensor, int64_t count, const char **at) {
    const char *first = *at, *end = NULL; /* end: of a list that is repeated */
    for (int64_t i = 0; i < count; i++) {
        if (tort_type_is_float(tensor->type)) {
            double value = strtod(*at, (char **)at);
            tort_store_doubles(tensor->type, tensor->data, i, 1, &value);
        } else {
            int64_t value = evaluate(c->extents, at);
            if (**at == '.') return fill_counting(tensor, count, value, at);
            tort_store_integers(tensor->type, tensor->data, i, 1, &value);
        }
        if (**at == ':') {
            end = *at + 1;
            *at = first;
        } else if (i + 1 < count && *(*at)++ != ',') {
            return false;
        }
    }
    if (end) *at = end;
    return true;
}

/* One input, up to a space or the end of the field. */
static bool read_input(kernel_case *c, const char **at, case_input *out, uint64_t *random) {
    tort_tensor *tensor = &out->tensor;
    int64_t count;
    size_t bytes;
    if (**at == '-') {
        (*at)++;
        return true;
    }
    const char *open = *at + strcspn(*at, "[; ");
    tensor->type = type_named(*at, (size_t)(open - *at), c->type);
    if (*open != '[' || tensor->type == TORT_UNDEFINED) return false;
    for (*at = open + 1; **at != ']'; *at += **at == ',') {
        if (!**at || tensor->rank == TORT_MAX_RANK) return false;
        int64_t dim = evaluate(c->extents, at);
        tensor->dims[tensor->rank++] = dim > 0 ? dim : 0;
    }
    ++*at;
    if (!tort_tensor_count(tensor, &count) || !tort_tensor_bytes(tensor, &bytes)) return false;
    tensor->data = calloc(1, bytes + 64);
    if (!tensor->data) return false;
    double low = tort_type_is_float(tensor->type) ? -3 : tort_type_is_signed(tensor->type) ? -9 : 0;
    double high = tensor->type == TORT_BOOL ? 1 : tort_type_is_float(tensor->type) ? 3 : 9;
    out->constant = **at == '=';
    if (**at == '=') {
        ++*at;
        return fill_literally(c, tensor, count, at);
    }
    if (**at == '~') {
        low = strtod(*at + 1, (char **)at);
        high = strtod(*at + 1, (char **)at);
    }
    fill(tensor, count, low, high, random);
    return true;
}

static bool read_inputs(kernel_case *c, uint64_t *random) {
    for (const char *at = field(c->line, 2); *at && *at != ';'; at += strspn(at, " ")) {
        if (c->input_count == CASE_TENSORS || !read_input(c, &at, &c->inputs[c->input_count++], random)) return false;
        if (*at && *at != ' ' && *at != ';') return false;
    }
    for (int32_t i = 1; c->constant_weights && i < c->input_count; i++) c->inputs[i].constant = true;
    return true;
}

/* The attributes with {letter} replaced. */
static void bind_attributes(kernel_case *c) {
    size_t used = 0;
    for (const char *at = field(c->line, 1); *at && *at != ';' && used + 24 < sizeof c->attributes;) {
        if (*at == '{') {
            at++;
            used += (size_t)sprintf(c->attributes + used, "%lld", (long long)evaluate(c->extents, &at));
            at++;
        } else {
            c->attributes[used++] = *at++;
        }
    }
    c->attributes[used] = '\0';
}

static int64_t largest_input(const kernel_case *c) {
    int64_t largest = 0, count = 0;
    for (int32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].tensor.type && tort_tensor_count(&c->inputs[i].tensor, &count) && count > largest)
            largest = count;
    return largest;
}

bool kernel_case_make(const char *line, tort_type type, char empty, bool constant_weights, uint64_t *random,
                      kernel_case *c) {
    char letters[CASE_WORD];
    kernel_case_letters(line, letters);
    for (int attempt = 0;; attempt++) {
        *c = (kernel_case){.line = line, .type = type, .constant_weights = constant_weights, .output_count = 1};
        memset(c->extents, 0xff, sizeof c->extents);
        for (const char *letter = letters; *letter; letter++)
            c->extents[(unsigned char)*letter] = *letter == empty ? 0 : random_extent(*letter, random);
        const char *outputs = field(line, 3);
        if (*outputs) c->output_count = atoi(outputs);
        bind_attributes(c);
        if (sscanf(line, "%63s %d;", c->name, &c->opset) != 2 || !read_inputs(c, random)) {
            printf("not a case: %s\n", line);
            kernel_case_free(c);
            return false;
        }
        if (!*letters || largest_input(c) <= MAX_ELEMENTS || attempt == 100) return true;
        kernel_case_free(c);
    }
}

void kernel_case_free(kernel_case *c) {
    for (int32_t i = 0; i < c->input_count; i++) free(c->inputs[i].tensor.data);
    c->input_count = 0;
}

/* ---- the model ---- */

/* "TYPE:number" as a tensor of one element. */
static void write_tensor(onnx_bytes *b, const char *text) {
    const char *colon = strchr(text, ':');
    const int64_t dims[] = {1};
    const tort_type type = type_named(text, (size_t)(colon - text), TORT_FLOAT);
    uint64_t element = 0;
    const double value = strtod(colon + 1, NULL);
    const int64_t integer = (int64_t)value;
    if (tort_type_is_float(type))
        tort_store_doubles(type, &element, 0, 1, &value);
    else
        tort_store_integers(type, &element, 0, 1, &integer);
    onnx_tensor(b, ATTR_T, "", type, 1, dims, &element, (size_t)tort_type_bits(type) / 8);
}

enum { ATTR_FLOATS = 7 }; /* field of AttributeProto */

static tort_attribute_kind kind_of(const tort_op *row, const char *name, size_t length) {
    tort_attribute_formal formal;
    const char *cursor = row->attributes;
    while (tort_attribute_formal_next(&cursor, &formal))
        if (formal.name_length == length && !memcmp(formal.name, name, length)) return formal.kind;
    printf("%s has no attribute %.*s\n", row->name, (int)length, name);
    exit(1);
}

/* One "name=value"; a list is "1,2,3", a tensor "i64:7". */
static void write_attribute(onnx_bytes *b, const tort_op *row, const char *text) {
    const char *value = strchr(text, '=') + 1;
    char name[CASE_WORD];
    snprintf(name, sizeof name, "%.*s", (int)(value - 1 - text), text);
    tort_attribute_kind kind = kind_of(row, name, strlen(name));
    onnx_begin_attribute(b, name, (int)kind);
    if (kind == TORT_ATTR_STRING) onnx_text(b, ATTR_S, value);
    if (kind == TORT_ATTR_TENSOR) write_tensor(b, value);
    if (kind == TORT_ATTR_INT) onnx_int(b, ATTR_I, strtoll(value, NULL, 10));
    if (kind == TORT_ATTR_FLOAT) onnx_float(b, ATTR_F, strtof(value, NULL));
    for (const char *at = value; kind == TORT_ATTR_INTS && *at; at += *at == ',')
        onnx_int(b, ATTR_INTS, strtoll(at, (char **)&at, 10));
    for (const char *at = value; kind == TORT_ATTR_FLOATS && *at; at += *at == ',')
        onnx_float(b, ATTR_FLOATS, strtof(at, (char **)&at));
    for (const char *at = value; kind == TORT_ATTR_STRINGS && *at; at += *at == ',') {
        char word[CASE_WORD];
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        onnx_text(b, ATTR_STRINGS, word);
        at += length;
    }
    onnx_end(b);
}

void kernel_case_write(const kernel_case *c, onnx_bytes *b) {
    char inputs[5 * CASE_TENSORS] = "", outputs[CASE_WORD] = "", attributes[sizeof c->attributes], name[16];
    const tort_op *row = kernel_case_row(c->line);
    for (int32_t i = 0; i < c->input_count; i++)
        sprintf(inputs + strlen(inputs), c->inputs[i].tensor.type ? "x%d " : "- ", (int)i);
    for (int32_t i = 0; i < c->output_count; i++) sprintf(outputs + strlen(outputs), "y%d ", (int)i);
    onnx_begin_model(b, *row->domain ? TORT_NEWEST_OPSET : c->opset);
    onnx_begin_node(b, GRAPH_NODE, row->name, "node", inputs, outputs);
    onnx_text(b, NODE_DOMAIN, row->domain);
    memcpy(attributes, c->attributes, sizeof attributes);
    for (char *rest, *word = strtok_r(attributes, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        write_attribute(b, row, word);
    onnx_end(b);
    for (int32_t i = 0; i < c->input_count; i++) {
        const tort_tensor *tensor = &c->inputs[i].tensor;
        size_t bytes = 0;
        if (!tensor->type) continue;
        snprintf(name, sizeof name, "x%d", (int)i);
        (void)tort_tensor_bytes(tensor, &bytes);
        if (c->inputs[i].constant)
            onnx_tensor(b, GRAPH_INITIALIZER, name, tensor->type, tensor->rank, tensor->dims, tensor->data, bytes);
        else
            onnx_value(b, GRAPH_INPUT, name, tensor->type, tensor->rank, tensor->dims);
    }
    for (int32_t i = 0; i < c->output_count; i++) {
        snprintf(name, sizeof name, "y%d", (int)i);
        onnx_begin(b, GRAPH_OUTPUT);
        onnx_text(b, 1, name); /* ValueInfoProto.name; type and shape are inferred */
        onnx_end(b);
    }
    onnx_end(b);
    if (*row->domain) onnx_opset(b, MODEL_OPSET, row->domain, c->opset);
}

void kernel_case_describe(const kernel_case *c, char *text, size_t size) {
    size_t used =
        (size_t)snprintf(text, size, "%s-%d %s {%s}", c->name, c->opset, tort_type_name(c->type), c->attributes);
    for (int32_t i = 0; i < c->input_count && used + 32 < size; i++) {
        const tort_tensor *tensor = &c->inputs[i].tensor;
        used += (size_t)snprintf(text + used, size - used, "%s[", i ? " " : "; ");
        for (int32_t d = 0; d < tensor->rank && used + 32 < size; d++)
            used += (size_t)snprintf(text + used, size - used, d ? ",%lld" : "%lld", (long long)tensor->dims[d]);
        used += (size_t)snprintf(text + used, size - used, "]%s", c->inputs[i].constant ? " constant" : "");
    }
}
