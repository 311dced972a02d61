/* constants.h - contents that never change, where units read them, and what they take. */
#ifndef TORT_RUNTIME_LOWERED_CONSTANTS_H
#define TORT_RUNTIME_LOWERED_CONSTANTS_H

#include "runtime/lowered/lowered.h"

/* Contents of a constant of the session in host memory; pair with release. */
tort_status tort_constant_acquire(const tort_session *session, int32_t constant, const void **data, tort_error *error);
void tort_constant_release(const tort_session *session, int32_t constant);
/* Where a placed unit reads a constant input as it is: in host memory, and in that of its provider (0: no other). */
typedef struct tort_reads {
    bool host;
    int32_t memory;
} tort_reads;

tort_reads tort_constant_reads(const tort_lowered *lowered, int32_t unit, int32_t input);
/* Keeps the weights in host memory that inference looks at for each plan. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error);
/* Bytes that its folded or derived contents hold of the session's allocator now. */
size_t tort_constant_bytes(const tort_constant *constant);
/* Fills weight_bytes and constant_bytes for the units as they are placed. */
tort_status tort_count_weights(tort_session *session, tort_error *error);
/* Weights alone against what each memory may give. */
tort_status tort_check_weights(const tort_session *session, tort_error *error);
/* Bytes that one context may take of a memory; UINT64_MAX: there is no limit. */
uint64_t tort_room_for_values(const tort_session *session, int32_t memory);

/* Bytes that packed weights of this size take of the session's block, aligned; SIZE_MAX: they overflow. */
size_t tort_packed_place(size_t bytes);

#endif
