/* retype.h - which operands of a net's nodes can be of another type of floats, and the net with some nodes changed. */
#ifndef TORT_QUANTIZE_RETYPE_H
#define TORT_QUANTIZE_RETYPE_H

#include "runtime/core/graph/graph.h"
#include "runtime/quantize/net.h"

/* Types that the rows of operators allow, by node. The net's types are complete. */
typedef struct tort_retype {
    const tort_net *net;
    const tort_model *model; /* for its operators */
    tort_type to;
    uint64_t from;                     /* bit tort_type: the types that become `to` */
    bool **moves;                      /* by node, its inputs and then its outputs: changes its type with the node */
    bool *able;                        /* by node: an operand changes */
    bool *either;                      /* by node: reads input 0 in the type that it has (Shape, Cast to integers) */
    const char **why;                  /* by node with such floats that is not able: why */
    TortOnnx__TensorProto **constants; /* by value: of the new type, made when first asked for */
    tort_maker *maker;                 /* of all that is kept */
} tort_retype;

void tort_retype_open(tort_retype *retype, const tort_net *net, const tort_model *model, tort_type to, uint64_t from,
                      tort_maker *maker);
bool tort_retype_is_from(const tort_retype *retype, int32_t value);
enum { TORT_RETYPE_CAST = 4 };
/* Casts if these nodes change. need: by value, filled; with TORT_RETYPE_CAST if there is one behind it. */
int32_t tort_retype_casts(const tort_retype *retype, const bool *changed, bool ports, uint8_t *need);
/* The message of the net with these nodes changed; ports: inputs and outputs, too. */
TortOnnx__ModelProto *tort_retype_write(tort_retype *retype, const bool *changed, bool ports, tort_maker *maker);

#endif
