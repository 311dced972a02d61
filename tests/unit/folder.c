/* folder.c - see folder.h. */
#include "tests/unit/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char folder[64];

void make_folder(void) {
    strcpy(folder, "/tmp/tinyort_test_XXXXXX");
    cr_assert(mkdtemp(folder));
}

void remove_folder(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

const char *in_folder(const char *name) {
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    cr_assert(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}
