"""IOBinding: inputs and outputs of a session at addresses that the caller chooses."""

from . import _core
from .errors import InvalidArgument
from .values import OrtValue, _onnx_type, provider_of_device


class IOBinding:
    """Inputs and outputs that stay where they are over many runs.

    Memory of a device is bound for the session: when the first one is bound, the session is planned again with its
    inputs and outputs there, so that a run copies nothing.
    """

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs, self._results = {}, {}, {}
        self._input_names = [name for name, *_ in session._core.inputs()]
        self._output_names = [name for name, *_ in session._core.outputs()]

    def _check(self, name, names):
        if name not in names:
            raise InvalidArgument(f"there is no {name!r}: known are {', '.join(names)}")

    def bind_cpu_input(self, name, arr_on_cpu):
        """Binds an array, which is read at each run."""
        self._check(name, self._input_names)
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """Binds memory at an address, which must stay there."""
        self._check(name, self._input_names)
        provider = provider_of_device(device_type)
        self._inputs[name] = _core.from_pointer(buffer_ptr, tuple(shape), _onnx_type(element_type), provider, device_id)

    def bind_ortvalue_input(self, name, ortvalue):
        """Binds a value."""
        self._check(name, self._input_names)
        self._inputs[name] = ortvalue._value

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Binds memory at an address; without one, each run makes a new value."""
        self._check(name, self._output_names)
        provider = provider_of_device(device_type)
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        self._outputs[name] = _core.from_pointer(buffer_ptr, tuple(shape), _onnx_type(element_type), provider, device_id)

    def bind_ortvalue_output(self, name, ortvalue):
        """Binds a value, whose memory each run writes."""
        self._check(name, self._output_names)
        self._outputs[name] = ortvalue._value

    def synchronize_inputs(self):
        """Nothing to do: a run waits for what it needs."""

    def synchronize_outputs(self):
        """Nothing to do: a run returns when its outputs are there."""

    def clear_binding_inputs(self):
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self):
        """Forgets the outputs."""
        self._outputs.clear()
        self._results.clear()

    def _bindings(self):
        """What the session must be planned with: "NAME=cuda" for each bound value in a device's memory."""
        bound = [(name, value) for values in (self._inputs, self._outputs) for name, value in values.items()]
        return sorted(f"{name}={value.provider}" for name, value in bound
                      if isinstance(value, _core.Value) and value.provider)

    def _run(self):
        self._session._bind(self._bindings())
        missing = [name for name in self._input_names if name not in self._inputs]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are not bound.")
        outputs = {name: self._outputs.get(name) for name in self._outputs}
        made = self._session._core.run_bound(self._inputs, outputs)
        self._results = {name: OrtValue(value if value is not None else made[name]) for name, value in outputs.items()}

    def get_outputs(self):
        """The outputs of the last run that were bound, in the order of binding."""
        return list(self._results.values())

    def get_outputs_as_ortvaluevector(self):
        """As get_outputs."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self):
        """The outputs of the last run as arrays in host memory."""
        return [self._to_host(value._value) for value in self._results.values()]

    def _to_host(self, value):
        if not value.provider:
            return OrtValue(value).numpy().copy() if hasattr(OrtValue(value).numpy(), "copy") else OrtValue(value).numpy()
        host = _core.from_shape(tuple(value.shape), value.element_type)
        self._session._core.copy(host, value)
        return OrtValue(host).numpy()


SessionIOBinding = IOBinding  # onnxruntime's name of what its IOBinding holds
