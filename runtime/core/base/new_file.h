/* new_file.h - writes a file that appears whole or not at all: without a name, or where the file system has no such
 * files under a random one in its folder, until all of it is on the disk; then it is renamed. Only what is absent or a
 * regular file is written; a link is neither followed nor replaced.
 *
 * Three steps, so that a program can note the random name before there is a file of it, and remove it when it is
 * interrupted; the library itself installs no signal handler. */
#ifndef TORT_RUNTIME_BASE_NEW_FILE_H
#define TORT_RUNTIME_BASE_NEW_FILE_H

#include <limits.h>
#include <stdio.h>

#include "runtime/include/tinyort.h"

typedef struct tort_new_file {
    const char *path;          /* borrowed */
    char unfinished[PATH_MAX]; /* the random name */
    unsigned mode;             /* permissions: those of the file that is replaced */
    FILE *stream;              /* for the caller to write to; NULL before tort_new_file_open */
    bool nameless;             /* it gets the random name only for the rename */
    int cause;                 /* errno of the first write that failed; set by tort_new_file_write, or by the caller */
} tort_new_file;

/* TORT_E_IO if something at `path` must not be replaced: a folder, a link, a device, a pipe. */
tort_status tort_new_file_check(const char *path, tort_error *error);
/* Checks the path and chooses the random name; creates nothing. */
tort_status tort_new_file_name(const char *path, tort_new_file *file, tort_error *error);
tort_status tort_new_file_open(tort_new_file *file, tort_error *error);
bool tort_new_file_write(tort_new_file *file, const void *bytes, size_t size);
/* Renames the file to its path, or removes it if status or a write failed; returns status, or TORT_E_IO with the path
 * and the cause. Also ends a file that could not be named or opened. */
tort_status tort_new_file_end(tort_new_file *file, tort_status status, tort_error *error);

#endif
