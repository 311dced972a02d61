"""Ensembles of trees as scikit-learn's, LightGBM's, XGBoost's and CatBoost's users export them, compared with onnxruntime (compare.py)
and with the library that trained the model.

    trees_models.py --tinyort build/tinyort --folder build/models [--only NAME,...]

Each model runs on rows that it was not trained with, one alone and all together, with missing values where the model takes them.
"""

import functools
import warnings
from unittest import mock

import numpy
import onnx
from sklearn import ensemble, tree
from sklearn.datasets import make_classification, make_regression

from compare import arguments, chosen, run_cases

FEATURES = 10
ROWS = 600
warnings.filterwarnings("ignore")


def regression(targets=1):
    x, y = make_regression(ROWS, FEATURES, n_informative=6, n_targets=targets, noise=3.0, random_state=1)
    return x.astype(numpy.float32), y


def classification(classes=2, labels=None):
    x, y = make_classification(ROWS, FEATURES, n_informative=6, n_classes=classes, random_state=2)
    return x.astype(numpy.float32), y if labels is None else numpy.array(labels)[y]


def holes(x):
    """The same rows with missing values."""
    x = x.copy()
    x[numpy.random.default_rng(5).random(x.shape) < 0.1] = numpy.nan
    return x


# ---- exporters: each takes a fitted model and a path ---------------------------------------------------------------------


