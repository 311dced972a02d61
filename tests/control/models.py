"""Models with bodies, as text, and what goes into them. Each is for one thing that control flow can do."""

import numpy as np
from onnx import parser


def model(text):
    """Of opset 18, unless the text says of which."""
    head = "" if text.startswith("<") else '<ir_version: 9, opset_import: ["" : 18]>'
    return parser.parse_model(head + text)


def floats(*shape):
    return np.random.default_rng(sum(shape) + 1).random(shape, dtype=np.float32) - 0.5


def integer(value):
    return np.array(value, np.int64)


BRANCHES = """
m (bool c, float[N,4] x) => (float[M,K] y) {
   two = Constant <value = float {2}> ()
   h = Relu(x)
   y = If (c) <
      then_branch = t () => (float[P,Q] a) { s = Mul(h, two)  a = Add(s, x) },
      else_branch = e () => (float[R,S] b) { r = ReduceSum <keepdims = 1> (x)  b = Exp(r) }>
}"""

NESTED = """
m (int64 n, float[3] x) => (float[3] y, float[T,3] steps) {
   go = Constant <value = bool {1}> ()
   y, steps = Loop (n, go, x) <body = b (int64 i, bool c, float[3] v) => (bool k, float[3] w, float[3] s) {
      k = Identity(c)
      one = Constant <value = int64 {1}> ()
      m = Add(i, one)
      w = Loop (m, c, v) <body = inner (int64 j, bool d, float[3] u) => (bool q, float[3] z) {
         q = Identity(d)
         p = Mul(u, x)
         h = Tanh(p)
         z = Add(h, v)
      }>
      s = Neg(w)
   }>
}"""

OPEN_STATE = """
m (int64 n, float[L,3] x) => (float[M,K] y, float[T,R,Q] steps, int64[3] shape) {
   go = Constant <value = bool {1}> ()
   y, steps = Loop (n, go, x) <body = b (int64 i, bool c, float[A,B] v) => (bool k, float[C,D] w, float[E,F] s) {
      k = Identity(c)
      w = Neg(v)
      s = Transpose(w)
   }>
   shape = Shape(steps)
}"""

STOPS = """
m (float[2] x) => (float[2] y, int64[T] seen) {
   none = Constant <value = int64 {1000000}> ()
   y, seen = Loop (none, , x) <body = b (int64 i, bool c, float[2] v) => (bool k, float[2] w, int64 s) {
      half = Constant <value = float {0.5}> ()
      limit = Constant <value = float {0.01}> ()
      w = Mul(v, half)
      a = Abs(w)
      most = ReduceMax <keepdims = 0> (a)
      k = Greater(most, limit)
      s = Identity(i)
   }>
}"""

GROWS = """
m (int64 n, float[1,3] x) => (float[R,3] y) {
   go = Constant <value = bool {1}> ()
   y = Loop (n, go, x) <body = b (int64 i, bool c, float[A,3] v) => (bool k, float[B,3] w) {
      k = Identity(c)
      h = Sigmoid(v)
      w = Concat <axis = 0> (v, h)
   }>
}"""

CAPTURES_WEIGHT = """
m (int64 n, float[2,4] x) => (float[2,4] y)
<float[4,4] w = {0.5,0,0,0.25, 0,0.5,0,0, 0,0,0.5,0, 0.125,0,0,0.5}, int64[2] flat = {2, 4}> {
   go = Constant <value = bool {1}> ()
   y = Loop (n, go, x) <body = b (int64 i, bool c, float[2,4] v) => (bool k, float[2,4] o) {
      k = Identity(c)
      p = MatMul(v, w)
      q = Add(p, x)
      o = Reshape(q, flat)
   }>
}"""

SCANS = """
m (float[2,3] s, float[2,5,3] x, float[5,2] z) => (float[2,3] last, float[2,5,3] sums, float[5,2,3] products) {
   last, sums, products = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
                      scan_output_axes = [-2, 0], scan_output_directions = [0, 1],
                      body = b (float[2,3] h, float[2,3] part, float[2] scale) => (float[2,3] g, float[2,3] sum, float[2,3] product) {
      sum = Add(h, part)
      one = Constant <value = int64[1] {1}> ()
      column = Unsqueeze(scale, one)
      product = Mul(sum, column)
      g = Tanh(product)
   }> (s, x, z)
}"""

