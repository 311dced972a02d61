/* wire.c - see wire.h: a reader with a window, a writer of the slim copy, the pass over the file, and the reading of
 * data in several pieces. */
#include "loader/wire.h"

#include <string.h>

#include "loader/onnx.pb-c.h"
#include "runtime/core/base/utf8.h"

#define WINDOW_SIZE ((size_t)1 << 16)
#define MIN_WINDOW ((size_t)1 << 12)
#define MAX_SLIM ((size_t)1 << 30) /* lengths in it, and counts of its fields, must fit into 31 bits */

enum {
    MAX_DEPTH = 100,   /* of nested messages, as in protobuf's own parsers */
    MAX_NAMED = 20,    /* nested fields that an error names */
    MAX_FIELDS = 32,   /* at most, of a message in onnx.proto */
    OWN_FIELDS = 1000, /* fields from here on are ours: they are skipped in files */
    SIZE_FIELD = 1000
};

typedef struct wire_pass {
    const tort_env *env;
    const tort_source *source;
    tort_error *error;
    tort_slim *slim;
    uint64_t position;     /* in the file */
    const uint8_t *window; /* bytes window_start .. window_start + window_size of the file */
    uint64_t window_start;
    size_t window_size;
    uint8_t *storage;                        /* WINDOW_SIZE bytes that the window uses, unless the model is in memory */
    const ProtobufCFieldDescriptor *missing; /* a required field that a message lacks; NULL: none */
    uint64_t missing_at;                     /* end of that message */
} wire_pass;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Size of the next window: small after a jump over a weight, since another one may follow; doubled while reading goes
 * on. */
static size_t next_window(const wire_pass *pass) {
    const uint64_t rest = tort_source_size(pass->source) - pass->position;
    size_t size = MIN_WINDOW;
    if (pass->position == pass->window_start + pass->window_size && 2 * pass->window_size > size)
        size = 2 * pass->window_size < WINDOW_SIZE ? 2 * pass->window_size : WINDOW_SIZE;
    return rest < size ? (size_t)rest : size;
}

/* Brings the byte at `position`, which must be in the file, into the window; *available: bytes in the window from there
 * on. */
static tort_status look(wire_pass *pass, size_t *available) {
    if (pass->position - pass->window_start >= pass->window_size) {
        pass->window_size = next_window(pass);
        pass->window_start = pass->position;
        tort_status status = tort_source_read((tort_source *)pass->source, 0, pass->position, pass->window_size,
                                              pass->storage, pass->error);
        if (status) return status;
    }
    *available = pass->window_size - (size_t)(pass->position - pass->window_start);
    return TORT_OK;
}

static const uint8_t *current(const wire_pass *pass) {
    return pass->window + (pass->position - pass->window_start);
}

static tort_status ends_in_number(const wire_pass *pass) {
    return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the message ends within a number",
                     (unsigned long long)pass->position);
}

static tort_status read_varint(wire_pass *pass, uint64_t end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        size_t available;
        if (pass->position >= end) return ends_in_number(pass);
        tort_status status = look(pass, &available);
        if (status) return status;
        uint8_t byte = *current(pass);
        pass->position++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return TORT_OK;
    }
    return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: a number of more than 10 bytes",
                     (unsigned long long)pass->position);
}

/* Reads a length; so many bytes must be left in the enclosing message. */
static tort_status read_length(wire_pass *pass, uint64_t end, uint64_t *length) {
    tort_status status = read_varint(pass, end, length);
    if (status) return status;
    uint64_t left = end - pass->position;
    if (*length <= left) return TORT_OK;
    if (end == tort_source_size(pass->source))
        return tort_fail(pass->error, TORT_E_MODEL,
                         "byte %llu: a length of %llu, but the file ends after %llu: is it cut short?",
                         (unsigned long long)pass->position, (unsigned long long)*length, (unsigned long long)left);
    return tort_fail(pass->error, TORT_E_MODEL,
                     "byte %llu: a length of %llu where the enclosing message has %llu bytes left",
                     (unsigned long long)pass->position, (unsigned long long)*length, (unsigned long long)left);
}

/* Finds the size of the contents of a field whose tag has been read: of a varint the varint itself, which is not
 * passed; of other fields the bytes after their length. */
