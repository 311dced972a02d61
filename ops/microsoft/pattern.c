/* pattern.c - see pattern.h. All matches are followed at once, a bit an atom, so that no pattern takes exponential
 * time.
 */
#include "ops/microsoft/pattern.h"

#include <string.h>

enum { NO_CHARACTER = 0x110000 };

size_t tort_character(tort_string text, uint32_t *code) {
    const unsigned char *c = (const unsigned char *)text.data;
    const size_t length = c[0] < 0x80 ? 1 : c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : c[0] >= 0xC2 ? 2 : 0;
    *code = length == 1 ? c[0] : NO_CHARACTER;
    if (length < 2 || length > text.length || c[0] > 0xF4) return 1;
    uint32_t number = c[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xC0) != 0x80) return 1;
        number = number << 6 | (c[i] & 0x3Fu);
    }
    *code = number;
    return length;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    tort_string rest;
    tort_pattern_text *pattern;
    bool ok;
} reader;

static uint32_t take(reader *r) {
    uint32_t code = 0;
    if (r->rest.length == 0) {
        r->ok = false;
        return 0;
    }
    const size_t length = tort_character(r->rest, &code);
    r->rest.data += length;
    r->rest.length -= length;
    return code;
}

static bool next_is(const reader *r, char c) {
    return r->rest.length && r->rest.data[0] == c;
}

static void add_range(reader *r, tort_atom *atom, uint32_t low, uint32_t high) {
    if (r->pattern->ranges == TORT_MOST_RANGES || low > high) {
        r->ok = false;
        return;
    }
    r->pattern->range[r->pattern->ranges].low = low;
    r->pattern->range[r->pattern->ranges++].high = high;
    atom->count++;
}

/* \w, \d, \s, and what is a character behind a backslash. `inside` brackets no class can be negated. */
static uint32_t read_escape(reader *r, tort_atom *atom, bool inside) {
    static const char *const classes[] = {"w09azAZ__", "d09", "s\t\n\f\r  "};
    const uint32_t code = take(r);
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
        const uint32_t small = (uint32_t)classes[k][0], capital = small - 'a' + 'A';
        if (code != small && code != capital) continue;
        for (const char *p = classes[k] + 1; *p; p += 2) add_range(r, atom, (uint32_t)p[0], (uint32_t)p[1]);
        atom->negated = code == capital;
        if (atom->negated && inside) r->ok = false;
        return NO_CHARACTER;
    }
    const bool letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
    if (!letter) return code;
    r->ok = r->ok && (code == 'n' || code == 't' || code == 'r');
    return code == 'n' ? '\n' : code == 't' ? '\t' : '\r';
}

/* One character or escape of a class; NO_CHARACTER: an escape that added its ranges. */
static uint32_t read_member(reader *r, tort_atom *atom) {
    const uint32_t code = take(r);
    if (code == '[' && next_is(r, ':')) r->ok = false;
    return code == '\\' ? read_escape(r, atom, true) : code;
}

static void read_class(reader *r, tort_atom *atom) {
    const bool negated = next_is(r, '^');
    if (negated) take(r);
    for (bool first = true; r->ok && (first || !next_is(r, ']')); first = false) {
        const uint32_t low = read_member(r, atom);
        uint32_t high = low;
        if (low == NO_CHARACTER) continue;
        if (next_is(r, '-') && r->rest.length > 1 && r->rest.data[1] != ']') {
            take(r);
            high = read_member(r, atom);
            if (high == NO_CHARACTER) r->ok = false;
        }
        add_range(r, atom, low, high);
    }
    take(r); /* ] */
    atom->negated = negated;
}

static void read_atom(reader *r, tort_atom *atom) {
    *atom = (tort_atom){.first = (uint8_t)r->pattern->ranges};
    const uint32_t code = take(r);
    if (code == '[') {
        read_class(r, atom);
    } else if (code == '.') {
        add_range(r, atom, '\n', '\n');
        atom->negated = true;
    } else if (code == '\\') {
        const uint32_t character = read_escape(r, atom, false);
        if (character != NO_CHARACTER) add_range(r, atom, character, character);
    } else if (code < 0x80 && code && strchr("()|^$*+?{", (int)code)) {
        r->ok = false;
    } else
        add_range(r, atom, code, code);
}

static void push(reader *r, tort_atom atom, bool repeats, bool optional) {
    atom.repeats = repeats;
    atom.optional = optional;
    if (r->pattern->atoms == TORT_MOST_ATOMS)
        r->ok = false;
    else
        r->pattern->atom[r->pattern->atoms++] = atom;
}

