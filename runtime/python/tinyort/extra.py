"""Operators that need a library of Python: ImageDecoder (Pillow), RegexFullMatch (google-re2). A session takes them when a
model has one of them; in C they are in libtinyort_extra, which the wheel goes without."""

from .errors import Fail
from .operators import _row

MAX_PIXELS = 1 << 26


def _decode(stream, pixel_format):
    import io

    import numpy
    from PIL import Image, UnidentifiedImageError

    channels = 1 if pixel_format == "Grayscale" else 3
    try:
        picture = Image.open(io.BytesIO(stream.tobytes()))
        if picture.width * picture.height > MAX_PIXELS:
            raise Fail(f"the picture has {picture.width} x {picture.height} pixels; at most {MAX_PIXELS} are decoded")
        pixels = numpy.asarray(picture.convert("L" if channels == 1 else "RGB"))
    except (UnidentifiedImageError, OSError):
        return numpy.zeros((0, 0, channels), numpy.uint8)
    return pixels[..., None] if channels == 1 else pixels[..., ::-1].copy() if pixel_format == "BGR" else pixels


def _matches(texts, pattern):
    import numpy
    import re2

    compiled = re2.compile(pattern)
    return numpy.array([compiled.fullmatch(text) is not None for text in texts.ravel()], bool).reshape(texts.shape)


_ROWS = [
    ("PIL", _row("", "ImageDecoder", "S:uint8", "Y:uint8", "", "pixel_format:string=RGB", 20, _decode, None)),
    ("re2", _row("", "RegexFullMatch", "X:string", "Y:bool", "", "pattern:string", 20, _matches,
                 lambda x, pattern: x)),
]  # fmt: skip


def rows(message):
    """What _core.operators takes for the operators that an error names as missing, as far as their libraries are here."""
    import importlib.util

    return [row for library, row in _ROWS if row[1] in message and importlib.util.find_spec(library)]

