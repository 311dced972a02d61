/* onnx_messages.c - see onnx_messages.h. A field without a row is skipped. */
#include "loader/onnx_messages.h"

#include <stddef.h>

#define TABLE(fields)                                                                                                  \
    { fields, (int32_t)(sizeof fields / sizeof *fields) }

static const tort_wire_message attribute_message, function_message, graph_message, node_message, opset_message,
    property_message, sparse_message, type_message, value_info_message;

static const tort_wire_field model_fields[] = {
    {MODEL_IR_VERSION, TORT_FIELD_INT, false, 0, "ir_version", NULL},
    {MODEL_PRODUCER_NAME, TORT_FIELD_TEXT, false, 0, "producer_name", NULL},
    {MODEL_PRODUCER_VERSION, TORT_FIELD_TEXT, false, 0, "producer_version", NULL},
    {MODEL_GRAPH, TORT_FIELD_MESSAGE, false, 0, "graph", &graph_message},
    {MODEL_OPSET_IMPORT, TORT_FIELD_MESSAGE, true, 0, "opset_import", &opset_message},
    {MODEL_METADATA_PROPS, TORT_FIELD_MESSAGE, true, 0, "metadata_props", &property_message},
    {MODEL_FUNCTIONS, TORT_FIELD_MESSAGE, true, 0, "function", &function_message},
};
const tort_wire_message tort_wire_model = TABLE(model_fields);

static const tort_wire_field opset_fields[] = {
    {OPSET_DOMAIN, TORT_FIELD_TEXT, false, 0, "domain", NULL},
    {OPSET_VERSION, TORT_FIELD_INT, false, 0, "version", NULL},
};
static const tort_wire_message opset_message = TABLE(opset_fields);

static const tort_wire_field property_fields[] = {
    {PROPERTY_KEY, TORT_FIELD_TEXT, false, 0, "key", NULL},
    {PROPERTY_VALUE, TORT_FIELD_TEXT, false, 0, "value", NULL},
};
static const tort_wire_message property_message = TABLE(property_fields);

