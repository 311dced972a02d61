/* version.c - `tinyort version`: describes this build, for bug reports and for scripts.
 *
 * The Makefile defines TORT_COMMIT for this file alone, so that a commit recompiles nothing else. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#ifdef TORT_PICTURES
#include <png.h>

#include <jpeglib.h> /* needs stdio.h before it */
#endif

#include "runtime/core/base/build.h"
#include "runtime/core/base/system.h"
#include "runtime/core/graph/check.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/ops.h"
#include "runtime/cli/table.h"

#ifndef TORT_COMMIT
#define TORT_COMMIT "unknown"
#endif

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

/* Devices that a provider's code is built for; NULL if the provider is not in this build. */
static const char *built_for(const tort_provider_info *info) {
    if (!info->present) return NULL;
    return info->built_for ? info->built_for : "any device that it simulates";
}

static tort_provider_info provider_at(int32_t index) {
    tort_provider_info info = {.struct_size = sizeof info};
    tort_provider_at(index, &info, NULL);
    return info;
}

/* ---- libraries and optional parts -------------------------------------------------------------------------------- */

#define TEXT_EXPANDED(a) #a
#define TEXT(a) TEXT_EXPANDED(a)
#ifndef TORT_PICTURES
#define PNG NULL
#define JPEG NULL
#else
#define PNG png_get_libpng_ver(NULL)
#ifdef LIBJPEG_TURBO_VERSION
#define JPEG "turbo " TEXT(LIBJPEG_TURBO_VERSION) ", interface " TEXT(JPEG_LIB_VERSION)
#else
#define JPEG "interface " TEXT(JPEG_LIB_VERSION)
#endif
#endif

typedef struct library {
    const char *name, *version; /* NULL: not in this build */
} library;

enum { LIBRARIES = 4 };

static void find_libraries(library *libraries) {
    const library found[LIBRARIES] = {
        {"libpng", PNG}, {"libjpeg", JPEG}, {"zlib", zlibVersion()}, {"cJSON", cJSON_Version()}};
    memcpy(libraries, found, sizeof found);
}

/* Parts that this build was made without: the make variable, and what is missing. */
typedef struct part {
    const char *name, *text;
} part;

static const part left_out[] = {
#ifndef TORT_PICTURES
    {"PICTURES", "pictures (PNG and JPEG as inputs, ImageDecoder)"},
#endif
#ifndef TORT_REGEX
    {"REGEX", "regular expressions (RegexFullMatch, Tokenizer)"},
#endif
    {NULL, NULL},
};

/* ---- opsets ------------------------------------------------------------------------------------------------------ */

/* Range of opsets of a domain that the rows of this build cover. */
typedef struct domain {
    const char *name;
    int32_t oldest, newest;
} domain;

enum { MAX_DOMAINS = 16 };

