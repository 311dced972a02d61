"""ddddocr: the text of captchas, the probabilities behind it, and boxes of what is in a picture."""

import io

from client import main
from ddddocr import DdddOcr
from inputs import picture

WORDS = ["8A3K", "hello", "Xy72", "20417"]


def png(image):
    """The bytes of a file."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def prepare():
    """Both of its networks for recognition, and the one for detection."""
    readers = [DdddOcr(show_ad=False), DdddOcr(beta=True, show_ad=False)]
    detector = DdddOcr(det=True, ocr=False, show_ad=False)
    captchas = [png(picture([word], (160, 64))) for word in WORDS]
    page = png(picture(WORDS, (320, 300)))

    def call():
        texts = [reader.classification(captcha) for reader in readers for captcha in captchas]
        return texts, readers[0].classification(captchas[0], probability=True), detector.detection(page)

    return call


main(prepare)
