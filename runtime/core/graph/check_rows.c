/* check_rows.c - checks the rows of an application against the small languages of op.h, before anything reads them.
 *
 * Tests cover the rows of the build; an application's rows come from outside, and check.c, which parses rows for every
 * node, trusts them. So each mistake is reported here, when a model is loaded: TORT_E_USAGE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/base/locale.h"

enum { LONGEST_NUMBER = 63, LARGEST_PARAMS = 1 << 20 };

/* Flags that an application's operators may have; control flow and constants belong to the core. */
enum {
    ALLOWED_FLAGS = TORT_OP_ALIAS | TORT_OP_SAME | TORT_OP_RANDOM | TORT_OP_METADATA | TORT_OP_BULKY | TORT_OP_EARLY |
                    TORT_OP_LISTS | TORT_OP_VALUES | TORT_OP_COMMUTES | TORT_OP_PARTS | TORT_OP_JOINS |
                    TORT_OP_IN_PLACE | TORT_OP_LIKE | TORT_OP_ONCE | TORT_OP_PICKS | TORT_OP_LATE | TORT_OP_PERMUTES |
                    TORT_OP_WIDENS | TORT_OP_NARROWS | TORT_OP_CHOOSES | TORT_OP_CLAMPS
};

static const char *text_or_none(const char *text) {
    return text ? text : "";
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool is_empty(const tort_type_set *set) {
    return !set->tensor && set->count == 0;
}

/* Checks one constraint "T=float16|float". */
static tort_status check_constraint(const char *types, const char *word, size_t length, tort_error *error) {
    tort_type_set set;
    const size_t key = strcspn(word, "= ");
    if (key == 0 || word[key] != '=')
        return tort_fail(error, TORT_E_USAGE, "types: \"%.*s\" is not NAME=TYPE|TYPE", (int)length, word);
    if (!tort_type_set_parse(word + key + 1, length - key - 1, &set) || is_empty(&set))
        return tort_fail(error, TORT_E_USAGE, "types: \"%.*s\" names no type, or one that does not exist", (int)length,
                         word);
    for (const char *p = types; p < word; p += strcspn(p, " "), p += strspn(p, " "))
        if (!strncmp(p, word, key + 1))
            return tort_fail(error, TORT_E_USAGE, "types: \"%.*s\" is there twice", (int)key, word);
    return TORT_OK;
}

static tort_status check_constraints(const tort_op *row, tort_error *error) {
    const char *types = text_or_none(row->types) + strspn(text_or_none(row->types), " ");
    tort_status status = TORT_OK;
    for (const char *word = types; !status && *word;) {
        const size_t length = strcspn(word, " ");
        status = check_constraint(types, word, length, error);
        word += length + strspn(word + length, " ");
    }
    return status;
}

/* ---- inputs and outputs ------------------------------------------------------------------------------------------ */

static tort_status check_formal(const tort_op *row, const char *what, const tort_formal *formal, tort_error *error) {
    tort_type_set set;
    if (formal->name_length == 0 || formal->type_length == 0 || formal->type[-1] != ':')
        return tort_fail(error, TORT_E_USAGE, "%s: \"%.*s\" is not NAME:TYPE, NAME?:TYPE, NAME*:TYPE or NAME+:TYPE",
                         what, (int)(formal->type + formal->type_length - formal->name), formal->name);
    if (!tort_formal_types(formal, row->types, &set) || is_empty(&set))
        return tort_fail(error, TORT_E_USAGE, "%s: \"%.*s\" is neither in the row's types nor a type", what,
                         (int)formal->type_length, formal->type);
    return TORT_OK;
}

/* *count: number of formals; *variadic: the last one stands for any number of values. */
static tort_status check_formals(const tort_op *row, const char *what, const char *text, int32_t *count, bool *variadic,
                                 tort_error *error) {
    tort_formal formal;
    *count = 0;
    *variadic = false;
    for (const char *cursor = text; tort_formal_next(&cursor, &formal); ++*count) {
        tort_status status = check_formal(row, what, &formal, error);
        if (status) return status;
        if (*variadic)
            return tort_fail(error, TORT_E_USAGE, "%s: nothing can follow a variadic one, but \"%.*s\" does", what,
                             (int)formal.name_length, formal.name);
        *variadic = formal.mode == '*' || formal.mode == '+';
    }
    return TORT_OK;
}

static tort_status check_ports(const tort_op *row, tort_error *error) {
    int32_t inputs, outputs;
    bool variadic, any;
    tort_status status = check_formals(row, "inputs", row->inputs, &inputs, &variadic, error);
    if (!status && !variadic && (uint64_t)row->shape_inputs >> inputs)
        return tort_fail(error, TORT_E_USAGE, "shape_inputs has a bit for an input beyond the %d of the row", inputs);
    if (!status) status = check_formals(row, "outputs", row->outputs, &outputs, &any, error);
    if (!status && outputs == 0) return tort_fail(error, TORT_E_USAGE, "outputs: there is none");
    if (!status && outputs > TORT_INFER_OUTPUTS)
        return tort_fail(error, TORT_E_USAGE, "outputs: %d are more than %d, which is all that infer has room for",
                         outputs, TORT_INFER_OUTPUTS);
    return status;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static bool is_number(const char *text, size_t length, bool real) {
    char copy[LONGEST_NUMBER + 1], *end;
    float number;
    if (real) return tort_read_float((tort_string){text, length}, &number);
    if (length == 0 || length > LONGEST_NUMBER) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    errno = 0;
    strtoll(copy, &end, 10);
    return !*end && errno != ERANGE;
}

static bool is_default(const tort_attribute_formal *formal) {
    const char *at = formal->fallback, *end = at + formal->fallback_length;
    const bool real = formal->kind == TORT_ATTR_FLOAT || formal->kind == TORT_ATTR_FLOATS;
    switch (formal->kind) {
    case TORT_ATTR_STRING:
    case TORT_ATTR_STRINGS: return true;
    case TORT_ATTR_INT:
    case TORT_ATTR_FLOAT: return is_number(at, formal->fallback_length, real);
    case TORT_ATTR_INTS:
    case TORT_ATTR_FLOATS: break;
    default: return false;
    }
    for (;; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (!is_number(at, (size_t)((comma ? comma : end) - at), real)) return false;
        if (!comma) return true;
        at = comma;
    }
}

static tort_status check_types_of(const tort_op *row, const tort_attribute_formal *formal, tort_error *error) {
    const tort_formal types = {.type = formal->types, .type_length = formal->types_length};
    tort_type_set set;
    if (formal->kind != TORT_ATTR_INT && formal->kind != TORT_ATTR_STRING)
        return tort_fail(error, TORT_E_USAGE, "attributes: only int(...) and string(...) name a type, \"%.*s\" cannot",
                         (int)formal->name_length, formal->name);
    if (formal->types[formal->types_length] != ')' || !tort_formal_types(&types, row->types, &set) || !set.tensor)
        return tort_fail(error, TORT_E_USAGE, "attributes: \"%.*s\": \"(%.*s\" is not a type of the row",
                         (int)formal->name_length, formal->name, (int)formal->types_length, formal->types);
    return TORT_OK;
}

/* `end`: where parsing the attribute stopped. */
static tort_status check_attribute(const tort_op *row, const tort_attribute_formal *formal, const char *end,
                                   tort_error *error) {
    const int length = (int)formal->name_length;
    if (length == 0 || memchr(formal->name, ' ', formal->name_length) || formal->name[length] != ':' || !formal->kind)
        return tort_fail(error, TORT_E_USAGE, "attributes: \"%.*s\" is not NAME:KIND, NAME:KIND! or NAME:KIND=DEFAULT",
                         (int)strcspn(formal->name, " "), formal->name);
    tort_status status = formal->types ? check_types_of(row, formal, error) : TORT_OK;
    if (status) return status;
    if (formal->fallback && !is_default(formal))
        return tort_fail(error, TORT_E_USAGE, "attributes: \"%.*s\" cannot have the default \"%.*s\"", length,
                         formal->name, (int)formal->fallback_length, formal->fallback);
    if (*end && *end != ' ')
        return tort_fail(error, TORT_E_USAGE, "attributes: \"%.*s\": \"%s\" is not understood", length, formal->name,
                         end);
    tort_attribute_formal before;
    for (const char *cursor = row->attributes;
         tort_attribute_formal_next(&cursor, &before) && before.name < formal->name;)
        if (before.name_length == formal->name_length && !memcmp(before.name, formal->name, before.name_length))
            return tort_fail(error, TORT_E_USAGE, "attributes: \"%.*s\" is there twice", length, formal->name);
    return TORT_OK;
}

static tort_status check_attributes(const tort_op *row, tort_error *error) {
    tort_attribute_formal formal;
    tort_status status = TORT_OK;
    for (const char *cursor = row->attributes; !status && tort_attribute_formal_next(&cursor, &formal);)
        status = check_attribute(row, &formal, cursor, error);
    return status;
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static tort_status check_name(const tort_op *row, tort_error *error) {
    if (!*row->name) return tort_fail(error, TORT_E_USAGE, "it has no name");
    if (!row->domain) return tort_fail(error, TORT_E_USAGE, "domain is NULL");
    if (!strcmp(row->domain, "ai.onnx"))
        return tort_fail(error, TORT_E_USAGE, "write the main domain as \"\", not as \"ai.onnx\"");
    if (row->since < 1 || row->until < row->since)
        return tort_fail(error, TORT_E_USAGE, "it is for versions %d to %d", row->since, row->until);
    return TORT_OK;
}

static tort_status check_functions(const tort_op *row, tort_error *error) {
    const uint32_t wrong = row->flags & ~(uint32_t)ALLOWED_FLAGS;
    if (wrong) return tort_fail(error, TORT_E_USAGE, "flags: 0x%x is not for operators of an application", wrong);
    if (!row->infer) return tort_fail(error, TORT_E_USAGE, "infer is NULL: nobody would know the types of its outputs");
    if (row->flags & (TORT_OP_PARTS | TORT_OP_JOINS) && row->params_size < sizeof(tort_parts))
        return tort_fail(error, TORT_E_USAGE, "flags: its params begin with no tort_parts");
    if (row->flags & TORT_OP_ONCE && !row->resolve)
        return tort_fail(error, TORT_E_USAGE,
                         "flags has TORT_OP_ONCE, but no resolve tells of how many bytes params are");
    if (row->params_size && !row->resolve)
        return tort_fail(error, TORT_E_USAGE, "params_size is %u, but no resolve fills them", row->params_size);
    if (row->params_size > LARGEST_PARAMS)
        return tort_fail(error, TORT_E_USAGE, "params_size is %u, more than %d bytes", row->params_size,
                         LARGEST_PARAMS);
    return TORT_OK;
}

/* Two rows of an operator may not cover the same version. */
static tort_status check_alone(const tort_op *const *operators, const tort_op *row, tort_error *error) {
    for (; *operators; operators++)
        for (const tort_op *other = *operators; other->name; other++) {
            if (other == row) return TORT_OK;
            if (strcmp(other->name, row->name) || strcmp(other->domain, row->domain)) continue;
            if (other->since <= row->until && row->since <= other->until)
                return tort_fail(error, TORT_E_USAGE, "another row for versions %d to %d is there already",
                                 other->since, other->until);
        }
    return TORT_OK;
}

static tort_status check_row(const tort_op *const *operators, const tort_op *row, tort_error *error) {
    tort_status status = check_name(row, error);
    if (!status) status = check_constraints(row, error);
    if (!status) status = check_ports(row, error);
    if (!status) status = check_attributes(row, error);
    if (!status) status = check_functions(row, error);
    return status ? status : check_alone(operators, row, error);
}

tort_status tort_check_rows(const tort_op *const *operators, tort_error *error) {
    for (const tort_op *const *family = operators; family && *family; family++)
        for (const tort_op *row = *family; row->name; row++) {
            tort_status status = check_row(operators, row, error);
            if (!status) continue;
            const char *domain = text_or_none(row->domain);
            tort_error_prefix(error, "tort_load_options.operators: row %d of table %d, %.60s%s%.60s-%d",
                              (int)(row - *family), (int)(family - operators), domain, *domain ? "::" : "", row->name,
                              row->since);
            return status;
        }
    return TORT_OK;
}
