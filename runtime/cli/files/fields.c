/* fields.c - reads and writes fields of protobuf's wire format (fields.h). */
#include "runtime/cli/files/fields.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool cli_take_field(const uint8_t **at, const uint8_t *end, cli_field *out) {
    uint64_t tag, value, skipped = 0;
    out->whole = *at;
    if (!take_varint(at, end, &tag)) return false;
    out->kind = tag & 7;
    out->number = (uint32_t)(tag >> 3);
    if (out->kind == CLI_WIRE_VARINT && !take_varint(at, end, &value)) return false;
    if (out->kind == CLI_WIRE_BYTES && !take_varint(at, end, &skipped)) return false;
    if (out->kind == CLI_WIRE_FIXED32) skipped = 4;
    if (out->kind == CLI_WIRE_FIXED64) skipped = 8;
    if ((out->kind > CLI_WIRE_BYTES && out->kind != CLI_WIRE_FIXED32) || skipped > (uint64_t)(end - *at)) return false;
    out->contents = *at;
    out->size = (size_t)skipped;
    *at += skipped;
    out->whole_size = (size_t)(*at - out->whole);
    return true;
}

char *cli_field_text(const cli_field *message, uint32_t number) {
    const uint8_t *at = message->contents, *end = at + message->size;
    char *text = cli_copy_text("", 0);
    for (cli_field f; at < end && cli_take_field(&at, end, &f);) {
        if (f.number != number || f.kind != CLI_WIRE_BYTES) continue;
        free(text);
        text = cli_copy_text((const char *)f.contents, f.size);
    }
    return text;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void cli_put_bytes(cli_message *out, const void *bytes, size_t size) {
    if (size > out->capacity - out->size) {
        out->capacity = 2 * out->capacity + size + 64;
        out->bytes = cli_realloc(out->bytes, out->capacity, 1);
    }
    if (size) memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_varint(cli_message *out, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    do {
        bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    cli_put_bytes(out, bytes, size);
}

void cli_put_field(cli_message *out, uint32_t number, const void *bytes, size_t size) {
    put_varint(out, number << 3 | CLI_WIRE_BYTES);
    put_varint(out, size);
    cli_put_bytes(out, bytes, size);
}

void cli_put_text(cli_message *out, uint32_t number, const char *text) {
    cli_put_field(out, number, text, strlen(text));
}

void cli_put_number(cli_message *out, uint32_t number, uint64_t value) {
    put_varint(out, number << 3 | CLI_WIRE_VARINT);
    put_varint(out, value);
}

void cli_put_message(cli_message *out, uint32_t number, cli_message *message) {
    cli_put_field(out, number, message->bytes, message->size);
    free(message->bytes);
    *message = (cli_message){0};
}
