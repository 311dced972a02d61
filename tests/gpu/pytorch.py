"""Times the networks of networks.c: tinyort against PyTorch at its best, same weights, same inputs, taking turns.

Usage: pytorch.py FOLDER [--networks resnet50,bert] [--batches 1,32] [--types float32,TF32,float16] [--settings eager,tuned,compiled]
                  [--pairs N] [--seconds S] [--minutes M] [--apart] [--tiny] [--tinyort PROGRAM] [--device cuda|cpu] [--ep CHAIN]

Both sides keep inputs and outputs in the device's memory and wait for the device after each run; what is timed is one run
as the application sees it, host work included. tinyort runs as a program of its own (`tinyort bench --bind '*=cuda'`), with
TINYORT_LIBRARY_PATH in front of its LD_LIBRARY_PATH, which PyTorch does not see. PyTorch runs in several settings, and the ratio
is to the fastest of them:
  eager      NCHW, cudnn.benchmark off
  tuned      channels last where there are channels, cudnn.benchmark, replayed as a CUDA graph
  compiled   torch.compile(mode="reduce-overhead"), on the tensors of `tuned`
  frozen     the same with mode="max-autotune" and weights frozen: BatchNormalization is folded, kernels are chosen by trial (minutes a network)
A setting that fails is named below the table and left out. --apart times all of tinyort first and then all of PyTorch: for a GPU in
exclusive mode, which one program holds at a time. After --minutes no network is begun; what was left out is said. Prints a table in
Markdown; needs nothing but PyTorch, and says so where it is missing and times tinyort alone. Exits with 1 if outputs differ or a
run fails.
"""

import argparse
import itertools
import json
import math
import os
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


class Weights:
    """Hands out the weights in the order in which networks.c made them."""

    def __init__(self, path, device, dtype, channels_last):
        self.all = torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.float32)
        self.device, self.dtype, self.channels_last, self.at = device, dtype, channels_last, 0

    def take(self, *shape):
        count = math.prod(shape)
        self.at += count
        taken = self.all[self.at - count : self.at].view(*shape).to(self.device, self.dtype)
        return taken.to(memory_format=torch.channels_last) if self.channels_last and len(shape) == 4 else taken

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


NETWORKS = {"resnet50": resnet50, "bert": bert}
SETTINGS = ("eager", "tuned", "compiled", "frozen")

# ---- files


def read_npy(data):
    """A tensor out of the bytes of a file of numpy's, without numpy."""
    start = 10 + int.from_bytes(data[8:10], "little")
    header = eval(data[10:start].decode("latin1"), {})  # a dict, in a file that this script's own programs wrote
    dtype = {"<f4": torch.float32, "<f2": torch.float16, "<i8": torch.int64}[header["descr"]]
    return torch.frombuffer(bytearray(data[start:]), dtype=dtype).view(*header["shape"])


class Case:
    """One line of the table: a network, a batch, a type; and what was found of it."""

    def __init__(self, arguments, name, batch, dtype):
        self.name, self.batch, self.dtype = name, batch, dtype
        half = ".float16" if dtype == "float16" else ""
        folder = Path(arguments.folder)
        self.model, self.weights = folder / f"{name}{half}.onnx", folder / f"{name}.weights"
        self.feed = folder / f"{name}.{batch}{'' if name == 'bert' else half}.npy"
        self.chain = arguments.ep + (":tf32=on" if dtype == "TF32" else "")
        self.output = None  # of tinyort, as a file's bytes
        self.ours, self.theirs, self.difference, self.close, self.problem = [], {}, None, True, None

    def text(self):
        return f"| {self.name} | {self.batch} | {self.dtype} |"


# ---- tinyort


def tinyort(arguments, command, case, *more):
    paths = [path for path in (os.environ.get("TINYORT_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH")) if path]
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(paths))
    words = [arguments.tinyort, command, case.model, "--ep", case.chain, "--input", case.feed, *more]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"tinyort {command} {case.model}: {done.stderr.strip()}")
    return done.stdout


def save_output(arguments, case):
    with tempfile.TemporaryDirectory() as folder:
        tinyort(arguments, "run", case, "--save", folder)
        case.output = (Path(folder) / "output_0.npy").read_bytes()


