"""The keyword arguments of sessions, of quantize() and of convert(): tables that check them, and that the stub for type checkers repeats."""

import difflib
from array import array


class _Wrong(Exception):
    """An argument of a wrong kind (the first argument: what was expected) or value."""


def _texts(value):
    """["a", "b"]; a dict {"conv1": "cpu"} is ["conv1=cpu"]."""
    if isinstance(value, dict):
        value = [f"{key}={entry}" if isinstance(key, str) and isinstance(entry, str) else None for key, entry in value.items()]
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
        raise _Wrong("a list of str")
    return list(value)


def _words(value):
    """One text, as the command line takes it, or a list of its words."""
    return value if isinstance(value, str) else ",".join(_texts(value))


def _text(value):
    if not isinstance(value, str):
        raise _Wrong("a str")
    return value


def _flag(value):
    if value not in (True, False):
        raise _Wrong("True or False")
    return bool(value)


def _whole(value):
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise _Wrong("an int") from None
    if isinstance(value, bool):
        raise _Wrong("an int")
    if number < 0:
        raise ValueError("is negative")
    return number


def _seconds(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Wrong("a number of seconds")
    if not value >= 0:
        raise ValueError("is no time")
    return value


def _number(value):
    """A number as float() takes it, so that NumPy's are."""
    if isinstance(value, (bool, str, bytes)):
        raise _Wrong("a number")
    try:
        number = float(value)
    except TypeError:
        raise _Wrong("a number") from None
    if not 0 <= number < float("inf"):
        raise ValueError("is no number from 0 on")
    return number


def _share(value):
    number = _number(value)
    if number > 1:
        raise ValueError("is no share from 0 to 1")
    return number


def _rows(value):
    number = _whole(value)
    if number < 16 or number & (number - 1):
        raise ValueError("is no power of two from 16 on")
    return number


def _labels(value):
    try:
        return array("q", value)
    except TypeError:
        raise _Wrong("a list of int, a label for each sample") from None
    except OverflowError:
        raise ValueError("has a label of more than 64 bits") from None


def _choice(**choices):
    """A check for words; the extension has a number for each."""

    def check(value):
        if not isinstance(value, str):
            raise _Wrong("a str")
        if value not in choices:
            raise ValueError(f"is none of {', '.join(choices)}")
        return choices[value]

    return check


def _sizes(value):
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _Wrong("a dict of sizes by the name of a dimension")
    return {key: _whole(size) for key, size in value.items()}


def _shapes(value):
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _Wrong("a dict of shapes by the name of an input")
    shapes = {}
    for key, shape in value.items():
        if isinstance(shape, (str, bytes)) or not hasattr(shape, "__len__") or not hasattr(shape, "__iter__"):
            raise _Wrong(f"a shape for {key!r}, a sequence of sizes; sizes of dimensions go to symbols")
        if len(shape) > 8:
            raise ValueError(f"gives {key!r} {len(shape)} dimensions, at most 8 are taken")
        shapes[key] = tuple(None if size is None else _whole(size) for size in shape)
    return shapes


# Name: the check, its type in the stub, and an example of the right form.
SESSION = {
    "pins": (_texts, "Sequence[str] | Mapping[str, str]", 'pins={"conv1": "cpu"}'),
    "symbols": (_sizes, "Mapping[str, int]", 'symbols={"batch": 4}'),
    "max_symbols": (_sizes, "Mapping[str, int]", 'max_symbols={"sequence": 512}'),
    "shapes": (_shapes, "Mapping[str, Sequence[int | None]]", 'shapes={"x": (1, 3, 224, 224)}'),
    "max_shapes": (_shapes, "Mapping[str, Sequence[int | None]]", 'max_shapes={"x": (8, 3, 224, 224)}'),
    "bindings": (_texts, "Sequence[str] | Mapping[str, str]", 'bindings={"x": "cuda"}'),
    "outputs": (_texts, "Sequence[str]", 'outputs=["logits"]'),
    "open_inputs": (_texts, "Sequence[str]", 'open_inputs=["weight"]'),
    "require": (_words, "str | Sequence[str]", 'require=["cuda"]'),
    "allow": (_words, "str | Sequence[str]", 'allow=["NonMaxSuppression"]'),
    "fusions_off": (_words, "str | Sequence[str]", 'fusions_off="*"'),
    "disabled": (_words, "str | Sequence[str]", 'disabled="cuda"'),
    "strict": (_flag, "bool", "strict=True"),
    "strict_integers": (_flag, "bool", "strict_integers=True"),
    "unfolded": (_flag, "bool", "unfolded=True"),
    "allow_links": (_flag, "bool", "allow_links=True"),
    "map_external": (_flag, "bool", "map_external=True"),
    "assume_opset": (_whole, "int", "assume_opset=26"),
    "dynamic_limit": (_whole, "int", "dynamic_limit=512 << 20"),
    "trip_limit": (_whole, "int", "trip_limit=1000"),
    "time_limit": (_seconds, "float", "time_limit=2.5"),
}

_KEEPING = {
    "keep": (_texts, "Sequence[str]", 'keep=["conv1"]'),
    "keep_ops": (_texts, "Sequence[str]", 'keep_ops=["Softmax"]'),
}
QUANTIZE = {
    **_KEEPING,
    "scheme": (_choice(ort=0, firmware=1, tensorrt=2), 'Literal["ort", "firmware", "tensorrt"]', 'scheme="tensorrt"'),
    "max_error": (_number, "float", "max_error=30"),
    "min_agreement": (_share, "float", "min_agreement=0.99"),
    "truth": (_labels, "Sequence[int]", "truth=[3, 0, 7]"),
    "max_bytes": (_whole, "int", "max_bytes=2 << 20"),
    "sensitivity": (_flag, "bool", "sensitivity=False"),
    "weight_type": (_choice(int4=4, int8=8), 'Literal["int4", "int8"]', 'weight_type="int4"'),
    "block": (_rows, "int", "block=32"),
    "dynamic": (_flag, "bool", "dynamic=True"),
}
CONVERT = {
    **_KEEPING,
    "to": (_choice(float16=10, bfloat16=16, float32=1), 'Literal["float16", "bfloat16", "float32"]', 'to="float16"'),
    "io": (_choice(keep=0, convert=1), 'Literal["keep", "convert"]', 'io="convert"'),
    "min_db": (_number, "float", "min_db=40"),
}


def checked(options, table=SESSION):
    """The options as the extension takes them. TypeError for an unknown name and for a wrong kind, ValueError for a
    value that cannot be, with an example of the right form."""
    taken = {}
    for name, value in options.items():
        if name not in table:
            near = difflib.get_close_matches(name, table, 1)
            raise TypeError(f"there is no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(table)}"))
        check, _, example = table[name]
        if value is None:
            continue
        try:
            taken[name] = check(value)
        except _Wrong as wrong:
            raise TypeError(f"{name}: expected {wrong}, as in {example}; found {type(value).__name__} {value!r:.80}") from None
        except ValueError as wrong:
            raise ValueError(f"{name}: {value!r:.80} {wrong}; an example is {example}") from None
    return taken


def stub():
    """The class of these arguments in __init__.pyi."""
    return "\n".join(["class SessionArguments(TypedDict, total=False):", *(f"    {name}: {kind}" for name, (_, kind, _) in SESSION.items())])
