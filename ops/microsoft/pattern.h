/* pattern.h - the part of regular expressions that tokenizers are written in: characters and classes of them,
 * [a-z0-9_],
 * [^ ], ., \w \d \s \W \D \S, one behind another, each of them once or with * + ? {m} {m,} {m,n}. */
#ifndef TORT_OPS_MICROSOFT_PATTERN_H
#define TORT_OPS_MICROSOFT_PATTERN_H

#include "runtime/op.h"

enum { TORT_MOST_ATOMS = 63, TORT_MOST_RANGES = 64 };

/* A class of characters that is to come once, or as often as it does, or need not come. */
typedef struct tort_atom {
    uint8_t first, count; /* of its ranges */
    bool negated, repeats, optional;
} tort_atom;

typedef struct tort_pattern_text {
    int32_t atoms, ranges;
    tort_atom atom[TORT_MOST_ATOMS];
    struct {
        uint32_t low, high;
    } range[TORT_MOST_RANGES];
} tort_pattern_text;

/* TORT_E_UNSUPPORTED, where the pattern has anything else; `name` is what a message calls it. */
tort_status tort_pattern_read(tort_string text, const char *name, tort_pattern_text *pattern, tort_error *error);
/* Does the pattern match where there is nothing? */
bool tort_pattern_takes_nothing(const tort_pattern_text *pattern);
/* The first longest match from `from` on: its place and length in bytes. False: there is none that is not empty. */
bool tort_pattern_find(const tort_pattern_text *pattern, tort_string text, size_t from, size_t *at, size_t *length);

/* Bytes of the character of UTF-8 at the start of a text that is not empty; of what is none, 1. *code is its number. */
size_t tort_character(tort_string text, uint32_t *code);

#endif
