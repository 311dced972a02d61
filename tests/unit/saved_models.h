/* saved_models.h - what the tests of saved plans share: models, what a session computed and reported before it was
 * saved, and a run of a session that was loaded. */
#ifndef TORT_TESTS_UNIT_SAVED_MODELS_H
#define TORT_TESTS_UNIT_SAVED_MODELS_H

#include "tests/onnx_bytes.h"
#include "tests/saved_plan.h"

typedef struct saved_model {
    const char *name;
    void (*write)(onnx_bytes *b);
} saved_model;

enum { SAVED_MODELS = 12, MAX_PORTS = 8 };

extern const saved_model saved_models[SAVED_MODELS];
extern const tort_session_options saved_on_cpu; /* one thread */

void saved_conv_net(onnx_bytes *b);         /* Conv, BatchNormalization and Relu become one; a product */
void saved_open_conv_net(onnx_bytes *b);    /* the same of "N" pictures */
void saved_half_net(onnx_bytes *b);         /* the same in float16 */
void saved_shape_arithmetic(onnx_bytes *b); /* shapes computed of shapes, a weight under two shapes, strings */
void saved_loop(onnx_bytes *b);             /* a body that captures */

/* What a session computes and reports; then it is saved, and all but its bytes is gone. */
typedef struct saved_original {
    saved_bytes bytes;
    tort_value *outputs[MAX_PORTS];
    char *report;
} saved_original;

saved_original saved_original_make(void (*write)(onnx_bytes *b), const tort_session_options *options);
void saved_original_free(saved_original *o);

/* Loads what must load. The caller frees it. */
tort_session *saved_load(const saved_bytes *bytes);
/* The loaded session does what the first one did. */
void saved_expect_same(tort_session *session, const saved_original *o, const char *name);
/* The caller releases the outputs, all of which are NULL after a failure. */
tort_status saved_run(tort_session *session, tort_value **outputs, tort_error *error);
void saved_release(tort_value **values);

#endif
