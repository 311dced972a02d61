"""Operators of ai.onnx.ml that take or make maps."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto, helper
from values import STRING, Map

from .ml import ML, WORDS, numbers, rows

NUMERALS = ["1", "-2.5", "3e2", "0", "17", "0.125"]


def keys_of(m, number, count):
    """So many different keys."""
    pool = WORDS if number == STRING else range(-3, 9)
    return m.random.sample(list(pool), count)


def tensor_of(number, values):
    return Tensor(number, np.array(values, dtype=object if number == STRING else None).reshape([len(values)]))


@ops("ZipMap", domain=ML)
def zip_map(m):
    x, features = rows(m, TensorProto.FLOAT)
    number = m.pick(STRING, TensorProto.INT64)
    keys = keys_of(m, number, features)
    if m.chance(0.2):
        keys[0] = keys[-1]
    name = "classlabels_strings" if number == STRING else "classlabels_int64s"
    made = helper.make_sequence_type_proto(helper.make_map_type_proto(number, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
    return Node([x], {name: keys}, types=[made])


@ops("CastMap", domain=ML)
def cast_map(m):
    count, sparse, texts = m.number(0, 6), m.chance(0.5), m.chance(0.5)
    keys = m.random.sample(range(0, 9) if sparse else range(-9, 9), count)
    target = m.pick("TO_FLOAT", "TO_STRING", "TO_INT64")
    words = WORDS if target == "TO_STRING" else NUMERALS[3:5] if target == "TO_INT64" else NUMERALS
    values = tensor_of(STRING, [m.random.choice(words) for _ in keys]) if texts else tensor_of(TensorProto.FLOAT, numbers(m, count, -90, 90))
    attributes = {"cast_to": target, **({"map_form": "SPARSE", "max_map": m.number(9, 12)} if sparse else m.word("map_form", "DENSE"))}
    kind = {"TO_FLOAT": TensorProto.FLOAT, "TO_STRING": STRING, "TO_INT64": TensorProto.INT64}[target]
    return Node([], attributes, maps=[Map(tensor_of(TensorProto.INT64, keys), values)], names=["m0"], types=[kind])


@ops("DictVectorizer", domain=ML)
def dict_vectorizer(m):
    key, value = m.pick((STRING, TensorProto.INT64), (STRING, TensorProto.FLOAT), (STRING, TensorProto.DOUBLE), (TensorProto.INT64, STRING),
                        (TensorProto.INT64, TensorProto.FLOAT), (TensorProto.INT64, TensorProto.DOUBLE))
    vocabulary = keys_of(m, key, m.number(1, 8))
    given = m.random.sample(vocabulary, m.number(0, len(vocabulary)))
    if m.chance(0.2):
        vocabulary.append(vocabulary[0])
    values = [m.random.choice(WORDS) if value == STRING else m.number(-9, 9) for _ in given]
    if m.chance(0.2):
        given, values = [*given, "unknown" if key == STRING else 99], [*values, values[0] if values else "" if value == STRING else 1]
    name = "string_vocabulary" if key == STRING else "int64_vocabulary"
    return Node([], {name: vocabulary}, maps=[Map(tensor_of(key, given), tensor_of(value, values))], names=["m0"], types=[value])
