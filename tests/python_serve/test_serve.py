"""The application in Ray Serve: two replicas, HTTP and handles; and the example of Ray Data."""

import asyncio
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import ray
import tinyort
import tinyort.serve
from conftest import DIGITS
from onnx import TensorProto, helper
from ray import serve

CLIENTS, REQUESTS = 32, 20


def images(rows, seed=0):
    return np.random.default_rng(seed).random((rows, 1, 8, 8), np.float32)


def body(image):
    return json.dumps({"image": image.tolist()}).encode()


def mapping(plans):
    """{pid: the plans that it maps} of all processes that map a file of the folder: the replicas."""
    found, line = {}, re.compile(rf"^\S+ r--. \S+ \S+ (\d+) +({re.escape(str(plans))}/\S+)$", re.MULTILINE)
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            files = line.findall(maps.read_text())
        except OSError:  # it has ended, or is another user's
            continue
        if files:
            found[int(maps.parent.name)] = set(files)
    return found


def until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.2)


def test_answers_are_those_of_a_session(handle, http, plain):
    image = images(3)
    (expected,) = plain.run(None, {"image": image})
    assert np.array_equal(handle.run.remote({"image": image}).result()["probabilities"], expected)
    status, text = http("/digits/run", body(image))
    assert status == 200 and np.array_equal(np.array(json.loads(text)["probabilities"], np.float32), expected)


def test_errors_name_the_input(handle, http):
    with pytest.raises(tinyort.errors.InvalidArgument, match='"image" has rank 2'):
        handle.run.remote({"image": np.ones((8, 8), np.float32)}).result()
    for wrong, why in [(b"{", "expected JSON"), (b"[1]", "expected JSON"), (b"{}", "image"),
                       (b'{"image": [[1], 2]}', "image"), (b'{"image": [[1]]}', "has rank 2"),
                       (b'{"picture": [[1]]}', "picture"), (b'{"\\ud800": [[1]]}', "ud800"), (b"\xff", "expected JSON"),
                       (b'{"image": %s}' % (b"[" * 100000), "expected JSON"), (b'{"image": [[NaN]]}', "NaN is no JSON"),
                       (b'{"image": [%s]}' % (b"9" * 5000), "expected JSON")]:
        status, text = http("/digits/run", wrong)
        assert status == 400 and why in json.loads(text)["detail"], text
    logs = list(Path("/tmp/ray/session_latest/logs/serve").glob("replica_digits_Model_*.log"))
    assert logs and not any("Traceback" in log.read_text() for log in logs)  # which would hide what the operator looks for