static tort_status read_extent(wire_pass *pass, ProtobufCWireType type, uint64_t end, uint64_t *length) {
    if (type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) return read_length(pass, end, length);
    if (type == PROTOBUF_C_WIRE_TYPE_VARINT) {
        uint64_t start = pass->position, value;
        tort_status status = read_varint(pass, end, &value);
        *length = pass->position - start;
        pass->position = start;
        return status;
    }
    *length = type == PROTOBUF_C_WIRE_TYPE_32BIT ? 4 : 8;
    return *length <= end - pass->position ? TORT_OK : ends_in_number(pass);
}

static tort_status read_tag(wire_pass *pass, uint64_t end, uint32_t *number, ProtobufCWireType *type) {
    uint64_t tag, at = pass->position;
    tort_status status = read_varint(pass, end, &tag);
    if (status) return status;
    *number = (uint32_t)(tag >> 3);
    *type = (ProtobufCWireType)(tag & 7);
    bool known = *type == PROTOBUF_C_WIRE_TYPE_VARINT || *type == PROTOBUF_C_WIRE_TYPE_64BIT ||
                 *type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || *type == PROTOBUF_C_WIRE_TYPE_32BIT;
    if (tag > UINT32_MAX || *number == 0 || !known)
        return tort_fail(pass->error, TORT_E_MODEL,
                         "byte %llu: not a field of a protobuf message (tag %llu): is this an ONNX file?",
                         (unsigned long long)at, (unsigned long long)tag);
    return TORT_OK;
}

/* Passes the next `length` bytes of the file on to the sink. */
static tort_status sink_bytes(wire_pass *pass, uint64_t length, tort_data_sink sink, void *ud) {
    while (length > 0) {
        size_t part;
        tort_status status = look(pass, &part);
        if (status) return status;
        if (part > length) part = (size_t)length;
        status = sink(ud, current(pass), part, pass->error);
        if (status) return status;
        pass->position += part;
        length -= part;
    }
    return TORT_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static tort_status reserve(wire_pass *pass, size_t more) {
    tort_slim *slim = pass->slim;
    if (more > MAX_SLIM - slim->size)
        return tort_fail(pass->error, TORT_E_MODEL, "the graph takes more than %zu MiB without its weights",
                         MAX_SLIM >> 20);
    const size_t need = slim->size + more;
    if (need <= slim->capacity) return TORT_OK;
    size_t capacity = slim->capacity ? slim->capacity * 2 : 4096;
    if (capacity < need) capacity = need;
    uint8_t *grown = pass->env->alloc(pass->env->alloc_ud, slim->bytes, slim->capacity, capacity);
    if (!grown) return tort_out_of_memory(pass->error, capacity);
    slim->bytes = grown;
    slim->capacity = capacity;
    return TORT_OK;
}

static tort_status write_bytes(wire_pass *pass, const void *bytes, size_t size) {
    tort_status status = size > pass->slim->capacity - pass->slim->size ? reserve(pass, size) : TORT_OK;
    if (status) return status;
    memcpy(pass->slim->bytes + pass->slim->size, bytes, size);
    pass->slim->size += size;
    return TORT_OK;
}

static tort_status write_varint(wire_pass *pass, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    for (; value > 0x7f; value >>= 7) bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    return write_bytes(pass, bytes, size);
}

static tort_status write_tag(wire_pass *pass, uint32_t number, ProtobufCWireType type) {
    return write_varint(pass, (uint64_t)number << 3 | type);
}

static tort_status write_part(void *ud, const uint8_t *bytes, size_t size, tort_error *error) {
    (void)error;
    return write_bytes(ud, bytes, size);
}

/* Copies the next `length` bytes of the file. */
static tort_status copy(wire_pass *pass, uint64_t length) {
    tort_status status = reserve(pass, length > MAX_SLIM ? MAX_SLIM + 1 : (size_t)length);
    return status ? status : sink_bytes(pass, length, write_part, pass);
}

/* ---- data of tensors --------------------------------------------------------------------------------------------- */

/* Pieces of a tensor's data that have been passed. */
typedef struct seen_data {
    const ProtobufCFieldDescriptor *field; /* NULL: nothing yet */
    uint64_t tag, start, end;              /* of the first element the tag and the bytes; behind the last one */
    uint64_t length;
    bool scattered;
} seen_data;

/* The descriptor of the field if it holds data of a tensor; otherwise NULL. */
static const ProtobufCFieldDescriptor *data_field(const ProtobufCMessageDescriptor *message, uint32_t number) {
    if (message != &tort_onnx__tensor_proto__descriptor) return NULL;
    return protobuf_c_message_descriptor_get_field(&tort_onnx__tensor_proto__data__descriptor, number);
}

/* Skips a piece of data whose tag, at `tag`, has been read, and records where it is. */
static tort_status pass_data(wire_pass *pass, const ProtobufCFieldDescriptor *field, ProtobufCWireType type,
                             uint64_t tag, uint64_t end, seen_data *seen) {
    uint64_t length;
    tort_status status = read_extent(pass, type, end, &length);
    if (status) return status;
    uint64_t start = pass->position;
    pass->position += length;
    if (length == 0) return TORT_OK;
    if (seen->field && seen->field != field)
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the data of the tensor is in %s and in %s",
                         (unsigned long long)tag, seen->field->name, field->name);
    if (seen->field)
        seen->scattered = true;
    else
        *seen = (seen_data){.field = field, .tag = tag, .start = start};
    seen->length += length; /* parts of one file: cannot overflow */
    seen->end = pass->position;
    return TORT_OK;
}

