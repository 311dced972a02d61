/* text.c - UTF-8 that came from outside: what is unsafe to show, and how wide the rest is (text.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/utf8.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/text.h"

/* ---- characters -------------------------------------------------------------------------------------------------- */

bool cli_next_character(const char **text, const char *end, uint32_t *c) {
    const size_t length = tort_utf8_decode(*text, (size_t)(end - *text), c);
    *text += length ? length : 1;
    return length > 0;
}

typedef struct range {
    uint32_t first, last;
} range;

/* Unsafe characters: Unicode's controls, formats, line and paragraph separators, variation selectors, fillers,
 * noncharacters. */
static const range unsafe[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x2800, 0x2800},   {0x3164, 0x3164},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

/* Characters that take two columns. */
static const range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff},
    {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

/* Combining marks, which take no column. */
static const range narrow[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x302a, 0x302d}, {0xfe20, 0xfe2f},
};

static bool is_in(uint32_t c, const range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return true;
    return false;
}

bool cli_is_unsafe(uint32_t c) {
    if (c >= 0x20 && c < 0x7f) return false;
    return (c & 0xfffe) == 0xfffe || is_in(c, unsafe, sizeof unsafe / sizeof *unsafe);
}

static int columns_of_character(uint32_t c) {
    if (c < 0x300) return 1;
    if (is_in(c, narrow, sizeof narrow / sizeof *narrow)) return 0;
    return is_in(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

/* ---- escapes ----------------------------------------------------------------------------------------------------- */

enum { LONGEST_ESCAPE = 10 }; /* \u{10fffe} */

static size_t write_escape(char *out, uint32_t c, bool valid) {
    const char letter = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : 0;
    char text[LONGEST_ESCAPE + 1];
    int length;
    if (letter)
        length = snprintf(text, sizeof text, "\\%c", letter);
    else
        length = snprintf(text, sizeof text, valid && c > 0x7f ? "\\u{%x}" : "\\x%02x", (unsigned)c);
    memcpy(out, text, (size_t)length);
    return (size_t)length;
}

char *cli_escape(const char *text, size_t length) {
    const char *end = text + length;
    size_t used = 0, capacity = length + 1;
    char *out = cli_alloc(capacity, 1);
    for (const char *p = text; p < end;) {
        const char *begin = p;
        uint32_t c;
        const bool valid = cli_next_character(&p, end, &c);
        const size_t rest = (size_t)(end - p);
        if (used + LONGEST_ESCAPE + rest >= capacity) {
            capacity = 2 * capacity + LONGEST_ESCAPE + rest;
            out = cli_realloc(out, capacity, 1);
        }
        if (valid && !cli_is_unsafe(c)) {
            memcpy(out + used, begin, (size_t)(p - begin));
            used += (size_t)(p - begin);
        } else
            used += write_escape(out + used, c, valid);
    }
    out[used] = 0;
    return out;
}

/* ---- other formats ----------------------------------------------------------------------------------------------- */

char *cli_replace(const char *text, const cli_escape_row *rows) {
    size_t longest = 0;
    for (const cli_escape_row *row = rows; row->c; row++)
        longest = strlen(row->text) > longest ? strlen(row->text) : longest;
    char *made = cli_alloc(strlen(text) * longest + 1, 1), *to = made;
    for (; *text; text++) {
        const cli_escape_row *row = rows;
        while (row->c && row->c != *text) row++;
        if (row->c)
            to = stpcpy(to, row->text);
        else
            *to++ = *text;
    }
    return made;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* cli_columns of the first `length` bytes. */
static int columns_of(const char *text, size_t length) {
    const char *end = text + length;
    int columns = 0;
    for (uint32_t c; text < end;) {
        cli_next_character(&text, end, &c);
        columns += columns_of_character(c);
    }
    return columns;
}

int cli_columns(const char *text) {
    return columns_of(text, strlen(text));
}

/* Length in bytes of the longest prefix that fits in so many columns. */
static size_t beginning_of(const char *text, const char *end, int columns) {
    const char *p = text;
    for (uint32_t c; p < end;) {
        const char *next = p;
        cli_next_character(&next, end, &c);
        columns -= columns_of_character(c);
        if (columns < 0) break;
        p = next;
    }
    return (size_t)(p - text);
}

/* The longest suffix of a text that fits in so many columns. */
static const char *ending_of(const char *text, const char *end, int columns) {
    int left_out = columns_of(text, (size_t)(end - text)) - columns;
    uint32_t c;
    while (left_out > 0 && text < end) {
        cli_next_character(&text, end, &c);
        left_out -= columns_of_character(c);
    }
    while (text < end) { /* no accent without what it stands on */
        const char *next = text;
        cli_next_character(&next, end, &c);
        if (columns_of_character(c)) break;
        text = next;
    }
    return text;
}

/* Shortens a name that is not a path, or whose last part alone is too long. */
static char *shorten_word(const char *text, const char *end, int kept) {
    const char *tail = ending_of(text, end, kept - kept * 2 / 5);
    return cli_format("%.*s…%s", (int)beginning_of(text, end, kept - cli_columns(tail)), text, tail);
}

/* End of the part after `from`, which points to a separator or to the beginning of a text. */
static const char *next_part(const char *from, const char *end, char separator) {
    const char *found = from < end ? memchr(from + 1, separator, (size_t)(end - from - 1)) : NULL;
    return found ? found : end;
}

static const char *previous_part(const char *text, const char *from, char separator) {
    while (from > text && *--from != separator) {}
    return from;
}

char *cli_shorten(const char *text, int columns) {
    const char *end = text + strlen(text), separator = strchr(text, '/') ? '/' : '.';
    if (cli_columns(text) <= columns) return cli_copy_text(text, (size_t)(end - text));
    const int kept = columns > 3 ? columns - 1 : 2;
    const char *tail = previous_part(text, end, separator), *head = text;
    if (separator == '.' && tail > text && cli_columns(tail) <= columns && cli_columns(tail) > columns / 2)
        return cli_format("…%s", tail + 1);
    if (tail == text || cli_columns(tail) > kept * 3 / 4) return shorten_word(text, end, kept);
    /* Keeps the first two parts, which name the model and the layer, then as many of the last as there is room for. */
    int left = kept - cli_columns(tail) - 1; /* a separator stands before the "…" too */
    for (int parts = 0; parts < 2; parts++) {
        const char *longer = next_part(head, tail, separator);
        const int more = columns_of(head, (size_t)(longer - head));
        if (longer == tail || more > left) break;
        left -= more;
        head = longer;
    }
    for (const char *longer = previous_part(text, tail, separator); head > text && longer > head;
         longer = previous_part(text, tail, separator)) {
        const int more = columns_of(longer, (size_t)(tail - longer));
        if (more > left) break;
        left -= more;
        tail = longer;
    }
    if (head > text) return cli_format("%.*s%c…%s", (int)(head - text), text, separator, tail);
    return cli_format("%.*s…%s", (int)beginning_of(text, tail, left + 1), text, tail);
}

char *cli_short_name(const char *name, int columns) {
    char *whole = cli_escape(name, strlen(name)), *shortened = cli_shorten(whole, columns);
    free(whole);
    return shortened;
}

char *cli_take_line(char **at) {
    char *line = *at;
    if (!*line) return NULL;
    char *end = line + strcspn(line, "\n");
    *at = *end ? end + 1 : end;
    *end = 0;
    if (end > line && end[-1] == '\r') end[-1] = 0;
    return line;
}

size_t cli_line_of(const char *text, int columns, const char **next) {
    const char *end = text + strlen(text);
    size_t length = beginning_of(text, end, columns > 1 ? columns : 1);
    if (length == 0 && text < end) length = beginning_of(text, end, 2);
    if (text + length < end && text[length] != ' ') {
        size_t cut = length;
        while (cut > 0 && text[cut - 1] != ' ') cut--;
        while (cut > 0 && text[cut - 1] == ' ') cut--;
        if (cut > 0) length = cut;
    }
    *next = text + length;
    while (**next == ' ') ++*next;
    while (length > 0 && text[length - 1] == ' ') length--;
    return length;
}
