/* project.c - prints the files that make a compiled model a package of a build system: a library of CMake, a module of
 * Zephyr and so on.
 *
 * A file is a template (tort_compile_fill), and so is its path. The first words, up to "tinyort", do not depend on the
 * model, as the command line knows its own files by them. */
#include <stdlib.h>

#include "runtime/core/base/ascii.h"
#include "runtime/firmware/compile/compilation.h"

/* ---- templates --------------------------------------------------------------------------------------------------- */

typedef struct project_file {
    const char *path;
    const char *text; /* NULL: a sketch */
} project_file;

enum { FILES = 3 };

typedef struct project {
    const char *kind;
    size_t max_name; /* characters */
    project_file files[FILES];
} project;

static const project projects[] = {
    {"cmake",
     60,
     {{"CMakeLists.txt", "# Made by tinyort @v: the model @n as a library, for add_subdirectory and FetchContent.\n"
                         "cmake_minimum_required(VERSION 3.10)\n"
                         "project(@n C)\n\n"
                         "add_library(@n STATIC @n.c@[ @n_weights.c@])\n"
                         "add_library(@n::@n ALIAS @n)\n"
                         "target_include_directories(@n PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
                         "set_target_properties(@n PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)\n"
                         "# Other compilers have the functions of math.h in their library of C.\n"
                         "if(CMAKE_C_COMPILER_ID MATCHES \"^(GNU|Clang|AppleClang)$\" AND NOT MSVC)\n"
                         "  target_link_libraries(@n PUBLIC -lm)\n"
                         "endif()\n"}}},
    {"zephyr",
     60,
     {{"zephyr/module.yml", "# Made by tinyort @v: the model @n as a module of Zephyr.\n"
                            "name: \"@n\"\n" /* YAML takes a name such as yes for a bool */
                            "build:\n"
                            "  cmake: zephyr\n"
                            "  kconfig: zephyr/Kconfig\n"},
      {"zephyr/CMakeLists.txt", "# Made by tinyort @v: the model @n as a module of Zephyr.\n"
                                "if(CONFIG_TINYORT_@N)\n"
                                "  zephyr_library_named(tinyort_@n)\n"
                                "  zephyr_library_sources(${CMAKE_CURRENT_SOURCE_DIR}/../@n.c)\n"
                                "@[  zephyr_library_sources(${CMAKE_CURRENT_SOURCE_DIR}/../@n_weights.c)\n@]"
                                "  zephyr_include_directories(${CMAKE_CURRENT_SOURCE_DIR}/..)\n"
                                "endif()\n"},
      {"zephyr/Kconfig", "# Made by tinyort @v: the model @n as a module of Zephyr.\n"
                         "config TINYORT_@N\n"
                         "\tbool \"Model @n\"\n"
                         "\tselect REQUIRES_FULL_LIBC\n"
                         "\thelp\n"
                         "\t  Links the model, which @n_run of @n.h runs. It calls functions of math.h,\n"
                         "\t  which the minimal library of C lacks.\n"}}},
    {"esp-idf",
     60,
     {{"CMakeLists.txt", "# Made by tinyort @v: the model @n as a component of ESP-IDF.\n"
                         "idf_component_register(SRCS \"@n.c\"@[ \"@n_weights.c\"@] INCLUDE_DIRS \".\")\n"},
      {"idf_component.yml", "# Made by tinyort @v: the model @n as a component of ESP-IDF.\n"
                            "version: \"@v\"\n"
                            "description: The model @n as C99, compiled by tinyort\n"}}},
    {"arduino",
     60,
     {{"library.properties", "author=tinyort\n"
                             "maintainer=tinyort\n"
                             "name=@n\n"
                             "version=@v\n"
                             "sentence=The model @n as C99, compiled by tinyort.\n"
                             "paragraph=It needs no other library.\n"
                             "category=Data Processing\n"
                             "url=https://example.com/\n"
                             "architectures=*\n"
                             "includes=@n.h\n"},
      {"examples/@n/@n.ino", NULL}}},
    {"cmsis-pack",
     32,
     {{"tinyort.@n.pdsc", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<!-- Made by tinyort @v: the model @n as a pack of CMSIS. -->\n"
                          "<package schemaVersion=\"1.7.2\" xmlns:xs=\"http://www.w3.org/2001/XMLSchema-instance\"\n"
                          "         xs:noNamespaceSchemaLocation=\"PACK.xsd\">\n"
                          "  <vendor>tinyort</vendor>\n"
                          "  <name>@n</name>\n"
                          "  <description>The model @n as C99, compiled by tinyort</description>\n"
                          "  <url></url>\n"
                          "  <releases>\n"
                          "    <release version=\"@v\">Compiled by tinyort @v</release>\n"
                          "  </releases>\n"
                          "  <components>\n"
                          "    <component Cclass=\"Machine Learning\" Cgroup=\"Model\" Csub=\"@n\" Cversion=\"@v\">\n"
                          "      <description>The model @n, which @n_run of @n.h runs</description>\n"
                          "      <files>\n"
                          "        <file category=\"header\" name=\"@n.h\"/>\n"
                          "        <file category=\"source\" name=\"@n.c\"/>\n"
                          "@[        <file category=\"source\" name=\"@n_weights.c\"/>\n@]"
                          "      </files>\n"
                          "    </component>\n"
                          "  </components>\n"
                          "</package>\n"}}},
    {"platformio",
     50,
     {{"library.json", "{\n"
                       "  \"description\": \"A model as C99, compiled by tinyort\",\n"
                       "  \"name\": \"@n\",\n"
                       "  \"version\": \"@v\",\n"
                       "  \"keywords\": [\"onnx\", \"model\", \"inference\"],\n"
                       "  \"headers\": \"@n.h\",\n"
                       "  \"frameworks\": \"*\",\n"
                       "  \"platforms\": \"*\",\n"
                       "  \"build\": {\n"
                       "    \"includeDir\": \".\",\n"
                       "    \"srcDir\": \".\",\n"
                       "    \"flags\": \"-lm\",\n"
                       "    \"srcFilter\": [\"+<@n.c>\"@[, \"+<@n_weights.c>\"@]]\n"
                       "  }\n"
                       "}\n"}}},
};

