"""Requests a second of two replicas under 32 clients, with tinyort and with onnxruntime in the same deployment.

Both applications stand in one Ray at the same time, with one thread a replica; rounds alternate between them. Clients are
threads with a handle in this process, so that HTTP is not what is measured. Usage: bench.py [ROUNDS]
"""

import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import ray
import tinyort.serve
from onnx import TensorProto, helper, numpy_helper
from ray import serve

ROUNDS, SECONDS, CLIENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 7, 2, 32
DIGITS = str(Path(__file__).parents[2] / "models" / "digits.onnx")


class Theirs(tinyort.serve.Model):
    """A replica with onnxruntime, which has no placement to tell."""

    def open(self, model, chain, **_):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def tell(self):
        pass


def convolutions(path):
    """Eight convolutions of 3x3 on 32 channels of 16x16: 35 million FLOPs an image."""
    random, nodes, weights, channels, last = np.random.default_rng(0), [], [], 3, "image"
    for at in range(8):
        scale = np.sqrt(2 / (9 * channels))
        weight = scale * random.standard_normal((32, channels, 3, 3))
        weights.append(numpy_helper.from_array(weight.astype("f4"), f"w{at}"))
        nodes.append(helper.make_node("Conv", [last, f"w{at}"], [f"c{at}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{at}"], [f"r{at}"]))
        channels, last = 32, f"r{at}"
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["mean"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "convolutions", [value("image", TensorProto.FLOAT, ["N", 3, 16, 16])],
                              [value("mean", TensorProto.FLOAT, ["N", 32, 1, 1])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)


def rate(handle, feed):
    """Requests a second."""
    end, begin = time.monotonic() + SECONDS, time.monotonic()

    def client(_):
        done = 0
        while time.monotonic() < end:
            handle.run.remote(feed).result(timeout_s=30)
            done += 1
        return done

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(client, range(CLIENTS))) / (time.monotonic() - begin)


def deploy(name, path, **arguments):
    quiet = {"enable_access_log": False}
    application = tinyort.serve.app(path, replicas=2, actor={"num_cpus": 0}, **arguments)
    return serve.run(application, name=name, route_prefix=None, logging_config=quiet)


def compare(path, plans, shape):
    """A line for requests of one shape."""
    ours, theirs = deploy("ours", path, plans=plans), deploy("theirs", path, replica=Theirs)
    feed = {"image": np.random.default_rng(0).random(shape, np.float32)}
    for ((key, a), (_, b)) in zip(*(sorted(handle.run.remote(feed).result().items()) for handle in (ours, theirs))):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=key)
    rate(ours, feed), rate(theirs, feed)
    rounds = [(rate(ours, feed), rate(theirs, feed)) for _ in range(ROUNDS)]
    mine, their = (statistics.median(column) for column in zip(*rounds))
    ratios = sorted(a / b for a, b in rounds)
    print(f"{Path(path).stem:13}{shape[0]} a request   tinyort {mine:6.0f} requests/s   onnxruntime {their:6.0f}   "
          f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f} in {ROUNDS} rounds)", flush=True)
    serve.delete("ours"), serve.delete("theirs")


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    serve.start(proxy_location="Disabled")
    with tempfile.TemporaryDirectory() as folder:
        convolutions(os.path.join(folder, "convolutions.onnx"))
        compare(DIGITS, folder, (1, 1, 8, 8))
        compare(os.path.join(folder, "convolutions.onnx"), folder, (1, 3, 16, 16))
        compare(os.path.join(folder, "convolutions.onnx"), folder, (8, 3, 16, 16))
    serve.shutdown()
    ray.shutdown()
