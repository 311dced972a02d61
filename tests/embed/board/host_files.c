/* host_files.c - host.h for programs of Linux: the emulator passes their system calls on. */
#include <stdio.h>

#include "tests/embed/board/host.h"

int host_read(const char *path, void *to, size_t bytes) {
    FILE *file = fopen(path, "rb");
    const size_t got = file ? fread(to, 1, bytes, file) : 0;
    if (file) fclose(file);
    return got == bytes ? 0 : -1;
}

int host_write(const char *path, const void *from, size_t bytes) {
    FILE *file = fopen(path, "wb");
    const size_t put = file ? fwrite(from, 1, bytes, file) : 0;
    const int closed = file ? fclose(file) : -1;
    return put == bytes && !closed ? 0 : -1;
}

void host_print(const char *text) {
    fputs(text, stdout);
}
