/* chains.c - random models of some nodes around convolutions: see makers.h. A node that does not fit the value it would
 * read is left out. Read next: chain_nodes.c. */
#include "tests/fuzz_rows/chain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"

int64_t chain_elements(const chain_value *v) {
    int64_t count = 1;
    for (int32_t d = 0; d < v->rank; d++) count *= v->dims[d];
    return count;
}

int64_t chain_channels(chain *c) {
    random_source *r = c->random;
    if (c->pictures && chance(r, 85)) return pick(r, (const int64_t[]){16, 32, 48, 64}, 4);
    return pick(r, (const int64_t[]){1, 3, 5, 8, 13, 16, 17, 24, 32, 33, 48, 64}, 12);
}

chain_value *chain_any(chain *c) {
    return &c->values[chance(c->random, 70) ? c->value_count - 1 : draw(c->random, 0, c->value_count - 1)];
}

chain_value *chain_like(chain *c, const chain_value *v, bool but_channels) {
    for (int32_t tries = 0; tries < 8; tries++) {
        chain_value *other = &c->values[draw(c->random, 0, c->value_count - 1)];
        bool same = other->rank == v->rank;
        for (int32_t d = 0; same && d < v->rank; d++) same = (but_channels && d == 1) || other->dims[d] == v->dims[d];
        if (same) return other;
    }
    return NULL;
}

chain_value *chain_add_value(chain *c, const chain_value *like) {
    chain_value *added = &c->values[c->value_count];
    *added = *like;
    added->readers = 0;
    snprintf(added->name, sizeof added->name, "v%d", c->value_count++);
    return added;
}

void chain_weight(chain *c, char name[CHAIN_NAME], int32_t rank, const int64_t *dims, double scale, bool positive) {
    tort_tensor tensor = {.type = c->type, .rank = rank};
    size_t bytes;
    if (rank) memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    tort_tensor_bytes(&tensor, &bytes);
    tensor.data = malloc(bytes + 1);
    if (!tensor.data) abort();
    for (int64_t i = 0; i < tort_count(&tensor); i++) {
        const double number = scale * (double)(positive ? draw(c->random, 4, 12) : draw(c->random, -8, 8)) / 8;
        tort_store_doubles(c->type, tensor.data, i, 1, &number);
    }
    snprintf(name, CHAIN_NAME, "w%d", c->weight_count++);
    onnx_tensor(&c->bytes, GRAPH_INITIALIZER, name, c->type, rank, dims, tensor.data, bytes);
    free(tensor.data);
}

void chain_list(chain *c, char name[CHAIN_NAME], int64_t count, const int64_t *numbers) {
    snprintf(name, CHAIN_NAME, "w%d", c->weight_count++);
    onnx_tensor(&c->bytes, GRAPH_INITIALIZER, name, TORT_INT64, 1, &count, numbers, (size_t)count * sizeof *numbers);
}

void chain_begin(chain *c, const char *op, const char *inputs, const char *outputs) {
    char name[CHAIN_NAME];
    snprintf(name, sizeof name, "n%d", c->node_count++);
    onnx_begin_node(&c->bytes, GRAPH_NODE, op, name, inputs, outputs);
    if (strlen(c->text) + strlen(op) + 2 < sizeof c->text) strcat(strcat(c->text, " "), op);
}

void chain_end(chain *c) {
    onnx_end(&c->bytes);
}

void chain_ints(chain *c, const char *name, int32_t count, const int64_t *numbers) {
    onnx_begin_attribute(&c->bytes, name, 7);
    for (int32_t i = 0; i < count; i++) onnx_int(&c->bytes, ATTR_INTS, numbers[i]);
    onnx_end(&c->bytes);
}

void chain_float(chain *c, const char *name, float number) {
    onnx_begin_attribute(&c->bytes, name, 1);
    onnx_float(&c->bytes, ATTR_F, number);
    onnx_end(&c->bytes);
}

