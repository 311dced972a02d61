/* extra.c - the operators of libtinyort_extra in this build: the Makefile defines TORT_PICTURES and TORT_REGEX. */
#include "ops/extra/tinyort_extra.h"
#include "runtime/include/op.h"

extern const tort_op tort_ops_image_decoder[];
extern const tort_op tort_ops_regex[];
extern const tort_op tort_ops_tokenizer[];

const uint32_t tort_extra_abi = TORT_PROVIDER_ABI;

// clang-format off: a line a family
const tort_op *const tort_extra_operators[] = {
#ifdef TORT_PICTURES
    tort_ops_image_decoder,
#endif
#ifdef TORT_REGEX
    tort_ops_regex,
    tort_ops_tokenizer,
#endif
    NULL,
};
