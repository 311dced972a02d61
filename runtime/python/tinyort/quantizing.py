"""quantize() and convert(): models in 8 or 4 bits, and with floats of another type."""

import os

from .arguments import CONVERT, QUANTIZE, checked
from .errors import Error, InvalidArgument
from .options import NodeArg
from .session import open_core


class Report(dict):
    """What quantize() or convert() did: a dict with the keys that `tinyort quantize --json` and `tinyort convert --json` print.

    model    the bytes of the model; None: it is in the file that report["output"] names
    """

    model = None


def _listed(data):
    """What is indexed by number: the data itself, which may make each sample when it is asked for, or a list of all."""
    if data is None:
        return []
    if hasattr(data, "get_next"):  # onnxruntime's CalibrationDataReader
        data = iter(data.get_next, None)
    if isinstance(data, (str, bytes, os.PathLike, dict)) or not (hasattr(data, "__iter__") or hasattr(data, "__getitem__")):
        raise TypeError('data: expected the inputs of many runs, as in [{"x": array}, {"x": array}], or a CalibrationDataReader; '
                        f"found {type(data).__name__} {data!r:.80}")  # fmt: skip
    samples = data if hasattr(data, "__getitem__") and hasattr(data, "__len__") else list(data)
    if not len(samples):
        raise InvalidArgument("data: there are no samples; 16 or more of what the model will see are needed, and a generator gives its own once")
    return samples


class _Samples:
    """Inputs by the number of a sample, in the order of the model."""

    def __init__(self, core, listed, made_up):
        self.names, self.listed = [name for name, *_ in core.inputs()], listed
        self.made_up, self.at = made_up, None  # at: the last one that was read

    def __call__(self, index):
        self.at = index
        sample = self.listed[index]
        if not hasattr(sample, "keys"):
            if len(self.names) == 1:
                return (sample,)
            raise InvalidArgument(f"expected a dict with {', '.join(self.names)}; found {type(sample).__name__}", "TORT_E_INPUT")
        for name in sample.keys():
            if name not in self.names:
                raise InvalidArgument(f"the model has no input {name!r}; it has {', '.join(self.names)}", "TORT_E_INPUT")
        for name in self.names:
            if name not in sample.keys():
                raise InvalidArgument(f"input {name!r} is missing; there are {', '.join(sample.keys())}", "TORT_E_INPUT")
        return tuple(sample[name] for name in self.names)

    def tell(self, error):
        """Says in the message of an error which sample it is about."""
        if error.code in ("TORT_E_INPUT", "TORT_E_RUN") and self.at is not None and not str(error).startswith("sample "):
            cure = "; the inputs are made up: data=[...] gives those that the model will see" if self.made_up else ""
            error.args = (f"sample {self.at}: {error}{cure}",)


def _make(work, core, samples, output, progress, given):
    """The Report of a method of the extension's session."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function of (phase, done, of); found {type(progress).__name__}")
    path = None if output is None else os.fspath(output)
    try:
        model, found = work(samples, len(samples.listed), progress, path, **given)
    except Error as error:
        samples.tell(error)
        raise
    report = Report(found)
    report.model = model
    if path is not None:
        report["output"] = os.fsdecode(path)
    return report


def _open(model, chain, options):
    return open_core(model, chain=chain if isinstance(chain, str) else ",".join(chain), plan_only=True, **options)


def quantize(model, data=None, output=None, *, scheme="ort", keep=(), keep_ops=(), max_error=None, min_agreement=None, truth=None,
             max_bytes=None, sensitivity=True, weight_type=None, block=None, dynamic=False, chain="cpu", progress=None, **options):  # fmt: skip
    """Makes an 8-bit model of a float32 one, and tells what each node costs, as `tinyort quantize`:

        report = tinyort.quantize("model.onnx", [{"x": array} for array in arrays], "model.int8.onnx", max_error=30)

    model         what InferenceSession takes
    data          inputs of 16 or more runs of what the model will see: an iterable of dicts by input, or of arrays if there is one
                  input; onnxruntime's CalibrationDataReader. What has a length and is indexed is not held in memory. None: with
                  weight_type or dynamic alone
    output        the path of the new model; None: report.model has its bytes
    scheme        "ort", "firmware" or "tensorrt": whose rules
    keep          names of nodes that stay float32; keep_ops: operators
    max_error     decibels that the outputs reach: the most sensitive nodes stay float32
    min_agreement share 0..1 of decisions that stay the same, or are right by `truth`, a class for each sample
    max_bytes     no more nodes stay float32 than make a model of this size
    sensitivity   False: what each node costs is not measured
    weight_type   "int4", "int8": matrices alone, in blocks of `block` rows (32): by GPTQ with data, else rounded
    dynamic       products of bytes, whose range each run finds
    chain         the providers that run the trials
    progress      progress(phase, done, of); returning False ends the work with tinyort.Error
    options       those of InferenceSession, such as symbols={"batch": 1}
    """
    given = checked({"scheme": scheme, "keep": keep, "keep_ops": keep_ops, "max_error": max_error, "min_agreement": min_agreement,
                     "truth": truth, "max_bytes": max_bytes, "sensitivity": sensitivity, "weight_type": weight_type, "block": block,
                     "dynamic": dynamic}, QUANTIZE)  # fmt: skip
    core = _open(model, chain, checked(options))
    samples = _Samples(core, _listed(data), False)
    labels = given.get("truth")
    if labels is not None:
        if len(labels) != len(samples.listed):
            raise InvalidArgument(f"truth: {len(labels)} labels for {len(samples.listed)} samples")
        given["truth"] = labels.tobytes()
    return _make(core.quantize, core, samples, output, progress, given)


def _made_up(core, options):
    """Inputs of two runs, at random, with the sizes that the options fix."""
    from .comparing import random_feed
    from .values import numpy_or_none

    if numpy_or_none() is None:
        raise ImportError("convert() without data needs numpy")
    shapes, symbols = options.get("shapes", {}), options.get("symbols", {})
    ports = [NodeArg(*port[:3], shapes.get(port[0]) or [symbols.get(size, size) for size in port[3] or ()]) for port in core.inputs()]
    return [random_feed(ports, seed) for seed in range(2)]


def convert(model, output=None, *, to="float16", data=None, io="keep", keep=(), keep_ops=(), min_db=None, chain="cpu", progress=None, **options):
    """Makes a model with floats of another type; nodes that would overflow or lose stay as they are, as `tinyort convert`:

        report = tinyort.convert("model.onnx", "model.half.onnx", to="float16")

    to            "float16", "bfloat16" or "float32"
    data          as for quantize(), of what the model will see; None: two runs at random, in which open sizes are 1
    io            "keep": inputs and outputs keep their type; "convert": they change it, too
    min_db        decibels that every output reaches (40): the most sensitive nodes stay; 0: none do
    model, output, keep, keep_ops, chain, progress, options: as for quantize()
    """
    given = checked({"to": to, "io": io, "keep": keep, "keep_ops": keep_ops, "min_db": min_db}, CONVERT)
    own = checked(options)
    core = _open(model, chain, own)
    samples = _Samples(core, _made_up(core, own) if data is None else _listed(data), data is None)
    report = _make(core.convert, core, samples, output, progress, given)
    report["to"], report["random"] = to, data is None
    return report
