"""Depthwise convolutions of 8 bits on emulated boards, by the number of channels: what a multiply-add costs, and that no number costs much more than others.

Usage: depthwise.py TINYORT WORK [--channels N,...] [--target NAME,...] [--type int8,uint8], from the root of the tree.
A model is one QLinearConv, 3 x 3 with a filter for each channel, on 12 x 12. Its outputs on a board have the bits of --ep firmware and of numpy: sums in
whole numbers, products in double, rounded half to even. Three rules hold for all that were measured:
  a layer of fewer channels takes at most 1.25 times the instructions of one of more channels;
  a multiply-add of 8 or more channels costs at most 1.5 times as much as with three quarters of so many or fewer, down to 8;
  a multiply-add costs at most 1.5 times as much as with one channel more or less.
So a step where one more vector or loop begins is allowed, a number of channels that a kernel has no form for is not.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import boards

SIZE, KERNEL = 12, 3
MORE, RISE = 1.25, 1.5
CHANNELS = (*range(2, 21), 24, 31, 32, 33, 48, 63, 64, 172, 176)
TYPES = {"int8": np.int8, "uint8": np.uint8}


class Layer:
    """The model, an input, and what numpy makes of it. All scales are small multiples of powers of 2, so that products are exact."""

    def __init__(self, kind, channels):
        self.name, self.kind, self.channels = f"{kind}_{channels}", TYPES[kind], channels
        rng, info = np.random.default_rng(channels), np.iinfo(self.kind)
        self.x = rng.integers(info.min, info.max + 1, (1, channels, SIZE, SIZE)).astype(self.kind)
        self.x_zero, self.y_zero = (int(zero) for zero in rng.integers(info.min, info.max + 1, 2))
        self.w = rng.integers(-127, 128, (channels, 1, KERNEL, KERNEL)).astype(np.int8)
        self.bias = rng.integers(-20000, 20000, channels).astype(np.int32)
        self.scales = (rng.integers(1, 16, channels) / 2**10).astype(np.float32)

    def save(self, folder):
        f32, kind = np.float32, self.kind
        values = {"xs": f32(0.25), "xz": kind(self.x_zero), "w": self.w, "ws": self.scales, "wz": np.zeros(self.channels, np.int8)}
        values |= {"ys": f32(0.5), "yz": kind(self.y_zero), "b": self.bias}
        node = helper.make_node("QLinearConv", ["x", *values], ["y"], "dw", group=self.channels, kernel_shape=[KERNEL] * 2, pads=[1] * 4)
        port = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), self.x.shape)
        constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]
        graph = helper.make_graph([node], self.name, [port], [onnx.ValueInfoProto(name="y")], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"{self.name}.onnx")
        return folder / f"{self.name}.onnx"

    def expected(self):
        info = np.iinfo(self.kind)
        x = np.pad(self.x.astype(np.int64) - self.x_zero, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(x, (KERNEL, KERNEL), (2, 3))[0]
        sums = np.einsum("chwij,cij->chw", windows, self.w[:, 0].astype(np.int64)) + self.bias[:, None, None]
        scaled = np.rint(sums * (0.25 * self.scales.astype(np.float64) / 0.5)[:, None, None])
        return np.clip(scaled + self.y_zero, info.min, info.max).astype(self.kind)[None]


def measure(tinyort, layer, target, work, plugin):
    """Instructions of a run of the layer on a board."""
    folder = work / target.name / layer.name
    folder.mkdir(parents=True, exist_ok=True)
    model, values = layer.save(folder), [("x", layer.x)]
    told = boards.compile_model(tinyort, model, {}, target, folder / "c", "--input-layout", "nhwc")
    host = boards.expected_outputs(tinyort, model, values, target, folder / "host")
    boards.compare(host, [layer.expected()])
    boards.build(target, "-O2", folder / "c", layer.name, folder / "board")
    _, functions = boards.execute(target, folder / "board", [("x", np.ascontiguousarray(layer.x.transpose(0, 2, 3, 1)))], plugin)
    boards.compare(boards.outputs(folder / "board", host), host)
    return {name: count for name, count in functions.items() if "transpose" not in name}, told


def check_rules(totals):
    """Texts of what breaks a rule; totals: {channels: instructions}."""
    broken = []
    for fewer in totals:
        for more in (channels for channels in totals if channels > fewer):
            a, b = totals[fewer] / fewer, totals[more] / more
            if totals[fewer] > MORE * totals[more]:
                broken.append(f"{fewer} channels take {totals[fewer]} instructions, {more} take {totals[more]}")
            if (8 <= fewer <= 0.75 * more or fewer + 1 == more) and b > RISE * a:
                broken.append(f"a multiply-add of {more} channels costs {b / a:.2f} times as much as one of {fewer}")
            if fewer + 1 == more and a > RISE * b:
                broken.append(f"a multiply-add of {fewer} channels costs {a / b:.2f} times as much as one of {more}")
    return broken


def numbers(text, known):
    return [int(word) for word in text.split(",")] if text else known


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort", type=lambda path: Path(path).resolve())
    parser.add_argument("work", type=lambda path: Path(path).resolve())
    parser.add_argument("--channels")
    parser.add_argument("--target")
    parser.add_argument("--type")
    arguments = parser.parse_args()
    channels = numbers(arguments.channels, CHANNELS)
    targets = [boards.TARGETS[name] for name in (arguments.target.split(",") if arguments.target else boards.TARGETS)]
    plugins = boards.build_plugins(os.environ.get("CC", "cc"), [target for target in targets if not boards.missing(target)], arguments.work)
    print("depthwise: instructions of a multiply-add, 3 x 3 on 12 x 12\n" + " ".join([f"{'channels':<17}", *(f"{n:>5}" for n in channels)]))
    passed = failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for target in targets:
            lack = boards.missing(target)
            if lack:
                print(f"skipped: {target.name} ({lack} is not installed: make setup-embed)")
                continue
            for kind in arguments.type.split(",") if arguments.type else TYPES:
                jobs = {n: pool.submit(measure, arguments.tinyort, Layer(kind, n), target, arguments.work, plugins[target.emulator[0]]) for n in channels}
                totals = {}
                for n, job in jobs.items():
                    try:
                        totals[n] = sum(job.result()[0].values())
                    except (boards.Failure, boards.Refusal) as failure:
                        print(f"FAILED {kind}, {n} channels on {target.name}: {failure}")
                        failed += 1
                cost = [f"{totals[n] / (n * SIZE * SIZE * KERNEL * KERNEL):5.2f}" if n in totals else "    -" for n in channels]
                print(" ".join([f"{target.name + ' ' + kind:<17}", *cost]), flush=True)
                broken = check_rules(totals)
                print("".join(f"FAILED {kind} on {target.name}: {text}\n" for text in broken), end="")
                passed += len(totals) + (not broken)
                failed += bool(broken)
    print(f"depthwise: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
