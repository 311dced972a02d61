/* data_set.c - see data_set.h. Names of inputs are untrusted: none leads out of the folder. */
#include "runtime/cli/files/data_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/observed.h"

static const char *const endings[] = {".npy", ".pb", ".raw", ".npz", ".png", ".jpg", ".jpeg"};
enum { ENDINGS = sizeof endings / sizeof *endings };

bool cli_is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* True also for a link to nothing: reading it then fails, instead of the input being taken as not given. */
static bool is_there(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0;
}

/* Takes ownership of `candidate`. */
static tort_status take(const char *name, char *candidate, char **path, tort_error *error) {
    tort_status status = TORT_OK;
    if (!is_there(candidate) || (*path && !strcmp(*path, candidate)))
        free(candidate);
    else if (!*path)
        *path = candidate;
    else {
        status = tort_fail(error, TORT_E_INPUT, "input '%s' has two files, %s and %s: give it one by --input '%s=FILE'",
                           name, *path, candidate, name);
        free(candidate);
    }
    return status;
}

/* True for "input_12": as a .pb that is the input of this number, whatever the inputs are called. */
static bool is_numbered(const char *name) {
    return !strncmp(name, "input_", 6) && name[6] && !name[6 + strspn(name + 6, "0123456789")];
}

static tort_status find_named(const char *folder, const char *stem, const char *name, char **path, tort_error *error) {
    tort_status status = TORT_OK;
    for (int i = 0; !status && i < ENDINGS; i++)
        if (strcmp(endings[i], ".pb") || !is_numbered(stem))
            status = take(name, cli_format("%s/%s%s", folder, stem, endings[i]), path, error);
    return status;
}

tort_status cli_data_set_find(const char *folder, int32_t index, const char *name, char **path, tort_error *error) {
    char *simple = cli_file_name_of(name);
    *path = NULL;
    tort_status status = take(name, cli_format("%s/input_%d.pb", folder, index), path, error);
    if (!status) status = find_named(folder, simple, name, path, error);
    if (!status && *name && !strchr(name, '/') && strcmp(name, simple) != 0)
        status = find_named(folder, name, name, path, error);
    free(simple);
    return status;
}

tort_status cli_data_set_check(const char *folder, const char *what, int32_t count, tort_error *error) {
    char *path = cli_format("%s/%s_%d.pb", folder, what, count);
    const bool there = is_there(path);
    free(path);
    if (!there) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "there is %s_%d.pb, and the model has only %d %s%s%s", what, (int)count,
                     (int)count, what, count == 1 ? "" : "s", *what == 'i' ? " that no initializer gives" : "");
}

tort_status cli_data_set_is_empty(const char *folder, const char *first, tort_error *error) {
    char *simple = cli_file_name_of(first), *inner = cli_format("%s/test_data_set_0", folder);
    const bool is_case = cli_is_folder(inner);
    const tort_status status =
        tort_fail(error, TORT_E_INPUT,
                  "the folder '%s' has neither input_0.pb nor %s.npy (or .pb .raw .npz .png .jpg), nor a file of "
                  "another input%s%s%s",
                  folder, simple, is_case ? "; did you mean '" : "", is_case ? inner : "", is_case ? "'?" : "");
    free(inner);
    free(simple);
    return status;
}
