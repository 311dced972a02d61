/* compilation.h - what the printers of the files share: the plan, and texts of operands. */
#ifndef TORT_RUNTIME_COMPILE_COMPILATION_H
#define TORT_RUNTIME_COMPILE_COMPILATION_H

#include <stdio.h>

#include "runtime/firmware/compile/compile.h"
#include "runtime/core/plan/planned.h"

#define TORT_COMPILE_HOT 16 /* multiply-adds for an element of weights in a run, from which on they are hot */
#define TORT_COMPILE_MAGIC UINT64_C(0x0074726f796e6974) /* "tinyort" and a 0, as bytes */
#define TORT_COMPILE_HASH UINT64_C(0xcbf29ce484222325)  /* of nothing */
#define TORT_COMPILE_HEAD 40 /* bytes before the arrays in a file of weights: magic, three hashes, the file's bytes */

enum { TORT_COMPILE_CODES = 160, TORT_COMPILE_DEFINES = 8 };

/* A constant array of the compiled model. */
typedef struct tort_compile_array {
    const char *name; /* in C */
    const char *of;   /* the value or the node that it belongs to, for a comment */
    tort_type type;
    int64_t count;    /* elements */
    int32_t constant; /* of the session; -1: the elements are at `data` */
    const void *data; /* borrowed from the session */
    bool read;        /* the code names it */
    bool hot;         /* a run reads each element many times: worth a place in fast memory */
} tort_compile_array;

/* The value that callers give or take for an input or output of the model, see ports.c. */
typedef struct tort_compile_port {
    int32_t slot;             /* -1: an input that no step reads */
    int32_t border;           /* the step between the slot and the port, which has a scale; -1: none */
    bool in_layout;           /* given in the layout of the options */
    const char *scale, *zero; /* names of arrays that hold them; NULL: the header does, or there are none */
} tort_compile_port;

/* A constant struct that calls take: sizes and zero points. */
typedef struct tort_compile_constant {
    const char *address, *type, *initializer; /* in C; address: "&digits_s3" */
} tort_compile_constant;

/* A compilation in progress. */
typedef struct tort_compilation {
    tort_session *session;
    tort_lowered *lowered;
    tort_planned *planned;
    const tort_plan *plan;
    const char *name, *capitals; /* capitals: the name as macros have it */
    tort_compile_array *arrays;  /* weights in the order in which they are first read */
    int32_t *numbers;            /* by constant of the session: its array; -1: none */
    int32_t array_count, array_room;
    int32_t first_array; /* of those that the step at hand lists */
    /* Offsets from fast_bytes on, if that is not 0, are in the second arena. Bounds: see bounds.c. */
    uint64_t weight_bytes, fast_bytes, arena_bytes, slow_bytes, bound_bytes, separate_bytes;
    uint64_t slow_limit;  /* of the options */
    uint32_t stack_bytes; /* of the deepest step; UINT32_MAX: not known */
    double multiply_adds;
    int32_t peak_step;                    /* the step that sets bound_bytes; -1: none */
    const char *code[TORT_COMPILE_CODES]; /* sources of functions, in the order in which they are printed */
    int32_t code_count, calls;
    tort_compile_constant *shapes; /* in the order in which they are first asked for */
    int32_t shape_count, shape_room;
    const char **step_names; /* by step of the compiled model: the node that it stands for */
    int32_t step_count;
    const char **packed_names; /* by unit: of the arrays of its packed weights; NULL: it has no name yet */
    bool packed_listed;        /* those of the step at hand are listed: an earlier step has the same */
    tort_emit *emit;           /* room for a statement; NULL: not allocated yet */
    const char *defines[TORT_COMPILE_DEFINES]; /* distinct lines of the preprocessor */
    int32_t define_count;
    const char *layout, *target;         /* of the options */
    tort_compiled_hashes hashes;         /* 0 until the code was printed once */
    uint32_t align;                      /* of the options */
    bool integers, apart, update;        /* of the options */
    tort_compile_port *inputs, *outputs; /* by port of the model */
    bool *skipped;                       /* by step: callers do it */
    tort_arena arena;
    tort_error *error;
} tort_compilation;

