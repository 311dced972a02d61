"""Operators in Python: @tinyort.op."""

import threading

from . import _core
from .errors import InvalidArgument
from .values import TYPE_NUMBERS

_registered = {}  # (domain, name, version): what _core.operators takes
NEWEST = 2**15 - 1  # the last version of a domain that a row can be for
KINDS = ("int", "float", "string", "ints", "floats", "strings")


class Unknown:
    """A size that is not known before a run. Sums and products with it are unknown, too."""

    def __init__(self, number=None):
        self._number = number  # the library's number of a symbol; None: another unknown

    def _other(self, *_):
        return Unknown()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __mod__ = _other

    def __eq__(self, other):
        return isinstance(other, Unknown) and self._number is not None and self._number == other._number

    def __hash__(self):
        return hash(self._number)

    def __repr__(self):
        return "unknown"


class Operator:
    """A registered operator: calls of the library, to the function."""

    def __init__(self, function, shape, outputs):
        self.function, self.shape, self.outputs = function, shape, outputs
        self._made = threading.local()  # results of a call that only asked for shapes

    def _results(self, inputs, attributes):
        results = self.function(*(None if value is None else value.result() for value in inputs), **attributes)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if len(results) < self.outputs:
            raise ValueError(f"{len(results)} results; the operator has {self.outputs} outputs")
        return results

    def call(self, inputs, attributes):
        """The results for values."""
        made = self._made.__dict__.pop("results", None)
        return made if made is not None else self._results(inputs, attributes)

    def shapes(self, inputs, attributes):
        """Shapes of the results: of shapes, or of values where no shape function was given."""
        if self.shape is None:
            self._made.results = self._results(inputs, attributes)
            return [tuple(getattr(result, "shape", ())) for result in self._made.results]
        shapes = [None if s is None else tuple(Unknown(d) if d < 0 else d for d in s) for s in inputs]
        if any(shape is None for shape in shapes):
            return [None] * self.outputs
        made = self.shape(*shapes, **attributes)
        made = made if isinstance(made, list) else [made]
        return [None if shape is None else tuple(_dim(d) for d in shape) for shape in made]


def _dim(dim):
    return dim._number if isinstance(dim, Unknown) else None if dim is None else int(dim)


def _ports(text):
    """[(name, type)] of "X:T W:T"."""
    return [tuple(port.rstrip("?*+") for port in word.split(":")) for word in text.split()]


def _output_types(inputs, outputs, types):
    """[(input whose type it has or -1, type)] of the outputs."""
    constraints = dict(word.split("=") for word in types.split())
    firsts = {kind: at for at, (_, kind) in reversed(list(enumerate(_ports(inputs))))}
    found = []
    for name, kind in _ports(outputs):
        if kind in constraints:
            if kind not in firsts:
                raise InvalidArgument(f"output {name}: no input has the type {kind}; write its type, such as {name}:float")
            found.append((firsts[kind], 0))
        elif kind in TYPE_NUMBERS:
            found.append((-1, TYPE_NUMBERS[kind]))
        else:
            raise InvalidArgument(f"output {name}: {kind!r} is neither a type nor in types")
    return found


def op(name, inputs="X:T", outputs="Y:T", types="T=float", attributes="", shape=None, version=1):
    """Makes a function an operator of sessions that are made from now on:

        @tinyort.op("com.example::Scale", attributes="factor:float=2", shape=lambda x, factor: x)
        def scale(x, factor):
            return x * factor

    name        "domain::Name"
    inputs      names and types, as in ONNX's schemas: "X:T W:T B?:T" ('?' optional)
    outputs     as inputs
    types       the types that a name stands for: "T=float|double"
    attributes  "axis:int=1 mode:string=nearest pads:ints alpha:float!" ('!' required); keyword arguments of the function
    shape       a function from the inputs' shapes to the output's, or to a list of them; None: shapes depend on data, and
                are known when the function has run
    version     of the domain from which on it holds; a later one replaces it

    The function takes arrays and returns one, or a list of them. Its nodes are on cpu, with this name in the report.
    """
    domain, separator, short = name.rpartition("::")
    if not separator or not domain or not short:
        raise InvalidArgument(f"op: {name!r}: expected 'domain::Name'")

    def register(function):
        _registered[domain, short, version] = _row(domain, short, inputs, outputs, types, attributes, version, function, shape)
        return function

    return register


def _row(domain, name, inputs, outputs, types, attributes, version, function, shape):
    """What _core.operators takes of an operator."""
    declared = [tuple(word.split("=")[0].rstrip("!").split(":")) for word in attributes.split()]
    wrong = [":".join(word) for word in declared if len(word) != 2 or word[1] not in KINDS]
    if wrong:
        raise InvalidArgument(f"op {name}: attribute {wrong[0]!r}: expected NAME:KIND, of {', '.join(KINDS)}")
    operator = Operator(function, shape, len(_ports(outputs)))
    return (domain, name, version, len(_ports(inputs)), inputs, outputs, types, attributes, declared,
            _output_types(inputs, outputs, types), operator.call, operator.shapes, shape is not None)


def _closed(rows):
    """Rows with the last version that each is for: up to the next row of the operator."""
    for row in rows:
        later = [other[2] for other in rows if other[:2] == row[:2] and other[2] > row[2]]
        yield (*row[:3], min(later, default=NEWEST + 1) - 1, *row[3:])


def capsule(extra=()):
    """The registered operators and some more, for _core.open; None: there are none."""
    rows = [*_registered.values(), *extra]
    return _core.operators(list(_closed(rows))) if rows else None
