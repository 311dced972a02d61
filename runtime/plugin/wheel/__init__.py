"""tinyort as an execution provider of onnxruntime:

    import onnxruntime, onnxruntime_ep_tinyort

    onnxruntime.register_execution_provider_library("tinyort", onnxruntime_ep_tinyort.get_library_path())
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name in onnxruntime_ep_tinyort.get_ep_names()]
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(devices, {"chain": "cpu"})
"""

from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path():
    """The shared object to register."""
    return str(Path(__file__).with_name("libtinyort_onnxruntime.so"))


def get_ep_names():
    """Names of the providers that it has."""
    return ["TinyortExecutionProvider"]


def get_ep_name():
    """The only one of them."""
    return get_ep_names()[0]
