"""SessionOptions, RunOptions and the enums, beside onnxruntime; what is not heeded is listed."""

import models
import numpy as np
import pytest
import tinyort

ATTRIBUTES = ["enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "enable_profiling", "inter_op_num_threads",
              "intra_op_num_threads", "log_severity_level", "log_verbosity_level", "logid", "optimized_model_filepath",
              "profile_file_prefix", "use_deterministic_compute", "use_per_session_threads"]  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_defaults(same, name):
    same(lambda o: getattr(o.SessionOptions(), name))


@pytest.mark.parametrize("name", ["execution_mode", "execution_order", "graph_optimization_level"])
def test_enum_defaults(same, name):
    same(lambda o: int(getattr(o.SessionOptions(), name)))
    same(lambda o: getattr(o.SessionOptions(), name).name)


@pytest.mark.parametrize("name", ["ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel"])
def test_enums(same, name):
    same(lambda o: {key: int(member) for key, member in getattr(o, name).__members__.items()})


@pytest.mark.parametrize("name, value", [("intra_op_num_threads", 2), ("log_severity_level", 3), ("logid", "mine"),
                                         ("enable_mem_pattern", False), ("foo", 1), ("intra_op_num_threads", "a"),
                                         ("graph_optimization_level", 3), ("enable_profiling", None)])
def test_setting(same, name, value):
    def question(o):
        options = o.SessionOptions()
        setattr(options, name, value)
        return getattr(options, name)

    same(question)


def test_members_have_docs():
    for name in (*ATTRIBUTES, "execution_mode", "execution_order", "graph_optimization_level"):
        assert getattr(tinyort.SessionOptions, name).__doc__


def test_config_entries(same):
    def question(o):
        options = o.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return options.get_session_config_entry("session.intra_op.allow_spinning")

    same(question)
    same(lambda o: o.SessionOptions().get_session_config_entry("nothing"))
    same(lambda o: o.SessionOptions().add_session_config_entry(1, 2))
    same(lambda o: o.RunOptions().get_run_config_entry("nothing"))


@pytest.mark.parametrize("name", ["log_severity_level", "log_verbosity_level", "logid", "terminate",
                                  "only_execute_path_to_fetches"])
def test_run_options(same, name):
    same(lambda o: getattr(o.RunOptions(), name))


@pytest.mark.parametrize("name", ["disable_telemetry_events", "enable_telemetry_events", "preload_dlls",
                                  "has_collective_ops"])
def test_functions(same, name):
    same(lambda o: getattr(o, name)())


def test_provider_libraries():
    assert tinyort.get_ep_devices() == []
    with pytest.raises(tinyort.errors.NotImplemented, match="its own are"):
        tinyort.register_execution_provider_library("mine", "libmine.so")
    with pytest.raises(tinyort.errors.NotImplemented):
        tinyort.unregister_execution_provider_library("mine")


def test_logger(same):
    same(lambda o: o.set_default_logger_severity(2))
    same(lambda o: o.set_default_logger_verbosity(0))
    same(lambda o: o.set_seed(3))


def test_a_fixed_dimension(same):
    def question(o):
        options = o.SessionOptions()
        options.add_free_dimension_override_by_name("n", 2)
        session = o.InferenceSession(models.two(), options)
        return session.run(["z"], {"x": np.ones((2, 3), np.float32), "k": np.array(1)})

    same(question)


def test_ignored_options():
    options = tinyort.SessionOptions()
    session = tinyort.InferenceSession(models.two(), options)
    assert session.ignored_options() == {}
    options.enable_mem_pattern = False
    options.inter_op_num_threads = 3
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.dynamic_block_base", "4")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested", "threads": 1})]
    session = tinyort.InferenceSession(models.two(), options, providers=providers)
    assert session.ignored_options() == {
        "enable_mem_pattern": False,
        "inter_op_num_threads": 3,
        "session.dynamic_block_base": "4",
        "cpu.arena_extend_strategy": "kSameAsRequested",
    }
    assert session.get_session_options() is options


def test_denormals_as_zero():
    """A run takes subnormal numbers as 0; the calling thread computes with them before and after."""
    tiny = np.full(4, 1e-40, np.float32)
    model = models.build([models.value("x", 1, [4])], [models.value("y", 1, [4])], [models.node("Add", "x x", "y")])
    options = tinyort.SessionOptions()
    assert (tinyort.InferenceSession(model).run(None, {"x": tiny})[0] == tiny + tiny).all()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    session = tinyort.InferenceSession(model, options)
    assert session.ignored_options() == {}
    assert (session.run(None, {"x": tiny})[0] == 0).all()
    assert (tiny + tiny > 0).all()


def test_no_optimization():
    options = tinyort.SessionOptions()
    model = models.build([models.value("x", 1, [2])], [models.value("y", 1, [2])],
                         [models.node("Add", "a b", "c"), models.node("Add", "x c", "y")],
                         [("a", np.ones(2, np.float32)), ("b", np.ones(2, np.float32))])  # fmt: skip
    assert len(tinyort.InferenceSession(model, options).placement().on("cpu")) == 1
    options.graph_optimization_level = tinyort.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert len(tinyort.InferenceSession(model, options).placement().on("cpu")) == 2


def test_weights_from_elsewhere_are_refused():
    options = tinyort.SessionOptions()
    options.add_initializer("w", tinyort.OrtValue.ortvalue_from_numpy(np.ones(1, np.float32)))
    with pytest.raises(tinyort.errors.NotImplemented, match="add_initializer"):
        tinyort.InferenceSession(models.two(), options)


def test_profiling(tmp_path, monkeypatch):
    import json

    monkeypatch.chdir(tmp_path)
    options = tinyort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = "trace_"
    session = tinyort.InferenceSession(models.two(), options)
    for _ in range(2):
        assert session.run(["z"], {"x": np.ones((1, 3), np.float32), "k": np.array(1)})[0] == 1
    assert session.get_profiling_start_time_ns() > 0
    path = session.end_profiling()
    events = json.loads((tmp_path / path).read_text())
    assert path.startswith("trace_") and len(events) >= 2
    assert {"name", "ph", "ts", "dur", "pid", "tid", "args"} <= set(events[0]) and events[0]["dur"] >= 0
    assert session.end_profiling() == ""


def test_limits_of_time_and_trips():
    model = models.product(1500, 1500, 1500)
    with pytest.raises(tinyort.errors.Fail, match="making the session did not end within 1e-09 s"):
        tinyort.InferenceSession(model, chain="cpu", time_limit=1e-9)
    session = tinyort.InferenceSession(model, chain="cpu", time_limit=60)
    name = session.get_inputs()[0].name
    assert session.run(None, {name: np.ones(session.get_inputs()[0].shape, np.float32)})
