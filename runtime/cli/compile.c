/* compile.c - `tinyort compile`: a model as C99 files for firmware. What is printed is decided by
 * runtime/firmware/compile/. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/compile.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/report_json.h"
#include "runtime/core/base/ascii.h"

/* ---- the name ---------------------------------------------------------------------------------------------------- */

/* The file's name as a name of C: "mobile-net.onnx" gives mobile_net. */
static char *name_of(const char *path) {
    const char *last = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(last, '.');
    char *name = cli_format("%s%.*s", tort_is_digit(*last) ? "model_" : "",
                            (int)(dot && dot != last ? (size_t)(dot - last) : strlen(last)), last);
    for (char *c = name; *c; c++)
        if (!tort_is_word(*c)) *c = '_';
    return name;
}

static tort_status check_name(const char *name, tort_error *error) {
    enum { LONGEST = 60 };
    bool fits = *name && !tort_is_digit(*name) && strlen(name) <= LONGEST;
    for (const char *c = name; *c; c++) fits = fits && (tort_is_word(*c) || *c == '_');
    return fits ? TORT_OK
                : tort_fail(error, TORT_E_USAGE,
                            "--name: '%s' is not a name of C of up to %d letters, digits and '_', as in --name digits",
                            name, LONGEST);
}

static tort_status check_align(int32_t align, tort_error *error) {
    const bool fits = align <= 4096 && !(align & (align - 1));
    return fits ? TORT_OK
                : tort_fail(error, TORT_E_USAGE, "--align: expected a power of two from 8 to 4096, got %d", (int)align);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Refuses to replace a file that tinyort has not written. All that it writes names it in its first words: a file is one
 * of these if it begins with the same words. */
static tort_status check_ours(const char *path, const tort_compiled_file *made, tort_error *error) {
    char words[256] = "";
    const char *name = strstr(made->text, "tinyort");
    const size_t length = name ? (size_t)(name - made->text) + strlen("tinyort") : 0;
    FILE *file = fopen(path, "rb");
    if (!file && errno == ENOENT) return TORT_OK;
    /* One that cannot be read could be replaced all the same, where the folder may be written. */
    const bool ours =
        file && length <= sizeof words && fread(words, 1, length, file) == length && !memcmp(words, made->text, length);
    if (file) fclose(file);
    return ours ? TORT_OK
                : tort_fail(error, TORT_E_IO,
                            "\"%s\" is not of tinyort: it is replaced with --force alone, or write to another folder "
                            "with -o",
                            path);
}

/* Writes all files, or none if one of them must not be replaced. */
static tort_status write_files(const cli_compilation *j, const char *folder, bool force, tort_error *error) {
    const tort_compiled *made = &j->compiled;
    char **paths = cli_alloc((size_t)made->file_count, sizeof *paths);
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < made->file_count; i++) {
        paths[i] = cli_format("%s/%s", folder, made->files[i].name);
        if (!status) status = cli_check_target(paths[i], j->model, error);
        if (!status && !force) status = check_ours(paths[i], &made->files[i], error);
    }
    for (int32_t i = 0; !status && i < made->file_count; i++) {
        char *slash = strrchr(paths[i], '/');
        *slash = 0;
        status = cli_make_folder("--output", paths[i], error);
        *slash = '/';
    }
    for (int32_t i = 0; !status && i < made->file_count; i++)
        status = cli_failed_write(cli_new_file_of(paths[i], made->files[i].text, made->files[i].length, error), error);
    for (int32_t i = 0; i < made->file_count; i++) free(paths[i]);
    free(paths);
    return status;
}

void cli_compilation_free(cli_compilation *made) {
    tort_compiled_free(&made->compiled);
    tort_session_free(made->session);
    tort_model_free(made->model);
    free(made->name);
    free(made->chain);
}

tort_status cli_compilation_make(cli_options *options, cli_compilation *made, tort_error *error) {
    tort_status status = cli_open_model(options, options->operands[0], &made->model, error);
    if (!status) status = cli_check_names(options, made->model, error);
    if (status) return status;
    made->chain = cli_format("firmware%s%s%s", options->processor ? ":target=" : "",
                             options->processor ? options->processor : "", options->bands ? ":bands=on" : "");
    tort_session_options session_options = cli_session_options(options, made->chain);
    status = cli_open_session(made->model, &session_options, &made->session, error);
    const tort_compile_options how = {.name = made->name,
                                      .layout = options->input_layout,
                                      .integers = options->io == CLI_INTEGER,
                                      .align = options->align ? (uint32_t)options->align : 8,
                                      .fast_bytes = options->arena.fast,
                                      .slow_bytes = options->arena.slow,
                                      .update = options->update,
                                      .apart = options->weights == CLI_BIN,
                                      .target = options->processor,
                                      .strict = options->strict_integers,
                                      .main = options->main,
                                      .serial = options->serial,
                                      .project = options->project};
    return status ? status : tort_compile(made->session, &how, &made->compiled, error);
}

tort_status cli_compilation_check(const cli_options *options, cli_compilation *made, tort_error *error) {
    tort_status status = cli_check_environment(error);
    made->name = options->name ? cli_format("%s", options->name) : name_of(options->operands[0]);
    if (!status) status = check_name(made->name, error);
    return status ? status : check_align(options->align, error);
}

