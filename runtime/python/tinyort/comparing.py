"""compare(): the first value that differs between two chains."""

from .session import InferenceSession
from .values import TYPE_NAMES, numpy_or_none


class Comparison:
    """What compare() found; true if all values are equal.

    compared   number of values that were compared
    different  those that differ, in the order they are made: dicts of node, op, value, text, worst
    first      the first of them, whose node is where to look: later ones inherit its error; None: all are equal
    worst      largest difference of all
    placed     the Placement of each session
    """

    def __init__(self, compared, different, worst, placed):
        self.compared, self.different, self.worst, self.placed = compared, different, worst, placed
        self.first = different[0] if different else None

    def __bool__(self):
        return not self.different

    def __repr__(self):
        if not self.different:
            return f"<Comparison: {self.compared} values are equal, worst difference {self.worst:.3g}>"
        found = self.first
        return (f"<Comparison: {len(self.different)} of {self.compared} values differ, first {found['value']!r} of "
                f"{found['node']} ({found['op']}): {found['text']}>")


def random_feed(ports, seed=0):
    """Inputs at random: floats of 0 to 1, integers of 0 and 1; dimensions that are not fixed are 1."""
    numpy = numpy_or_none()
    random = numpy.random.default_rng(seed)
    feed = {}
    for port in ports:
        shape = [dim if isinstance(dim, int) else 1 for dim in port.shape]
        name = TYPE_NAMES[port.element_type]
        if name in ("float", "double", "float16"):
            feed[port.name] = random.random(shape).astype({"float": "f4", "double": "f8", "float16": "f2"}[name])
        else:
            feed[port.name] = random.integers(0, 2, shape).tolist()
    return feed


def _difference(a, b, rtol, atol):
    """(text or None, largest difference) of two arrays."""
    numpy = numpy_or_none()
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} {a.shape}, {b.dtype} {b.shape}", float("inf")
    if a.dtype == object or a.dtype.kind not in "fiubc":
        return (None, 0.0) if numpy.array_equal(a, b) else ("other contents", float("inf"))
    x, y = (array.astype(complex if array.dtype.kind == "c" else float) for array in (a, b))
    with numpy.errstate(invalid="ignore"):
        apart = numpy.abs(x - y)
        fine = (apart <= atol + rtol * numpy.abs(y)) | (x == y) | (numpy.isnan(x) & numpy.isnan(y))
    worst = float(numpy.nanmax(apart, initial=0.0))
    if fine.all():
        return None, worst
    return f"{int((~fine).sum())} of {a.size} elements differ by more than {atol:g} + {rtol:g} |b|; worst {worst:.3g}", worst


def _tolerances(dtype, rtol, atol):
    half = dtype.name in ("float16", "bfloat16")
    exact = dtype.kind not in "fc" and not half
    return (1e-2 if half else 0.0 if exact else 1e-3) if rtol is None else rtol, \
           (1e-2 if half else 0.0 if exact else 1e-4) if atol is None else atol  # fmt: skip


def compare(model, a, b, feed=None, rtol=None, atol=None, **options):
    """Runs a model on two chains node by node, without folding or fusion, and compares every value:

        tinyort.compare("model.onnx", "cpu:isa=plain", "cpu")

    feed        inputs by name; None: at random
    rtol, atol  |a - b| <= atol + rtol |b|; None: 1e-3 and 1e-4, for types of 16 bits 1e-2
    """
    numpy = numpy_or_none()
    if numpy is None:
        raise ImportError("compare() needs numpy")
    sessions = [InferenceSession(model, chain=chain, unfolded=True, **options) for chain in (a, b)]
    feed = random_feed(sessions[0].get_inputs()) if feed is None else feed
    first = {(node, name): value for node, name, value in sessions[0]._core.observe(feed)}
    nodes = {node["index"]: node for node in sessions[1].placement().nodes}
    compared, worst, different = 0, 0.0, []
    for node, name, value in sessions[1]._core.observe(feed):
        other = first.get((node, name))
        if other is None:
            continue
        x, y = other.result(), value.result()
        text, apart = _difference(x, y, *_tolerances(y.dtype, rtol, atol))
        compared, worst = compared + 1, max(worst, apart)
        if text:
            at = nodes.get(node, {"path": f"#{node}", "op": ""})
            different.append({"node": at["path"], "op": at["op"], "value": name, "text": text, "worst": apart})
    return Comparison(compared, different, worst, [session.placement() for session in sessions])
