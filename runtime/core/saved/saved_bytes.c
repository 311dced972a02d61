/* saved_bytes.c - converts numbers and texts of a saved plan to bytes, and back (saved_format.h).
 *
 * Reading never leaves the section, whatever its bytes say. The host must be little-endian, which the build asserts. */
#include <string.h>

#include "runtime/core/saved/saved_format.h"

const char *const tort_section_names[TORT_SECTION_COUNT] = {"DATA", "MADE", "FACT", "WGHT", "GRPH"};

/* ---- checksum ---------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

void tort_sum_add(tort_sum *sum, const void *bytes, size_t size) {
    const uint8_t *at = bytes, *end = at + size;
    while (at < end) {
        if (!sum->filled && end - at >= 8) {
            uint64_t word;
            memcpy(&word, at, sizeof word);
            sum->hash = mix(sum->hash, word);
            at += sizeof word;
            continue;
        }
        sum->word |= (uint64_t)*at++ << 8 * sum->filled++;
        if (sum->filled < 8) continue;
        sum->hash = mix(sum->hash, sum->word);
        sum->word = sum->filled = 0;
    }
}

uint64_t tort_sum_end(const tort_sum *sum) {
    return mix(mix(sum->hash, sum->word), sum->filled);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void tort_put(tort_saved_out *out, const void *bytes, size_t size) {
    if (out->failed || !size) return;
    out->failed = size > (size_t)(INT32_MAX - out->used) ||
                  !tort_grow(out->env, (void **)&out->bytes, &out->capacity, out->used + (int32_t)size, 1);
    if (out->failed) return;
    memcpy(out->bytes + out->used, bytes, size);
    out->used += (int32_t)size;
}

void tort_put_u8(tort_saved_out *out, uint32_t value) {
    const uint8_t byte = (uint8_t)value;
    tort_put(out, &byte, sizeof byte);
}

void tort_put_u32(tort_saved_out *out, uint32_t value) {
    tort_put(out, &value, sizeof value);
}

void tort_put_i32(tort_saved_out *out, int32_t value) {
    tort_put(out, &value, sizeof value);
}

void tort_put_u64(tort_saved_out *out, uint64_t value) {
    tort_put(out, &value, sizeof value);
}

void tort_put_i64(tort_saved_out *out, int64_t value) {
    tort_put(out, &value, sizeof value);
}

void tort_put_string(tort_saved_out *out, tort_string string) {
    if (string.length > UINT32_MAX) out->failed = true;
    tort_put_u32(out, (uint32_t)string.length);
    tort_put(out, string.data, string.length);
    tort_put_u8(out, 0);
}

void tort_put_text(tort_saved_out *out, const char *text) {
    tort_put_string(out, (tort_string){text ? text : "", text ? strlen(text) : 0});
}

void tort_put_indices(tort_saved_out *out, const int32_t *list, int32_t count) {
    tort_put_i32(out, count);
    for (int32_t i = 0; i < count; i++) tort_put_i32(out, list[i]);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void tort_get(tort_saved_in *in, void *out, size_t size) {
    memset(out, 0, size);
    if (in->bad || (size_t)(in->end - in->at) < size) {
        in->bad = true;
        return;
    }
    memcpy(out, in->at, size);
    in->at += size;
}

uint32_t tort_get_u8(tort_saved_in *in) {
    uint8_t value;
    tort_get(in, &value, sizeof value);
    return value;
}

uint32_t tort_get_u32(tort_saved_in *in) {
    uint32_t value;
    tort_get(in, &value, sizeof value);
    return value;
}

int32_t tort_get_i32(tort_saved_in *in) {
    int32_t value;
    tort_get(in, &value, sizeof value);
    return value;
}

uint64_t tort_get_u64(tort_saved_in *in) {
    uint64_t value;
    tort_get(in, &value, sizeof value);
    return value;
}

int64_t tort_get_i64(tort_saved_in *in) {
    int64_t value;
    tort_get(in, &value, sizeof value);
    return value;
}

tort_string tort_get_string(tort_saved_in *in) {
    const uint32_t length = tort_get_u32(in);
    if (in->bad || (size_t)(in->end - in->at) <= length || in->at[length]) {
        in->bad = true;
        return (tort_string){"", 0};
    }
    const tort_string string = {(const char *)in->at, length};
    in->at += (size_t)length + 1;
    return string;
}

const char *tort_get_text(tort_saved_in *in) {
    const tort_string string = tort_get_string(in);
    if (strlen(string.data) == string.length) return string.data;
    in->bad = true;
    return "";
}

int32_t tort_get_count(tort_saved_in *in, size_t min) {
    const int32_t count = tort_get_i32(in);
    if (count >= 0 && (size_t)count <= (size_t)(in->end - in->at) / min) return count;
    in->bad = true;
    return 0;
}

int32_t tort_get_within(tort_saved_in *in, int32_t first, int32_t last) {
    const int32_t value = tort_get_i32(in);
    if (!in->bad && value >= first && value <= last) return value;
    in->bad = true;
    return first;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

tort_status tort_saved_damaged(tort_error *error, const char *what) {
    return tort_fail(error, TORT_E_MODEL,
                     "the saved plan is damaged: %s; make it again with tinyort plan MODEL -o FILE", what);
}
