"""com.microsoft: attention, rotary embedding, biases by position."""

import numpy as np
from onnx import TensorProto

from maker import Node, ops
from values import Tensor

DOMAIN = "com.microsoft"
LOWEST = -3.4028234663852886e38


def integers(array):
    return Tensor(TensorProto.INT32, np.array(array, np.int32))


def random_mask(m, batch, length, total, starts):
    """A mask of keys in one of its forms, and the attributes that belong to it."""
    ends = lambda count: [m.number(0, total) for _ in range(count)]
    form = m.pick("ends", "more", "keys", "queries", *(["starts"] if starts else []))
    if form in ("ends", "starts", "more"):
        mask = integers(ends({"ends": batch, "starts": 2 * batch, "more": 3 * batch + 2}[form]))
    else:
        shape = [batch, total] if form == "keys" else [batch, length, total]
        mask = integers(m.rng.integers(0, 2, shape))
    return mask, {"mask_filter_value": m.pick(LOWEST, -1.0, -10000.0)} if m.chance(0.3) else {}


def bias_of_scores(m, batch, heads, length, total):
    return m.tensor("T", [m.pick(1, batch), m.pick(1, heads), length, total])


@ops("Attention", domain=DOMAIN, sums=True)
def attention(m):
    batch, heads, length, size = m.number(1, 2), m.number(1, 3), m.number(1, 6), m.pick(3, 4, 8, 16)
    value_size, depth = m.pick(size, size, size, 5), m.number(1, 9)
    past = m.number(0, 4) if value_size == size and m.chance(0.4) else None
    width = heads * (2 * size + value_size)
    total = length + (past or 0)
    attributes = {"num_heads": heads, **m.flags("unidirectional")}
    if value_size != size or m.chance(0.2):
        attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value_size]
    if m.chance(0.3):
        attributes["scale"] = m.pick(0.5, 1.0)
    inputs = [m.tensor("T", [batch, length, depth]), m.tensor("T", [depth, width]), m.tensor("T", [width]), None, None, None]
    if m.chance(0.6):
        inputs[3], more = random_mask(m, batch, length, total, starts=True)
        attributes |= more
    if past is not None:
        inputs[4] = m.tensor("T", [2, batch, heads, past, size])
    elif m.chance(0.4):
        inputs[5] = bias_of_scores(m, batch, heads, length, total)
    return Node(inputs, attributes, [True, past is not None or (value_size == size and m.chance(0.3))])


@ops("MultiHeadAttention", domain=DOMAIN, sums=True)
def multi_head_attention(m):
    batch, heads, length, size = m.number(1, 2), m.number(1, 3), m.number(1, 6), m.pick(3, 4, 8, 16)
    form = m.pick("self", "self", "cross", "heads")
    keys = length if form == "self" else m.number(1, 6)
    past = m.number(0, 4) if form != "heads" and m.chance(0.4) else None
    value_size = m.pick(size, size, 5) if form != "heads" and past is None else size
    inputs = [m.tensor("T", [batch, length, heads * size])] + [None] * 9
    if form == "heads":
        inputs[1], inputs[2] = (m.tensor("T", [batch, heads, keys, size]) for _ in range(2))
    else:
        inputs[1], inputs[2] = m.tensor("T", [batch, keys, heads * size]), m.tensor("T", [batch, keys, heads * value_size])
    attributes = {"num_heads": heads, **m.flags("unidirectional")}
    total = keys + (past or 0)
    if m.chance(0.5):
        inputs[3] = m.tensor("T", [heads * (2 * size + value_size)])
    if past is not None:
        inputs[6], inputs[7] = (m.tensor("T", [batch, heads, past, size]) for _ in range(2))
    if m.chance(0.5):
        inputs[4], more = random_mask(m, batch, length, total, starts=False)
        attributes |= more
    if m.chance(0.4):
        inputs[5] = bias_of_scores(m, batch, heads, length, total)
    if m.chance(0.3):
        attributes["scale"] = m.pick(0.5, 1.0)
    present = past is not None or m.chance(0.3)
    outputs = [True, present, present, m.chance(0.3)]
    return Node(inputs, attributes, outputs, types=[m.type("T")] * sum(outputs))


@ops("DecoderMaskedMultiHeadAttention", domain=DOMAIN, sums=True)
def decoder_masked(m):
    batch, heads, size = m.number(1, 4), m.number(1, 3), m.pick(4, 8, 16)
    inputs = [m.tensor("T", [batch, 1, heads * size])] + [None] * 10
    attributes = {"num_heads": heads}
    cross = m.chance(0.3)
    if cross:
        total = m.number(1, 6)
        inputs[1], inputs[2] = (m.tensor("T", [batch, heads, total, size]) for _ in range(2))
    else:
        past, room = m.number(0, 5), m.number(6, 8)
        total = past + 1
        attributes["past_present_share_buffer"] = 1
        inputs[1], inputs[2] = (m.tensor("T", [batch, 1, heads * size]) for _ in range(2))
        inputs[5], inputs[6] = (m.tensor("T", [batch, heads, room, size]) for _ in range(2))
        inputs[7] = integers([past])
        if m.chance(0.3):
            inputs[4] = bias_of_scores(m, batch, heads, 1, total)
    if m.chance(0.4):
        inputs[3] = integers(m.rng.integers(0, 2, [batch, total]))
    if m.chance(0.4):
        inputs[10] = m.tensor("T", [3 * heads * size])
    if m.chance(0.3):
        attributes["scale"] = m.pick(0.5, 1.0)
    shown = m.chance(0.3)
    if shown:
        attributes["output_qk"] = 1
    outputs = [True, not cross, not cross, shown]
    return Node(inputs, attributes, outputs, types=[m.type("T")] * sum(outputs))


