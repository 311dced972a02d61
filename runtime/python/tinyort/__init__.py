"""tinyort runs ONNX models, and tells where every node runs, and why.

    import tinyort

    session = tinyort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    outputs = session.run(None, {"x": array})
    print(session.placement())

Classes and functions have onnxruntime's names and arguments; what tinyort has beyond that: session.placement(),
session.assert_on(), session.memory(), session.profile(), session.save_plan() and load_plan(), plan(), providers(),
compare(), quantize(), convert(), op. `python -m tinyort.as_onnxruntime SCRIPT` runs a program that imports onnxruntime, unchanged.
"""

from . import _core, errors, values
from .chain import get_all_providers, get_available_providers, get_device
from .errors import Error
from .options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    ModelMetadata,
    NodeArg,
    RunOptions,
    SessionOptions,
)
from .placement import Placement, providers
from .session import InferenceSession, load_plan, plan
from .values import OrtValue

_core.connect(errors.make, values.tensor, values.array)

__version__ = _core.version()[0]

_LATER = {  # imported when first used, so that `import tinyort` stays quick
    "IOBinding": "binding",
    "SessionIOBinding": "binding",
    "compare": "comparing",
    "convert": "quantizing",
    "quantize": "quantizing",
    "Report": "quantizing",
    "op": "operators",
    "Profile": "profile",
}

_ABSENT = {  # names of onnxruntime, and what serves here
    "SparseTensor": "inputs are dense arrays; sparse initializers of a model are read",
    "OrtDevice": "a device is named: OrtValue.ortvalue_from_numpy(array, 'cuda', 0)",
    "OrtMemoryInfo": "sessions share no arena; InferenceSession.memory() tells what one takes",
    "OrtArenaCfg": "memory is bounded in the chain: 'cuda:mem_limit=2G'",
    "ModelCompiler": "InferenceSession.save_plan(path) keeps what was compiled, load_plan(path) takes it",
    "LoraAdapter": "adapters are merged into the weights before the export",
}


def __getattr__(name):
    if name not in _LATER:
        hint = f", which onnxruntime has: {_ABSENT[name]}" if name in _ABSENT else ""
        raise AttributeError(f"module 'tinyort' has no attribute {name!r}{hint}")
    from importlib import import_module

    found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):
    """Nothing to do: the provider cuda finds NVIDIA's libraries itself."""


def disable_telemetry_events():
    """Nothing to do: tinyort has no telemetry."""


def enable_telemetry_events():
    """Nothing to do: tinyort has no telemetry."""


def set_default_logger_severity(severity):
    """Nothing to do: tinyort has no log; what a program must know is an exception, or in session.placement()."""


def set_default_logger_verbosity(verbosity):
    """Nothing to do, as set_default_logger_severity."""


def set_seed(seed):
    """Accepted: random operators have the seed that the model gives them."""


def get_version_string():
    """The version of the library."""
    return __version__


def get_build_info():
    """The version, and the providers of this build."""
    return f"tinyort {__version__}, providers: {', '.join(info['name'] for info in _core.providers())}"


def get_ep_devices():
    """Empty: providers are named in a chain, and providers() tells what opens."""
    return []


def register_execution_provider_library(registration_name, library_path):
    """Refused: such libraries are onnxruntime's own."""
    raise errors.NotImplemented(f"{library_path}: tinyort loads no provider libraries of onnxruntime; its own are "
                                f"{', '.join(info['name'] for info in _core.providers())}")


def unregister_execution_provider_library(registration_name):
    """Refused, as nothing can be registered."""
    raise errors.NotImplemented(f"{registration_name}: nothing is registered")


def has_collective_ops():
    """False."""
    return False


__all__ = [
    "Error", "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "ModelMetadata",
    "NodeArg", "OrtValue", "Placement", "Profile", "Report", "RunOptions", "SessionIOBinding", "SessionOptions", "compare", "convert",
    "disable_telemetry_events", "enable_telemetry_events", "errors", "get_all_providers", "get_available_providers",
    "get_build_info", "get_device", "get_ep_devices", "get_version_string", "has_collective_ops", "load_plan", "op", "plan",
    "preload_dlls", "providers", "quantize", "register_execution_provider_library", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
    "unregister_execution_provider_library",
]  # fmt: skip
