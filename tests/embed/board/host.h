/* host.h - services that a program under emulation asks of the machine that runs the emulator.
 *
 * semihost.c provides them to boards without an operating system, host_files.c to programs of Linux. */
#ifndef TORT_TESTS_EMBED_HOST_H
#define TORT_TESTS_EMBED_HOST_H

#include <stddef.h>

/* Reads or writes exactly this many bytes; paths are relative to the emulator's directory. Returns 0, or -1. */
int host_read(const char *path, void *to, size_t bytes);
int host_write(const char *path, const void *from, size_t bytes);

void host_print(const char *text);

#endif