STARTS_FROM_CONSTANTS = """
m (int64 n, float[3] x) => (int64 last, int64 twice, int64[3] sums, float[3] y) {
   zero = Constant <value_int = 0> ()
   one = Constant <value = int64 {1}> ()
   last, twice, y = Loop (n, , zero, one, x) <body = b (int64 i, bool c, int64 u, int64 v, float[3] w) => (bool k, int64 p, int64 q, float[3] z) {
      k = Identity(c)
      step = Constant <value_int = 1> ()
      p = Add(u, step)
      q = Add(v, v)
      f = Cast <to = 1> (q)
      z = Add(w, f)
   }>
   parts = Constant <value_ints = [3, 5, 7]> ()
   all, sums = Scan <num_scan_inputs = 1, body = s (int64 h, int64 part) => (int64 g, int64 sum) { g = Add(h, part)  sum = Mul(part, g) }> (zero, parts)
}"""

# Batches of sequences that end at different places. The body reads a weight from around it; what it scans comes in a shape that only
# the run tells.
BATCHES = """<ir_version: 3, opset_import: ["" : 8]>
m (int64[B] lengths, float[B,3] s, float[A] flat, int64[3] shape) => (float[C,3] last, float[D,T,3] sums, float[E,T] most)
<float[3] w = {0.5, -2, 1}> {
   x = Reshape(flat, shape)
   last, sums, most = Scan <num_scan_inputs = 2, directions = [0, 1],
                       body = b (float[3] h, float[3] part, float[3] behind) => (float[3] g, float[3] sum, float m) {
      p = Mul(part, w)
      sum = Add(h, p)
      g = Sub(sum, behind)
      m = ReduceMax <keepdims = 0> (sum)
   }> (lengths, s, x, x)
}"""

BATCHES_OF_ONE_LENGTH = """<ir_version: 3, opset_import: ["" : 8]>
m (float[2,3] s, float[2,T,3] x) => (float[2,3] last, float[2,U,3] sums) {
   last, sums = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] part) => (float[3] g, float[3] sum) {
      g = Add(h, part)
      sum = Neg(g)
   }> ("", s, x)
}"""

# The graphs of FlexAttention read what is around the loop that it stands in.
ATTENDS = """<ir_version: 10, opset_import: ["" : 22, "ai.onnx.preview" : 1]>
m (int64 n, float[B,4,L,2] q, float[B,2,S,2] k, float[B,2,S,2] v, float[S] bias) => (float[B,4,L,2] y) <float half = {0.5}> {
   go = Constant <value = bool {1}> ()
   y = Loop (n, go, q) <body = b (int64 i, bool c, float[B,4,L,2] u) => (bool on, float[B,4,L,2] w) {
      on = Identity(c)
      w = ai.onnx.preview.FlexAttention <score_mod = s (float[B,4,L,S] x) => (float[B,4,L,S] z) { z = Add(x, bias) },
                                         prob_mod = p (float[B,4,L,S] f) => (float[B,4,L,S] g) { g = Mul(f, half) }> (u, k, v)
   }>
}"""

OUTPUT_IS_INPUT = """
m (bool c, float[3] x, float[3] y) => (float[3] a, float[3] b) {
   a, b = If (c) <
      then_branch = t () => (float[3] p, float[3] q) { p = Identity(x)  q = Identity(x) },
      else_branch = e () => (float[3] r, float[3] u) { r = Identity(y)  u = Add(x, y) }>
}"""

SWAPS = """
m (int64 n, float[4] x, float[4] y) => (float[4] a, float[4] b) {
   go = Constant <value = bool {1}> ()
   a, b = Loop (n, go, x, y) <body = b (int64 i, bool c, float[4] u, float[4] v) => (bool k, float[4] p, float[4] q) {
      k = Identity(c)
      p = Identity(v)
      q = Neg(u)
   }>
}"""

SEQUENCES = """
m (int64 n, float[3] x) => (float[T] y, int64 length) {
   go = Constant <value = bool {1}> ()
   empty = SequenceEmpty()
   filled = Loop (n, go, empty) <body = b (int64 i, bool c, seq(float[K]) v) => (bool k, seq(float[K]) w) {
      k = Identity(c)
      f = Cast <to = 1> (i)
      e = Add(x, f)
      w = SequenceInsert(v, e)
   }>
   extra = SequenceInsert(filled, x)
   y = ConcatFromSequence <axis = 0> (extra)
   length = SequenceLength(extra)
}"""

