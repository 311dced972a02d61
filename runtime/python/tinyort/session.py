"""InferenceSession: a model on a chain of providers, with onnxruntime's methods and tinyort's own."""

import os
import sys
from collections import namedtuple

from . import _core
from .arguments import checked
from .chain import OURS, THEIRS, Chain, say_once, with_plugins
from .errors import EPFail, Error, Fail, InvalidArgument, NotImplemented, UnknownOperator
from .options import SPIN, SUBNORMALS, GraphOptimizationLevel, ModelMetadata, NodeArg, SessionOptions
from .placement import Placement
from .values import OrtValue, numpy_or_none

AssignedNode = namedtuple("AssignedNode", "name domain op_type")


class AssignedSubgraph(namedtuple("AssignedSubgraph", "ep_name nodes")):
    """Nodes of one provider, as onnxruntime's OrtEpAssignedSubgraph."""

    def get_nodes(self):
        """The nodes: name, domain, op_type."""
        return self.nodes


_made = []  # functions to be told of each new session (as_onnxruntime)


def open_core(model, **options):
    """The extension's session of a path, os.PathLike, bytes, anything with a buffer, or a file that is open; the
    application's options are `checked`."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    elif hasattr(model, "read"):
        model = model.read()
    is_path = isinstance(model, (str, os.PathLike))
    if not is_path:
        try:
            memoryview(model)
        except TypeError:
            raise TypeError(f"Unable to load from type '{type(model)}': expected a path, bytes or an open file") from None
    for name in ("require", "disabled"):
        if name in options:
            options[name] = ",".join(OURS.get(word, word) for word in options[name].split(","))
    names = [part.split(":")[0] for part in (options.get("chain") or "cpu").split(",")]
    for name in filter(None, options.get("require", "").split(",")):
        if name not in names:
            raise InvalidArgument(f"require: {name!r} is not in the chain {options.get('chain')!r}, and nothing is ever added to it")
    if options.get("chain"):
        options["chain"] = with_plugins(options["chain"])
    source = os.fspath(model) if is_path else model
    own = sys.modules.get("tinyort.operators")
    try:
        core = _core.open(source, is_path, operators=own.capsule() if own else None, **options)
    except Error as error:
        if "tort_load_options.external" in str(error):
            raise InvalidArgument("the bytes of a model are given, and its weights are in other files: give its path instead") from None
        if not isinstance(error, UnknownOperator) or "libtinyort_extra" not in str(error):
            raise
        from . import extra, operators

        more = extra.rows(str(error))
        if not more:
            raise
        core = _core.open(source, is_path, operators=operators.capsule(more), **options)
    inputs = [name for name, *_ in core.inputs()]
    for name in options.get("open_inputs", ()):
        if name not in inputs and name != "*":
            raise InvalidArgument(f"open_inputs: the model has no input {name!r}; it has {', '.join(inputs)}")
    return core


class InferenceSession:
    """A model that was planned for a chain of providers.

        session = tinyort.InferenceSession("model.onnx", providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        outputs = session.run(None, {"x": array})
        print(session.placement())

    path_or_bytes     a path, os.PathLike, bytes, a file that is open, or an onnx.ModelProto
    providers         names, or (name, options); onnxruntime's names or tinyort's. No provider is ever added
    fallback          "raise": if no provider of the list opens here, an exception says why and how to change that;
                      "report": the session then runs on the CPU, and says so
    chain             in place of providers, as the command line has it: "cuda:device=1,cpu:threads=2"
    pins, symbols, max_symbols, shapes, max_shapes, bindings, strict, strict_integers, allow, require, dynamic_limit,
    trip_limit, time_limit, allow_links, map_external, assume_opset: as on the command line (`tinyort run --help`)
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, *, fallback="raise",
                 chain=None, enable_fallback=None, disabled_optimizers=None, read_config_from_model=None, **options):
        if fallback not in ("raise", "report"):
            raise InvalidArgument(f"fallback: expected 'raise' or 'report', found {fallback!r}")
        self._options = sess_options or SessionOptions()
        self._model, self._fallback, self._extra = path_or_bytes, fallback, checked(options)
        if hasattr(path_or_bytes, "read"):
            self._model = path_or_bytes.read()
        self._ignored = {} if disabled_optimizers is None else {"disabled_optimizers": disabled_optimizers}
        self._steps = [] if self._options.enable_profiling else None
        self._open(providers, provider_options, chain)
        for tell in _made:
            tell(self)

    # ---- opening ---------------------------------------------------------------------------------------------------

    def _session_options(self):
        options = self._options
        if options._refused:
            raise NotImplemented(f"{options._refused[0]}: tinyort takes weights from the model's file alone; save the "
                                 "model with them")
        unfolded = options.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL
        symbols = {**options._sizes, **self._extra.get("symbols", {})}
        unfolded = unfolded or self._extra.get("unfolded", False)
        return {**self._extra, "symbols": symbols, "unfolded": unfolded, "stream": self._chain.stream,
                "optimized": options.optimized_model_filepath or None}

    def _open(self, providers, provider_options, chain=None):
        options = self._options
        told = {"threads": str(options.intra_op_num_threads)} if options.intra_op_num_threads > 0 else {}
        if options._entries.get(SPIN) == "0":
            told["spin"] = "1"
        if options._entries.get(SUBNORMALS) == "1":
            told["subnormals"] = "off"
        if providers is None and chain is None:
            providers = options._providers or None
        if chain is not None:
            self._chain = Chain.written(",".join(chain) if isinstance(chain, (list, tuple)) else chain)
        else:
            self._chain = Chain(providers or [], provider_options, told)
        self._notes = [f"{name} is no provider of tinyort" for name in self._chain.absent]
        if not self._chain.text:
            self._none_opens(self._notes[0])
        try:
            self._core = open_core(self._model, chain=self._chain.text, **self._session_options())
        except EPFail:
            down = [p for p in _core.probe(chain=self._chain.text) if p["status"] == "down"]
            if "cpu" in self._chain.names or not down:
                raise
            self._none_opens("; ".join(f"{p['name']} did not open: {p['code']}, {p['message']}; {p['cure']}" for p in down))
            self._core = open_core(self._model, chain=self._chain.text, **self._session_options())
        self._run = self._core.run
        self._say()

    def _none_opens(self, why):
        """No provider of the list can run anything."""
        if self._fallback == "raise":
            raise EPFail(f'{why}; or add "CPUExecutionProvider" to the list, or say fallback="report"', "TORT_E_PLACEMENT")
        text = self._chain.text
        self._chain.text, self._chain.names = f"{text},cpu" if text else "cpu", [*self._chain.names, "cpu"]
        self._notes.append('on the CPU by fallback="report"')

    def _say(self):
        """One line on stderr, once, if a provider that was asked for does not run."""
        report = self._core.chain()
        self._down = [p for p in report["providers"] if p["status"] == "down"]
        ready = [p["name"] for p in report["providers"] if p["status"] == "ready"]
        for provider in self._down:
            cure = f"; {provider['cure']}" if provider["cure"] else ""
            say_once(f"{provider['name']} did not open: {provider['code']}, {provider['message']}; running on "
                     f"{', '.join(ready)}{cure}")
        for name in self._chain.absent:
            say_once(f"{name} is no provider of tinyort; running on {', '.join(ready)}")

    # ---- running ---------------------------------------------------------------------------------------------------

    def run(self, output_names, input_feed, run_options=None):
        """Runs the model: a list of results in the order of output_names, or of all outputs for None.

        input_feed has arrays, lists or OrtValues by input. Arrays that are contiguous are read where they are. Threads
        may call this at the same time: each run has memory of its own.
        """
        if self._steps is not None:
            return self._run_profiled(output_names, input_feed)
        if run_options is None:
            return self._run(output_names, input_feed)
        if run_options._terminate:
            raise Fail("run: terminate is set in run_options", "TORT_E_CANCELLED")
        run_options._running = self._core
        return self._run(output_names, input_feed, run_options)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """run, of OrtValues and with OrtValues as results."""
        names = output_names or [name for name, *_ in self._core.outputs()]
        outputs = self._core.run_bound({k: v._value for k, v in input_dict_ort_values.items()}, dict.fromkeys(names))
        return [OrtValue(outputs[name]) for name in names]

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """run in a thread of its own, which then calls callback(results, user_data, error text)."""
        import threading

        def work():
            try:
                results, message = self.run(output_names, input_feed, run_options), ""
            except Exception as error:  # noqa: BLE001 - the callback is told
                results, message = None, str(error)
            callback(results, user_data, message)

        threading.Thread(target=work, name="tinyort.run_async").start()

    def io_binding(self):
        """An IOBinding of this session."""
        from .binding import IOBinding

        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        """Runs the model on bound inputs and outputs."""
        iobinding._run()

    def _bind(self, bindings):
        """Plans the session again if other inputs or outputs are to be in a device's memory."""
        if bindings != self._extra.get("bindings", []):
            self._extra = {**self._extra, "bindings": bindings}
            self._core = open_core(self._model, chain=self._chain.text, **self._session_options())
            self._run = self._core.run

    def create_ortvalue_from_shape_and_type(self, shape, element_type, device_type="cpu", device_id=0):
        """A tensor in host memory, or in that of a device of this session."""
        from .values import _onnx_type, provider_of_device

        provider = provider_of_device(device_type)
        if provider is None:
            return OrtValue.ortvalue_from_shape_and_type(shape, element_type)
        return OrtValue(self._core.memory(tuple(shape), _onnx_type(element_type), provider))

    # ---- the model -------------------------------------------------------------------------------------------------

    @property
    def _model_path(self):
        """The path of the model, None for one in memory: onnxruntime's private name, which optimum reads."""
        return os.fspath(self._model) if isinstance(self._model, (str, os.PathLike)) else None

    def get_inputs(self):
        """Inputs that a run needs, as a list of NodeArg, with the sizes that the options fix."""
        sizes = {**self._options._sizes, **self._extra.get("symbols", {})}
        return [NodeArg(*port[:3], port[3] and [sizes.get(size, size) for size in port[3]]) for port in self._core.inputs()]

    def get_outputs(self):
        """Outputs, as a list of NodeArg."""
        return [NodeArg(*port) for port in self._core.outputs()]

    def get_overridable_initializers(self):
        """Empty: initializers that are inputs too are constants here."""
        return []

    def get_modelmeta(self):
        """What the file says of itself."""
        from . import metadata

        return ModelMetadata({**self._core.metadata(), **metadata.read(self._model)})

    # ---- providers -------------------------------------------------------------------------------------------------

    def get_providers(self):
        """Names of the chain's providers that opened, as onnxruntime has them."""
        down = {provider["name"] for provider in self._down}
        return [THEIRS.get(name, name) for name in self._chain.names if name not in down]

    def get_provider_options(self):
        """{name: options} of get_providers(), as they were given."""
        given = {OURS.get(name, name): options for name, options in self._chain.asked}
        return {name: given.get(OURS.get(name, name), {}) for name in self.get_providers()}

    def set_providers(self, providers=None, provider_options=None):
        """Plans the model again, for other providers."""
        self._open(providers, provider_options)

    def get_provider_graph_assignment_info(self):
        """What each provider runs: a list of subgraphs with ep_name and get_nodes(), whose nodes have name, domain and
        op_type. A provider has one here; placement() has the reasons, too."""
        found = {}
        for node in self._core.report()["nodes"]:
            if node["provider"] not in (None, "folded"):
                name = "cpu" if node["provider"] == "host" else node["provider"]
                found.setdefault(name, []).append(AssignedNode(node["path"], node["domain"], node["op"]))
        return [AssignedSubgraph(THEIRS.get(name, name), nodes) for name, nodes in found.items()]

    def disable_fallback(self):
        """The default here."""
        self._fallback = "raise"

    def enable_fallback(self):
        """As fallback="report", for set_providers."""
        self._fallback = "report"

    def get_session_options(self):
        """The options that the session was made with."""
        return self._options

    def ignored_options(self):
        """{name: value} of options that were set and have no meaning here."""
        return {**self._options.ignored(), **self._chain.ignored, **self._ignored}

    # ---- profiling -------------------------------------------------------------------------------------------------

    def _run_profiled(self, output_names, input_feed):
        results, steps = self._core.profile(output_names, input_feed, False)
        self._steps.append(steps)
        return results

    def end_profiling(self):
        """Writes what enable_profiling recorded as a Chrome trace, and returns the file's name."""
        from .profile import write_trace

        if self._steps is None:
            return ""
        path = write_trace(self._options.profile_file_prefix, self._steps, self._core.report()["nodes"])
        self._steps = None
        return path

    def get_profiling_start_time_ns(self):
        """Time of the first profiled step, of a monotonic clock; 0 before it."""
        return self._steps[0][0]["begin"] if self._steps and self._steps[0] else 0

    # ---- tinyort's own ---------------------------------------------------------------------------------------------

    def placement(self):
        """Where every node runs, and why: see Placement."""
        return Placement(self._core.report(True), self._notes)

    def _brief(self):
        """The Placement without what each node is: for counts, lines and checks, which then read no weights."""
        return Placement(self._core.report(), self._notes)

    def __reduce__(self):
        """A session pickles as what it was made from: a path is opened again, bytes go along."""
        return _restore, (self._model, self._options, self._chain.text, self._fallback, self._extra)

    def assert_on(self, provider, allow=()):
        """For tests: raises AssertionError with the reasons unless `provider` runs every node but those of the
        operators in `allow`."""
        self._brief().assert_on(OURS.get(provider, provider), allow)

    def memory(self):
        """Bytes: {"host": {"weights", "arena", "total", ...}, provider: {"weights", "peak", "naive", "engine"}}."""
        report = self._core.report()
        return {"host": report["host_memory"], **report["memory"]}

    def profile(self, input_feed, runs=10):
        """Times of the nodes over some runs: see Profile."""
        from .profile import Profile

        if not hasattr(input_feed, "keys"):
            raise TypeError(f'profile: expected a dict of values by input, as in {{"x": array}}; found {type(input_feed).__name__}')
        numpy_or_none()
        return Profile(self._core, dict(input_feed), runs)

    def save_plan(self, path):
        """Writes the plan, for tinyort.load_plan: a process that loads it neither reads nor plans the model."""
        self._core.save(path)

    def __repr__(self):
        return f"<InferenceSession: {self._brief().line()}>"


