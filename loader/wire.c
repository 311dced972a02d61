/* wire.c - see wire.h. Above: a reader with a window, a writer of the slim copy, the pass; at the end the tables, which
 * say for every message of onnx.proto which fields are kept and how. A field without a row is skipped: documentation,
 * properties of nodes, training, and whatever is not ONNX. */
#include "loader/wire.h"

#include <string.h>

#define WINDOW_SIZE ((size_t)1 << 16)
#define DEEPEST_MESSAGE 100            /* as protobuf's own parsers */
#define LARGEST_SLIM ((size_t)1 << 30) /* the parser's sizes are 31 bits */
#define MOST_FIELDS 20
#define MOST_NAMED 20    /* fields within each other that an error names */
#define PIECE_FIELD 1000 /* of TensorProto in onnx.proto, see there */

typedef enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 } wire_type;

typedef enum field_kind {
    FIELD_INT,     /* one integer; where the field is repeated, also packed */
    FIELD_FLOAT,   /* the same for 32-bit floats */
    FIELD_TEXT,    /* a string without NUL, so that it is whole as a C string */
    FIELD_BYTES,   /* kept as it is */
    FIELD_MESSAGE, /* a message with a table of its own */
    FIELD_DATA,    /* data of a tensor: noted, not copied */
} field_kind;

typedef struct wire_field {
    uint32_t number;
    field_kind kind;
    bool repeated;
    wire_type single; /* of FIELD_DATA: the wire type of an element that is not packed; WIRE_LENGTH: never single */
    const char *name;
    const tort_wire_message *message;
} wire_field;

