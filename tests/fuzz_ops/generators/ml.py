"""Operators of ai.onnx.ml that take tensors: features, encoders, linear models, support vector machines."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto
from values import STRING, is_float

ML = "ai.onnx.ml"
WORDS = ["", "a", "Bee", "é", "x y", "0", "-7", "zz"]
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
NUMBERS = (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32)


def rows(m, constraint="T", empty=True):
    """[N, C] or [C], and C."""
    shape = m.shape(2, 2, empty)
    shape[1] = shape[1] or 1
    shape = shape[1:] if m.chance(0.2) else shape
    return m.tensor(constraint, shape), shape[-1]


def numbers(m, count, low=-2, high=2):
    return [round(m.random.uniform(low, high), 2) for _ in range(count)]


def labels(m, count):
    """The attribute with so many labels of classes, some of them equal."""
    if m.chance(0.5):
        return {"classlabels_ints": [m.number(-5, 9) for _ in range(count)]}
    return {"classlabels_strings": [m.random.choice(WORDS) for _ in range(count)]}


def among(m, keys, shape, number):
    """A tensor of elements of which most are among the keys."""
    others = ["other", "Ä", ""] if number == STRING else [77, -3, 0]
    count = int(np.prod(shape, dtype=np.int64))
    chosen = [m.random.choice(keys) if keys and m.chance(0.8) else m.random.choice(others) for _ in range(count)]
    return Tensor(number, np.array(chosen, dtype=object if number == STRING else None).reshape(shape))


# ---- features ------------------------------------------------------------------------------------------------------------


@ops("Binarizer", domain=ML)
def binarizer(m):
    return Node([m.tensor("T", m.shape())], m.floats("threshold"))


@ops("Scaler", domain=ML)
def scaler(m):
    x, features = rows(m)
    count = features if m.chance(0.6) else 1
    return Node([x], {"offset": numbers(m, count), "scale": numbers(m, count)})


@ops("Normalizer", domain=ML)
def normalizer(m):
    x, _ = rows(m)
    return Node([x], m.word("norm", "MAX", "L1", "L2"))


@ops("Imputer", domain=ML)
def imputer(m):
    x, features = rows(m)
    count = features if m.chance(0.6) else 1
    if not is_float(x.type):
        return Node([x], {"imputed_value_int64s": [m.number(-9, 9) for _ in range(count)], "replaced_value_int64": m.number(-2, 2)})
    replaced = float("nan") if m.chance(0.4) else 1.0
    array = np.where(m.rng.random(x.shape) < 0.3, replaced, x.array)
    return Node([Tensor(x.type, array)], {"imputed_value_floats": numbers(m, count), "replaced_value_float": replaced})


@ops("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(m):
    shape = m.shape(1, 4, empty=False)
    indices = [m.number(0, shape[-1] - 1) for _ in range(m.number(1, 4))]
    return Node([m.tensor("T", shape), Tensor(TensorProto.INT64, np.array(indices).reshape(m.pick([-1], [1, -1], [-1, 1])))])


@ops("FeatureVectorizer", domain=ML)
def feature_vectorizer(m):
    count, single, batch = m.number(1, 4), m.chance(0.2), m.number(0, 4)
    widths = [m.number(1, 4) for _ in range(count)]
    inputs = [m.tensor("T1", [w] if single else [batch, w]) for w in widths]
    return Node(inputs, {"inputdimensions": [m.number(0, 5) if m.chance(0.2) else w for w in widths]})


# ---- encoders ------------------------------------------------------------------------------------------------------------


@ops("OneHotEncoder", domain=ML)
def one_hot_encoder(m):
    number = m.type("T")
    pool = WORDS if number == STRING else list(range(-3, 8))
    keys = [m.random.choice(pool) for _ in range(m.number(1, 6))]
    x = among(m, keys, m.shape(0, 3), number)
    if is_float(number):
        x.array = (x.array + m.pick(0, 0.3) * np.sign(x.array)).astype(x.array.dtype)
    return Node([x], {"cats_strings" if number == STRING else "cats_int64s": keys, **({"zeros": m.number(0, 1)} if m.chance(0.4) else {})})


@ops("CategoryMapper", domain=ML)
def category_mapper(m):
    count = m.number(1, 6)
    words, integers = [m.random.choice(WORDS) for _ in range(count)], [m.number(-3, 7) for _ in range(count)]
    number = m.type("T1")
    defaults = {"default_string": "none"} if m.chance(0.4) else {"default_int64": 42} if m.chance(0.5) else {}
    x = among(m, words if number == STRING else integers, m.shape(), number)
    return Node([x], {"cats_strings": words, "cats_int64s": integers, **defaults}, types=[TensorProto.INT64 if number == STRING else STRING])


def label_encoder_1(m):
    number = m.type("T1")
    words = [m.random.choice(WORDS) for _ in range(m.number(1, 6))]
    defaults = {"default_string": "none"} if m.chance(0.4) else {"default_int64": 42} if m.chance(0.5) else {}
    x = among(m, words if number == STRING else list(range(len(words))), m.shape(), number)
    return Node([x], {"classes_strings": words, **defaults}, types=[TensorProto.INT64 if number == STRING else STRING])


LISTS = {STRING: "strings", TensorProto.INT64: "int64s", TensorProto.FLOAT: "floats"}


def side(m, what, number, values):
    """The attribute with keys or values: a list, or a tensor where there is one."""
    if number in LISTS and (m.since < 4 or m.chance(0.6)):
        return {f"{what}_{LISTS[number]}": values}
    array = np.array(values, dtype=object if number == STRING else None)
    return {f"{what}_tensor": Tensor(number, array)}


@ops("LabelEncoder", domain=ML)
def label_encoder(m):
    if m.since == 1:
        return label_encoder_1(m)
    number, result, count = m.type("T1"), m.type("T2"), m.number(1, 6)
    pools = {STRING: WORDS, TensorProto.FLOAT: [0.0, 1.5, -2.0, 3.0, float("nan"), 7.0], TensorProto.DOUBLE: [0.0, 1.5, -2.0, 0.1, 7.0]}
    integers = [-3, 0, 1, 2, 5, 9]
    keys = [m.random.choice(pools.get(number, integers)) for _ in range(count)]
    values = [m.random.choice(pools.get(result, integers)) for _ in range(count)]
    attributes = side(m, "keys", number, keys) | side(m, "values", result, values)
    if m.since >= 4 and m.chance(0.4):
        attributes["default_tensor"] = Tensor(result, np.array(["none"] if result == STRING else [3], dtype=object if result == STRING else None))
    elif result in LISTS and m.chance(0.5):
        attributes[f"default_{LISTS[result][:-1]}"] = "none" if result == STRING else 3
    return Node([among(m, keys, m.shape(), number)], attributes, types=[result])


# ---- linear models -------------------------------------------------------------------------------------------------------


@ops("LinearRegressor", domain=ML, sums=True)
def linear_regressor(m):
    x, features = rows(m)
    targets = m.number(1, 4)
    attributes = {"coefficients": numbers(m, features * targets), **({"targets": targets} if targets > 1 or m.chance(0.5) else {})}
    if m.chance(0.7):
        attributes["intercepts"] = numbers(m, targets)
    return Node([x], attributes | m.word("post_transform", *TRANSFORMS))


@ops("LinearClassifier", domain=ML, sums=True)
def linear_classifier(m):
    x, features = rows(m, "T1")
    scores = m.number(1, 4)
    classes = labels(m, 2 if scores == 1 else scores)
    attributes = {"coefficients": numbers(m, features * scores), "intercepts": numbers(m, scores), **classes}
    attributes |= m.flags("multi_class") | m.word("post_transform", *TRANSFORMS)
    return Node([x], attributes, 2, types=[STRING if "classlabels_strings" in classes else TensorProto.INT64, TensorProto.FLOAT])


# ---- support vector machines ---------------------------------------------------------------------------------------------


def kernel(m):
    kind = m.pick("LINEAR", "POLY", "RBF", "SIGMOID")
    return {"kernel_type": kind, "kernel_params": [m.pick(0.1, 0.5, 1.0), m.pick(0.0, 0.3, -1.0), float(m.number(1, 4))]}


@ops("SVMRegressor", domain=ML, sums=True)
def svm_regressor(m):
    x, features = rows(m)
    vectors = m.pick(0, 1, 2, 3, 6)
    attributes = {"rho": numbers(m, 1), "coefficients": numbers(m, vectors or features), "n_supports": vectors, **kernel(m)}
    if vectors:
        attributes["support_vectors"] = numbers(m, vectors * features)
    return Node([x], attributes | m.flags("one_class") | (m.word("post_transform", *TRANSFORMS) if m.chance(0.3) else {}))


@ops("SVMClassifier", domain=ML, sums=True)
def svm_classifier(m):
    x, features = rows(m, "T1")
    classes = m.number(1, 5) if m.chance(0.3) else m.number(2, 4)
    per_class = [m.number(0, 3) for _ in range(classes)] if m.chance(0.75) else []
    vectors, pairs = sum(per_class), classes * (classes - 1) // 2
    chosen = labels(m, classes)
    attributes = {**kernel(m), **chosen, **m.word("post_transform", *TRANSFORMS)}
    if vectors:
        attributes |= {"vectors_per_class": per_class, "support_vectors": numbers(m, vectors * features), "rho": numbers(m, pairs),
                       "coefficients": numbers(m, max(1, (classes - 1) * vectors))}
        if m.chance(0.5) and pairs:
            attributes |= {"prob_a": numbers(m, pairs, -2, -0.1), "prob_b": numbers(m, pairs, -0.5, 0.5)}
    else:
        attributes |= {"coefficients": numbers(m, classes * features), "rho": numbers(m, 1)}
    return Node([x], attributes, 2, types=[STRING if "classlabels_strings" in chosen else TensorProto.INT64, TensorProto.FLOAT])
