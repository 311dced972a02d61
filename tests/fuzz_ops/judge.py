"""Compares what tinyort answers with what the oracles answer, and looks a disagreement up in explanations.toml.

A disagreement is one of
  type, shape, values   both compute, and differ
  refuses               tinyort refuses what the oracle computes
  accepts               tinyort computes what onnxruntime refuses (onnx.reference checks next to nothing: its errors count nothing)
Of onnx.shape_inference, which sees the model alone, type and shape are held against what tinyort inferred when it loaded the model, as
far as both know it, and refusals count nothing. What tinyort may never do (NEVER, but for a node beyond its memory limit) has no explanation.
"""

import re
import tomllib
from pathlib import Path

import numpy as np
from onnx import TensorProto

from values import COMPLEX, STRING, is_float, type_name

# Relative and absolute tolerance of a type; what sums many products is held against the largest element (`sums`).
TOLERANCES = {
    TensorProto.DOUBLE: (1e-5, 1e-6),
    TensorProto.FLOAT: (1e-4, 1e-5),
    TensorProto.FLOAT16: (1e-2, 2e-3),
    TensorProto.BFLOAT16: (4e-2, 1e-2),
    TensorProto.COMPLEX64: (1e-4, 1e-5),
    TensorProto.COMPLEX128: (1e-5, 1e-6),
}
SMALL = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
NEVER = {"INTERNAL", "CRASH", "HANG", "LEAK", "SHAPES", "USAGE", "IO", "DEVICE_LOST", "PLACEMENT"}


class Disagreement:
    def __init__(self, oracle, kind, detail):
        self.oracle, self.kind, self.detail = oracle, kind, detail

    def __str__(self):
        return f"{self.oracle} {self.kind}: {self.detail}"


def differing(ours, theirs, sums=False):
    """Where two tensors of one type and shape differ: a list of flat indices."""
    number, a, b = ours.type, ours.array, theirs.array
    if number == STRING or not (is_float(number) or number in COMPLEX):
        return np.flatnonzero(a.ravel() != b.ravel())
    wide = np.complex128 if number in COMPLEX else np.float64
    a, b = a.astype(wide).ravel(), b.astype(wide).ravel()
    if number not in TOLERANCES:  # 8 bits and less
        return np.flatnonzero(~((a == b) | (np.isnan(a) & np.isnan(b))))
    relative, absolute = TOLERANCES[number]
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = finite.max() if sums and finite.size else 0
        close = np.abs(a - b) <= absolute + relative * np.maximum(np.abs(b), scale)
    return np.flatnonzero(~(close | (a == b) | (np.isnan(a) & np.isnan(b))))


def _of_outputs(case, name, ours, theirs):
    sums = bool(case.options.get("sums"))
    for k, (a, b) in enumerate(zip(ours, theirs)):
        if a.type != b.type:
            return Disagreement(name, "type", f"output {k} is {type_name(a.type)}, not {type_name(b.type)}")
        if a.shape != b.shape:
            return Disagreement(name, "shape", f"output {k} is {list(a.shape)}, not {list(b.shape)}")
    if case.random_outputs:
        return None
    for k, (a, b) in enumerate(zip(ours, theirs)):
        where = differing(a, b, sums)
        if where.size:
            i = int(where[0])
            found, wanted = a.array.ravel()[i], b.array.ravel()[i]
            return Disagreement(name, "values", f"output {k}: {where.size} of {a.array.size}, element {i} is {found!r}, not {wanted!r}")
    return None


def shapes_known(ours, theirs):
    """Of a model that runs, do both inferences know the rank of an output?"""
    return ours.code == theirs.code == "OK" and any(None not in (a.dims, b.dims) for a, b in zip(ours.inferred, theirs.outputs))


def shape_disagreement(name, ours, theirs):
    """What two shape inferences say of one model that runs; None where both agree, as far as both know something."""
    if ours.code != "OK" or theirs.code != "OK":
        return None
    for k, (a, b) in enumerate(zip(ours.inferred, theirs.outputs)):
        if a.type and b.type and a.type != b.type:
            return Disagreement(name, "type", f"output {k} is inferred as {type_name(a.type)}, not {type_name(b.type)}")
        if a.dims is None or b.dims is None:
            continue
        if len(a.dims) != len(b.dims) or any(x != y for x, y in zip(a.dims, b.dims) if None not in (x, y)):
            return Disagreement(name, "shape", f"output {k} is inferred as {a}, not {b}")
    return None


