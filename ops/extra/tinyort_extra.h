/* tinyort_extra.h - operators that need libraries which tinyort itself does without: RegexFullMatch, and Tokenizer of
 * com.microsoft (RE2); ImageDecoder (libpng, libjpeg, libtiff, libwebp, OpenJPEG). They are in libtinyort_extra, which
 * the command line includes.
 *
 *     tort_load_options load = {.struct_size = sizeof load,
 *                               .operators = tort_extra_operators, .operator_abi = tort_extra_abi};
 *
 * These libraries take memory from malloc, not from the application's allocator. */
#ifndef TINYORT_EXTRA_H
#define TINYORT_EXTRA_H

#include "runtime/include/tinyort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tables of rows; the list ends with NULL. Operators whose libraries were missing in the build are left out. */
TORT_API extern const struct tort_op *const tort_extra_operators[];
TORT_API extern const uint32_t tort_extra_abi; /* for tort_load_options.operator_abi */

#ifdef __cplusplus
}
#endif
#endif
