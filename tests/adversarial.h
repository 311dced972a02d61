/* adversarial.h - models that are made to cost much: tables of shapes, each of which can be made as large as one likes.
 *
 * All are written as densely as the format allows, so that a byte of the file asks for as much as it can. */
#ifndef TORT_TESTS_ADVERSARIAL_H
#define TORT_TESTS_ADVERSARIAL_H

#include "tests/onnx_bytes.h"

typedef struct adversarial_shape {
    const char *name;
    void (*write)(onnx_bytes *b, int n); /* a model of about n of something */
    int n;                               /* for a file of some 100 kB */
    tort_status expected;
    const char *words; /* of the message, where it is refused */
} adversarial_shape;

/* Each ends with a name of NULL. */
extern const adversarial_shape adversarial_graph[];    /* fields that repeat, nodes and values */
extern const adversarial_shape adversarial_contents[]; /* attributes and weights */
extern const adversarial_shape adversarial_bodies[];   /* bodies, functions */

#endif