# As PyTorch's exporter writes a tensor that grows: the body says that it has one element, whatever comes in, and the end of the loop
# hangs on its length.
DECLARED_TOO_SHORT = """
m (int64 most, int64[1] x) => (int64[L] y) {
   none = Constant <value = int64 {9223372036854775807}> ()
   go = Constant <value = bool {1}> ()
   y = Loop (none, go, x) <body = b (int64 i, bool c, int64[1] v) => (bool k, int64[L] w) {
      first = Constant <value = int64 {0}> ()
      w = Concat <axis = 0> (v, v)
      s = Shape(w)
      length = Gather <axis = 0> (s, first)
      k = Less(length, most)
   }>
}"""

# As tf2onnx writes a `while` with `continue`: the condition before the loop and again at its end, values of unknown shape, branches
# that are a weight without a node, or a value from outside.
WHILE_OF_TENSORFLOW = """
m (int32 n, float[3] x) => (float[3] y)
<int32 start = {0}, int32 delta = {1}, int32 two = {2}>
{
   before = Less(start, n)
   at, y, limit = Loop ("", before, start, x, n) <body = b (int64[] trip, bool[] c, int32[] i, float[3] v, int32[] m) =>
         (bool[] again, int32[] next, float[3] w, int32[] m) <int32 zero = {0}> {
      next = Add(i, delta)
      again = Less(next, m)
      half = Div(i, two)
      even = Mul(half, two)
      odd = Sub(i, even)
      is = Equal(odd, zero)
      add = If (is) <then_branch = t () => (bool a) <bool a = {1}> { }, else_branch = e () => (bool o) <bool o = {0}> { }>
      w = If (add) <then_branch = u () => (float[3] p) <float[1] part = {0.5}> { f = Cast <to = 1> (i)  g = Mul(v, part)  p = Add(g, f) },
                    else_branch = z () => (float[3] q) { q = Identity(v) }>
   }>
}"""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def branches(c, x):
    return [np.maximum(x, 0) * 2 + x if c else np.exp(x.sum(keepdims=True))]


def nested(n, x):
    v, steps = x, np.zeros((0, 3), np.float32)
    for i in range(int(n)):
        before = v
        for _ in range(i + 1):
            v = np.tanh(v * x) + before
        steps = np.concatenate([steps, -v[None]])
    return [v, steps]


def stops(x):
    trips, going = 0, True
    while going:
        x = x * np.float32(0.5)
        going = np.abs(x).max() > 0.01
        trips += 1
    return [x, np.arange(trips, dtype=np.int64)]


def open_state(n, x):
    steps = np.stack([x.T * (-1) ** (i + 1) for i in range(int(n))]) if n else np.zeros((0, x.shape[1], x.shape[0]), np.float32)
    return [x * np.float32((-1) ** int(n)), steps, np.array(steps.shape)]


def grows(n, x):
    for _ in range(int(n)):
        x = np.concatenate([x, sigmoid(x)])
    return [x]


def captures_weight(n, x):
    w = np.diag(np.full(4, 0.5, np.float32))
    w[0, 3], w[3, 0] = 0.25, 0.125
    v = x
    for _ in range(int(n)):
        v = v @ w + x
    return [v]


def scans(s, x, z):
    sums, products = [], []
    for i in range(5):
        sums.append(s + x[:, 4 - i])
        products.append(sums[-1] * z[i][:, None])
        s = np.tanh(products[-1])
    return [s, np.stack(sums, axis=1), np.stack(products[::-1])]


def starts_from_constants(n, x):
    return [n, integer(2**n), np.array([3 * 3, 5 * 8, 7 * 15]), x + np.float32(2 ** (n + 1) - 2)]


def batches(lengths, s, flat, shape):
    x, w = flat.reshape(shape), np.array([0.5, -2, 1], np.float32)
    last, sums = s.copy(), np.zeros(shape, np.float32)
    for entry, length in enumerate(lengths):
        for t in range(length):
            sums[entry, t] = last[entry] + x[entry, t] * w
            last[entry] = sums[entry, t] - x[entry, length - 1 - t]
    most = np.where(np.arange(shape[1]) < lengths[:, None], sums.max(axis=2), 0) if flat.size else np.zeros(shape[:2], np.float32)
    return [last, sums, most.astype(np.float32)]


def batches_of_one_length(s, x):
    return [s + x.sum(axis=1), -(s[:, None] + x.cumsum(axis=1))]


def attends(n, q, k, v, bias):
    k, v = k.repeat(2, axis=1), v.repeat(2, axis=1)
    for _ in range(int(n)):
        scores = np.exp(q @ k.swapaxes(2, 3) / np.sqrt(np.float32(2)) + bias)
        q = scores / scores.sum(axis=3, keepdims=True) * np.float32(0.5) @ v
    return [q]


