"""A small decoder of bytes, trained with numpy on text of this tree: weights and inputs of layers that are correlated as those of real ones are,
which random weights are not. Pre-norm blocks of causal attention and a layer of ReLU, without biases; gradients are written out."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

WIDTH, LAYERS, HEADS, LENGTH, SYMBOLS = 128, 2, 4, 32, 128


def text_of(root):
    """Bytes below 128 of sources, in one array."""
    files = sorted([*root.glob("runtime/core/**/*.c"), *root.glob("ops/*.c")])[:60]
    text = np.frombuffer(b"".join(f.read_bytes() for f in files), np.uint8)
    return text[text < SYMBOLS].astype(np.int64)


def initial(random):
    w = {"table": random.normal(0, 0.1, (SYMBOLS, WIDTH)), "places": random.normal(0, 0.1, (LENGTH, WIDTH)), "logits": random.normal(0, 0.05, (WIDTH, SYMBOLS))}
    for k in range(LAYERS):
        for name, shape in {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}.items():
            w[f"{name}{k}"] = random.normal(0, 0.7 / np.sqrt(shape[0]), shape)
    return {name: a.astype(np.float32) for name, a in w.items()}


def normalize(x):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred * inverse, inverse


def normalize_back(y, inverse, g):
    return inverse * (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def split(x):
    return x.reshape(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)


def join(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], WIDTH)


MASK = np.triu(np.full((LENGTH, LENGTH), -1e4, np.float32), 1)
SCALE = np.float32((WIDTH // HEADS) ** -0.5)


def attend(w, k, x):
    """x and what its gradient needs."""
    a, inverse = normalize(x)
    q, key, v = (split(part) for part in np.split(a @ w[f"qkv{k}"], 3, -1))
    p = softmax(q @ key.transpose(0, 1, 3, 2) * SCALE + MASK)
    c = join(p @ v)
    return x + c @ w[f"out{k}"], (a, inverse, q, key, v, p, c)


def attend_back(w, k, kept, g, grads):
    a, inverse, q, key, v, p, c = kept
    grads[f"out{k}"] = c.reshape(-1, WIDTH).T @ g.reshape(-1, WIDTH)
    gc = split(g @ w[f"out{k}"].T)
    gp = gc @ v.transpose(0, 1, 3, 2)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * SCALE
    ga = np.concatenate([join(gs @ key), join(gs.transpose(0, 1, 3, 2) @ q), join(p.transpose(0, 1, 3, 2) @ gc)], -1)
    grads[f"qkv{k}"] = a.reshape(-1, WIDTH).T @ ga.reshape(-1, 3 * WIDTH)
    return g + normalize_back(a, inverse, ga @ w[f"qkv{k}"].T)


def widen(w, k, x):
    b, inverse = normalize(x)
    h = np.maximum(b @ w[f"up{k}"], 0)
    return x + h @ w[f"down{k}"], (b, inverse, h)


def widen_back(w, k, kept, g, grads):
    b, inverse, h = kept
    grads[f"down{k}"] = h.reshape(-1, 4 * WIDTH).T @ g.reshape(-1, WIDTH)
    gh = (g @ w[f"down{k}"].T) * (h > 0)
    grads[f"up{k}"] = b.reshape(-1, WIDTH).T @ gh.reshape(-1, 4 * WIDTH)
    return g + normalize_back(b, inverse, gh @ w[f"up{k}"].T)


def gradients(w, tokens):
    """The mean loss of predicting each next token, and its gradients."""
    x, want, kept, grads = w["table"][tokens[:, :-1]] + w["places"], tokens[:, 1:], [], {}
    for k in range(LAYERS):
        for step in (attend, widen):
            x, item = step(w, k, x)
            kept.append(item)
    y, inverse = normalize(x)
    p = softmax(y @ w["logits"])
    at = (np.arange(p.shape[0])[:, None], np.arange(p.shape[1])[None], want)
    loss = -np.log(p[at] + 1e-9).mean()
    p[at] -= 1
    g = p / want.size
    grads["logits"] = y.reshape(-1, WIDTH).T @ g.reshape(-1, SYMBOLS)
    g = normalize_back(y, inverse, g @ w["logits"].T)
    for k in reversed(range(LAYERS)):
        for back in (widen_back, attend_back):
            g = back(w, k, kept.pop(), g, grads)
    grads["places"] = g.sum(0)
    grads["table"] = np.zeros_like(w["table"])
    np.add.at(grads["table"], tokens[:, :-1], g)
    return loss, grads


def sequences(text, random, count):
    starts = random.integers(0, len(text) - LENGTH - 1, count)
    return text[starts[:, None] + np.arange(LENGTH + 1)]


def train(text, random, steps, batch=16):
    """Adam. Returns the weights and the last losses' mean."""
    w = initial(random)
    first, second = ({name: np.zeros_like(a) for name, a in w.items()} for _ in range(2))
    losses = []
    for step in range(1, steps + 1):
        loss, grads = gradients(w, sequences(text, random, batch))
        losses.append(loss)
        rate = 4e-3 * min(1, step / 30) * min(1, 3 * (1 - step / (steps + 1)))
        for name, g in grads.items():
            first[name] += 0.1 * (g - first[name])
            second[name] += 0.01 * (g * g - second[name])
            scaled = rate * first[name] / (1 - 0.9**step) / (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
            w[name] = (w[name] - scaled).astype(np.float32)
    return w, float(np.mean(losses[-20:]))


def model_of(w):
    """The decoder in ONNX: tokens -> logits."""
    shapes = {"heads": np.array([0, 0, HEADS, WIDTH // HEADS]), "flat": np.array([0, 0, WIDTH])}
    nodes, constants = [], {**w, **shapes, "mask": MASK, "scale": SCALE, "ones": np.ones(WIDTH, np.float32)}

    def add(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs.split(), output.split(), name=f"{op}_{output.split()[0]}", **attributes))
        return output

    add("Gather", "table tokens", "rows")
    x = add("Add", "rows places", "x")
    for k in range(LAYERS):
        add("LayerNormalization", f"{x} ones", f"a{k}", axis=-1, epsilon=1e-5)
        add("MatMul", f"a{k} qkv{k}", f"m{k}")
        add("Split", f"m{k}", f"q{k} k{k} v{k}", axis=-1, num_outputs=3)
        for part, perm in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            add("Reshape", f"{part}{k} heads", f"{part}r{k}")
            add("Transpose", f"{part}r{k}", f"{part}t{k}", perm=perm)
        add("MatMul", f"qt{k} kt{k}", f"s{k}")
        add("Mul", f"s{k} scale", f"ss{k}")
        add("Add", f"ss{k} mask", f"sm{k}")
        add("Softmax", f"sm{k}", f"p{k}", axis=-1)
        add("MatMul", f"p{k} vt{k}", f"c{k}")
        add("Transpose", f"c{k}", f"ct{k}", perm=(0, 2, 1, 3))
        add("Reshape", f"ct{k} flat", f"cf{k}")
        add("MatMul", f"cf{k} out{k}", f"o{k}")
        x = add("Add", f"{x} o{k}", f"x{k}")
        add("LayerNormalization", f"{x} ones", f"b{k}", axis=-1, epsilon=1e-5)
        add("MatMul", f"b{k} up{k}", f"u{k}")
        add("Relu", f"u{k}", f"h{k}")
        add("MatMul", f"h{k} down{k}", f"d{k}")
        x = add("Add", f"{x} d{k}", f"y{k}")
    add("LayerNormalization", f"{x} ones", "last", axis=-1, epsilon=1e-5)
    add("MatMul", "last logits", "y")
    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["N", LENGTH])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", LENGTH, SYMBOLS])]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
