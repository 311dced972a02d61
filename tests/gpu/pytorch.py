"""Times the networks of networks.c: tinyort against PyTorch eager, same weights, same inputs, taking turns.

Usage: pytorch.py FOLDER [--tiny] [--tinyort PROGRAM] [--device cuda|cpu] [--ep CHAIN] [--pairs N] [--seconds S]

Both sides keep inputs and outputs in the device's memory and wait for the device after each run; what is timed is one run
as the application sees it, host work included. tinyort runs as a program of its own (`tinyort bench --bind '*=cuda'`).
PyTorch's side is plain: NCHW, cudnn.benchmark off, scaled_dot_product_attention. Prints a table in Markdown; needs nothing
but PyTorch, and says so where it is missing and times tinyort alone. Exits with 1 if outputs differ or a run fails.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    torch, why_not = None, str(error)

tinyort_path = Path(__file__).parent / "tinyort"


class Weights:
    """Hands out the weights in the order in which networks.c made them."""

    def __init__(self, path, device, dtype):
        self.all = torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.float32)
        self.device, self.dtype, self.at = device, dtype, 0

    def take(self, *shape):
        count = math.prod(shape)
        self.at += count
        return self.all[self.at - count : self.at].view(*shape).to(self.device, self.dtype)

    def end(self):
        assert self.at == len(self.all), "the network has other weights than the file"


# ---- ResNet-50


def conv(w, channels, filters, kernel, stride=1):
    filter = w.take(filters, channels, kernel, kernel)
    scale, bias, mean, variance = (w.take(filters) for _ in range(4))
    return lambda x: F.batch_norm(F.conv2d(x, filter, None, stride, kernel // 2), mean, variance, scale, bias)


def bottleneck(w, channels, width, stride):
    first = conv(w, channels, width, 1)
    middle = conv(w, width, width, 3, stride)
    last = conv(w, width, 4 * width, 1)
    short = conv(w, channels, 4 * width, 1, stride) if channels != 4 * width else lambda x: x
    return lambda x: F.relu(last(F.relu(middle(F.relu(first(x))))) + short(x))


def resnet50(w, tiny):
    width, classes = (4, 10) if tiny else (64, 1000)
    stem, blocks, channels = conv(w, 3, width, 7, 2), [], width
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            blocks.append(bottleneck(w, channels, width << stage, 2 if stage and not block else 1))
            channels = 4 * (width << stage)
    head, bias = w.take(classes, channels), w.take(classes)

    def run(x):
        x = F.max_pool2d(F.relu(stem(x)), 3, 2, 1)
        for block in blocks:
            x = block(x)
        return F.linear(x.mean((2, 3)), head, bias)

    return run


# ---- BERT-base


def linear(w, size, out):
    matrix, bias = w.take(size, out).t().contiguous(), w.take(out)
    return lambda x: F.linear(x, matrix, bias)


def norm(w, size):
    scale, bias = w.take(size), w.take(size)
    return lambda x: F.layer_norm(x, (size,), scale, bias)


def encoder(w, size, heads, inner):
    q, k, v, joined, norm_1 = *(linear(w, size, size) for _ in range(4)), norm(w, size)
    up, down, norm_2 = linear(w, size, inner), linear(w, inner, size), norm(w, size)

    def split(x):
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

    def run(x):
        mixed = F.scaled_dot_product_attention(split(q(x)), split(k(x)), split(v(x)))
        x = norm_1(joined(mixed.transpose(1, 2).reshape(x.shape)) + x)
        return norm_2(down(F.gelu(up(x))) + x)

    return run


def bert(w, tiny):
    words, length, size, heads, layers, inner = (100, 11, 24, 3, 12, 48) if tiny else (30522, 128, 768, 12, 12, 3072)
    table, places = w.take(words, size), w.take(length, size)
    first = norm(w, size)
    encoders = [encoder(w, size, heads, inner) for _ in range(layers)]
    pooler = linear(w, size, size)

    def run(tokens):
        x = first(F.embedding(tokens, table) + places)
        for layer in encoders:
            x = layer(x)
        return torch.tanh(pooler(x[:, :1]))

    return run


# ---- the two sides


def read_npy(path):
    """A tensor out of a file of numpy's, without numpy."""
    data = Path(path).read_bytes()
    start = 10 + int.from_bytes(data[8:10], "little")
    header = eval(data[10:start].decode("latin1"), {})  # a dict, in a file that this script's own programs wrote
    dtype = {"<f4": torch.float32, "<f2": torch.float16, "<i8": torch.int64}[header["descr"]]
    return torch.frombuffer(bytearray(data[start:]), dtype=dtype).view(*header["shape"])


