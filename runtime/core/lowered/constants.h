/* constants.h - contents that never change: where units read them, and how many bytes they take of each memory. */
#ifndef TORT_RUNTIME_LOWERED_CONSTANTS_H
#define TORT_RUNTIME_LOWERED_CONSTANTS_H

#include "runtime/core/lowered/lowered.h"

/* Contents of a constant of the session in host memory; pair each acquire with a release. */
tort_status tort_constant_acquire(const tort_session *session, int32_t constant, const void **data, tort_error *error);
void tort_constant_release(const tort_session *session, int32_t constant);
/* The memories in which a placed unit reads a constant input unpacked; memory 0: in none but the host's, if `host`. */
typedef struct tort_reads {
    bool host;
    int32_t memory;
} tort_reads;

tort_reads tort_constant_reads(const tort_lowered *lowered, int32_t unit, int32_t input);
/* Keeps in host memory the small weights whose contents inference looks at for each plan. */
tort_status tort_hold_small_weights(tort_session *session, tort_error *error);
/* Bytes of the session's allocator that folded or derived contents hold now; 0 for a weight of the model. */
size_t tort_constant_bytes(const tort_constant *constant);
/* Fills session->weight_bytes and constant_bytes for the present placement. */
tort_status tort_count_weights(tort_session *session, tort_error *error);
/* TORT_E_MEMORY where weights alone exceed the limit of a memory. */
tort_status tort_check_weights(const tort_session *session, tort_error *error);
/* Bytes of a memory that are left for the values of one context, after weights; UINT64_MAX: no limit. */
uint64_t tort_room_for_values(const tort_session *session, int32_t memory);

/* Bytes, aligned, that packed weights of this size take of the session's block; SIZE_MAX on overflow. */
size_t tort_packed_place(size_t bytes);

#endif