def over_limit(ours):
    """tinyort refuses the node because of its memory limit: an oracle may have more."""
    return ours.code == "PLACEMENT" and "NO_MEMORY" in ours.message


def endless(case, ours):
    """A loop that a spoilt number asks to go on for longer than anyone waits."""
    trips = case.node.inputs[0] if case.name == "Loop" and case.mutated else None
    return ours.code == "HANG" and trips is not None and trips.array.max(initial=0) > 10**6


def redeclared(case, ours):
    """What goes into a body has another shape than the body declares: tinyort runs it with the shape that it has (ops/README.md)."""
    return ours.code == "SHAPES" and case.mutated is not None and case.name in ("If", "Loop", "Scan")


def never(case, ours):
    """What has no explanation. Sizes that nobody can count, or hold, come from absurd numbers alone."""
    absurd = "larger than can be counted" in ours.message or ours.code == "MEMORY"
    return (absurd and case.mutated is None) or (ours.code in NEVER and not (over_limit(ours) or endless(case, ours) or redeclared(case, ours)))


def disagreement(case, name, ours, theirs):
    """None where both agree, or where the oracle has no opinion."""
    if theirs.code in ("UNSUPPORTED", "CRASH", "HANG") or ours.code in ("MEMORY", "SHAPES") or over_limit(ours) or endless(case, ours):
        return None
    if theirs.code != "OK":
        if ours.code != "OK" or name != "onnxruntime":
            return None
        return Disagreement(name, "accepts", theirs.message)
    if ours.code != "OK":
        return Disagreement(name, "refuses", f"{ours.code}: {ours.message}")
    return _of_outputs(case, name, ours.outputs, theirs.outputs)


def rows_disagreement(case, plain, ours, one):
    """A fast kernel against the plain loops, and where it ran with more threads, against itself with one: the same bits, but for NaN's."""
    if ours.code != plain.code:
        return Disagreement("plain loops", "status", f"{ours}"[:200] + f", not {plain}"[:200])
    if ours.code != "OK":
        return None
    found = _of_outputs(case, "plain loops", ours.outputs, plain.outputs)
    if found or one is None or one.code != "OK" or case.random_outputs:
        return found
    for k, (a, b) in enumerate(zip(ours.outputs, one.outputs)):
        if a.type != STRING and a.array.tobytes() != b.array.tobytes() and not np.array_equal(a.array, b.array, equal_nan=is_float(a.type)):
            return Disagreement("one thread", "bits", f"output {k}")
    return None


def _all_nonfinite(case, ours, theirs):
    """NaN or infinities go in, and each element that differs has one on either side."""
    arrays = [t.array for t in case.node.inputs if t is not None and is_float(t.type) and t.array.size]
    if all(np.isfinite(a.astype(np.float64)).all() for a in arrays) or not ours.outputs or not theirs.outputs:
        return False
    for a, b in zip(ours.outputs, theirs.outputs):
        if a.type != b.type or a.shape != b.shape or not is_float(a.type):
            return False
        x, y = a.array.astype(np.float64).ravel(), b.array.astype(np.float64).ravel()
        where = differing(a, b, bool(case.options.get("sums")))
        if (np.isfinite(x[where]) & np.isfinite(y[where])).any():
            return False
    return True


def _distance(ours, theirs):
    """The largest difference of two outputs, and the same in parts of the largest element."""
    far, scale = 0.0, 1.0
    for a, b in zip(ours.outputs or [], theirs.outputs or []):
        if a.shape != b.shape or STRING in (a.type, b.type) or a.type in COMPLEX or not a.array.size:
            continue
        x, y = a.array.astype(np.float64), b.array.astype(np.float64)
        both = np.isfinite(x) & np.isfinite(y)
        if (~both & ~((x == y) | (np.isnan(x) & np.isnan(y)))).any():
            return np.inf, np.inf
        far = max(far, np.abs(x[both] - y[both]).max(initial=0))
        scale = max(scale, np.abs(y[both]).max(initial=0))
    return far, far / scale