static tort_status write_note(wire_pass *pass, const seen_data *seen) {
    if (!seen->field) return TORT_OK;
    const tort_data_note note = {seen->scattered ? seen->tag : seen->start, seen->length,
                                 seen->scattered ? seen->end - seen->tag : 0};
    tort_status status = write_tag(pass, seen->field->id, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    if (!status) status = write_varint(pass, sizeof note);
    return status ? status : write_bytes(pass, &note, sizeof note);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

/* A message while its fields are walked. */
typedef struct wire_message {
    const ProtobufCMessageDescriptor *descriptor;
    uint64_t end;
    int depth;
    uint32_t seen[MAX_FIELDS]; /* number of occurrences of each field */
    uint32_t given;            /* a bit per field: its last occurrence was not empty */
    seen_data data;
} wire_message;

static tort_status slim_message(wire_pass *pass, const ProtobufCMessageDescriptor *descriptor, uint64_t end, int depth);

/* The wire type of one value. */
static ProtobufCWireType wire_type_of(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64: return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_FLOAT: return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE: return PROTOBUF_C_WIRE_TYPE_64BIT;
    default: return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    }
}

/* True if the wire type fits the field; repeated numbers are packed or single. */
static bool type_fits(const ProtobufCFieldDescriptor *field, ProtobufCWireType type) {
    return type == wire_type_of(field) ||
           (type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED && field->label == PROTOBUF_C_LABEL_REPEATED);
}

/* Copies a nested message. Its length precedes it, so it is filled in afterwards, always in five bytes. */
static tort_status slim_submessage(wire_pass *pass, const ProtobufCFieldDescriptor *field, uint64_t length, int depth) {
    enum { LENGTH_SIZE = 5 };
    if (depth >= MAX_DEPTH)
        return tort_fail(pass->error, TORT_E_MODEL, "messages are nested more than %d deep", MAX_DEPTH);
    tort_status status = write_bytes(pass, "\x80\x80\x80\x80", LENGTH_SIZE);
    if (status) return status;
    const size_t start = pass->slim->size;
    status = slim_message(pass, field->descriptor, pass->position + length, depth + 1);
    uint8_t *bytes = pass->slim->bytes + start - LENGTH_SIZE;
    size_t size = pass->slim->size - start;
    for (int i = 0; i < LENGTH_SIZE; i++, size >>= 7) bytes[i] |= (uint8_t)(size & 0x7f);
    return status;
}

/* Error for a text that is not UTF-8 or contains NUL; NULL if it is valid. */
static const char *wrong_in_text(const uint8_t *bytes, size_t size) {
    uint32_t code;
    for (size_t at = 0, length; at < size; at += length) {
        length = bytes[at] < 0x80 ? 1 : tort_utf8_decode((const char *)bytes + at, size - at, &code);
        if (length == 0) return "text that is not UTF-8";
        if (bytes[at] == 0) return "a name with a NUL character";
    }
    return NULL;
}

/* Error for a packed list whose last number is incomplete, or with a number of more than 10 bytes; NULL if it is valid.
 */
static const char *wrong_in_list(const ProtobufCFieldDescriptor *field, const uint8_t *bytes, size_t size) {
    static const char message[] = "a packed list does not end with a number";
    if (field->type == PROTOBUF_C_TYPE_FLOAT) return size % sizeof(float) ? message : NULL;
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (++length > 10) return message;
        if (!(bytes[i] & 0x80)) length = 0;
    }
    return length ? message : NULL;
}

