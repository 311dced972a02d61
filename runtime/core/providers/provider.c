/* provider.c - functions that providers call: making verdicts, reading options. A separate file, so that a provider in
 * a shared object need not link the rest of the core. */
#include "runtime/include/provider.h"
#include "runtime/core/base/locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tort_verdict tort_yes(void) {
    return (tort_verdict){.code = TORT_YES};
}

#ifdef TORT_NO_MESSAGES
tort_verdict tort_no_without_words(tort_verdict_code code) {
    return (tort_verdict){.code = code};
}
#endif

tort_verdict(tort_no)(tort_verdict_code code, const char *cure, const char *format, ...) {
    tort_verdict verdict = {.code = code};
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(verdict.message, sizeof verdict.message, format, arguments);
    va_end(arguments);
    snprintf(verdict.cure, sizeof verdict.cure, "%s", cure ? cure : "");
    return verdict;
}

const char *tort_provider_option_get(const tort_provider_config *config, const char *key) {
    for (int32_t i = 0; i < config->option_count; i++)
        if (!strcmp(config->options[i].key, key)) return config->options[i].value;
    return NULL;
}