def lengths_of_batches(m, batch, length, room, first):
    """Keys of each batch, the first of which has the most, and the most."""
    if first:
        most = length
        lengths = [m.number(1, length) if m.chance(0.2) else length for _ in range(batch)]
    else:
        most = room
        lengths = [m.number(length, room) for _ in range(batch)]
        lengths[0] = most
    return lengths, most


@ops("GroupQueryAttention", domain=DOMAIN, sums=True)
def group_query_attention(m):
    key_heads = m.number(1, 2)
    heads, size = key_heads * m.number(1, 3), m.pick(8, 16, 32)
    mode = m.pick("first", "token", "chunk")
    batch, length = 1 if mode == "chunk" else m.number(1, 2), 1 if mode == "token" else m.number(1, 6)
    buffer = m.chance(0.4)  # the past has room for all keys
    past = m.number(1, 6) if mode != "first" else None
    lengths, total = lengths_of_batches(m, batch, length, (past or 0) + length, mode == "first")
    if buffer:
        past = total + m.number(0, 4)
    packed = m.chance(0.3)
    inputs = [m.tensor("T", [batch, length, (heads + 2 * key_heads * packed) * size])] + [None] * 11
    if not packed:
        inputs[1], inputs[2] = (m.tensor("T", [batch, length, key_heads * size]) for _ in range(2))
    if past is not None:
        inputs[3], inputs[4] = (m.tensor("T", [batch, key_heads, past, size]) for _ in range(2))
    inputs[5], inputs[6] = integers([n - 1 for n in lengths]), m.scalar(total, "tensor(int32)")
    attributes = {"num_heads": heads, "kv_num_heads": key_heads, **m.flags("rotary_interleaved", "smooth_softmax")}
    if size % 16 == 0 and m.chance(0.5):
        rows = total + m.number(0, 3)
        attributes["do_rotary"] = 1
        inputs[7] = m.tensor("T", [rows, m.pick(8, size // 2)])
        inputs[8] = m.tensor("T", list(inputs[7].shape))
        if m.chance(0.3):
            ids = np.zeros([batch, length]) if length == total else m.rng.integers(0, rows, [batch, length])
            inputs[9] = Tensor(TensorProto.INT64, ids.astype(np.int64))
    if m.chance(0.3):
        inputs[10] = bias_of_scores(m, batch, heads, length, total)
    if not attributes.get("smooth_softmax") and m.chance(0.3):
        inputs[11] = m.tensor("T", [heads])
    for name, choices in (("softcap", (1.0, 20.0)), ("scale", (0.5, 1.0)), ("local_window_size", (1, 2, 3, 5))):
        if m.chance(0.3):
            attributes[name] = m.pick(*choices)
    if "local_window_size" not in attributes and m.chance(0.2):
        attributes["causal"] = 0
    shown = m.chance(0.3)
    if shown:
        attributes["qk_output"] = m.pick(1, 2)
    return Node(inputs, attributes, [True, True, True, shown])


@ops("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(m):
    batch, heads, length, half = m.number(1, 2), m.number(1, 3), m.number(1, 4), m.number(1, 4)
    size = 2 * half
    rotated = 2 * m.number(1, half) if m.chance(0.4) else 0
    attributes = m.flags("interleaved", "is_packed_batching") | ({"scale": 1.0} if m.chance(0.2) else {})
    if rotated:
        attributes["rotary_embedding_dim"] = rotated
    if rotated or m.chance(0.4):
        attributes["num_heads"] = heads
    rows = length + m.number(0, 4)
    if m.chance(0.4):
        ids = [m.number(0, rows - length)]
    else:
        ids = [[m.number(0, rows - 1) for _ in range(length)] for _ in range(batch)]
    x = m.tensor("T", [batch, length, heads * size] if m.chance(0.5) else [batch, heads, length, size])
    caches = [m.tensor("T", [rows, (rotated or size) // 2]) for _ in range(2)]
    return Node([x, Tensor(TensorProto.INT64, np.array(ids, np.int64)), *caches], attributes)


@ops("GatedRelativePositionBias", domain=DOMAIN)
def gated_bias(m):
    batch, length, heads, size, half = m.number(0, 2), m.number(0, 5), m.number(1, 3), m.number(1, 5), m.number(1, 4)
    inputs = [m.tensor("T", shape) for shape in ([batch, length, heads * size], [heads * size], [1, heads, length, length],
                                                 [size, 2 * half], [2 * half], [1, heads, 1, 1])]
    return Node(inputs, {"num_heads": heads})
