"""The figures of an evaluation are those of scikit-learn."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import treecompile


def test_figures_of_labels() -> None:
    frame = pd.read_csv("examples/penguins/penguins.csv")
    model = treecompile.learn(frame, target="species", max_depth=1)
    found = model.evaluate(frame)
    actual, predicted = frame["species"], model.predict(frame)
    assert found.accuracy == metrics.accuracy_score(actual, predicted)
    labels = list(model.program.body.labels)
    expected = metrics.confusion_matrix(actual, predicted, labels=labels)
    assert (found.confusion.to_numpy() == expected).all()
    assert found.confusion.loc["Adelie", "Gentoo"] == expected[0, 2]
    with np.errstate(all="ignore"):
        figures = metrics.precision_recall_fscore_support(
            actual, predicted, labels=labels, zero_division=0
        )
    for column, values in zip(
        ("precision", "recall", "f1", "rows"), figures, strict=True
    ):
        assert found.by_label[column].to_numpy() == pytest.approx(values)
    assert found.f1 == pytest.approx(
        metrics.f1_score(actual, predicted, average="macro", zero_division=0)
    )
    with pytest.raises(AttributeError, match="use accuracy"):
        _ = found.rmse


def test_figures_of_numbers() -> None:
    frame = pd.read_csv("examples/penguins/penguins.csv").dropna()
    model = treecompile.learn(frame, target="body_mass_g", max_depth=3)
    found = model.evaluate(frame)
    actual, predicted = frame["body_mass_g"], model.predict(frame)
    assert found.rmse == pytest.approx(
        metrics.root_mean_squared_error(actual, predicted)
    )
    assert found.mae == pytest.approx(metrics.mean_absolute_error(actual, predicted))
    assert found.r2 == pytest.approx(metrics.r2_score(actual, predicted))
    with pytest.raises(AttributeError, match="use rmse"):
        _ = found.accuracy
    one = frame.iloc[:1]
    assert isnan(model.evaluate(one).r2)