def _restore(model, sess_options, chain, fallback, options):
    return InferenceSession(model, sess_options, chain=chain, fallback=fallback, **options)


def load_plan(path, map=False, time_limit=0):  # noqa: A002 - the option's name
    """A session of a plan that save_plan or `tinyort plan -o` wrote. With `map`, weights are used where they are
    in the file, so that processes share them; the file must not change then. A run ends after `time_limit` seconds;
    0: no limit."""
    session = InferenceSession.__new__(InferenceSession)
    session._options, session._ignored, session._steps, session._notes = SessionOptions(), {}, None, []
    session._model, session._fallback, session._extra = path, "raise", {}
    own = sys.modules.get("tinyort.operators")
    session._core = _core.load_plan(path, map, operators=own.capsule() if own else None, time_limit=time_limit)
    session._run = session._core.run
    report = session._core.chain()
    session._chain = Chain.written(",".join(report["chain"]))
    session._down = [p for p in report["providers"] if p["status"] == "down"]
    return session


def plan(model, chain="cpu", target=None, **options):
    """The Placement of a model on a chain, such as "cuda,cpu", without preparing weights. With a target, such as
    "cuda:sm_87", the device need not be there. Nodes that nothing takes are in it, too."""
    core = open_core(model, chain=chain, target=target, plan_only=True, **checked(options))
    return Placement(core.report(True))
