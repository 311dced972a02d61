"""Operators of com.microsoft that onnxruntime's CPU provider does not run, held against formulas of their documentation in NumPy.

Usage: formulas.py TINYORT. Every case runs with float and float16 (and the types that it names), on cpu and on the simulated device
(which falls back to cpu where it has no kernel). Prints what fails, then a sum.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"
CHAINS = ("cpu", "cpu:isa=v2", "cudasim,cpu")
TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 4e-3}
erf = np.vectorize(math.erf, otypes=[float])


# ---- formulas --------------------------------------------------------------------------------------------------------


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3))


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x, axis):
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(flat - flat.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape)


def group_norm(x, gamma, beta, groups, activation, channels_last=1, epsilon=1e-5):
    """Of channels last; the others are brought there and back."""
    if not channels_last:
        moved = group_norm(np.moveaxis(x, 1, -1), gamma, beta, groups, activation, 1, epsilon)
        return np.moveaxis(moved, -1, 1)
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    centered = parts - parts.mean((1, 3), keepdims=True)
    normal = (centered / np.sqrt((centered**2).mean((1, 3), keepdims=True) + epsilon)).reshape(x.shape) * gamma + beta
    return silu(normal) if activation else normal


def skip_group_norm(x, gamma, beta, skip, bias=0.0, channels_last=1, **attributes):
    if skip.ndim == 2:
        places = (1,) * (x.ndim - 2)
        skip = skip.reshape(skip.shape[0], *places, skip.shape[1]) if channels_last else skip.reshape(*skip.shape, *places)
    if not channels_last and np.ndim(bias):
        bias = bias.reshape(-1, *(1,) * (x.ndim - 2))
    sums = x + skip + bias
    return group_norm(sums, gamma, beta, channels_last=channels_last, **attributes), sums


def skip_layer_norm(x, skip, gamma, beta=0.0, bias=0.0, epsilon=1e-12):
    sums = x + skip + bias
    mean, variance = sums.mean(-1, keepdims=True), sums.var(-1, keepdims=True)
    return (sums - mean) / np.sqrt(variance + epsilon) * gamma + beta, mean, 1 / np.sqrt(variance + epsilon), sums


def skip_rms_norm(x, skip, gamma, bias=0.0, epsilon=1e-12):
    sums = x + skip + bias
    inverse = 1 / np.sqrt((sums**2).mean(-1, keepdims=True) + epsilon)
    return sums * inverse * gamma, np.zeros_like(inverse), inverse, sums


def split_gelu(x, bias):
    left, right = np.split(x + bias, 2, -1)
    return left * gelu(right)


def gated_bias(query, query_bias, positions, weight, bias, scale, num_heads):
    """As WavLM computes it: two gates of each head and position."""
    batch, length, hidden = query.shape
    heads = (query + query_bias).reshape(batch, length, num_heads, hidden // num_heads).transpose(0, 2, 1, 3)
    sums = (heads @ weight + bias).reshape(batch, num_heads, length, 2, -1).sum(-1)
    update, reset = np.split(1 / (1 + np.exp(-sums)), 2, -1)
    return (update * (reset * scale - 1) + 2) * positions


def swap(x, exchange, batch):
    """The operand of FusedMatMul as the product sees it."""
    x = np.moveaxis(x, 0, -2) if batch else x
    return np.swapaxes(x, -1, -2) if exchange else x


def fused_matmul(a, b, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0):
    return alpha * (swap(a, transA, transBatchA) @ swap(b, transB, transBatchB))


def nhwc_conv(x, w, b=0.0, group=1, strides=None, dilations=None, pads=None):
    """Each place of the kernel is a product of the pixels that it meets."""
    places = w.ndim - 2
    strides, dilations, pads = strides or [1] * places, dilations or [1] * places, pads or [0] * 2 * places
    x = np.pad(x, [(0, 0), *zip(pads[:places], pads[places:]), (0, 0)])
    out = [(size - dilation * (kernel - 1) - 1) // stride + 1 for size, kernel, stride, dilation in zip(x.shape[1:], w.shape[2:], strides, dilations)]
    y = np.zeros([x.shape[0], *out, w.shape[0]])
    for k in np.ndindex(*w.shape[2:]):
        met = x[(slice(None), *(slice(d * i, d * i + s * (n - 1) + 1, s) for i, d, s, n in zip(k, dilations, strides, out)))]
        for g, (pixels, filters) in enumerate(zip(np.split(met, group, -1), np.split(w[(slice(None), slice(None), *k)], group))):
            first = g * len(filters)
            y[..., first : first + len(filters)] += pixels @ filters.T
    return y + b


def nhwc_fused_conv(x, w, b, z, **attributes):
    return np.maximum(nhwc_conv(x, w, b, **attributes) + z, 0)


# ---- cases -----------------------------------------------------------------------------------------------------------

rng = np.random.default_rng(7)


def f(*shape):
    return np.round(rng.normal(0, 1, shape), 3)


def case(name, formula, inputs, attributes=None, outputs=1, given=None):
    """given: the attributes that the formula gets; all where it is None."""
    return name, formula, inputs, attributes or {}, outputs, attributes or {} if given is None else given


def cases():
    yield case("BiasAdd", lambda x, b, s: x + b + s, [f(2, 3, 40), f(40), f(2, 3, 40)])
    yield case("BiasSplitGelu", split_gelu, [f(2, 3, 40), f(40)])
    yield case("BiasDropout", lambda x, b, r: x + b + r, [f(2, 5), f(5), f(2, 5)])
    yield case("BiasGelu", lambda x, b: gelu(x + b), [f(3, 41), f(41)])
    yield case("FastGelu", lambda x, b: fast_gelu(x + b), [f(3, 41), f(41)])
    yield case("FastGelu", fast_gelu, [f(3, 7, 5)])
    yield case("Gelu", gelu, [f(3, 7, 5)])
    yield case("QuickGelu", lambda x, alpha: x / (1 + np.exp(-alpha * x)), [f(3, 7, 5)], {"alpha": 1.5})
    for inner, shape in ((1, [2, 1, 1, 7]), (0, [1, 3, 4, 7]), (1, [2, 3, 1, 7]), (0, [1, 1, 4, 7])):
        yield case("BiasSoftmax", lambda x, b: softmax(x + b, 3), [f(2, 3, 4, 7), f(*shape)], {"axis": 3, "is_inner_broadcast": inner}, given={})
    yield case("BiasSoftmax", lambda x, b: softmax(x + b, 1), [f(3, 4, 5), f(1, 4, 5)], {"axis": 1, "is_inner_broadcast": 0}, given={})
    for last, shape in ((1, [2, 4, 3, 6]), (0, [2, 6, 4, 3])):
        for activation in (0, 1):
            attributes = {"activation": activation, "groups": 3, "channels_last": last}
            yield case("GroupNorm", group_norm, [f(*shape), f(6), f(6)], attributes)
            yield case("SkipGroupNorm", skip_group_norm, [f(*shape), f(6), f(6), f(*shape), f(6)], attributes, 2)
            yield case("SkipGroupNorm", skip_group_norm, [f(*shape), f(6), f(6), f(2, 6)], attributes | {"epsilon": 0.01}, 2)
    yield case("GroupNorm", group_norm, [f(1, 900, 4), f(4), f(4)], {"activation": 1, "groups": 2})
    yield case("GemmFastGelu", lambda x, w, b: fast_gelu(x @ w + b), [f(2, 3, 17), f(17, 33), f(33)])
    yield case("GemmFastGelu", lambda x, w: fast_gelu(x @ w), [f(5, 17), f(17, 3)])
    yield case("FusedMatMulActivation", lambda a, b, alpha, transB: np.tanh(fused_matmul(a, b, alpha, 0, transB)), [f(3, 9), f(4, 9)],
               {"activation": "Tanh", "alpha": 0.5, "transB": 1}, given={"alpha": 0.5, "transB": 1})
    for flags in range(16):
        names = dict(zip(("transA", "transB", "transBatchA", "transBatchB"), map(int, f"{flags:04b}")))
        a, b = [2, 3, 4, 5], [2, 3, 5, 6]
        a, b = (a[:2] + a[:1:-1] if names["transA"] else a), (b[:2] + b[:1:-1] if names["transB"] else b)
        a, b = ([a[2], *a[:2], a[3]] if names["transBatchA"] else a), ([b[2], *b[:2], b[3]] if names["transBatchB"] else b)
        yield case("FusedMatMul", fused_matmul, [f(*a), f(*b)], {"alpha": 0.25, **names})
    yield case("SkipLayerNormalization", skip_layer_norm, [f(2, 5, 24), f(2, 5, 24), f(24), f(24), f(24)], {"epsilon": 1e-3}, 4)
    yield case("SkipLayerNormalization", skip_layer_norm, [f(2, 5, 24), f(1, 5, 24), f(24), f(24)], {"epsilon": 1e-3}, 4)
    yield case("SkipSimplifiedLayerNormalization", skip_rms_norm, [f(2, 5, 24), f(5, 24), f(24), f(24)], {"epsilon": 1e-3}, 4)
    yield case("GatedRelativePositionBias", gated_bias, [f(2, 5, 12), f(12), f(1, 3, 5, 5), f(4, 8), f(8), f(1, 3, 1, 1)], {"num_heads": 3})
    for x, w, attributes in (
            ([2, 9, 8, 6], [8, 6, 3, 3], {"pads": [1, 1, 1, 1]}), ([1, 9, 8, 6], [4, 3, 2, 3], {"group": 2, "strides": [2, 1], "pads": [0, 1, 1, 0]}),
            ([2, 20, 19, 5], [10, 1, 3, 3], {"group": 5, "dilations": [2, 1]}), ([1, 70, 40], [33, 40, 1], {}), ([1, 5, 6, 7, 3], [2, 3, 2, 3, 2], {"strides": [1, 2, 1]})):
        operands = [f(*x), f(*w), f(w[0])]
        yield case("NhwcConv", nhwc_conv, operands[:2], attributes)
        yield case("NhwcConv", nhwc_conv, operands, attributes)
        residual = f(*nhwc_conv(*operands, **attributes).shape)
        yield case("NhwcFusedConv", nhwc_fused_conv, [*operands, residual], attributes | {"activation": "Relu"}, given=attributes)
    yield case("Inverse", np.linalg.inv, [f(2, 5, 5) + 8 * np.eye(5)])
    yield case("CDist", lambda a, b: ((a[:, None] - b) ** 2).sum(-1), [f(5, 700), f(3, 700)])


# ---- running ---------------------------------------------------------------------------------------------------------


def allowed(name, number):
    return number == TensorProto.FLOAT or name != "CDist"


def model_of(name, inputs, attributes, outputs, constant):
    names = [f"x{i}" for i in range(len(inputs))]
    weights = [numpy_helper.from_array(value, n) for n, value in zip(names, inputs) if n in constant]
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, inputs) if n not in constant]
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(name, names, made, name="node", domain=DOMAIN, **attributes)
    graph = helper.make_graph([node], "case", values, [helper.make_empty_tensor_value_info(n) for n in made], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)


def run(tinyort, folder, chain, model, inputs, constant):
    """The outputs, or a sentence."""
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    words = [tinyort, "run", folder / "model.onnx", "--ep", chain, "--save", folder / "out"]
    for i, value in enumerate(inputs):
        if f"x{i}" not in constant:
            np.save(folder / f"x{i}.npy", value)
            words += ["--input", f"x{i}={folder / f'x{i}.npy'}"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    return [np.load(folder / "out" / f"output_{i}.npy") for i in range(len(model.graph.output))]


def difference(got, wanted, dtype):
    """Empty: none."""
    if isinstance(got, str):
        return got
    for i, (ours, theirs) in enumerate(zip(got, wanted)):
        if ours.shape != theirs.shape:
            return f"output {i} has shape {ours.shape} instead of {theirs.shape}"
        scale = max(1.0, np.abs(theirs).max(initial=0))
        worst = np.abs(ours.astype(np.float64) - theirs).max(initial=0) / scale
        if not worst <= TOLERANCES[dtype]:
            return f"output {i} is off by {worst:.3g} of {scale:.3g}"
    return ""


def main():
    tinyort, passed, failures = sys.argv[1], 0, []
    with tempfile.TemporaryDirectory() as place:
        for name, formula, inputs, attributes, outputs, given in cases():
            for dtype in TOLERANCES:
                if not allowed(name, helper.np_dtype_to_tensor_dtype(dtype)):
                    continue
                typed = [value.astype(dtype) for value in inputs]
                wanted = formula(*(value.astype(np.float64) for value in typed), **given)
                wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
                for chain in CHAINS:
                    for constant in ((), {f"x{i}" for i in range(1, len(inputs))}):
                        problem = difference(run(tinyort, Path(place), chain, model_of(name, typed, attributes, outputs, constant), typed, constant), wanted, dtype)
                        passed += not problem
                        failures += [f"{name} {attributes} {dtype} on {chain}, {len(constant)} constant: {problem}"] if problem else []
    print("\n".join([f"FAILED {failure}" for failure in failures] + [f"microsoft: {passed} passed, {len(failures)} failed"]))
    sys.exit(1 if failures or not passed else 0)


if __name__ == "__main__":
    main()
