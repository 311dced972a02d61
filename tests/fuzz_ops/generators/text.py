"""Operators on strings."""

from maker import Node, Tensor, ops
from values import STRING


@ops("StringConcat")
def string_concat(m):
    shape = m.shape()
    return Node([m.tensor(STRING, shape), m.tensor(STRING, m.broadcastable(shape))])


@ops("StringNormalizer")
def string_normalizer(m):
    shape = [m.number(1, 5)] if m.chance(0.7) else [1, m.number(1, 4)]
    attributes = m.word("case_change_action", "NONE", "LOWER", "UPPER") | m.flags("is_case_sensitive")
    if m.chance(0.5):
        attributes["stopwords"] = ["a", "Bee"]
    return Node([m.tensor(STRING, shape)], attributes)


@ops("StringSplit")
def string_split(m):
    words = ["a b  c", " x ", "a,b", "", "one", "a,,b,", "1 2"]
    shape = m.shape(0, 3)
    x = m.tensor(STRING, shape)
    x = Tensor(STRING, [m.random.choice(words) for _ in range(x.array.size)])
    x.array = x.array.reshape(shape)
    attributes = {"delimiter": m.pick(",", " ", "")} if m.chance(0.6) else {}
    return Node([x], attributes | ({"maxsplit": m.number(0, 2)} if m.chance(0.4) else {}), 2)
