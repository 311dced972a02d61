/* match.c - matches a pattern in a lowered graph, and makes the node that replaces the match.
 *
 * Subgraph matching by backtracking: from the last node back along the operands, in both orders where an
 * operator commutes. This file must not know operators, nor decide whether a provider takes the made node:
 * fuse.c asks. Read next: fuse.c. */
#include "runtime/core/passes/match.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/base/locale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(tort_string text, const char *word) {
    return strlen(word) == text.length && !memcmp(text.data, word, text.length);
}

/* ---- one node ---------------------------------------------------------------------------------------------------- */

/* Splits "domain::Operator"; without a domain it is ONNX's, "". */
static void split_operator(tort_string text, tort_string *domain, tort_string *name) {
    *domain = (tort_string){"", 0};
    *name = text;
    for (size_t i = 0; i + 1 < text.length; i++) {
        if (text.data[i] != ':') continue;
        *domain = (tort_string){text.data, i};
        *name = (tort_string){text.data + i + 2, text.length - i - 2};
        return;
    }
}

/* The index of the node's operator among the operators; -1: none of them. */
static int32_t operator_of(tort_string operators, const tort_node *node) {
    tort_string part, domain, name;
    for (int32_t i = 0; tort_next_part(&operators, '|', &part); i++) {
        split_operator(part, &domain, &name);
        if (is_text(name, node->op_type) && is_text(domain, node->domain)) return i;
    }
    return -1;
}

static const tort_attribute *attribute_of(const tort_node *node, tort_string name) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (is_text(name, node->attributes[i].name)) return &node->attributes[i];
    return NULL;
}

static bool has_value(const tort_attribute *attribute, tort_string value) {
    double number;
    switch (attribute->kind) {
    case TORT_ATTR_INT: return attribute->u.i == strtoll(value.data, NULL, 10);
    case TORT_ATTR_FLOAT: return tort_read_double(value, &number) && fabs((double)attribute->u.f - number) < 1e-6;
    case TORT_ATTR_STRING:
        return attribute->u.s.length == value.length && !memcmp(attribute->u.s.data, value.data, value.length);
    default: return false;
    }
}

static bool conditions_hold(tort_string conditions, const tort_node *node) {
    tort_string condition, name;
    while (tort_next_part(&conditions, ',', &condition)) {
        tort_next_part(&condition, '=', &name);
        const tort_attribute *attribute = attribute_of(node, name);
        const bool needed = condition.length && *condition.data == '=';
        if (needed) condition = (tort_string){condition.data + 1, condition.length - 1};
        if (attribute ? !has_value(attribute, condition) : needed) return false;
    }
    return true;
}

/* True if the node runs on the match's provider, which the first node that is no step of the executor chooses, fulfils
 * the pattern, and has no second output. A spare node may also be folded. */
static bool node_fits(tort_match *match, int32_t k) {
    const tort_pattern_node *want = &match->pattern->nodes[k];
    const tort_unit *unit = &match->lowered->units[match->nodes[k]];
    const tort_node *node = &match->lowered->graph.nodes[match->nodes[k]];
    const bool executor = unit->provider == TORT_AT_HOST, at_host = match->provider == TORT_AT_HOST;
    const bool here = executor || (want->spare && unit->folded);
    if (!here && unit->provider != match->provider && !(at_host && unit->provider >= 0)) return false;
    if (unit->segment || !node->op || node->captured) return false;
    if (tort_op_is_own(match->lowered->session->model->operators, node->op)) return false;
    if (operator_of(want->operators, node) < 0 || !conditions_hold(want->conditions, node)) return false;
    for (int32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] >= 0) return false;
    for (int32_t i = want->operand_count; i < node->input_count; i++)
        if (node->inputs[i] >= 0) return false;
    if (!here) match->provider = unit->provider;
    return true;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Relative tolerance for a number of the pattern: exporters round it to the tensor's type. */
static double tolerance(tort_type type) {
    return type == TORT_BFLOAT16 ? 8e-3 : type == TORT_FLOAT16 ? 2e-3 : 1e-5;
}

static bool is_number(const tort_match *match, int32_t value, double number) {
    const tort_lowered *lowered = match->lowered;
    const tort_info *info = &lowered->infos[value];
    tort_tensor tensor;
    const void *data;
    double found;
    if (!info->constant || !tort_info_tensor(info, &tensor) || tort_count(&tensor) != 1) return false;
    if (tort_constant_acquire(lowered->session, lowered->constant_of[value], &data, NULL)) return false;
    const bool read = tort_first_number(info->type, data, &found);
    tort_constant_release(lowered->session, lowered->constant_of[value]);
    return read && fabs(found - number) <= tolerance(info->type) * fabs(number);
}

