"""Models of scikit-learn as skl2onnx writes them: what a user trains, exports and runs, compared with onnxruntime (compare.py).

    sklearn_models.py --tinyort build/tinyort --folder build/models [--only NAME,...]

Everything is trained on small random data, which is the same each time. Inputs are floats, strings or both, one column each, and a
map where a dictionary is vectorized; outputs are labels, scores, and the maps of ZipMap where a converter is not told to leave it out.
"""

import warnings

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DictionaryType, DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (calibration, cluster, compose, cross_decomposition, decomposition, discriminant_analysis, ensemble, feature_extraction,
                     feature_selection, gaussian_process, impute, linear_model, mixture, multiclass, multioutput, naive_bayes, neighbors, neural_network,
                     pipeline, preprocessing, svm)

from compare import arguments, chosen, run_cases

warnings.filterwarnings("ignore")

ROWS, COLUMNS = 90, 5
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(0, 2, (ROWS, COLUMNS)).astype(np.float32)
GAPS = np.where(RANDOM.random(X.shape) < 0.15, np.nan, X).astype(np.float32)
COUNTS = RANDOM.integers(0, 6, X.shape).astype(np.int64)
SUMS = X @ RANDOM.normal(0, 1, COLUMNS) + 0.3 * X[:, 0] * X[:, 1]
TWO, THREE = (SUMS > 0).astype(np.int64), np.digitize(SUMS, [-2, 2])
NAMES = np.array(["low", "middle", "high"])[THREE]
COLOURS = np.array(["red", "green", "blue", "dark blue"])[RANDOM.integers(0, 4, (ROWS, 2))]
SIZES = RANDOM.choice(["S", "M", "L"], (ROWS, 1))
WORDS = "the cat sat on a mat while two dogs ran after one red ball over there".split()
TEXTS = np.array([" ".join(RANDOM.choice(WORDS, RANDOM.integers(2, 9))) for _ in range(ROWS)])
DICTIONARIES = [{WORDS[k]: float(RANDOM.integers(1, 9)) for k in RANDOM.choice(6, 3, replace=False)} for _ in range(ROWS)]
NO_ZIPMAP = {"zipmap": False}


def numeric(model, target=None, data=X, form=None, **options):
    """A model of a matrix of numbers."""
    return {"model": model, "data": data, "target": target, "types": [("X", (form or FloatTensorType)([None, data.shape[1]]))],
            "runs": [{"X": data[:40]}, {"X": data[40:41]}], "options": options}


def textual(model, target, data, **options):
    """A model of a matrix of strings."""
    runs = [{"X": data[:40].astype(object)}, {"X": data[40:41].astype(object)}]
    return {"model": model, "data": data, "target": target, "types": [("X", StringTensorType([None, data.shape[1]]))],
            "runs": runs, "options": options}


def texts(vectorizer, model, **options):
    """A pipeline of sentences."""
    data = TEXTS.reshape(-1, 1).astype(object)
    return {"model": pipeline.make_pipeline(vectorizer, model), "data": TEXTS, "target": TWO, "types": [("X", StringTensorType([None, 1]))],
            "runs": [{"X": data[:40]}, {"X": data[40:41]}], "options": options, "locale": vectorizer}


def mixed():
    """Columns of strings and of numbers, each prepared in a way of its own, as in a table of a data base."""
    import pandas

    table = pandas.DataFrame({"colour": COLOURS[:, 0], "size": SIZES[:, 0], "a": GAPS[:, 0], "b": GAPS[:, 1]})
    columns = compose.ColumnTransformer([
        ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
        ("numbers", pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ["a", "b"])])
    kinds = {"colour": StringTensorType, "size": StringTensorType, "a": FloatTensorType, "b": FloatTensorType}
    feeds = {name: table[name].to_numpy(object if kinds[name] is StringTensorType else np.float32).reshape(-1, 1) for name in table}
    unknown = {name: np.full((2, 1), "never seen" if kinds[name] is StringTensorType else 0.5, values.dtype) for name, values in feeds.items()}
    return {"model": pipeline.make_pipeline(columns, linear_model.LogisticRegression()), "data": table, "target": NAMES,
            "types": [(name, kind([None, 1])) for name, kind in kinds.items()],
            "runs": [{name: values[:40] for name, values in feeds.items()}, unknown], "options": {}}


def dictionary():
    types = [("X", DictionaryType(StringTensorType([1]), FloatTensorType([])))]
    return {"model": pipeline.make_pipeline(feature_extraction.DictVectorizer(sparse=False), linear_model.LogisticRegression()),
            "data": DICTIONARIES, "target": TWO, "types": types, "runs": [{"X": d} for d in DICTIONARIES[:4]], "options": {}}


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


