"""magika: the types of files by their contents."""

import io
import json
import zipfile

from client import main
from inputs import picture
from magika import Magika


def packed(text):
    """A zip archive with one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), text)
    return buffer.getvalue()


def drawn(kind):
    """A picture in a format of its own."""
    buffer = io.BytesIO()
    picture(["a"], (64, 48)).save(buffer, kind)
    return buffer.getvalue()


def files():
    """Contents of several types."""
    program = "#include <stdio.h>\n\nint main(void)\n{\n    printf(\"hello\\n\");\n    return 0;\n}\n"
    script = "import sys\n\n\ndef main():\n    for line in sys.stdin:\n        print(line.strip()[::-1])\n\n\nmain()\n"
    page = "<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>Some <b>text</b>.</p></body></html>\n"
    table = "name,height,weight\n" + "".join(f"person {i},{150 + i},{50 + i}\n" for i in range(40))
    data = json.dumps({"items": [{"id": i, "name": f"item {i}"} for i in range(30)]}, indent=2)
    shell = "#!/bin/sh\nset -eu\nfor file in *.txt; do\n    wc -l \"$file\" | sort -n\ndone\n"
    texts = [program, script, page, table, data, shell, "A line of plain words, and another one.\n" * 20]
    pictures = [drawn("PNG"), drawn("JPEG"), drawn("BMP")]
    return [text.encode() for text in texts] + pictures + [packed(program), bytes(range(256)) * 8]


def prepare():
    """A file after the other, each a run of its own."""
    magika, contents = Magika(), files()

    def call():
        found = [magika.identify_bytes(content) for content in contents]
        return [(result.output.label, result.dl.label, result.score) for result in found]

    return call


# Its norm subtracts from a mean of squares the square of a mean, which is nearly as large.
main(prepare, tolerance=1e-3)