/* Copies text, bytes or packed numbers, with their length. */
static tort_status slim_bytes(wire_pass *pass, const ProtobufCFieldDescriptor *field, uint64_t length) {
    const uint64_t at = pass->position;
    tort_status status = write_varint(pass, length);
    const size_t start = pass->slim->size;
    if (!status) status = copy(pass, length);
    if (status) return status;
    const uint8_t *bytes = pass->slim->bytes + start;
    const char *wrong = NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        wrong = wrong_in_text(bytes, (size_t)length);
    else if (field->type != PROTOBUF_C_TYPE_BYTES)
        wrong = wrong_in_list(field, bytes, (size_t)length);
    if (!wrong) return TORT_OK;
    return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: %s", (unsigned long long)at, wrong);
}

/* Copies a field whose tag has been read, unless it is data of a tensor. *empty: it has no bytes. */
static tort_status slim_field(wire_pass *pass, const ProtobufCFieldDescriptor *field, ProtobufCWireType type,
                              const wire_message *message, bool *empty) {
    uint64_t value;
    tort_status status = write_tag(pass, field->id, type);
    *empty = false;
    if (status) return status;
    if (type == PROTOBUF_C_WIRE_TYPE_VARINT) {
        status = read_varint(pass, message->end, &value);
        return status ? status : write_varint(pass, value);
    }
    status = read_extent(pass, type, message->end, &value);
    if (status) return status;
    *empty = value == 0;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return slim_submessage(pass, field, value, message->depth);
    return type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED ? slim_bytes(pass, field, value) : copy(pass, value);
}

static tort_status skip_field(wire_pass *pass, ProtobufCWireType type, uint64_t end) {
    uint64_t length;
    tort_status status = read_extent(pass, type, end, &length);
    if (!status) pass->position += length;
    return status;
}

/* Prefixes the error with the field that is wrong. */
static void name_field(const wire_pass *pass, const ProtobufCFieldDescriptor *field, uint32_t index) {
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        tort_error_prefix(pass->error, "%s %u", field->name, index);
    else
        tort_error_prefix(pass->error, "%s", field->name);
}

static tort_status check_field(const wire_pass *pass, const wire_message *message,
                               const ProtobufCFieldDescriptor *field, ProtobufCWireType type, uint64_t at,
                               uint32_t seen) {
    if (!type_fits(field, type))
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: wire type %d is not that of the field",
                         (unsigned long long)at, (int)type);
    const bool many = field->label == PROTOBUF_C_LABEL_REPEATED;
    if (!many && seen > 0 && (field->type == PROTOBUF_C_TYPE_MESSAGE || data_field(message->descriptor, field->id)))
        return tort_fail(pass->error, TORT_E_MODEL,
                         "byte %llu: the field is there a second time; its pieces are not merged",
                         (unsigned long long)at);
    if (message->descriptor == &tort_onnx__node_proto__descriptor && seen == TORT_MAX_ATTRIBUTES &&
        field->descriptor == &tort_onnx__attribute_proto__descriptor)
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: %u attributes; at most %d are taken",
                         (unsigned long long)at, seen + 1, TORT_MAX_ATTRIBUTES);
    return TORT_OK;
}

static tort_status refuse_missing(const wire_pass *pass) {
    const char *name = pass->missing->name;
    return tort_fail(pass->error, TORT_E_MODEL,
                     pass->missing->type == PROTOBUF_C_TYPE_STRING ? "byte %llu: it has no %s"
                                                                   : "byte %llu: it has no %s, and %s 0 means none",
                     (unsigned long long)pass->missing_at, name, name);
}

/* Handles a field of the message, whose tag at `at` has been read. A list's element that lacks a required field is
 * refused at once, because an empty one takes two bytes of the file but 100 to 300 of the parser's memory. */
static tort_status walk_field(wire_pass *pass, wire_message *message, const ProtobufCFieldDescriptor *field,
                              ProtobufCWireType type, uint64_t at) {
    const size_t i = (size_t)(field - message->descriptor->fields);
    const ProtobufCFieldDescriptor *data = data_field(message->descriptor, field->id);
    bool empty = false;
    tort_status status = check_field(pass, message, data ? data : field, type, at, message->seen[i]);
    if (!status && data)
        status = pass_data(pass, data, type, at, message->end, &message->data);
    else if (!status)
        status = slim_field(pass, field, type, message, &empty);
    if (!status && pass->missing && field->label == PROTOBUF_C_LABEL_REPEATED) status = refuse_missing(pass);
    if (status && message->depth <= MAX_NAMED) name_field(pass, data ? data : field, message->seen[i]);
    message->seen[i]++;
    message->given = (message->given & ~(1u << i)) | (uint32_t)!empty << i;
    return status;
}

