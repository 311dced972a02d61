/* kernel_case.h - one line of the case table, made into a model of one node with random shapes and values.
 *
 * A line is "NAME OPSET; attribute=value ...; input input ...; outputs" (the last field may be left out: 1), behind a
 * "!" where the run must be refused, for its values, by the plain loop and the device alike. OPSET is the version of
 * the operator's domain, ONNX's or that of fused operators. input      "-" (absent), or TYPE[dims], then at most one of
 *                "=1,-2,a"    a constant with these values, such as axes; "=1,-2:" repeats them,
 *                "=0..9" counts
 *                "~low,high"  random values in this range; else floats in [-3, 3], integers in [-9, 9]
 *   TYPE       f32 f16 bf16 f64 i2 i4 i8 i16 i32 i64 u2 u4 u8 u16 u32 u64 bool f4e2m1 f6e2m3 f6e3m2 f8e4m3fn
 *              f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0, or a letter, once with each of its types:
 *              T  f32 f16      R  bf16 f64      N  bf16 f64 and all integers      B  i8 u8
 *   dims       sums of products of numbers and letters, "3*c", "h+2", "h-1". A small letter is a random extent up to
 *              50, a capital one up to 1500; in further trials each letter in turn is 0
 *   {a}        in an attribute: the extent of that letter */
#ifndef TORT_TESTS_CUDA_KERNEL_CASE_H
#define TORT_TESTS_CUDA_KERNEL_CASE_H

#include "runtime/include/op.h"
#include "tests/onnx_bytes.h"

enum { CASE_TENSORS = 32, CASE_WORD = 64 };

typedef struct case_input {
    tort_tensor tensor; /* type UNDEFINED: absent. Owns its data */
    bool constant;      /* an initializer, else fed to the run */
} case_input;

/* A line with its letters bound. */
typedef struct kernel_case {
    const char *line;
    char name[CASE_WORD], attributes[256];
    int opset;
    tort_type type;        /* what the letter stands for */
    int64_t extents[128];  /* by letter; -1: not in the line */
    bool constant_weights; /* inputs behind the first are constants */
    case_input inputs[CASE_TENSORS];
    int32_t input_count, output_count;
} kernel_case;

/* The operator's row for the line's version; NULL: not in this build, or not a case. */
const tort_op *kernel_case_row(const char *line);
/* Is it to run with float and float16? */
bool kernel_case_has_type_letter(const char *line);
/* The types that a line is to run with, `*count` of them; one that counts for nothing where it has no letter. */
const tort_type *kernel_case_types(const char *line, int *count);
/* The letters of the line's shapes, without repetition. */
void kernel_case_letters(const char *line, char letters[CASE_WORD]);

/* A random instance; `empty` is the letter that is 0, or 0 for none. False: the line is not a case (said on stdout). */
bool kernel_case_make(const char *line, tort_type type, char empty, bool constant_weights, uint64_t *random,
                      kernel_case *out);
void kernel_case_free(kernel_case *c);
void kernel_case_write(const kernel_case *c, onnx_bytes *model);
/* "Add-14 float16 [7,1,33] [1,5,1]" */
void kernel_case_describe(const kernel_case *c, char *text, size_t size);

uint64_t kernel_case_random(uint64_t *state);

#endif