/* Binds a value of the graph to an operand of the pattern; false if that contradicts earlier bindings. */
static bool bind(tort_match *match, const tort_operand *operand, int32_t value) {
    if (value < 0) {
        if (!operand->optional) return false;
    } else if (operand->kind == TORT_OPERAND_NUMBER) {
        return is_number(match, value, operand->number);
    } else if (operand->kind == TORT_OPERAND_CONSTANT && !tort_is_constant(match->lowered, value)) {
        return false;
    }
    if (operand->value < 0) return true;
    int32_t *bound = &match->values[operand->value];
    if (*bound != TORT_UNBOUND) return *bound == value;
    *bound = value;
    if (operand->value >= TORT_PATTERN_NODES) return true;
    const int32_t producer = value < 0 ? -1 : match->lowered->graph.values[value].producer;
    for (int32_t i = 0; i < match->pattern->node_count; i++)
        if (match->nodes[i] == producer) return false; /* distinct in the pattern, distinct in the graph */
    match->nodes[operand->value] = producer;
    return producer >= 0 && match->lowered->graph.nodes[producer].outputs[0] == value &&
           node_fits(match, operand->value);
}

static bool bind_operands(tort_match *match, int32_t k, bool swapped) {
    const tort_pattern_node *want = &match->pattern->nodes[k];
    const tort_node *node = &match->lowered->graph.nodes[match->nodes[k]];
    for (int32_t i = 0; i < want->operand_count; i++) {
        const int32_t input = swapped ? 1 - i : i;
        if (!bind(match, &want->operands[i], input < node->input_count ? node->inputs[input] : -1)) return false;
    }
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int32_t producer_of(const tort_match *match, int32_t value) {
    return value < 0 ? -1 : match->lowered->graph.values[value].producer;
}

/* The number of operands in the pattern that read the output of its node k. */
static int32_t inner_readers(const tort_parsed *pattern, int32_t k) {
    int32_t inside = 0;
    for (int32_t n = k + 1; n < pattern->node_count; n++)
        for (int32_t i = 0; i < pattern->nodes[n].operand_count; i++)
            inside += pattern->nodes[n].operands[i].value == k;
    return inside;
}

bool tort_match_stays(const tort_match *match, int32_t k) {
    if (!match->pattern->nodes[k].spare) return false;
    if (match->lowered->units[match->nodes[k]].folded) return true;
    return match->readers[match->values[k]] != inner_readers(match->pattern, k);
}

/* True if values made inside are read only inside, and none is bound to a value from outside as well. */
static bool inner_values_are_free(const tort_match *match) {
    for (int32_t v = TORT_PATTERN_NODES; v < match->pattern->value_end; v++)
        for (int32_t k = 0; k < match->pattern->node_count; k++)
            if (match->values[v] == match->values[k]) return false;
    for (int32_t k = 0; k + 1 < match->pattern->node_count; k++)
        if (!match->pattern->nodes[k].spare && match->readers[match->values[k]] != inner_readers(match->pattern, k))
            return false;
    return true;
}

/* Matches nodes k, k-1, ... 0; their readers are matched already. If both orders of operands are possible, the operand
 * made later is tried first: it waits least for the made node, which comes last. */
static bool match_from(tort_match *match, int32_t k) {
    if (k < 0) return inner_values_are_free(match);
    const tort_node *node = &match->lowered->graph.nodes[match->nodes[k]];
    const bool commutes =
        (node->op->flags & TORT_OP_COMMUTES) && match->pattern->nodes[k].operand_count == 2 && node->input_count == 2;
    const bool first = commutes && producer_of(match, node->inputs[1]) > producer_of(match, node->inputs[0]);
    const int32_t provider = match->provider;
    int32_t nodes[TORT_PATTERN_NODES], values[TORT_PATTERN_VALUES];
    memcpy(nodes, match->nodes, sizeof nodes);
    memcpy(values, match->values, sizeof values);
    for (int turn = 0; turn < (commutes ? 2 : 1); turn++) {
        if (bind_operands(match, k, turn ? !first : first) && match_from(match, k - 1)) return true;
        match->provider = provider;
        memcpy(match->nodes, nodes, sizeof nodes);
        memcpy(match->values, values, sizeof values);
    }
    return false;
}

bool tort_match_at(tort_match *match, int32_t node) {
    const int32_t last = match->pattern->node_count - 1;
    for (int32_t i = 0; i < TORT_PATTERN_NODES; i++) match->nodes[i] = -1;
    for (int32_t i = 0; i < TORT_PATTERN_VALUES; i++) match->values[i] = TORT_UNBOUND;
    match->nodes[last] = node;
    if (!node_fits(match, last)) return false;
    match->values[last] = match->lowered->graph.nodes[node].outputs[0];
    return match->values[last] >= 0 && match_from(match, last) && match->provider >= 0;
}

/* ---- for build --------------------------------------------------------------------------------------------------- */

/* The value of this name; -1: absent. */
static int32_t value_named(const tort_match *match, const char *name) {
    const int32_t found = tort_parsed_value(match->pattern, name, strlen(name));
    return found < 0 || match->values[found] < 0 ? -1 : match->values[found];
}

const tort_info *tort_match_info(const tort_match *match, const char *name) {
    const int32_t value = value_named(match, name);
    return value < 0 ? NULL : &match->lowered->infos[value];
}

tort_node_view tort_match_node(const tort_match *match, const char *name) {
    const int32_t found = tort_parsed_value(match->pattern, name, strlen(name));
    if (found < 0 || found >= match->pattern->node_count) return (tort_node_view){.op = NULL};
    const tort_node *node = &match->lowered->graph.nodes[match->nodes[found]];
    return (tort_node_view){.op = node->op,
                            .name = node->name,
                            .opset = node->opset,
                            .attributes = node->attributes,
                            .attribute_count = node->attribute_count,
                            .model = match->lowered->session->model};
}

bool tort_match_same_shape(const tort_match *match, const char *a, const char *b) {
    const tort_info *x = tort_match_info(match, a), *y = tort_match_info(match, b);
    return x && y && tort_same_dims(x, y);
}

bool tort_match_constant(tort_match *match, const char *name, tort_tensor *tensor) {
    const tort_lowered *lowered = match->lowered;
    const int32_t value = value_named(match, name);
    const void *data;
    if (value < 0 || !tort_is_constant(lowered, value) || !tort_info_tensor(&lowered->infos[value], tensor))
        return false;
    if (match->held_count == TORT_PATTERN_VALUES) return false;
    const int32_t constant = lowered->constant_of[value];
    if (tort_constant_acquire(lowered->session, constant, &data, match->error)) {
        match->failed = true;
        return false;
    }
    match->held[match->held_count++] = constant;
    memcpy(&tensor->data, &data, sizeof data); /* drops const: build does not write to it */
    return true;
}

void *tort_match_memory(tort_match *match, size_t bytes) {
    void *memory = tort_arena_alloc(&match->lowered->session->arena, bytes);
    if (memory) return memory;
    tort_out_of_memory(match->error, bytes);
    match->failed = true;
    return NULL;
}

bool tort_match_set(tort_match *match, const tort_attribute *attribute) {
    if (match->attribute_count == TORT_PATTERN_ATTRIBUTES) return false;
    match->attributes[match->attribute_count++] = *attribute;
    return true;
}

bool tort_match_set_int(tort_match *match, const char *name, int64_t value) {
    return tort_match_set(match, &(tort_attribute){.name = name, .kind = TORT_ATTR_INT, .count = 1, .u = {.i = value}});
}

bool tort_match_set_float(tort_match *match, const char *name, float value) {
    return tort_match_set(match,
                          &(tort_attribute){.name = name, .kind = TORT_ATTR_FLOAT, .count = 1, .u = {.f = value}});
}

bool tort_match_set_string(tort_match *match, const char *name, const char *value) {
    return tort_match_set(
        match,
        &(tort_attribute){.name = name, .kind = TORT_ATTR_STRING, .count = 1, .u = {.s = {value, strlen(value)}}});
}

/* Adds a value that replaces another one of the pattern; -1: there is no such name, or failed. */
static int32_t add_value(tort_match *match, const char *name, const tort_info *info) {
    const int32_t found = tort_parsed_value(match->pattern, name, strlen(name));
    if (found < TORT_PATTERN_NODES) return -1;
    const int32_t before = match->values[found];
    const char *text = before < 0 ? "" : match->lowered->graph.values[before].name;
    const int32_t value = tort_lowered_add_value(match->lowered, text, info);
    if (value >= 0) {
        match->values[found] = value;
        return value;
    }
    tort_out_of_memory(match->error, 0);
    match->failed = true;
    return -1;
}

bool tort_match_refuse(tort_match *match, const char *why, const char *cure) {
    match->why = why;
    match->cure = cure;
    return false;
}

bool tort_match_replace(tort_match *match, const char *name, tort_tensor *tensor) {
    tort_session *session = match->lowered->session;
    tort_info info = {.kind = TORT_TENSOR, .type = tensor->type, .nest = -1, .rank = tensor->rank};
    size_t bytes;
    memcpy(info.dims, tensor->dims, sizeof info.dims);
    if (!tort_tensor_bytes(tensor, &bytes)) return false;
    const int32_t value = add_value(match, name, &info);
    if (value < 0) return false;
    void *copy = tort_alloc_aligned(&session->env, bytes);
    if (copy && tensor->data)
        memcpy(copy, tensor->data, bytes);
    else if (copy)
        memset(copy, 0, bytes);
    tensor->data = copy;
    if (copy && tort_lowered_settle(match->lowered, value, -1, copy, bytes)) return true;
    tort_out_of_memory(match->error, bytes);
    match->failed = true;
    return false;
}

bool tort_match_derive(tort_match *match, const char *name, tort_derive *derive, const void *arg) {
    tort_lowered *lowered = match->lowered;
    const int32_t source = value_named(match, name);
    if (source < 0 || !tort_is_constant(lowered, source)) return false;
    tort_info info = lowered->infos[source];
    info.data = NULL;
    info.elements = NULL;
    info.element_count = 0;
    const int32_t value = add_value(match, name, &info);
    const size_t bytes = lowered->session->constants[lowered->constant_of[source]].bytes;
    if (value < 0) return false;
    if (tort_lowered_derive(lowered, value, source, derive, arg, bytes)) return true;
    tort_out_of_memory(match->error, bytes);
    match->failed = true;
    return false;
}

void tort_match_read(tort_match *match, const char *name, const char *other) {
    const int32_t found = tort_parsed_value(match->pattern, name, strlen(name));
    if (found >= TORT_PATTERN_NODES) match->values[found] = other ? value_named(match, other) : -1;
}

bool tort_match_build(tort_match *match) {
    const tort_pattern *row = match->pattern->row;
    if (!tort_lowered_reserve(match->lowered, TORT_PATTERN_VALUES)) { /* infos must not move in build */
        tort_out_of_memory(match->error, 0);
        match->failed = true;
        return false;
    }
    const bool built = !row->build || row->build(match);
    while (match->held_count > 0) tort_constant_release(match->lowered->session, match->held[--match->held_count]);
    return built && !match->failed;
}

/* ---- the made node ----------------------------------------------------------------------------------------------- */

/* The kind of an attribute of the operator; 0: it has no such attribute. */
static tort_attribute_kind kind_of(const tort_op *op, tort_string name) {
    const char *cursor = op->attributes;
    tort_attribute_formal formal;
    while (tort_attribute_formal_next(&cursor, &formal))
        if (formal.name_length == name.length && !memcmp(formal.name, name.data, name.length)) return formal.kind;
    return (tort_attribute_kind)0;
}

static bool is_set(const tort_match *match, tort_string name) {
    for (int32_t i = 0; i < match->attribute_count; i++)
        if (is_text(name, match->attributes[i].name)) return true;
    return false;
}

static const char *keep(tort_match *match, tort_string text) {
    const char *copy = tort_arena_text(&match->lowered->session->arena, text.data, text.length);
    if (copy) return copy;
    tort_out_of_memory(match->error, text.length);
    match->failed = true;
    return NULL;
}

/* Resolves "y.alpha" to the attribute of node y; false: the words have another form. *found
 * NULL: y has no such attribute. */
static bool is_borrowed(const tort_match *match, tort_string words, const tort_attribute **found) {
    tort_string node;
    if (!memchr(words.data, '.', words.length)) return false;
    tort_next_part(&words, '.', &node);
    const int32_t index = tort_parsed_value(match->pattern, node.data, node.length);
    if (index < 0 || index >= match->pattern->node_count) return false;
    *found = attribute_of(&match->lowered->graph.nodes[match->nodes[index]], words);
    return true;
}

/* Sets an attribute from words like "activation=relu" or "activation_alpha=y.alpha". */
static bool set_attribute(tort_match *match, const tort_op *op, tort_string name, tort_string words) {
    const tort_attribute *borrowed = NULL;
    tort_attribute attribute = {.kind = kind_of(op, name), .count = 1};
    if (is_set(match, name)) return true;
    if (is_borrowed(match, words, &borrowed)) {
        if (!borrowed) return true;
        if (borrowed->kind != attribute.kind) return false;
        attribute = *borrowed;
        attribute.is_default = false;
    } else if (attribute.kind == TORT_ATTR_INT) {
        attribute.u.i = strtoll(words.data, NULL, 10);
    } else if (attribute.kind == TORT_ATTR_FLOAT) {
        tort_read_float(words, &attribute.u.f);
    } else if (attribute.kind == TORT_ATTR_STRING) {
        attribute.u.s = (tort_string){keep(match, words), words.length};
    } else {
        return false;
    }
    attribute.name = keep(match, name);
    return !match->failed && tort_match_set(match, &attribute);
}

/* Precedence: attributes that build set, then those in words, then the anchor's. */
static bool set_attributes(tort_match *match, const tort_op *op, const tort_node *anchor) {
    tort_string words = match->pattern->made_attributes, part, name;
    while (tort_next_part(&words, ',', &part)) {
        tort_next_part(&part, '=', &name);
        if (!set_attribute(match, op, name, part)) return false;
    }
    for (int32_t i = 0; i < anchor->attribute_count; i++) {
        const tort_attribute *attribute = &anchor->attributes[i];
        const tort_string own = {attribute->name, strlen(attribute->name)};
        if (is_set(match, own) || kind_of(op, own) != attribute->kind) continue;
        if (!tort_match_set(match, attribute)) return false;
    }
    return true;
}

/* The operator in the version that the model imports, if it is one of ONNX itself; else NULL. */
static const tort_op *imported(const tort_model *model, const char *domain, const char *name) {
    const tort_op *const *family, *row = NULL;
    int32_t count;
    for (int32_t i = 0; !*domain && i < model->opset_count; i++) {
        if (*model->opsets[i].domain) continue;
        row = tort_op_find(model->op_table, domain, name, model->opsets[i].version, &family, &count);
        if (row && row->since > model->opsets[i].version) row = NULL;
    }
    return row;
}

/* The operator that is made: in the anchor's version if it is the anchor's own operator, else in the newest. */
static const tort_op *made_operator(tort_match *match, const tort_node *anchor) {
    const tort_parsed *pattern = match->pattern;
    tort_string operators = pattern->made_operators, part, domain, name;
    const int32_t place = operator_of(pattern->nodes[pattern->anchor].operators, anchor);
    tort_next_part(&operators, '|', &part);
    for (int32_t i = 0; i < place && operators.length; i++) tort_next_part(&operators, '|', &part);
    split_operator(part, &domain, &name);
    if (is_text(name, anchor->op_type) && is_text(domain, anchor->domain)) return anchor->op;
    const char *domain_text = keep(match, domain), *name_text = keep(match, name);
    const tort_session *session = match->lowered->session;
    if (match->failed) return NULL;
    if (session->options.onnx_fusions) return imported(session->model, domain_text, name_text);
    const tort_op *const *family;
    int32_t count;
    tort_op_find(session->model->op_table, domain_text, name_text, 0, &family, &count);
    return count ? family[count - 1] : NULL;
}

static int32_t *made_inputs(tort_match *match, int32_t *count) {
    const tort_parsed *pattern = match->pattern;
    int32_t *inputs = tort_match_memory(match, sizeof *inputs * TORT_PATTERN_OPERANDS);
    *count = 0;
    for (int32_t i = 0; inputs && i < pattern->made_count; i++) {
        inputs[i] = match->values[pattern->made[i]];
        if (inputs[i] == TORT_UNBOUND) inputs[i] = -1;
        if (inputs[i] >= 0) *count = i + 1;
    }
    return inputs;
}

bool tort_match_make(tort_match *match, tort_node *node) {
    const tort_parsed *pattern = match->pattern;
    const tort_graph *graph = &match->lowered->graph;
    const tort_node *anchor = &graph->nodes[match->nodes[pattern->anchor]];
    const tort_op *op = made_operator(match, anchor);
    if (!op || !set_attributes(match, op, anchor)) return false;
    const size_t bytes = (size_t)match->attribute_count * sizeof *match->attributes;
    tort_attribute *attributes = tort_match_memory(match, bytes + 1);
    *node = (tort_node){.name = anchor->name,
                        .domain = op->domain,
                        .op_type = op->name,
                        .opset = op == anchor->op ? anchor->opset : op->since,
                        .op = op,
                        .outputs = graph->nodes[match->nodes[pattern->node_count - 1]].outputs,
                        .attributes = attributes,
                        .output_count = 1,
                        .attribute_count = match->attribute_count,
                        .file_index = anchor->file_index};
    node->inputs = made_inputs(match, &node->input_count);
    if (match->failed) return false;
    memcpy(attributes, match->attributes, bytes);
    const tort_status status = tort_check_node(&match->lowered->session->arena, node, NULL);
    if (status != TORT_E_MEMORY) return !status;
    tort_out_of_memory(match->error, 0);
    match->failed = true;
    return false;
}
