/* slim.h - the slim copy of a file: what wire.c keeps of it, checked, and reading that.
 *
 * It has the form of the wire format, made easy to walk: a field is a byte with its number and its kind, then a varint,
 * four bytes, text (its length as a varint, its bytes, NUL), or a message (its length in four bytes, its fields). The
 * loader reads messages where they lie, and names of the model are borrowed from here, so the copy belongs to the model
 * and lives as long. What is read here has been checked when it was written: this is no place for untrusted bytes. */
#ifndef TORT_LOADER_SLIM_H
#define TORT_LOADER_SLIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tort_slim {
    uint8_t *bytes;
    size_t size, capacity;
} tort_slim;

typedef enum tort_slim_kind { TORT_SLIM_VARINT, TORT_SLIM_FIXED32, TORT_SLIM_TEXT, TORT_SLIM_MESSAGE } tort_slim_kind;

/* Fields that no file has, in the message of every tensor. */
enum {
    TORT_SLIM_DATA = 30, /* text: where the data is in the file, as four varints; see tort_data */
    TORT_SLIM_NOTE = 31  /* four bytes, 0: for the loader to write into */
};

/* A message: its fields lie from `at` to `end`. A copy of this struct begins anew. */
typedef struct tort_message {
    uint8_t *at, *end; /* both NULL: there is no message */
} tort_message;

typedef struct tort_field {
    uint32_t number;
    tort_slim_kind kind;
    uint64_t integer;     /* VARINT */
    const char *text;     /* TEXT: terminated, though bytes may hold NUL too */
    size_t length;        /* TEXT */
    tort_message message; /* MESSAGE */
    uint8_t *four;        /* FIXED32 */
} tort_field;

/* Where the data of a tensor is in its file. */
typedef struct tort_data {
    uint32_t field;  /* its number in TensorProto; 0: there is none */
    uint64_t offset; /* of its bytes, or where it is scattered, of the tag of the first */
    uint64_t length; /* of its bytes */
    uint64_t span;   /* from offset to behind the last byte where it is scattered among other fields; 0: it is not */
} tort_data;

/* Reads the next field and moves `rest` behind it; false at the end. */
bool tort_next_field(tort_message *rest, tort_field *field);
/* The same for the next field of this number; others are passed over. */
bool tort_next_of(tort_message *rest, uint32_t number, tort_field *field);
int32_t tort_count_of(tort_message message, uint32_t number);
/* The text of a field that is no list, "" if it is not there; the last one counts. */
const char *tort_text_in(tort_message message, uint32_t number);
tort_data tort_read_data(const tort_field *field);

/* A list of numbers: integers or 32-bit floats, packed or one by one. */
typedef struct tort_numbers {
    tort_message rest;
    uint32_t number;
    const uint8_t *at, *end; /* of what is packed */
} tort_numbers;

tort_numbers tort_numbers_of(tort_message message, uint32_t number);
bool tort_next_integer(tort_numbers *list, int64_t *value);
bool tort_next_float(tort_numbers *list, float *value);

/* Writes at most 10 bytes; how many. */
size_t tort_encode_varint(uint64_t value, uint8_t *out);

#endif
