/* npy.c - NumPy's .npy format, versions 1 to 3: a Python dictionary with type, order and shape, then the elements.
 *
 * Reads bool, integers, floats and complex numbers of either byte order, either storage order, bytes and Unicode text.
 * Writes little-endian and row-major; types that NumPy lacks as the unsigned integers that hold their bits. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/files/npy.h"
#include "runtime/core/base/memory.h"
#include "runtime/core/base/utf8.h"

#define MAGIC_SIZE 6
#define HEADER_SIZE 10 /* magic number, version, 16-bit length of a header of version 1 */

typedef struct npy_header {
    char kind;    /* 'f', 'i', 'u', 'b', 'c', 'S', 'U' */
    size_t width; /* of an element, in bytes; of 'U' in characters */
    bool swapped; /* big-endian */
    bool fortran; /* the first axis runs fastest */
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    size_t data; /* offset of the elements */
} npy_header;

static const struct {
    char kind;
    size_t width;
    tort_type type;
} number_types[] = {
    {'f', 4, TORT_FLOAT},     {'f', 8, TORT_DOUBLE},      {'f', 2, TORT_FLOAT16}, {'i', 8, TORT_INT64},
    {'i', 4, TORT_INT32},     {'i', 2, TORT_INT16},       {'i', 1, TORT_INT8},    {'u', 8, TORT_UINT64},
    {'u', 4, TORT_UINT32},    {'u', 2, TORT_UINT16},      {'u', 1, TORT_UINT8},   {'b', 1, TORT_BOOL},
    {'c', 8, TORT_COMPLEX64}, {'c', 16, TORT_COMPLEX128}, {'S', 0, TORT_STRING},  {'U', 0, TORT_STRING},
};

/* ---- the header ------------------------------------------------------------------------------------------------- */

static tort_status bad_header(tort_error *error, const char *what) {
    return tort_fail(error, TORT_E_INPUT, "not a readable .npy file: %s", what);
}

/* The text after 'key': in the dictionary; NULL if the key is missing. `text` is 0-terminated. */
static const char *value_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, " :");
}

static bool read_number(const char **at, int64_t *number) {
    if (**at < '0' || **at > '9') return false;
    for (*number = 0; **at >= '0' && **at <= '9'; (*at)++)
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, **at - '0', number))
            return false;
    return true;
}

static tort_status read_type(const char *at, npy_header *header, tort_error *error) {
    int64_t width = 0;
    if (!at || (*at != '\'' && *at != '"'))
        return tort_fail(error, TORT_E_UNSUPPORTED, "an .npy file of a structured type");
    at++;
    if (*at && strchr("<>|=", *at)) header->swapped = *at++ == '>';
    if (!*at) return bad_header(error, "its descr does not end");
    header->kind = *at++;
    if (header->kind == '?') {
        header->kind = 'b';
        width = 1;
    } else if (header->kind == 'O' || header->kind == 'V' || header->kind == 'M' || header->kind == 'm') {
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "an .npy file of type %c (objects, raw bytes or times); save it with a plain number type, or "
                         "as .pb",
                         header->kind);
    } else if (!read_number(&at, &width)) {
        return bad_header(error, "its descr has no size");
    }
    header->width = (size_t)width;
    return *at == '\'' || *at == '"' ? TORT_OK : bad_header(error, "its descr is unknown");
}

static tort_status read_shape(const char *at, npy_header *header, tort_error *error) {
    if (!at || *at++ != '(') return bad_header(error, "it has no shape");
    for (;;) {
        int64_t dim;
        at += strspn(at, " ,");
        if (*at == ')') return TORT_OK;
        if (!read_number(&at, &dim)) return bad_header(error, "its shape is not a tuple of sizes");
        if (header->rank == TORT_MAX_RANK)
            return tort_fail(error, TORT_E_UNSUPPORTED, "a tensor of rank above %d", TORT_MAX_RANK);
        header->dims[header->rank++] = dim;
    }
}

static tort_status read_dictionary(const char *text, npy_header *header, tort_error *error) {
    const char *order = value_of(text, "'fortran_order'");
    if (!order) return bad_header(error, "it has no fortran_order");
    header->fortran = *order == 'T';
    tort_status status = read_type(value_of(text, "'descr'"), header, error);
    return status ? status : read_shape(value_of(text, "'shape'"), header, error);
}

static tort_status read_header(const tort_env *env, const uint8_t *bytes, size_t size, npy_header *header,
                               tort_error *error) {
    *header = (npy_header){0};
    if (size < HEADER_SIZE + 2 || memcmp(bytes, TORT_NPY_MAGIC, MAGIC_SIZE) != 0)
        return bad_header(error, "it has no magic number");
    size_t start = bytes[6] == 1 ? HEADER_SIZE : HEADER_SIZE + 2;
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] != 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (bytes[6] < 1 || bytes[6] > 3) return bad_header(error, "its version is unknown");
    if (length > size - start) return bad_header(error, "it ends within its header");
    char *text = tort_alloc(env, length + 1);
    if (!text) return tort_out_of_memory(error, length + 1);
    memcpy(text, bytes + start, length);
    text[length] = 0;
    header->data = start + length;
    tort_status status = read_dictionary(text, header, error);
    tort_free(env, text, length + 1);
    return status;
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

