/* pattern.c - parses the row of a fusion (pattern.h). It knows no graph. Read next: match.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/passes/match.h"
#include "runtime/core/base/locale.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

bool tort_next_part(tort_string *text, char separator, tort_string *part) {
    if (!text->length) return false;
    const char *end = memchr(text->data, separator, text->length);
    const size_t length = end ? (size_t)(end - text->data) : text->length, taken = length + (end != NULL);
    *part = (tort_string){text->data, length};
    *text = (tort_string){text->data + taken, text->length - taken};
    return true;
}

/* The text up to `end`, which is skipped; false: there is no such character. */
static bool take_until(const char **cursor, char end, tort_string *out) {
    const char *found = strchr(*cursor, end);
    if (!found) return false;
    *out = (tort_string){*cursor, (size_t)(found - *cursor)};
    *cursor = found + 1;
    return true;
}

static bool is_name(tort_string text) {
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || c == '_', digit = c >= '0' && c <= '9';
        if (!letter && !(digit && i > 0)) return false;
    }
    return text.length > 0;
}

int32_t tort_parsed_value(const tort_parsed *parsed, const char *name, size_t length) {
    for (int32_t i = 0; i < parsed->value_end; i++)
        if (parsed->names[i].length == length && !memcmp(parsed->names[i].data, name, length)) return i;
    return -1;
}

/* The index of a value, added if new; -1: not a name, or too many values. */
static int32_t value_of(tort_parsed *parsed, tort_string name) {
    const int32_t found = is_name(name) ? tort_parsed_value(parsed, name.data, name.length) : -1;
    if (found >= 0 || !is_name(name) || parsed->value_end == TORT_PATTERN_VALUES) return found;
    parsed->names[parsed->value_end] = name;
    return parsed->value_end++;
}