struct tort_wire_message {
    const wire_field *fields;
    int32_t field_count; /* at most MOST_FIELDS */
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
    uint8_t *storage; /* WINDOW_SIZE bytes that the window uses, unless the model is in memory */
} wire_pass;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Makes the byte at `position`, which must be in the file, part of the window; returns how many follow in it. */
static tort_status look(wire_pass *pass, size_t *available) {
    if (pass->position < pass->window_start || pass->position - pass->window_start >= pass->window_size) {
        uint64_t rest = tort_source_size(pass->source) - pass->position;
        pass->window_size = rest < WINDOW_SIZE ? (size_t)rest : WINDOW_SIZE;
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

static tort_status read_varint(wire_pass *pass, uint64_t end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        size_t available;
        if (pass->position >= end)
            return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the message ends within a number",
                             (unsigned long long)pass->position);
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

/* The length of what follows, which must end within the enclosing message. */
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

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static tort_status reserve(wire_pass *pass, size_t more) {
    tort_slim *slim = pass->slim;
    size_t need;
    if (!tort_add_size(slim->size, more, &need) || need > LARGEST_SLIM)
        return tort_fail(pass->error, TORT_E_MODEL, "the graph takes more than %zu MiB without its weights",
                         LARGEST_SLIM >> 20);
    if (need <= slim->capacity) return TORT_OK;
    size_t capacity = slim->capacity ? slim->capacity * 2 : 4096;
    if (capacity < need) capacity = need;
    uint8_t *grown = pass->env->alloc(pass->env->alloc_ud, slim->bytes, slim->capacity, capacity);
    if (!grown) return tort_out_of_memory(pass->error, capacity);
    slim->bytes = grown;
    slim->capacity = capacity;
    return TORT_OK;
}

static size_t encode_varint(uint64_t value, uint8_t *out) {
    size_t size = 0;
    for (; value > 0x7f; value >>= 7) out[size++] = (uint8_t)(value | 0x80);
    out[size++] = (uint8_t)value;
    return size;
}

static tort_status write_varint(wire_pass *pass, uint64_t value) {
    tort_status status = reserve(pass, 10);
    if (status) return status;
    pass->slim->size += encode_varint(value, pass->slim->bytes + pass->slim->size);
    return TORT_OK;
}

static tort_status write_tag(wire_pass *pass, uint32_t number, wire_type type) {
    return write_varint(pass, (uint64_t)number << 3 | (uint64_t)type);
}

/* Copies the next `length` bytes of the file; `text`: they must not contain NUL. */
static tort_status copy(wire_pass *pass, uint64_t length, bool text) {
    if (length > LARGEST_SLIM) return reserve(pass, LARGEST_SLIM + 1);
    tort_status status = reserve(pass, (size_t)length);
    while (!status && length > 0) {
        size_t part;
        status = look(pass, &part);
        if (status) break;
        if (part > length) part = (size_t)length;
        if (text && memchr(current(pass), 0, part))
            return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: a name with a NUL character",
                             (unsigned long long)pass->position);
        memcpy(pass->slim->bytes + pass->slim->size, current(pass), part);
        pass->slim->size += part;
        pass->position += part;
        length -= part;
    }
    return status;
}

/* Lengths are written before what they count, so they get a fixed width: a varint may be longer than it need be. */
enum { LENGTH_BYTES = 5 };

static tort_status begin_message(wire_pass *pass, uint32_t number, size_t *start) {
    tort_status status = write_tag(pass, number, WIRE_LENGTH);
    if (!status) status = reserve(pass, LENGTH_BYTES);
    if (status) return status;
    pass->slim->size += LENGTH_BYTES;
    *start = pass->slim->size;
    return TORT_OK;
}

static void end_message(wire_pass *pass, size_t start) {
    size_t length = pass->slim->size - start;
    uint8_t *at = pass->slim->bytes + start - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        at[i] = (uint8_t)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

/* Notes `length` bytes of tensor data at the current position and passes over them. */
static tort_status note_data(wire_pass *pass, const wire_field *field, uint64_t length) {
    uint8_t piece[3 * 11];
    size_t size = 0;
    piece[size++] = 1 << 3 | WIRE_VARINT;
    size += encode_varint(field->number, piece + size);
    piece[size++] = 2 << 3 | WIRE_VARINT;
    size += encode_varint(pass->position, piece + size);
    piece[size++] = 3 << 3 | WIRE_VARINT;
    size += encode_varint(length, piece + size);
    pass->position += length;
    if (length == 0) return TORT_OK;
    tort_status status = write_tag(pass, PIECE_FIELD, WIRE_LENGTH);
    if (!status) status = write_varint(pass, size);
    if (!status) status = reserve(pass, size);
    if (status) return status;
    memcpy(pass->slim->bytes + pass->slim->size, piece, size);
    pass->slim->size += size;
    return TORT_OK;
}

/* Whether a field may come with this wire type: repeated numbers come packed or one by one. */
static bool type_fits(const wire_field *field, wire_type type) {
    switch (field->kind) {
    case FIELD_INT: return type == WIRE_VARINT || (field->repeated && type == WIRE_LENGTH);
    case FIELD_FLOAT: return type == WIRE_FIXED32 || (field->repeated && type == WIRE_LENGTH);
    case FIELD_DATA: return type == WIRE_LENGTH || type == field->single;
    default: return type == WIRE_LENGTH;
    }
}

static tort_status slim_message(wire_pass *pass, const tort_wire_message *message, uint64_t end, int depth);

static tort_status slim_submessage(wire_pass *pass, const wire_field *field, uint64_t length, int depth) {
    if (depth >= DEEPEST_MESSAGE)
        return tort_fail(pass->error, TORT_E_MODEL, "messages are nested more than %d deep", DEEPEST_MESSAGE);
    size_t start;
    tort_status status = begin_message(pass, field->number, &start);
    if (!status) status = slim_message(pass, field->message, pass->position + length, depth + 1);
    if (!status) end_message(pass, start);
    return status;
}

/* A kept field whose tag has been read. */
static tort_status slim_field(wire_pass *pass, const wire_field *field, wire_type type, uint64_t end, int depth) {
    uint64_t start = pass->position, value;
    if (type == WIRE_VARINT) {
        tort_status status = read_varint(pass, end, &value);
        if (status) return status;
        if (field->kind == FIELD_DATA) {
            uint64_t length = pass->position - start;
            pass->position = start;
            return note_data(pass, field, length);
        }
        status = write_tag(pass, field->number, type);
        return status ? status : write_varint(pass, value);
    }
    uint64_t length = type == WIRE_FIXED32 ? 4 : 8;
    if (type == WIRE_LENGTH) {
        tort_status status = read_length(pass, end, &length);
        if (status) return status;
    } else if (length > end - pass->position) {
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the message ends within a number",
                         (unsigned long long)pass->position);
    }
    if (field->kind == FIELD_DATA) return note_data(pass, field, length);
    if (field->kind == FIELD_MESSAGE) return slim_submessage(pass, field, length, depth);
    tort_status status = write_tag(pass, field->number, type);
    if (!status && type == WIRE_LENGTH) status = write_varint(pass, length);
    return status ? status : copy(pass, length, field->kind == FIELD_TEXT);
}

static tort_status skip_field(wire_pass *pass, wire_type type, uint64_t end) {
    uint64_t length = type == WIRE_FIXED32 ? 4 : 8;
    if (type == WIRE_VARINT) return read_varint(pass, end, &length);
    if (type == WIRE_LENGTH) {
        tort_status status = read_length(pass, end, &length);
        if (status) return status;
    } else if (length > end - pass->position) {
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the message ends within a number",
                         (unsigned long long)pass->position);
    }
    pass->position += length;
    return TORT_OK;
}