def of_sklearn(model, path):
    from skl2onnx import to_onnx

    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    with mock.patch("onnx.helper.make_attribute", plain_numbers(onnx.helper.make_attribute)):
        made = to_onnx(model, numpy.zeros((1, FEATURES), numpy.float32), options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    onnx.save(made, path)


def plain_numbers(make):
    """onnx 1.23 refuses the lists of numpy.uint32 that skl2onnx 1.20 makes of histograms."""

    def made(key, value, *rest, **options):
        if isinstance(value, list) and value and isinstance(value[0], numpy.integer):
            value = [int(v) for v in value]
        return make(key, value, *rest, **options)

    return made


def of_onnxmltools(convert):
    def export(model, path):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        made = getattr(onnxmltools, convert)(model, initial_types=[("X", FloatTensorType([None, FEATURES]))])
        onnx.save(made, path)

    return export


def of_catboost(model, path):
    model.save_model(str(path), format="onnx")


# ---- models --------------------------------------------------------------------------------------------------------------


def lightgbm(kind, **options):
    import lightgbm as library

    return getattr(library, kind)(n_estimators=40, verbose=-1, random_state=0, **options)


def xgboost(kind, **options):
    import xgboost as library

    return getattr(library, kind)(n_estimators=40, max_depth=5, random_state=0, **options)


def catboost(kind, **options):
    import catboost as library

    return getattr(library, kind)(iterations=40, depth=5, random_seed=0, verbose=False, allow_writing_files=False, **options)


def boosted(base, rounds=20):
    return base(n_estimators=rounds, random_state=0)


WORDS = ["no", "yes"]
COLOURS = ["red", "green", "blue"]
SKLEARN = ("skl2onnx", "skl2onnx", of_sklearn)
LIGHTGBM = ("onnxmltools of LightGBM", "onnxmltools", of_onnxmltools("convert_lightgbm"))
XGBOOST = ("onnxmltools of XGBoost", "onnxmltools", of_onnxmltools("convert_xgboost"))
CATBOOST = ("CatBoost", "catboost", of_catboost)

# Name: the model, its data, its exporter with the package that it comes in, whether it takes missing values.
MODELS = {
    "sklearn_tree": (lambda: tree.DecisionTreeClassifier(random_state=0), lambda: classification(), SKLEARN, False),
    "sklearn_tree_regression": (lambda: tree.DecisionTreeRegressor(random_state=0), lambda: regression(), SKLEARN, False),
    "sklearn_tree_two_targets": (lambda: tree.DecisionTreeRegressor(max_depth=7, random_state=0), lambda: regression(2), SKLEARN, False),
    "sklearn_forest": (lambda: boosted(ensemble.RandomForestClassifier), lambda: classification(), SKLEARN, False),
    "sklearn_forest_strings": (lambda: boosted(ensemble.RandomForestClassifier), lambda: classification(2, WORDS), SKLEARN, False),
    "sklearn_forest_five": (lambda: boosted(ensemble.RandomForestClassifier), lambda: classification(5), SKLEARN, False),
    "sklearn_forest_labels": (lambda: boosted(ensemble.RandomForestClassifier), lambda: classification(3, [30, -1, 7]), SKLEARN, False),
    "sklearn_forest_regression": (lambda: boosted(ensemble.RandomForestRegressor), lambda: regression(), SKLEARN, False),
    "sklearn_forest_two_targets": (lambda: boosted(ensemble.RandomForestRegressor), lambda: regression(2), SKLEARN, False),
    "sklearn_extra_trees": (lambda: boosted(ensemble.ExtraTreesClassifier), lambda: classification(3, COLOURS), SKLEARN, False),
    "sklearn_extra_trees_regression": (lambda: boosted(ensemble.ExtraTreesRegressor), lambda: regression(), SKLEARN, False),
    "sklearn_boosting": (lambda: boosted(ensemble.GradientBoostingClassifier), lambda: classification(), SKLEARN, False),
    "sklearn_boosting_three": (lambda: boosted(ensemble.GradientBoostingClassifier), lambda: classification(3), SKLEARN, False),
    "sklearn_boosting_regression": (lambda: boosted(ensemble.GradientBoostingRegressor), lambda: regression(), SKLEARN, False),
    "sklearn_histograms": (lambda: ensemble.HistGradientBoostingClassifier(max_iter=20, random_state=0), lambda: classification(), SKLEARN, True),
    "sklearn_histograms_three": (lambda: ensemble.HistGradientBoostingClassifier(max_iter=20, random_state=0), lambda: classification(3), SKLEARN, True),
    "sklearn_histograms_regression": (lambda: ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=0), lambda: regression(), SKLEARN, True),
    "sklearn_isolation": (lambda: boosted(ensemble.IsolationForest), lambda: regression(), SKLEARN, False),
    "sklearn_adaboost": (lambda: boosted(ensemble.AdaBoostClassifier), lambda: classification(3), SKLEARN, False),
    "sklearn_adaboost_regression": (lambda: boosted(ensemble.AdaBoostRegressor), lambda: regression(), SKLEARN, False),
    "lightgbm": (lambda: lightgbm("LGBMClassifier"), lambda: classification(), LIGHTGBM, True),
    "lightgbm_three": (lambda: lightgbm("LGBMClassifier"), lambda: classification(3, [3, 5, 9]), LIGHTGBM, True),
    "lightgbm_regression": (lambda: lightgbm("LGBMRegressor"), lambda: regression(), LIGHTGBM, True),
    "lightgbm_dart": (lambda: lightgbm("LGBMRegressor", boosting_type="dart"), lambda: regression(), LIGHTGBM, True),
    "xgboost": (lambda: xgboost("XGBClassifier"), lambda: classification(), XGBOOST, True),
    "xgboost_three": (lambda: xgboost("XGBClassifier"), lambda: classification(3), XGBOOST, True),
    "xgboost_regression": (lambda: xgboost("XGBRegressor"), lambda: regression(), XGBOOST, True),
    "xgboost_counts": (lambda: xgboost("XGBRegressor", objective="count:poisson"), lambda: (regression()[0], abs(regression()[1]) // 20), XGBOOST, True),
    "catboost": (lambda: catboost("CatBoostClassifier"), lambda: classification(), CATBOOST, True),
    "catboost_three": (lambda: catboost("CatBoostClassifier"), lambda: classification(3, COLOURS), CATBOOST, True),
    "catboost_regression": (lambda: catboost("CatBoostRegressor"), lambda: regression(), CATBOOST, True),
}


# ---- comparing -----------------------------------------------------------------------------------------------------------


def far_from_truth(model, x, outputs):
    """What is wrong with the predictions; empty: nothing. Classes whose probabilities tie may be either; floats fall on the other
    side of a few thresholds that are doubles."""
    theirs = numpy.asarray(model.predict(x))
    ours = outputs[0].reshape(theirs.shape)
    if theirs.dtype.kind == "f":
        wrong = ~numpy.isclose(ours, theirs, rtol=1e-3, atol=1e-3 * abs(theirs).max())
    else:
        wrong = ours.astype(str) != theirs.astype(str)
        if hasattr(model, "predict_proba"):
            best = numpy.sort(model.predict_proba(x), axis=1)[:, -2:]
            wrong &= (best[:, 1] - best[:, 0] > 1e-5).reshape(wrong.shape)
    return f"{wrong.mean():.1%} of the predictions are not those of the library" if wrong.mean() > 0.01 else ""


def case_of(folder, name, entry):
    make, data, (exporter, package, export), missing = entry
    path, (x, y) = folder / f"trees_{name}.onnx", data()
    half = len(x) // 2
    rows = [x[half:], x[half : half + 1]] + ([holes(x[half:])] if missing else [])

    @functools.cache
    def fitted():
        return make().fit(holes(x[:half]) if missing else x[:half], y[:half])

    feed = "features" if package == "catboost" else "X"
    kind = type(make()).__name__.removesuffix("Classifier").removesuffix("Regressor")
    return {"label": name, "architecture": kind, "exporter": exporter, "package": package, "path": path,
            "export": lambda: export(fitted(), path), "runs": [{feed: each} for each in rows], "close": (1e-4, 1e-5),
            "threads": 1,  # with more of them onnxruntime sums in another order, and ties fall the other way
            "truth": lambda feeds, got: far_from_truth(fitted(), feeds[feed], got)}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, MODELS).items()])


if __name__ == "__main__":
    main()
