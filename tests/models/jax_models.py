"""Programs of JAX, Flax and Equinox as jax2onnx writes them, compared with onnxruntime by compare.py.

    jax_models.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]
"""

import os

os.environ |= {"JAX_PLATFORMS": "cpu"}

import jax
import jax.export
import jax.numpy as jnp
import numpy
from compare import arguments, chosen, run_cases
from flax import nnx
from jax import lax

SEED = 5


def values(*shape, seed=SEED, scale=1.0):
    return (scale * numpy.random.default_rng(seed).normal(size=shape)).astype(numpy.float32)


def weights(*shape):
    return values(*shape, seed=SEED + len(shape), scale=shape[0] ** -0.5)


class Convolutions(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(8, use_running_average=True, rngs=rngs)
        self.second = nnx.Conv(8, 12, (3, 3), strides=2, feature_group_count=4, rngs=rngs)
        self.last = nnx.Linear(12 * 4 * 4, 5, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.norm(self.first(x))), window_shape=(2, 2), strides=(2, 2))
        x = nnx.gelu(self.second(x))
        return self.last(x.reshape(x.shape[0], -1))


class Block(nnx.Module):
    def __init__(self, width, rngs):
        self.before, self.between = nnx.LayerNorm(width, rngs=rngs), nnx.RMSNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(width, 2 * width, rngs=rngs), nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.before(x))
        return x + self.down(nnx.silu(self.up(self.between(x))))


class Transformer(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(30, 16, rngs=rngs)
        self.first, self.second = Block(16, rngs), Block(16, rngs)

    def __call__(self, tokens):
        return self.embed.attend(self.second(self.first(self.embed(tokens))))


class Mixer(nnx.Module):
    def __init__(self, rngs):
        self.patches = nnx.Conv(3, 8, (4, 4), strides=4, rngs=rngs)
        self.tokens, self.channels = nnx.Linear(16, 16, rngs=rngs), nnx.Linear(8, 8, rngs=rngs)
        self.norm = nnx.GroupNorm(8, num_groups=2, rngs=rngs)

    def __call__(self, x):
        x = self.patches(x).reshape(x.shape[0], 16, 8)
        x = x + jnp.swapaxes(nnx.gelu(self.tokens(jnp.swapaxes(self.norm(x), 1, 2))), 1, 2)
        return jnp.mean(x + nnx.elu(self.channels(x)), axis=1)


class Autoencoder(nnx.Module):
    def __init__(self, rngs):
        self.down = nnx.Conv(2, 6, (3, 3), strides=2, rngs=rngs)
        self.up = nnx.ConvTranspose(6, 2, (3, 3), strides=2, rngs=rngs)

    def __call__(self, x):
        return nnx.sigmoid(self.up(nnx.leaky_relu(self.down(x))))


def state_space(x):
    """A linear recurrence by scan, with all states kept."""
    decay, enter, leave = jnp.asarray(weights(6)), jnp.asarray(weights(4, 6)), jnp.asarray(weights(6, 3))

    def step(state, row):
        state = jax.nn.sigmoid(decay) * state + row @ enter
        return state, jnp.tanh(state @ leave)

    return lax.scan(step, jnp.zeros(6), x)


def recurrent(x):
    """An LSTM by scan over time, of a batch, that stops each row at its own length."""
    into, again = jnp.asarray(weights(4, 24)), jnp.asarray(weights(6, 24))
    lengths = jnp.array([5, 3])

    def step(carried, now):
        (hidden, cell), (row, time) = carried, now
        enter, forget, gate, leave = jnp.split(row @ into + hidden @ again, 4, axis=-1)
        cell_now = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(gate)
        going = (time < lengths)[:, None]
        after = jnp.where(going, jax.nn.sigmoid(leave) * jnp.tanh(cell_now), hidden), jnp.where(going, cell_now, cell)
        return after, after[0]

    start = jnp.zeros((2, 6)), jnp.zeros((2, 6))
    (hidden, cell), all_of = lax.scan(step, start, (jnp.swapaxes(x, 0, 1), jnp.arange(5)))
    return hidden, cell, all_of


def power_iteration(x):
    """while_loop with two values carried."""

    def going(carried):
        return jnp.logical_and(carried[1] < 20, carried[2] > 1e-3)

    def step(carried):
        vector, trips, _ = carried
        after = x @ vector
        after = after / jnp.linalg.norm(after)
        return after, trips + 1, jnp.abs(after - vector).max()

    return lax.while_loop(going, step, (jnp.ones(5) / 5**0.5, jnp.int32(0), jnp.float32(1)))


def branches(x):
    y = lax.cond(x.sum() > 0, lambda v: jnp.sort(v, axis=0), lambda v: jnp.cumsum(v, axis=0), x)
    return lax.fori_loop(0, 4, lambda i, v: v * 0.5 + lax.dynamic_slice(v, (i % 2, 0), (1, 4)), y)


def einsums(x, y):
    scores = jnp.einsum("bqhd,bkhd->bhqk", x, y)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), y), jnp.einsum("bqhd->bd", x), jnp.einsum("bqhh->bqh", scores[:, :, :, :2] @ jnp.ones((2, 5)) )