/* The scale of a port's border, and its zero point. False: it has none. */
bool tort_compile_scale(const tort_compilation *c, const tort_compile_port *port, float *scale, int32_t *zero);
/* hashes.c: adds bytes to a hash; fills the hashes for this text of the code, in which they are 0. */
void tort_compile_hash(uint64_t *hash, const void *data, size_t size);
tort_status tort_compile_hashes(tort_compilation *c, const char *code, size_t length);
/* weights.c: drops the arrays that the body does not name; adds all arrays to the hash of the weights. */
void tort_compile_drop_unread(tort_compilation *c, const char *body);
tort_status tort_compile_hash_weights(tort_compilation *c);
/* weights.c: bytes of the file that holds the weights apart; where an array begins in it; writes it. */
uint64_t tort_compile_weight_place(const tort_compilation *c, const char *name);
uint64_t tort_compile_weights_bytes(const tort_compilation *c);
tort_status tort_compile_weights_apart(tort_compilation *c, FILE *file);
/* header.c: the values that callers give for an input, and take for an output. */
tort_slot tort_compile_input(const tort_compilation *c, int32_t input);
const tort_slot *tort_compile_output(const tort_compilation *c, int32_t output);
/* operands.c: elements of a row of an operand with rows, in a group. */
int64_t tort_compile_row(const tort_compilation *c, const tort_step *step, int32_t operand);
/* ports.c: allocates and fills the members by port, step and constant, checks ports, and lays out the plan without
 * them. */
tort_status tort_compile_ports(tort_compilation *c);
/* The C expression of a slot's bytes, "NULL" for -1, in the arena of the compilation; NULL: they have no place in
 * firmware, or memory has run out. */
const char *tort_compile_operand(tort_compilation *c, int32_t slot);
/* The C expression of an offset in the arenas: "values + 64", an unsigned char *. */
const char *tort_compile_place(tort_compilation *c, uint64_t offset);
/* The name of a constant array in C, after it is listed; NULL: memory has run out. */
const char *tort_compile_list(tort_compilation *c, const tort_compile_array *array);
/* Fills the members of `emit` that tell what calls take besides operands. */
void tort_compile_constants(tort_compilation *c, tort_emit *emit);
/* Lists scales and zero points of ports with the weights, if they are not in the header. */
tort_status tort_compile_borders(tort_compilation *c);
/* The type of C that holds an element, "int8_t"; NULL: none does. */
const char *tort_compile_type(tort_type type);
int64_t tort_compile_elements(const tort_slot *slot);
/* Prints a name from the model, which may hold anything, for a comment of C. */
void tort_compile_name(FILE *file, const char *name);

/* bounds.c: fills bound_bytes, separate_bytes and peak_step. */
tort_status tort_compile_bounds(tort_compilation *c);
/* floats.c: fills out->float_nodes; `strict`: there must be none. */
tort_status tort_compile_floats(tort_compilation *c, tort_compiled *out, bool strict);
/* steps.c: prints the cases of a switch, one for each step of the compiled model; finds code and weights. */
tort_status tort_compile_steps(tort_compilation *c, FILE *file);
/* weights.c: print declarations of the arrays, and the arrays. */
void tort_compile_externs(const tort_compilation *c, FILE *file);
tort_status tort_compile_weights(tort_compilation *c, FILE *file);
/* functions.c: prints the functions that callers have, around the cases of tort_compile_steps. header.c: print the
 * signature of the run, the header. program.c: a program that runs the model on files, and its Makefile. */
void tort_compile_functions(const tort_compilation *c, const char *cases, FILE *file);
/* Prints a template. In it @n is the model's name, @N the name in capitals, @v the version; what stands between @[ and
 * @] is for weights in arrays of C, between @{ and @} for weights apart, between @( and @) for two arenas, between @<
 * and @> for bands alone, and between @* and @; it is repeated for each input and output: @p is its name, "in0", @P
 * "IN0", @t its type in C, @e its elements, at least one. These parts do not nest. */
void tort_compile_fill(const tort_compilation *c, const char *text, FILE *file);
/* functions.c: prints what a product may define; the list of errors. */
void tort_compile_config(const tort_compilation *c, FILE *file);
void tort_compile_errors(const tort_compilation *c, FILE *file);
void tort_compile_signature(const tort_compilation *c, FILE *file);
tort_status tort_compile_header(tort_compilation *c, FILE *file);
tort_status tort_compile_program(tort_compilation *c, FILE *file);
tort_status tort_compile_makefile(tort_compilation *c, FILE *file);
/* serial.c: prints a program that runs the model for a host at a serial line. */
tort_status tort_compile_serial(tort_compilation *c, FILE *file);
/* project.c: adds the files of a build system; kind NULL: none. */
tort_status tort_compile_project(const tort_compilation *c, const char *kind, tort_compiled *out);

#endif
