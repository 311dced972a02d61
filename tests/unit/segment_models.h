/* segment_models.h - engines and small models for tests of segments, and what several of them ask. */
#ifndef TORT_TESTS_UNIT_SEGMENT_MODELS_H
#define TORT_TESTS_UNIT_SEGMENT_MODELS_H

#include <stdatomic.h>

#include "runtime/include/provider.h"
#include "tests/build_model.h"
#include "tests/unit/opened.h"

/* Engines that are as the one for readers, but for what a test is about; after make_engines, for each test. */
extern const tort_provider *segment_providers[];
extern atomic_bool segment_is_running; /* of "waiting", whose runs last until they are cancelled */
extern int32_t segments_compiled, segments_released, segments_prepared;
void make_engines(void);

/* A model of x [n, 4] and a weight k [4] that begins with 1; one output, or *second too. */
typedef int32_t build_function(model_builder *b, int32_t x, int32_t k, int32_t *second);

build_function build_chain;   /* relu -> sum -> square: all of it is one segment */
build_function build_diamond; /* relu -> double -> exp -> join -> end, and relu -> join: no engine has exp */
build_function build_early;   /* minus, exp read the segment relu, sum, and stand in the file before its last node */
build_function build_two;     /* the chain, with sum an output too */
build_function build_product; /* relu of a product that cpu has: cpu can fuse them */
build_function build_long;    /* a b c, then e alone, then g h, with others between */
build_function build_shaped;  /* the shape of a value inside decides that of an output */
build_function build_alias;   /* other -> tanh -> before -> relu -> alias -> sum, with three Identities */
build_function build_unknown; /* unique -> first -> last, of a length that the run tells; and relu -> other */

/* Some ten nodes of the engine's operators and others, each reading what stands before it, as segment_seed says. */
build_function build_random;
extern unsigned segment_seed;

tort_model *segment_model(build_function *build, const tort_env *env, tort_error *error);

void open_segments(opened *o, build_function *build, const char *chain, tort_session_options options);
tort_status run_segments(opened *o, int64_t rows, tort_tensor *outputs, int32_t count);
/* The node of this name, or that is made of one of this name. */
const tort_report_node *segment_node(const opened *o, const char *name);
void expect_from(const opened *o, const char *name, const char *from);
const tort_report_verdict *segment_verdict(const opened *o, const char *name);
/* A run gives what cpu gives node by node, for several numbers of rows. */
void expect_as_cpu(build_function *build, const char *chain, int32_t count);

#endif
