/* operator_case.h - a case of one operator on literal inputs, read from a line of text:
 *
 *   "NAME OPSET; attribute=value ...; input; input -> output; output", or "... -> error CODE words of the message"
 *
 * NAME is "DOMAIN.NAME" where the domain is not the main one. A list is "1,2,3", a tensor "f32[2,1] 0.5 -3" (in an
 * attribute "f32[2]:0.5:-3"), an absent one "-". CODE is MODEL, UNSUPPORTED, RUN where only values that come at the run
 * are wrong; as constants they are the model's; or VALUE where nobody looks at them before the run. */
#ifndef TORT_TESTS_UNIT_OPERATOR_CASE_H
#define TORT_TESTS_UNIT_OPERATOR_CASE_H

#include "runtime/include/op.h"
#include "tests/onnx_bytes.h"

enum { MAX_TENSORS = 20, MAX_ELEMENTS = 256, MAX_WORD = 64 };

typedef struct case_tensor {
    tort_tensor tensor; /* type UNDEFINED: absent, "-" */
    int64_t count;
    _Alignas(64) unsigned char data[MAX_ELEMENTS * 16];
} case_tensor;

/* How inputs come. */
typedef enum input_form {
    LIVE,        /* all at the run, of declared shapes */
    UNRANKED,    /* all at the run, of undeclared ranks */
    HALF_RANKED, /* the same of the first half of them */
    REVERSED,    /* the first is in the model, all others come at the run; what can be folded is */
    CONSTANTS,   /* all but the first are in the model */
    COMPUTED,    /* the same, and the first is made right before, of a shape that is only then known */
    FORMS
} input_form;

typedef struct operator_case {
    char name[MAX_WORD], domain[MAX_WORD], attributes[640];
    int opset;           /* of the domain */
    tort_status refusal; /* TORT_OK: it has outputs */
    bool run_alone;      /* finds it, also of constants */
    char message[128];
    int32_t input_count, output_count;
    case_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
} operator_case;

/* The tables of cases that give outputs, each ends with NULL; then NULL. */
extern const char *const *const operator_tables[];

/* Strings of the case stay in the text. */
void operator_case_read(const char *text, operator_case *out);
/* NULL: there is none. */
const tort_op *operator_case_row(const char *domain, const char *name, int opset);
/* A model of one node, named "node", with the case's tensors x0, x1 ... and y0, y1 ... */
void operator_case_write(onnx_bytes *b, const operator_case *c, input_form form);
/* Is the tensor in the model, does it have this output, can its first input be of a shape that a Reshape makes? */
bool operator_case_in_model(const operator_case *c, int32_t input, input_form form);
bool operator_case_has_output(const operator_case *c, int32_t output);
bool operator_case_can_be_computed(const operator_case *c);
/* Equal to what is expected, within the tolerance for a single operator; a difference names `text`. */
void operator_case_compare(const char *text, const tort_tensor *found, const case_tensor *expected);

#endif
