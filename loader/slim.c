/* slim.c - see slim.h. */
#include "loader/slim.h"

#include <string.h>

size_t tort_encode_varint(uint64_t value, uint8_t *out) {
    size_t size = 0;
    for (; value > 0x7f; value >>= 7) out[size++] = (uint8_t)(value | 0x80);
    out[size++] = (uint8_t)value;
    return size;
}

static uint64_t decode_varint(const uint8_t **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

bool tort_next_field(tort_message *rest, tort_field *field) {
    if (rest->at == rest->end) return false;
    uint8_t *at = rest->at;
    *field = (tort_field){.number = *at >> 2, .kind = (tort_slim_kind)(*at & 3)};
    const uint8_t *behind = ++at;
    uint32_t size;
    switch (field->kind) {
    case TORT_SLIM_VARINT: field->integer = decode_varint(&behind); break;
    case TORT_SLIM_FIXED32:
        field->four = at;
        behind += 4;
        break;
    case TORT_SLIM_TEXT:
        field->length = (size_t)decode_varint(&behind);
        field->text = (const char *)behind;
        behind += field->length + 1;
        break;
    case TORT_SLIM_MESSAGE:
        memcpy(&size, at, sizeof size);
        field->message = (tort_message){at + sizeof size, at + sizeof size + size};
        behind = field->message.end;
    }
    rest->at += behind - rest->at;
    return true;
}

bool tort_next_of(tort_message *rest, uint32_t number, tort_field *field) {
    while (tort_next_field(rest, field))
        if (field->number == number) return true;
    return false;
}

int32_t tort_count_of(tort_message message, uint32_t number) {
    int32_t count = 0;
    for (tort_field field; tort_next_of(&message, number, &field);) count++;
    return count;
}

const char *tort_text_in(tort_message message, uint32_t number) {
    const char *text = "";
    for (tort_field field; tort_next_of(&message, number, &field);) text = field.text;
    return text;
}

tort_data tort_read_data(const tort_field *field) {
    const uint8_t *at = (const uint8_t *)field->text;
    tort_data data = {.field = (uint32_t)decode_varint(&at)};
    data.offset = decode_varint(&at);
    data.length = decode_varint(&at);
    data.span = decode_varint(&at);
    return data;
}

/* ---- lists of numbers -------------------------------------------------------------------------------------------- */

tort_numbers tort_numbers_of(tort_message message, uint32_t number) {
    return (tort_numbers){.rest = message, .number = number};
}

/* Whether a packed part has more to give; else `field` is the next part of the list. */
static bool has_packed(const tort_numbers *list) {
    return list->at != list->end;
}

static bool next_part(tort_numbers *list, tort_field *field) {
    if (!tort_next_of(&list->rest, list->number, field)) return false;
    list->at = list->end = NULL;
    if (field->kind != TORT_SLIM_TEXT) return true;
    list->at = (const uint8_t *)field->text;
    list->end = list->at + field->length;
    return true;
}

bool tort_next_integer(tort_numbers *list, int64_t *value) {
    tort_field field;
    while (!has_packed(list)) {
        if (!next_part(list, &field)) return false;
        if (field.kind != TORT_SLIM_VARINT) continue;
        *value = (int64_t)field.integer;
        return true;
    }
    *value = (int64_t)decode_varint(&list->at);
    return true;
}

bool tort_next_float(tort_numbers *list, float *value) {
    tort_field field;
    while (!has_packed(list)) {
        if (!next_part(list, &field)) return false;
        if (field.kind != TORT_SLIM_FIXED32) continue;
        memcpy(value, field.four, sizeof *value);
        return true;
    }
    memcpy(value, list->at, sizeof *value);
    list->at += sizeof *value;
    return true;
}
