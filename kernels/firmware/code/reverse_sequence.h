/* reverse_sequence.h - reverses the first lengths[b] of `times` slices of each batch b. Steps are in slices. A length
 * that is out of range is clamped. */
#ifndef TORT_FIRMWARE_CODE_REVERSE_SEQUENCE_H
#define TORT_FIRMWARE_CODE_REVERSE_SEQUENCE_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_reverse_sequence_shape {
    int32_t batches, times, batch_step, time_step, slice; /* slice: in bytes */
} tinyort_reverse_sequence_shape;

static void tinyort_reverse_sequence(const tinyort_reverse_sequence_shape *s, const void *x, const int64_t *lengths,
                                     void *y) {
    for (int32_t b = 0; b < s->batches; b++) {
        const int32_t length = (lengths[b] > s->times) ? s->times : (lengths[b] < 0) ? 0 : (int32_t)lengths[b];
        for (int32_t t = 0; t < s->times; t++) {
            const int32_t from = (b * s->batch_step) + (((t < length) ? (length - 1 - t) : t) * s->time_step);
            const int32_t to = (b * s->batch_step) + (t * s->time_step);
            (void)memcpy((unsigned char *)y + (to * s->slice), (const unsigned char *)x + (from * s->slice),
                         (size_t)s->slice);
        }
    }
}

#endif
