"""@tinyort.op: operators whose meaning is a function of Python."""

import models
import numpy as np
import pytest
import tinyort
import tinyort.operators


@pytest.fixture(autouse=True)
def clean():
    """Each test has its own operators."""
    before = dict(tinyort.operators._registered)
    yield
    tinyort.operators._registered.clear()
    tinyort.operators._registered.update(before)


def model(op, inputs=(("x", 1, ["n", 3]),), outputs=(("y", 1, None),), after=(), **attributes):
    names = " ".join(name for name, *_ in inputs)
    made = " ".join(name for name, *_ in outputs)
    nodes = [models.node(op, names, made, domain="com.example", **attributes), *after]
    return models.build([models.value(*port) for port in inputs], [models.value(*port) for port in outputs], nodes,
                        opsets=(("", 18), ("com.example", 1)))  # fmt: skip


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_elementwise():
    @tinyort.op("com.example::Scale", attributes="factor:float=2", shape=lambda x, factor: x)
    def scale(x, factor):
        return x * np.float32(factor)

    session = tinyort.InferenceSession(model("Scale", factor=3.0))
    assert np.array_equal(session.run(None, {"x": X})[0], 3 * X)
    assert np.array_equal(tinyort.InferenceSession(model("Scale")).run(None, {"x": X})[0], 2 * X)
    node = session.placement().nodes[0]
    assert node["op"] == "Scale" and node["domain"] == "com.example" and node["provider"] == "cpu"
    assert "Scale-1" in str(session.placement())


def test_attributes_of_every_kind():
    seen = {}

    @tinyort.op("com.example::All", attributes="a:int! b:float=0.5 c:string=x d:ints e:floats f:strings g:int=-7",
                shape=lambda x, **_: x)  # fmt: skip
    def everything(x, **attributes):
        seen.update(attributes)
        return x

    tinyort.InferenceSession(model("All", a=4, c="é", d=[1, 2], e=[0.5], f=["p", "qq"])).run(None, {"x": X})
    assert seen == {"a": 4, "b": 0.5, "c": "é", "d": [1, 2], "e": [0.5], "f": ["p", "qq"], "g": -7}
    with pytest.raises(tinyort.errors.InvalidGraph, match="\"a\""):
        tinyort.InferenceSession(model("All"))


def test_shapes_are_inferred():
    @tinyort.op("com.example::Pairs", shape=lambda x: (x[0], x[1] * 2))
    def pairs(x):
        return np.concatenate([x, x], 1)

    reshape = models.node("Relu", "y", "z")
    built = model("Pairs", outputs=(("y", 1, None),), after=[reshape])
    session = tinyort.InferenceSession(built)
    assert np.array_equal(session.run(None, {"x": X})[0], np.concatenate([X, X], 1))
    assert tinyort.plan(built, symbols={"n": 5}).to_dict()["memory"]["cpu"]["peak"] is not None


def test_shapes_that_depend_on_data():
    calls = []

    @tinyort.op("com.example::Positive", outputs="Y:T N:int64")
    def positive(x):
        calls.append(x.shape)
        return x[x > 0], np.array(np.count_nonzero(x > 0), np.int64)

    session = tinyort.InferenceSession(model("Positive", outputs=(("y", 1, ["k"]), ("c", 7, []))))
    for sign in (1, -1, 0):
        y, count = session.run(None, {"x": sign * X})
        assert np.array_equal(y, (sign * X)[sign * X > 0]) and count == (sign * X > 0).sum()
    assert len(calls) == 3, "the function is called once a run"


def test_several_types_and_an_optional_input():
    @tinyort.op("com.example::Plus", inputs="A:T B?:T", types="T=float|int64|string", shape=lambda a, b=None: a)
    def plus(a, b=None):
        return a if b is None else a + b

    for dtype, number in ((np.float32, 1), (np.int64, 7), (object, 8)):
        a = np.array(["p", "q"], object) if dtype is object else np.array([1, 2], dtype)
        both = model("Plus", (("a", number, [2]), ("b", number, [2])), (("y", number, [2]),))
        result = tinyort.InferenceSession(both).run(None, {"a": a, "b": a})[0]
        assert np.array_equal(result, a + a) and result.dtype == a.dtype
        one = model("Plus", (("a", number, [2]),), (("y", number, [2]),))
        assert np.array_equal(tinyort.InferenceSession(one).run(None, {"a": a})[0], a)
    with pytest.raises(tinyort.errors.InvalidGraph):
        tinyort.InferenceSession(model("Plus", (("a", 11, [2]),), (("y", 11, [2]),)))


