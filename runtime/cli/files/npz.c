/* npz.c - reads a zip archive through its directory at the end: stored and deflated entries, each an .npy.
 *
 * The file is untrusted: every offset and size is checked against its length before it is used. Archives beyond 1 GiB,
 * zip64 among them, are refused with a message that says so. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "runtime/cli/files/npy.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/files/npz.h"
#include "runtime/core/base/memory.h"

#define MAX_ARCHIVE_BYTES ((size_t)1 << 30) /* of the file, and of all entries together when they are unpacked */

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, LONGEST_COMMENT = 65535 };

static uint32_t number(const uint8_t *p, int bytes) {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

/* An entry of the archive's directory. */
typedef struct entry {
    uint32_t method, packed, size, offset;
    const char *name;
    size_t name_length;
} entry;

static const uint8_t *find_end(const uint8_t *bytes, size_t size) {
    if (size < END_SIZE) return NULL;
    for (size_t back = END_SIZE; back <= size && back <= END_SIZE + LONGEST_COMMENT; back++)
        if (number(bytes + size - back, 4) == 0x06054b50) return bytes + size - back;
    return NULL;
}

static bool read_entry(const uint8_t *bytes, size_t size, size_t *at, entry *out) {
    if (*at > size || size - *at < ENTRY_SIZE || number(bytes + *at, 4) != 0x02014b50) return false;
    const uint8_t *p = bytes + *at;
    size_t name = number(p + 28, 2), rest = number(p + 30, 2) + number(p + 32, 2);
    if (size - *at - ENTRY_SIZE < name + rest) return false;
    *out = (entry){
        number(p + 10, 2), number(p + 20, 4), number(p + 24, 4), number(p + 42, 4), (const char *)p + ENTRY_SIZE, name};
    *at += ENTRY_SIZE + name + rest;
    return true;
}

/* The packed bytes of an entry. A local header precedes them, whose lengths may differ from the directory's. */
static const uint8_t *entry_bytes(const uint8_t *bytes, size_t size, const entry *e) {
    if (e->offset > size || size - e->offset < LOCAL_SIZE || number(bytes + e->offset, 4) != 0x04034b50) return NULL;
    size_t start = e->offset + LOCAL_SIZE + number(bytes + e->offset + 26, 2) + number(bytes + e->offset + 28, 2);
    return start <= size && size - start >= e->packed ? bytes + start : NULL;
}

static bool inflate_entry(const uint8_t *packed, const entry *e, uint8_t *out) {
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)packed, .avail_in = e->packed, .next_out = out, .avail_out = e->size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    int result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return result == Z_STREAM_END && stream.total_out == e->size;
}

/* Unpacks an entry; *owned is memory that the caller frees, NULL if the entry is stored. */
static tort_status unpack_entry(const uint8_t *bytes, size_t size, const entry *e, const uint8_t **data,
                                uint8_t **owned, tort_error *error) {
    *owned = NULL;
    *data = entry_bytes(bytes, size, e);
    if (!*data) return tort_fail(error, TORT_E_INPUT, "lies outside the file");
    if (e->method == 0 && e->packed == e->size) return TORT_OK;
    /* deflate shrinks by a factor of 1032 at most: a larger size is a lie that would cost memory */
    if (e->method != 8 || e->size / 1040 > e->packed)
        return tort_fail(error, TORT_E_INPUT, "is not packed as NumPy does");
    *owned = cli_alloc(e->size, 1);
    if (!inflate_entry(*data, e, *owned)) return tort_fail(error, TORT_E_INPUT, "is damaged");
    *data = *owned;
    return TORT_OK;
}

static tort_status decode_entry(const char *path, const uint8_t *bytes, size_t size, const entry *e,
                                tort_tensor *tensor, tort_error *error) {
    tort_env env = tort_env_complete(NULL);
    const uint8_t *data = NULL;
    uint8_t *owned;
    tort_status status = unpack_entry(bytes, size, e, &data, &owned, error);
    if (!status) status = tort_tensor_npy_decode(&env, data, e->size, tensor, error);
    if (status) tort_error_prefix(error, "%s: '%.*s'", path, (int)e->name_length, e->name);
    free(owned);
    return status;
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Refuses entries that share bytes of the file, as many small entries could then unpack to far more than it has. */
static tort_status check_overlaps(const char *path, const entry *entries, uint32_t count, tort_error *error) {
    entry *sorted = cli_alloc(count, sizeof *sorted);
    uint64_t end = 0;
    bool apart = true;
    if (count) memcpy(sorted, entries, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_offset);
    for (uint32_t i = 0; i < count; i++) {
        apart = apart && sorted[i].offset >= end;
        end = (uint64_t)sorted[i].offset + LOCAL_SIZE + sorted[i].packed;
    }
    free(sorted);
    return apart ? TORT_OK : tort_fail(error, TORT_E_INPUT, "%s: entries of the archive overlap", path);
}

/* Reads the archive's directory, and checks it as a whole before anything is unpacked. The caller frees *entries. */
static tort_status read_directory(const char *path, const uint8_t *bytes, size_t size, entry **entries, uint32_t *count,
                                  tort_error *error) {
    const uint8_t *end = find_end(bytes, size);
    if (!end) return tort_fail(error, TORT_E_INPUT, "%s is not an .npz archive", path);
    *count = number(end + 10, 2);
    *entries = cli_alloc(*count, sizeof **entries);
    size_t at = number(end + 16, 4);
    uint64_t unpacked = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (!read_entry(bytes, size, &at, &(*entries)[i]))
            return tort_fail(error, TORT_E_INPUT, "%s: the archive's directory is damaged", path);
        unpacked += (*entries)[i].size;
    }
    if (unpacked > MAX_ARCHIVE_BYTES)
        return tort_fail(error, TORT_E_INPUT,
                         "%s: unpacked it has %llu bytes, and at most %zu are read; save it as .npy", path,
                         (unsigned long long)unpacked, MAX_ARCHIVE_BYTES);
    return check_overlaps(path, *entries, *count, error);
}

static tort_status read_arrays(const char *path, const uint8_t *bytes, size_t size, cli_npz *npz, tort_error *error) {
    entry *entries = NULL;
    uint32_t count = 0;
    tort_status status = read_directory(path, bytes, size, &entries, &count, error);
    npz->arrays = cli_alloc(count, sizeof *npz->arrays);
    for (uint32_t i = 0; !status && i < count; i++) {
        const entry *e = &entries[i];
        size_t length = e->name_length;
        if (length > 4 && !memcmp(e->name + length - 4, ".npy", 4)) length -= 4;
        cli_npz_array *array = &npz->arrays[npz->count];
        status = decode_entry(path, bytes, size, e, &array->tensor, error);
        if (status) break;
        array->name = cli_copy_text(e->name, length);
        npz->count++;
    }
    free(entries);
    return status;
}

tort_status cli_npz_read(const char *path, cli_npz *npz, tort_error *error) {
    *npz = (cli_npz){0};
    uint8_t *bytes;
    size_t size;
    tort_status status = cli_read_file(path, MAX_ARCHIVE_BYTES, &bytes, &size, error);
    if (!status) status = read_arrays(path, bytes, size, npz, error);
    free(bytes);
    return status;
}

void cli_npz_free(cli_npz *npz) {
    tort_env env = tort_env_complete(NULL);
    for (int32_t i = 0; i < npz->count; i++) {
        free(npz->arrays[i].name);
        tort_tensor_file_free(&env, &npz->arrays[i].tensor);
    }
    free(npz->arrays);
}