def output_is_input(c, x, y):
    return [x, x] if c else [y, x + y]


def swaps(n, x, y):
    for _ in range(int(n)):
        x, y = y, -x
    return [x, y]


def sequences(n, x):
    parts = [x + np.float32(i) for i in range(int(n))] + [x]
    return [np.concatenate(parts), integer(len(parts))]


def declared_too_short(most, x):
    x = np.concatenate([x, x])
    while len(x) < most:
        x = np.concatenate([x, x])
    return [x]


def while_of_tensorflow(n, x):
    for i in range(0, int(n), 2):
        x = x * np.float32(0.5) + np.float32(i)
    return [x]


X = floats(3)

# The model, what it computes, and its inputs.
CASES = {
    "branches_then": (BRANCHES, branches, {"c": np.array(True), "x": floats(2, 4)}),
    "branches_else": (BRANCHES, branches, {"c": np.array(False), "x": floats(5, 4)}),
    "nested": (NESTED, nested, {"n": integer(4), "x": X}),
    "nested_no_trip": (NESTED, nested, {"n": integer(0), "x": X}),
    "open_state": (OPEN_STATE, open_state, {"n": integer(3), "x": floats(2, 3)}),
    "open_state_no_trip": (OPEN_STATE, open_state, {"n": integer(0), "x": floats(2, 3)}),
    "stops": (STOPS, stops, {"x": floats(2)}),
    "grows": (GROWS, grows, {"n": integer(5), "x": floats(1, 3)}),
    "grows_no_trip": (GROWS, grows, {"n": integer(0), "x": floats(1, 3)}),
    "captures_weight": (CAPTURES_WEIGHT, captures_weight, {"n": integer(3), "x": floats(2, 4)}),
    "scans": (SCANS, scans, {"s": floats(2, 3), "x": floats(2, 5, 3), "z": floats(5, 2)}),
    "starts_from_constants": (STARTS_FROM_CONSTANTS, starts_from_constants, {"n": integer(4), "x": X}),
    "batches": (BATCHES, batches, {"lengths": np.array([4, 0, 2]), "s": floats(3, 3), "flat": floats(36), "shape": np.array([3, 4, 3])}),
    "batches_first_is_empty": (BATCHES, batches, {"lengths": np.array([0, 2]), "s": floats(2, 3), "flat": floats(12), "shape": np.array([2, 2, 3])}),
    "batches_no_trip": (BATCHES, batches, {"lengths": np.array([0, 0]), "s": floats(2, 3), "flat": floats(18), "shape": np.array([2, 3, 3])}),
    "batches_none": (BATCHES, batches, {"lengths": np.zeros(0, np.int64), "s": floats(0, 3), "flat": floats(0), "shape": np.array([0, 2, 3])}),
    "batches_of_one_length": (BATCHES_OF_ONE_LENGTH, batches_of_one_length, {"s": floats(2, 3), "x": floats(2, 5, 3)}),
    "batches_of_no_length": (BATCHES_OF_ONE_LENGTH, batches_of_one_length, {"s": floats(2, 3), "x": floats(2, 0, 3)}),
    "attends": (ATTENDS, attends, {"n": integer(3), "q": floats(1, 4, 3, 2), "k": floats(1, 2, 5, 2), "v": floats(1, 2, 5, 2) + 1,
                                   "bias": floats(5)}),
    "output_is_input_then": (OUTPUT_IS_INPUT, output_is_input, {"c": np.array(True), "x": X, "y": X + 1}),
    "output_is_input_else": (OUTPUT_IS_INPUT, output_is_input, {"c": np.array(False), "x": X, "y": X + 1}),
    "swaps": (SWAPS, swaps, {"n": integer(7), "x": floats(4), "y": floats(4) + 1}),
    "declared_too_short": (DECLARED_TOO_SHORT, declared_too_short, {"most": integer(20), "x": np.array([3])}),
    "while_of_tensorflow": (WHILE_OF_TENSORFLOW, while_of_tensorflow, {"n": np.array(7, np.int32), "x": X}),
    "while_of_tensorflow_no_trip": (WHILE_OF_TENSORFLOW, while_of_tensorflow, {"n": np.array(0, np.int32), "x": X}),
    "sequences": (SEQUENCES, sequences, {"n": integer(4), "x": X}),
    "sequences_no_trip": (SEQUENCES, sequences, {"n": integer(0), "x": X}),
}