static tort_status read_tag(wire_pass *pass, uint64_t end, uint32_t *number, wire_type *type) {
    uint64_t tag, at = pass->position;
    tort_status status = read_varint(pass, end, &tag);
    if (status) return status;
    *number = (uint32_t)(tag >> 3);
    *type = (wire_type)(tag & 7);
    bool known = *type == WIRE_VARINT || *type == WIRE_FIXED64 || *type == WIRE_LENGTH || *type == WIRE_FIXED32;
    if (tag > UINT32_MAX || *number == 0 || !known)
        return tort_fail(pass->error, TORT_E_MODEL,
                         "byte %llu: not a field of a protobuf message (tag %llu): is this an ONNX file?",
                         (unsigned long long)at, (unsigned long long)tag);
    return TORT_OK;
}

/* Which field is wrong; of messages that are nested deep the outer ones alone, else they fill the message. */
static void name_field(const wire_pass *pass, const wire_field *field, int32_t index) {
    if (field->repeated)
        tort_error_prefix(pass->error, "%s %d", field->name, index);
    else
        tort_error_prefix(pass->error, "%s", field->name);
}

static tort_status slim_message(wire_pass *pass, const tort_wire_message *message, uint64_t end, int depth) {
    int32_t seen[MOST_FIELDS] = {0}; /* of every field, to say which one is wrong */
    while (pass->position < end) {
        uint32_t number;
        wire_type type;
        uint64_t at = pass->position;
        tort_status status = read_tag(pass, end, &number, &type);
        if (status) return status;
        int32_t i = 0;
        while (i < message->field_count && message->fields[i].number != number) i++;
        if (i == message->field_count) {
            status = skip_field(pass, type, end);
            if (status) return status;
            continue;
        }
        const wire_field *field = &message->fields[i];
        if (!type_fits(field, type))
            status = tort_fail(pass->error, TORT_E_MODEL, "byte %llu: wire type %d is not that of the field",
                               (unsigned long long)at, (int)type);
        else if (!field->repeated && field->kind == FIELD_DATA && seen[i] > 0)
            status =
                tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the field is there twice", (unsigned long long)at);
        else
            status = slim_field(pass, field, type, end, depth);
        if (status && depth <= MOST_NAMED) name_field(pass, field, seen[i]);
        if (status) return status;
        seen[i]++;
    }
    return TORT_OK;
}

tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const tort_wire_message *root,
                           tort_slim *slim, tort_error *error) {
    *slim = (tort_slim){0};
    wire_pass pass = {.env = env, .source = source, .error = error, .slim = slim};
    if (tort_source_buffer(source)) {
        pass.window = tort_source_buffer(source);
        pass.window_size = (size_t)tort_source_size(source);
    } else {
        pass.window = pass.storage = tort_alloc(env, WINDOW_SIZE);
        if (!pass.storage) return tort_out_of_memory(error, WINDOW_SIZE);
    }
    tort_status status = slim_message(&pass, root, tort_source_size(source), 1);
    tort_free(env, pass.storage, WINDOW_SIZE);
    return status;
}

void tort_slim_free(const tort_env *env, tort_slim *slim) {
    tort_free(env, slim->bytes, slim->capacity);
    *slim = (tort_slim){0};
}

/* ---- the tables: onnx.proto, field by field --------------------------------------------------------------------- */

#define TABLE(fields)                                                                                                  \
    { fields, (int32_t)(sizeof fields / sizeof *fields) }

static const tort_wire_message attribute_message, function_message, graph_message, node_message, opset_message,
    property_message, sparse_message, type_message, value_info_message;

