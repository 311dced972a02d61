/* operator_case.c - see operator_case.h. */
#include "tests/unit/operator_case.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/graph/check.h"
#include "runtime/core/base/locale.h"

// clang-format off: a line a table
extern const char *const operator_cases[];
extern const char *const reduction_cases[];
extern const char *const elementwise_cases[];
extern const char *const list_cases[];
extern const char *const fused_cases[];
extern const char *const ml_cases[];
extern const char *const preview_cases[];
extern const char *const tree_cases[];
extern const char *const microsoft_cases[];
extern const char *const microsoft_attention_cases[];
extern const char *const microsoft_quantized_cases[];
#define TABLE(name) extern const char *const name[];
#include "tests/cases/cases.inc"
#undef TABLE

#define TABLE(name) name,
const char *const *const operator_tables[] = {
#include "tests/cases/cases.inc"
    operator_cases,
    reduction_cases,
    elementwise_cases,
    list_cases,
    fused_cases,
    ml_cases,
    preview_cases,
    tree_cases,
    microsoft_cases,
    microsoft_attention_cases,
    microsoft_quantized_cases,
    NULL,
};
// clang-format on

/* ---- reading a case ---------------------------------------------------------------------------------------------- */

static tort_type type_of(const char *word) {
    static const struct {
        const char *word;
        tort_type type;
    } types[] = {{"f32", TORT_FLOAT},
                 {"f64", TORT_DOUBLE},
                 {"f16", TORT_FLOAT16},
                 {"i8", TORT_INT8},
                 {"i32", TORT_INT32},
                 {"i64", TORT_INT64},
                 {"u8", TORT_UINT8},
                 {"u64", TORT_UINT64},
                 {"bool", TORT_BOOL},
                 {"str", TORT_STRING},
                 {"bf16", TORT_BFLOAT16},
                 {"i16", TORT_INT16},
                 {"u16", TORT_UINT16},
                 {"u32", TORT_UINT32},
                 {"i4", TORT_INT4},
                 {"u4", TORT_UINT4},
                 {"i2", TORT_INT2},
                 {"u2", TORT_UINT2},
                 {"f8e4m3fn", TORT_FLOAT8E4M3FN},
                 {"f8e4m3fnuz", TORT_FLOAT8E4M3FNUZ},
                 {"f8e5m2", TORT_FLOAT8E5M2},
                 {"f8e5m2fnuz", TORT_FLOAT8E5M2FNUZ},
                 {"f8e8m0", TORT_FLOAT8E8M0},
                 {"f6e2m3", TORT_FLOAT6E2M3},
                 {"f6e3m2", TORT_FLOAT6E3M2},
                 {"f4e2m1", TORT_FLOAT4E2M1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(types[i].word, word)) return types[i].type;
    cr_assert(false, "unknown type \"%s\"", word);
    return TORT_UNDEFINED;
}

static double number_of(const char *text, size_t length) {
    double number;
    cr_assert(tort_read_double((tort_string){text, length}, &number), "not a number: %.*s", (int)length, text);
    return number;
}

/* "f32[2,1] 0.5 -3", up to ';' or '>' or the end; strings stay in the text, which lives as long as the test. */
static const char *read_tensor(const char *at, case_tensor *out) {
    char type[MAX_WORD];
    int length;
    memset(out, 0, sizeof *out);
    at += strspn(at, " ");
    if (*at == '-' && (at[1] == '\0' || strchr("; ", at[1]))) return at + 1;
    cr_assert_eq(sscanf(at, "%15[a-z0-9]%n", type, &length), 1, "a tensor was expected at \"%.30s\"", at);
    at += length;
    out->tensor.type = type_of(type);
    out->tensor.data = out->data;
    for (at++; *at && *at != ']'; at += *at == ',')
        out->tensor.dims[out->tensor.rank++] = strtoll(at, (char **)&at, 10);
    cr_assert(tort_tensor_count(&out->tensor, &out->count) && out->count <= MAX_ELEMENTS);
    at++;
    for (int64_t i = 0; i < out->count; i++) {
        at += strspn(at, " ");
        const char *end = at + strcspn(at, " ;");
        if (out->tensor.type == TORT_STRING) {
            ((tort_string *)(void *)out->data)[i] = (tort_string){at, (size_t)(end - at)};
        } else if (tort_type_is_float(out->tensor.type)) {
            double value = number_of(at, (size_t)(end - at));
            tort_store_doubles(out->tensor.type, out->data, i, 1, &value);
        } else {
            int64_t value = strtoll(at, NULL, 10);
            tort_store_integers(out->tensor.type, out->data, i, 1, &value);
        }
        at = end;
    }
    return at;
}

static const char *read_tensors(const char *at, case_tensor *tensors, int32_t *count) {
    *count = 0;
    do {
        cr_assert_lt(*count, MAX_TENSORS);
        at = read_tensor(at, &tensors[(*count)++]);
        at += strspn(at, " ");
    } while (*at++ == ';');
    return at - 1;
}

static void read_refusal(const char *at, operator_case *out) {
    out->run_alone = !strncmp(at, "VALUE ", 6);
    out->refusal = out->run_alone                     ? TORT_E_RUN
                   : !strncmp(at, "RUN ", 4)          ? TORT_E_RUN
                   : !strncmp(at, "MODEL ", 6)        ? TORT_E_MODEL
                   : !strncmp(at, "UNSUPPORTED ", 12) ? TORT_E_UNSUPPORTED
                                                      : TORT_OK;
    cr_assert(out->refusal, "no status: %s", at);
    snprintf(out->message, sizeof out->message, "%s", strchr(at, ' ') + 1);
    out->output_count = 1;
    out->outputs[0] = (case_tensor){0};
}

static void split_domain(operator_case *out) {
    char *dot = strrchr(out->name, '.');
    out->domain[0] = '\0';
    if (!dot) return;
    *dot = '\0';
    memcpy(out->domain, out->name, sizeof out->domain);
    memmove(out->name, dot + 1, strlen(dot + 1) + 1);
}

void operator_case_read(const char *text, operator_case *out) {
    int length = 0;
    out->attributes[0] = '\0';
    cr_assert_eq(sscanf(text, "%63s %d;%n", out->name, &out->opset, &length), 2, "not a case: %.60s", text);
    split_domain(out);
    const char *at = text + length, *end = strchr(at, ';');
    snprintf(out->attributes, sizeof out->attributes, "%.*s", (int)(end - at), at);
    at = read_tensors(end + 1, out->inputs, &out->input_count);
    cr_assert_eq(strncmp(at, "->", 2), 0, "\"->\" was expected at \"%.30s\" of %s", at, text);
    out->refusal = TORT_OK;
    if (!strncmp(at, "-> error ", 9)) {
        read_refusal(at + 9, out);
        return;
    }
    at = read_tensors(at + 2, out->outputs, &out->output_count);
    cr_assert_eq(*at, '\0', "the case goes on after its outputs: %s", text);
}

/* ---- making a model of it ---------------------------------------------------------------------------------------- */

const tort_op *operator_case_row(const char *domain, const char *name, int opset) {
    static tort_op_table table; /* of the process, like the cases */
    const tort_op *const *family;
    int32_t count;
    tort_env env = tort_env_complete(NULL);
    if (!table.rows) cr_assert(tort_op_table_build(&table, NULL, &env));
    return tort_op_find(&table, domain, name, opset, &family, &count);
}

static tort_attribute_kind kind_of(const tort_op *row, const char *name, size_t length) {
    tort_attribute_formal formal;
    const char *cursor = row->attributes;
    while (tort_attribute_formal_next(&cursor, &formal))
        if (formal.name_length == length && !memcmp(formal.name, name, length)) return formal.kind;
    cr_assert(false, "%s has no attribute %.*s", row->name, (int)length, name);
    return TORT_ATTR_INT;
}

enum { ATTR_FLOATS = 7 }; /* field of AttributeProto */

static void write_list(onnx_bytes *b, tort_attribute_kind kind, const char *value) {
    char words[256];
    snprintf(words, sizeof words, "%s", value);
    for (char *rest, *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (kind == TORT_ATTR_INTS) onnx_int(b, ATTR_INTS, strtoll(word, NULL, 10));
        if (kind == TORT_ATTR_FLOATS) onnx_float(b, ATTR_FLOATS, (float)number_of(word, strlen(word)));
        if (kind == TORT_ATTR_STRINGS) onnx_text(b, ATTR_STRINGS, word);
    }
}

/* "f32[2]:0.5:-3". */
static void write_tensor(onnx_bytes *b, const char *value) {
    static case_tensor read;
    char text[256];
    size_t bytes;
    snprintf(text, sizeof text, "%s", value);
    for (char *at = text; (at = strchr(at, ':')) != NULL;) *at = ' ';
    read_tensor(text, &read);
    cr_assert(tort_tensor_bytes(&read.tensor, &bytes));
    onnx_tensor(b, ATTR_T, "", read.tensor.type, read.tensor.rank, read.tensor.dims, read.data, bytes);
}

static void write_attribute(onnx_bytes *b, const tort_op *row, const char *text) {
    const char *value = strchr(text, '=') + 1;
    char name[MAX_WORD];
    snprintf(name, sizeof name, "%.*s", (int)(value - 1 - text), text);
    tort_attribute_kind kind = kind_of(row, name, strlen(name));
    onnx_begin_attribute(b, name, (int)kind);
    switch (kind) {
    case TORT_ATTR_STRING: onnx_text(b, ATTR_S, value); break;
    case TORT_ATTR_INT: onnx_int(b, ATTR_I, strtoll(value, NULL, 10)); break;
    case TORT_ATTR_FLOAT: onnx_float(b, ATTR_F, (float)number_of(value, strlen(value))); break;
    case TORT_ATTR_TENSOR: write_tensor(b, value); break;
    default: write_list(b, kind, value);
    }
    onnx_end(b);
}

/* "x0 - x2 " for the tensors that are present. */
static void names_of(char letter, const case_tensor *tensors, int32_t count, char text[8 * MAX_TENSORS]) {
    text[0] = '\0';
    for (int32_t i = 0; i < count; i++) {
        char word[8] = "- ";
        if (tort_present(&tensors[i].tensor)) snprintf(word, sizeof word, "%c%d ", letter, (int)(i % MAX_TENSORS));
        strcat(text, word);
    }
}

/* Strings have no raw form and stay inputs. */
bool operator_case_in_model(const operator_case *c, int32_t i, input_form form) {
    bool wanted = i > 0 ? form >= CONSTANTS : form == REVERSED;
    return wanted && c->inputs[i].tensor.type != TORT_STRING;
}

static bool is_ranked(const operator_case *c, int32_t i, input_form form) {
    return form != UNRANKED && (form != HALF_RANKED || i >= c->input_count / 2);
}

/* An output of a node that is refused has no type. */
bool operator_case_has_output(const operator_case *c, int32_t i) {
    return c->refusal || tort_present(&c->outputs[i].tensor);
}

/* x0 is "raw" under the shape "shape", both of which come at the run. */
static void write_computed(onnx_bytes *b, const tort_tensor *tensor) {
    const int64_t rank = tensor->rank;
    onnx_node(b, "Reshape", "before", "raw shape", "x0");
    onnx_value(b, GRAPH_INPUT, "raw", tensor->type, tensor->rank, tensor->dims);
    onnx_value(b, GRAPH_INPUT, "shape", TORT_INT64, 1, &rank);
}

static int main_opset(const operator_case *c) {
    return *c->domain ? TORT_NEWEST_OPSET : c->opset;
}

bool operator_case_can_be_computed(const operator_case *c) {
    const tort_op *reshape = main_opset(c) >= 5 ? operator_case_row("", "Reshape", main_opset(c)) : NULL;
    const tort_formal data = {.type = "T", .type_length = 1};
    tort_type_set set;
    return reshape && tort_present(&c->inputs[0].tensor) && tort_formal_types(&data, reshape->types, &set) &&
           set.tensor >> c->inputs[0].tensor.type & 1;
}

void operator_case_write(onnx_bytes *b, const operator_case *c, input_form form) {
    char inputs[8 * MAX_TENSORS], outputs[8 * MAX_TENSORS], attributes[sizeof c->attributes], name[16];
    const tort_op *row = operator_case_row(c->domain, c->name, c->opset);
    cr_assert_not_null(row, "%s-%d is not in this build", c->name, c->opset);
    names_of('x', c->inputs, c->input_count, inputs);
    names_of('y', c->outputs, c->output_count, outputs);
    if (c->refusal) snprintf(outputs, sizeof outputs, strchr(row->outputs, ' ') ? "y0 y1" : "y0");
    onnx_begin_model(b, main_opset(c));
    onnx_begin_node(b, GRAPH_NODE, c->name, "node", inputs, outputs);
    onnx_text(b, NODE_DOMAIN, c->domain);
    memcpy(attributes, c->attributes, sizeof attributes);
    for (char *rest, *word = strtok_r(attributes, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        write_attribute(b, row, word);
    onnx_end(b);
    for (int32_t i = 0; i < c->input_count; i++) {
        const tort_tensor *tensor = &c->inputs[i].tensor;
        size_t bytes;
        snprintf(name, sizeof name, "x%d", (int)i);
        if (!tort_present(tensor)) continue;
        cr_assert(tort_tensor_bytes(tensor, &bytes));
        if (form == COMPUTED && i == 0)
            write_computed(b, tensor);
        else if (operator_case_in_model(c, i, form))
            onnx_tensor(b, GRAPH_INITIALIZER, name, tensor->type, tensor->rank, tensor->dims, tensor->data, bytes);
        else
            onnx_value(b, GRAPH_INPUT, name, tensor->type, is_ranked(c, i, form) ? tensor->rank : -1, tensor->dims);
    }
    for (int32_t i = 0; i < c->output_count; i++) {
        const tort_tensor *tensor = &c->outputs[i].tensor;
        snprintf(name, sizeof name, "y%d", (int)i);
        if (operator_case_has_output(c, i)) onnx_value(b, GRAPH_OUTPUT, name, tensor->type, tensor->rank, tensor->dims);
    }
    onnx_end(b);
    if (*c->domain) onnx_opset(b, MODEL_OPSET, c->domain, c->opset);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static bool close_enough(double a, double b) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-5 + 1e-4 * fabs(b);
}

void operator_case_compare(const char *text, const tort_tensor *found, const case_tensor *expected) {
    const tort_tensor *wanted = &expected->tensor;
    cr_assert_eq(found->type, wanted->type, "type %s in %s", tort_type_name(found->type), text);
    cr_assert_eq(found->rank, wanted->rank, "rank %d in %s", found->rank, text);
    for (int32_t d = 0; d < wanted->rank; d++)
        cr_assert_eq(found->dims[d], wanted->dims[d], "dimension %d is %lld in %s", d, (long long)found->dims[d], text);
    for (int64_t i = 0; i < expected->count; i++) {
        if (wanted->type == TORT_STRING) {
            const tort_string *a = (const tort_string *)found->data + i, *b = (const tort_string *)wanted->data + i;
            cr_expect(a->length == b->length && !memcmp(a->data, b->data, b->length), "string %lld of %s", (long long)i,
                      text);
            continue;
        }
        double a, b;
        tort_load_doubles(found->type, found->data, i, 1, &a);
        tort_load_doubles(wanted->type, wanted->data, i, 1, &b);
        cr_expect(close_enough(a, b), "element %lld is %.9g, not %.9g: %s", (long long)i, a, b, text);
    }
}
