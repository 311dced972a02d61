"""ONNX's backend interface (onnx.backend.base), for programs and tests that are written against it:

    import onnx.backend.test
    import tinyort.backend
    suite = onnx.backend.test.BackendTest(tinyort.backend, __name__)

A device is one of onnx's ("CPU", "CUDA", "CUDA:1"), or a chain of tinyort's providers ("cudasim,cpu").
"""

from onnx import checker, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .chain import get_available_providers
from .session import InferenceSession


def _chain(device):
    kind, _, number = device.partition(":")
    if kind == "CPU":
        return "cpu"
    if kind == "CUDA":
        return f"cuda{':device=' + number if number else ''},cpu"
    return device


class TinyortRep(BackendRep):
    """A model that was prepared."""

    def __init__(self, session):
        self.session = session
        self._inputs = [port.name for port in session.get_inputs()]
        self._outputs = [port.name for port in session.get_outputs()]

    def run(self, inputs, **_):
        """Inputs in the model's order, or a dict by name; the outputs, by position and name."""
        feed = inputs if isinstance(inputs, dict) else dict(zip(self._inputs, inputs))
        results = self.session.run(None, feed)
        return namedtupledict("Outputs", self._outputs)(*results)


class TinyortBackend(Backend):
    """Functions of the module, as onnx asks for them."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **options):
        """True if every node has a place."""
        from .session import plan

        return all(node["provider"] for node in plan(model, _chain(device), **options).nodes)

    @classmethod
    def supports_device(cls, device):
        """True if the device's provider opens here."""
        return device == "CPU" or device.startswith("CUDA") and "CUDAExecutionProvider" in get_available_providers()

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        """A TinyortRep of a ModelProto, path or bytes."""
        return TinyortRep(InferenceSession(model, chain=_chain(device), **options))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **options):
        """prepare and run."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **options):
        """Runs one node on arrays. outputs_info: (dtype, shape) of each output; None: the types of the first input."""
        opset = options.pop("opset_version", None)
        checker.check_node(node) if opset is None else None
        names = [name for name in node.input if name]
        ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                 for name, array in zip(names, inputs)]
        infos = outputs_info or [(inputs[0].dtype, None)] * len(node.output)
        outputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
                   for name, (dtype, shape) in zip(node.output, infos)]
        model = helper.make_model(helper.make_graph([node], "node", ports, outputs),
                                  opset_imports=[helper.make_opsetid("", opset)] if opset else None)
        return cls.run_model(model, inputs, device, **options)


is_compatible = TinyortBackend.is_compatible
prepare = TinyortBackend.prepare
run = TinyortBackend.run_model
run_model = TinyortBackend.run_model
run_node = TinyortBackend.run_node
supports_device = TinyortBackend.supports_device