class Facts(dict):
    """The names that `when` of an explanation may use."""

    FLAGS = ("align_corners", "allowzero", "antialias", "bilinear", "broadcast", "center_point_box", "ceil_mode",
             "count_include_pad", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "inverse", "is_causal",
             "is_case_sensitive", "is_test", "keepdims", "largest", "layout", "linear_before_reset", "new_axis", "noop_with_empty_axes",
             "onesided", "periodic", "reverse", "saturate", "select_last_index", "sorted", "spatial", "storage_order",
             "training_mode", "transA", "transB", "upper", "detect_negative", "detect_positive", "output_sequence",
             "causal", "do_rotary", "is_packed_batching", "output_qk", "past_present_share_buffer", "rotary_interleaved",
             "sliding_window_cache", "unidirectional")

    def __init__(self, case, ours, theirs):
        inputs = case.node.inputs
        arrays = [t.array for t in inputs if t is not None]
        far, near = _distance(ours, theirs)
        super().__init__(
            np=np,
            prod=lambda values: int(np.prod(values, dtype=np.int64)),
            since=case.since,
            opset=case.opset,
            spoilt=case.mutated is not None,
            odd_flag=any(case.attribute(name) not in (0, 1, None) for name in self.FLAGS),
            nonfinite=_all_nonfinite(case, ours, theirs),
            wide=any(a.dtype.kind in "iu" and a.size and max(abs(int(a.min())), abs(int(a.max()))) >= 2**24 for a in arrays),
            empty=any(a.size == 0 for a in arrays),
            has_nan=any(t is not None and is_float(t.type) and np.isnan(t.array.astype(np.float64)).any() for t in inputs),
            far=far,
            near=near,
            small=any(t is not None and t.type in SMALL for t in inputs),
            attribute=case.attribute,
            given=lambda name: name in case.node.attributes,
            present=lambda i: i < len(inputs) and inputs[i] is not None,
            type=lambda i: type_name(inputs[i].type) if i < len(inputs) and inputs[i] is not None else None,
            shape=lambda i: inputs[i].shape if i < len(inputs) and inputs[i] is not None else None,
            x=[t.array if t is not None else None for t in inputs],
            count=len(inputs),
            forms=case.forms,
            wanted=case.node.outputs,
            inferred=[shape.dims for shape in ours.inferred or []],
            ours=[t.array for t in ours.outputs or []],
            theirs=[t.array for t in theirs.outputs or []],
            differing=lambda k: differing(ours.outputs[k], theirs.outputs[k], bool(case.options.get("sums"))),
        )


class Explanations:
    """The list in explanations.toml; the first that fits explains."""

    def __init__(self, path=Path(__file__).with_name("explanations.toml")):
        self.entries = tomllib.loads(path.read_text())["explanation"]
        self.counts = [0] * len(self.entries)
        for entry in self.entries:
            unknown = entry.keys() - {"operator", "since", "oracle", "kind", "when", "message", "reason"}
            assert not unknown and entry["reason"], f"explanation {entry}: {unknown}"
            entry["code"] = compile(entry.get("when", "True"), entry["reason"], "eval")

    @staticmethod
    def _listed(wanted, value):
        return wanted is None or value == wanted or (isinstance(wanted, list) and value in wanted)

    def of(self, case, found, ours, theirs):
        facts = None
        for i, entry in enumerate(self.entries):
            if not self._listed(entry.get("operator"), case.name) or not self._listed(entry.get("since"), case.since):
                continue
            if not self._listed(entry.get("oracle"), found.oracle) or not self._listed(entry.get("kind"), found.kind):
                continue
            if "message" in entry and not re.search(entry["message"], found.detail):
                continue
            facts = facts or Facts(case, ours, theirs)
            try:
                fits = eval(entry["code"], dict(facts))  # noqa: S307 - our own file
            except (TypeError, IndexError, ValueError, ZeroDivisionError, AttributeError):
                fits = False  # of a spoilt case the condition may not even make sense
            if fits:
                self.counts[i] += 1
                return entry
        return None
