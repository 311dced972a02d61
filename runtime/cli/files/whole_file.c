/* whole_file.c - reads whole files, suggests names for misspelt ones, and checks where files will be written. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/core/base/suggest.h"
#include "runtime/core/graph/graph.h"
#include "runtime/core/base/locale.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The name in the folder that is nearest to the path's last part, as a question; "" if there is none. */
static void nearest_file(const char *path, char *hint, size_t size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? cli_copy_text(path, (size_t)(slash - path) + 1) : cli_copy_text("./", 2);
    char **names = NULL;
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir)) && count < 1000;) {
        if (*entry->d_name == '.') continue;
        names = cli_realloc(names, count + 1, sizeof *names);
        names[count++] = cli_copy_text(entry->d_name, strlen(entry->d_name));
    }
    if (dir) closedir(dir);
    const char *nearest = tort_nearest(name, (const char *const *)names, count);
    hint[0] = 0;
    if (nearest) snprintf(hint, size, "; did you mean '%s%s'?", slash ? folder : "", nearest);
    for (size_t i = 0; i < count; i++) free(names[i]);
    free(names);
    free(folder);
}

tort_status cli_check_file(const char *path, tort_error *error) {
    struct stat facts;
    char hint[300];
    if (stat(path, &facts) != 0) {
        nearest_file(path, hint, sizeof hint);
        return tort_fail(error, TORT_E_IO, "there is no file '%s'%s", path, hint);
    }
    if (S_ISDIR(facts.st_mode)) return tort_fail(error, TORT_E_IO, "'%s' is a folder, not a file", path);
    return TORT_OK;
}

tort_status cli_open_file(const char *path, size_t max, FILE **file, size_t *size, tort_error *error) {
    struct stat facts;
    *file = NULL;
    tort_status status = cli_check_file(path, error);
    if (status) return status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0)
        status = tort_fail(error, TORT_E_IO, "'%s' cannot be opened: %s", path, tort_strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = tort_fail(error, TORT_E_IO, "'%s' is not a regular file", path);
    else if ((uint64_t)facts.st_size > max)
        status = tort_fail(error, TORT_E_INPUT, "'%s' has %lld bytes; at most %zu are read of such a file", path,
                           (long long)facts.st_size, max);
    else
        *file = cli_check_memory(fdopen(fd, "rb"));
    if (status && fd >= 0) close(fd);
    if (!status) *size = (size_t)facts.st_size;
    return status;
}

tort_status cli_read_all(const char *path, FILE *file, void *bytes, size_t size, tort_error *error) {
    if (fread(bytes, 1, size, file) == size) return TORT_OK;
    return tort_fail(error, TORT_E_IO, "'%s' cannot be read: %s", path,
                     ferror(file) ? tort_strerror(errno) : "it has become shorter");
}

tort_status cli_read_file(const char *path, size_t max, uint8_t **bytes, size_t *size, tort_error *error) {
    FILE *file;
    *bytes = NULL;
    tort_status status = cli_open_file(path, max, &file, size, error);
    if (status) return status;
    *bytes = cli_alloc(*size + 1, 1);
    status = cli_read_all(path, file, *bytes, *size, error);
    fclose(file);
    if (!status) return TORT_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

tort_status cli_read_standard_input(const char *magic, const char *what, uint64_t max, uint8_t **bytes, size_t *size,
                                    tort_error *error) {
    tort_status status = TORT_OK;
    size_t capacity = 1 << 16, wanted;
    *bytes = cli_alloc(capacity, 1);
    *size = 0;
    do {
        if (*size == capacity) *bytes = cli_realloc(*bytes, capacity *= 2, 1);
        wanted = capacity - *size;
        const size_t found = fread(*bytes + *size, 1, wanted, stdin);
        *size += found;
        wanted -= found; /* 0 unless it has ended */
        if (ferror(stdin))
            status = tort_fail(error, TORT_E_IO, "standard input cannot be read: %s", tort_strerror(errno));
        else if (*size < strlen(magic) || memcmp(*bytes, magic, strlen(magic)) != 0)
            status = tort_fail(error, TORT_E_INPUT, "standard input is no %s (%zu bytes are read)", what, *size);
        else if (*size > max)
            status = tort_fail(error, TORT_E_INPUT, "standard input has more than the %llu bytes that are read of it",
                               (unsigned long long)max);
    } while (!status && !wanted);
    if (!status) return TORT_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static tort_status no_folder(const char *option, const char *folder, const char *why, tort_error *error) {
    return tort_fail(error, TORT_E_USAGE, "%s: nothing can be written to the folder '%s': %s", option, folder, why);
}

tort_status cli_check_folder(const char *option, const char *folder, tort_error *error) {
    if (!*folder) return no_folder(option, folder, "it has no name", error);
    struct stat facts;
    if (tort_path_ends(folder, ".npy") && stat(folder, &facts) != 0)
        return tort_fail(error, TORT_E_USAGE, "%s takes a folder, into which the files are written, not '%s': %s %.*s",
                         option, folder, option, (int)strlen(folder) - 4, folder);
    char *there = cli_copy_text(folder, strlen(folder));
    size_t length = strlen(there);
    while (length && stat(there, &facts) != 0 && errno == ENOENT) { /* cut back to the part of the path that exists */
        while (length && there[length - 1] == '/') there[--length] = 0;
        while (length && there[length - 1] != '/') there[--length] = 0;
    }
    const char *found = length ? there : ".";
    tort_status status = TORT_OK;
    if (stat(found, &facts) != 0)
        status = no_folder(option, folder, tort_strerror(errno), error);
    else if (!S_ISDIR(facts.st_mode))
        status = tort_fail(error, TORT_E_USAGE, "%s: '%s' is a file, not a folder", option, found);
    else if (access(found, W_OK | X_OK) != 0)
        status = no_folder(option, folder, tort_strerror(errno), error);
    free(there);
    return status;
}

tort_status cli_make_folder(const char *option, const char *folder, tort_error *error) {
    char *path = cli_copy_text(folder, strlen(folder));
    int result = 0;
    for (char *p = path + 1; result == 0 && *path && *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        result = mkdir(path, 0777) != 0 && errno != EEXIST ? -1 : 0;
        *p = '/';
    }
    if (result == 0 && mkdir(path, 0777) != 0 && errno != EEXIST) result = -1;
    free(path);
    if (result == 0) return TORT_OK;
    no_folder(option, folder, tort_strerror(errno), error);
    return error->code = TORT_E_RUN;
}

/* ---- files that will be written ---------------------------------------------------------------------------------- */

tort_status cli_check_target(const char *path, const tort_model *model, tort_error *error) {
    tort_status status = tort_model_check_target(model, path, error);
    return status ? status : tort_new_file_check(path, error);
}

tort_status cli_check_new_file(const char *path, const tort_model *model, tort_error *error) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? cli_copy_text(path, (size_t)(slash - path) + 1) : cli_copy_text(".", 1);
    tort_status status = cli_check_target(path, model, error);
    if (!status && access(folder, W_OK | X_OK) != 0)
        status = tort_fail(error, TORT_E_IO, "cannot write \"%s\": %s", path, tort_strerror(errno));
    free(folder);
    return status;
}

tort_status cli_failed_write(tort_status status, tort_error *error) {
    return status == TORT_E_IO ? error->code = TORT_E_RUN : status;
}
