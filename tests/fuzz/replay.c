/* replay.c - hands the files given, and those in the folders given, to an entry for libFuzzer. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

/* The bytes lie in memory that ends with them, where the sanitizers see a read behind them. */
static int replay_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size ? size : 1);
    require(file && bytes && fread(bytes, 1, size, file) == size, "a file cannot be read", path);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 1;
}

static int replay(const char *path) {
    struct stat facts;
    int count = 0;
    require(stat(path, &facts) == 0, "there is no such file", path);
    if (!S_ISDIR(facts.st_mode)) return replay_file(path, (size_t)facts.st_size);
    DIR *folder = opendir(path);
    require(folder, "a folder cannot be read", path);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char inside[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        count += replay(inside);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    int count = 0;
    for (int i = 1; i < argc; i++) count += replay(argv[i]);
    printf("fuzz-%s: %d passed, %d failed\n", slash ? slash + 1 : argv[0], count, !count);
    return !count;
}
