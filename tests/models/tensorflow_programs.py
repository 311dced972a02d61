"""Programs of TensorFlow as tf2onnx writes them, compared by compare.py: `while` as Loop with the condition copied to the end of the
body, conditions as If, TensorArrays as scan outputs, recurrent layers of Keras; and the functions of tensorflow_functions.py.

    tensorflow_programs.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]
"""

import os
import subprocess
import sys

os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import numpy
import tensorflow as tf
import tf2onnx
from compare import arguments, chosen, run_cases
from tensorflow_functions import FUNCTIONS

SEED = 3


def values(*shape, seed=SEED, scale=1.0):
    return (scale * numpy.random.default_rng(seed).normal(size=shape)).astype(numpy.float32)


def count(n):
    return numpy.array(n, numpy.int32)


def weights(*shape):
    return tf.constant(values(*shape, seed=SEED + len(shape), scale=0.4))


def halves_until_small(x):
    trips = tf.constant(0)
    while tf.reduce_max(tf.abs(x)) > 0.1:
        x = x * 0.5
        trips += 1
    return x, trips


def nested_if(x):
    if tf.reduce_sum(x) > 0:
        if tf.reduce_max(x) > 2:
            y = tf.nn.relu(x)
        else:
            y = tf.tanh(x) + 1
    else:
        y = tf.abs(x)
    return y * 2


def branch_is_outer_value(x):
    """A branch that is a value from outside: an Identity alone."""
    return tf.cond(tf.reduce_mean(x) > 0, lambda: x, lambda: -x)


def writes_array(x, n):
    parts = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        x = tf.sin(x) + tf.cast(i, tf.float32)
        parts = parts.write(i, x)
    return parts.stack()


def breaks_early(x, limit):
    total = tf.zeros_like(x[0])
    for i in tf.range(tf.shape(x)[0]):
        total += x[i]
        if tf.reduce_sum(tf.abs(total)) > limit:
            break
    return total


def continues(x, n):
    total = x
    for i in tf.range(n):
        if i % 3 == 1:
            continue
        total = total * 0.5 + tf.cast(i, tf.float32)
    return total


def grows(x, n):
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, 2]))])
        x = tf.concat([x, x[-1:] * 0.5 + tf.cast(i, tf.float32)], 0)
    return x


def nested_loops(x, n):
    total = tf.zeros_like(x)
    for i in tf.range(n):
        inner = x
        for j in tf.range(i + 1):
            inner = tf.tanh(inner) * tf.cast(j + 1, tf.float32)
        total += inner
    return total


def maps(x):
    return tf.map_fn(lambda row: tf.nn.softmax(row) * tf.reduce_max(row), x)


def scans(x):
    """What is carried and what is kept of each trip. (tf.scan itself is not converted.)"""
    carried, steps = tf.zeros_like(x[0]), tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    for i in tf.range(tf.shape(x)[0]):
        carried = carried * 0.5 + x[i]
        steps = steps.write(i, tf.tanh(carried))
    return carried, steps.stack()


def greedy(h, most):
    embed, into, head = weights(11, 8), weights(16, 8), weights(8, 11)
    tokens = tf.ones([1], tf.int32)
    going = tf.constant(True)
    while going:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(tokens, tf.TensorShape([None]))])
        h = tf.tanh(tf.concat([tf.gather(embed, tokens[-1:]), h], 1) @ into)
        best = tf.argmax(h @ head, 1, output_type=tf.int32)
        tokens = tf.concat([tokens, best], 0)
        going = tf.logical_and(best[0] != 4, tf.shape(tokens)[0] < most)
    return tokens, h


def convolves_until_steady(x):
    kernel, bias = weights(3, 3, 2, 2), weights(2)
    trips, change = tf.constant(0), tf.reduce_max(tf.abs(x))
    while tf.logical_and(change > 0.05, trips < 8):
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)) * 0.25 + x * 0.25
        change = tf.reduce_max(tf.abs(y - x))
        x = y
        trips += 1
    return x, trips


def layer(make, features):
    """A layer of Keras with weights of ours."""
    made = make()
    made.build((None, None, features))
    made.set_weights([values(*w.shape, seed=i, scale=0.4) for i, w in enumerate(made.get_weights())])
    return made


def entry(function, signature, runs, opset=17):
    return {"function": function, "signature": signature, "runs": runs, "opset": opset}


def floats(*shape):
    return ("float32", shape)


NUMBER = ("int32", ())
RNN = [{"x": values(2, 5, 4)}, {"x": values(3, 9, 4)}]


