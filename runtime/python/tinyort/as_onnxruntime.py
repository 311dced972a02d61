"""Runs a program that imports onnxruntime with tinyort in its place, unchanged:

    python -m tinyort.as_onnxruntime SCRIPT [ARGUMENT...]
    python -m tinyort.as_onnxruntime -m MODULE [ARGUMENT...]
    python -m tinyort.as_onnxruntime -c CODE [ARGUMENT...]

When it ends, a line for each model tells where its nodes ran, on stderr. A program that cannot be started so calls
tinyort.as_onnxruntime.install() before anything imports onnxruntime. What is not a matter of running models
(onnxruntime.quantization, onnxruntime.transformers) stays onnxruntime's own, if it is installed.
"""

import atexit
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import types

import tinyort
from tinyort import errors, session

STANDS_FOR = "1.31.1"  # the release of onnxruntime whose Python interface this is, and which the tests compare with
_ERRORS = [name for name, value in vars(errors).items() if isinstance(value, type) and name not in ("Error", "UnknownOperator")]


def _module(name, attributes, path=None):
    module = types.ModuleType(name, tinyort.__doc__)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, origin=tinyort.__file__, is_package=path is not None)
    if path is not None:
        module.__path__ = module.__spec__.submodule_search_locations = path
    module.__dict__.update(attributes)
    sys.modules[name] = module
    return module


def _real_folders():
    """Where an installed onnxruntime is, without importing it: its tools are found there."""
    spec = importlib.util.find_spec("onnxruntime")
    return list(spec.submodule_search_locations or ()) if spec else []


class _Distribution(importlib.metadata.Distribution):
    """What importlib.metadata finds of onnxruntime where it is not installed."""

    def read_text(self, filename):
        return f"Metadata-Version: 2.1\nName: onnxruntime\nVersion: {STANDS_FOR}\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return path


class _Finder(importlib.metadata.DistributionFinder):
    """Finds the distribution above, and no module."""

    def find_spec(self, *_):
        return None

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):  # noqa: B008
        return [_Distribution()] if context.name in ("onnxruntime", None) else []


def install():
    """Makes `import onnxruntime` give tinyort from now on. Returns the module."""
    loaded = sys.modules.get("onnxruntime")
    if loaded is not None and getattr(loaded, "InferenceSession", None) is not tinyort.InferenceSession:
        raise RuntimeError("onnxruntime is imported already: call install() before that")
    if loaded is not None:
        return loaded
    folders = _real_folders()
    if not folders:
        sys.meta_path.append(_Finder())
    names = {name: getattr(tinyort, name) for name in tinyort.__all__ if name not in ("Error", "compare", "errors", "op", "plan", "providers")}
    names |= {"__version__": STANDS_FOR, "__author__": "tinyort", "__file__": tinyort.__file__,
              "__getattr__": tinyort.__getattr__}
    root = _module("onnxruntime", names, folders)
    exceptions = {name: getattr(errors, name) for name in _ERRORS}
    states = ("onnxruntime_pybind11_state", "_pybind_state", "onnxruntime_inference_collection", "onnxruntime_validation")
    root.capi = _module("onnxruntime.capi", {}, [])
    for state in states:
        setattr(root.capi, state, _module(f"onnxruntime.capi.{state}", {**names, **exceptions}))
    return root


def _watch():
    """Tells at the end of the process where the nodes of each model ran."""
    lines = []

    def made(new):
        model = new._model
        name = os.path.basename(model) if isinstance(model, (str, os.PathLike)) else "a model in memory"
        line = f"{name}: {new._brief().line()}"
        if line not in lines:
            lines.append(line)

    session._made.append(made)
    atexit.register(lambda: [print(f"tinyort: {line}", file=sys.stderr) for line in lines])


def main():
    """The command line."""
    import runpy

    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments in (["-m"], ["-c"]):
        print(__doc__.strip())
        return 0 if arguments and arguments[0] not in ("-m", "-c") else 2
    if arguments[0] not in ("-m", "-c") and not os.path.exists(arguments[0]):
        print(f"tinyort.as_onnxruntime: there is no script {arguments[0]!r}", file=sys.stderr)
        return 2
    install()
    _watch()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.modules["__main__"] = types.ModuleType("__main__")  # by which its classes are pickled
        exec(compile(arguments[1], "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