static tort_type type_of(const npy_header *header) {
    for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++)
        if (number_types[i].kind == header->kind &&
            (number_types[i].width == header->width || number_types[i].type == TORT_STRING))
            return number_types[i].type;
    return TORT_UNDEFINED;
}

/* Position in the file of the element that is number i in row-major order. */
static int64_t place_of(const npy_header *header, int64_t i) {
    if (!header->fortran) return i;
    int64_t place = 0, total = 1;
    for (int32_t d = 0; d < header->rank; d++) total *= header->dims[d];
    for (int32_t d = header->rank - 1; d >= 0; d--) {
        total /= header->dims[d];
        place += i % header->dims[d] * total;
        i /= header->dims[d];
    }
    return place;
}

static void reverse_bytes(uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size / 2; i++) {
        uint8_t other = bytes[size - 1 - i];
        bytes[size - 1 - i] = bytes[i];
        bytes[i] = other;
    }
}

static void copy_numbers(const npy_header *header, const uint8_t *from, int64_t count, uint8_t *to) {
    size_t width = header->width, part = header->kind == 'c' ? width / 2 : width;
    if (!header->fortran && !header->swapped) {
        if (count) memcpy(to, from, (size_t)count * width);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint8_t *element = to + (size_t)i * width;
        memcpy(element, from + (size_t)place_of(header, i) * width, width);
        for (size_t p = 0; header->swapped && p < width; p += part) reverse_bytes(element + p, part);
    }
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> length & 0xff) | code);
    return length;
}

static uint32_t character(const npy_header *header, const uint8_t *at) {
    uint8_t bytes[4];
    uint32_t code;
    if (header->kind == 'S') return *at;
    memcpy(bytes, at, sizeof bytes);
    if (header->swapped) reverse_bytes(bytes, sizeof bytes);
    memcpy(&code, bytes, sizeof code);
    return code > 0x10ffff ? 0xfffd : code;
}

/* Copies a text without its NUL padding: bytes as they are, Unicode as UTF-8. Returns the length. */
static size_t copy_text(const npy_header *header, const uint8_t *from, char *to) {
    size_t step = header->kind == 'U' ? 4 : 1, length = header->width, out = 0;
    while (length > 0 && character(header, from + (length - 1) * step) == 0) length--;
    for (size_t i = 0; i < length; i++) {
        uint32_t code = character(header, from + i * step);
        if (header->kind == 'S')
            to[out++] = (char)code;
        else
            out += put_utf8(code, to + out);
    }
    return out;
}

static void copy_texts(const npy_header *header, const uint8_t *from, int64_t count, tort_string *strings) {
    size_t bytes = header->width * (header->kind == 'U' ? 4 : 1);
    char *text = (char *)(strings + count);
    for (int64_t i = 0; i < count; i++) {
        strings[i].data = text;
        strings[i].length = copy_text(header, from + (size_t)place_of(header, i) * bytes, text);
        text += strings[i].length;
    }
}

/* ---- decode ----------------------------------------------------------------------------------------------------- */

tort_status tort_tensor_npy_decode(const tort_env *env, const void *bytes, size_t size, tort_tensor *tensor,
                                   tort_error *error) {
    tort_env complete = tort_env_complete(env);
    npy_header header;
    *tensor = (tort_tensor){0};
    tort_status status = read_header(&complete, bytes, size, &header, error);
    if (status) return status;
    tort_tensor found = {.type = type_of(&header), .rank = header.rank};
    memcpy(found.dims, header.dims, sizeof found.dims);
    if (!found.type)
        return tort_fail(error, TORT_E_UNSUPPORTED, "an .npy file of type %c%zu", header.kind, header.width);
    int64_t count;
    size_t width = header.width, need;
    if (!tort_tensor_count(&found, &count) || (header.kind == 'U' && !tort_mul_size(width, 4, &width)) ||
        !tort_mul_size(width, (uint64_t)count, &need) || need > size - header.data)
        return tort_fail(error, TORT_E_INPUT, "the .npy file has %zu bytes of elements; its shape asks for more",
                         size - header.data);
    bool is_text = found.type == TORT_STRING;
    if (is_text && width == 0 && (uint64_t)count > size) /* empty strings take memory, but no bytes of the file */
        return tort_fail(error, TORT_E_INPUT, "a file of %zu bytes with %lld empty strings", size, (long long)count);
    status = tort_tensor_file_alloc(&complete, &found, is_text ? need : 0, error);
    if (status) return status;
    const uint8_t *elements = (const uint8_t *)bytes + header.data;
    if (is_text)
        copy_texts(&header, elements, count, found.data);
    else
        copy_numbers(&header, elements, count, found.data);
    *tensor = found;
    return TORT_OK;
}

/* ---- write ------------------------------------------------------------------------------------------------------ */

