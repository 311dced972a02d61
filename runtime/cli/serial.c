/* serial.c - a serial line to a board: frames out and in, and questions that are repeated until they are answered
 * (serial.h). */
#include "runtime/cli/serial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/core/base/locale.h"
#include "runtime/core/base/watch.h"
#include "runtime/firmware/compile/serial.h"

enum { HEAD = 2, CRC = 4, MAX_FRAME = HEAD + 5 + TORT_SERIAL_DATA + CRC };

/* ---- the port ---------------------------------------------------------------------------------------------------- */

static speed_t speed_of(int32_t baud) {
    static const struct {
        int32_t baud;
        speed_t speed;
    } speeds[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},     {115200, B115200},
                  {230400, B230400}, {460800, B460800}, {921600, B921600}, {1000000, B1000000}, {2000000, B2000000}};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (speeds[i].baud == baud) return speeds[i].speed;
    return B0;
}

tort_status cli_line_open(cli_line *line, const char *path, int32_t baud, tort_error *error) {
    struct termios mode;
    *line = (cli_line){.file = -1, .path = path, .timeout_ns = 300000000, .patience = 30};
    if (speed_of(baud) == B0)
        return tort_fail(
            error, TORT_E_USAGE,
            "--baud: %d is none of 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600, 1000000, 2000000",
            (int)baud);
    line->file = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (line->file < 0) return tort_fail(error, TORT_E_IO, "--port %s: %s", path, tort_strerror(errno));
    if (tcgetattr(line->file, &mode))
        return tort_fail(error, TORT_E_IO, "--port %s is no serial port: %s", path, tort_strerror(errno));
    mode.c_iflag = mode.c_oflag = mode.c_lflag = 0; /* bytes as they are */
    mode.c_cflag = CS8 | CLOCAL | CREAD;
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    if (cfsetispeed(&mode, speed_of(baud)) || cfsetospeed(&mode, speed_of(baud)) ||
        tcsetattr(line->file, TCSANOW, &mode))
        return tort_fail(error, TORT_E_IO, "--port %s: %s", path, tort_strerror(errno));
    tcflush(line->file, TCIOFLUSH);
    return TORT_OK;
}

void cli_line_close(cli_line *line) {
    if (line->file >= 0) close(line->file);
    line->file = -1;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

void cli_put_word(uint8_t *to, uint32_t word) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(word >> 8 * i);
}

uint64_t cli_get_number(const uint8_t *from, int bytes) {
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (uint64_t)from[i] << 8 * i;
    return number;
}

static size_t escape(const uint8_t *frame, size_t bytes, uint8_t *to) {
    size_t at = 0;
    to[at++] = TORT_SERIAL_END; /* ends what a damaged frame before has left */
    for (size_t i = 0; i < bytes; i++) {
        const bool end = frame[i] == TORT_SERIAL_END, escaped = end || frame[i] == TORT_SERIAL_ESCAPE;
        if (escaped) to[at++] = TORT_SERIAL_ESCAPE;
        to[at++] = end ? TORT_SERIAL_IS_END : escaped ? TORT_SERIAL_IS_ESCAPE : frame[i];
    }
    to[at++] = TORT_SERIAL_END;
    return at;
}

static tort_status put(const cli_line *line, const uint8_t *bytes, size_t count, tort_error *error) {
    while (count) {
        struct pollfd ready = {.fd = line->file, .events = POLLOUT};
        const ssize_t put = write(line->file, bytes, count);
        if (put > 0) {
            bytes += put;
            count -= (size_t)put;
        } else if (put < 0 && errno != EAGAIN && errno != EINTR)
            return tort_fail(error, TORT_E_IO, "--port %s: %s", line->path, tort_strerror(errno));
        else if (poll(&ready, 1, 1000) == 0)
            return tort_fail(error, TORT_E_IO, "--port %s takes no bytes", line->path);
    }
    return TORT_OK;
}

/* Reads a frame of at most MAX_FRAME bytes until a time; 0: none came. What is damaged is dropped. */
static size_t take(const cli_line *line, int64_t until, uint8_t *frame) {
    size_t size = 0;
    bool escaped = false;
    for (;;) {
        const int64_t left = until - tort_now();
        struct pollfd ready = {.fd = line->file, .events = POLLIN};
        uint8_t byte;
        if (left <= 0) return 0;
        if (poll(&ready, 1, (int)(left / 1000000) + 1) <= 0 || read(line->file, &byte, 1) != 1) {
            if (ready.revents & (POLLHUP | POLLERR)) poll(NULL, 0, 1); /* nobody is at the other end yet */
            continue;
        }
        if (byte == TORT_SERIAL_END) {
            const bool whole = size >= HEAD + CRC && size <= MAX_FRAME;
            if (whole && cli_get_number(frame + size - CRC, CRC) == crc32(0, frame, (uInt)(size - CRC)))
                return size - CRC;
            size = 0;
            escaped = false;
            continue;
        }
        if (byte == TORT_SERIAL_ESCAPE) {
            escaped = true;
            continue;
        }
        if (escaped) byte = byte == TORT_SERIAL_IS_END ? TORT_SERIAL_END : TORT_SERIAL_ESCAPE;
        escaped = false;
        if (size < MAX_FRAME) frame[size] = byte;
        size++;
    }
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

tort_status cli_line_ask(cli_line *line, char kind, const void *data, size_t bytes, tort_error *error) {
    uint8_t question[MAX_FRAME], answer[MAX_FRAME], text[2 * MAX_FRAME + 2];
    question[0] = (uint8_t)++line->number;
    question[1] = (uint8_t)kind;
    if (bytes) memcpy(question + HEAD, data, bytes);
    cli_put_word(question + HEAD + bytes, (uint32_t)crc32(0, question, (uInt)(HEAD + bytes)));
    const size_t length = escape(question, HEAD + bytes + CRC, text);
    const int64_t end = tort_now() + (int64_t)(line->patience * 1e9);
    for (bool again = false; tort_now() < end; again = true) {
        const tort_status status = put(line, text, length, error);
        if (status) return status;
        line->asked_again += again;
        const int64_t until = tort_now() + line->timeout_ns;
        for (size_t size; (size = take(line, until, answer)) > 0;) {
            if (answer[0] != question[0] || answer[1] != (question[1] | 0x80)) continue; /* to a question before */
            line->answer_bytes = size - HEAD;
            memcpy(line->answer, answer + HEAD, line->answer_bytes);
            return TORT_OK;
        }
    }
    return tort_fail(error, TORT_E_IO,
                     "--port %s: the board does not answer: is the program of 'compile --serial' running there, and is "
                     "--baud its rate?",
                     line->path);
}
