/* check.c - checks a node against the row of its operator: arity, attributes, types. One generic checker
 * for all operators.
 *
 * It parses the small languages of tort_op (see op.h), and knows no operator. Rows are trusted: op_table.c finds them,
 * check_rows.c has checked those of an application. Read next: infer.c. */
#include "runtime/core/graph/check.h"
#include "runtime/core/base/locale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- formals ----------------------------------------------------------------------------------------------------- */

bool tort_formal_next(const char **cursor, tort_formal *formal) {
    const char *p = *cursor;
    if (!p) return false;
    p += strspn(p, " ");
    if (!*p) return false;
    formal->name = p;
    formal->name_length = strcspn(p, ":?*+ ");
    p += formal->name_length;
    formal->mode = ' ';
    if (*p && strchr("?*+", *p)) formal->mode = *p++;
    if (*p == ':') p++;
    formal->type = p;
    formal->type_length = strcspn(p, " ");
    *cursor = p + formal->type_length;
    return true;
}

enum { MAX_TYPES = 320 }; /* bytes of a message's list of types, which may be all */

/* Named sets of types, bit tort_type; the comment of tort_op tells them. */
enum {
    FLOATS = 1 << TORT_FLOAT16 | 1 << TORT_FLOAT | 1 << TORT_DOUBLE,
    FLOATS13 = FLOATS | 1 << TORT_BFLOAT16,
    INTEGERS = 1 << TORT_INT8 | 1 << TORT_INT16 | 1 << TORT_INT32 | 1 << TORT_INT64 | 1 << TORT_UINT8 |
               1 << TORT_UINT16 | 1 << TORT_UINT32 | 1 << TORT_UINT64,
    NUMERIC = INTEGERS | FLOATS,
    NUMERIC13 = NUMERIC | 1 << TORT_BFLOAT16,
    HIGH = 1 << TORT_INT32 | 1 << TORT_INT64 | 1 << TORT_UINT32 | 1 << TORT_UINT64 | FLOATS,
    HIGH13 = HIGH | 1 << TORT_BFLOAT16,
    ALL = NUMERIC | 1 << TORT_BOOL | 1 << TORT_STRING | 1 << TORT_COMPLEX64 | 1 << TORT_COMPLEX128,
    ALL13 = ALL | 1 << TORT_BFLOAT16,
    ALL19 = ALL13 | 1 << TORT_FLOAT8E4M3FN | 1 << TORT_FLOAT8E4M3FNUZ | 1 << TORT_FLOAT8E5M2 | 1 << TORT_FLOAT8E5M2FNUZ,
    ALL21 = ALL19 | 1 << TORT_INT4 | 1 << TORT_UINT4,
    ALL23 = ALL21 | 1 << TORT_FLOAT4E2M1,
    ALL24 = ALL23 | 1 << TORT_FLOAT8E8M0,
    ALL25 = ALL24 | 1 << TORT_INT2 | 1 << TORT_UINT2,
    ALL28 = ALL25 | 1 << TORT_FLOAT6E2M3 | 1 << TORT_FLOAT6E3M2,
    COMPLEX = 1 << TORT_COMPLEX64 | 1 << TORT_COMPLEX128,
    FLOAT8 = 1 << TORT_FLOAT8E4M3FN | 1 << TORT_FLOAT8E4M3FNUZ | 1 << TORT_FLOAT8E5M2 | 1 << TORT_FLOAT8E5M2FNUZ,
    QUANTIZED19 = 1 << TORT_INT8 | 1 << TORT_UINT8 | FLOAT8,
    QUANTIZED21 = QUANTIZED19 | 1 << TORT_INT4 | 1 << TORT_UINT4 | 1 << TORT_INT16 | 1 << TORT_UINT16,
    QUANTIZED23 = QUANTIZED21 | 1 << TORT_FLOAT4E2M1,
    QUANTIZED25 = QUANTIZED23 | 1 << TORT_INT2 | 1 << TORT_UINT2,
    QUANTIZED28 = QUANTIZED25 | 1 << TORT_FLOAT6E2M3 | 1 << TORT_FLOAT6E3M2,
};

