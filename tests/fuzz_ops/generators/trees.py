"""Ensembles of decision trees. Thresholds are multiples of a half, so that rows fall on them; NaN is among the rows."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6


class Tree:
    """Nodes as (mode, feature, threshold, missing, yes, no) or, for a leaf, None; node 0 is the root."""

    def __init__(self, m, features, modes, depth):
        self.m, self.features, self.modes, self.nodes = m, features, modes, []
        self.grow(depth)

    def grow(self, depth):
        m, at = self.m, len(self.nodes)
        self.nodes.append(None)
        if depth and (at == 0 or m.chance(0.7)):
            yes, no = self.grow(depth - 1), self.grow(depth - 1)
            if self.nodes[no] and m.chance(0.15):
                yes = m.pick(*self.nodes[no][4:])  # two nodes with one child
            self.nodes[at] = (m.pick(*self.modes), m.number(0, self.features - 1), m.number(-4, 4) / 2, m.number(0, 1), yes, no)
        return at


def rows(m, number, features):
    """A batch of rows, or (rarely) none."""
    shape = [m.pick(0, 1, 2, 3, 9, 16, 33), features + (m.number(1, 2) if m.chance(0.2) else 0)]
    values = m.rng.integers(-5, 6, shape) / 2
    if number in (TensorProto.INT32, TensorProto.INT64):
        return Tensor(number, values.astype(np.int64).astype({TensorProto.INT32: np.int32, TensorProto.INT64: np.int64}[number]))
    if m.chance(0.5):
        values[m.rng.random(shape) < 0.1] = np.nan
    if m.chance(0.1):
        values[m.rng.random(shape) < 0.1] = m.pick(np.inf, -np.inf)
    return Tensor(number, values.astype({TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.FLOAT16: np.float16}[number]))


def forest(m, features, modes):
    depth = m.pick(0, 1, 2, 3, 4, 6)
    return [Tree(m, features, modes, depth) for _ in range(m.pick(1, 1, 2, 3, 7, 12))]


def weight(m, positive):
    value = float(m.rng.normal()) if m.chance(0.8) else m.number(-2, 2) / 2
    return float(np.float32(abs(value) if positive else value))


def numbers(m, attributes, name, values, wide):
    """As floats, or as a tensor where the version has one."""
    if wide and m.has(f"{name}_as_tensor"):
        attributes[f"{name}_as_tensor"] = Tensor(TensorProto.DOUBLE, np.array(values, np.float64))
    else:
        attributes[name] = values


def node_lists(m, trees, wide):
    """The lists of versions 1 and 3, and the number of each node in its tree."""
    a = {name: [] for name in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_truenodeids",
                               "nodes_falsenodeids", "nodes_missing_value_tracks_true")}
    values, names = [], []
    for t, tree in enumerate(trees):
        ids = list(range(len(tree.nodes)))
        if m.chance(0.3):
            m.random.shuffle(ids)
        names.append(ids)
        for i, node in enumerate(tree.nodes):
            mode, feature, threshold, missing, yes, no = node or ("LEAF", 0, 0.0, 0, None, None)
            a["nodes_treeids"].append(t)
            a["nodes_nodeids"].append(ids[i])
            a["nodes_featureids"].append(feature)
            a["nodes_modes"].append(mode)
            a["nodes_truenodeids"].append(0 if yes is None else ids[yes])
            a["nodes_falsenodeids"].append(0 if no is None else ids[no])
            a["nodes_missing_value_tracks_true"].append(missing)
            values.append(threshold)
    numbers(m, a, "nodes_values", values, wide)
    if m.chance(0.4):
        del a["nodes_missing_value_tracks_true"]
    if m.chance(0.1):
        a["nodes_hitrates"] = [1.0] * len(values)
    return a, names


def votes(m, attributes, kind, trees, names, targets, positive, wide):
    """All targets at every leaf, one target a tree, or some targets; `targets` are those that there are votes for."""
    how = m.pick("all", "tree", "some")
    lists = {f"{kind}_{x}": [] for x in ("treeids", "nodeids", "ids")}
    weights = []
    for t, tree in enumerate(trees):
        for i, node in enumerate(tree.nodes):
            if node:
                continue
            chosen = {"all": targets, "tree": [targets[t % len(targets)]], "some": m.random.sample(targets, m.number(1, len(targets)))}[how]
            for target in chosen:
                lists[f"{kind}_treeids"].append(t)
                lists[f"{kind}_nodeids"].append(names[t][i])
                lists[f"{kind}_ids"].append(target)
                weights.append(weight(m, positive))
    if m.chance(0.3):  # in another order
        order = m.rng.permutation(len(weights))
        lists = {name: [values[k] for k in order] for name, values in lists.items()}
        weights = [weights[k] for k in order]
    attributes.update(lists)
    numbers(m, attributes, f"{kind}_weights", weights, wide)


def start(m, constraint):
    features = m.number(1, 5)
    x = rows(m, m.type(constraint), features)
    modes = [m.pick(*MODES)] if m.chance(0.6) else MODES
    trees = forest(m, features, modes)
    wide = m.chance(0.5) and x.type == TensorProto.DOUBLE
    attributes, names = node_lists(m, trees, wide)
    return x, trees, names, wide, attributes | m.word("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", "NONE")


@ops("TreeEnsembleClassifier", domain="ai.onnx.ml", sums=True)
def classifier(m):
    x, trees, names, wide, attributes = start(m, "T1")
    classes = m.pick(1, 2, 2, 2, 3, 5)
    voted = [m.pick(0, 0, 1)] if classes == 2 and m.chance(0.6) else list(range(classes))
    votes(m, attributes, "class", trees, names, voted, m.chance(0.5), wide)
    if m.chance(0.5):
        attributes["classlabels_strings"] = ["b", "a", "é", "x y", ""][:classes]
    else:
        attributes["classlabels_int64s"] = m.pick([0, 1, 2, 3, 4], [7, -3, 12, 2**40, 0])[:classes]
    if m.chance(0.3):
        count = 1 if len(voted) < classes and m.chance(0.8) else classes
        numbers(m, attributes, "base_values", [weight(m, False) for _ in range(count)], wide)
    return Node([x], attributes, 2)


@ops("TreeEnsembleRegressor", domain="ai.onnx.ml", sums=True)
def regressor(m):
    x, trees, names, wide, attributes = start(m, "T")
    attributes |= m.word("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX")
    targets = m.pick(1, 1, 2, 3)
    votes(m, attributes, "target", trees, names, list(range(targets)), False, wide)
    attributes["n_targets"] = targets
    if m.chance(0.3):
        numbers(m, attributes, "base_values", [weight(m, False) for _ in range(targets)], wide)
    return Node([x], attributes)


@ops("TreeEnsemble", domain="ai.onnx.ml", sums=True)
def ensemble(m):
    features, number = m.number(1, 5), m.type("T")
    kind = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.FLOAT16: np.float16}[number]
    modes = [m.number(0, 6)] if m.chance(0.5) else list(range(7))
    trees = [tree for tree in forest(m, features, modes) if tree.nodes[0]]
    trees = trees or [Tree(m, features, modes, 1)]
    targets = m.pick(1, 1, 2, 3)
    lists = {name: [] for name in ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs",
                                   "nodes_falseleafs", "nodes_missing_value_tracks_true", "leaf_targetids", "tree_roots")}
    splits, kinds, weights, members, whole = [], [], [], [], m.chance(0.8)
    for tree in trees:
        branches = [i for i, node in enumerate(tree.nodes) if node]
        leaves = [i for i, node in enumerate(tree.nodes) if not node]
        place = {i: len(splits) + k for k, i in enumerate(branches)} | {i: len(weights) + k for k, i in enumerate(leaves)}
        lists["tree_roots"].append(place[0])
        for i in branches:
            mode, feature, threshold, missing, yes, no = tree.nodes[i]
            lists["nodes_featureids"].append(feature)
            for name, child in (("true", yes), ("false", no)):
                lists[f"nodes_{name}nodeids"].append(place[child])
                lists[f"nodes_{name}leafs"].append(int(tree.nodes[child] is None))
            lists["nodes_missing_value_tracks_true"].append(missing)
            splits.append(threshold)
            kinds.append(mode)
            if mode == MEMBER:
                members += [m.number(-4, 4) / (1 if whole else 2) for _ in range(m.number(1, 5))] + [np.nan]
        for _ in leaves:
            lists["leaf_targetids"].append(m.number(0, targets - 1))
            weights.append(weight(m, False))
    if m.chance(0.4):
        del lists["nodes_missing_value_tracks_true"]
    attributes = lists | {"n_targets": targets, "nodes_modes": Tensor(TensorProto.UINT8, np.array(kinds, np.uint8)),
                          "nodes_splits": Tensor(number, np.array(splits, kind)), "leaf_weights": Tensor(number, np.array(weights, kind))}
    if members:
        attributes["membership_values"] = Tensor(number, np.array(members, kind))
    if m.chance(0.7):
        attributes |= {"aggregate_function": m.number(0, 3), "post_transform": m.pick(0, 0, 0, 1, 2, 3, 4)}
    return Node([rows(m, number, features)], attributes)
