/* chain.h - a model that is being written: its values with their shapes, and what nodes are written with. */
#ifndef TORT_TESTS_FUZZ_ROWS_CHAIN_H
#define TORT_TESTS_FUZZ_ROWS_CHAIN_H

#include "tests/fuzz_rows/makers.h"
#include "tests/onnx_bytes.h"

enum { CHAIN_NAME = 16, CHAIN_VALUES = 40 };

typedef struct chain_value {
    char name[CHAIN_NAME];
    int32_t rank, readers;
    int64_t dims[5];
} chain_value;

typedef struct chain {
    onnx_bytes bytes;
    random_source *random;
    tort_type type; /* of all its values */
    bool pictures;  /* mostly 16 channels and multiples of that, and filters of 3x3 */
    chain_value values[CHAIN_VALUES];
    int32_t value_count, node_count, weight_count;
    char text[256]; /* its operators */
} chain;

/* Writes one or a few random nodes, or none where what was drawn does not fit. */
void chain_add(chain *c);
void chain_add_conv(chain *c);
void chain_add_quantized(chain *c); /* a stretch in 8 bits, from the input on */
void chain_add_unary(chain *c);     /* this one and the next fit always */
void chain_add_relu(chain *c);      /* of the newest value */

int64_t chain_elements(const chain_value *v);
int64_t chain_channels(chain *c); /* a random number */
/* A value to read: mostly the newest. */
chain_value *chain_any(chain *c);
/* Another one of the same shape, or of one that differs in channels alone; may be v itself. NULL: found none. */
chain_value *chain_like(chain *c, const chain_value *v, bool but_channels);
/* A new one with the shape of another. */
chain_value *chain_add_value(chain *c, const chain_value *like);

/* Constants: random multiples of scale/8, or a list of int64. */
void chain_weight(chain *c, char name[CHAIN_NAME], int32_t rank, const int64_t *dims, double scale, bool positive);
void chain_list(chain *c, char name[CHAIN_NAME], int64_t count, const int64_t *numbers);

/* Begins a node that reads x and the others, words; attributes may follow, then chain_end. */
void chain_node(chain *c, const char *op, chain_value *x, const char *others, const char *output);
void chain_begin(chain *c, const char *op, const char *inputs, const char *outputs);
void chain_end(chain *c);
void chain_ints(chain *c, const char *name, int32_t count, const int64_t *numbers);
void chain_float(chain *c, const char *name, float number);
void chain_string(chain *c, const char *name, const char *text);

#endif
