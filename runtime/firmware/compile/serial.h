/* serial.h - frames of a serial line between `tinyort validate` and a board that runs a compiled model.
 *
 * The host asks and the board answers, one frame at a time. A frame ends with END, as in SLIP (RFC 1055); in it END and
 * ESCAPE are two bytes. It has a number, a kind, data and the CRC-32 (IEEE 802.3, little-endian) of these. An answer
 * has the number of its question, and its kind with bit 7 set. A side that gets a damaged frame drops it; the host asks
 * again after a while, with the same number. */
#ifndef TORT_RUNTIME_COMPILE_SERIAL_H
#define TORT_RUNTIME_COMPILE_SERIAL_H

enum { TORT_SERIAL_END = 0xC0, TORT_SERIAL_ESCAPE = 0xDB, TORT_SERIAL_IS_END = 0xDC, TORT_SERIAL_IS_ESCAPE = 0xDD };
enum { TORT_SERIAL_DATA = 128 }; /* bytes of a port in a frame, at most */

/* Kinds, by the letter that is sent: what the question has, and the answer. */
enum {
    TORT_SERIAL_HELLO = 'H',  /* nothing; hashes of graph, code and weights of 8 bytes each, and the number of steps */
    TORT_SERIAL_INPUT = 'I',  /* port (1 byte), offset (4), bytes; nothing */
    TORT_SERIAL_RUN = 'R',    /* number of the run (4), not 0: the same one does not run again; what NAME_step returned,
                                 bytes of stack */
    TORT_SERIAL_OUTPUT = 'O', /* port, offset; bytes */
    TORT_SERIAL_TICKS = 'T'   /* step from 0 on (4); 4 bytes for each step from there on */
};

#endif
