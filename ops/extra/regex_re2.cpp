/* regex_re2.cpp - regex.h by RE2, which is C++: the one file of the kind. */
#include "ops/extra/regex.h"

#include <new>
#include <re2/re2.h>
#include <stdio.h>

struct tort_regex {
    re2::RE2 pattern;
};

static re2::RE2::Options silent() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    return options;
}

tort_regex *tort_regex_open(const char *pattern, size_t length, char *message, size_t size) {
    tort_regex *regex = new (std::nothrow) tort_regex{{re2::StringPiece(pattern, length), silent()}};
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