static const struct {
    const char *name;
    uint64_t types;
} named_sets[] = {
    {"floats", FLOATS},
    {"floats13", FLOATS13},
    {"integers", INTEGERS},
    {"numeric", NUMERIC},
    {"numeric13", NUMERIC13},
    {"high", HIGH},
    {"high13", HIGH13},
    {"all", ALL},
    {"all13", ALL13},
    {"all19", ALL19},
    {"all21", ALL21},
    {"all23", ALL23},
    {"all24", ALL24},
    {"all25", ALL25},
    {"all28", ALL28},
    {"complex", COMPLEX},
    {"float8", FLOAT8},
    {"quantized19", QUANTIZED19},
    {"quantized21", QUANTIZED21},
    {"quantized23", QUANTIZED23},
    {"quantized25", QUANTIZED25},
    {"quantized28", QUANTIZED28},
};

static bool tensor_token(const char *token, size_t length, uint64_t *mask) {
    const tort_type type = tort_type_named(token, length);
    *mask = 1ull << type;
    if (type != TORT_UNDEFINED) return true;
    for (size_t i = 0; i < sizeof named_sets / sizeof *named_sets; i++) {
        *mask = named_sets[i].types;
        if (strlen(named_sets[i].name) == length && !memcmp(named_sets[i].name, token, length)) return true;
    }
    return false;
}

/* Unwraps "seq(all13)" with the prefix "seq(" into the inner token. */
static bool wrapped(const char *token, size_t length, const char *prefix, const char **inner, size_t *inner_length) {
    size_t prefix_length = strlen(prefix);
    if (length <= prefix_length + 1 || strncmp(token, prefix, prefix_length) || token[length - 1] != ')') return false;
    *inner = token + prefix_length;
    *inner_length = length - prefix_length - 1;
    return true;
}

/* The container type around the token in brackets. */
typedef struct container {
    tort_kind kind;
    tort_type key; /* of a map */
} container;

/* Removes the outermost container from a token; false: there is none. */
static bool peel(const char **token, size_t *length, container *outermost) {
    static const struct {
        const char *prefix;
        container outermost;
    } forms[] = {
        {"optional(", {TORT_OPTIONAL, TORT_UNDEFINED}}, {"seq(", {TORT_SEQUENCE, TORT_UNDEFINED}},
        {"map(int64,", {TORT_MAP, TORT_INT64}},         {"map(string,", {TORT_MAP, TORT_STRING}},
        {"sparse(", {TORT_SPARSE, TORT_UNDEFINED}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!wrapped(*token, *length, forms[i].prefix, token, length)) continue;
        *outermost = forms[i].outermost;
        return true;
    }
    return false;
}

static tort_value_type put_into(container outer, tort_value_type element) {
    switch (outer.kind) {
    case TORT_OPTIONAL: return tort_optional_type(element);
    case TORT_SEQUENCE: return tort_sequence_type(element);
    case TORT_MAP: return tort_map_type(outer.key, element);
    default: return (tort_value_type){.nest = TORT_SPARSE};
    }
}

/* Splits a token into the nest of its type and the set of elements. A sparse tensor is never inside another type. */
static bool parse_token(const char *token, size_t length, tort_value_type *type, uint64_t *elements) {
    container around[TORT_MAX_NESTING];
    int depth = 0;
    while (depth < TORT_MAX_NESTING && peel(&token, &length, &around[depth])) depth++;
    *type = tort_tensor_type(TORT_UNDEFINED);
    for (int i = depth; i-- > 0;) {
        if (around[i].kind == TORT_SPARSE && depth > 1) return false;
        *type = put_into(around[i], *type);
    }
    return tensor_token(token, length, elements);
}

