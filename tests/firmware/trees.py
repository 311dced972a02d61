"""Tests of scikit-learn's models as firmware: trained here, written as converters write them, compiled, and held to onnxruntime and to the bits of
--ep firmware.

Usage: trees.py TINYORT, from the root of the tree. Ensembles with every comparison, missing values, shared nodes and whole features are made at random.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import run as firmware
from onnx import TensorProto, helper, numpy_helper
from sklearn import ensemble
from sklearn.datasets import make_classification, make_regression

ROWS, FEATURES = 1000, 10
ML = "ai.onnx.ml"
BUILDS = (("gcc", "-O2"), ("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"))
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def save(path, nodes, outputs, kind=np.float32, weights=(), version=3, features=FEATURES):
    port = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [ROWS, features])
    made = [helper.make_tensor_value_info(name, kind_of, None) for name, kind_of in outputs if name]
    graph = helper.make_graph(nodes, path.stem, [port], made, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, version)], ir_version=9), path)
    return path


CLASSES = (("label", TensorProto.INT64), ("scores", TensorProto.FLOAT))


class Lists:
    """The attributes of TreeEnsembleClassifier or, with kind "target", of TreeEnsembleRegressor."""

    def __init__(self, kind):
        self.kind, self.trees = kind, 0
        self.nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids", "modes", "values", "missing_value_tracks_true")}
        self.votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}

    def node(self, i, mode, feature=0, value=0.0, yes=0, no=0, missing=0):
        for key, what in zip(self.nodes, (self.trees, i, feature, yes, no, mode, float(value), missing)):
            self.nodes[key].append(what)

    def vote(self, i, target, weight):
        for key, what in zip(self.votes, (self.trees, i, target, float(weight))):
            self.votes[key].append(what)

    def tree(self, tree, votes):
        """A tree of scikit-learn; votes: of its leaf i, pairs of target and weight."""
        for i in range(tree.node_count):
            if tree.children_left[i] < 0:
                self.node(i, "LEAF")
                for target, weight in votes(i):
                    self.vote(i, target, weight)
            else:
                self.node(i, "BRANCH_LEQ", int(tree.feature[i]), tree.threshold[i], int(tree.children_left[i]), int(tree.children_right[i]))
        self.trees += 1

    def save(self, path, outputs, kind=np.float32, **attributes):
        lists = {f"nodes_{key}": value for key, value in self.nodes.items()} | {f"{self.kind}_{key}": value for key, value in self.votes.items()}
        name = "TreeEnsembleClassifier" if self.kind == "class" else "TreeEnsembleRegressor"
        node = helper.make_node(name, ["x"], [output for output, _ in outputs], "trees", domain=ML, **lists, **attributes)
        return save(path, [node], outputs, kind)


# ---- trained models: each gives a path and rows -------------------------------------------------------------------------------------------------


def classes(count):
    x, y = make_classification(500 + ROWS, FEATURES, n_informative=6, n_classes=count, random_state=2)
    return x.astype(np.float32), y


def numbers(targets=1):
    x, y = make_regression(500 + ROWS, FEATURES, n_informative=6, n_targets=targets, noise=3.0, random_state=1)
    return x.astype(np.float32), y


def forest(path, kind, count, labels):
    x, y = classes(count)
    model = kind(20, random_state=0).fit(x[:500], y[:500])
    lists = Lists("class")
    for one in model.estimators_:
        share = one.tree_.value[:, 0] / one.tree_.value[:, 0].sum(axis=1, keepdims=True) / len(model.estimators_)
        lists.tree(one.tree_, lambda i: [(0, share[i, 1])] if count == 2 else enumerate(share[i]))  # one number for both of two classes
    return lists.save(path, CLASSES, classlabels_int64s=labels, post_transform="NONE"), x[500:]


def random_forest_two(path):
    return forest(path, ensemble.RandomForestClassifier, 2, [0, 1])


def random_forest_three(path):
    return forest(path, ensemble.RandomForestClassifier, 3, [30, -1, 1 << 40])


def extra_trees(path):
    return forest(path, ensemble.ExtraTreesClassifier, 4, [0, 1, 2, 3])


def boosting(path, count, transform):
    x, y = classes(count)
    model = ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0).fit(x[:500], y[:500])
    lists = Lists("class")
    for stage in model.estimators_:
        for target, one in enumerate(stage):
            lists.tree(one.tree_, lambda i: [(target, model.learning_rate * one.tree_.value[i, 0, 0])])
    bases = [float(value) for value in model._raw_predict_init(x[:1])[0]]
    return lists.save(path, CLASSES, classlabels_int64s=list(range(count)), base_values=bases, post_transform=transform), x[500:]


def boosting_two(path):
    return boosting(path, 2, "LOGISTIC")


def boosting_three(path):
    return boosting(path, 3, "SOFTMAX")


def boosting_zero(path):
    return boosting(path, 3, "SOFTMAX_ZERO")


def boosting_numbers(path):
    x, y = numbers()
    model = ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0).fit(x[:500], y[:500])
    lists = Lists("target")
    for one in model.estimators_[:, 0]:
        lists.tree(one.tree_, lambda i: [(0, model.learning_rate * one.tree_.value[i, 0, 0])])
    return lists.save(path, [("y", TensorProto.FLOAT)], n_targets=1, base_values=[float(model.init_.constant_[0, 0])]), x[500:]


def forest_numbers(path, targets=2):
    x, y = numbers(targets)
    model = ensemble.RandomForestRegressor(20, random_state=0).fit(x[:500], y[:500])
    lists = Lists("target")
    for one in model.estimators_:
        lists.tree(one.tree_, lambda i: enumerate(one.tree_.value[i, :, 0]))
    return lists.save(path, [("y", TensorProto.FLOAT)], n_targets=targets, aggregate_function="AVERAGE"), x[500:]


def forest_deep(path):
    """So many nodes that places take 32 bits."""
    x, y = numbers()
    model = ensemble.RandomForestRegressor(60, random_state=0).fit(x, y)
    lists = Lists("target")
    for one in model.estimators_:
        lists.tree(one.tree_, lambda i: enumerate(one.tree_.value[i, :, 0] / 60))
    return lists.save(path, [("y", TensorProto.FLOAT)], n_targets=1), x[500:]


# ---- made at random -----------------------------------------------------------------------------------------------------------------------------


def grow(rng, lists, value, targets, modes, depth):
    """A tree whose last nodes share a leaf."""
    inner = (1 << depth) - 1
    for i in range(inner):
        lists.node(i, modes[rng.integers(len(modes))], int(rng.integers(FEATURES)), value(), 2 * i + 1, 2 * i + 2 if i + 1 < inner else 2 * i + 1, int(rng.integers(2)))
    for i in range(inner, 2 * inner + 1):
        lists.node(i, "LEAF")
        for target in rng.permutation(targets)[: rng.integers(1, targets + 1)]:
            lists.vote(i, int(target), rng.standard_normal())
    lists.trees += 1


def random_trees(path, kind, seed, modes=MODES, **attributes):
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (ROWS, FEATURES)).astype(kind)
    lists = Lists("target")

    def value():
        return float(rng.integers(-9, 10)) if rng.integers(2) else float(rng.uniform(-9, 9))

    if kind != np.float32:  # onnxruntime has no regressor of whole numbers
        lists = Lists("class")
    for _ in range(12):
        grow(rng, lists, value, 3, modes, 4)
    if kind != np.float32:
        return lists.save(path, CLASSES, kind, classlabels_int64s=[4, 5, 6], **attributes), x
    return lists.save(path, [("y", TensorProto.FLOAT)], kind, n_targets=3, **attributes), x


def all_modes(path):
    return random_trees(path, np.float32, 10)


def holes(path):
    """Missing values; at a node of BRANCH_NEQ onnxruntime goes another way than the node says."""
    path, x = random_trees(path, np.float32, 1, MODES[:5])
    x[np.random.default_rng(2).random(x.shape) < 0.1] = np.nan
    x[0], x[1] = np.inf, -np.inf
    return path, x


def least(path):
    return random_trees(path, np.float32, 3, aggregate_function="MIN", base_values=[0.5, -1.0, 2.0])


def largest(path):
    return random_trees(path, np.float32, 4, aggregate_function="MAX", post_transform="LOGISTIC")


def whole_32(path):
    return random_trees(path, np.int32, 5)


def whole_64(path):
    """Some features are beyond 2^24, where onnxruntime rounds them to floats."""
    path, x = random_trees(path, np.int64, 6)
    x[:100] = np.random.default_rng(7).integers(-(1 << 62), 1 << 62, (100, FEATURES))
    return path, x


def whole_large(path):
    """Bounds of 32 bits, and features about them."""
    rng, lists = np.random.default_rng(8), Lists("class")
    bounds = np.float32(rng.integers(-(1 << 31), 1 << 31, 64))
    for _ in range(12):
        grow(rng, lists, lambda: float(bounds[rng.integers(64)]), 3, MODES, 4)
    x = bounds[rng.integers(0, 64, (ROWS, FEATURES))].astype(np.int64) + rng.integers(-200, 200, (ROWS, FEATURES))
    return lists.save(path, CLASSES, np.int32, classlabels_int64s=[4, 5, 6]), np.clip(x, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def members(path):
    """TreeEnsemble-5: BRANCH_MEMBER, a tree that is a leaf, one number a leaf."""
    rng = np.random.default_rng(9)
    nodes = [(1, 2.0, 1), (6, 0.0, 0), (6, 0.0, 2), (0, 3.5, 1)]  # mode, split, feature
    sets = [1.0, 2.0, 7.0, np.nan, -3.0, 0.0, np.nan]
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], "trees", domain=ML, aggregate_function=1, n_targets=2, tree_roots=[0, 3], nodes_featureids=[row[2] for row in nodes],
                            nodes_modes=numpy_helper.from_array(np.array([row[0] for row in nodes], np.uint8)), nodes_splits=numpy_helper.from_array(np.array([row[1] for row in nodes], np.float32)),
                            nodes_truenodeids=[1, 0, 2, 4], nodes_trueleafs=[0, 1, 1, 1], nodes_falsenodeids=[2, 1, 3, 5], nodes_falseleafs=[0, 1, 1, 1],
                            leaf_targetids=[0, 1, 0, 1, 0, 1], leaf_weights=numpy_helper.from_array(rng.standard_normal(6).astype(np.float32)),
                            membership_values=numpy_helper.from_array(np.array(sets, np.float32)))
    return save(path, [node], [("y", TensorProto.FLOAT)], version=5), rng.integers(-4, 9, (ROWS, FEATURES)).astype(np.float32)


MODELS = (random_forest_two, random_forest_three, extra_trees, boosting_two, boosting_three, boosting_zero, boosting_numbers, forest_numbers, forest_deep, all_modes, holes, least, largest,
          whole_32, whole_64, whole_large, members)


# ---- checks -------------------------------------------------------------------------------------------------------------------------------------


def by_onnxruntime(path, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # sums in the order of the trees
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})


def check(tally, tinyort, make, folder):
    folder.mkdir()
    path, x = make(folder / f"{make.__name__}.onnx")
    name, out = path.stem, folder / "out"
    np.save(folder / "x.npy", x)
    (folder / "x.raw").write_bytes(x.tobytes())
    done = firmware.run(tinyort, "compile", path, "-o", out, "--main")
    tally.check(done.returncode == 0, f"compile {name}: {done.stdout}{done.stderr}")
    done = firmware.run(tinyort, "run", path, "--ep", "firmware", "--strict", "--input", f"x={folder / 'x.npy'}", "--save", folder / "own")
    tally.check(done.returncode == 0, f"{name} on firmware: {done.stderr}")
    own = [np.load(folder / "own" / f"output_{i}.npy") for i in range(len(onnx.load(path).graph.output))]
    for i, (value, other) in enumerate(zip(own, by_onnxruntime(path, x))):
        whole = value.dtype == np.int64
        same = np.array_equal(value, other) if whole else np.allclose(value, other.reshape(value.shape), rtol=1e-5, atol=1e-5 * max(1, np.nanmax(abs(other))), equal_nan=True)
        tally.check(same, f"{name}: output {i} differs from onnxruntime in {(value != other.reshape(value.shape)).sum()} of {value.size} numbers")
    for build in BUILDS[len(name) % 2 :][:1]:  # one of the two for each model
        if firmware.shutil.which(build[0]):
            firmware.check_build(tally, out, name, build, [folder / "x.raw"], own)
        else:
            tally.skip(f"{name} by {build[0]} (it is not installed)")
    firmware.check_symbols(tally, out, name)


def check_refusals(tally, tinyort, folder):
    lists, out = Lists("class"), folder / "refused"
    for _ in range(2):
        grow(np.random.default_rng(1), lists, lambda: 0.5, 2, MODES[:1], 2)
    strings = lists.save(folder / "strings.onnx", (("label", TensorProto.STRING), CLASSES[1]), classlabels_strings=["no", "yes"])
    firmware.check_refusal(tally, tinyort, strings, 4, ["labels are strings", "drop the labels"], out)
    scores = lists.save(folder / "scores.onnx", (("", TensorProto.STRING), CLASSES[1]), classlabels_strings=["no", "yes"])
    done = firmware.run(tinyort, "compile", scores, "-o", folder / "scores")
    tally.check(done.returncode == 0, f"scores without labels: {done.stderr}")
    probit = lists.save(folder / "probit.onnx", CLASSES, classlabels_int64s=[0, 1], post_transform="PROBIT")
    firmware.check_refusal(tally, tinyort, probit, 4, ["PROBIT"], out)
    double = lists.save(folder / "double.onnx", CLASSES, np.float64, classlabels_int64s=[0, 1])
    firmware.check_refusal(tally, tinyort, double, 4, ["double", "export the model in float32"], out)
    model = onnx.load(probit)
    model.graph.node[0].attribute.remove(next(a for a in model.graph.node[0].attribute if a.name == "post_transform"))
    model.graph.node.append(helper.make_node("ZipMap", ["scores"], ["maps"], "zip", domain=ML, classlabels_int64s=[0, 1]))
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
    model.graph.output[1].CopyFrom(helper.make_value_info("maps", maps))
    onnx.save(model, folder / "maps.onnx")
    firmware.check_refusal(tally, tinyort, folder / "maps.onnx", 4, ["ZipMap", "options={'zipmap': False}"], out)


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for make in MODELS:
            check(tally, tinyort, make, Path(name) / make.__name__)
        check_refusals(tally, tinyort, Path(name))
    print(f"firmware, scikit-learn: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()