static const wire_field model_fields[] = {
    {1, FIELD_INT, false, 0, "ir_version", NULL},
    {2, FIELD_TEXT, false, 0, "producer_name", NULL},
    {3, FIELD_TEXT, false, 0, "producer_version", NULL},
    {7, FIELD_MESSAGE, false, 0, "graph", &graph_message},
    {8, FIELD_MESSAGE, true, 0, "opset_import", &opset_message},
    {14, FIELD_MESSAGE, true, 0, "metadata_props", &property_message},
    {25, FIELD_MESSAGE, true, 0, "function", &function_message},
};
const tort_wire_message tort_wire_model = TABLE(model_fields);

static const wire_field opset_fields[] = {
    {1, FIELD_TEXT, false, 0, "domain", NULL},
    {2, FIELD_INT, false, 0, "version", NULL},
};
static const tort_wire_message opset_message = TABLE(opset_fields);

static const wire_field property_fields[] = {
    {1, FIELD_TEXT, false, 0, "key", NULL},
    {2, FIELD_TEXT, false, 0, "value", NULL},
};
static const tort_wire_message property_message = TABLE(property_fields);

static const wire_field graph_fields[] = {
    {1, FIELD_MESSAGE, true, 0, "node", &node_message},
    {2, FIELD_TEXT, false, 0, "name", NULL},
    {5, FIELD_MESSAGE, true, 0, "initializer", &tort_wire_tensor},
    {11, FIELD_MESSAGE, true, 0, "input", &value_info_message},
    {12, FIELD_MESSAGE, true, 0, "output", &value_info_message},
    {13, FIELD_MESSAGE, true, 0, "value_info", &value_info_message},
    {15, FIELD_MESSAGE, true, 0, "sparse_initializer", &sparse_message},
};
static const tort_wire_message graph_message = TABLE(graph_fields);

static const wire_field node_fields[] = {
    {1, FIELD_TEXT, true, 0, "input", NULL},
    {2, FIELD_TEXT, true, 0, "output", NULL},
    {3, FIELD_TEXT, false, 0, "name", NULL},
    {4, FIELD_TEXT, false, 0, "op_type", NULL},
    {5, FIELD_MESSAGE, true, 0, "attribute", &attribute_message},
    {7, FIELD_TEXT, false, 0, "domain", NULL},
    {8, FIELD_TEXT, false, 0, "overload", NULL},
};
static const tort_wire_message node_message = TABLE(node_fields);

static const wire_field function_fields[] = {
    {1, FIELD_TEXT, false, 0, "name", NULL},
    {4, FIELD_TEXT, true, 0, "input", NULL},
    {5, FIELD_TEXT, true, 0, "output", NULL},
    {6, FIELD_TEXT, true, 0, "attribute", NULL},
    {7, FIELD_MESSAGE, true, 0, "node", &node_message},
    {9, FIELD_MESSAGE, true, 0, "opset_import", &opset_message},
    {10, FIELD_TEXT, false, 0, "domain", NULL},
    {11, FIELD_MESSAGE, true, 0, "attribute_proto", &attribute_message},
    {13, FIELD_TEXT, false, 0, "overload", NULL},
};
static const tort_wire_message function_message = TABLE(function_fields);

static const wire_field attribute_fields[] = {
    {1, FIELD_TEXT, false, 0, "name", NULL},
    {2, FIELD_FLOAT, false, 0, "f", NULL},
    {3, FIELD_INT, false, 0, "i", NULL},
    {4, FIELD_BYTES, false, 0, "s", NULL},
    {5, FIELD_MESSAGE, false, 0, "t", &tort_wire_tensor},
    {6, FIELD_MESSAGE, false, 0, "g", &graph_message},
    {7, FIELD_FLOAT, true, 0, "floats", NULL},
    {8, FIELD_INT, true, 0, "ints", NULL},
    {9, FIELD_BYTES, true, 0, "strings", NULL},
    {10, FIELD_MESSAGE, true, 0, "tensors", &tort_wire_tensor},
    {11, FIELD_MESSAGE, true, 0, "graphs", &graph_message},
    {14, FIELD_MESSAGE, false, 0, "tp", &type_message},
    {15, FIELD_MESSAGE, true, 0, "type_protos", &type_message},
    {20, FIELD_INT, false, 0, "type", NULL},
    {21, FIELD_TEXT, false, 0, "ref_attr_name", NULL},
    {22, FIELD_MESSAGE, false, 0, "sparse_tensor", &sparse_message},
    {23, FIELD_MESSAGE, true, 0, "sparse_tensors", &sparse_message},
};
static const tort_wire_message attribute_message = TABLE(attribute_fields);

