/* compile.h - a planned session as C99 files for firmware, as text. */
#ifndef TORT_RUNTIME_COMPILE_COMPILE_H
#define TORT_RUNTIME_COMPILE_COMPILE_H

#include "runtime/include/tinyort.h"

typedef struct tort_compile_options {
    const char *name;   /* prefix of files and functions: a name of C */
    const char *layout; /* inputs that are converted to this layout are given in it: "nhwc"; NULL: all are plain */
    bool integers; /* callers give and take integers where the model has a border of scales: QuantizeLinear first */
    bool apart;    /* the weights are bytes in NAME_weights.bin, whose address callers give; else arrays of C */
    const char *target; /* the processor that the Makefile builds for; NULL, or one without a board: this machine */
    bool update;    /* all that training changes is in the weights, so that the code of another training is the same */
    uint32_t align; /* bytes, a power of two of 8 or more: of the arena, and of each array of weights */
    /* The memories of values: a fast one and a slow one beside it, in bytes; fast_bytes 0: all are in one of any size.
     */
    uint64_t fast_bytes, slow_bytes;
    bool strict;         /* TORT_E_PLACEMENT names the steps that compute with floats, if there are some */
    bool main;           /* also a program that runs it on files, and its Makefile */
    bool serial;         /* also a program that runs it for `tinyort validate`: serial.c */
    const char *project; /* also files of this build system, "cmake" (project.c); NULL */
} tort_compile_options;

typedef struct tort_compiled_file {
    char *name, *text; /* owned; name: may have folders, "zephyr/Kconfig" */
    size_t length;
} tort_compiled_file;

enum { TORT_COMPILED_FILES = 9 };

/* Hashes that the header, the object and the file of weights carry, so that files of two compilations are told apart:
 * hashes.c. */
typedef struct tort_compiled_hashes {
    uint64_t graph, code, weights;
} tort_compiled_hashes;

/* A port of the compiled model: what callers give for an input, or take for an output. */
typedef struct tort_compiled_port {
    tort_type type;
    int64_t bytes;
    bool border; /* integers in place of the model's floats: float = scale * (integer - zero) */
    float scale;
    int32_t zero;
} tort_compiled_port;

typedef struct tort_compiled {
    tort_compiled_file files[TORT_COMPILED_FILES];
    int32_t file_count, calls;                      /* calls: statements of the run */
    int32_t banded;                                 /* of these, those that work in bands of rows */
    uint32_t stack_bytes;                           /* of the deepest step; 0: not known for the target */
    uint64_t arena_bytes, slow_bytes, weight_bytes; /* slow_bytes: of a second arena */
    char *slow_values; /* names and bytes of what is in it: "conv1 (9216), ..."; owned; NULL */
    /* Lower bounds of the arena, layer by layer: with outputs over their inputs where kernels can, and without. */
    uint64_t bound_bytes, separate_bytes;
    const char *peak;     /* the node that sets bound_bytes, borrowed from the session; NULL: none */
    double multiply_adds; /* of the operators that are counted */
    /* Nodes of a model with 8-bit numbers whose steps compute with floats (floats.c), as indices into
     * tort_report.nodes. Owned. */
    int32_t *float_nodes, float_count;
    tort_compiled_hashes hashes;
    tort_compiled_port *ports; /* inputs, then outputs; owned */
    char *step_names;          /* a line each; owned */
    int32_t step_count, inputs, outputs;
} tort_compiled;

/* Fills *out, which tort_compiled_free frees, even after an error. All shapes must be known. TORT_E_PLACEMENT names the
 * node that has no form for firmware. */
tort_status tort_compile(tort_session *session, const tort_compile_options *options, tort_compiled *out,
                         tort_error *error);
void tort_compiled_free(tort_compiled *compiled);
/* Refuses a kind of project that there is not, and a name that it cannot have. */
tort_status tort_compile_check_project(const char *kind, const char *name, tort_error *error);

enum { TORT_COMPILE_FLOAT = 32 }; /* bytes of a number's text */
/* Writes a constant of C that reads back to the same bits into text, and returns it; a NaN loses sign and payload. */
char *tort_compile_float(float number, char *text);

#endif
