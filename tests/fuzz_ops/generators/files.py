"""Pictures in files of all kinds: what Pillow writes, whole and broken."""

import io

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto


@ops("ImageDecoder")
def image_decoder(m):
    """Lossless kinds must come out exactly; those with losses are small enough, or grey enough, to be near."""
    from PIL import Image

    kind = m.pick("BMP", "PNG", "PPM", "TIFF", "JPEG2000", "JPEG", "WEBP")
    width, height = m.number(1, 9), m.number(1, 9)
    mode = m.pick("RGB", "RGB", "L", "1", "P") if kind in ("BMP", "PNG", "TIFF") else m.pick("RGB", "RGB", "L") if kind == "PPM" else "RGB"
    picture = Image.fromarray(m.rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).convert(mode)
    options = {"WEBP": {"lossless": True}, "JPEG2000": {"irreversible": False}, "JPEG": {"quality": 95}}.get(kind, {})
    if kind == "TIFF":
        options["compression"] = m.pick(None, "tiff_lzw", "tiff_adobe_deflate", "packbits")
    file = io.BytesIO()
    picture.save(file, kind, **options)
    pixel_format = m.word("pixel_format", "RGB", "BGR", "Grayscale") if mode == "RGB" else {"pixel_format": "Grayscale"}
    return Node([Tensor(TensorProto.UINT8, np.frombuffer(file.getvalue(), np.uint8))], pixel_format)
