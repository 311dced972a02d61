/* files.c - reads whole files, and asks back when a name is misspelt. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files.h"
#include "runtime/suggest.h"

/* The nearest name to path's last part in its folder, as a question; "" if there is none. */
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

tort_status cli_read_file(const char *path, uint8_t **bytes, size_t *size, tort_error *error) {
    *bytes = NULL;
    tort_status status = cli_check_file(path, error);
    if (status) return status;
    FILE *file = fopen(path, "rb");
    if (!file) return tort_fail(error, TORT_E_IO, "'%s' cannot be opened: %s", path, strerror(errno));
    size_t used = 0, capacity = 1 << 16;
    uint8_t *all = cli_alloc(capacity, 1);
    for (size_t got; (got = fread(all + used, 1, capacity - used - 1, file)) > 0;) {
        used += got;
        if (capacity - used > 1) continue;
        capacity *= 2;
        all = cli_realloc(all, capacity, 1);
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        free(all);
        return tort_fail(error, TORT_E_IO, "'%s' cannot be read: %s", path, strerror(errno));
    }
    all[used] = 0;
    *bytes = all;
    *size = used;
    return TORT_OK;
}