def test_errors_in_the_function():
    @tinyort.op("com.example::Bad", attributes="how:int", shape=lambda x, how: x)
    def bad(x, how):
        if how == 0:
            raise KeyError("not there")
        return {1: x[:1], 2: x.astype(np.float64), 3: [], 4: "text", 5: None}[how]

    for how, text in enumerate(["KeyError: 'not there'", "not what was declared", "not what was declared", "0 results",
                                "Bad of Python", "Bad of Python"]):  # fmt: skip
        session = tinyort.InferenceSession(model("Bad", how=how))
        with pytest.raises(tinyort.errors.Fail, match=text) as caught:
            session.run(None, {"x": X})
        assert caught.value.node == 0


def test_errors_in_the_shape():
    for made in (lambda x: x[9], lambda x: (1,) * 9, lambda x: "ab"):
        tinyort.op("com.example::Odd", shape=made)(lambda x: x)
        with pytest.raises(tinyort.errors.InvalidGraph, match="Odd of Python"):
            tinyort.InferenceSession(model("Odd"))


@pytest.mark.parametrize("arguments", [
    {"name": "Scale"}, {"name": "::Scale"}, {"name": "a::B", "attributes": "x"}, {"name": "a::B", "attributes": "x:list"},
    {"name": "a::B", "outputs": "Y:U"}, {"name": "a::B", "inputs": "X:float"},
])  # fmt: skip
def test_bad_declarations(arguments):
    with pytest.raises(tinyort.errors.InvalidArgument):
        tinyort.op(**arguments)(lambda x: x)


def test_a_row_that_the_library_refuses():
    tinyort.op("com.example::Odd", types="T=flaot", shape=lambda x: x)(lambda x: x)
    with pytest.raises(tinyort.errors.InvalidArgument, match="flaot"):
        tinyort.InferenceSession(model("Odd"))


def test_arrays_may_be_kept():
    kept = []

    @tinyort.op("com.example::Keep", shape=lambda x: x)
    def keep(x):
        kept.append(x)
        return x

    session = tinyort.InferenceSession(model("Keep"))
    for factor in range(1, 4):
        session.run(None, {"x": factor * X})
    del session
    assert all(np.array_equal(array, factor * X) for factor, array in enumerate(kept, 1))


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    @tinyort.op("com.example::Twice")
    def twice(x):
        return 2 * x

    session = tinyort.InferenceSession(model("Twice"))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: session.run(None, {"x": i * X})[0], range(100)))
    assert all(np.array_equal(result, 2 * i * X) for i, result in enumerate(results))


def test_versions_of_a_domain():
    """A row holds until the next one of its operator."""
    tinyort.op("com.example::Old", shape=lambda x: x)(lambda x: x + 1)
    tinyort.op("com.example::Old", shape=lambda x: x, version=3)(lambda x: x + 3)
    for version, added in ((1, 1), (2, 1), (3, 3), (9, 3)):
        built = models.build([models.value("x", 1, [1])], [models.value("y", 1, [1])],
                             [models.node("Old", "x", "y", domain="com.example")],
                             opsets=(("", 18), ("com.example", version)))  # fmt: skip
        assert tinyort.InferenceSession(built).run(None, {"x": np.zeros(1, np.float32)})[0] == added


def test_operators_of_libraries():
    """RegexFullMatch, which the extension goes without, where its library is installed."""
    built = models.build([models.value("x", 8, ["n"])], [models.value("y", 9, ["n"])],
                         [models.node("RegexFullMatch", "x", "y", pattern="a+b?")], opsets=(("", 20),))  # fmt: skip
    session = tinyort.InferenceSession(built)
    assert session.run(None, {"x": ["aab", "abc", ""]})[0].tolist() == [True, False, False]
    assert session.placement().nodes[0]["provider"] == "cpu"


def test_an_operator_that_runs_a_model():
    inner = tinyort.InferenceSession(models.two())

    @tinyort.op("com.example::Inner", shape=lambda x: x)
    def run_inner(x):
        return inner.run(["y"], {"x": x, "k": 1})[0]

    session = tinyort.InferenceSession(model("Inner"))
    assert np.array_equal(session.run(None, {"x": -X})[0], 0 * X) and np.array_equal(session.run(None, {"x": X})[0], X)


def test_a_saved_plan(tmp_path):
    tinyort.op("com.example::Plus", shape=lambda x: x)(lambda x: x + 1)
    tinyort.InferenceSession(model("Plus")).save_plan(tmp_path / "saved.plan")
    assert np.array_equal(tinyort.load_plan(tmp_path / "saved.plan").run(None, {"x": X})[0], X + 1)
