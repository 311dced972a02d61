/* find.c - finds the shared object of a package of Python, without running Python (host.h).
 *
 * Looked at, one after the other: the folders of TINYORT_PLUGINS, a list with ':' between them; the site-packages of
 * the virtual environment that VIRTUAL_ENV names; those beside the python3 that PATH finds; the user's. Only absolute
 * folders count, so that nobody else's file in the working directory is loaded. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <glob.h>
#include <limits.h>
#include <unistd.h>

#include "kernels/plugin/host.h"

typedef struct search {
    const tort_host_package *package;
    char *path, *tried;
    size_t size, tried_size;
} search;

static void note(const search *s, const char *what, const char *folder) {
    const size_t used = strlen(s->tried);
    snprintf(s->tried + used, s->tried_size - used, "%s%s%s", used ? ", " : "", what, folder);
}

/* Looks for FOLDER/FILE, where the folder is a pattern; the last match is taken, which is the newest Python. */
static bool look(const search *s, const char *folder, const char *below) {
    char pattern[PATH_MAX];
    glob_t found;
    if (*folder != '/' || !s->package->file) return false;
    const int length = snprintf(pattern, sizeof pattern, "%s%s/%s", folder, below, s->package->file);
    if (length < 0 || (size_t)length >= sizeof pattern) return false;
    bool done = false;
    if (!glob(pattern, 0, NULL, &found)) {
        const char *last = found.gl_pathv[found.gl_pathc - 1];
        done = strlen(last) < s->size && access(last, R_OK) == 0;
        if (done) memcpy(s->path, last, strlen(last) + 1);
    }
    globfree(&found);
    return done;
}

/* Site-packages of a Python below a folder: of its own, Debian's, or of the Pythons that pyenv starts. */
static bool look_below(const search *s, const char *prefix) {
    static const char *const places[] = {"/lib/python3*/site-packages/", "/lib/python3/dist-packages/",
                                         "/local/lib/python3*/dist-packages/",
                                         "/versions/*/lib/python3*/site-packages/"};
    char below[128];
    bool done = false;
    note(s, "site-packages of ", prefix);
    for (size_t i = 0; !done && i < sizeof places / sizeof *places; i++) {
        snprintf(below, sizeof below, "%s%s", places[i], s->package->folder);
        done = look(s, prefix, below);
    }
    return done;
}

/* Copies the next entry of a list with ':' between; false: there is none. */
static bool next_of(const char **list, char *entry, size_t size) {
    if (!*list || !**list) return false;
    const size_t length = strcspn(*list, ":");
    const bool fits = length < size;
    if (fits) memcpy(entry, *list, length);
    entry[fits ? length : 0] = 0;
    *list += length + ((*list)[length] == ':');
    return true;
}

static void go_up(char *path) {
    char *last = strrchr(path, '/');
    if (last) *last = 0;
}

/* Packages that pip has installed for one user. */
static bool look_at_home(const search *s) {
    char prefix[PATH_MAX];
    const char *home = getenv("HOME");
    const int length = home ? snprintf(prefix, sizeof prefix, "%s/.local", home) : 0;
    return length > 0 && (size_t)length < sizeof prefix && look_below(s, prefix);
}

/* The folder above the one in which PATH finds python3, and that of the file to which links lead from there. */
static bool look_beside_python(const search *s) {
    char entry[PATH_MAX], program[PATH_MAX + 16], real[PATH_MAX];
    const char *list = getenv("PATH");
    while (next_of(&list, entry, sizeof entry)) {
        snprintf(program, sizeof program, "%s/python3", entry);
        if (*entry != '/' || access(program, X_OK) != 0) continue;
        go_up(entry);
        if (look_below(s, entry)) return true;
        if (!realpath(program, real)) return false;
        go_up(real);
        go_up(real);
        return strcmp(real, entry) != 0 && look_below(s, real);
    }
    return false;
}

bool tort_host_in_folder(const tort_host_package *package, const char *folder, char *path, size_t size) {
    const int length = snprintf(path, size, "%s/%s", folder, package->file);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

bool tort_host_find(const tort_host_package *package, char *path, size_t size, char *tried, size_t tried_size) {
    const search s = {package, path, tried, size, tried_size};
    const char *list = getenv("TINYORT_PLUGINS"), *environment = getenv("VIRTUAL_ENV");
    char entry[PATH_MAX];
    *tried = 0;
    while (next_of(&list, entry, sizeof entry)) {
        if (*entry) note(&s, "", entry);
        if (look(&s, entry, "")) return true;
    }
    return (environment && look_below(&s, environment)) || look_beside_python(&s) || look_at_home(&s);
}
