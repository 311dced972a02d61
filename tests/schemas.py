"""The schemas of operators, whoever has them: ONNX's own of the package onnx, those of com.microsoft of the package onnxruntime.

Both packages describe an operator in classes of their own; here both become a Schema.
"""

import onnx.defs
from onnx import AttributeProto, helper

MAIN = ""
# Domains of which onnxruntime's package has the schemas; in the main domain it has a few of its own.
ONNXRUNTIME_DOMAINS = ("com.microsoft", MAIN)


class Formal:
    """An input or output. type_str: a constraint's name, or a type; mode: "" single, "?" optional, "*" variadic of one type, "+" variadic of mixed types."""

    def __init__(self, name, type_str, option, homogeneous, types):
        modes = {"Single": "", "Optional": "?", "Variadic": "*" if homogeneous else "+"}
        self.name, self.type_str, self.mode, self.types = name, type_str, modes[option.name], set(types)


class Attribute:
    """kind: a number of AttributeProto.AttributeType; default: the value, None where there is none."""

    def __init__(self, kind, required, default):
        self.kind, self.required = kind, required
        self.default = None if default.type == AttributeProto.UNDEFINED else helper.get_attribute_value(default)


class Schema:
    """constraints: the types that a name such as T stands for."""

    def __init__(self, schema, inputs, outputs, attributes, constraints):
        self.domain, self.name, self.since, self.deprecated = schema.domain, schema.name, schema.since_version, schema.deprecated
        self.inputs, self.outputs, self.attributes, self.constraints = inputs, outputs, attributes, constraints


def _of_onnx(schema):
    def formals(list_):
        return [Formal(f.name, f.type_str, f.option, f.is_homogeneous, f.types) for f in list_]

    attributes = {name: Attribute(a.type.value, a.required, a.default_value) for name, a in schema.attributes.items()}
    constraints = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    return Schema(schema, formals(schema.inputs), formals(schema.outputs), attributes, constraints)


def _of_onnxruntime(schema):
    def formals(list_):
        return [Formal(f.name, f.typeStr, f.option, f.isHomogeneous, f.types) for f in list_]

    def attribute(a):
        return Attribute(AttributeProto.AttributeType.Value(a.type.name), a.required, AttributeProto.FromString(a._default_value))

    attributes = {name: attribute(a) for name, a in schema.attributes.items()}
    constraints = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    return Schema(schema, formals(schema.inputs), formals(schema.outputs), attributes, constraints)


def schemas_by_operator():
    """{(domain, name): {since: Schema}}"""
    from onnxruntime.capi._pybind_state import get_all_operator_schema

    known = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        known.setdefault((schema.domain, schema.name), {})[schema.since_version] = _of_onnx(schema)
    theirs = {}
    for schema in get_all_operator_schema():
        key = schema.domain, schema.name
        if schema.domain in ONNXRUNTIME_DOMAINS and key not in known:
            theirs.setdefault(key, {})[schema.since_version] = _of_onnxruntime(schema)
    return known | theirs
