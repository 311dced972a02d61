"""Options and descriptions, with onnxruntime's attributes: SessionOptions, RunOptions, NodeArg, ModelMetadata, enums."""

import enum


class GraphOptimizationLevel(enum.IntEnum):
    """ORT_DISABLE_ALL runs every node as the file has it; all other levels are the same here."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Both run nodes one after the other: a node has all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """The order of the file's nodes is kept."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _as(kind):
    def check(name, value):
        if value is None and kind is bool:
            return False
        if not isinstance(value, kind) or kind is int and isinstance(value, bool):
            raise TypeError(f"{name}: expected {kind.__name__}, found {value!r}")
        return value

    return check


# Attributes: default, check, and what comes of them here; None: nothing, and ignored_options() lists the value.
_ATTRIBUTES = {
    "intra_op_num_threads": (0, _as(int),
                             "Threads of a CPU provider; 0: one per core that the process may use."),
    "inter_op_num_threads": (0, _as(int), None),
    "graph_optimization_level": (GraphOptimizationLevel.ORT_ENABLE_ALL, _as(GraphOptimizationLevel),
                                 "ORT_DISABLE_ALL runs every node as the file has it; all other levels are the same."),
    "execution_mode": (ExecutionMode.ORT_SEQUENTIAL, _as(ExecutionMode), None),
    "execution_order": (ExecutionOrder.DEFAULT, _as(ExecutionOrder), None),
    "enable_cpu_mem_arena": (True, _as(bool), None),
    "enable_mem_pattern": (True, _as(bool), None),
    "enable_mem_reuse": (True, _as(bool), None),
    "enable_profiling": (False, _as(bool),
                         "Writes a Chrome trace when session.end_profiling() is called."),
    "profile_file_prefix": ("onnxruntime_profile_", _as(str),
                            "The beginning of the trace's file name."),
    "log_severity_level": (-1, _as(int), None),
    "log_verbosity_level": (0, _as(int), None),
    "logid": ("", _as(str), None),
    "optimized_model_filepath": ("", _as(str), "The model as planning leaves it, folded and fused into ONNX's own operators, is written there."),
    "use_deterministic_compute": (False, _as(bool),
                                  "Runs are the same to the bit in any case."),
    "use_per_session_threads": (True, _as(bool), None),
}
# Entries of add_session_config_entry that tinyort heeds.
SPIN = "session.intra_op.allow_spinning"
SUBNORMALS = "session.set_denormal_as_zero"


class SessionOptions:
    """Options of a session. All of onnxruntime's are accepted; session.ignored_options() lists those that were set
    and have no meaning here."""

    __slots__ = (*("_" + name for name in _ATTRIBUTES), "_entries", "_sizes", "_ignored", "_refused", "_providers")

    def __init__(self):
        for name, (default, _, _) in _ATTRIBUTES.items():
            setattr(self, "_" + name, default)
        self._entries, self._sizes, self._ignored, self._refused, self._providers = {}, {}, {}, [], []

    def add_session_config_entry(self, config_key, config_value):
        """Sets an option by key and value, both str."""
        if not isinstance(config_key, str) or not isinstance(config_value, str):
            raise TypeError("add_session_config_entry: expected two str")
        self._entries[config_key] = config_value

    def get_session_config_entry(self, config_key):
        """The value of a key that was set."""
        if config_key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {config_key}")
        return self._entries[config_key]

    def add_free_dimension_override_by_name(self, dim_name, dim_value):
        """Fixes a symbolic dimension of all inputs that have it."""
        self._sizes[dim_name] = int(dim_value)

    def add_free_dimension_override_by_denotation(self, dim_denotation, dim_value):
        """Accepted, without effect: models rarely have denotations."""
        self._ignored["add_free_dimension_override_by_denotation"] = f"{dim_denotation}={dim_value}"

    def register_custom_ops_library(self, library_path):
        """Accepted, without effect: such libraries are onnxruntime's own. @tinyort.op makes operators here."""
        self._ignored["register_custom_ops_library"] = library_path

    def add_initializer(self, name, _value):
        """Refused when a session is made: the model would run with other weights than were meant."""
        self._refused.append(f"add_initializer({name!r})")

    def add_external_initializers(self, names, _values):
        """As add_initializer."""
        self._refused.append(f"add_external_initializers({list(names)!r})")

    def add_external_initializers_from_files_in_memory(self, names, _buffers, _lengths):
        """As add_initializer."""
        self._refused.append(f"add_external_initializers_from_files_in_memory({list(names)!r})")

    def add_provider(self, provider_name, provider_options):
        """Appends a provider to the chain of sessions that are made without `providers`."""
        self._providers.append((provider_name, dict(provider_options)))

    def has_providers(self):
        """True after add_provider."""
        return bool(self._providers)

    def ignored(self):
        """{name: value} of what was set and has no effect."""
        found = dict(self._ignored)
        for name, (default, _, effect) in _ATTRIBUTES.items():
            if not effect and getattr(self, name) != default:
                found[name] = getattr(self, name)
        level = self.graph_optimization_level
        if level not in (GraphOptimizationLevel.ORT_DISABLE_ALL, GraphOptimizationLevel.ORT_ENABLE_ALL):
            found["graph_optimization_level"] = level
        found.update((key, value) for key, value in self._entries.items() if key not in (SPIN, SUBNORMALS))
        return found


def _property(name, check, effect):
    slot = "_" + name

    def get(self):
        return getattr(self, slot)

    def put(self, value):
        setattr(self, slot, check(name, value))

    return property(get, put, doc=effect or "Accepted, without effect; session.ignored_options() lists what it is set to.")


for _name, (_default, _check, _effect) in _ATTRIBUTES.items():
    setattr(SessionOptions, _name, _property(_name, _check, _effect))


class RunOptions:
    """Options of a run. Setting `terminate` ends the run that has them before its next node."""

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches", "_terminate",
                 "_entries", "_running")

    def __init__(self):
        self.log_severity_level, self.log_verbosity_level, self.logid = -1, 0, ""
        self.only_execute_path_to_fetches, self._terminate = False, False
        self._entries, self._running = {}, None

    @property
    def terminate(self):
        """True: runs with these options end with an exception."""
        return self._terminate

    @terminate.setter
    def terminate(self, value):
        self._terminate = bool(value)
        if self._terminate and self._running is not None:
            self._running.cancel(self)

    def add_run_config_entry(self, config_key, config_value):
        """Sets an option by key and value; none has a meaning here."""
        self._entries[config_key] = config_value

    def get_run_config_entry(self, config_key):
        """The value of a key that was set."""
        if config_key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {config_key}")
        return self._entries[config_key]


class NodeArg:
    """An input or output of a model."""

    __slots__ = ("name", "type", "shape", "element_type")

    def __init__(self, name, type_name, element_type, shape):
        self.name, self.type, self.element_type = name, type_name, element_type
        self.shape = list(shape or ())

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


class ModelMetadata:
    """What a model's file says of itself."""

    __slots__ = ("graph_name", "producer_name", "producer_version", "domain", "description", "graph_description",
                 "version", "custom_metadata_map", "ir_version", "opsets")

    def __init__(self, known):
        for name in self.__slots__:
            setattr(self, name, known.get(name, ""))

    def __repr__(self):
        return f"ModelMetadata(graph_name={self.graph_name!r}, producer_name={self.producer_name!r})"