/* The element set for types of this nest; adds one if `add`; NULL: none. */
static uint64_t *elements_of(tort_type_set *set, uint32_t nest, bool add) {
    if (nest == TORT_TENSOR) return &set->tensor;
    for (int32_t i = 0; i < set->count; i++)
        if (set->nests[i] == nest) return &set->elements[i];
    if (!add || set->count == TORT_MAX_NESTS) return NULL;
    set->nests[set->count] = nest;
    set->elements[set->count] = 0;
    return &set->elements[set->count++];
}

static bool add_token(const char *token, size_t length, tort_type_set *set, bool remove) {
    tort_value_type type;
    uint64_t mask;
    if (!parse_token(token, length, &type, &mask)) return false;
    uint64_t *elements = elements_of(set, type.nest, !remove);
    if (!elements) return remove;
    *elements = remove ? *elements & ~mask : *elements | mask;
    return true;
}

bool tort_type_set_parse(const char *text, size_t length, tort_type_set *set) {
    *set = (tort_type_set){0};
    const char *end = text + length;
    for (const char *p = text; p < end;) {
        const char *bar = memchr(p, '|', (size_t)(end - p));
        if (!bar) bar = end;
        bool remove = *p == '-';
        if (remove) p++;
        if (!add_token(p, (size_t)(bar - p), set, remove)) return false;
        p = bar + 1;
    }
    return true;
}

/* The text of constraint `name` in "T=float|double Tind=int64"; NULL: no such constraint. */
static const char *constraint(const char *types, const char *name, size_t name_length, size_t *length) {
    for (const char *p = types ? types : ""; *p;) {
        p += strspn(p, " ");
        size_t key = strcspn(p, "="), whole = strcspn(p, " ");
        if (key == name_length && !memcmp(p, name, key)) {
            *length = whole - key - 1;
            return p + key + 1;
        }
        p += whole;
    }
    return NULL;
}

/* The text of the types that `type` stands for: `type` is a constraint's name, or such a text itself. */
static const char *types_text(const char *types, const char *type, size_t type_length, size_t *length) {
    const char *text = constraint(types, type, type_length, length);
    if (!text) *length = type_length;
    return text ? text : type;
}

bool tort_formal_types(const tort_formal *formal, const char *types, tort_type_set *set) {
    size_t length = 0;
    const char *text = types_text(types, formal->type, formal->type_length, &length);
    return tort_type_set_parse(text, length, set);
}

/* Lists a set of types in a message as "int32, int64", since users do not know the names of sets; as the row's text
 * if it has container types. */
static const char *list_types(const tort_type_set *set, const char *text, size_t length, char *out, size_t size) {
    const bool tensors = set->count == 0;
    if (!tensors) snprintf(out, size, "%.*s", (int)length, text);
    size_t used = 0;
    for (int type = TORT_UNDEFINED + 1; tensors && type < TORT_TYPE_COUNT && used < size; type++)
        if (set->tensor >> type & 1)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", tort_type_name((tort_type)type));
    return out;
}

static const struct {
    const char *name;
    tort_attribute_kind kind;
} attribute_kinds[] = {
    {"float", TORT_ATTR_FLOAT},   {"int", TORT_ATTR_INT},         {"string", TORT_ATTR_STRING},
    {"tensor", TORT_ATTR_TENSOR}, {"graph", TORT_ATTR_GRAPH},     {"floats", TORT_ATTR_FLOATS},
    {"ints", TORT_ATTR_INTS},     {"strings", TORT_ATTR_STRINGS}, {"tensors", TORT_ATTR_TENSORS},
    {"graphs", TORT_ATTR_GRAPHS}, {"type", TORT_ATTR_TYPE_PROTO}, {"sparse_tensor", TORT_ATTR_SPARSE_TENSOR},
};

