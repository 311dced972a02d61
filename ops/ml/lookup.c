/* lookup.c - see lookup.h: open addressing, at most half full. */
#include "ops/ml/lookup.h"

#include "ops/numeric.h"
#include "runtime/core/base/hash.h"

#include <math.h>
#include <string.h>

static uint64_t slot_count(int64_t keys) {
    uint64_t slots = 2;
    while (slots < 2 * (uint64_t)keys) slots *= 2;
    return slots;
}

size_t tort_lookup_bytes(int64_t count) {
    return (size_t)slot_count(count) * sizeof(int32_t);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* The bits of a number, equal exactly for equal numbers: NaN has one pattern, -0 becomes 0. */
static uint64_t code_of(tort_type type, const void *data, int64_t i) {
    uint64_t code = 0;
    if (tort_type_is_float(type)) {
        double number;
        tort_load_doubles(type, data, i, 1, &number);
        if (isnan(number)) number = (double)NAN;
        number += 0.0; /* -0 becomes +0 */
        memcpy(&code, &number, sizeof code);
    } else {
        int64_t number;
        tort_load_integers(type, data, i, 1, &number);
        memcpy(&code, &number, sizeof code);
    }
    return code;
}

static bool same_text(tort_string a, tort_string b) {
    return a.length == b.length && (a.length == 0 || !memcmp(a.data, b.data, a.length));
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* The slot of a key, or the free slot for it. */
static uint64_t slot_of_code(const tort_lookup *lookup, uint64_t code) {
    const void *keys = tort_list_at(lookup->params, lookup->keys);
    uint64_t slot = tort_hash_word(lookup->hash_key, code) & lookup->mask;
    while (lookup->slots[slot] >= 0 && code_of(lookup->type, keys, lookup->slots[slot]) != code)
        slot = (slot + 1) & lookup->mask;
    return slot;
}

static uint64_t slot_of_text(const tort_lookup *lookup, tort_string text) {
    uint64_t slot = tort_hash(lookup->hash_key, text.data, text.length) & lookup->mask;
    while (lookup->slots[slot] >= 0 &&
           !same_text(tort_list_string(lookup->params, lookup->keys, lookup->slots[slot]), text))
        slot = (slot + 1) & lookup->mask;
    return slot;
}

tort_lookup tort_lookup_build(const tort_call *call, tort_list keys, tort_type type, bool first, void *scratch) {
    const uint64_t slots = slot_count(keys.count);
    const void *params = call->params;
    tort_lookup lookup = {call->env->hash_key, params, keys, type, scratch, slots - 1};
    for (uint64_t i = 0; i < slots; i++) {
        lookup.slots[i] = -1;
        if (tort_row_goes_on(call->watch, (int64_t)i)) continue;
        lookup.mask = 0; /* the only slot is free: nothing is found */
        lookup.slots[0] = -1;
        return lookup;
    }
    for (int64_t i = 0; i < keys.count && tort_row_goes_on(call->watch, i); i++) {
        const uint64_t slot = type == TORT_STRING ? slot_of_text(&lookup, tort_list_string(params, keys, i))
                                                  : slot_of_code(&lookup, code_of(type, tort_list_at(params, keys), i));
        if (lookup.slots[slot] < 0 || !first) lookup.slots[slot] = (int32_t)i;
    }
    return lookup;
}

int64_t tort_lookup_text(const tort_lookup *lookup, tort_string text) {
    return lookup->slots[slot_of_text(lookup, text)];
}

int64_t tort_lookup_integer(const tort_lookup *lookup, int64_t number) {
    return lookup->slots[slot_of_code(lookup, code_of(TORT_INT64, &number, 0))];
}

int64_t tort_lookup_element(const tort_lookup *lookup, const void *data, int64_t i) {
    if (lookup->type == TORT_STRING) return tort_lookup_text(lookup, ((const tort_string *)data)[i]);
    return lookup->slots[slot_of_code(lookup, code_of(lookup->type, data, i))];
}