static tort_status work(cli_compilation *j, cli_options *options, tort_error *error) {
    tort_status status = cli_compilation_check(options, j, error);
    if (!status && !options->output)
        status = tort_fail(error, TORT_E_USAGE, "tell it where to write the files: --output DIR, or -o DIR");
    if (!status && options->project) status = tort_compile_check_project(options->project, j->name, error);
    if (!status) status = cli_check_folder("--output", options->output, error);
    if (!status) status = cli_compilation_make(options, j, error);
    return status ? status : write_files(j, options->output, options->force, error);
}

static void add_hash(cJSON *hashes, const char *of, uint64_t hash) {
    char *text = cli_format("%016llx", (unsigned long long)hash);
    cli_json_text(hashes, of, text);
    free(text);
}

static void fill_json(const cli_compilation *j, const cli_options *options, cJSON *json) {
    const tort_compiled *made = &j->compiled;
    cli_json_model(json, j->model, cli_model_path(options));
    cli_json_text(json, "name", j->name);
    cJSON *files = cJSON_AddArrayToObject(json, "files");
    for (int32_t i = 0; i < made->file_count; i++) {
        char *path = cli_format("%s/%s", options->output, made->files[i].name);
        cJSON_AddItemToArray(files, cJSON_CreateString(path));
        free(path);
    }
    cli_json_number(json, "calls", made->calls);
    cli_json_number(json, "weight_bytes", (int64_t)made->weight_bytes);
    cli_json_number(json, "arena_bytes", (int64_t)made->arena_bytes);
    cli_json_number(json, "slow_arena_bytes", (int64_t)made->slow_bytes);
    cli_json_number(json, "stack_bytes", (int64_t)made->stack_bytes);
    cli_json_number(json, "bound_bytes", (int64_t)made->bound_bytes);
    cli_json_number(json, "separate_bytes", (int64_t)made->separate_bytes);
    cli_json_number(json, "banded", made->banded);
    cli_json_number(json, "multiply_adds", (int64_t)made->multiply_adds);
    if (made->peak) cli_json_text(json, "peak", made->peak);
    cli_json_number(json, "float_steps", made->float_count);
    cJSON *hashes = cJSON_AddObjectToObject(json, "hashes");
    add_hash(hashes, "graph", made->hashes.graph);
    add_hash(hashes, "code", made->hashes.code);
    add_hash(hashes, "weights", made->hashes.weights);
}

/* Every step of a quantized model that computes with floats, products of 8-bit numbers with reason and cure: there is
 * no table of nodes here that would have them. */
static void tell_precision(tort_session *session, const tort_compiled *made) {
    tort_report *report = cli_report(session);
    const char *label = "in float32     ";
    for (int32_t i = 0; i < made->float_count; i++) {
        const tort_report_node *node = report->nodes[made->float_nodes[i]];
        if (cli_widened(node)) continue;
        cli_print(stdout, "%s%s (%s)\n", label, node->path, node->op);
        label = "               ";
    }
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_verdict *why = cli_widened(report->nodes[i]);
        if (!why) continue;
        cli_print(stdout, "%s%s (%s): %s", label, report->nodes[i]->path, report->nodes[i]->op, why->message);
        if (why->bytes >= 0) cli_print(stdout, ", %lld bytes more", (long long)why->bytes);
        cli_print(stdout, *why->cure ? " -> %s\n" : "%s\n", why->cure);
        label = "               ";
    }
    tort_report_free(report);
}

static void tell(const cli_compilation *j, const cli_options *options) {
    const tort_compiled *made = &j->compiled;
    cli_print(stdout, "calls          %d, %.0f multiply-adds\n", (int)made->calls, made->multiply_adds);
    cli_print(stdout, "weights        %llu bytes\n", (unsigned long long)made->weight_bytes);
    cli_print(stdout, "arena          %llu bytes\n", (unsigned long long)made->arena_bytes);
    if (made->slow_bytes)
        cli_print_line(stdout, "  slow         %llu bytes: %s\n", (unsigned long long)made->slow_bytes,
                       made->slow_values);
    if (made->banded) cli_print(stdout, "  banded       %d calls, in bands of rows\n", (int)made->banded);
    if (made->peak)
        cli_print_line(stdout, "  lower bound  %llu bytes for '%s'; %llu if no output could lie over its input\n",
                       (unsigned long long)made->bound_bytes, made->peak, (unsigned long long)made->separate_bytes);
    if (made->stack_bytes) cli_print(stdout, "stack          at most %u bytes, by gcc -O2 or -Os\n", made->stack_bytes);
    tell_precision(j->session, made);
    for (int32_t i = 0; i < made->file_count; i++)
        cli_print(stdout, "%s%s/%s\n", i ? "               " : "written        ", options->output, made->files[i].name);
}

int cli_compile(cli_options *options) {
    cli_compilation j = {0};
    tort_error error = {0};
    const tort_status status = work(&j, options, &error);
    cJSON *json = cli_json_of(options);
    if (!status && json)
        fill_json(&j, options, json);
    else if (!status)
        tell(&j, options);
    const int result =
        cli_end(options, &(cli_ending){.error = &error, .sessions = &j.session, .session_count = 1, .json = json});
    cli_compilation_free(&j);
    return result;
}