def test_limits_of_a_request(cluster, http):
    class Waiting(tinyort.serve.Model):
        """Answers a request for `wait` late."""

        async def run(self, feed):
            return await (asyncio.sleep(30) if b"wait" in feed else super().run(feed))

    value, kind = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Log", ["x"], ["y"])], "graph", [value("x", kind, ["n"])],
                              [value("y", kind, ["n"])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()
    serve.run(tinyort.serve.app(model, max_body=1000, time_limit=5, replica=Waiting), name="limits", route_prefix="/limits")
    assert http("/limits/run", b'{"x": [1, 0, -1]}'.ljust(1000)) == (200, '{"y":[0.0, null, null]}')
    for long in (b" " * 1001, iter([b" " * 1000, b" "])):  # an iterator is sent in chunks, without its length
        status, text = http("/limits/run", long)
        assert status == 413 and "1000 bytes (option max_body)" in text
    promised = urllib.request.Request(f"{cluster}/limits/run", b"", {"Content-Length": "1001"})
    with pytest.raises(urllib.error.HTTPError, match="413"):  # though none of it has come
        urllib.request.urlopen(promised, timeout=60)
    status, text = http("/limits/run", b'{"wait": 1}')
    assert status == 504 and "no answer within 5 s (option time_limit)" in text
    serve.delete("limits")


def test_pages(handle, http, plain):
    assert http("/digits/ready") == (200, "ready")
    assert http("/digits/placement") == (200, str(plain.placement()))


def test_a_result_does_not_depend_on_its_batch(handle, plain):
    requests = [images(1 + at % 3, at) for at in range(200)]
    results = [response.result() for response in [handle.run.remote({"image": image}) for image in requests]]
    for image, result in zip(requests, results):
        np.testing.assert_allclose(result["probabilities"], plain.run(None, {"image": image})[0], rtol=1e-5, atol=1e-7)


def test_replicas_map_one_plan(handle, plans):
    until(lambda: len(mapping(plans)) == 2)
    first, second = mapping(plans).values()
    assert first == second and len(first) == 1
    assert len(list(plans.glob("*.plan"))) == 1


def metrics():
    """{(name, provider or place and what): sum over the replicas} of the node's Prometheus page."""
    port = ray.nodes()[0]["MetricsExportPort"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = re.findall(r"^ray_(tinyort_\w+)\{(.*)\} (\S+)$", page.read().decode(), re.MULTILINE)
    found = {}
    for name, labels, value in lines:
        labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if labels["application"] == "digits":
            key = (name, *(labels[label] for label in ("provider", "place", "what", "le") if label in labels))
            found[key] = found.get(key, 0) + float(value)
    return found


def settled():
    """metrics() when all that was recorded has arrived."""
    found = None
    while found != (found := metrics()):
        time.sleep(2)
    return found


def test_metrics(handle, plain):
    until(lambda: metrics().get(("tinyort_nodes", "cpu")) == 14)
    before = settled()
    for _ in range(10):
        handle.run.remote({"image": images(1)}).result()
    until(lambda: metrics() != before)
    found = settled()
    assert found["tinyort_latency_seconds_count",] == before["tinyort_latency_seconds_count",] + 10
    assert found["tinyort_nodes", "cpu"] == 2 * len(plain.placement().on("cpu")) == 14
    assert found["tinyort_fallbacks",] == 0
    assert found["tinyort_memory_bytes", "host", "session"] > 0
    assert found["tinyort_memory_bytes", "host", "weights"] == 0, "weights are mapped"
    assert 0 < found["tinyort_latency_seconds_sum",] < found["tinyort_latency_seconds_count",]


def test_a_required_provider_that_is_down(cluster, http):
    if any(p["name"] == "cuda" and p["status"] == "ready" for p in tinyort.providers()):
        pytest.skip("cuda opens here")
    with pytest.raises(RuntimeError):
        serve.run(tinyort.serve.app(DIGITS, providers="cuda,cpu", require="cuda"), name="gpu", route_prefix="/gpu")
    for path, data in [("/gpu/ready", None), ("/gpu/placement", None), ("/gpu/run", body(images(1)))]:
        status, text = http(path, data)
        assert status == 503 and "required provider: cuda did not open" in text
    assert "required provider: cuda did not open" in serve.status().applications["gpu"].deployments["Model"].message
    serve.delete("gpu")


def test_a_killed_replica_loses_no_request(handle, http, plans, plain):
    until(lambda: len(mapping(plans)) == 2)
    victim, started = min(mapping(plans)), threading.Semaphore(0)

    def client(number):
        answers = []
        for at in range(REQUESTS):
            image = images(1, number * REQUESTS + at)
            if number % 2:
                result = handle.run.remote({"image": image}).result()["probabilities"]
            else:
                status, text = http("/digits/run", body(image))
                assert status == 200, text
                result = np.array(json.loads(text)["probabilities"], np.float32)
            answers.append((image, result))
            started.release()
        return answers

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(CLIENTS)]
        for _ in range(CLIENTS):
            started.acquire()
        os.kill(victim, signal.SIGKILL)
        answers = [answer for done in clients for answer in done.result(timeout=60)]
    assert len(answers) == CLIENTS * REQUESTS
    for image, result in answers:
        np.testing.assert_allclose(result, plain.run(None, {"image": image})[0], rtol=1e-5, atol=1e-7)
    until(lambda: len(mapping(plans)) == 2)
    assert victim not in mapping(plans)


def test_ray_data(cluster, plain, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "runtime" / "python" / "examples"), *sys.path])
    import ray_data

    ray.cloudpickle.register_pickle_by_value(ray_data)
    pictures = ray_data.pictures(300)
    rows = ray_data.recognize(DIGITS, pictures)
    assert [row["at"] for row in rows] == list(range(300))
    for picture, row in zip(pictures, rows):
        (probabilities,) = plain.run(None, {"image": picture[None]})
        assert row["digit"] == probabilities.argmax() and np.isclose(row["probability"], probabilities.max(), rtol=1e-5)
