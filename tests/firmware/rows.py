"""Tests of the operators of ai.onnx.ml on rows of features as firmware: pipelines of scikit-learn trained here, written as converters write them, compiled,
and held to onnxruntime and to the bits of --ep firmware.

Usage: rows.py TINYORT, from the root of the tree.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import trees
from onnx import TensorProto, helper, numpy_helper
from sklearn import decomposition, linear_model, neural_network, pipeline, preprocessing, svm
from trees import CLASSES, FEATURES, ML, ROWS, classes, firmware, numbers, save


def node(op, inputs, outputs, domain=ML, **attributes):
    return helper.make_node(op, inputs, outputs, f"{op}_{outputs[0]}", domain=domain, **attributes)


def listed(values):
    return [float(value) for value in np.ravel(values)]


def scaler(step, to="scaled"):
    return node("Scaler", ["x"], [to], offset=listed(step.mean_), scale=listed(1 / step.scale_))


def weights(**arrays):
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items()]


# ---- linear models ------------------------------------------------------------------------------------------------------------------------------


def logistic(path, count, labels):
    """StandardScaler and LogisticRegression: of two classes one score a row, of three a softmax."""
    x, y = classes(count)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()).fit(x[:500], y[:500])
    lines, bases = model[1].coef_, model[1].intercept_
    if count == 2:
        lines, bases = np.concatenate([-lines, lines]), np.concatenate([-bases, bases])  # as skl2onnx has it
    nodes = [scaler(model[0]), node("LinearClassifier", ["scaled"], ["label", "scores"], coefficients=listed(lines), intercepts=listed(bases),
                                    classlabels_ints=labels, post_transform="LOGISTIC" if count == 2 else "SOFTMAX")]
    return save(path, nodes, CLASSES), x[500:]


def logistic_two(path):
    return logistic(path, 2, [3, -1])


def logistic_three(path):
    return logistic(path, 3, [0, 1, 2])


def one_score(path):
    """One score for two classes, of whole features."""
    x = np.random.default_rng(1).integers(-100, 100, (ROWS, FEATURES)).astype(np.int64)
    made = node("LinearClassifier", ["x"], ["label", "scores"], coefficients=listed(np.linspace(-0.01, 0.02, FEATURES)), intercepts=[0.25], classlabels_ints=[7, 8], post_transform="LOGISTIC")
    return save(path, [made], CLASSES, np.int64), x


def components(path):
    """PCA and LogisticRegression, whose probabilities are normalized."""
    x, y = classes(3)
    model = pipeline.make_pipeline(decomposition.PCA(5), linear_model.LogisticRegression()).fit(x[:500], y[:500])
    nodes = [node("Sub", ["x", "mean"], ["centred"], ""), node("MatMul", ["centred", "axes"], ["turned"], ""),
             node("LinearClassifier", ["turned"], ["label", "raw"], coefficients=listed(model[1].coef_), intercepts=listed(model[1].intercept_), classlabels_ints=[0, 1, 2], post_transform="LOGISTIC"),
             node("Normalizer", ["raw"], ["scores"], norm="L1")]
    return save(path, nodes, CLASSES, weights=weights(mean=model[0].mean_.astype(np.float32), axes=model[0].components_.T.astype(np.float32))), x[500:]


def network(path):
    """A scaler and a network, whose class is extracted from an array."""
    x, y = classes(3)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), neural_network.MLPClassifier(hidden_layer_sizes=(16,), max_iter=100, random_state=0)).fit(x[:500], y[:500])
    made = weights(w0=model[1].coefs_[0].astype(np.float32), w1=model[1].coefs_[1].astype(np.float32), b0=model[1].intercepts_[0].astype(np.float32),
                   b1=model[1].intercepts_[1].astype(np.float32), classes=np.array([5, 6, 9], np.int64), flat=np.array([-1], np.int64))
    nodes = [scaler(model[0]), node("MatMul", ["scaled", "w0"], ["m0"], ""), node("Add", ["m0", "b0"], ["a0"], ""), node("Relu", ["a0"], ["r"], ""), node("MatMul", ["r", "w1"], ["m1"], ""),
             node("Add", ["m1", "b1"], ["a1"], ""), node("Softmax", ["a1"], ["scores"], ""), node("ArgMax", ["scores"], ["best"], "", axis=1, keepdims=0),
             node("ArrayFeatureExtractor", ["classes", "best"], ["wide"]), node("Reshape", ["wide", "flat"], ["label"], "")]
    return save(path, nodes, CLASSES, weights=made), x[500:]


def regressions(path):
    """Two targets of whole features."""
    rng = np.random.default_rng(2)
    made = node("LinearRegressor", ["x"], ["y"], coefficients=listed(rng.standard_normal(2 * FEATURES)), intercepts=[0.5, -3.0], targets=2)
    return save(path, [made], [("y", TensorProto.FLOAT)]), rng.standard_normal((ROWS, FEATURES)).astype(np.float32)


# ---- support vector machines --------------------------------------------------------------------------------------------------------------------


def vectors(path, count, **options):
    x, y = classes(count)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(**options)).fit(x[:500], y[:500])
    machine = model[1]
    numbers_of = {"prob_a": listed(machine.probA_), "prob_b": listed(machine.probB_)} if options.get("probability") else {}
    sign = -1 if count == 2 else 1  # scikit-learn turns the signs of two classes
    made = node("SVMClassifier", ["scaled"], ["label", "scores"], kernel_type=machine.kernel.upper(), kernel_params=[float(machine._gamma), float(machine.coef0), float(machine.degree)],
                support_vectors=listed(machine.support_vectors_), coefficients=listed(sign * machine.dual_coef_), rho=listed(sign * machine.intercept_),
                vectors_per_class=[int(n) for n in machine.n_support_], classlabels_ints=list(range(count)), **numbers_of)
    return save(path, [scaler(model[0]), made], CLASSES), x[500:]


def radial_two(path):
    return vectors(path, 2)


def radial_three(path):
    return vectors(path, 3)


def probable(path):
    return vectors(path, 4, probability=True, random_state=0)


def cubic(path):
    return vectors(path, 3, kernel="poly", coef0=1.0)


def hyperbolic(path):
    return vectors(path, 2, kernel="sigmoid")


def straight(path):
    return vectors(path, 3, kernel="linear")


def svm_numbers(path):
    x, y = numbers()
    model = svm.SVR(C=10.0).fit(x[:500], y[:500])
    made = node("SVMRegressor", ["x"], ["y"], kernel_type="RBF", kernel_params=[float(model._gamma), 0.0, 3.0], support_vectors=listed(model.support_vectors_),
                coefficients=listed(model.dual_coef_), rho=listed(model.intercept_), n_supports=len(model.support_vectors_))
    return save(path, [made], [("y", TensorProto.FLOAT)]), x[500:]


# ---- features -----------------------------------------------------------------------------------------------------------------------------------


def prepared(path):
    """Missing numbers filled in, a norm of each kind, labels of numbers."""
    x = np.random.default_rng(3).standard_normal((ROWS, FEATURES)).astype(np.float32)
    x[np.random.default_rng(4).random(x.shape) < 0.1] = np.nan
    x[7] = 0
    nodes = [node("Imputer", ["x"], ["whole"], imputed_value_floats=listed(np.arange(FEATURES)), replaced_value_float=float("nan")),
             node("Scaler", ["whole"], ["scaled"], offset=[0.5], scale=[2.0]), node("Binarizer", ["scaled"], ["bits"], threshold=0.25),
             node("Normalizer", ["scaled"], ["most"], norm="MAX"), node("Normalizer", ["scaled"], ["l1"], norm="L1"), node("Normalizer", ["scaled"], ["l2"], norm="L2"),
             node("LabelEncoder", ["bits"], ["codes"], keys_floats=[0.0, 1.0, 1.0], values_int64s=[-5, 1 << 40, 3], default_int64=9),
             node("LabelEncoder", ["codes"], ["sizes"], keys_int64s=[1 << 40], values_floats=[0.5], default_float=-2.0),
             node("ArrayFeatureExtractor", ["l2", "places"], ["picked"])]
    outputs = [(name, TensorProto.FLOAT) for name in ("bits", "most", "l1", "l2", "sizes", "picked")] + [("codes", TensorProto.INT64)]
    return save(path, nodes, outputs, weights=weights(places=np.array([3, 0, 9, 3], np.int64))), x


warnings.filterwarnings("ignore")
MODELS = (logistic_two, logistic_three, one_score, components, network, regressions, radial_two, radial_three, probable, cubic, hyperbolic, straight, svm_numbers, prepared)


def check_refusals(tally, tinyort, folder):
    words = (("label", TensorProto.STRING), CLASSES[1])
    out, lines = folder / "refused", {"coefficients": [1.0] * 2 * FEATURES, "intercepts": [0.0, 0.0]}
    strings = save(folder / "strings.onnx", [node("LinearClassifier", ["x"], ["label", "scores"], classlabels_strings=["no", "yes"], **lines)], words)
    firmware.check_refusal(tally, tinyort, strings, 4, ["labels are strings", "drop the labels"], out)
    coded = save(folder / "coded.onnx", [node("LabelEncoder", ["x"], ["label"], keys_floats=[1.0], values_strings=["one"])], words[:1])
    firmware.check_refusal(tally, tinyort, coded, 4, ["values are strings"], out)
    degree = save(folder / "degree.onnx", [node("SVMRegressor", ["x"], ["y"], kernel_type="POLY", kernel_params=[1.0, 0.0, 2.5], support_vectors=[1.0] * FEATURES, coefficients=[1.0], rho=[0.0], n_supports=1)], [("y", TensorProto.FLOAT)])
    firmware.check_refusal(tally, tinyort, degree, 4, ["the degree is 2.5"], out)


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for make in MODELS:
            trees.check(tally, tinyort, make, Path(name) / make.__name__)
        check_refusals(tally, tinyort, Path(name))
    print(f"firmware, rows of features: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()