def recurrent(kind, **options):
    def make():
        made = layer(lambda: getattr(tf.keras.layers, kind)(6, return_sequences=True, **options), 4)
        return lambda x: made(x)

    return entry(make, {"x": floats(None, None, 4)}, RNN) | {"makes": True}


PROGRAMS = {
    "halves_until_small": entry(halves_until_small, {"x": floats(None)}, [{"x": values(7, scale=40)}, {"x": values(3, scale=0.01)}]),
    "nested_if": entry(nested_if, {"x": floats(3, 4)}, [{"x": values(3, 4) + mean} for mean in (3, 0.5, -3)]),
    "branch_is_outer_value": entry(branch_is_outer_value, {"x": floats(None)}, [{"x": values(5) + mean} for mean in (3, -3)]),
    "writes_array": entry(writes_array, {"x": floats(None), "n": NUMBER}, [{"x": values(3), "n": count(5)}, {"x": values(6), "n": count(1)}]),
    "breaks_early": entry(breaks_early, {"x": floats(None, 3), "limit": floats()},
                          [{"x": values(9, 3), "limit": numpy.array(limit, numpy.float32)} for limit in (3, 0, 1000)]),
    "continues": entry(continues, {"x": floats(3), "n": NUMBER}, [{"x": values(3), "n": count(n)} for n in (7, 0)]),
    "grows": entry(grows, {"x": floats(None, 2), "n": NUMBER}, [{"x": values(3, 2), "n": count(6)}, {"x": values(1, 2), "n": count(0)}]),
    "nested_loops": entry(nested_loops, {"x": floats(None), "n": NUMBER}, [{"x": values(4), "n": count(n)} for n in (4, 0)]),
    "maps": entry(maps, {"x": floats(None, 4)}, [{"x": values(5, 4)}, {"x": values(1, 4)}]),
    "scans": entry(scans, {"x": floats(None, 3)}, [{"x": values(6, 3)}, {"x": values(2, 3)}]),
    "greedy": entry(greedy, {"h": floats(1, 8), "most": NUMBER}, [{"h": values(1, 8, seed=s), "most": count(12)} for s in (1, 2, 3)]),
    "convolves_until_steady": entry(convolves_until_steady, {"x": floats(None, 6, 5, 2)}, [{"x": values(2, 6, 5, 2)}, {"x": values(1, 6, 5, 2, scale=3)}]),
    "simple_rnn": recurrent("SimpleRNN"),
    "lstm": recurrent("LSTM"),
    "gru": recurrent("GRU"),
    "gru_reset_before": recurrent("GRU", reset_after=False),
    "lstm_backwards": recurrent("LSTM", go_backwards=True),
    "lstm_masked": recurrent("LSTM", unroll=False, recurrent_activation="hard_sigmoid"),
} | {name: entry(*parts) for name, parts in FUNCTIONS.items()}
PROGRAMS["embeds_words"] |= {"makes": True, "saved": True}


def function_of(program, holder=None):
    """As a function of TensorFlow, and its signature; `holder` keeps what it was made of."""
    function = program["function"]() if program.get("makes") else program["function"]
    signature = [tf.TensorSpec(shape, kind, name=name) for name, (kind, shape) in program["signature"].items()]
    if holder:
        holder.inner = function
    return tf.function(function, input_signature=signature), signature


def export_saved(program, path):
    """By way of a saved model and the command line, which alone knows tables."""
    holder = tf.Module()
    holder.function, _ = function_of(program, holder)
    folder = str(path.with_suffix(".saved"))
    tf.saved_model.save(holder, folder, signatures=holder.function)
    words = ["--saved-model", folder, "--output", str(path), "--opset", str(program["opset"])]
    subprocess.run([sys.executable, "-m", "tf2onnx.convert", *words], check=True, capture_output=True)


def export(program, path):
    if program.get("saved"):
        return export_saved(program, path)
    function, signature = function_of(program)
    tf2onnx.convert.from_function(function, input_signature=signature, opset=program["opset"], output_path=str(path))


def itself(program, feeds):
    function, _ = function_of(program)
    made = [value.numpy() for value in tf.nest.flatten(function(**feeds))]
    return [numpy.vectorize(bytes.decode, otypes=[object])(value) if value.dtype == object else value for value in made]


def case_of(folder, name, program):
    path = folder / f"{name}.tensorflow.onnx"
    return {"label": f"{name} (tensorflow)", "architecture": "", "exporter": "tf2onnx of TensorFlow", "package": "tf2onnx", "path": path, "export": lambda: export(program, path), "runs": program["runs"],
            "itself": lambda feeds: itself(program, feeds), "placed": False, "optimized": False}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, program) for name, program in chosen(options, PROGRAMS).items()])


if __name__ == "__main__":
    main()