PREPARED = {
    "standard_scaler": lambda: numeric(preprocessing.StandardScaler()),
    "standard_scaler_double": lambda: numeric(preprocessing.StandardScaler(), data=X.astype(np.float64), form=DoubleTensorType),
    "standard_scaler_int64": lambda: numeric(preprocessing.StandardScaler(), data=COUNTS, form=Int64TensorType),
    "minmax_scaler": lambda: numeric(preprocessing.MinMaxScaler(clip=True)),
    "maxabs_scaler": lambda: numeric(preprocessing.MaxAbsScaler()),
    "robust_scaler": lambda: numeric(preprocessing.RobustScaler()),
    "normalizer_l1": lambda: numeric(preprocessing.Normalizer("l1")),
    "normalizer_l2": lambda: numeric(preprocessing.Normalizer("l2")),
    "normalizer_max": lambda: numeric(preprocessing.Normalizer("max")),
    "binarizer": lambda: numeric(preprocessing.Binarizer(threshold=0.5)),
    "imputer_mean": lambda: numeric(impute.SimpleImputer(), data=GAPS),
    "imputer_frequent_strings": lambda: textual(impute.SimpleImputer(strategy="most_frequent", missing_values=""), None,
                                                np.where(RANDOM.random(COLOURS.shape) < 0.2, "", COLOURS).astype(object)),
    "imputer_constant": lambda: numeric(impute.SimpleImputer(strategy="constant", fill_value=-1), data=GAPS),
    "imputer_neighbours": lambda: numeric(impute.KNNImputer(n_neighbors=2), data=GAPS),
    "one_hot_strings": lambda: textual(preprocessing.OneHotEncoder(handle_unknown="ignore"), None, COLOURS),
    "one_hot_integers": lambda: numeric(preprocessing.OneHotEncoder(), data=COUNTS, form=Int64TensorType),
    "ordinal_strings": lambda: textual(preprocessing.OrdinalEncoder(), None, COLOURS),
    "ordinal_integers": lambda: numeric(preprocessing.OrdinalEncoder(), data=COUNTS, form=Int64TensorType),
    "ordinal_floats": lambda: numeric(preprocessing.OrdinalEncoder(), data=COUNTS.astype(np.float32)),
    "k_bins": lambda: numeric(preprocessing.KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")),
    "polynomial_features": lambda: numeric(preprocessing.PolynomialFeatures(3)),
    "power_transformer": lambda: numeric(preprocessing.PowerTransformer()),
    "pca": lambda: numeric(decomposition.PCA(3)),
    "truncated_svd": lambda: numeric(decomposition.TruncatedSVD(2)),
    "select_k_best": lambda: numeric(feature_selection.SelectKBest(k=2), TWO),
    "variance_threshold": lambda: numeric(feature_selection.VarianceThreshold(0.1)),
}

LINEAR = {
    "linear_regression": lambda: numeric(linear_model.LinearRegression(), SUMS),
    "linear_regression_two_targets": lambda: numeric(linear_model.LinearRegression(), np.stack([SUMS, X[:, 2]], 1)),
    "linear_regression_double": lambda: numeric(linear_model.LinearRegression(), SUMS, X.astype(np.float64), DoubleTensorType),
    "lasso": lambda: numeric(scaled(linear_model.Lasso(0.01)), SUMS),
    "poisson_regressor": lambda: numeric(linear_model.PoissonRegressor(), np.abs(SUMS)),
    "logistic_two": lambda: numeric(scaled(linear_model.LogisticRegression()), TWO),
    "logistic_two_no_zipmap": lambda: numeric(scaled(linear_model.LogisticRegression()), TWO, **NO_ZIPMAP),
    "logistic_three": lambda: numeric(linear_model.LogisticRegression(), THREE),
    "logistic_strings": lambda: numeric(scaled(linear_model.LogisticRegression()), NAMES),
    "logistic_strings_no_zipmap": lambda: numeric(linear_model.LogisticRegression(), NAMES, **NO_ZIPMAP),
    "logistic_columns": lambda: numeric(linear_model.LogisticRegression(), NAMES, zipmap="columns"),
    "logistic_raw_scores": lambda: numeric(linear_model.LogisticRegression(), THREE, raw_scores=True, **NO_ZIPMAP),
    "logistic_integers": lambda: numeric(linear_model.LogisticRegression(), THREE, COUNTS, Int64TensorType),
    "sgd_classifier": lambda: numeric(linear_model.SGDClassifier(loss="log_loss", random_state=1), THREE),
    "perceptron": lambda: numeric(linear_model.Perceptron(), NAMES, **NO_ZIPMAP),
    "ridge_classifier": lambda: numeric(linear_model.RidgeClassifier(), TWO, **NO_ZIPMAP),
    "linear_svc_two": lambda: numeric(svm.LinearSVC(), TWO),
    "linear_svc_three": lambda: numeric(svm.LinearSVC(), NAMES),
    "linear_svr": lambda: numeric(svm.LinearSVR(), SUMS),
    "lda": lambda: numeric(discriminant_analysis.LinearDiscriminantAnalysis(), NAMES),
    "qda": lambda: numeric(discriminant_analysis.QuadraticDiscriminantAnalysis(), THREE, **NO_ZIPMAP),
    "one_vs_rest": lambda: numeric(multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), NAMES),
    "multi_output": lambda: numeric(multioutput.MultiOutputClassifier(linear_model.LogisticRegression()), np.stack([TWO, THREE], 1), **NO_ZIPMAP),
    "pls_regression": lambda: numeric(cross_decomposition.PLSRegression(2), SUMS),
}