def time_tinyort(arguments, case):
    name = case.chain.split(":")[0]
    bound = [] if name == "cpu" else ["--bind", f"*={name}"]
    out = tinyort(arguments, "bench", case, "--seconds", str(arguments.seconds), "--warmup", "10", "--json", *bound)
    case.ours.append(json.loads(out)["latency_ms"]["median"])


# ---- PyTorch


def build(arguments, case, channels_last):
    """The network as a function, and its input."""
    weights = Weights(case.weights, arguments.device, torch.float16 if case.dtype == "float16" else torch.float32, channels_last)
    run = NETWORKS[case.name](weights, arguments.tiny)
    weights.end()
    x = read_npy(case.feed.read_bytes()).to(arguments.device)
    return run, x.to(memory_format=torch.channels_last) if channels_last and x.dim() == 4 else x


def as_graph(run, x):
    """Replays what one run launches, into the same output."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = run(x)

    def replay():
        graph.replay()
        return output

    return replay


def as_module(run, x):
    """The network as a module whose weights are its buffers: only such are frozen."""
    from torch.fx.experimental.proxy_tensor import make_fx

    module = make_fx(run)(x)
    for name, value in list(vars(module).items()):
        if isinstance(value, torch.Tensor):
            delattr(module, name)
            module.register_buffer(name, value)
    return module.eval()


def prepare(arguments, case, setting):
    """A function that runs the network once."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case.dtype == "TF32"
    torch.backends.cudnn.benchmark = setting != "eager"
    run, x = build(arguments, case, setting != "eager")
    if setting in ("compiled", "frozen"):
        from torch._inductor import config

        torch.compiler.reset()
        config.freezing = frozen = setting == "frozen"
        compiled = torch.compile(as_module(run, x) if frozen else run, mode="max-autotune" if frozen else "reduce-overhead")
        return lambda: compiled(x)
    if setting == "tuned" and x.is_cuda:
        return as_graph(run, x)
    return lambda: run(x)


def time_torch(arguments, run):
    wait = torch.cuda.synchronize if arguments.device == "cuda" else lambda: None
    times, begin = [], None
    for i in range(-10, 1000000):
        if i == 0:
            begin = time.perf_counter()
        start = time.perf_counter()
        run()
        wait()
        now = time.perf_counter()
        if i >= 0:
            times.append(1e3 * (now - start))
            if now - begin > arguments.seconds:
                break
    return statistics.median(times)


class Peer:
    """PyTorch on one case, in every setting that works."""

    def __init__(self, arguments, case, notes):
        self.arguments, self.case, self.runs = arguments, case, {}
        for setting in arguments.settings:
            try:
                run = prepare(arguments, case, setting)
                self.compare(setting, run().double().cpu())
                self.runs[setting] = run
                case.theirs[setting] = []
            except Exception as error:  # the peer's own: whatever it raises, the others are still worth timing
                notes.append(f"{case.text().strip('| ')}: PyTorch {setting} was left out: {type(error).__name__}: {error}".splitlines()[0])
        if not self.runs:
            raise RuntimeError("no setting of PyTorch works; see below")

    def compare(self, setting, expected):
        """By the largest value: through fifty layers errors spread over all of an output, its small values too."""
        found = read_npy(self.case.output).double()
        if found.shape != expected.shape:
            raise RuntimeError(f"shapes {tuple(found.shape)} and {tuple(expected.shape)} differ")
        difference = ((found - expected).abs().max() / expected.abs().max()).item()
        if setting == self.arguments.settings[0] or self.case.difference is None:
            self.case.difference = difference
            self.case.close = difference <= (1e-3 if self.case.dtype == "float32" else 1e-2)

    def time(self):
        for setting, run in self.runs.items():
            self.case.theirs[setting].append(time_torch(self.arguments, run))


# ---- the table


def guarded(case, function, *arguments):
    """One case that fails is one line of the table, whatever it raises."""
    if case.problem is None:
        try:
            return function(*arguments)
        except Exception as error:
            case.problem = f"{type(error).__name__}: {error}".replace("\n", " ").replace("|", "/")
    return None