/* The number at the start of what is left; more than there is room for is as good as any such number. */
static int32_t read_number(reader *r) {
    int32_t number = 0;
    if (r->rest.length == 0 || r->rest.data[0] < '0' || r->rest.data[0] > '9') r->ok = false;
    while (r->rest.length && r->rest.data[0] >= '0' && r->rest.data[0] <= '9') {
        const int32_t digit = (int32_t)take(r) - '0';
        number = number > TORT_MOST_ATOMS ? number : 10 * number + digit;
    }
    return number;
}

/* {m}, {m,} and {m,n} behind the bracket. *most -1: any number. */
static void read_counts(reader *r, int32_t *least, int32_t *most) {
    *least = *most = read_number(r);
    if (next_is(r, ',')) {
        take(r);
        *most = next_is(r, '}') ? -1 : read_number(r);
    }
    if (take(r) != '}' || (*most >= 0 && *most < *least)) r->ok = false;
}

static void read_repeated(reader *r) {
    int32_t least = 1, most = 1;
    tort_atom atom;
    read_atom(r, &atom);
    if (r->ok && r->rest.length && strchr("*+?{", r->rest.data[0]) && r->rest.data[0]) {
        const uint32_t mark = take(r);
        least = mark == '+';
        most = mark == '?' ? 1 : -1;
        if (mark == '{') read_counts(r, &least, &most);
        if (next_is(r, '?') || next_is(r, '+') || next_is(r, '*')) r->ok = false;
    }
    for (int32_t i = 0; r->ok && i < least; i++) push(r, atom, false, false);
    for (int32_t i = least; r->ok && i < most; i++) push(r, atom, false, true);
    if (r->ok && most < 0) push(r, atom, true, true);
}

tort_status tort_pattern_read(tort_string text, const char *name, tort_pattern_text *pattern, tort_error *error) {
    reader r = {.rest = text, .pattern = pattern, .ok = true};
    *pattern = (tort_pattern_text){0};
    while (r.ok && r.rest.length) read_repeated(&r);
    if (r.ok && pattern->atoms) return TORT_OK;
    return tort_fail(
        error, TORT_E_UNSUPPORTED,
        "%s is \"%.*s\"; tinyort takes characters and classes, [a-z], [^ ], ., \\w \\d \\s, with * + ? and "
        "{m,n}, and up to %d of them: split the text before the model",
        name, text.length < 60 ? (int)text.length : 60, text.data, TORT_MOST_ATOMS);
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static bool is_in(const tort_pattern_text *pattern, const tort_atom *atom, uint32_t code) {
    bool found = false;
    for (int32_t k = atom->first; k < atom->first + atom->count; k++)
        found = found || (code >= pattern->range[k].low && code <= pattern->range[k].high);
    return found != atom->negated;
}

/* Bit i: all atoms before i are done. What need not come may be done as well. */
static uint64_t pass_optional(const tort_pattern_text *pattern, uint64_t states) {
    for (int32_t i = 0; i < pattern->atoms; i++)
        if (states >> i & 1 && pattern->atom[i].optional) states |= 1ull << (i + 1);
    return states;
}

static uint64_t step(const tort_pattern_text *pattern, uint64_t states, uint32_t code) {
    uint64_t next = 0;
    for (int32_t i = 0; i < pattern->atoms; i++)
        if (states >> i & 1 && is_in(pattern, &pattern->atom[i], code))
            next |= 1ull << (pattern->atom[i].repeats ? i : i + 1);
    return pass_optional(pattern, next);
}

bool tort_pattern_takes_nothing(const tort_pattern_text *pattern) {
    return pass_optional(pattern, 1) >> pattern->atoms & 1;
}

/* The longest match at the start of a text; 0: none, or an empty one. */
static size_t match_length(const tort_pattern_text *pattern, tort_string text) {
    uint64_t states = pass_optional(pattern, 1);
    size_t longest = 0;
    for (size_t at = 0; at < text.length && states;) {
        uint32_t code;
        at += tort_character((tort_string){text.data + at, text.length - at}, &code);
        states = step(pattern, states, code);
        if (states >> pattern->atoms & 1) longest = at;
    }
    return longest;
}

bool tort_pattern_find(const tort_pattern_text *pattern, tort_string text, size_t from, size_t *at, size_t *length) {
    for (*at = from; *at < text.length;) {
        const tort_string rest = {text.data + *at, text.length - *at};
        uint32_t code;
        *length = match_length(pattern, rest);
        if (*length) return true;
        *at += tort_character(rest, &code);
    }
    return false;
}