static const wire_field value_info_fields[] = {
    {1, FIELD_TEXT, false, 0, "name", NULL},
    {2, FIELD_MESSAGE, false, 0, "type", &type_message},
};
static const tort_wire_message value_info_message = TABLE(value_info_fields);

static const wire_field segment_fields[] = {
    {1, FIELD_INT, false, 0, "begin", NULL},
    {2, FIELD_INT, false, 0, "end", NULL},
};
static const tort_wire_message segment_message = TABLE(segment_fields);

static const wire_field tensor_fields[] = {
    {1, FIELD_INT, true, 0, "dims", NULL},
    {2, FIELD_INT, false, 0, "data_type", NULL},
    {3, FIELD_MESSAGE, false, 0, "segment", &segment_message},
    {4, FIELD_DATA, true, WIRE_FIXED32, "float_data", NULL},
    {5, FIELD_DATA, true, WIRE_VARINT, "int32_data", NULL},
    {6, FIELD_BYTES, true, 0, "string_data", NULL},
    {7, FIELD_DATA, true, WIRE_VARINT, "int64_data", NULL},
    {8, FIELD_TEXT, false, 0, "name", NULL},
    {9, FIELD_DATA, false, WIRE_LENGTH, "raw_data", NULL},
    {10, FIELD_DATA, true, WIRE_FIXED64, "double_data", NULL},
    {11, FIELD_DATA, true, WIRE_VARINT, "uint64_data", NULL},
    {13, FIELD_MESSAGE, true, 0, "external_data", &property_message},
    {14, FIELD_INT, false, 0, "data_location", NULL},
};
const tort_wire_message tort_wire_tensor = TABLE(tensor_fields);

static const wire_field sparse_fields[] = {
    {1, FIELD_MESSAGE, false, 0, "values", &tort_wire_tensor},
    {2, FIELD_MESSAGE, false, 0, "indices", &tort_wire_tensor},
    {3, FIELD_INT, true, 0, "dims", NULL},
};
static const tort_wire_message sparse_message = TABLE(sparse_fields);

static const wire_field dimension_fields[] = {
    {1, FIELD_INT, false, 0, "dim_value", NULL},
    {2, FIELD_TEXT, false, 0, "dim_param", NULL},
};
static const tort_wire_message dimension_message = TABLE(dimension_fields);

static const wire_field shape_fields[] = {{1, FIELD_MESSAGE, true, 0, "dim", &dimension_message}};
static const tort_wire_message shape_message = TABLE(shape_fields);

static const wire_field tensor_type_fields[] = {
    {1, FIELD_INT, false, 0, "elem_type", NULL},
    {2, FIELD_MESSAGE, false, 0, "shape", &shape_message},
};
static const tort_wire_message tensor_type_message = TABLE(tensor_type_fields);

static const wire_field sequence_fields[] = {{1, FIELD_MESSAGE, false, 0, "elem_type", &type_message}};
static const tort_wire_message sequence_message = TABLE(sequence_fields);

static const wire_field map_fields[] = {
    {1, FIELD_INT, false, 0, "key_type", NULL},
    {2, FIELD_MESSAGE, false, 0, "value_type", &type_message},
};
static const tort_wire_message map_message = TABLE(map_fields);

static const tort_wire_message opaque_message = {NULL, 0};

static const wire_field type_fields[] = {
    {1, FIELD_MESSAGE, false, 0, "tensor_type", &tensor_type_message},
    {4, FIELD_MESSAGE, false, 0, "sequence_type", &sequence_message},
    {5, FIELD_MESSAGE, false, 0, "map_type", &map_message},
    {7, FIELD_MESSAGE, false, 0, "opaque_type", &opaque_message},
    {8, FIELD_MESSAGE, false, 0, "sparse_tensor_type", &tensor_type_message},
    {9, FIELD_MESSAGE, false, 0, "optional_type", &sequence_message},
};
static const tort_wire_message type_message = TABLE(type_fields);