void chain_string(chain *c, const char *name, const char *text) {
    onnx_begin_attribute(&c->bytes, name, 3);
    onnx_text(&c->bytes, ATTR_S, text);
    onnx_end(&c->bytes);
}

void chain_node(chain *c, const char *op, chain_value *x, const char *others, const char *output) {
    char inputs[8 * CHAIN_NAME];
    x->readers++;
    snprintf(inputs, sizeof inputs, "%s %s", x->name, others);
    chain_begin(c, op, inputs, output);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void add_input(chain *c, random_model *made) {
    random_source *r = c->random;
    chain_value *x = &c->values[c->value_count++];
    const int32_t axes = (int32_t)pick(r, (const int64_t[]){2, 2, 2, 1, 3}, c->pictures && chance(r, 80) ? 3 : 5);
    const int64_t channels = chance(r, 30) ? draw(r, 1, 4) : chain_channels(c);
    *x = (chain_value){.name = "v0", .rank = axes + 2, .dims = {draw(r, 1, 3), channels}};
    for (int32_t d = 2; d < x->rank; d++)
        x->dims[d] = axes == 1 ? draw(r, 5, 70) : draw(r, 3, axes == 3 ? 8 : c->pictures ? 22 : 15);
    tort_tensor *input = &made->subject.inputs[made->subject.input_count++];
    *input = (tort_tensor){.type = c->type, .rank = x->rank};
    memcpy(input->dims, x->dims, sizeof x->dims);
    made->data = input->data = malloc((size_t)tort_count(input) * sizeof(float) + 64);
    if (!input->data) abort();
    for (int64_t i = 0; i < tort_count(input); i++) {
        const double number = (double)draw(r, -8, 8) / 8;
        tort_store_doubles(c->type, input->data, i, 1, &number);
    }
    made->subject.finite = !chance(r, 6);
    if (!made->subject.finite) spoil(input, r);
    int64_t dims[5];
    memcpy(dims, x->dims, sizeof dims);
    if (chance(r, 30)) dims[0] = -1; /* known at the run */
    onnx_value(&c->bytes, GRAPH_INPUT, x->name, c->type, x->rank, dims);
}

/* What nobody reads, and now and then what somebody does. */
static void add_outputs(chain *c) {
    int32_t outputs = 0;
    for (int32_t i = c->value_count - 1; i > 0; i--) {
        if ((c->values[i].readers && !chance(c->random, 12)) || outputs == MAX_PORTS) continue;
        onnx_value(&c->bytes, GRAPH_OUTPUT, c->values[i].name, c->type, -1, NULL);
        outputs++;
    }
}

static tort_type type_of(random_source *r) {
    const int64_t percent = draw(r, 1, 100);
    return percent <= 80 ? TORT_FLOAT : percent <= 94 ? TORT_FLOAT16 : TORT_BFLOAT16;
}

void make_chain(random_model *made, random_source *random, const tort_env *env) {
    chain c = {.random = random, .type = type_of(random), .pictures = chance(random, 50)};
    tort_error error = {0};
    const int32_t nodes = (int32_t)draw(random, 2, 9);
    onnx_begin_model(&c.bytes, 22);
    add_input(&c, made);
    if (c.pictures) {
        chain_add_conv(&c);
        if (chance(random, 60)) chain_add_relu(&c);
    }
    for (int32_t i = 0; i < nodes; i++) chain_add(&c);
    if (c.value_count == 1) chain_add_unary(&c);
    add_outputs(&c);
    onnx_end(&c.bytes);
    onnx_opset(&c.bytes, MODEL_OPSET, "com.microsoft", 1);
    const tort_status status = tort_model_load_buffer(env, c.bytes.data, c.bytes.size, NULL, &made->model, &error);
    made->subject.model = made->model;
    made->subject.tolerance = (tolerance){1e-4, 1e-3, 1e-5};
    snprintf(made->text, sizeof made->text, "%s%s:%.90s%s%.40s", tort_type_name(c.type),
             made->subject.finite ? "" : ", not finite", c.text, status ? ": " : "", status ? error.msg : "");
    made->bytes = c.bytes;
}