static int32_t find_domains(domain *domains) {
    int32_t count = 0;
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++) {
            int32_t i = 0;
            while (i < count && strcmp(domains[i].name, row->domain) != 0) i++;
            if (i == MAX_DOMAINS) continue;
            if (i == count) domains[count++] = (domain){row->domain, row->since, row->until};
            if (row->since < domains[i].oldest) domains[i].oldest = row->since;
            if (row->until > domains[i].newest) domains[i].newest = row->until;
        }
    return count;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static void fill_json(cJSON *root) {
    library libraries[LIBRARIES];
    domain domains[MAX_DOMAINS];
    const int32_t count = find_domains(domains);
    find_libraries(libraries);
    cli_json_text(root, "version", TORT_VERSION);
    cli_json_text(root, "commit", TORT_COMMIT);
    cli_json_text(root, "compiler", COMPILER);
    cli_json_text(root, "architecture", TORT_ARCHITECTURE);
    cli_json_text(root, "c_library", TORT_LIBC);
    cJSON *built = cJSON_AddObjectToObject(root, "built_for");
    for (int32_t i = 0; i < tort_provider_count(); i++) {
        const tort_provider_info info = provider_at(i);
        cli_json_text(built, info.name, built_for(&info));
    }
    cJSON *ir = cJSON_AddObjectToObject(root, "ir_versions");
    cli_json_number(ir, "oldest", 1);
    cli_json_number(ir, "newest", TORT_NEWEST_IR);
    cJSON *opsets = cJSON_AddObjectToObject(root, "opsets");
    for (int32_t i = 0; i < count; i++) {
        cJSON *range = cJSON_AddObjectToObject(opsets, cli_domain_name(domains[i].name));
        cli_json_number(range, "oldest", domains[i].oldest);
        cli_json_number(range, "newest", domains[i].newest);
    }
    cJSON *list = cJSON_AddObjectToObject(root, "libraries");
    for (size_t i = 0; i < LIBRARIES; i++) cli_json_text(list, libraries[i].name, libraries[i].version);
    cJSON *parts = cJSON_AddArrayToObject(root, "left_out");
    for (const part *p = left_out; p->name; p++) cJSON_AddItemToArray(parts, cJSON_CreateString(p->name));
}

static void print_text(int width) {
    library libraries[LIBRARIES];
    domain domains[MAX_DOMAINS];
    char *opsets = cli_copy_text("", 0), *linked = cli_copy_text("", 0), *missing = cli_copy_text("", 0);
    const int32_t count = find_domains(domains);
    find_libraries(libraries);
    for (int32_t i = 0; i < count; i++)
        cli_append(&opsets, "%s%s %d to %d", i ? ", " : "", cli_domain_name(domains[i].name), domains[i].oldest,
                   domains[i].newest);
    for (size_t i = 0; i < LIBRARIES; i++)
        if (libraries[i].version)
            cli_append(&linked, "%s%s %s", *linked ? ", " : "", libraries[i].name, libraries[i].version);
    for (const part *p = left_out; p->name; p++) cli_append(&missing, "%s%s", *missing ? ", " : "", p->text);
    cli_print(stdout, "tinyort %s\n", TORT_VERSION);
    cli_table *table = cli_table_new("|", 2);
    const struct {
        const char *title, *text;
    } rows[] = {
        {"commit", TORT_COMMIT}, {"compiler", COMPILER}, {"architecture", TORT_ARCHITECTURE}, {"C library", TORT_LIBC}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_cell(table, CLI_DIM, "%s", rows[i].title);
        cli_cell(table, CLI_PLAIN, "%s", rows[i].text);
    }
    for (int32_t i = 0; i < tort_provider_count(); i++) {
        const tort_provider_info info = provider_at(i);
        const char *text = built_for(&info);
        cli_cell(table, CLI_DIM, "%s for", info.name);
        cli_cell(table, CLI_PLAIN, "%s", text ? text : "not in this build");
    }
    cli_cell(table, CLI_DIM, "IR versions");
    cli_cell(table, CLI_PLAIN, "1 to %d", TORT_NEWEST_IR);
    cli_cell(table, CLI_DIM, "opsets");
    cli_cell(table, CLI_PLAIN, "%s", opsets);
    cli_cell(table, CLI_DIM, "libraries");
    cli_cell(table, CLI_PLAIN, "%s", linked);
    if (*missing) {
        cli_cell(table, CLI_DIM, "left out");
        cli_cell(table, CLI_PLAIN, "%s", missing);
    }
    cli_table_print(table, stdout, width);
    free(missing);
    free(opsets);
    free(linked);
}

int cli_version(cli_options *options) {
    cJSON *json = cli_json_of(options);
    if (json)
        fill_json(json);
    else
        print_text(cli_width(stdout, options->width));
    return cli_end_plain(options, &(tort_error){.code = TORT_OK}, json);
}

const char *cli_commit(void) {
    return TORT_COMMIT;
}
