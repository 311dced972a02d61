/* byte_planes.h - the planes of planes.h for words of four channels of bytes. Read next: byte_planes.c. */
#ifndef TORT_KERNELS_CPU_BYTE_PLANES_H
#define TORT_KERNELS_CPU_BYTE_PLANES_H

#include "kernels/cpu/planes.h"

/* Stores four channels as words, each byte XORed with flip; padding gets the word `fill`. row: a buffer for a row of
 * the input. If planes->direct, the input is only interleaved to words. */
void tort_byte_planes_store(const tort_simd *simd, const tort_planes *planes, const uint8_t *const *channels,
                            uint8_t flip, uint32_t fill, uint32_t *row, uint32_t *stored);

#endif
