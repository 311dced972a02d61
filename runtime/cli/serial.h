/* serial.h - questions to a board over a serial line, and its answers (runtime/firmware/compile/serial.h). */
#ifndef TORT_CLI_SERIAL_H
#define TORT_CLI_SERIAL_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/base/error.h"

typedef struct cli_line {
    int file; /* -1: not open */
    const char *path;
    uint16_t number;     /* of the last question; its low byte is sent */
    int64_t asked_again; /* questions that were repeated */
    int64_t timeout_ns;  /* after which a question is repeated */
    double patience;     /* seconds, after which a board that does not answer is given up */
    uint8_t answer[160]; /* of the last question: its data */
    size_t answer_bytes;
} cli_line;

/* Opens a serial port or a pseudo-terminal, and sets its rate in bits a second. */
tort_status cli_line_open(cli_line *line, const char *path, int32_t baud, tort_error *error);
void cli_line_close(cli_line *line);

/* Asks for something, with at most 133 bytes of data, until it is answered. TORT_E_IO: it is not. */
tort_status cli_line_ask(cli_line *line, char kind, const void *data, size_t bytes, tort_error *error);

/* Little-endian numbers in questions and answers. */
void cli_put_word(uint8_t *to, uint32_t word);
uint64_t cli_get_number(const uint8_t *from, int bytes);

#endif
