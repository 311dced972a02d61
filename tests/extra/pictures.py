"""Pictures of many kinds, and what they show: [(name, bytes, pixels [height, width, 3])]. Pillow writes those that it can."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

COLORS = np.random.default_rng(5).integers(0, 256, (7, 11, 3), dtype=np.uint8)
PICTURE = Image.fromarray(COLORS)


def written(name, kind, picture=PICTURE, **options):
    """As Pillow writes it, and as Pillow reads that."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    data = file.getvalue()
    return name, data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def bmp(name, bits, compression, pixels, width, height, palette=b"", masks=b""):
    """A file of a header of 40 bytes, for what Pillow does not write."""
    offset = 54 + len(masks) + len(palette)
    head = struct.pack("<2sIHHI", b"BM", offset + len(pixels), 0, 0, offset)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(pixels), 0, 0, len(palette) // 4, 0)
    return name, head + info + masks + palette + pixels


RED, GREEN, BLUE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)
PALETTE = bytes([0, 0, 0, 0, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0])  # black, red, green, blue


def rows(*lines):
    return np.array(lines, np.uint8)


def bmp_cases():
    wanted = rows([RED, RED, RED, GREEN], [BLUE, BLACK, BLUE, RED])
    lower = bytes([0, 4, 3, 0, 3, 1])  # the last row comes first
    runs8 = lower + bytes([0, 0, 3, 1, 1, 2, 0, 1])
    runs4 = bytes([0, 4, 0x30, 0x31, 0, 0, 3, 0x11, 1, 0x20, 0, 1])
    yield *bmp("bmp, runs of 8 bits", 8, 1, runs8, 4, 2, PALETTE), wanted
    yield *bmp("bmp, runs of 4 bits", 4, 2, runs4, 4, 2, PALETTE), wanted
    yield *bmp("bmp, a step over pixels", 8, 1, bytes([0, 2, 2, 1, 2, 2, 0, 1]), 4, 2, PALETTE), rows([BLACK, BLACK, GREEN, GREEN], [BLACK] * 4)
    yield *bmp("bmp, 16 bits", 16, 0, struct.pack("<HH", 0x7C00, 0x03E0), 2, 1), rows([RED, GREEN])
    masks = struct.pack("<III", 0xF800, 0x07E0, 0x001F)
    yield *bmp("bmp, 16 bits by masks", 16, 3, struct.pack("<HH", 0xF800, 0x001F), 2, 1, masks=masks), rows([RED, BLUE])
    masks = struct.pack("<III", 0xFF, 0xFF00, 0xFF0000)
    yield *bmp("bmp, 32 bits by masks", 32, 3, struct.pack("<I", 0x80FF00FF), 1, 1, masks=masks), rows([(255, 0, 255)])
    yield *bmp("bmp, from the top", 24, 0, bytes([0, 0, 255, 0, 0, 255, 0, 0]), 1, -2), rows([RED], [GREEN])


def pnm_cases():
    yield "pnm, bits as text", b"P1 # two\n3 1\n1 0 1", rows([BLACK, (255,) * 3, BLACK])
    yield "pnm, text", b"P3\n1 1 #most\n15\n15 0 5", rows([(255, 0, 85)])
    yield "pnm, grey of 16 bits", b"P5 2 1 65535\n" + bytes([255, 255, 128, 0]), rows([(255,) * 3, (128,) * 3])
    yield "pnm, bits", b"P4 10 2\n" + bytes([0xFF, 0xC0, 0, 0]), rows([BLACK] * 10, [(255,) * 3] * 10)


def png_of_16_bits():
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" + bytes([255, 1, 128, 2, 0, 3]))) + chunk(b"IEND", b"")
    return "png, 16 bits", b"\x89PNG\r\n\x1a\n" + data, rows([(255, 128, 0)])


def cases():
    alpha = Image.fromarray(np.dstack([COLORS, COLORS[:, :, 0]]))
    yield written("bmp", "BMP")
    for mode in ("1", "L", "P"):
        yield written(f"bmp, {mode}", "BMP", PICTURE.convert(mode))
        yield written(f"png, {mode}", "PNG", PICTURE.convert(mode))
        yield written(f"tiff, {mode}", "TIFF", PICTURE.convert(mode))
    yield written("png", "PNG")
    name, data, _ = written("png with alpha", "PNG", alpha)
    yield name, data, COLORS
    yield png_of_16_bits()
    yield written("ppm", "PPM")
    yield written("jpeg", "JPEG", quality=90)
    yield written("jpeg, progressive", "JPEG", progressive=True)
    yield written("jpeg, grey", "JPEG", PICTURE.convert("L"))
    yield written("jpeg, four inks", "JPEG", PICTURE.convert("CMYK"), quality=95)
    scans = jpeg_of_scans(50)
    yield "jpeg, many scans", scans, np.asarray(Image.open(io.BytesIO(scans)).convert("RGB"))
    yield "jpeg 2000 of four components", jpeg2000_of_components(4, 2), np.full((2, 2, 3), 128, np.uint8)
    yield written("jpeg 2000", "JPEG2000")
    yield written("jpeg 2000, a codestream", "JPEG2000", no_jp2=True)
    yield written("jpeg 2000, grey", "JPEG2000", PICTURE.convert("L"))
    yield written("webp", "WEBP", quality=80)
    yield written("webp, lossless", "WEBP", lossless=True)
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        yield written(f"tiff, {compression}", "TIFF", compression=compression)
    yield from bmp_cases()
    yield from pnm_cases()


def jpeg_of_scans(count):
    """A progressive picture whose last scan comes again and again."""
    data = written("", "JPEG", progressive=True)[1]
    return data[:-2] + data[data.rindex(b"\xff\xda"):-2] * count + data[-2:]


def jpeg2000_of_components(count, side=1024):
    """Many components without a single bit: an empty packet each."""
    size = struct.pack(">HIIIIIIIIH", 0, side, side, 0, 0, side, side, 0, 0, count) + bytes([7, 1, 1]) * count
    head = b"\xff\x51" + struct.pack(">H", len(size) + 2) + size
    coding = b"\xff\x52\0\x0c\0\0\0\x01\0\0\x04\x04\0\x01" + b"\xff\x5c\0\x04\x40\x40"
    tile = b"\xff\x90\0\x0a\0\0" + struct.pack(">IBB", 14 + count, 0, 1) + b"\xff\x93" + bytes(count)
    return b"\xff\x4f" + head + coding + tile + b"\xff\xd9"


def broken():
    """What cannot be decoded."""
    whole = {name: data for name, data, _ in cases()}
    yield "nothing", b""
    yield "text", b"not a picture"
    yield "a bmp of OS/2 without width", struct.pack("<2sIHHIIHHHH", b"BM", 30, 0, 0, 26, 12, 0, 4, 1, 24) + bytes(4)
    for name in ("bmp", "png", "jpeg", "jpeg 2000", "tiff, None", "ppm", "webp", "bmp, runs of 8 bits"):
        yield f"half of {name}", whole[name][:len(whole[name]) // 2]
    yield "a jpeg of too many scans", jpeg_of_scans(120)
    yield "a jpeg 2000 of too many components", jpeg2000_of_components(300)


HUGE = b"P6 100000 100000 255\n" + bytes(100)
