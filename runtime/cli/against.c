/* against.c - see against.h. */
#include "runtime/cli/against.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/observed.h"
#include "runtime/core/base/locale.h"

static int by_name(const void *a, const void *b) {
    return strcmp(((const cli_against_file *)a)->name, ((const cli_against_file *)b)->name);
}

tort_status cli_against_open(const char *folder, cli_against *a, tort_error *error) {
    *a = (cli_against){.folder = folder};
    DIR *dir = opendir(folder);
    if (!dir)
        return tort_fail(error, TORT_E_INPUT, "--against: cannot read the folder '%s': %s", folder,
                         tort_strerror(errno));
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        a->by_name = a->by_name || !strcmp(entry->d_name, "index.tsv");
        if (!tort_path_ends(entry->d_name, ".npy") && !tort_path_ends(entry->d_name, ".pb")) continue;
        a->files = cli_room(a->files, (size_t)a->count, sizeof *a->files);
        a->files[a->count++] = (cli_against_file){cli_copy_text(entry->d_name, strlen(entry->d_name)), false};
    }
    closedir(dir);
    if (a->count) qsort(a->files, (size_t)a->count, sizeof *a->files, by_name);
    if (a->count) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT,
                     "--against: no file in '%s' is a value: VALUE.npy, or output_0.npy as 'run --save' writes it",
                     folder);
}

void cli_against_free(cli_against *a) {
    for (int32_t i = 0; i < a->count; i++) free(a->files[i].name);
    free(a->files);
}

/* True for "output_12", which is an output by number. */
static bool is_numbered(const char *stem) {
    return !strncmp(stem, "output_", 7) && stem[7] && !stem[7 + strspn(stem + 7, "0123456789")];
}

char *cli_against_take(cli_against *a, const char *value, int32_t output) {
    static const char *const endings[] = {"npy", "pb"};
    char *stem = output < 0 ? cli_file_name_of(value) : cli_format("output_%d", (int)output);
    const bool sought = output < 0 ? a->by_name || !is_numbered(stem) : !a->by_name;
    char *path = NULL;
    for (size_t i = 0; sought && !path && i < sizeof endings / sizeof *endings; i++) {
        const cli_against_file wanted = {.name = cli_format("%s.%s", stem, endings[i])};
        cli_against_file *found = bsearch(&wanted, a->files, (size_t)a->count, sizeof *a->files, by_name);
        free(wanted.name);
        if (!found) continue;
        found->taken = true;
        path = cli_format("%s/%s", a->folder, found->name);
    }
    free(stem);
    return path;
}

char *cli_against_left(const cli_against *a) {
    enum { TOLD = 3 };
    char *text = NULL;
    int32_t left = 0;
    for (int32_t i = 0; i < a->count; i++) {
        if (a->files[i].taken || left++ >= TOLD) continue;
        if (!text) text = cli_copy_text("", 0);
        cli_append(&text, "%s%s", *text ? ", " : "", a->files[i].name);
    }
    if (left > TOLD) cli_append(&text, " and %d more", (int)(left - TOLD));
    return text;
}
