"""Graph: a network as an exporter writes it, node by node. For networks.py."""

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Collects nodes and weights; every method returns the name of the value it makes."""

    def __init__(self, old, dtype):
        self.old, self.dtype = old, dtype
        self.random = np.random.default_rng(3)
        self.nodes, self.weights, self.inputs, self.outputs, self.known = [], [], [], [], {}

    # ---- values

    def initializer(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None, mean=0.0):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
        return self.initializer((mean + self.random.standard_normal(shape) * (scale or fan_in**-0.5)).astype(self.dtype))

    def small(self, array):
        """A small constant: older exporters write a node for each, newer ones share an initializer."""
        array = np.asarray(array)
        if self.old:
            return self.node("Constant", value=numpy_helper.from_array(array))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            self.known[key] = self.initializer(array)
        return self.known[key]

    def scalar(self, value):
        return self.small(np.array(value, self.dtype))

    def integers(self, *values):
        return self.small(np.array(values, np.int64))

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def input(self, name, kind, *dims):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def image(self):
        return self.input("image", helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)), "batch", 3, "height", "width")

    def size(self, x, axis):
        """Dimension `axis` of x as a tensor of one element."""
        if not self.old:
            return self.node("Shape", x, start=axis, end=axis + 1)
        dim = self.node("Gather", self.node("Shape", x), self.small(np.int64(axis)), axis=0)
        return self.node("Unsqueeze", dim, self.integers(0))

    def shape(self, *dims):
        """A shape of numbers, and of sizes by name."""
        if all(isinstance(dim, int) for dim in dims):
            return self.integers(*dims)
        return self.node("Concat", *(self.integers(dim) if isinstance(dim, int) else dim for dim in dims), axis=0)

    def reshape(self, x, *dims):
        return self.node("Reshape", x, self.shape(*dims))

    def unsqueeze(self, x, *axes):
        if not self.old:
            return self.node("Unsqueeze", x, self.integers(*axes))
        for axis in axes:
            x = self.node("Unsqueeze", x, self.integers(axis))
        return x

    def expand(self, x, *dims):
        """The script exporter guards every shape against -1."""
        shape = self.shape(*dims)
        if self.old:
            shape = self.node("Reshape", shape, self.integers(-1))
            ones = self.node("ConstantOfShape", self.node("Shape", shape), value=numpy_helper.from_array(np.array([1], np.int64)))
            minus = self.node("Mul", ones, self.small(np.int64(-1)))
            shape = self.node("Where", self.node("Equal", shape, minus), ones, shape)
        return self.node("Expand", x, shape)

    # ---- layers

    def conv(self, x, channels, filters, kernel=3, stride=1, group=1, gain=1.2):
        """With the BatchNormalization that follows: a node of its own, or folded into weights and bias. gain: of the values'
        deviation; low in front of a sum, so that values stay where float16 is fine, as in trained networks."""
        attributes = dict(strides=[stride] * 2, pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2, dilations=[1, 1], group=group)
        weight = self.weight(filters, channels // group, kernel, kernel, scale=gain * (channels // group * kernel**2) ** -0.5)
        if not self.old:
            return self.node("Conv", x, weight, self.weight(filters, scale=0.1), **attributes)
        statistics = (self.weight(filters, scale=0.1, mean=mean) for mean in (1.0, 0.0, 0.0))
        variance = self.initializer(self.random.uniform(0.5, 1.5, filters).astype(self.dtype))
        return self.node("BatchNormalization", self.node("Conv", x, weight, **attributes), *statistics, variance, epsilon=1e-5)

    def linear(self, x, size, out):
        product, bias = self.node("MatMul", x, self.weight(size, out, scale=0.5 * size**-0.5)), self.weight(out, scale=0.1)
        return self.node("Add", bias, product) if self.old else self.node("Add", product, bias)

    def gemm(self, x, size, out):
        return self.node("Gemm", x, self.weight(out, size), self.weight(out, scale=0.1), transB=1, alpha=1.0, beta=1.0)

    def norm(self, x, size, epsilon):
        scale, bias = self.weight(size, scale=0.1, mean=1.0), self.weight(size, scale=0.1)
        if not self.old:
            return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon, stash_type=1)
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        variance = self.node("ReduceMean", self.node("Pow", centred, self.scalar(2)), axes=[-1])
        deviation = self.node("Sqrt", self.node("Add", variance, self.scalar(max(epsilon, np.finfo(self.dtype).tiny))))
        return self.node("Add", self.node("Mul", self.node("Div", centred, deviation), scale), bias)

    def gelu(self, x):
        if not self.old:
            return self.node("Gelu", x, approximate="none")
        half = self.node("Add", self.node("Erf", self.node("Div", x, self.scalar(2**0.5))), self.scalar(1))
        return self.node("Mul", self.node("Mul", x, half), self.scalar(0.5))

    def attention(self, x, size, heads, mask=None):
        """Separate projections of query, key and value, as transformers has them."""
        batch, length, head = self.size(x, 0), self.size(x, 1), size // heads

        def split(value, *perm):
            return self.node("Transpose", self.reshape(value, batch, length, heads, head), perm=perm)

        query, key, value = (self.linear(x, size, size) for _ in range(3))
        scores = self.node("MatMul", split(query, 0, 2, 1, 3), split(key, 0, 2, 3, 1))
        scores = self.node("Div", scores, self.scalar(head**0.5)) if self.old else self.node("Mul", scores, self.scalar(head**-0.5))
        if mask:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), split(value, 0, 2, 1, 3))
        return self.linear(self.reshape(self.node("Transpose", mixed, perm=[0, 2, 1, 3]), batch, length, size), size, size)

    def packed_attention(self, x, size, heads, length):
        """One projection, with the batch second, as torch.nn.MultiheadAttention has it."""
        head = size // heads
        packed = self.linear(self.node("Transpose", x, perm=[1, 0, 2]), size, 3 * size)
        packed = self.node("Unsqueeze", self.reshape(packed, length, -1, 3, size), self.integers(0))
        packed = self.node("Squeeze", self.node("Transpose", packed, perm=[3, 1, 2, 0, 4]), self.integers(-2))
        parts = [self.node("Gather", packed, self.small(np.int64(i)), axis=0) for i in range(3)]
        parts = [self.node("Transpose", self.reshape(part, length, -1, head), perm=[1, 0, 2]) for part in parts]
        query, key, value = (self.reshape(part, -1, heads, length, head) for part in parts)
        key = self.reshape(self.node("Transpose", self.reshape(key, -1, length, head), perm=[0, 2, 1]), -1, heads, head, length)
        root = self.scalar(head**-0.25)
        scores = self.node("MatMul", self.node("Mul", query, root), self.node("Mul", key, root))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        mixed = self.reshape(self.node("Transpose", mixed, perm=[2, 0, 1, 3]), -1, size)
        return self.node("Transpose", self.reshape(self.gemm(mixed, size, size), length, -1, size), perm=[1, 0, 2])

    def feed_forward(self, x, size, inner):
        return self.linear(self.gelu(self.linear(x, size, inner)), inner, size)

    def classifier(self, x, channels):
        x = self.node("GlobalAveragePool", x)
        x = self.node("Flatten", x, axis=1) if self.old else self.reshape(x, -1, channels)
        return self.gemm(x, channels, 10)

    def save(self, path, output):
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        ports = [helper.make_tensor_value_info(name, element, None) for name in (output, *self.outputs)]
        graph = helper.make_graph(self.nodes, "network", self.inputs, ports, self.weights)
        opset, version = (14, 7) if self.old else (20, 10)
        domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=version), path)
