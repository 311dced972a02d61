"""Runs ImageDecoder, RegexFullMatch and Tokenizer from the command line, as a user has them.

Usage: run.py TINYORT TINYORT_WITHOUT. Pictures of all kinds are held against what Pillow, or the one who made them, says they show;
then what must be refused, also by a command line that was built without the libraries.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pictures
from onnx import TensorProto, helper, numpy_helper

NEAR = 3  # levels, for files whose colours are computed


def model(operator, kind, out, domain="", shape=("n",), **attributes):
    node = helper.make_node(operator, ["x"], ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, shape)], [helper.make_tensor_value_info("y", out, None)])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


class Runner:
    def __init__(self, tinyort, folder):
        self.tinyort, self.folder, self.passed, self.failed = tinyort, Path(folder), 0, 0

    def run(self, made, data, tinyort=None):
        """The process, and the output if there is one."""
        for old in self.folder.iterdir():
            if old.is_file():
                old.unlink()
        onnx.save(made, self.folder / "model.onnx")
        (self.folder / "x.pb").write_bytes(numpy_helper.from_array(data, "x").SerializeToString())
        command = [tinyort or self.tinyort, "run", "model.onnx", "--input", "x=x.pb", "--save", ".", "--format", "pb"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        made = self.folder / "output_0.pb"
        if done.returncode or not made.exists():
            return done, None
        return done, numpy_helper.to_array(onnx.load_tensor(made))

    def check(self, name, holds, what):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        if not holds:
            print(f"FAILED {name}: {what}")

    def picture(self, data, **attributes):
        return self.run(model("ImageDecoder", TensorProto.UINT8, TensorProto.UINT8, **attributes), np.frombuffer(data, np.uint8))


def check_pictures(r):
    for name, data, wanted in pictures.cases():
        done, got = r.picture(data)
        same = got is not None and got.shape == wanted.shape
        far = np.abs(got.astype(int) - wanted).max() if same else None
        exact = not name.startswith(("jpeg", "webp", "tiff, jpeg"))
        r.check(name, same and far <= (0 if exact else NEAR), f"off by {far}: {done.stderr} {got} expected {wanted}")
    _, data, wanted = next(pictures.cases())
    _, got = r.picture(data, pixel_format="BGR")
    r.check("BGR", got is not None and (got == wanted[:, :, ::-1]).all(), got)
    _, got = r.picture(data, pixel_format="Grayscale")
    grey = np.asarray(pictures.PICTURE.convert("L"))[:, :, None]
    r.check("grey", got is not None and got.shape == grey.shape and (got == grey).all(), got)


def check_broken(r):
    for name, data in pictures.broken():
        done, got = r.picture(data)
        r.check(name, got is not None and got.shape == (0, 0, 3), f"{done.stderr} {got is not None and got.shape}")
    done, _ = r.picture(pictures.HUGE)
    r.check("a huge picture", done.returncode == 5 and "100000 x 100000 pixels" in done.stderr, done.stderr)
    done, _ = r.picture(b"", pixel_format="CMYK")
    r.check("a wrong format", done.returncode == 3 and 'pixel_format "CMYK"' in done.stderr, done.stderr)


def matches(r, pattern, texts, tinyort=None):
    return r.run(model("RegexFullMatch", TensorProto.STRING, TensorProto.BOOL, pattern=pattern), np.array(texts, dtype=object), tinyort)


def check_patterns(r):
    for pattern, texts, wanted in [("a.c", ["abc", "abcd", "xabc", "aéc", ""], [1, 0, 0, 1, 0]), ("", ["", "a"], [1, 0]),
                                   ("(a*)*b", ["a" * 5000, "a" * 5000 + "b"], [0, 1]), ("[[:word:]]+", ["a_1", "a b"], [1, 0])]:
        done, got = matches(r, pattern, texts)
        r.check(f"pattern {pattern}", got is not None and got.tolist() == [bool(w) for w in wanted], f"{done.stderr} {got}")
    done, _ = matches(r, "a(b", ["a"])
    r.check("a wrong pattern", done.returncode == 3 and "missing )" in done.stderr and "RE2" in done.stderr, done.stderr)


def split(r, texts, tinyort=None, **attributes):
    attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#"} | attributes
    data = np.array(texts, dtype=object)
    made = model("Tokenizer", TensorProto.STRING, TensorProto.STRING, "com.microsoft", [*"mn"[: data.ndim]], **attributes)
    return r.run(made, data, tinyort)


TOKENS = [
    ({"tokenexp": "[a-c_]+"}, ["ab-_x-c", "zz"], [["ab", "_", "c"], ["#", "#", "#"]]),
    ({"tokenexp": "."}, ["hé", "x"], [["h", "é"], ["x", "#"]]),
    ({"tokenexp": "[a-z]{2}[0-9]?", "mincharnum": 3}, ["abc1"], [["bc1"]]),
    ({"tokenexp": "\\d{2,3}", "mark": 1}, ["a1b2", "c"], [[], []]),
    ({"tokenexp": "(a|ab)(c|bcd)?"}, ["abcd", "ac"], [["abcd"], ["ac"]]),  # the longest, not the first that the pattern names
    ({"tokenexp": r"\b\w\w+\b"}, ["a cat, I saw", "no"], [["cat", "saw"], ["no", "#"]]),  # scikit-learn's
    ({"tokenexp": "x*"}, ["éxxéx"], [["xx", "x"]]),
    ({"separators": ["[.]", "-+"], "mark": 1, "mincharnum": 2}, [["ab.c--de", "f.gh"]], [[["\x02", "ab", "de", "\x03"], ["\x02", "gh", "\x03", "#"]]]),
    ({"separators": [" |, ?"], "pad_value": ""}, ["a, b c", "d"], [["a", "b", "c"], ["d", "", ""]]),
    ({"separators": ["\\b", " "]}, ["ab cd"], [["ab", "cd"]]),
    ({"separators": [""]}, ["aé"], [["a", "é"]]),
]

WRONG_TOKENIZERS = [
    ({"tokenexp": "[a-"}, ["a"], 'tokenexp is "[a-": missing ]: [a- (syntax of RE2)'),
    ({"separators": ["x", "y("]}, ["a"], 'separators[1] is "y(": missing )'),
    ({"separators": ["x*"]}, ["a"], 'separators[0] is "x*", which separates where there is nothing'),
    ({"tokenexp": "a", "mincharnum": 0}, ["a"], "mincharnum is 0, expected 1 or more"),
    ({"tokenexp": ".", "mincharnum": 2}, ["a"], "mincharnum is 2, but tokens are single characters"),
    ({}, ["a"], "has neither separators nor tokenexp"),
]


def check_tokens(r):
    for attributes, texts, wanted in TOKENS:
        done, got = split(r, texts, **attributes)
        wanted = np.array(wanted, dtype=object)
        same = got is not None and got.shape == wanted.shape and (got == wanted).all()
        r.check(f"tokens by {attributes}", same, f"{done.stderr} {got}")
    for attributes, texts, words in WRONG_TOKENIZERS:
        done, _ = split(r, texts, **attributes)
        r.check(f"a wrong Tokenizer {attributes}", done.returncode == 3 and words in done.stderr, done.stderr)
    made = model("Tokenizer", TensorProto.STRING, TensorProto.STRING, "com.microsoft", "lmn", mark=0, mincharnum=1, pad_value="#", tokenexp="a")
    done, _ = r.run(made, np.array([[["a"]]], dtype=object))
    r.check("texts of rank 3", done.returncode == 3 and "X has rank 3, expected [C] or [N, C]" in done.stderr, done.stderr)


def check_without(r, without):
    done, _ = matches(r, "a", ["a"], without)
    r.check("no RE2", done.returncode == 4 and "libre2-dev" in done.stderr and "make setup" in done.stderr, done.stderr)
    done, _ = split(r, ["a"], without, tokenexp="a")
    r.check("no RE2 for tokens", done.returncode == 4 and "libre2-dev" in done.stderr, done.stderr)
    made = model("ImageDecoder", TensorProto.UINT8, TensorProto.UINT8)
    done, _ = r.run(made, np.zeros(1, np.uint8), without)
    r.check("no libtiff", done.returncode == 4 and "libtiff-dev" in done.stderr, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        r = Runner(str(Path(sys.argv[1]).resolve()), folder)
        check_pictures(r)
        check_broken(r)
        check_patterns(r)
        check_tokens(r)
        check_without(r, str(Path(sys.argv[2]).resolve()))
    print(f"extra: {r.passed} passed, {r.failed} failed")
    sys.exit(1 if r.failed or not r.passed else 0)


if __name__ == "__main__":
    main()