def detection_scores(boxes, scores):
    """Overlaps of all pairs, the best of each class, and who is chosen: gathers, top_k and comparisons."""
    low, high = jnp.maximum(boxes[:, None, :2], boxes[None, :, :2]), jnp.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    overlap = jnp.prod(jnp.clip(high - low, 0), axis=-1)
    best, index = lax.top_k(scores.T, 3)
    return overlap / (overlap.max() + 1), best, jnp.take(boxes, index, axis=0), jnp.where(scores > 0, jnp.argmax(scores, axis=1, keepdims=True), -1)


def entry(make, *runs, batch=False):
    """Each run is a list of inputs, which are called x and y; with `batch`, the first axis is exported as a symbol."""
    return {"make": make, "runs": [dict(zip("xy", run)) for run in runs], "batch": batch}


def module(kind, *runs, **options):
    def make():
        made = kind(nnx.Rngs(SEED))
        made.eval()
        return made

    return entry(make, *runs, **options)


def function(kind, *runs):
    return entry(lambda: kind, *runs)


def integers(*shape):
    return numpy.random.default_rng(SEED).integers(0, 30, size=shape).astype(numpy.int32)


JAX = {
    "jax_convolutions": module(Convolutions, [values(2, 16, 16, 3)], [values(3, 16, 16, 3)], batch=True),
    "jax_transformer": module(Transformer, [integers(2, 7)], [integers(4, 7)], batch=True),
    "jax_mixer": module(Mixer, [values(2, 16, 16, 3)], [values(1, 16, 16, 3)], batch=True),
    "jax_recurrent": function(recurrent, [values(2, 5, 4)], [values(2, 5, 4, seed=1)]),
    "jax_autoencoder": module(Autoencoder, [values(2, 8, 8, 2)], [values(3, 8, 8, 2)], batch=True),
    "jax_state_space": function(state_space, [values(9, 4)], [values(9, 4, seed=1)]),
    "jax_power_iteration": function(power_iteration, [values(5, 5) + 1], [numpy.eye(5, dtype=numpy.float32)]),
    "jax_branches": function(branches, [values(3, 4) + 1], [values(3, 4) - 1]),
    "jax_einsums": function(einsums, [values(2, 5, 2, 5), values(2, 5, 2, 5, seed=1)]),
    "jax_detection_scores": function(detection_scores, [values(6, 4), values(6, 3)]),
}


def export(entry, path):
    from jax2onnx import to_onnx

    batch = jax.export.symbolic_shape("B")
    example = entry["runs"][0]
    shapes = [jax.ShapeDtypeStruct((*batch, *value.shape[1:]) if entry["batch"] else value.shape, value.dtype) for value in example.values()]
    to_onnx(entry["make"](), shapes, return_mode="file", output_path=str(path), input_names=list(example))


def case_of(folder, name, entry):
    path = folder / f"{name}.onnx"
    return {"label": f"{name} (jax2onnx)", "architecture": name.removeprefix("jax_") if entry["batch"] else "", "exporter": "jax2onnx", "package": "jax2onnx", "path": path,
            "export": lambda: export(entry, path), "runs": entry["runs"]}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, JAX).items()])


if __name__ == "__main__":
    main()