enum { KINDS = sizeof projects / sizeof *projects };

static const project *project_of(const char *kind) {
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(projects[i].kind, kind)) return &projects[i];
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

tort_status tort_compile_check_project(const char *kind, const char *name, tort_error *error) {
    char list[100] = "";
    for (size_t i = 0, used = 0; i < KINDS; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", projects[i].kind);
    const project *made = project_of(kind);
    if (!made) return tort_fail(error, TORT_E_USAGE, "--project: '%s' is none of %s", kind, list);
    if (tort_is_word(*name) && !tort_is_digit(*name) && name[1] && strlen(name) <= made->max_name) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE,
                     "--project %s: '%s' does not begin with a letter, or is not of 2 to %d characters; choose another "
                     "with --name",
                     kind, name, (int)made->max_name);
}

/* ---- printers ---------------------------------------------------------------------------------------------------- */

/* Arduino's Serial has no print of 64 bits; float16 is printed as its bits. */
static void print_output(const tort_compilation *c, int32_t number, FILE *file) {
    const tort_type type = tort_compile_output(c, number)->type;
    const char *as = type == TORT_FLOAT || type == TORT_DOUBLE ? "" : "(long)";
    fprintf(file, "    for (long i = 0; i < %s_OUT%d_SIZE; i++) Serial.println(%sout%d[i]%s);\n", c->capitals,
            (int)number, as, (int)number, *as ? "" : ", 6");
}

/* A sketch that runs the model on zeros. It finds weights apart at an address that its user tells. */
static void print_sketch(const tort_compilation *c, FILE *file) {
    const tort_plan *plan = c->plan;
    tort_compile_fill(
        c, "/* Made by tinyort @v: runs the model @n once on zeros, and prints its outputs. */\n#include <@n.h>\n\n",
        file);
    tort_compile_fill(c,
                      "@{#ifndef @N_WEIGHTS_ADDRESS\n#error \"define @N_WEIGHTS_ADDRESS as the address of the bytes of "
                      "@n_weights.bin\"\n#endif\n\n@}",
                      file);
    tort_compile_fill(
        c,
        "@*static @t @p[@N_@P_SIZE];\n@;"
        "alignas(@N_ARENA_ALIGN) static unsigned char arena[@N_ARENA_BYTES];\n"
        "@(alignas(@N_ARENA_ALIGN) static unsigned char slow_arena[@N_SLOW_ARENA_BYTES];\n@)\n"
        "void setup() {\n    Serial.begin(115200);\n    while (!Serial) {\n    }\n    const int failed = @n_run(@*@p, @;@{(const void *)@N_WEIGHTS_ADDRESS, @}"
        "arena@(, slow_arena@));\n    if (failed) {\n        Serial.print(\"@n_run failed: \");\n        Serial.println(failed);\n"
        "        return;\n    }\n",
        file);
    for (int32_t i = 0; i < plan->output_count; i++) print_output(c, i, file);
    fputs("}\n\nvoid loop() {\n}\n", file);
}

static tort_status add_file(const tort_compilation *c, const project_file *of, tort_compiled_file *made) {
    size_t length = 0;
    FILE *name = open_memstream(&made->name, &length), *text = open_memstream(&made->text, &made->length);
    if (name) tort_compile_fill(c, of->path, name);
    if (text && of->text) tort_compile_fill(c, of->text, text);
    if (text && !of->text) print_sketch(c, text);
    bool failed = !name || !text || ferror(name) || ferror(text);
    if (name && fclose(name)) failed = true;
    if (text && fclose(text)) failed = true;
    return failed ? tort_out_of_memory(c->error, made->length) : TORT_OK;
}

tort_status tort_compile_project(const tort_compilation *c, const char *kind, tort_compiled *out) {
    const project *made = kind ? project_of(kind) : NULL;
    tort_status status = TORT_OK;
    for (size_t i = 0; made && !status && i < FILES && made->files[i].path; i++)
        status = add_file(c, &made->files[i], &out->files[out->file_count++]);
    return status;
}