const char *tort_attribute_kind_name(tort_attribute_kind kind) {
    for (size_t i = 0; i < sizeof attribute_kinds / sizeof *attribute_kinds; i++)
        if (attribute_kinds[i].kind == kind) return attribute_kinds[i].name;
    return "unknown kind";
}

bool tort_attribute_formal_next(const char **cursor, tort_attribute_formal *formal) {
    const char *p = *cursor;
    if (!p) return false;
    p += strspn(p, " ");
    if (!*p) return false;
    *formal = (tort_attribute_formal){.name = p, .name_length = strcspn(p, ":")};
    p += formal->name_length + (p[formal->name_length] == ':');
    size_t kind_length = strcspn(p, "(=! ");
    for (size_t i = 0; i < sizeof attribute_kinds / sizeof *attribute_kinds; i++)
        if (strlen(attribute_kinds[i].name) == kind_length && !memcmp(attribute_kinds[i].name, p, kind_length))
            formal->kind = attribute_kinds[i].kind;
    p += kind_length;
    if (*p == '(') {
        formal->types = ++p;
        formal->types_length = strcspn(p, ")");
        p += formal->types_length + (p[formal->types_length] == ')');
    }
    if (*p == '!') {
        formal->required = true;
        p++;
    } else if (*p == '=') {
        formal->fallback = ++p;
        formal->fallback_length = strcspn(p, " ");
        p += formal->fallback_length;
    }
    *cursor = p;
    return true;
}

/* ---- arity ------------------------------------------------------------------------------------------------------- */

/* A variadic input needs at least one value, and none may be absent. */
static tort_status check_variadic(const tort_formal *formal, const int32_t *values, int32_t count, tort_error *error) {
    if (count < 1)
        return tort_fail(error, TORT_E_MODEL, "has no input %.*s, expected one or more", (int)formal->name_length,
                         formal->name);
    for (int32_t i = 0; i < count; i++)
        if (values[i] < 0)
            return tort_fail(error, TORT_E_MODEL, "input %.*s number %d is missing", (int)formal->name_length,
                             formal->name, i);
    return TORT_OK;
}

