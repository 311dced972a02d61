"""Pictures as cameras and editors write them."""

import io

import numpy as np
from onnx import helper
from PIL import Image, ImageOps

from suite import floats, save_model


def decoded(suite, folder, path):
    suite.expect(0, "placement", "run", folder / "m.onnx", "--input", path, "--save", folder / "out")
    return np.load(folder / "out" / "output_0.npy")


def test_the_camera_was_turned(suite, folder):
    """The orientation of Exif, in either order of bytes: the picture is taken as a viewer shows it."""
    save_model(folder / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [floats("x", [1, 3, "h", "w"])], [floats("y", [1, 3, "h", "w"])])
    picture = Image.fromarray((np.arange(24 * 40) % 251).reshape(24, 40).astype(np.uint8)).convert("RGB").resize((80, 48))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        picture.save(folder / "turned.jpg", exif=exif, quality=95)
        ImageOps.exif_transpose(Image.open(folder / "turned.jpg")).save(folder / "seen.png")
        found, seen = decoded(suite, folder, folder / "turned.jpg"), decoded(suite, folder, folder / "seen.png")
        same = found.shape == seen.shape and np.abs(found - seen).max() * (255 if seen.max() <= 1 else 1) <= 2
        suite.check(same, f"orientation {orientation}: {found.shape}, seen as {seen.shape}")
    plain = (folder / "turned.jpg").read_bytes()
    at = plain.index(b"Exif") + 6
    suite.check(plain[at : at + 2] in (b"II", b"MM"), "where the tag is")
    for cut in (at + 4, at + 7):  # an offset that points outside, and one with a number of entries that is not there
        broken = bytearray(plain)
        broken[cut] = 0xFF
        (folder / "broken.jpg").write_bytes(broken)
        suite.expect(0, "placement", "run", folder / "m.onnx", "--input", folder / "broken.jpg")


def test_colours_for_print(suite, folder):
    save_model(folder / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [floats("x", [1, 3, 8, 8])], [floats("y", [1, 3, 8, 8])])
    held = io.BytesIO()
    Image.new("CMYK", (8, 8), (10, 20, 30, 40)).save(held, "JPEG")
    (folder / "print.jpg").write_bytes(held.getvalue())
    suite.expect(3, "save it as RGB", "run", folder / "m.onnx", "--input", folder / "print.jpg")
