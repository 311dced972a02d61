"""ONNX's node cases under older opsets: the cases it ships are all of the newest version of their operator.

A case of a single node is repeated for each older version of the operator that takes the node as it is: inputs, outputs and
their types, attributes and their kinds, nothing more than the version asks for. Where the same node means something else in
the older version, CHANGED says so, and there is no case. Such a case is called NAME@OPSET, OPSET being the last of that version.
"""

from functools import cache

import onnx
import onnx.defs
from onnx import TensorProto, helper

Option = onnx.defs.OpSchema.FormalParameterOption

# Versions below the number give other results for a node that they accept.
CHANGED = {
    "Softmax": (13, "the axis divides the tensor into a matrix"),
    "LogSoftmax": (13, "the axis divides the tensor into a matrix"),
    "Hardmax": (13, "the axis divides the tensor into a matrix"),
    "GroupNormalization": (21, "scale and bias are those of groups"),
    "Dropout": (7, "a node without is_test trains"),
    "QuantizeLinear": (13, "there is one scale for the whole tensor"),
    "DequantizeLinear": (13, "there is one scale for the whole tensor"),
}
# The same for one value of an attribute.
CHANGED_VALUES = {
    ("Pad", "mode", b"wrap"): 19,
    ("ScatterElements", "reduction", b"max"): 18,
    ("ScatterElements", "reduction", b"min"): 18,
    ("ScatterND", "reduction", b"max"): 18,
    ("ScatterND", "reduction", b"min"): 18,
    ("Resize", "coordinate_transformation_mode", b"half_pixel_symmetric"): 19,
}
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}


@cache
def schemas_by_operator():
    """{name: {since: schema}} of the main domain."""
    result = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            result.setdefault(schema.name, {})[schema.since_version] = schema
    return result


def type_text(kind):
    """A TypeProto as schemas write it: "seq(tensor(float))"."""
    which = kind.WhichOneof("value")
    if which == "sequence_type":
        return f"seq({type_text(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({type_text(kind.optional_type.elem_type)})"
    return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"


def formal_of(formals, index):
    return formals[min(index, len(formals) - 1)]


def fits_formals(schema, names, formals, least, most, types):
    """Do these inputs or outputs fit, with their types where `types` tells them?"""
    if not least <= len(names) <= most:
        return False
    allowed = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    for index, name in enumerate(names):
        formal = formal_of(formals, index)
        if not name and formal.option != Option.Optional:
            return False
        if name and types.get(name) not in allowed.get(formal.type_str, [formal.type_str]):
            return False
    return True


def fits_attributes(schema, node):
    given = {attribute.name: attribute for attribute in node.attribute}
    if any(formal.required and name not in given for name, formal in schema.attributes.items()):
        return False
    for name, attribute in given.items():
        if name not in schema.attributes or int(schema.attributes[name].type) != attribute.type:
            return False
        if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            return False  # the nodes of a body would need an older form too
    return True


def means_the_same(schema, node, shapes):
    if schema.since_version < CHANGED.get(schema.name, (0,))[0]:
        return False
    for attribute in node.attribute:
        if schema.since_version < CHANGED_VALUES.get((schema.name, attribute.name, attribute.s), 0):
            return False
    # Before opset 7, operators broadcast in one direction, where an attribute says so.
    old_broadcast = "broadcast" in schema.attributes or (schema.name == "PRelu" and schema.since_version < 7)
    return not old_broadcast or len({shapes.get(name) for name in node.input}) == 1


def older_versions(model):
    """The last opset of each older version that takes the model's only node."""
    node = model.graph.node[0]
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    types, shapes = {}, {}
    for info in [*model.graph.input, *model.graph.output]:
        types[info.name] = type_text(info.type)
        shapes[info.name] = tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
    schemas = schemas_by_operator().get(node.op_type, {})
    for since, schema in sorted(schemas.items()):
        later = [version for version in schemas if since < version <= opset]
        if not later or schema.deprecated or node.op_type in RANDOM:
            continue
        if not fits_formals(schema, node.input, schema.inputs, schema.min_input, schema.max_input, types):
            continue
        if not fits_formals(schema, node.output, schema.outputs, schema.min_output, schema.max_output, types):
            continue
        if fits_attributes(schema, node) and means_the_same(schema, node, shapes):
            yield min(later) - 1


def older_models(model):
    """(opset, model) for each older version of the operator of a model with one node."""
    if len(model.graph.node) != 1 or model.graph.node[0].domain != "" or model.functions:
        return
    for opset in older_versions(model):
        older = onnx.ModelProto()
        older.CopyFrom(model)
        del older.opset_import[:]
        older.opset_import.append(helper.make_opsetid("", opset))
        yield opset, older
