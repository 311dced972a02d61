/* layout_models.h - providers and small models for tests of layouts, and what several of them ask. */
#ifndef TORT_TESTS_UNIT_LAYOUT_MODELS_H
#define TORT_TESTS_UNIT_LAYOUT_MODELS_H

#include "runtime/include/provider.h"
#include "tests/build_model.h"
#include "tests/unit/opened.h"

/* Providers that are as the one for readers, but for what a test is about; after make_channels, for each test:
 *   channels  itself                                  second  the same by another name, in the same memory
 *   twice     its layout has two halves, one used     device  in a memory of its own
 *   lone      has no other rows for what has layouts  bad     with the rows bad_rows */
extern const tort_provider *layout_providers[];
enum { CHANNEL_ROWS = 7 };
extern tort_kernel bad_rows[CHANNEL_ROWS];
void make_channels(void);

/* A model of x [n, 3, 2, 3]; one output, or *second too. */
typedef int32_t build_image(model_builder *b, int32_t x, int32_t *second);

build_image build_convs;    /* conv1 -> relu -> conv2 */
build_image build_lone;     /* tanh -> conv -> exp */
build_image build_branch;   /* conv1 -> relu -> conv2; tanh and exp of relu meet in a second output */
build_image build_shown;    /* conv1 -> conv2, with conv1 an output too */
build_image build_many;     /* conv1 -> relu1 -> shifted by a number -> relu2 -> relu3 -> conv2 -> average */
build_image build_residual; /* conv1 -> relu1 -> conv2 -> added to relu1 -> relu2; tanh of it */
build_image build_foreign;  /* relu1 -> relu2 -> conv1 -> conv2 -> sum with a plain value -> relu3 */
build_image build_constant; /* conv1 -> sum with a constant of one image -> conv2 */
build_image build_mixed;    /* conv1 -> sum with tanh of x -> conv2; exp of conv1 */
build_image build_double;   /* tanh -> added to itself -> conv -> average */
build_image build_fork;     /* tanh -> root, from there two ways of twelve relus -> conv1, conv2 -> sum -> average */
build_image build_reshaped; /* conv1 -> conv2, a shape out of the one between */
build_image build_cut;      /* conv1 -> relu -> conv2 of the first rows of x, as many as an input says */
/* Some ten nodes, each reading what stands before it, as layout_seed says. */
build_image build_random_image;
extern unsigned layout_seed;

tort_model *image_model(build_image *build, const tort_env *env, tort_error *error);

void open_image(opened *o, build_image *build, const char *chain, tort_session_options options);
tort_status run_image(opened *o, int64_t rows, tort_tensor *outputs, int32_t count);
/* The report anew: it describes the plan used last. */
void look_again(opened *o);
const tort_report_node *image_node(const opened *o, const char *name);
/* "x plain->nhwc conv1; ...", in their order. */
void expect_conversions(const opened *o, const char *expected);
/* A run gives what cpu gives node by node, for several numbers of rows. */
void expect_image_as_cpu(build_image *build, const char *chain, int32_t count);

#endif
