/* fields.h - messages of protobuf as bytes, field by field: for copies of a model in which all else stays as it is. */
#ifndef TORT_CLI_FILES_FIELDS_H
#define TORT_CLI_FILES_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_MAX_MESSAGE ((size_t)INT32_MAX) /* bytes */

/* Field numbers of ONNX's messages, as in loader/onnx.proto. */
enum { CLI_MODEL_GRAPH = 7 };
enum {
    CLI_GRAPH_NODE = 1,
    CLI_GRAPH_NAME = 2,
    CLI_GRAPH_INITIALIZER = 5,
    CLI_GRAPH_INPUT = 11,
    CLI_GRAPH_OUTPUT = 12,
    CLI_GRAPH_SPARSE = 15
};
enum {
    CLI_NODE_INPUT = 1,
    CLI_NODE_OUTPUT = 2,
    CLI_NODE_NAME = 3,
    CLI_NODE_OPERATOR = 4,
    CLI_NODE_ATTRIBUTE = 5,
    CLI_NODE_METADATA = 9
};
enum { CLI_ATTRIBUTE_NAME = 1, CLI_ATTRIBUTE_GRAPH = 6, CLI_ATTRIBUTE_GRAPHS = 11 };
enum { CLI_TENSOR_DIMS = 1, CLI_TENSOR_TYPE = 2, CLI_TENSOR_NAME = 8, CLI_TENSOR_RAW = 9, CLI_TENSOR_EXTERNAL = 13 };
enum { CLI_SPARSE_VALUES = 1, CLI_VALUE_NAME = 1 };
enum { CLI_ENTRY_KEY = 1, CLI_ENTRY_VALUE = 2 };

enum { CLI_WIRE_VARINT = 0, CLI_WIRE_FIXED64 = 1, CLI_WIRE_BYTES = 2, CLI_WIRE_FIXED32 = 5 };

/* A field: all of it, tag included, and its contents if they are bytes. Borrows the message. */
typedef struct cli_field {
    uint32_t number, kind;
    const uint8_t *whole, *contents;
    size_t whole_size, size;
} cli_field;

/* Takes the next field of a message. False: the bytes are no message. */
bool cli_take_field(const uint8_t **at, const uint8_t *end, cli_field *out);
/* The contents of a field of a message, as a text; "" if it is not there. The caller frees. */
char *cli_field_text(const cli_field *message, uint32_t number);

/* A message that grows; the caller frees `bytes`. */
typedef struct cli_message {
    uint8_t *bytes;
    size_t size, capacity;
} cli_message;

void cli_put_bytes(cli_message *out, const void *bytes, size_t size);
void cli_put_field(cli_message *out, uint32_t number, const void *bytes, size_t size);
void cli_put_text(cli_message *out, uint32_t number, const char *text);
void cli_put_number(cli_message *out, uint32_t number, uint64_t value);
/* Puts in a message as a field, and frees it. */
void cli_put_message(cli_message *out, uint32_t number, cli_message *message);

#endif
