"""What the tests share: one Ray of this machine alone, and one application with two replicas."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import ray
import tinyort
import tinyort.serve
from ray import serve

DIGITS = str(Path(__file__).parents[2] / "models" / "digits.onnx")


def _free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="session")
def cluster():
    """The address of Serve's HTTP proxy."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1",
             _system_config={"metrics_report_interval_ms": 500})
    port = _free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()
    ray.shutdown()


@pytest.fixture(scope="session")
def plans(tmp_path_factory):
    """The folder of plans of the application."""
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="session")
def handle(cluster, plans):
    """The application at /digits, its arguments as `serve run` passes them."""
    arguments = {"model": DIGITS, "replicas": "2", "max_batch_size": "16", "plans": str(plans)}
    return serve.run(tinyort.serve.build(arguments), name="digits", route_prefix="/digits")


@pytest.fixture(scope="session")
def plain():
    """A session without Ray."""
    return tinyort.InferenceSession(DIGITS, chain="cpu:threads=1")


@pytest.fixture(scope="session")
def http(cluster):
    """http(path, body): the status and the text."""

    def ask(path, body=None):
        try:
            with urllib.request.urlopen(cluster + path, body, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return ask