VECTORS = {
    **{f"svc_{kernel}_{name}{'_proba' if proba else ''}": (
        lambda kernel=kernel, target=target, proba=proba: numeric(svm.SVC(kernel=kernel, probability=proba, random_state=1), target, **NO_ZIPMAP))
       for kernel in ("linear", "poly", "rbf", "sigmoid") for name, target in (("two", TWO), ("names", NAMES)) for proba in (False, True)},
    "svc_zipmap": lambda: numeric(scaled(svm.SVC(probability=True, random_state=1)), NAMES),
    "nu_svc": lambda: numeric(svm.NuSVC(nu=0.2, probability=True, random_state=1), THREE, **NO_ZIPMAP),
    **{f"svr_{kernel}": lambda kernel=kernel: numeric(svm.SVR(kernel=kernel), SUMS) for kernel in ("linear", "poly", "rbf", "sigmoid")},
    "nu_svr": lambda: numeric(svm.NuSVR(), SUMS),
    "one_class_svm": lambda: numeric(svm.OneClassSVM(), None),
}

OTHERS = {
    "knn_classifier": lambda: numeric(neighbors.KNeighborsClassifier(3), NAMES),
    "knn_regressor": lambda: numeric(neighbors.KNeighborsRegressor(3, weights="distance"), SUMS),
    "gaussian_nb": lambda: numeric(naive_bayes.GaussianNB(), NAMES),
    "bernoulli_nb": lambda: numeric(naive_bayes.BernoulliNB(), TWO, **NO_ZIPMAP),
    "multinomial_nb": lambda: numeric(naive_bayes.MultinomialNB(), THREE, COUNTS, Int64TensorType),
    "mlp_classifier": lambda: numeric(scaled(neural_network.MLPClassifier((8, 6), max_iter=60, random_state=1)), NAMES),
    "mlp_regressor": lambda: numeric(neural_network.MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", max_iter=60, random_state=1), SUMS),
    "k_means": lambda: numeric(cluster.KMeans(3, n_init=1, random_state=1)),
    "gaussian_mixture": lambda: numeric(mixture.GaussianMixture(2, random_state=1)),
    # Sums of large numbers that nearly cancel each other, in float.
    "gaussian_process": lambda: numeric(gaussian_process.GaussianProcessRegressor(alpha=0.1), SUMS) | {"close": (1e-3, 2e-3)},
    "calibrated": lambda: numeric(calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2), NAMES),
    "voting": lambda: numeric(ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())], voting="soft", flatten_transform=False), NAMES),
    "stacking": lambda: numeric(ensemble.StackingClassifier([("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())]), TWO),
    "bagging": lambda: numeric(ensemble.BaggingClassifier(linear_model.LogisticRegression(), 3, random_state=1), NAMES),
}

STRINGS = {
    "table_of_columns": mixed,
    "dictionary": dictionary,
    "one_hot_logistic": lambda: textual(pipeline.make_pipeline(preprocessing.OneHotEncoder(), linear_model.LogisticRegression()), NAMES, COLOURS),
    "ordinal_knn": lambda: textual(pipeline.make_pipeline(preprocessing.OrdinalEncoder(), neighbors.KNeighborsClassifier()), TWO, COLOURS),
    "count_nb": lambda: texts(feature_extraction.text.CountVectorizer(), naive_bayes.MultinomialNB()),
    "tfidf_logistic": lambda: texts(feature_extraction.text.TfidfVectorizer(), linear_model.LogisticRegression()),
    "tfidf_bigrams": lambda: texts(feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"]), linear_model.LogisticRegression()),
    "tfidf_cased": lambda: texts(feature_extraction.text.TfidfVectorizer(lowercase=False, sublinear_tf=True), linear_model.LogisticRegression()),
}

MODELS = PREPARED | LINEAR | VECTORS | OTHERS | STRINGS


def export(entry, path):
    model = entry["model"]
    model.fit(entry["data"]) if entry["target"] is None else model.fit(entry["data"], entry["target"])
    options = {id(model): entry["options"]} if entry["options"] else {}
    if "locale" in entry:  # onnxruntime has no others where none is installed
        options[id(entry["locale"])] = {"locale": "C"}
    path.write_bytes(to_onnx(model, initial_types=entry["types"], options=options or None, target_opset={"": 18, "ai.onnx.ml": 3}).SerializeToString())


def case_of(folder, name, make):
    entry, path = make(), folder / f"sklearn_{name}.onnx"
    return {"label": name, "architecture": name, "exporter": "skl2onnx", "package": "skl2onnx", "path": path,
            "export": lambda: export(entry, path), "runs": entry["runs"]} | {key: entry[key] for key in ("close",) if key in entry}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, make) for name, make in chosen(options, MODELS).items()])


if __name__ == "__main__":
    main()
