"""rapidocr-onnxruntime: boxes, texts and scores of a page of text."""

import numpy as np
from client import main
from inputs import picture
from rapidocr_onnxruntime import RapidOCR

LINES = ["Invoice No. 20417", "Total: 1,284.50 EUR", "Hello from Python", "2024-05-17 12:30"]


def prepare(threads):
    """Three networks: where there is text, whether it is upside down, what it says."""
    engine = RapidOCR(**({"intra_op_num_threads": threads} if threads else {}))
    page = np.array(picture(LINES, (640, 300)))
    return lambda: engine(page)[0]


main(prepare, tolerance=1e-3)