/* Checks the values of a node against formals; what: "input" or "output". */
static tort_status check_arity(const char *formals, const char *what, const int32_t *values, int32_t count,
                               tort_error *error) {
    const char *cursor = formals;
    tort_formal formal;
    int32_t at = 0;
    for (; tort_formal_next(&cursor, &formal); at++) {
        if (formal.mode == '*' && *what == 'i') return check_variadic(&formal, values + at, count - at, error);
        if (formal.mode == '*' || formal.mode == '+') return TORT_OK;
        bool given = at < count && values[at] >= 0;
        bool absent_output = at < count && *what == 'o'; /* outputs that are not needed have an empty name */
        if (formal.mode == ' ' && !given && !absent_output)
            return tort_fail(error, TORT_E_MODEL, "%s %d (%.*s) is required but missing", what, at,
                             (int)formal.name_length, formal.name);
    }
    for (int32_t i = at; i < count; i++)
        if (values[i] >= 0)
            return tort_fail(error, TORT_E_MODEL, "has %d %ss, but the operator takes at most %d", count, what, at);
    return TORT_OK;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const tort_attribute *node_attribute(const tort_node *node, const char *name, size_t length) {
    for (int32_t i = 0; i < node->attribute_count; i++) {
        const char *have = node->attributes[i].name;
        if (strlen(have) == length && !memcmp(have, name, length)) return &node->attributes[i];
    }
    return NULL;
}

/* An empty list may have any list kind. */
static bool kind_fits(tort_attribute_kind want, const tort_attribute *given) {
    if (want == given->kind) return true;
    bool list = given->kind >= TORT_ATTR_FLOATS && given->kind <= TORT_ATTR_GRAPHS;
    return list && given->count == 0 && want >= TORT_ATTR_FLOATS && want <= TORT_ATTR_GRAPHS;
}

/* An integer or string that names a type must name an allowed one. The row's default, mostly 0, means "not given". */
static tort_status check_type_attribute(const tort_op *op, const tort_attribute_formal *formal,
                                        const tort_attribute *given, tort_error *error) {
    size_t length = 0;
    const char *text = types_text(op->types, formal->types, formal->types_length, &length);
    tort_type_set set;
    if (!tort_type_set_parse(text, length, &set))
        return tort_fail(error, TORT_E_INTERNAL, "row of the operator has malformed types \"%.*s\"", (int)length, text);
    const bool named = given->kind == TORT_ATTR_STRING;
    int64_t type = named ? (int64_t)tort_type_named(given->u.s.data, given->u.s.length) : given->u.i;
    if (!named && formal->fallback && type == strtoll(formal->fallback, NULL, 10)) return TORT_OK;
    if (type > TORT_UNDEFINED && type < TORT_TYPE_COUNT && set.tensor >> type & 1) return TORT_OK;
    char value[64];
    if (named)
        snprintf(value, sizeof value, "\"%.40s\"", given->u.s.data);
    else if (type > TORT_UNDEFINED && type < TORT_TYPE_COUNT)
        snprintf(value, sizeof value, "%lld (%s)", (long long)type, tort_type_name((tort_type)type));
    else
        snprintf(value, sizeof value, "%lld, which is not a type", (long long)type);
    char types[MAX_TYPES];
    return tort_fail(error, TORT_E_MODEL, "attribute \"%s\" is %s; expected one of %s", given->name, value,
                     list_types(&set, text, length, types, sizeof types));
}

static tort_status check_given_attribute(const tort_op *op, const tort_attribute *given, tort_error *error) {
    const char *cursor = op->attributes;
    tort_attribute_formal formal;
    while (tort_attribute_formal_next(&cursor, &formal)) {
        if (strlen(given->name) != formal.name_length || memcmp(given->name, formal.name, formal.name_length)) continue;
        if (kind_fits(formal.kind, given))
            return formal.types ? check_type_attribute(op, &formal, given, error) : TORT_OK;
        return tort_fail(error, TORT_E_MODEL, "attribute \"%s\" is of kind %s, expected %s", given->name,
                         tort_attribute_kind_name(given->kind), tort_attribute_kind_name(formal.kind));
    }
    return tort_fail(error, TORT_E_MODEL, "has no attribute \"%s\" in this version (it takes: %s)", given->name,
                     op->attributes && *op->attributes ? op->attributes : "none");
}

static bool default_list(tort_arena *arena, const tort_attribute_formal *formal, const char *text,
                         tort_attribute *out) {
    int32_t count = 1;
    for (const char *p = text; *p; p++) count += *p == ',';
    out->count = count;
    int64_t *ints = tort_arena_array(arena, (size_t)count, sizeof *ints);
    float *floats = tort_arena_array(arena, (size_t)count, sizeof *floats);
    tort_string *strings = tort_arena_array(arena, (size_t)count, sizeof *strings);
    if (!ints || !floats || !strings) return false;
    const char *p = text;
    for (int32_t i = 0; i < count; i++) {
        size_t length = strcspn(p, ",");
        ints[i] = strtoll(p, NULL, 10);
        tort_read_float((tort_string){p, length}, &floats[i]);
        strings[i] = (tort_string){tort_arena_text(arena, p, length), length};
        if (!strings[i].data) return false;
        p += length + (p[length] == ',');
    }
    if (formal->kind == TORT_ATTR_INTS)
        out->u.ints = ints;
    else if (formal->kind == TORT_ATTR_FLOATS)
        out->u.floats = floats;
    else
        out->u.strings = strings;
    return true;
}

static bool default_attribute(tort_arena *arena, const tort_attribute_formal *formal, tort_attribute *out) {
    const char *text = tort_arena_text(arena, formal->fallback, formal->fallback_length);
    *out = (tort_attribute){.name = tort_arena_text(arena, formal->name, formal->name_length),
                            .kind = formal->kind,
                            .is_default = true,
                            .count = 1};
    if (!text || !out->name) return false;
    switch (formal->kind) {
    case TORT_ATTR_INT: out->u.i = strtoll(text, NULL, 10); return true;
    case TORT_ATTR_FLOAT: tort_read_float((tort_string){text, formal->fallback_length}, &out->u.f); return true;
    case TORT_ATTR_STRING: out->u.s = (tort_string){text, formal->fallback_length}; return true;
    default: return default_list(arena, formal, text, out);
    }
}

static tort_status add_defaults(tort_arena *arena, tort_node *node, tort_error *error) {
    int32_t missing = 0;
    const char *cursor = node->op->attributes;
    tort_attribute_formal formal;
    while (tort_attribute_formal_next(&cursor, &formal)) {
        if (node_attribute(node, formal.name, formal.name_length)) continue;
        if (formal.required)
            return tort_fail(error, TORT_E_MODEL, "attribute \"%.*s\" is required but missing", (int)formal.name_length,
                             formal.name);
        missing += formal.fallback != NULL;
    }
    if (!missing) return TORT_OK;
    size_t total = (size_t)(node->attribute_count + missing);
    tort_attribute *all = tort_arena_array(arena, total, sizeof *all);
    if (!all) return tort_out_of_memory(error, total * sizeof *all);
    for (int32_t i = 0; i < node->attribute_count; i++) all[i] = node->attributes[i];
    int32_t at = node->attribute_count;
    cursor = node->op->attributes;
    while (tort_attribute_formal_next(&cursor, &formal)) {
        if (!formal.fallback || node_attribute(node, formal.name, formal.name_length)) continue;
        if (!default_attribute(arena, &formal, &all[at++])) return tort_out_of_memory(error, sizeof *all);
    }
    node->attributes = all;
    node->attribute_count = at;
    return TORT_OK;
}

tort_status tort_check_node(tort_arena *arena, tort_node *node, tort_error *error) {
    tort_status status =
        check_arity(node->op->inputs, "input", node->inputs, node->input_count - node->captured, error);
    if (!status) status = check_arity(node->op->outputs, "output", node->outputs, node->output_count, error);
    for (int32_t i = 0; !status && i < node->attribute_count; i++)
        status = check_given_attribute(node->op, &node->attributes[i], error);
    return status ? status : add_defaults(arena, node, error);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool allows(tort_type_set *set, tort_value_type type) {
    const uint64_t *elements = elements_of(set, type.nest, false);
    return elements && *elements >> type.type & 1;
}

enum { LONGEST_TYPE = 80 };

/* For messages: a tensor is called by its element type. */
static const char *type_name(tort_value_type type, char *text, size_t size) {
    return tort_type_kind(type) == TORT_TENSOR ? tort_type_name(type.type) : tort_type_text(type, text, size);
}

#define MAX_CONSTRAINTS 8

/* The type to which each constraint of a node is bound by its first input. */
typedef struct bindings {
    const char *names[MAX_CONSTRAINTS];
    size_t lengths[MAX_CONSTRAINTS];
    const tort_info *infos[MAX_CONSTRAINTS];
    int32_t inputs[MAX_CONSTRAINTS];
    int32_t count;
} bindings;

static tort_status bind_type(bindings *bound, const tort_formal *formal, const tort_info *info, int32_t input,
                             tort_error *error) {
    for (int32_t i = 0; i < bound->count; i++) {
        if (bound->lengths[i] != formal->type_length || memcmp(bound->names[i], formal->type, formal->type_length))
            continue;
        const tort_value_type a = tort_info_type(bound->infos[i]), b = tort_info_type(info);
        if (a.type == b.type && a.nest == b.nest) return TORT_OK;
        char first[LONGEST_TYPE], second[LONGEST_TYPE];
        return tort_fail(error, TORT_E_MODEL, "inputs %d and %d must be of one type (%.*s), but are %s and %s",
                         bound->inputs[i], input, (int)formal->type_length, formal->type,
                         type_name(a, first, sizeof first), type_name(b, second, sizeof second));
    }
    if (bound->count == MAX_CONSTRAINTS) return TORT_OK;
    int32_t at = bound->count++;
    bound->names[at] = formal->type;
    bound->lengths[at] = formal->type_length;
    bound->infos[at] = info;
    bound->inputs[at] = input;
    return TORT_OK;
}

/* `bound` is NULL for outputs: how their types depend on inputs is checked by infer. */
static tort_status check_type(const tort_node_view *node, const tort_formal *formal, const char *what, int32_t at,
                              const tort_info *info, bindings *bound, tort_error *error) {
    if (info->type == TORT_UNDEFINED) return TORT_OK;
    tort_type_set set;
    if (!tort_formal_types(formal, node->op->types, &set))
        return tort_fail(error, TORT_E_INTERNAL, "row of the operator has a malformed type \"%.*s\"",
                         (int)formal->type_length, formal->type);
    if (!allows(&set, tort_info_type(info))) {
        size_t length = 0;
        const char *text = types_text(node->op->types, formal->type, formal->type_length, &length);
        char types[MAX_TYPES], given[LONGEST_TYPE];
        return tort_fail(error, TORT_E_MODEL, "%s %d (%.*s) is of type %s; expected %s", what, at,
                         (int)formal->name_length, formal->name, type_name(tort_info_type(info), given, sizeof given),
                         list_types(&set, text, length, types, sizeof types));
    }
    return formal->mode == '+' || !bound ? TORT_OK : bind_type(bound, formal, info, at, error);
}

static tort_status check_types(const tort_node_view *node, const char *formals, const char *what,
                               const tort_info *infos, int32_t count, bindings *bound, tort_error *error) {
    const char *cursor = formals;
    tort_formal formal;
    tort_status status = TORT_OK;
    for (int32_t at = 0; !status && at < count && tort_formal_next(&cursor, &formal); at++) {
        if (formal.mode == ' ' || formal.mode == '?') {
            status = check_type(node, &formal, what, at, &infos[at], bound, error);
            continue;
        }
        for (; !status && at < count; at++) status = check_type(node, &formal, what, at, &infos[at], bound, error);
    }
    return status;
}

tort_status tort_check_types(const tort_node_view *node, tort_error *error) {
    bindings bound = {.count = 0};
    return check_types(node, node->op->inputs, "input", node->inputs, node->input_count - node->captured, &bound,
                       error);
}

static bool countable(const tort_info *info) {
    tort_tensor tensor;
    size_t bytes;
    return !tort_info_tensor(info, &tensor) || (tort_tensor_bytes(&tensor, &bytes) && bytes <= PTRDIFF_MAX);
}

/* An output of control flow may have no type: its body may contain an operator without a row,
 * which placement reports. */
tort_status tort_check_outputs(const tort_node_view *node, const int32_t *values, tort_error *error) {
    for (int32_t i = 0; i < node->output_count && !(node->op->flags & TORT_OP_CONTROL); i++)
        if (values[i] >= 0 && node->outputs[i].type == TORT_UNDEFINED)
            return tort_fail(error, TORT_E_INTERNAL, "the operator's shape rule gave no type to output %d", i);
    return check_types(node, node->op->outputs, "output", node->outputs, node->output_count, NULL, error);
}

tort_status tort_check_sizes(const tort_node_view *node, const int32_t *values, tort_error *error) {
    for (int32_t i = 0; i < node->output_count; i++)
        if (values[i] >= 0 && !countable(&node->outputs[i]))
            return tort_fail(error, TORT_E_MODEL, "the size of an output overflows");
    return TORT_OK;
}
