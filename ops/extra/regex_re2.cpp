/* regex_re2.cpp - implements regex.h by RE2, a C++ library: the only C++ file of the operators. */
#include "ops/extra/regex.h"

#include <new>
#include <re2/re2.h>
#include <stdio.h>

struct tort_regex {
    re2::RE2 pattern;
};

static re2::RE2::Options silent_and_longest() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_longest_match(true);
    return options;
}

tort_regex *tort_regex_open(const char *pattern, size_t length, char *message, size_t size) {
    tort_regex *regex = new (std::nothrow) tort_regex{{re2::StringPiece(pattern, length), silent_and_longest()}};
    if (!regex) {
        snprintf(message, size, "out of memory");
        return nullptr;
    }
    if (regex->pattern.ok()) return regex;
    snprintf(message, size, "%s", regex->pattern.error().c_str());
    delete regex;
    return nullptr;
}

void tort_regex_close(tort_regex *regex) {
    delete regex;
}

bool tort_regex_matches(const tort_regex *regex, const char *text, size_t length) {
    return re2::RE2::FullMatch(re2::StringPiece(text, length), regex->pattern);
}

bool tort_regex_find(const tort_regex *regex, const char *text, size_t length, size_t from, size_t *at, size_t *found) {
    const re2::StringPiece whole(text, length);
    for (re2::StringPiece match; regex->pattern.Match(whole, from, length, re2::RE2::UNANCHORED, &match, 1);) {
        *at = static_cast<size_t>(match.data() - text);
        *found = match.size();
        if (*found) return true;
        from = *at + 1;
        while (from < length && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) from++;
        if (from > length) return false;
    }
    return false;
}
