"""GroupQueryAttention with a cache that evicts (sliding_window_cache), run after run on what the run before left in it, held against
attention in NumPy to all keys of the sequence that are within the window.

Usage: decoding.py TINYORT. What the cache holds is held against the sequence, too, by the rule of the operator's documentation.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import formulas

HEADS, KEY_HEADS, SIZE = 4, 2, 8
# window, room of the cache, queries of each run
SEQUENCES = [(1, 1, (1, 1, 1)), (3, 3, (2, 1, 1, 1, 1)), (4, 7, (5, 1, 1, 1, 1, 1, 1, 1)), (4, 7, (9, 1, 3, 2, 1)), (6, 8, (12, 4, 1, 1)), (5, 16, (3, 1, 1))]
rng = np.random.default_rng(5)


def turned(rows, start):
    """Rotary embedding of (batch, positions, heads, size), halves of a head turned together."""
    angles = (start + np.arange(rows.shape[1]))[:, None] / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2))
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = rows[..., : SIZE // 2], rows[..., SIZE // 2 :]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)


def attention(queries, keys, values, window):
    """The last positions of keys are those of the queries."""
    made = np.zeros_like(queries)
    for at in range(queries.shape[1]):
        last = keys.shape[1] - queries.shape[1] + at
        seen = slice(max(0, last - window + 1), last + 1)
        for head in range(HEADS):
            of = head // (HEADS // KEY_HEADS)
            scores = np.einsum("bd,bkd->bk", queries[:, at, head], keys[:, seen, of]) / SIZE**0.5
            made[:, at, head] = np.einsum("bk,bkd->bd", formulas.softmax(scores, 1), values[:, seen, of])
    return made


def resident(total, window, room):
    at_once = room - window + 1
    return total if total <= room else total - -(-(total - room) // at_once) * at_once


def model_of(inputs, window, rotary):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node("GroupQueryAttention", names, ["y0", "y1", "y2"], name="node", domain=formulas.DOMAIN, num_heads=HEADS, kv_num_heads=KEY_HEADS,
                            local_window_size=window, sliding_window_cache=1, do_rotary=int(rotary))
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, inputs)]
    graph = helper.make_graph([node], "decoding", values, [helper.make_empty_tensor_value_info(f"y{i}") for i in range(3)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(formulas.DOMAIN, 1)], ir_version=8)


def decode(tinyort, folder, chain, window, room, runs, rotary, batch):
    """What is wrong with the runs of a sequence; empty: nothing."""
    keys, values = np.zeros((batch, 0, KEY_HEADS, SIZE)), np.zeros((batch, 0, KEY_HEADS, SIZE))
    caches = [np.full((batch, KEY_HEADS, room, SIZE), 9, np.float32)] * 2  # what is behind the resident keys must not matter
    angles = np.arange(64)[:, None] / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2))
    for count in runs:
        start = keys.shape[1]
        new = [rng.standard_normal((batch, count, heads, SIZE)) for heads in (HEADS, KEY_HEADS, KEY_HEADS)]
        total = start + count
        inputs = [value.reshape(batch, count, -1).astype(np.float32) for value in new] + caches
        inputs += [np.full(batch, total - 1, np.int32), np.array([total], np.int32)]
        inputs += [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)] if rotary else []
        queries = turned(new[0], start) if rotary else new[0]
        keys = np.concatenate([keys, turned(new[1], start) if rotary else new[1]], 1)
        values = np.concatenate([values, new[2]], 1)
        got = formulas.run(tinyort, folder, chain, model_of(inputs, window, rotary), inputs, ())
        kept = resident(total, window, room)
        wanted = [attention(queries, keys, values, window).reshape(batch, count, -1)] + [all_.transpose(0, 2, 1, 3)[:, :, total - kept :] for all_ in (keys, values)]
        if isinstance(got, str):
            return f"run of {count} behind {start}: {got}"
        caches = [got[1].copy(), got[2].copy()]
        for cache in caches:
            cache[:, :, kept:] = 9
        problem = formulas.difference([got[0], got[1][:, :, :kept], got[2][:, :, :kept]], wanted, np.dtype(np.float32))
        if problem:
            return f"run of {count} behind {start}: {problem}"
    return ""


def main():
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as place:
        for window, room, runs in SEQUENCES:
            for chain in (*formulas.CHAINS, "cpu:isa=plain"):
                for rotary, batch in ((False, 1), (True, 2)):
                    problem = decode(sys.argv[1], Path(place), chain, window, room, runs, rotary, batch)
                    passed += not problem
                    failures += [f"window {window} in a cache of {room} on {chain}: {problem}"] if problem else []
    print("\n".join([f"FAILED {failure}" for failure in failures] + [f"decoding: {passed} passed, {len(failures)} failed"]))
    sys.exit(1 if failures or not passed else 0)


if __name__ == "__main__":
    main()
