"""Pictures as cameras and editors write them."""

import io
import struct
import zlib

import numpy as np
from onnx import TensorProto, helper
from PIL import Image, ImageOps

from suite import floats, identity_model, save_model


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


def write_black(path, width, height):
    """A grey PNG of one bit a pixel, all 0: small, however many pixels it has."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    packer = zlib.compressobj(9)
    lines = b"".join(packer.compress(bytes((width + 7) // 8 + 1)) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b""))


def test_pictures_of_too_many_pixels(suite, folder):
    """Refused by their size before they are decoded, and before they are resized."""
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [1, 3, "h", "w"])
    run = ("run", folder / "m.onnx", "--input")
    for width, height in ((16384, 16384), (8193, 8192)):
        write_black(folder / "large.png", width, height)
        suite.expect(3, f"{width} x {height} pixels are more than the 67108864 that are read", *run, folder / "large.png")
    write_black(folder / "thin.png", 1, 60000)
    suite.expect(3, "resized, 224 x 13440000 pixels are more than", *run, folder / "thin.png", "--resize", "224")
    suite.expect(3, "resized, 60000 x 60000 pixels are more than", *run, folder / "thin.png", "--resize", "60000x60000")
    suite.expect(3, "resized across, 60000 x 60000 pixels are more than", *run, folder / "thin.png", "--resize", "60000x1")
    suite.expect(0, "1x3x60000x1 ", *run, folder / "thin.png")
    suite.expect(0, "1x3x8x4 ", *run, folder / "thin.png", "--resize", "4x8")


def test_memory_of_a_picture(suite, folder):
    """A few bytes a pixel, as its levels are bytes until the tensor is filled."""
    side = 4096
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [1, 3, 8, 8])
    write_black(folder / "small.png", 8, 8)
    write_black(folder / "p.png", side, side)
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (side // 8, side // 8), np.uint8)).convert("RGB").resize((side, side))
    noise.save(folder / "p.jpg")
    noise.save(folder / "progressive.jpg", progressive=True, subsampling=0)

    def peak(name):
        told = suite.expect(0, "", "bench", folder / "m.onnx", "--repeat", "1", "--warmup", "0", "--json", "--resize", "8x8", "--input", folder / name)
        return told.json()["peak_rss_bytes"]

    least = peak("small.png")
    for name, most in (("p.png", 4), ("p.jpg", 4), ("progressive.jpg", 9)):
        found = (peak(name) - least) / side**2
        suite.check(found < most + 1, f"{name}: {found:.1f} bytes a pixel")


def test_scans_of_a_picture(suite, folder):
    """Each is a pass over the whole picture, and may have a few bytes."""
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [1, 3, 16, 16])
    held = io.BytesIO()
    Image.new("RGB", (16, 16), (200, 100, 50)).save(held, "JPEG", progressive=True)
    data = held.getvalue()
    scan = data[data.rindex(b"\xff\xda") : -2]
    for count, status, said in ((50, 0, "placement"), (120, 3, "it has more than 100 scans")):
        (folder / "p.jpg").write_bytes(data[:-2] + count * scan + data[-2:])
        suite.expect(status, said, "run", folder / "m.onnx", "--input", folder / "p.jpg")
