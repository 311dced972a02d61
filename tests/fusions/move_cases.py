"""Cases for tests/fusions/run.py of nodes that move nothing, or only move elements, and of sums with a Reshape between."""

import numpy as np

SUMS = "a=Add(b,x) r=Reshape(a,s) n=Add(r,k) y=Reshape(n,u)"


def ints(*numbers):
    return np.array(numbers, np.int64)


def joined(case):
    """Nodes that move nothing, and sums with a Reshape between."""
    x = {"x": (2, 3, 4)}
    whole = {"a": ints(0, -3), "b": ints(2**63 - 1, 3), "c": ints(0, 1), "d": ints(1, 1)}
    symbols = {"inputs": {"x": ("n", 3, 4)}, "symbols": {"n": 2}}
    nodes = (("Slice(x,a,b)", whole, {}, 0), ("Slice(x,a,b,c,d)", whole, symbols, 0), ("Slice<starts=[0],ends=[9],axes=[1]>(x)", {}, {"opset": 9}, 0), ('Pad<mode="edge">(x,p)', {"p": ints(*[0] * 6)}, {}, 1),
             ("Pad(x,p)", {"p": ints(*[0] * 6)}, symbols, 1), ("Pad(x,p,v,c)", {"p": ints(*[0] * 4), "v": 1.0, "c": ints(0, 2)}, {"opset": 18}, 1),
             ("Expand(x,s)", {"s": ints(3, 1)}, symbols, 2), ("Tile(x,s)", {"s": ints(1, 1, 1)}, {}, 2),
             ("Concat<axis=1>(x)", {}, symbols, 2), ("Split<axis=1>(x)", {}, {}, 2))
    for node, weights, more, index in nodes:
        yield case(**{"row": "identity", "nodes": f"z=Relu(x) y={node.replace('(x', '(z')}", "inputs": x, "weights": weights, "units": "Relu Identity", "index": index} | more)
        yield case(**{"row": "identity", "nodes": f"y={node}", "inputs": x, "weights": weights, "units": "Identity", "index": index, "opset": 19} | more)
    for b, k in (((1, 3, 5, 5), (1, 6, 1, 5, 5)), ((5,), (6, 1, 1, 5)), ((6, 3, 5, 5), ()), ((3, 1, 1), (6, 1, 5, 1))):
        for dtype in ("float32", "float16"):
            yield case("reshaped_sum", SUMS, {"x": (6, 3, 5, 5)}, {"b": b, "k": k, "s": ints(1, 6, 3, 5, 5), "u": ints(-1, 3, 5, 5)}, "Add", dtype=dtype)
    yield case("reshaped_sum", SUMS, {"x": (6, 3, 5, 5)}, {"b": (3, 1, 5), "k": (3, 1, 5, 5), "s": ints(2, 3, 3, 5, 5), "u": ints(6, 3, 5, 5)}, "Add")
    yield case("reshaped_sum", SUMS, {"x": (6, 3, 5, 5)}, {"b": (3, 5, 5), "k": (75,), "s": ints(6, 75), "u": ints(6, 3, 5, 5)}, "Add")
    masked = "a=MatMul(q,k) m=Add(a,b) r=Reshape(m,s) n=Add(r,hidden) t=Reshape(n,u) p=Softmax<axis=-1>(t) y=MatMul(p,v)"
    windows = {"q": (6, 3, 5, 4), "k": (6, 3, 4, 5), "v": (6, 3, 5, 4)}
    weights = {"b": (1, 3, 5, 5), "hidden": (1, 6, 1, 5, 5), "s": ints(1, 6, 3, 5, 5), "u": ints(6, 3, 5, 5)}
    yield case("reshaped_sum", masked, windows, weights, "FusedAttention")


def viewed(case):
    """Parts and transpositions that the kernel of Concat on cuda reads where they are, but for those that can be made in its output."""
    places = {"zero": ints(0), "one": ints(1), "many": ints(9), "two": ints(2)}
    roll = "a=Relu(x) b=Slice(a,one,many,two) c=Slice(a,zero,one,two) y=Concat<axis=2>(b,c)"
    turned = "a=Relu(x) t=Transpose<perm=[0,2,1]>(a) u=Relu(x2) y=Concat<axis=AXIS>(FIRST)"
    more = {"row": "views", "weights": {}, "units": "", "chains": ("cudasim,cpu",)}
    for dtype in ("float32", "float16"):
        yield case(**more | {"nodes": roll, "inputs": {"x": (2, 3, 5)}, "weights": places, "views": ("b", "c"), "dtype": dtype})
    for first in ("t,u", "u,t"):
        nodes = turned.replace("FIRST", first)
        yield case(**more | {"nodes": nodes.replace("AXIS", "2"), "inputs": {"x": (2, 3, 5), "x2": (2, 5, 4)}, "views": ("t",)})
        yield case(**more | {"nodes": nodes.replace("AXIS", "1"), "inputs": {"x": (2, 70, 40), "x2": (2, 3, 70)}, "views": ("t",)})
        yield case(**more | {"nodes": nodes.replace("AXIS", "1"), "inputs": {"x": (1, 32, 4), "x2": (1, 8, 32)}, "views": ("y",)})
    third = "a=Relu(x) b=Slice(a,one,many,two) c=Slice(a,zero,one,two) y=Concat<axis=2>(a,b,c)"
    yield case(**more | {"nodes": third, "inputs": {"x": (2, 3, 5)}, "weights": places, "views": ("b",)})


def refused(case):
    """What does move something, and sums that stay two."""
    x = {"x": (2, 3, 4)}
    yield case("a part", "y=Slice(x,a,b)", x, {"a": ints(0), "b": ints(1)}, "")
    yield case("a part of axes", "y=Slice(x,a,b,a,d)", x, {"a": ints(0), "b": ints(1), "d": ints(1)}, "")
    yield case("all, backwards", "y=Slice(x,a,b,c,a)", x, {"a": ints(-1), "b": ints(-9), "c": ints(0)}, "")
    yield case("a pad that moves", "y=Pad(x,p)", x, {"p": ints(1, 0, 0, -1, 0, 0)}, "")
    yield case("a length that is repeated", "y=Expand(x,s)", {"x": (2, 1, 4)}, {"s": ints(3, 1)}, "")
    weights = {"b": (1, 3, 5, 5), "k": (6, 1, 5, 5), "s": ints(1, 6, 3, 5, 5), "u": ints(6, 3, 5, 5)}
    yield case("a sum with an input", SUMS, {"x": (6, 3, 5, 5), "k": (6, 1, 5, 5)}, weights, "")
    yield case("a sum with two readers", SUMS, {"x": (6, 3, 5, 5)}, weights, "", outputs=("y", "a"))
    yield case("a sum of unknown lengths", SUMS, {"x": ("n", 3, 1, 4)}, {"b": (3, 1, 1), "k": (3, 4), "s": ints(-1, 3, 4), "u": ints(0, 3, 1, 4)}, "", symbols={"n": 2})
    yield case("a sum that stretches", SUMS, {"x": (1, 3, 5, 5)}, weights | {"s": ints(1, 3, 5, 5), "k": (2, 3, 5, 5), "u": ints(2, 3, 5, 5)}, "")
    yield case("a sum much larger than both", SUMS, {"x": (40, 40)}, {"b": (40, 1), "k": (40,), "s": ints(40, 1, 40), "u": ints(40, 40)}, "")
