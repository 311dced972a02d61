"""Operators of com.microsoft on strings."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto
from values import STRING

MICROSOFT = "com.microsoft"
ATOMS = ["a", "b", "\\.", "[a-c]", "[^ ]", "\\w", "\\d", "\\W", "\\s", ".", "[-_0-9]", "é", "[é-ü]", "[^a-z]", "(a|b)", "(ab|a|cc)", "(?:é|,)", "[[:alpha:]]"]
PLACES = ["\\b", "\\B", "^", "$"]  # of these alone separators are passed over, which onnxruntime does not do (ops/README.md)
COUNTS = ["", "", "", "+", "*", "?", "{2}", "{1,3}", "{2,}"]


def pattern(m, of=ATOMS):
    """Of up to three atoms, of which one must come."""
    atoms = [m.random.choice(of) + m.random.choice(COUNTS) for _ in range(m.number(1, 3))]
    return "".join(atoms) + ("a" if all(atom[-1] in "*?" for atom in atoms) else "")


@ops("Tokenizer", domain=MICROSOFT)
def tokenizer(m):
    shape = m.shape(1, 2, empty=False)
    letters = list("aabbcc de  .,-_019") + ["é", "ü", "€", "X"]
    texts = ["".join(m.random.choice(letters) for _ in range(m.number(0, 12))) for _ in range(int(np.prod(shape)))]
    attributes = {"mark": m.number(0, 1), "mincharnum": m.pick(1, 1, 1, 2, 3), "pad_value": m.pick("#", "", "pad")}
    if m.chance(0.15):
        attributes |= {"mincharnum": 1, **m.pick({"separators": [""]}, {"tokenexp": "."})}
    elif m.chance(0.5):
        attributes["tokenexp"] = m.pick("[a-zA-Z0-9_]+", pattern(m), pattern(m, ATOMS + PLACES))
    else:
        attributes["separators"] = [m.pick(" ", "[ ]", "[.]", ",", "[-_]+", pattern(m)) for _ in range(m.number(1, 3))]
    return Node([Tensor(STRING, np.array(texts, dtype=object).reshape(shape))], attributes, types=[TensorProto.STRING])