static void check_required(wire_pass *pass, const wire_message *message) {
    for (unsigned i = 0; i < message->descriptor->n_fields && !pass->missing; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->label != PROTOBUF_C_LABEL_REQUIRED || message->given >> i & 1) continue;
        pass->missing = field;
        pass->missing_at = message->end;
    }
}

/* Appends the size of the message as written, if onnx.proto has a field for it. */
static tort_status write_size(wire_pass *pass, const ProtobufCMessageDescriptor *descriptor, size_t start) {
    if (!protobuf_c_message_descriptor_get_field(descriptor, SIZE_FIELD)) return TORT_OK;
    const size_t size = pass->slim->size - start;
    tort_status status = write_tag(pass, SIZE_FIELD, PROTOBUF_C_WIRE_TYPE_VARINT);
    return status ? status : write_varint(pass, size);
}

static tort_status slim_message(wire_pass *pass, const ProtobufCMessageDescriptor *descriptor, uint64_t end,
                                int depth) {
    wire_message message = {.descriptor = descriptor, .end = end, .depth = depth};
    const size_t start = pass->slim->size;
    if (descriptor->n_fields > MAX_FIELDS)
        return tort_fail(pass->error, TORT_E_INTERNAL, "%s has more than %d fields", descriptor->name, MAX_FIELDS);
    while (pass->position < end) {
        uint32_t number;
        ProtobufCWireType type;
        const uint64_t at = pass->position;
        tort_status status = read_tag(pass, end, &number, &type);
        if (status) return status;
        const ProtobufCFieldDescriptor *field =
            number < OWN_FIELDS ? protobuf_c_message_descriptor_get_field(descriptor, number) : NULL;
        status = field ? walk_field(pass, &message, field, type, at) : skip_field(pass, type, end);
        if (status) return status;
    }
    check_required(pass, &message);
    tort_status status = write_note(pass, &message.data);
    return status ? status : write_size(pass, descriptor, start);
}

static tort_status begin_pass(wire_pass *pass) {
    if (tort_source_buffer(pass->source)) {
        pass->window = tort_source_buffer(pass->source);
        pass->window_size = (size_t)tort_source_size(pass->source);
        return TORT_OK;
    }
    pass->window = pass->storage = tort_alloc(pass->env, WINDOW_SIZE);
    return pass->storage ? TORT_OK : tort_out_of_memory(pass->error, WINDOW_SIZE);
}

tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                           tort_slim *slim, tort_error *error) {
    *slim = (tort_slim){0};
    wire_pass pass = {.env = env, .source = source, .error = error, .slim = slim};
    tort_status status = begin_pass(&pass);
    if (!status) status = slim_message(&pass, root, tort_source_size(source), 1);
    if (!status && pass.missing) status = refuse_missing(&pass);
    tort_free(env, pass.storage, WINDOW_SIZE);
    return status;
}

void tort_slim_free(const tort_env *env, tort_slim *slim) {
    tort_free(env, slim->bytes, slim->capacity);
    *slim = (tort_slim){0};
}

/* ---- reading data ------------------------------------------------------------------------------------------------ */

/* Reads data in several pieces by walking the fields as slim_message did; `left` guards against a file that has
 * changed. */
static tort_status sink_scattered(wire_pass *pass, uint32_t number, const tort_data_note *note, tort_data_sink sink,
                                  void *ud) {
    uint64_t end = note->offset + note->span, left = note->length;
    while (pass->position < end) {
        uint32_t other;
        ProtobufCWireType type;
        uint64_t length;
        tort_status status = read_tag(pass, end, &other, &type);
        if (!status) status = read_extent(pass, type, end, &length);
        if (status) return status;
        if (other != number) {
            pass->position += length;
            continue;
        }
        if (length > left) break;
        left -= length;
        status = sink_bytes(pass, length, sink, ud);
        if (status) return status;
    }
    return left == 0 ? TORT_OK : tort_fail(pass->error, TORT_E_IO, "the model has changed since it was opened");
}

tort_status tort_wire_data(const tort_env *env, const tort_source *source, uint32_t number, const tort_data_note *note,
                           tort_data_sink sink, void *ud, tort_error *error) {
    wire_pass pass = {.env = env, .source = source, .error = error, .position = note->offset};
    tort_status status = begin_pass(&pass);
    if (!status)
        status = note->span ? sink_scattered(&pass, number, note, sink, ud) : sink_bytes(&pass, note->length, sink, ud);
    tort_free(env, pass.storage, WINDOW_SIZE);
    return status;
}