static const tort_wire_field graph_fields[] = {
    {GRAPH_NODE, TORT_FIELD_MESSAGE, true, 0, "node", &node_message},
    {GRAPH_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {GRAPH_INITIALIZER, TORT_FIELD_MESSAGE, true, 0, "initializer", &tort_wire_tensor},
    {GRAPH_INPUT, TORT_FIELD_MESSAGE, true, 0, "input", &value_info_message},
    {GRAPH_OUTPUT, TORT_FIELD_MESSAGE, true, 0, "output", &value_info_message},
    {GRAPH_VALUE_INFO, TORT_FIELD_MESSAGE, true, 0, "value_info", &value_info_message},
    {GRAPH_SPARSE_INITIALIZER, TORT_FIELD_MESSAGE, true, 0, "sparse_initializer", &sparse_message},
};
static const tort_wire_message graph_message = TABLE(graph_fields);

static const tort_wire_field node_fields[] = {
    {NODE_INPUT, TORT_FIELD_TEXT, true, 0, "input", NULL},
    {NODE_OUTPUT, TORT_FIELD_TEXT, true, 0, "output", NULL},
    {NODE_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {NODE_OP_TYPE, TORT_FIELD_TEXT, false, 0, "op_type", NULL},
    {NODE_ATTRIBUTE, TORT_FIELD_MESSAGE, true, 0, "attribute", &attribute_message},
    {NODE_DOMAIN, TORT_FIELD_TEXT, false, 0, "domain", NULL},
    {NODE_OVERLOAD, TORT_FIELD_TEXT, false, 0, "overload", NULL},
};
static const tort_wire_message node_message = TABLE(node_fields);

static const tort_wire_field function_fields[] = {
    {FUNCTION_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {FUNCTION_INPUT, TORT_FIELD_TEXT, true, 0, "input", NULL},
    {FUNCTION_OUTPUT, TORT_FIELD_TEXT, true, 0, "output", NULL},
    {FUNCTION_ATTRIBUTE, TORT_FIELD_TEXT, true, 0, "attribute", NULL},
    {FUNCTION_NODE, TORT_FIELD_MESSAGE, true, 0, "node", &node_message},
    {FUNCTION_OPSET_IMPORT, TORT_FIELD_MESSAGE, true, 0, "opset_import", &opset_message},
    {FUNCTION_DOMAIN, TORT_FIELD_TEXT, false, 0, "domain", NULL},
    {FUNCTION_ATTRIBUTE_PROTO, TORT_FIELD_MESSAGE, true, 0, "attribute_proto", &attribute_message},
    {FUNCTION_OVERLOAD, TORT_FIELD_TEXT, false, 0, "overload", NULL},
};
static const tort_wire_message function_message = TABLE(function_fields);

static const tort_wire_field attribute_fields[] = {
    {ATTRIBUTE_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {ATTRIBUTE_F, TORT_FIELD_FLOAT, false, 0, "f", NULL},
    {ATTRIBUTE_I, TORT_FIELD_INT, false, 0, "i", NULL},
    {ATTRIBUTE_S, TORT_FIELD_BYTES, false, 0, "s", NULL},
    {ATTRIBUTE_T, TORT_FIELD_MESSAGE, false, 0, "t", &tort_wire_tensor},
    {ATTRIBUTE_G, TORT_FIELD_MESSAGE, false, 0, "g", &graph_message},
    {ATTRIBUTE_FLOATS, TORT_FIELD_FLOAT, true, 0, "floats", NULL},
    {ATTRIBUTE_INTS, TORT_FIELD_INT, true, 0, "ints", NULL},
    {ATTRIBUTE_STRINGS, TORT_FIELD_BYTES, true, 0, "strings", NULL},
    {ATTRIBUTE_TENSORS, TORT_FIELD_MESSAGE, true, 0, "tensors", &tort_wire_tensor},
    {ATTRIBUTE_GRAPHS, TORT_FIELD_MESSAGE, true, 0, "graphs", &graph_message},
    {ATTRIBUTE_TP, TORT_FIELD_MESSAGE, false, 0, "tp", &type_message},
    {ATTRIBUTE_TYPE_PROTOS, TORT_FIELD_MESSAGE, true, 0, "type_protos", &type_message},
    {ATTRIBUTE_TYPE, TORT_FIELD_INT, false, 0, "type", NULL},
    {ATTRIBUTE_REF_ATTR_NAME, TORT_FIELD_TEXT, false, 0, "ref_attr_name", NULL},
    {ATTRIBUTE_SPARSE_TENSOR, TORT_FIELD_MESSAGE, false, 0, "sparse_tensor", &sparse_message},
    {ATTRIBUTE_SPARSE_TENSORS, TORT_FIELD_MESSAGE, true, 0, "sparse_tensors", &sparse_message},
};
static const tort_wire_message attribute_message = TABLE(attribute_fields);

static const tort_wire_field value_info_fields[] = {
    {VALUE_INFO_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {VALUE_INFO_TYPE, TORT_FIELD_MESSAGE, false, 0, "type", &type_message},
};
static const tort_wire_message value_info_message = TABLE(value_info_fields);

static const tort_wire_message segment_message = {NULL, 0}; /* that it is there is enough to refuse it */

static const tort_wire_field tensor_fields[] = {
    {TENSOR_DIMS, TORT_FIELD_INT, true, 0, "dims", NULL},
    {TENSOR_DATA_TYPE, TORT_FIELD_INT, false, 0, "data_type", NULL},
    {TENSOR_SEGMENT, TORT_FIELD_MESSAGE, false, 0, "segment", &segment_message},
    {TENSOR_FLOAT_DATA, TORT_FIELD_DATA, true, TORT_WIRE_FIXED32, "float_data", NULL},
    {TENSOR_INT32_DATA, TORT_FIELD_DATA, true, TORT_WIRE_VARINT, "int32_data", NULL},
    {TENSOR_STRING_DATA, TORT_FIELD_BYTES, true, 0, "string_data", NULL},
    {TENSOR_INT64_DATA, TORT_FIELD_DATA, true, TORT_WIRE_VARINT, "int64_data", NULL},
    {TENSOR_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {TENSOR_RAW_DATA, TORT_FIELD_DATA, false, TORT_WIRE_LENGTH, "raw_data", NULL},
    {TENSOR_DOUBLE_DATA, TORT_FIELD_DATA, true, TORT_WIRE_FIXED64, "double_data", NULL},
    {TENSOR_UINT64_DATA, TORT_FIELD_DATA, true, TORT_WIRE_VARINT, "uint64_data", NULL},
    {TENSOR_EXTERNAL_DATA, TORT_FIELD_MESSAGE, true, 0, "external_data", &property_message},
    {TENSOR_DATA_LOCATION, TORT_FIELD_INT, false, 0, "data_location", NULL},
};
const tort_wire_message tort_wire_tensor = TABLE(tensor_fields);

static const tort_wire_field sparse_fields[] = {
    {SPARSE_VALUES, TORT_FIELD_MESSAGE, false, 0, "values", &tort_wire_tensor},
    {SPARSE_INDICES, TORT_FIELD_MESSAGE, false, 0, "indices", &tort_wire_tensor},
    {SPARSE_DIMS, TORT_FIELD_INT, true, 0, "dims", NULL},
};
static const tort_wire_message sparse_message = TABLE(sparse_fields);

static const tort_wire_field dimension_fields[] = {
    {DIMENSION_VALUE, TORT_FIELD_INT, false, 0, "dim_value", NULL},
    {DIMENSION_PARAM, TORT_FIELD_TEXT, false, 0, "dim_param", NULL},
};
static const tort_wire_message dimension_message = TABLE(dimension_fields);

static const tort_wire_field shape_fields[] = {{SHAPE_DIM, TORT_FIELD_MESSAGE, true, 0, "dim", &dimension_message}};
static const tort_wire_message shape_message = TABLE(shape_fields);

static const tort_wire_field tensor_type_fields[] = {
    {TENSOR_TYPE_ELEM_TYPE, TORT_FIELD_INT, false, 0, "elem_type", NULL},
    {TENSOR_TYPE_SHAPE, TORT_FIELD_MESSAGE, false, 0, "shape", &shape_message},
};
static const tort_wire_message tensor_type_message = TABLE(tensor_type_fields);

static const tort_wire_field sequence_fields[] = {
    {ELEMENT_TYPE, TORT_FIELD_MESSAGE, false, 0, "elem_type", &type_message}};
static const tort_wire_message sequence_message = TABLE(sequence_fields);

static const tort_wire_field map_fields[] = {
    {MAP_KEY_TYPE, TORT_FIELD_INT, false, 0, "key_type", NULL},
    {MAP_VALUE_TYPE, TORT_FIELD_MESSAGE, false, 0, "value_type", &type_message},
};
static const tort_wire_message map_message = TABLE(map_fields);

static const tort_wire_message opaque_message = {NULL, 0};

static const tort_wire_field type_fields[] = {
    {TYPE_TENSOR, TORT_FIELD_MESSAGE, false, 0, "tensor_type", &tensor_type_message},
    {TYPE_SEQUENCE, TORT_FIELD_MESSAGE, false, 0, "sequence_type", &sequence_message},
    {TYPE_MAP, TORT_FIELD_MESSAGE, false, 0, "map_type", &map_message},
    {TYPE_OPAQUE, TORT_FIELD_MESSAGE, false, 0, "opaque_type", &opaque_message},
    {TYPE_SPARSE_TENSOR, TORT_FIELD_MESSAGE, false, 0, "sparse_tensor_type", &tensor_type_message},
    {TYPE_OPTIONAL, TORT_FIELD_MESSAGE, false, 0, "optional_type", &sequence_message},
};
static const tort_wire_message type_message = TABLE(type_fields);

/* ---- values ------------------------------------------------------------------------------------------------------ */

static const tort_wire_field sequence_value_fields[] = {
    {VALUE_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {CONTAINER_ELEM_TYPE, TORT_FIELD_INT, false, 0, "elem_type", NULL},
    {CONTAINER_TENSOR, TORT_FIELD_MESSAGE, true, 0, "tensor_values", &tort_wire_tensor},
    {CONTAINER_SPARSE_TENSOR, TORT_FIELD_MESSAGE, true, 0, "sparse_tensor_values", &segment_message},
    {CONTAINER_SEQUENCE, TORT_FIELD_MESSAGE, true, 0, "sequence_values", &tort_wire_sequence},
    {CONTAINER_MAP, TORT_FIELD_MESSAGE, true, 0, "map_values", &tort_wire_map},
    {CONTAINER_OPTIONAL, TORT_FIELD_MESSAGE, true, 0, "optional_values", &tort_wire_optional},
};
const tort_wire_message tort_wire_sequence = TABLE(sequence_value_fields);

static const tort_wire_field optional_value_fields[] = {
    {VALUE_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {CONTAINER_ELEM_TYPE, TORT_FIELD_INT, false, 0, "elem_type", NULL},
    {CONTAINER_TENSOR, TORT_FIELD_MESSAGE, false, 0, "tensor_value", &tort_wire_tensor},
    {CONTAINER_SPARSE_TENSOR, TORT_FIELD_MESSAGE, false, 0, "sparse_tensor_value", &segment_message},
    {CONTAINER_SEQUENCE, TORT_FIELD_MESSAGE, false, 0, "sequence_value", &tort_wire_sequence},
    {CONTAINER_MAP, TORT_FIELD_MESSAGE, false, 0, "map_value", &tort_wire_map},
    {CONTAINER_OPTIONAL, TORT_FIELD_MESSAGE, false, 0, "optional_value", &tort_wire_optional},
};
const tort_wire_message tort_wire_optional = TABLE(optional_value_fields);

static const tort_wire_field map_value_fields[] = {
    {VALUE_NAME, TORT_FIELD_TEXT, false, 0, "name", NULL},
    {MAP_VALUE_KEY_TYPE, TORT_FIELD_INT, false, 0, "key_type", NULL},
    {MAP_VALUE_KEYS, TORT_FIELD_INT, true, 0, "keys", NULL},
    {MAP_VALUE_STRING_KEYS, TORT_FIELD_BYTES, true, 0, "string_keys", NULL},
    {MAP_VALUE_VALUES, TORT_FIELD_MESSAGE, false, 0, "values", &tort_wire_sequence},
};
const tort_wire_message tort_wire_map = TABLE(map_value_fields);
