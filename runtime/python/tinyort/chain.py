"""Names of providers: onnxruntime's, tinyort's, and the chain that a list of them means."""

import importlib.util
import re
import sys

from . import _core
from .errors import InvalidArgument

OURS = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
# Providers of onnxruntime that tinyort does not have. A list that names one goes on to the next, and says so.
OTHERS = [
    "NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider", "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider", "DnnlExecutionProvider", "VitisAIExecutionProvider", "QNNExecutionProvider",
    "NnapiExecutionProvider", "VSINPUExecutionProvider", "JsExecutionProvider", "CoreMLExecutionProvider",
    "ACLExecutionProvider", "ArmNNExecutionProvider", "DmlExecutionProvider", "RknpuExecutionProvider",
    "WebNNExecutionProvider", "WebGpuExecutionProvider", "XnnpackExecutionProvider", "CANNExecutionProvider",
    "ROCMExecutionProvider", "TvmExecutionProvider", "AzureExecutionProvider",
]  # fmt: skip
# Options of onnxruntime's CUDA provider, and those of `cuda` that mean the same.
CUDA_OPTIONS = {"device_id": "device", "gpu_mem_limit": "mem_limit", "use_tf32": "tf32", "enable_cuda_graph": "graph"}
SWITCHES = {"1": "on", "0": "off", "True": "on", "False": "off"}

# Providers that host a plugin of onnxruntime, and the packages that have it.
PLUGINS = {
    "openvino": "onnxruntime_ep_openvino",
    "qnn": "onnxruntime_qnn",
    "tensorrt-rtx": "onnxruntime_ep_nv_tensorrt_rtx",
    "webgpu": "onnxruntime_ep_webgpu",
}

_said = set()


def say_once(line):
    """Writes a line to stderr the first time it is to be said."""
    if line not in _said:
        _said.add(line)
        print(f"tinyort: {line}", file=sys.stderr, flush=True)


def escaped(value):
    """A value of an option, as chains are written."""
    return re.sub(r"([\\\\:,])", r"\\\1", value)


def with_plugins(chain):
    """The chain with the plugins of this Python's packages, unless it names a file."""
    parts = re.split(r"(?<!\\),", chain)
    for i, part in enumerate(parts):
        package = PLUGINS.get(part.split(":")[0].strip())
        spec = importlib.util.find_spec(package) if package and ":library=" not in part else None
        if spec and spec.submodule_search_locations:
            parts[i] += ":library=" + escaped(spec.submodule_search_locations[0])
    return ",".join(parts)


def get_all_providers():
    """Names of every provider that a list may have."""
    return [*OTHERS[:2], "CUDAExecutionProvider", *OTHERS[2:], "CPUExecutionProvider"]


def get_available_providers():
    """Providers that open on this machine, in the order of preference; onnxruntime tells what it was built with."""
    found = []
    for info in _core.providers():
        if info["name"] == "cuda" and info["present"] and info["built_for"] and _opens("cuda"):
            found.append("CUDAExecutionProvider")
    return [*found, "CPUExecutionProvider"]


def _opens(name, known={}):  # noqa: B006 - the answer holds as long as the process
    if name not in known:
        known[name] = _core.probe(chain=name)[0]["status"] == "ready"
    return known[name]


def get_device():
    """ "GPU" if CUDA opens here, else "CPU"."""
    return "GPU" if "CUDAExecutionProvider" in get_available_providers() else "CPU"


def _pairs(providers, provider_options):
    """[(name, options)] of the arguments of InferenceSession, with onnxruntime's checks."""
    if isinstance(providers, str):
        providers = [providers]
    if not isinstance(providers, (list, tuple)):
        raise ValueError("'providers' should be a sequence.")
    if provider_options is not None:
        if not isinstance(provider_options, (list, tuple)):
            raise ValueError("'provider_options' should be a sequence.")
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(name, str) for name in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(options, dict) for options in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        return list(zip(providers, provider_options))
    pairs = []
    for entry in providers:
        if isinstance(entry, str):
            pairs.append((entry, {}))
        elif isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[1], dict):
            pairs.append((entry[0], entry[1]))
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return pairs


class Chain:
    """A chain of providers as a list of them means it.

    text      "cuda:device=1,cpu:threads=2", as tinyort writes chains
    names     names of its providers, as tinyort has them
    asked     (name, options) as they were given, for get_provider_options
    absent    names of onnxruntime's providers that were asked for and that tinyort does not have
    ignored   {"provider.option": value} without meaning here
    stream    address of the application's stream; 0: none
    """

    def __init__(self, providers, provider_options, told):
        """told: options of the CPU provider that follow from those of the session, unless its own say otherwise."""
        known = {info["name"]: info["options"] for info in _core.providers()}
        self.names, self.asked, self.absent, self.ignored, self.stream = [], [], [], {}, 0
        parts = []
        for given, options in _pairs(providers, provider_options) or [("CPUExecutionProvider", {})]:
            name = OURS.get(given, given)
            options = {str(key): str(value) for key, value in options.items()}
            if name in self.names or given in self.absent:
                continue
            if given in OTHERS:
                self.absent.append(given)
                continue
            if name not in known:
                raise InvalidArgument(f"unknown provider {given!r}: known are {', '.join(get_all_providers())}, "
                                      f"and by tinyort's names {', '.join(known)}")
            self.names.append(name)
            self.asked.append((given, options))
            parts.append(self._part(name, options, known[name], told))
        self.text = ",".join(parts)

    @classmethod
    def written(cls, text):
        """A chain as the command line has it."""
        chain = cls([], None, {})
        chain.text, chain.names = text, [part.split(":")[0] for part in text.split(",")]
        chain.asked = [(name, {}) for name in chain.names]
        return chain

    def _part(self, name, options, keys, told):
        heeded = {}
        for key, value in options.items():
            ours = CUDA_OPTIONS.get(key, key) if name == "cuda" else key
            if key == "user_compute_stream":
                self.stream = int(value)
            elif ours in keys or "*" in keys:
                heeded[ours] = SWITCHES.get(value, value) if ours in ("tf32", "graph") else value
            else:
                self.ignored[f"{name}.{key}"] = value
        if name == "cpu":
            heeded = {**told, **heeded}
        return ":".join([name, *(f"{key}={escaped(value)}" for key, value in heeded.items())])
