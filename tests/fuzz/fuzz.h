/* fuzz.h - what the entries for libFuzzer share. A finding ends the program, so that libFuzzer, or replay.c, keeps the
 * bytes that led to it. */
#ifndef TORT_TESTS_FUZZ_FUZZ_H
#define TORT_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void require(bool holds, const char *what, const char *message) {
    if (holds) return;
    fprintf(stderr, "fuzz: %s (%s)\n", what, message);
    abort();
}

/* A path of this process's own with this ending; valid until the next one of the same ending. */
#define TEMPORARY(path, ending) snprintf(path, sizeof path, "/tmp/tinyort_fuzz_%ld%s", (long)getpid(), ending)

static inline void write_input(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "a file in /tmp cannot be written",
            path);
}

#endif