def tinyort(command, model, chain, feed, *more):
    done = subprocess.run([tinyort_path, command, model, "--ep", chain, "--input", feed, *more], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"tinyort {command} {model}: {done.stderr.strip()}")
    return done.stdout


def time_tinyort(model, chain, feed, seconds):
    name = chain.split(":")[0]
    bound = [] if name == "cpu" else ["--bind", f"*={name}"]
    out = tinyort("bench", model, chain, feed, "--seconds", str(seconds), "--warmup", "10", "--json", *bound)
    return json.loads(out)["latency_ms"]["median"]


def time_torch(run, x, seconds):
    wait = torch.cuda.synchronize if x.is_cuda else lambda: None
    times, begin = [], None
    for i in range(-10, 1000000):
        if i == 0:
            begin = time.perf_counter()
        start = time.perf_counter()
        run(x)
        wait()
        now = time.perf_counter()
        if i >= 0:
            times.append(1e3 * (now - start))
            if now - begin > seconds:
                break
    return statistics.median(times)


def compare(model, chain, feed, expected, dtype):
    """The largest difference, and whether every value is close enough."""
    with tempfile.TemporaryDirectory() as folder:
        tinyort("run", model, chain, feed, "--save", folder)
        found = read_npy(Path(folder) / "output_0.npy").double()
    expected = expected.double().cpu()
    difference = (found - expected).abs()
    exact = dtype == "float32"
    close = difference <= ((1e-4 + 1e-3 * expected.abs()) if exact else 1e-2 * expected.abs().max())
    return difference.max().item(), bool(close.all()) and found.shape == expected.shape


# ---- the table


def row(arguments, name, batch, dtype):
    """One line of the table, and whether it is fine."""
    half = ".float16" if dtype == "float16" else ""
    folder = Path(arguments.folder)
    model, feed = folder / f"{name}{half}.onnx", folder / f"{name}.{batch}{'' if name == 'bert' else half}.npy"
    chain = arguments.ep + (":tf32=on" if dtype == "TF32" else "")
    start = f"| {name} | {batch} | {dtype} |"
    if torch is None:
        ours = [time_tinyort(model, chain, feed, arguments.seconds) for _ in range(arguments.pairs)]
        return f"{start} {statistics.median(ours):.3f} | skipped | | not compared |", True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "TF32"
    weights = Weights(folder / f"{name}.weights", arguments.device, torch.float16 if half else torch.float32)
    run = {"resnet50": resnet50, "bert": bert}[name](weights, arguments.tiny)
    weights.end()
    x = read_npy(feed).to(arguments.device)
    with torch.inference_mode():
        difference, close = compare(model, chain, feed, run(x), dtype)
        pairs = [(time_tinyort(model, chain, feed, arguments.seconds), time_torch(run, x, arguments.seconds)) for _ in range(arguments.pairs)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs))
    ratios = sorted(a / b for a, b in pairs)
    verdict = f"{difference:.1e}" if close else f"{difference:.1e} DIFFERS"
    return f"{start} {ours:.3f} | {theirs:.3f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {verdict} |", close


def main():
    global torch, why_not, tinyort_path
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--tinyort", default=tinyort_path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ep", default="cuda")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    tinyort_path = arguments.tinyort
    if torch is not None and arguments.device == "cuda" and not torch.cuda.is_available():
        torch, why_not = None, "torch.cuda.is_available() is false"
    print("### Networks\n")
    print(f"PyTorch {torch.__version__} eager, {arguments.device}" if torch else f"PyTorch was skipped: {why_not}")
    print("\n| network | batch | type | tinyort ms | PyTorch ms | tinyort / PyTorch (range) | largest difference |\n|---|---|---|---|---|---|---|")
    passed = failed = 0
    for name in ("resnet50", "bert"):
        for batch in (1, 2 if arguments.tiny else 32):
            for dtype in ("float32", "TF32", "float16") if not arguments.ep.startswith("cpu") else ("float32", "float16"):
                try:
                    line, fine = row(arguments, name, batch, dtype)
                except RuntimeError as error:
                    line, fine = f"| {name} | {batch} | {dtype} | FAILED: {error} |", False
                print(line, flush=True)
                passed, failed = passed + fine, failed + (not fine)
    print(f"\ngpu-networks: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
