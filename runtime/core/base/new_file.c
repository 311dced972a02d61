/* new_file.c - see new_file.h. */
#define _GNU_SOURCE /* O_TMPFILE, of Linux */
#include "runtime/core/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/hash.h"
#include "runtime/core/base/locale.h"

static tort_status cannot_write(const char *path, int cause, tort_error *error) {
    return tort_fail(error, TORT_E_IO, "cannot write \"%s\": %s", path, tort_strerror(cause));
}

/* Finds the permissions that a file of this path gets. */
static tort_status examine(const char *path, unsigned *mode, tort_error *error) {
    struct stat facts;
    *mode = 0666;
    if (fstatat(AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? TORT_OK : cannot_write(path, errno, error);
    *mode = facts.st_mode & 0777;
    if (S_ISREG(facts.st_mode)) return TORT_OK;
    return tort_fail(error, TORT_E_IO, "\"%s\" is %s, and only a regular file is replaced: write to another path", path,
                     S_ISDIR(facts.st_mode)   ? "a folder"
                     : S_ISLNK(facts.st_mode) ? "a symbolic link"
                                              : "a device, a pipe or a socket");
}

tort_status tort_new_file_check(const char *path, tort_error *error) {
    unsigned mode;
    return examine(path, &mode, error);
}

tort_status tort_new_file_name(const char *path, tort_new_file *file, tort_error *error) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    uint64_t bits[2];
    file->path = path;
    file->stream = NULL;
    file->cause = 0;
    tort_status status = examine(path, &file->mode, error);
    if (status) return status;
    if (folder + sizeof ".tinyort-0123456789abcdef" > sizeof file->unfinished)
        return cannot_write(path, ENAMETOOLONG, error);
    tort_random_bits(bits);
    memcpy(file->unfinished, path, folder);
    snprintf(file->unfinished + folder, sizeof file->unfinished - folder, ".tinyort-%016llx",
             (unsigned long long)bits[0]);
    return TORT_OK;
}

/* The path by which a file without a name gets one. False: there is no /proc. */
static bool nameless_path(int fd, char *path, size_t size) {
    snprintf(path, size, "/proc/self/fd/%d", fd);
    return access(path, F_OK) == 0;
}

/* A file in the folder that has no name, and so is gone with the process however that ends; -1: not on this file
 * system. */
static int open_nameless(const tort_new_file *file) {
#ifdef O_TMPFILE
    char folder[sizeof file->unfinished], path[32];
    const char *slash = strrchr(file->unfinished, '/');
    const size_t length = slash ? (size_t)(slash - file->unfinished) + 1 : 0;
    memcpy(folder, file->unfinished, length);
    strcpy(folder + length, ".");
    const int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, (mode_t)file->mode);
    if (fd < 0 || nameless_path(fd, path, sizeof path)) return fd;
    close(fd);
#endif
    return -1;
}

tort_status tort_new_file_open(tort_new_file *file, tort_error *error) {
    int fd = open_nameless(file);
    file->nameless = fd >= 0;
    if (fd < 0) fd = open(file->unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)file->mode);
    if (fd < 0) return cannot_write(file->path, errno, error);
    file->stream = fdopen(fd, "wb");
    if (file->stream) return TORT_OK;
    const int cause = errno;
    close(fd);
    unlink(file->unfinished);
    return cannot_write(file->path, cause, error);
}

bool tort_new_file_write(tort_new_file *file, const void *bytes, size_t size) {
    if (fwrite(bytes, 1, size, file->stream) == size) return true;
    if (!file->cause) file->cause = errno;
    return false;
}

/* Gives a file without a name the random one: no link can replace a file, but a rename can. */
static int take_name(const tort_new_file *file) {
    char path[32];
    if (!nameless_path(fileno(file->stream), path, sizeof path)) return ENOENT;
    return linkat(AT_FDCWD, path, AT_FDCWD, file->unfinished, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Returns 0, or errno of what failed. A file system that cannot fsync says EINVAL. */
static int finish(const tort_new_file *file, bool keep) {
    int cause = 0;
    if (keep && (fflush(file->stream) != 0 || (fsync(fileno(file->stream)) != 0 && errno != EINVAL))) cause = errno;
    if (keep && !cause && file->nameless) cause = take_name(file);
    if (fclose(file->stream) != 0 && keep && !cause) cause = errno;
    if (keep && !cause && rename(file->unfinished, file->path) != 0) cause = errno;
    if (!keep || cause) unlink(file->unfinished);
    return cause;
}

tort_status tort_new_file_end(tort_new_file *file, tort_status status, tort_error *error) {
    if (!file->stream) return status;
    const int failed = finish(file, !status && !file->cause);
    file->stream = NULL;
    if (!file->cause) file->cause = failed;
    return file->cause ? cannot_write(file->path, file->cause, error) : status;
}
