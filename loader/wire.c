/* wire.c - see wire.h: a reader with a window, a writer of the slim copy, the pass, and data that lies scattered. */
#include "loader/wire.h"

#include <string.h>

#define WINDOW_SIZE ((size_t)1 << 16)
#define LEAST_WINDOW ((size_t)1 << 12)
#define DEEPEST_MESSAGE 100            /* as protobuf's own parsers */
#define LARGEST_SLIM ((size_t)1 << 30) /* so that its lengths and the counts of its fields fit into 31 bits */
#define MOST_NAMED 20                  /* fields within each other that an error names */

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

/* Behind a weight that was passed over little is read, for the next one may follow; who reads on gets more each time.
 */
static size_t next_window(const wire_pass *pass) {
    const uint64_t rest = tort_source_size(pass->source) - pass->position;
    size_t size = LEAST_WINDOW;
    if (pass->position == pass->window_start + pass->window_size && 2 * pass->window_size > size)
        size = 2 * pass->window_size < WINDOW_SIZE ? 2 * pass->window_size : WINDOW_SIZE;
    return rest < size ? (size_t)rest : size;
}

/* Makes the byte at `position`, which must be in the file, part of the window; returns how many follow in it. */
static tort_status look(wire_pass *pass, size_t *available) {
    if (pass->position < pass->window_start || pass->position - pass->window_start >= pass->window_size) {
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

/* How many bytes a field's contents take, whose tag has been read: of a varint itself, else of what follows here. */
static tort_status read_extent(wire_pass *pass, tort_wire_type type, uint64_t end, uint64_t *length) {
    if (type == TORT_WIRE_LENGTH) return read_length(pass, end, length);
    if (type == TORT_WIRE_VARINT) {
        uint64_t start = pass->position, value;
        tort_status status = read_varint(pass, end, &value);
        *length = pass->position - start;
        pass->position = start;
        return status;
    }
    *length = type == TORT_WIRE_FIXED32 ? 4 : 8;
    return *length <= end - pass->position ? TORT_OK : ends_in_number(pass);
}

static tort_status read_tag(wire_pass *pass, uint64_t end, uint32_t *number, tort_wire_type *type) {
    uint64_t tag, at = pass->position;
    tort_status status = read_varint(pass, end, &tag);
    if (status) return status;
    *number = (uint32_t)(tag >> 3);
    *type = (tort_wire_type)(tag & 7);
    bool known = *type == TORT_WIRE_VARINT || *type == TORT_WIRE_FIXED64 || *type == TORT_WIRE_LENGTH ||
                 *type == TORT_WIRE_FIXED32;
    if (tag > UINT32_MAX || *number == 0 || !known)
        return tort_fail(pass->error, TORT_E_MODEL,
                         "byte %llu: not a field of a protobuf message (tag %llu): is this an ONNX file?",
                         (unsigned long long)at, (unsigned long long)tag);
    return TORT_OK;
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

static tort_status write_bytes(wire_pass *pass, const void *bytes, size_t size) {
    tort_status status = reserve(pass, size);
    if (status) return status;
    memcpy(pass->slim->bytes + pass->slim->size, bytes, size);
    pass->slim->size += size;
    return TORT_OK;
}

static tort_status write_head(wire_pass *pass, uint32_t number, tort_slim_kind kind) {
    uint8_t head = (uint8_t)(number << 2 | kind);
    return write_bytes(pass, &head, 1);
}

static tort_status write_varint(wire_pass *pass, uint64_t value) {
    uint8_t bytes[10];
    return write_bytes(pass, bytes, tort_encode_varint(value, bytes));
}

/* Copies the next `length` bytes of the file. */
static tort_status copy(wire_pass *pass, uint64_t length) {
    if (length > LARGEST_SLIM) return reserve(pass, LARGEST_SLIM + 1);
    tort_status status = reserve(pass, (size_t)length);
    while (!status && length > 0) {
        size_t part;
        status = look(pass, &part);
        if (status) break;
        if (part > length) part = (size_t)length;
        memcpy(pass->slim->bytes + pass->slim->size, current(pass), part);
        pass->slim->size += part;
        pass->position += part;
        length -= part;
    }
    return status;
}

/* ---- data of tensors --------------------------------------------------------------------------------------------- */

/* What has been seen of a tensor's data. */
typedef struct data_note {
    const tort_wire_field *field; /* NULL: nothing yet */
    uint64_t tag, start, end;     /* of the first element the tag and the bytes; behind the last one */
    uint64_t length;
    bool scattered;
} data_note;

/* Passes over one piece of data, whose tag at `tag` has been read. */
static tort_status note_data(wire_pass *pass, const tort_wire_field *field, tort_wire_type type, uint64_t tag,
                             uint64_t end, data_note *note) {
    uint64_t length;
    tort_status status = read_extent(pass, type, end, &length);
    if (status) return status;
    uint64_t start = pass->position;
    pass->position += length;
    if (length == 0) return TORT_OK;
    if (note->field && note->field != field)
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: the data of the tensor is in %s and in %s",
                         (unsigned long long)tag, note->field->name, field->name);
    if (note->field)
        note->scattered = true;
    else
        *note = (data_note){.field = field, .tag = tag, .start = start};
    note->length += length; /* of parts of one file: no overflow */
    note->end = pass->position;
    return TORT_OK;
}

/* What every tensor gets beside its own fields. */
static tort_status write_tensor_fields(wire_pass *pass, const data_note *note) {
    tort_status status = write_head(pass, TORT_SLIM_NOTE, TORT_SLIM_FIXED32);
    if (!status) status = write_bytes(pass, "\0\0\0\0", 4);
    if (status || !note->field) return status;
    uint64_t numbers[] = {note->field->number, note->scattered ? note->tag : note->start, note->length,
                          note->scattered ? note->end - note->tag : 0};
    uint8_t bytes[4 * 10 + 1] = {0};
    size_t size = 0;
    for (int i = 0; i < 4; i++) size += tort_encode_varint(numbers[i], bytes + size);
    status = write_head(pass, TORT_SLIM_DATA, TORT_SLIM_TEXT);
    if (!status) status = write_varint(pass, size);
    return status ? status : write_bytes(pass, bytes, size + 1);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

/* Whether a field may come with this wire type: repeated numbers come packed or one by one. */
static bool type_fits(const tort_wire_field *field, tort_wire_type type) {
    switch (field->kind) {
    case TORT_FIELD_INT: return type == TORT_WIRE_VARINT || (field->repeated && type == TORT_WIRE_LENGTH);
    case TORT_FIELD_FLOAT: return type == TORT_WIRE_FIXED32 || (field->repeated && type == TORT_WIRE_LENGTH);
    case TORT_FIELD_DATA: return type == TORT_WIRE_LENGTH || type == field->single;
    default: return type == TORT_WIRE_LENGTH;
    }
}

static tort_status slim_message(wire_pass *pass, const tort_wire_message *message, uint64_t end, int depth);

/* The length stands before what it counts, so it is filled in afterwards. */
static tort_status slim_submessage(wire_pass *pass, const tort_wire_field *field, uint64_t length, int depth) {
    if (depth >= DEEPEST_MESSAGE)
        return tort_fail(pass->error, TORT_E_MODEL, "messages are nested more than %d deep", DEEPEST_MESSAGE);
    uint32_t size = 0;
    tort_status status = write_head(pass, field->number, TORT_SLIM_MESSAGE);
    if (!status) status = write_bytes(pass, &size, sizeof size);
    if (status) return status;
    size_t start = pass->slim->size;
    status = slim_message(pass, field->message, pass->position + length, depth + 1);
    size = (uint32_t)(pass->slim->size - start);
    memcpy(pass->slim->bytes + start - sizeof size, &size, sizeof size);
    return status;
}

/* Packed numbers are trusted once they are in the copy: none may go on behind the end, or take more than 10 bytes. */
static bool numbers_are_whole(tort_field_kind kind, const uint8_t *bytes, size_t size) {
    if (kind == TORT_FIELD_FLOAT) return size % sizeof(float) == 0;
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (++length > 10) return false;
        if (!(bytes[i] & 0x80)) length = 0;
    }
    return length == 0;
}

/* Text, bytes and packed numbers. */
static tort_status slim_text(wire_pass *pass, const tort_wire_field *field, uint64_t length) {
    uint64_t at = pass->position;
    tort_status status = write_head(pass, field->number, TORT_SLIM_TEXT);
    if (!status) status = write_varint(pass, length);
    size_t start = pass->slim->size;
    if (!status) status = copy(pass, length);
    if (!status) status = write_bytes(pass, "", 1);
    if (status) return status;
    const uint8_t *bytes = pass->slim->bytes + start;
    if (field->kind == TORT_FIELD_TEXT && memchr(bytes, 0, (size_t)length))
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: a name with a NUL character", (unsigned long long)at);
    bool numbers = field->kind == TORT_FIELD_INT || field->kind == TORT_FIELD_FLOAT;
    if (numbers && !numbers_are_whole(field->kind, bytes, (size_t)length))
        return tort_fail(pass->error, TORT_E_MODEL, "byte %llu: a packed list does not end with a number",
                         (unsigned long long)at);
    return TORT_OK;
}

/* A kept field whose tag has been read; not data. */
static tort_status slim_field(wire_pass *pass, const tort_wire_field *field, tort_wire_type type, uint64_t end,
                              int depth) {
    uint64_t value;
    tort_status status;
    if (type == TORT_WIRE_VARINT) {
        status = read_varint(pass, end, &value);
        if (!status) status = write_head(pass, field->number, TORT_SLIM_VARINT);
        return status ? status : write_varint(pass, value);
    }
    status = read_extent(pass, type, end, &value);
    if (status) return status;
    if (field->kind == TORT_FIELD_MESSAGE) return slim_submessage(pass, field, value, depth);
    if (type == TORT_WIRE_LENGTH) return slim_text(pass, field, value);
    status = write_head(pass, field->number, TORT_SLIM_FIXED32);
    return status ? status : copy(pass, value);
}

static tort_status skip_field(wire_pass *pass, tort_wire_type type, uint64_t end) {
    uint64_t length;
    tort_status status = read_extent(pass, type, end, &length);
    if (!status) pass->position += length;
    return status;
}

/* Which field is wrong; of messages that are nested deep the outer ones alone, else they fill the message. */
static void name_field(const wire_pass *pass, const tort_wire_field *field, int64_t index) {
    if (field->repeated)
        tort_error_prefix(pass->error, "%s %lld", field->name, (long long)index);
    else
        tort_error_prefix(pass->error, "%s", field->name);
}

static int32_t find_field(const tort_wire_message *message, uint32_t number) {
    for (int32_t i = 0; i < message->field_count; i++)
        if (message->fields[i].number == number) return i;
    return -1;
}

static tort_status slim_message(wire_pass *pass, const tort_wire_message *message, uint64_t end, int depth) {
    int64_t seen[TORT_MOST_FIELDS] = {0}; /* of every field, to say which one is wrong */
    data_note note = {0};
    while (pass->position < end) {
        uint32_t number;
        tort_wire_type type;
        uint64_t at = pass->position;
        tort_status status = read_tag(pass, end, &number, &type);
        if (status) return status;
        int32_t i = find_field(message, number);
        if (i < 0) {
            status = skip_field(pass, type, end);
            if (status) return status;
            continue;
        }
        const tort_wire_field *field = &message->fields[i];
        bool once = !field->repeated && (field->kind == TORT_FIELD_MESSAGE || field->kind == TORT_FIELD_DATA);
        if (!type_fits(field, type))
            status = tort_fail(pass->error, TORT_E_MODEL, "byte %llu: wire type %d is not that of the field",
                               (unsigned long long)at, (int)type);
        else if (once && seen[i] > 0)
            status = tort_fail(pass->error, TORT_E_MODEL,
                               "byte %llu: the field is there a second time; its pieces are not merged",
                               (unsigned long long)at);
        else if (field->kind == TORT_FIELD_DATA)
            status = note_data(pass, field, type, at, end, &note);
        else
            status = slim_field(pass, field, type, end, depth);
        if (status && depth <= MOST_NAMED) name_field(pass, field, seen[i]);
        if (status) return status;
        seen[i]++;
    }
    return message == &tort_wire_tensor ? write_tensor_fields(pass, &note) : TORT_OK;
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

static void end_pass(wire_pass *pass) {
    tort_free(pass->env, pass->storage, WINDOW_SIZE);
}

tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const tort_wire_message *root,
                           tort_slim *slim, tort_error *error) {
    *slim = (tort_slim){0};
    wire_pass pass = {.env = env, .source = source, .error = error, .slim = slim};
    tort_status status = begin_pass(&pass);
    if (!status) status = slim_message(&pass, root, tort_source_size(source), 1);
    end_pass(&pass);
    return status;
}

void tort_slim_free(const tort_env *env, tort_slim *slim) {
    tort_free(env, slim->bytes, slim->capacity);
    *slim = (tort_slim){0};
}

/* ---- reading data ------------------------------------------------------------------------------------------------ */

static tort_status sink_bytes(wire_pass *pass, uint64_t length, tort_data_sink sink, void *ud) {
    while (length > 0) {
        size_t part;
        tort_status status = look(pass, &part);
        if (part > length) part = (size_t)length;
        if (!status) status = sink(ud, current(pass), part, pass->error);
        if (status) return status;
        pass->position += part;
        length -= part;
    }
    return TORT_OK;
}

/* Walks the fields again, as slim_message did; `left` guards against a file that has changed since. */
static tort_status sink_scattered(wire_pass *pass, const tort_data *data, tort_data_sink sink, void *ud) {
    uint64_t end = data->offset + data->span, left = data->length;
    while (pass->position < end) {
        uint32_t number;
        tort_wire_type type;
        uint64_t length;
        tort_status status = read_tag(pass, end, &number, &type);
        if (!status) status = read_extent(pass, type, end, &length);
        if (status) return status;
        if (number != data->field) {
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

tort_status tort_wire_data(const tort_env *env, const tort_source *source, const tort_data *data, tort_data_sink sink,
                           void *ud, tort_error *error) {
    wire_pass pass = {.env = env, .source = source, .error = error, .position = data->offset};
    tort_status status = begin_pass(&pass);
    if (!status)
        status = data->span ? sink_scattered(&pass, data, sink, ud) : sink_bytes(&pass, data->length, sink, ud);
    end_pass(&pass);
    return status;
}
