"""Imported ONNX ensembles answer as onnxruntime does: sums bit for bit, labels."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import catboost
import lightgbm
import numpy as np
import onnx
import onnxmltools
import pandas as pd
import pytest
import skl2onnx
import xgboost
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn import datasets, ensemble, tree

from tests.support.forest_rows import (
    edge_table,
    frame_of,
    labels,
    margins,
    shares,
    ulps,
)
from tests.support.hostile import check_damaged
from tests.support.onnx_models import (
    LABELLED,
    MODES,
    NAMED,
    as_tensors,
    leaf_attributes,
    model_of,
    old_attributes,
    random_tree,
    run,
)
from treecompile.importers import onnx as importer
from treecompile.importers import protobuf
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

Floats = NDArray[np.float64]
DATA = Path(__file__).parent / "data"
EXTRA = [np.nan, inf, -inf, 3.4e38, -3.4e38, 1e300, 1e-46, -1e-300, 1.0, -1.0, 2.0]
MOST_ULPS = 64  # of a probability, in 32 bits: their `exp` is one of 32 bits
WINE = datasets.load_wine(return_X_y=True)
IRIS = datasets.load_iris(return_X_y=True)
DIABETES = datasets.load_diabetes(return_X_y=True)


def imported(model: ModelProto) -> ir.Forest:
    program = importer.from_object(model).program
    assert loads_any(dumps(program)) == program
    return program.body


def rows_for(forest: ir.Forest, x: Floats) -> pd.DataFrame:
    dice = np.random.default_rng(1)
    spread = np.nanstd(x, axis=0) * 2 + 1e-3
    random = np.nanmean(x, axis=0) + dice.normal(size=(150, x.shape[1])) * spread
    return edge_table(forest, frame_of(forest, np.vstack([x, random])), extra=EXTRA)


def check_numbers(model: ModelProto, x: Floats) -> ir.Forest:
    forest = imported(model)
    X = rows_for(forest, x)
    expected = run(model, X)[0][:, 0]
    assert (margins(forest, X)[:, 0] == expected).all()
    assert labels(forest, X) == expected.tolist()
    alone = run(model, X.iloc[:1])[0][0, 0]
    assert margins(forest, X.iloc[:1])[0, 0] == alone
    return forest


def check_classes(model: ModelProto, x: Floats) -> ir.Forest:
    forest = imported(model)
    X = rows_for(forest, x)
    answers, scores, *_ = run(model, X)
    if isinstance(scores, list):  # of a ZipMap
        scores = np.array([[row[label] for label in row] for row in scores])
    assert labels(forest, X) == answers.tolist()
    if forest.link is ir.Link.IDENTITY:
        assert (margins(forest, X) == scores[:, -len(forest.start) :]).all()
    else:
        found = shares(forest, X)
        # onnxruntime computes a share below one half as 1 - p: small ones lose digits.
        assert np.abs(found - scores).max() <= 2**-22
        if forest.link is ir.Link.SOFTMAX:
            assert ulps(found, scores, np.float32) <= MOST_ULPS
    return forest


def noise(features: int, rows: int = 200, seed: int = 0) -> Floats:
    dice = np.random.default_rng(seed)
    x = dice.normal(size=(rows, features)) * 2
    x[: rows // 2] = np.round(x[: rows // 2])
    x[dice.random(x.shape) < 0.15] = np.nan
    return x


# ---------------------------------------------------------------- random ensembles


def random_regressor(seed: int, double: bool = False, **how: Any) -> ModelProto:
    dice = Random(seed)
    features = dice.randrange(1, 4)
    modes = MODES if dice.random() < 0.5 else (dice.choice(MODES),)
    count = dice.choice((1, 3, 40, 150))
    depth = 3 if count > 10 else 4
    trees = [random_tree(dice, features, depth, modes) for _ in range(count)]
    attributes: dict[str, Any] = {
        **old_attributes(trees),
        **leaf_attributes(trees, "target", lambda _: {0: dice.gauss(0, 1)}),
        "n_targets": 1,
        "aggregate_function": dice.choice(("SUM", "AVERAGE")),
        **how,
    }
    if dice.random() < 0.7:
        attributes["base_values"] = [dice.gauss(0, 10)]
    if double:
        attributes = as_tensors(
            attributes, "nodes_values", "target_weights", "base_values"
        )
    return model_of("TreeEnsembleRegressor", features, attributes, double)


def check_random(seed: int) -> None:
    model = random_regressor(seed)
    features = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    check_numbers(model, noise(features, seed=seed))


@pytest.mark.parametrize("seed", range(25))
def test_random_regressors(seed: int) -> None:
    check_random(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("group", range(20))
def test_more_random_regressors(group: int) -> None:
    for seed in range(100 + group * 20, 120 + group * 20):
        check_random(seed)
        check_random_classes(seed)


def check_random_classes(seed: int) -> None:
    dice = Random(seed)
    features, classes = dice.randrange(1, 4), dice.randrange(3, 6)
    modes = MODES if dice.random() < 0.5 else (dice.choice(MODES),)
    trees = [random_tree(dice, features, 3, modes) for _ in range(classes * 4)]
    is_shared = dice.random() < 0.5
    attributes: dict[str, Any] = {
        **old_attributes(trees),
        **leaf_attributes(
            trees,
            "class",
            lambda t: {
                place: dice.gauss(0, 1)
                for place in (range(classes) if is_shared else [t % classes])
            },
        ),
        "post_transform": dice.choice(("NONE", "SOFTMAX", "LOGISTIC")),
    }
    if dice.random() < 0.5:
        attributes["base_values"] = [dice.gauss(0, 1) for _ in range(classes)]
    if dice.random() < 0.5:
        attributes["classlabels_strings"] = [f"c{i}'" for i in range(classes)]
    else:
        attributes["classlabels_int64s"] = [i * 3 - 4 for i in range(classes)]
    outputs = NAMED if "classlabels_strings" in attributes else LABELLED
    model = model_of("TreeEnsembleClassifier", features, attributes, outputs=outputs)
    check_classes(model, noise(features, seed=seed))


@pytest.mark.parametrize("seed", range(12))
def test_random_classifiers(seed: int) -> None:
    check_random_classes(seed)


def two_classes(
    place: int, weights: Any, transform: str, base: list[float], double: bool = False
) -> ModelProto:
    dice = Random(place)
    trees = [random_tree(dice, 2, 3, ("LEQ", "LT")) for _ in range(5)]
    attributes: dict[str, Any] = {
        **old_attributes(trees),
        **leaf_attributes(trees, "class", lambda _: {place: dice.choice(weights)}),
        "post_transform": transform,
        "classlabels_int64s": [10, 20],
    }
    if base:
        attributes["base_values"] = base
    if double:
        attributes = as_tensors(
            attributes, "nodes_values", "class_weights", "base_values"
        )
    return model_of("TreeEnsembleClassifier", 2, attributes, double, LABELLED)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("base", [[], [0.25], [-0.125]])
@pytest.mark.parametrize(
    "weights", [(0.0, 0.1, 0.25), (-0.1, 0.2, 0.0), (0.125, 0.0), (-0.125, 0.125)]
)
def test_two_classes(
    weights: tuple[float, ...], base: list[float], transform: str
) -> None:
    """Sums of exactly 0 and 0.5 are among them."""
    forest = check_classes(two_classes(0, weights, transform, base), noise(2))
    assert forest.cut == (0.5 if min(weights) >= 0 else 0.0)


@pytest.mark.parametrize("weights", [(0.0, 0.1, 0.25), (-0.1, 0.2, 0.0)])
def test_two_classes_of_doubles(weights: tuple[float, ...]) -> None:
    model = two_classes(0, weights, "LOGISTIC", [0.1], double=True)
    forest = check_classes(model, noise(2))
    assert forest.arithmetic is ir.Arithmetic.DOUBLE


def new_ensemble(seed: int, double: bool = True, **how: Any) -> ModelProto:
    """A random TreeEnsemble: leaves are in a list of their own."""
    dice = Random(seed)
    count, features = dice.choice((1, 7, 120)), 2
    tests: list[dict[str, Any]] = []
    leaves: list[float] = []
    roots = []
    for _ in range(count):
        nodes = random_tree(dice, features, 3, MODES)
        places = {}
        for i, node in enumerate(nodes):
            is_leaf = node["mode"] == "LEAF"
            places[i] = (len(leaves) if is_leaf else len(tests), int(is_leaf))
            if is_leaf:
                leaves.append(dice.gauss(0, 1))
            else:
                tests.append({**node, "places": places})
        roots.append(places[0][0])
    element = TensorProto.DOUBLE if double else TensorProto.FLOAT

    def tensor(values: list[Any], kind: int) -> Any:
        return helper.make_tensor("t", kind, [len(values)], values)

    ways = [(t["places"][t["then"]], t["places"][t["else"]]) for t in tests]
    codes = [MODES.index(t["mode"].removeprefix("BRANCH_")) for t in tests]
    attributes = {
        "n_targets": 1,
        "aggregate_function": dice.choice((0, 1)),
        "post_transform": 0,
        "tree_roots": roots,
        "nodes_modes": tensor(codes, TensorProto.UINT8),
        "nodes_featureids": [t["feature"] for t in tests],
        "nodes_splits": tensor([t["value"] for t in tests], element),
        "nodes_missing_value_tracks_true": [t["track"] for t in tests],
        "nodes_truenodeids": [then for (then, _), _ in ways],
        "nodes_trueleafs": [is_leaf for (_, is_leaf), _ in ways],
        "nodes_falsenodeids": [other for _, (other, _) in ways],
        "nodes_falseleafs": [is_leaf for _, (_, is_leaf) in ways],
        "leaf_targetids": [0] * len(leaves),
        "leaf_weights": tensor(leaves, element),
        **how,
    }
    return model_of(
        "TreeEnsemble", features, attributes, double, [("Y", element)], opset=5
    )


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_new_format(seed: int, double: bool) -> None:
    forest = check_numbers(new_ensemble(seed, double), noise(2, seed=seed))
    kind = ir.Arithmetic.DOUBLE if double else ir.Arithmetic.SINGLE
    assert forest.arithmetic is kind


# ---------------------------------------------------------------- converters


def of_sklearn(estimator: Any, x: Floats, **how: Any) -> ModelProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = x[:1].astype(np.float32)
        opset = {"": 17, "ai.onnx.ml": 3}
        found: ModelProto = skl2onnx.to_onnx(
            estimator, sample, target_opset=opset, **how
        )
    return found


WORDS = np.array(["a", "b'", "c"])
CLASSIFIERS: dict[str, Any] = {
    "tree": tree.DecisionTreeClassifier(random_state=0),
    "forest": ensemble.RandomForestClassifier(30, random_state=0),
    "extra": ensemble.ExtraTreesClassifier(20, random_state=0),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0),
}
REGRESSORS: dict[str, Any] = {
    "tree": tree.DecisionTreeRegressor(random_state=0, max_depth=6),
    "forest": ensemble.RandomForestRegressor(20, random_state=0, max_depth=7),
    "boosting": ensemble.GradientBoostingRegressor(n_estimators=90, random_state=0),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("kind", ["classes", "two", "texts"])
def test_classifiers_of_scikit_learn(name: str, kind: str) -> None:
    x, y = WINE
    y = {"classes": y, "two": y == 1, "texts": WORDS[y]}[kind]
    how = {"options": {"zipmap": False}} if name == "forest" else {}
    check_classes(of_sklearn(CLASSIFIERS[name].fit(x, y), x, **how), x)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_of_scikit_learn(name: str) -> None:
    x, y = DIABETES
    check_numbers(of_sklearn(REGRESSORS[name].fit(x, y), x), x)


def converted(convert: Any, model: Any, columns: int) -> ModelProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        types = [("X", FloatTensorType([None, columns]))]
        found: ModelProto = convert(model, initial_types=types, target_opset=15)
    return found


def test_models_of_lightgbm() -> None:
    x, y = WINE
    how: dict[str, Any] = {"n_estimators": 20, "verbose": -1, "n_jobs": 1}
    for made in (
        lightgbm.LGBMClassifier(**how).fit(x, (y == 1) * 1),
        lightgbm.LGBMClassifier(**how).fit(x, y),
    ):
        model = converted(onnxmltools.convert_lightgbm, made, x.shape[1])
        check_classes(model, x)
    number = lightgbm.LGBMRegressor(**how).fit(*DIABETES)
    check_numbers(converted(onnxmltools.convert_lightgbm, number, 10), DIABETES[0])


def test_models_of_xgboost() -> None:
    x, y = WINE
    how: dict[str, Any] = {"n_estimators": 20, "n_jobs": 1}
    for made in (
        xgboost.XGBClassifier(**how).fit(x, (y == 1) * 1),
        xgboost.XGBClassifier(**how).fit(x, y),
    ):
        model = converted(onnxmltools.convert_xgboost, made, x.shape[1])
        check_classes(model, x)
    number = xgboost.XGBRegressor(**how).fit(*DIABETES)
    check_numbers(converted(onnxmltools.convert_xgboost, number, 10), DIABETES[0])


def test_models_of_catboost(tmp_path: Path) -> None:
    x, y = WINE
    how: dict[str, Any] = {"iterations": 20, "verbose": 0, "thread_count": 1}
    how["allow_writing_files"] = False
    for made, check in (
        (catboost.CatBoostClassifier(**how).fit(x, (y == 1) * 1), check_classes),
        (catboost.CatBoostClassifier(**how).fit(x, y), check_classes),
        (catboost.CatBoostRegressor(**how).fit(x, y * 3.7), check_numbers),
    ):
        path = tmp_path / "model.onnx"
        made.save_model(str(path), format="onnx")
        check(onnx.load(str(path)), x)


# ---------------------------------------------------------------- graphs


def stumps(**how: Any) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"mode": "BRANCH_LEQ", "feature": 0, "value": 0.5, "then": 1, "else": 2},
        {"mode": "LEAF"},
        {"mode": "LEAF"},
    ]
    weights = iter([1.5, -2.25])
    return {
        **old_attributes([nodes]),
        **leaf_attributes([nodes], "target", lambda _: {0: next(weights)}),
        "n_targets": 1,
        **how,
    }


def test_casts_before_the_ensemble() -> None:
    """A cast to 32 bits rounds, and one to 64 bits compares what was rounded."""
    single = helper.make_node("Cast", ["X"], ["Z"], to=TensorProto.FLOAT)
    again = helper.make_node("Identity", ["Z"], ["W"])
    value = as_tensors(stumps(nodes_values=[0.1, 0.0, 0.0]), "nodes_values")
    for before, source, attributes in (
        ([single, again], "W", stumps(nodes_values=[0.1, 0.0, 0.0])),
        ([single], "Z", stumps()),
    ):
        model = model_of(
            "TreeEnsembleRegressor",
            1,
            attributes,
            double=True,
            before=before,
            source=source,
        )
        check_numbers(model, noise(1))
    double = helper.make_node("Cast", ["X"], ["Z"], to=TensorProto.DOUBLE)
    classes = {k.replace("target_", "class_"): v for k, v in value.items()}
    classes = as_tensors(classes, "class_weights")
    del classes["n_targets"]
    classes["classlabels_int64s"] = [0, 1]
    model = model_of(
        "TreeEnsembleClassifier",
        1,
        classes,
        outputs=LABELLED,
        before=[double],
        source="Z",
    )
    check_classes(model, noise(1))


def operator(kind: str, **how: Any) -> Any:
    domain = "ai.onnx.ml" if kind in ("Scaler", "Normalizer") else ""
    return helper.make_node(kind, ["X"], ["Z"], domain=domain, **how)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            model_of(
                "TreeEnsembleRegressor",
                1,
                stumps(),
                before=[operator("Scaler", offset=[1.0], scale=[2.0])],
                source="Z",
            ),
            "cannot import the operator 'Scaler'",
        ),
        (
            model_of(
                "TreeEnsembleRegressor",
                1,
                stumps(),
                after=[helper.make_node("Exp", ["Y"], ["E"])],
            ),
            "cannot import the operator 'Exp'",
        ),
        (
            model_of(
                "TreeEnsembleRegressor",
                1,
                stumps(),
                after=[helper.make_node("Cast", ["Y"], ["E"], to=TensorProto.INT64)],
            ),
            "cannot import the operator 'Cast'",
        ),
        (model_of("Scaler", 1, {}), "its operators are 'Scaler'"),
        (
            model_of(
                "TreeEnsembleRegressor",
                1,
                stumps(),
                before=[operator("Cast", to=TensorProto.INT64)],
                source="Z",
            ),
            "an input of type int64",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(), source="Q"),
            "'Q', which is not an input",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(post_transform="PROBIT")),
            "post_transform 'PROBIT'",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(aggregate_function="MAX")),
            "aggregate_function 'MAX'",
        ),
        (model_of("TreeEnsembleRegressor", 1, stumps(n_targets=2)), "2 numbers"),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(), double=True),
            "rounds its sums of 64 bits to 32",
        ),
        (
            model_of(
                "TreeEnsembleRegressor",
                1,
                stumps(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]),
            ),
            "mode 'BRANCH_MEMBER'",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_truenodeids=[0, 0, 0])),
            "two parents",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_truenodeids=[7, 0, 0])),
            "tree 0 has no node with the id 7",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_featureids=[3, 0, 0])),
            "a test of the feature 3",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_nodeids=[0, 1, 1])),
            "two nodes with the id 1",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_treeids=[0, 1, 0])),
            "are not together",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_modes=["LEAF"])),
            "different lengths",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(target_ids=[0])),
            "different lengths",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_values=[np.nan, 0, 0])),
            "a threshold is not a number",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(nodes_values=[-inf, 0, 0])),
            "a test against -inf",
        ),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(target_weights=[1e38, 0.0])),
            "does not fit into 32 bits",
        ),
        (two_classes(0, (0.5, 1.0), "PROBIT", []), "post_transform 'PROBIT'"),
        (two_classes(1, (0.5, 1.0), "NONE", []), "a score of the second one"),
        (two_classes(0, (0.5, 1.0), "NONE", [0.5, 0.5]), "2 base_values"),
        (
            model_of("TreeEnsembleRegressor", 1, stumps(post_transform="LOGISTIC")),
            "onnxruntime leaves out",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused(model: ModelProto, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        importer.from_object(model)


def test_classes_without_a_score_are_refused() -> None:
    dice = Random(0)
    trees = [random_tree(dice, 1, 2, ("LEQ",)) for _ in range(2)]
    for weights, count, message in (
        (lambda t: {t: -1.0}, 3, "no tree adds to the class 2"),
        (lambda _: {0: 0.25, 1: 0.75}, 2, "a score for each"),
        (lambda _: {4: 0.25}, 3, "places of classes"),
        (lambda _: {0: 0.25}, 1, "1 classes"),
    ):
        attributes = {
            **old_attributes(trees),
            **leaf_attributes(trees, "class", weights),
            "classlabels_int64s": list(range(count)),
        }
        model = model_of("TreeEnsembleClassifier", 1, attributes, outputs=LABELLED)
        with pytest.raises(ModelFileError, match=message):
            importer.from_object(model)


def test_tests_of_equality_may_not_grow_without_end() -> None:
    """Each one doubles what follows, if it is of another feature."""
    count = 40
    nodes: list[dict[str, Any]] = []
    for i in range(count):
        ways = {"then": count, "else": i + 1 if i + 1 < count else count + 1}
        nodes.append({"mode": "BRANCH_EQ", "feature": i, "value": 1.0, **ways})
    nodes += [{"mode": "LEAF"}] * 2
    copies = [{"mode": "LEAF"} for _ in range(count - 1)]  # one for each `then`
    for i in range(1, count):
        nodes[i]["then"] = count + 1 + i
    nodes += copies
    attributes = {
        **old_attributes([nodes]),
        **leaf_attributes([nodes], "target", lambda _: {0: 1.0}),
        "n_targets": 1,
    }
    model = model_of("TreeEnsembleRegressor", count, attributes)
    with pytest.raises(ModelFileError, match="more than"):
        importer.from_object(model)


def test_names_can_be_given() -> None:
    model = model_of("TreeEnsembleRegressor", 1, stumps())
    noted = importer.from_object(model, "price", ["size"])
    assert noted.notes == ()
    assert "threads" in importer.from_object(random_regressor(4)).notes[0]
    assert noted.program.target == "price"
    assert noted.program.body.features[0].name == "size"
    for names, message in ((["a", "b"], "2 names for 1"), ([], "0 names for 1")):
        with pytest.raises(DataError, match=message):
            importer.from_object(model, feature_names=names)
    with pytest.raises(DataError, match="expected an onnx.ModelProto"):
        importer.from_object(3)


# ---------------------------------------------------------------- files

STORED = DATA / "forest.onnx"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no graph"),
        (b"\x08", "a number does not end"),
        (b"\x08" + b"\xff" * 20, "a number does not end"),
        (b"\x00\x00", "the number 0"),
        (b"\x3a\xff\xff\xff\xff\x0f", "bytes, and 0 are left"),
        (b"\x0b", "unknown form 3"),
        (b"\x38\x05", "field 7 has the form 0"),
        (b"\x3a\x02\x0a\x00", "its operators are"),
    ],
)
def test_damaged_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        importer.read(data)


def test_a_file_of_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf, "MOST_PARTS", 100)
    with pytest.raises(ModelFileError, match="more than 100 values"):
        importer.read(STORED.read_bytes())


def test_files_with_random_damage() -> None:
    good, bad = check_damaged(importer.read, STORED.read_bytes(), 400)
    assert good
    assert bad


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_files_with_more_random_damage(seed: int) -> None:
    check_damaged(importer.read, STORED.read_bytes(), 2_000, seed + 1)
    check_damaged(importer.read, new_ensemble(seed).SerializeToString(), 300, seed)


def test_a_stored_model_is_read_without_onnx() -> None:
    known = json.loads((DATA / "forest-onnx.json").read_text(encoding="utf-8"))
    script = (
        "import json, sys\n"
        "sys.modules['onnx'] = sys.modules['onnxruntime'] = None\n"
        "from treecompile.importers import onnx\n"
        "from treecompile.model import forests\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "assert onnx.is_model(data[:4096])\n"
        "forest = onnx.read(data).program.body\n"
        "rows = json.load(sys.stdin)\n"
        "made = [forests.margins(forest, tuple(row)) for row in rows]\n"
        "print(json.dumps([[*m, forests.answer(forest, m)] for m in made]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(STORED)],
        input=json.dumps(known["rows"]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == known["answers"]


def test_other_files_are_no_onnx_files() -> None:
    assert not importer.is_model(b"")
    assert not importer.is_model(b"{\n")
    assert not importer.is_model((DATA / "catboost.json").read_bytes())
    assert importer.is_model(new_ensemble(0).SerializeToString())