uint64_t tort_operator_bit(const char *op_type, size_t length) {
    uint32_t sum = (uint32_t)length;
    for (size_t i = 0; i < length; i++) sum = sum * 31 + (unsigned char)op_type[i];
    return (uint64_t)1 << (sum * 0x9E3779B1u >> 26);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static const char *parse_operand(tort_parsed *parsed, tort_string text, tort_operand *operand) {
    *operand = (tort_operand){.kind = TORT_OPERAND_VALUE, .value = -1};
    if (text.length && text.data[text.length - 1] == '?') {
        operand->optional = true;
        text.length--;
    }
    if (text.length && *text.data == '#') {
        text.data++;
        text.length--;
        operand->kind = TORT_OPERAND_NUMBER;
        if (tort_read_double(text, &operand->number)) return NULL;
        operand->kind = TORT_OPERAND_CONSTANT;
    }
    operand->value = value_of(parsed, text);
    return operand->value < 0 ? "an operand is not a name" : NULL;
}

/* Parses "Conv|Gemm{group=1}(": operators, conditions in braces, the opening bracket. */
static const char *parse_operators(const char **cursor, tort_string *operators, tort_string *braces) {
    const char *open = strpbrk(*cursor, "{( ");
    *braces = (tort_string){"", 0};
    if (!open || *open == ' ' || open == *cursor) return "an operator is missing";
    *operators = (tort_string){*cursor, (size_t)(open - *cursor)};
    *cursor = open + 1;
    if (*open == '(') return NULL;
    if (!take_until(cursor, '}', braces) || *(*cursor)++ != '(') return "braces are not closed";
    return NULL;
}

static const char *parse_node(tort_parsed *parsed, const char **cursor) {
    const int32_t index = parsed->node_count;
    if (index == TORT_PATTERN_NODES) return "there are too many nodes";
    tort_pattern_node *node = &parsed->nodes[index];
    tort_string name, operands, text;
    for (; **cursor && strchr("*~&^", **cursor); ++*cursor) {
        if (**cursor == '&' || **cursor == '^') parsed->apart = **cursor;
        if (**cursor == '*') parsed->anchor = index;
        if (**cursor == '~') node->spare = true;
    }
    if (!take_until(cursor, '=', &name) || !is_name(name)) return "a node has no name";
    const char *wrong = parse_operators(cursor, &node->operators, &node->conditions);
    if (wrong) return wrong;
    if (!take_until(cursor, ')', &operands)) return "operands are not closed";
    while (tort_next_part(&operands, ',', &text)) {
        if (node->operand_count == TORT_PATTERN_OPERANDS) return "there are too many operands";
        wrong = parse_operand(parsed, text, &node->operands[node->operand_count++]);
        if (wrong) return wrong;
    }
    if (tort_parsed_value(parsed, name.data, name.length) >= 0) return "a node is read before it is made";
    parsed->names[index] = name;
    parsed->node_count++;
    return node->operand_count ? NULL : "a node reads nothing";
}

/* True if every node but the last is read; otherwise matching could not reach it. */
static bool all_read(const tort_parsed *parsed) {
    bool read[TORT_PATTERN_VALUES] = {false};
    for (int32_t n = 0; n < parsed->node_count; n++)
        for (int32_t i = 0; i < parsed->nodes[n].operand_count; i++)
            if (parsed->nodes[n].operands[i].value >= 0) read[parsed->nodes[n].operands[i].value] = true;
    for (int32_t n = 0; n + 1 < parsed->node_count; n++)
        if (!read[n]) return false;
    return true;
}

/* ---- the made node ----------------------------------------------------------------------------------------------- */

static int32_t count_parts(tort_string text) {
    tort_string part;
    int32_t count = 0;
    while (tort_next_part(&text, '|', &part)) count++;
    return count;
}

static const char *parse_made(tort_parsed *parsed) {
    const char *cursor = parsed->row->makes;
    tort_string operands, name;
    const char *open = strchr(cursor, '(');
    if (!open || open == cursor) return "what it makes has no operands";
    parsed->made_operators = (tort_string){cursor, (size_t)(open - cursor)};
    cursor = open + 1;
    if (!take_until(&cursor, ')', &operands)) return "operands of what it makes are not closed";
    while (tort_next_part(&operands, ',', &name)) {
        if (parsed->made_count == TORT_PATTERN_OPERANDS) return "what it makes has too many operands";
        const int32_t value = value_of(parsed, name);
        if (value < 0) return "an operand of what it makes is not a name";
        parsed->made[parsed->made_count++] = value;
    }
    parsed->made_attributes = (tort_string){"", 0};
    if (*cursor == '{' && (cursor++, !take_until(&cursor, '}', &parsed->made_attributes)))
        return "braces are not closed";
    if (*cursor) return "something follows what it makes";
    const int32_t made = count_parts(parsed->made_operators);
    if (made != 1 && made != count_parts(parsed->nodes[parsed->anchor].operators))
        return "it makes other operators than the anchor has";
    return NULL;
}

/* The bits of all operators in "Conv|tinyort::FusedConv", without their domains. */
static uint64_t operator_bits(tort_string operators) {
    tort_string part;
    uint64_t bits = 0;
    while (tort_next_part(&operators, '|', &part)) {
        size_t name = part.length;
        while (name > 0 && part.data[name - 1] != ':') name--;
        bits |= tort_operator_bit(part.data + name, part.length - name);
    }
    return bits;
}

const char *tort_pattern_parse(const tort_pattern *row, tort_parsed *parsed) {
    const char *cursor = row->nodes, *wrong = NULL;
    *parsed = (tort_parsed){.row = row, .value_end = TORT_PATTERN_NODES};
    while (!wrong && *cursor) {
        wrong = parse_node(parsed, &cursor);
        while (*cursor == ' ') cursor++;
    }
    if (!wrong && parsed->node_count > 1 && parsed->apart) wrong = "a row with & or ^ has one node";
    if (!wrong && !all_read(parsed)) wrong = "a node before the last is not read";
    if (wrong) return wrong;
    parsed->ends = operator_bits(parsed->nodes[parsed->node_count - 1].operators);
    wrong = parse_made(parsed);
    const bool alone = parsed->node_count < 2 && !parsed->apart;
    if (!wrong && alone && parsed->ends & operator_bits(parsed->made_operators)) wrong = "it joins nothing";
    return wrong;
}
