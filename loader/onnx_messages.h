/* onnx_messages.h - the messages of the ONNX format that inference reads, and their fields: ONNX's own numbers (its IR
 * version 14, onnx 1.23). What has no name here (documentation, properties of nodes, training, quantization
 * annotations, device placement) is skipped by wire.c, whatever it holds.
 *
 * Every field has its row in onnx_messages.c, which says what it holds. Read next: wire.h. */
#ifndef TORT_LOADER_ONNX_MESSAGES_H
#define TORT_LOADER_ONNX_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

enum tort_model_field {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER_NAME = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    MODEL_METADATA_PROPS = 14,
    MODEL_FUNCTIONS = 25
};

enum tort_opset_field { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };

enum tort_property_field { PROPERTY_KEY = 1, PROPERTY_VALUE = 2 };

enum tort_graph_field {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE_INITIALIZER = 15
};

enum tort_node_field {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8
};

enum tort_function_field {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTRIBUTE = 6, /* parameters without a default */
    FUNCTION_NODE = 7,
    FUNCTION_OPSET_IMPORT = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTRIBUTE_PROTO = 11, /* parameters with a default */
    FUNCTION_OVERLOAD = 13
};

enum tort_attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TENSORS = 10,
    ATTRIBUTE_GRAPHS = 11,
    ATTRIBUTE_TP = 14,
    ATTRIBUTE_TYPE_PROTOS = 15,
    ATTRIBUTE_TYPE = 20,          /* the numbers of tort_attribute_kind */
    ATTRIBUTE_REF_ATTR_NAME = 21, /* in a function: the parameter that this attribute stands for */
    ATTRIBUTE_SPARSE_TENSOR = 22,
    ATTRIBUTE_SPARSE_TENSORS = 23
};

enum tort_value_info_field { VALUE_INFO_NAME = 1, VALUE_INFO_TYPE = 2 };

enum tort_tensor_field {
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2, /* the numbers of tort_type */
    TENSOR_SEGMENT = 3,
    TENSOR_FLOAT_DATA = 4,
    TENSOR_INT32_DATA = 5,
    TENSOR_STRING_DATA = 6,
    TENSOR_INT64_DATA = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_DOUBLE_DATA = 10,
    TENSOR_UINT64_DATA = 11,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14 /* 1: external */
};

enum tort_sparse_field { SPARSE_VALUES = 1, SPARSE_INDICES = 2, SPARSE_DIMS = 3 };

enum tort_container_field { /* of SequenceProto, where values are lists, and of OptionalProto, where they are one */
                            CONTAINER_ELEM_TYPE = 2, /* the numbers of tort_container_kind */
                            CONTAINER_TENSOR = 3,
                            CONTAINER_SPARSE_TENSOR = 4,
                            CONTAINER_SEQUENCE = 5,
                            CONTAINER_MAP = 6,
                            CONTAINER_OPTIONAL = 7
};

enum tort_container_kind { /* in elem_type */
                           HOLDS_TENSORS = 1,
                           HOLDS_SPARSE_TENSORS = 2,
                           HOLDS_SEQUENCES = 3,
                           HOLDS_MAPS = 4,
                           HOLDS_OPTIONALS = 5
};

enum tort_map_value_field {
    MAP_VALUE_KEY_TYPE = 2,
    MAP_VALUE_KEYS = 3,
    MAP_VALUE_STRING_KEYS = 4,
    MAP_VALUE_VALUES = 5
};

enum { VALUE_NAME = 1 }; /* of SequenceProto, OptionalProto and MapProto */

enum tort_shape_field { SHAPE_DIM = 1 };

enum tort_dimension_field { DIMENSION_VALUE = 1, DIMENSION_PARAM = 2 }; /* at most one of the two */

enum tort_type_field { /* exactly one of these */
                       TYPE_TENSOR = 1,
                       TYPE_SEQUENCE = 4,
                       TYPE_MAP = 5,
                       TYPE_OPAQUE = 7,
                       TYPE_SPARSE_TENSOR = 8,
                       TYPE_OPTIONAL = 9
};

enum tort_tensor_type_field { TENSOR_TYPE_ELEM_TYPE = 1, TENSOR_TYPE_SHAPE = 2 };

enum tort_element_field { ELEMENT_TYPE = 1 }; /* of a sequence or an optional */

enum tort_map_field { MAP_KEY_TYPE = 1, MAP_VALUE_TYPE = 2 };

/* ---- the tables -------------------------------------------------------------------------------------------------- */

typedef enum tort_field_kind {
    TORT_FIELD_INT,     /* an integer; where the field is repeated, also packed */
    TORT_FIELD_FLOAT,   /* the same for 32-bit floats */
    TORT_FIELD_TEXT,    /* a string without NUL, so that it is whole as a C string */
    TORT_FIELD_BYTES,   /* kept as it is */
    TORT_FIELD_MESSAGE, /* a message with a table of its own */
    TORT_FIELD_DATA,    /* data of a tensor: noted, not copied */
} tort_field_kind;

typedef enum tort_wire_type {
    TORT_WIRE_VARINT = 0,
    TORT_WIRE_FIXED64 = 1,
    TORT_WIRE_LENGTH = 2,
    TORT_WIRE_FIXED32 = 5
} tort_wire_type;

enum { TORT_MOST_FIELDS = 20 /* of a table */, TORT_LAST_FIELD = 25 /* the largest number of a field */ };

typedef struct tort_wire_message tort_wire_message;

typedef struct tort_wire_field {
    uint32_t number;
    tort_field_kind kind;
    bool repeated;
    tort_wire_type single; /* of data: the wire type of an element that is not packed; TORT_WIRE_LENGTH: never single */
    const char *name;
    const tort_wire_message *message;
} tort_wire_field;

struct tort_wire_message {
    const tort_wire_field *fields;
    int32_t field_count; /* at most TORT_MOST_FIELDS */
};

/* What a file may be. */
extern const tort_wire_message tort_wire_model, tort_wire_tensor, tort_wire_sequence, tort_wire_optional, tort_wire_map;

#endif
