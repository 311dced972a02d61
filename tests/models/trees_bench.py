"""Times ensembles of trees in tinyort and in onnxruntime, in turns, at the same numbers of threads. A measurement, not a test.

    trees_bench.py --library build/libtinyort.so [--folder DIR] [--seconds S] [--threads 1,2] [--only NAME,...]

Each row of the table: the medians of both, and the median of the ratios of pairs (below 1: tinyort is faster).
"""

import argparse
import pathlib

import numpy
from onnx import TensorProto, helper, save_model

from pairs import Ours, Theirs, in_turns

# Trees, depth (most of it), features, rows, classes, and how the trees are made.
SHAPES = {
    "boosting": dict(trees=100, depth=8, features=50, kind="boosting"),
    "boosting, missing values": dict(trees=100, depth=6, features=30, kind="boosting", missing=True),
    "boosting, 5 classes": dict(trees=100, depth=6, features=30, kind="boosting", classes=5),
    "forest": dict(trees=100, depth=10, features=20, kind="forest"),
    "forest, 3 classes": dict(trees=100, depth=10, features=20, kind="forest", classes=3),
    "forest, grown to the end": dict(trees=100, depth=20, features=40, kind="forest", classes=5, stop=0.35),
}
ROWS = (10000, 100, 1)


class Ensemble:
    """Random trees over features of 0..1. A node splits where its rows can fall on both sides."""

    def __init__(self, trees, depth, features, kind, missing=False, classes=1, stop=0.0):
        self.rng = numpy.random.default_rng(7)
        self.depth, self.features, self.kind, self.classes, self.stop = depth, features, kind, classes, stop
        self.lists = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids", "values",
                                          "missing_value_tracks_true")}
        self.votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
        for tree in range(trees):
            self.first = len(self.lists["nodeids"])
            self.tree = tree
            self.grow(0, [(0.0, 1.0)] * features)
        if not missing:
            del self.lists["missing_value_tracks_true"]

    def grow(self, depth, ranges):
        lists, at = self.lists, len(self.lists["nodeids"])
        node = at - self.first
        leaf = depth == self.depth or (depth > 4 and self.rng.random() < self.stop)
        feature = 0 if leaf else int(self.rng.integers(self.features))
        low, high = ranges[feature]
        split = numpy.float32(low + (high - low) * self.rng.uniform(0.3, 0.7))
        lists["treeids"].append(self.tree)
        lists["nodeids"].append(node)
        lists["featureids"].append(feature)
        lists["modes"].append("LEAF" if leaf else "BRANCH_LEQ" if self.kind == "forest" else "BRANCH_LT")
        lists["values"].append(0.0 if leaf else float(split))
        lists["missing_value_tracks_true"].append(int(self.rng.integers(2)))
        lists["truenodeids"].append(0)
        lists["falsenodeids"].append(0)
        if leaf:
            self.vote(node)
            return node
        below, above = list(ranges), list(ranges)
        below[feature], above[feature] = (low, float(split)), (float(split), high)
        lists["truenodeids"][at] = self.grow(depth + 1, below)
        lists["falsenodeids"][at] = self.grow(depth + 1, above)
        return node

    def vote(self, node):
        every = self.kind == "forest"
        for target in range(self.classes) if every else [self.tree % self.classes]:
            self.votes["treeids"].append(self.tree)
            self.votes["nodeids"].append(node)
            self.votes["ids"].append(target)
            self.votes["weights"].append(float(self.rng.random() / 100 if every else self.rng.normal() / 10))

    def save(self, path):
        kind = "class" if self.classes > 1 else "target"
        attributes = {f"nodes_{key}": values for key, values in self.lists.items()}
        attributes |= {f"{kind}_{key}": values for key, values in self.votes.items()}
        attributes |= {"classlabels_int64s": list(range(self.classes))} if self.classes > 1 else {"n_targets": 1}
        if self.classes > 1 and self.kind == "boosting":
            attributes["post_transform"] = "SOFTMAX"
        operator, outputs = ("TreeEnsembleClassifier", ["label", "scores"]) if self.classes > 1 else ("TreeEnsembleRegressor", ["scores"])
        node = helper.make_node(operator, ["X"], outputs, domain="ai.onnx.ml", **attributes)
        x = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", self.features])
        made = [helper.make_tensor_value_info("label", TensorProto.INT64, ["rows"])] if self.classes > 1 else []
        made.append(helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", self.classes]))
        graph = helper.make_graph([node], "trees", [x], made)
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8), path)


def scores(side, x):
    return side.session.run(["scores"], {"X": x})[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/libtinyort.so")
    parser.add_argument("--folder", type=pathlib.Path, default="build/trees")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{'ensemble':28} {'rows':>6} {'threads':>7} {'tinyort':>10} {'onnxruntime':>11} {'ratio':>6}  largest difference")
    for name, shape in SHAPES.items():
        if options.only and name not in options.only.split(","):
            continue
        path = options.folder / f"{name.replace(', ', '_').replace(' ', '_')}.onnx"
        Ensemble(**shape).save(path)
        rng = numpy.random.default_rng(3)
        for threads in map(int, options.threads.split(",")):
            ours, theirs = Ours(path, threads, options.library), Theirs(path, threads)
            for rows in ROWS:
                x = rng.random((rows, shape["features"]), numpy.float32)
                if shape.get("missing"):
                    x[rng.random(x.shape) < 0.1] = numpy.nan
                far = numpy.abs(scores(ours, x) - scores(theirs, x)).max()
                mine, other, ratio = in_turns(ours, theirs, {"X": x}, options.seconds, threads)
                print(f"{name:28} {rows:6} {threads:7} {mine * 1e6:7.0f} us {other * 1e6:8.0f} us {ratio:6.2f}  {far:.2g}", flush=True)


if __name__ == "__main__":
    main()