def measure_ours(arguments, case, pairs):
    if case.output is None:
        save_output(arguments, case)
    for _ in range(pairs):
        time_tinyort(arguments, case)


def measure_theirs(arguments, case, notes, pairs, before_each=lambda: None):
    with torch.inference_mode():
        peer = Peer(arguments, case, notes)
        for _ in range(pairs):
            before_each()
            peer.time()


def measure_by_turns(arguments, case, notes):
    measure_ours(arguments, case, 0)
    measure_theirs(arguments, case, notes, arguments.pairs, lambda: time_tinyort(arguments, case))


def line(arguments, case):
    """Its line of the table, and whether it is fine."""
    if case.problem is not None:
        return f"{case.text()} FAILED: {case.problem} |", False
    ours = statistics.median(case.ours)
    if torch is None:
        return f"{case.text()} {ours:.3f} | skipped | | | not compared |", True
    medians = {setting: statistics.median(times) for setting, times in case.theirs.items()}
    best = min(medians, key=medians.get)
    ratios = sorted(a / b for a, b in zip(case.ours, case.theirs[best]))
    eager = f"{medians['eager']:.3f}" if "eager" in medians else ""
    verdict = f"{case.difference:.1e}" + ("" if case.close else " DIFFERS")
    spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"{case.text()} {ours:.3f} | {eager} | {medians[best]:.3f} ({best}) | {spread} | {verdict} |", case.close


def report(arguments, case, counts):
    text, fine = line(arguments, case)
    print(text, flush=True)
    counts[fine] += 1
    if torch is not None and arguments.device == "cuda" and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def read_arguments():
    def listed(*known):
        def read(text):
            words = [word for word in text.split(",") if word]
            for word in words:
                if known and word not in known:
                    raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(known)}")
            return words

        return read

    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--networks", type=listed(*NETWORKS), default=list(NETWORKS))
    parser.add_argument("--batches", type=listed())
    parser.add_argument("--types", type=listed("float32", "TF32", "float16"))
    parser.add_argument("--settings", type=listed(*SETTINGS), default=list(SETTINGS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--tinyort", default=Path(__file__).parent / "tinyort")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ep", default="cuda")
    arguments = parser.parse_args()
    arguments.batches = arguments.batches or ["1", "2" if arguments.tiny else "32"]
    arguments.types = arguments.types or (["float32", "float16"] if arguments.ep.startswith("cpu") else ["float32", "TF32", "float16"])
    return arguments


def main():
    global torch, why_not
    arguments, notes, counts, begin = read_arguments(), [], {True: 0, False: 0}, time.monotonic()
    if torch is not None and arguments.device == "cuda" and not torch.cuda.is_available():
        torch, why_not = None, "torch.cuda.is_available() is false"
    cases = [Case(arguments, *each) for each in itertools.product(arguments.networks, arguments.batches, arguments.types)]
    late = []
    print("### Networks\n")
    print(f"PyTorch {torch.__version__}, {arguments.device}, " + ("one side after the other" if arguments.apart else "by turns") if torch else f"PyTorch was skipped: {why_not}")
    print("\n| network | batch | type | tinyort ms | PyTorch eager ms | PyTorch's best ms | tinyort / best (range) | largest difference |\n|" + "---|" * 8)
    for case in cases if arguments.apart else []:
        guarded(case, measure_ours, arguments, case, arguments.pairs)
    for case in cases:
        if time.monotonic() - begin > 60 * arguments.minutes:
            late.append(case.text().strip("| "))
            continue
        if torch is None and not arguments.apart:
            guarded(case, measure_ours, arguments, case, arguments.pairs)
        elif torch is not None and arguments.apart:
            guarded(case, measure_theirs, arguments, case, notes, arguments.pairs)
        elif torch is not None:
            guarded(case, measure_by_turns, arguments, case, notes)
        report(arguments, case, counts)
    for note in notes:
        print(f"\n{note}")
    if late:
        print(f"\nThe {arguments.minutes:g} minutes were up before: {'; '.join(late)}.")
    print(f"\ngpu-networks: {counts[True]} passed, {counts[False]} failed" + (f", {len(late)} left out" if late else ""))
    sys.exit(1 if counts[False] or not counts[True] else 0)


if __name__ == "__main__":
    main()