/* Number of characters of a string; -1 if it is not UTF-8. */
static int64_t characters_of(const tort_string *string) {
    int64_t characters = 0;
    for (size_t at = 0, length; at < string->length; at += length, characters++) {
        uint32_t code;
        length = tort_utf8_decode(string->data + at, string->length - at, &code);
        if (!length) return -1;
    }
    return characters;
}

/* Finds the length in characters of the longest string, at least 1, as NumPy does; false if a string is not UTF-8. */
static bool longest_text(const tort_string *strings, int64_t count, size_t *longest) {
    *longest = 1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t characters = characters_of(&strings[i]);
        if (characters < 0) return false;
        if ((size_t)characters > *longest) *longest = (size_t)characters;
    }
    return true;
}

static void describe(const tort_tensor *tensor, int64_t count, npy_header *header) {
    int bits = tort_type_bits(tensor->type);
    *header = (npy_header){.kind = 'u', .width = bits < 8 ? 1 : (size_t)bits / 8};
    for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++)
        if (number_types[i].type == tensor->type) header->kind = number_types[i].kind;
    if (tensor->type != TORT_STRING) return;
    const tort_string *strings = tensor->data;
    header->kind = 'U';
    if (longest_text(strings, count, &header->width)) return;
    header->kind = 'S';
    for (int64_t i = 0; i < count; i++)
        if (strings[i].length > header->width) header->width = strings[i].length;
}

static bool write_header(FILE *file, const tort_tensor *tensor, const npy_header *header) {
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                                   header->width == 1 && header->kind != 'U' ? '|' : '<', header->kind, header->width);
    for (int32_t d = 0; d < tensor->rank; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%lld, ", (long long)tensor->dims[d]);
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    size_t padded = (HEADER_SIZE + used + 1 + 63) / 64 * 64 - HEADER_SIZE;
    memset(text + used, ' ', padded - used - 1);
    text[padded - 1] = '\n';
    uint8_t start[HEADER_SIZE] = TORT_NPY_MAGIC;
    start[6] = 1;
    start[7] = 0;
    start[8] = (uint8_t)(padded & 0xff);
    start[9] = (uint8_t)(padded >> 8);
    return fwrite(start, 1, sizeof start, file) == sizeof start && fwrite(text, 1, padded, file) == padded;
}

/* Writes elements of less than 8 bits, one per byte. */
static bool write_unpacked(FILE *file, const uint8_t *data, int64_t count, unsigned bits) {
    for (int64_t i = 0; i < count; i++) {
        int value = 0;
        for (unsigned b = 0; b < bits; b++) {
            uint64_t at = (uint64_t)i * bits + b;
            value |= (data[at / 8] >> at % 8 & 1) << b;
        }
        if (putc(value, file) == EOF) return false;
    }
    return true;
}

static bool write_padding(FILE *file, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (putc(0, file) == EOF) return false;
    return true;
}

static bool write_texts(FILE *file, const tort_string *strings, int64_t count, const npy_header *header) {
    for (int64_t i = 0; i < count; i++) {
        const tort_string *string = &strings[i];
        size_t characters = string->length;
        if (header->kind == 'S') {
            if (fwrite(string->data, 1, string->length, file) != string->length) return false;
        } else {
            characters = 0;
            for (size_t at = 0; at < string->length; characters++) {
                uint32_t code;
                at += tort_utf8_decode(string->data + at, string->length - at, &code);
                if (fwrite(&code, sizeof code, 1, file) != 1) return false;
            }
        }
        if (!write_padding(file, (header->width - characters) * (header->kind == 'U' ? 4 : 1))) return false;
    }
    return true;
}

tort_type tort_npy_bits_type(tort_type type) {
    for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++)
        if (number_types[i].type == type) return TORT_UNDEFINED;
    return type == TORT_BFLOAT16 ? TORT_UINT16 : TORT_UINT8;
}

uint64_t tort_npy_padding(const tort_tensor *tensor) {
    int64_t count;
    npy_header header;
    uint64_t size, used = 0;
    if (tensor->type != TORT_STRING || !tort_tensor_count(tensor, &count)) return 0;
    describe(tensor, count, &header);
    const tort_string *strings = tensor->data;
    const size_t unit = header.kind == 'U' ? 4 : 1;
    for (int64_t i = 0; i < count; i++)
        used += unit * (header.kind == 'U' ? (uint64_t)characters_of(&strings[i]) : strings[i].length);
    if (__builtin_mul_overflow(header.width * unit, (uint64_t)count, &size)) return UINT64_MAX;
    return size - used;
}

bool tort_npy_write(FILE *file, const tort_tensor *tensor) {
    int64_t count;
    size_t bytes;
    npy_header header;
    if (!tort_tensor_count(tensor, &count) || !tort_tensor_bytes(tensor, &bytes)) return false;
    describe(tensor, count, &header);
    if (!write_header(file, tensor, &header)) return false;
    if (tensor->type == TORT_STRING) return write_texts(file, tensor->data, count, &header);
    int bits = tort_type_bits(tensor->type);
    if (bits < 8) return write_unpacked(file, tensor->data, count, (unsigned)bits);
    return bytes == 0 || fwrite(tensor->data, 1, bytes, file) == bytes;
}
