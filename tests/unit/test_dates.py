"""Dates: the numbers of a date are computed in the same way everywhere."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from math import isnan
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecompile
from tests.support.commands import good, run
from tests.support.samples import ROOT, module_of
from treecompile import DataError, Model, ModelFileError, OptionError
from treecompile.model.dates import PARTS
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.values import date_part

# Weekends, and all days of 2024, are "hi"; a missing date is "lo".
DAYS = [date(2023, 1, 1) + timedelta(days=3 * n) for n in range(200)]
LABELS = ["hi" if d.isoweekday() > 5 or d.year > 2023 else "lo" for d in DAYS]
OTHER = [n % 7 for n in range(200)]
FRAME = pd.DataFrame({"when": DAYS, "x": OTHER, "y": LABELS})


def learned(data: Any, **options: Any) -> Model:
    return treecompile.learn(data, target="y", date="when", **options)


def model() -> Model:
    return learned(FRAME)


def texts(days: list[date]) -> str:
    rows = zip(days, OTHER, LABELS, strict=True)
    return "when,x,y\n" + "".join(f"{d},{x},{y}\n" for d, x, y in rows)


# ---------------------------------------------------------------- one date


@given(st.dates(min_value=date(1, 1, 1), max_value=date(9999, 12, 31)))
def test_the_parts_of_a_date(day: date) -> None:
    days = np.datetime64(day.isoformat()) - np.datetime64("1970-01-01")
    expected = [day.year, day.month, day.weekday() + 1, days.astype(int)]
    for value in (day, str(day), f"{day} 23:59:59.9+14:00", np.datetime64(str(day))):
        assert [date_part("d", value, part) for part in PARTS] == expected


@pytest.mark.parametrize("value", [None, float("nan"), pd.NaT, pd.NA])
def test_a_missing_date(value: Any) -> None:
    assert all(isnan(date_part("d", value, part)) for part in PARTS)


@pytest.mark.parametrize(
    "value", ["", "2023-02-29", "31.12.2023", "2023-1-1", "0000-01-01", "x", 20230101]
)
def test_what_is_no_date(value: Any) -> None:
    with pytest.raises(
        (TypeError, ValueError), match="'d' is .*: expected a date such"
    ):
        date_part("d", value, "year")


# ---------------------------------------------------------------- learning


def test_the_features_of_a_date() -> None:
    program = model().program
    names = [feature.name for feature in program.body.features]
    assert names == ["x", "when_year", "when_month", "when_weekday", "when_days"]
    assert program.dates == ("when",)
    assert model().predict(FRAME).tolist() == LABELS


def test_every_kind_of_table_gives_the_same_tree(tmp_path: Path) -> None:
    body = model().program.body
    moments = pd.to_datetime(FRAME["when"])
    zone = timezone(timedelta(hours=9))
    for column in (
        moments,
        moments.dt.tz_localize(zone),
        FRAME["when"].astype(str),
        pd.Series([datetime(d.year, d.month, d.day, 23) for d in DAYS], dtype=object),
    ):
        assert learned(FRAME.assign(when=column)).program.body == body
    (tmp_path / "x.csv").write_text(texts(DAYS))
    FRAME.assign(when=moments).to_parquet(tmp_path / "x.parquet")
    lines = FRAME.astype({"when": str}).to_dict("records")
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in lines))
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [list(FRAME), *FRAME.values.tolist()]:
        sheet.append(row)
    book.save(tmp_path / "x.xlsx")
    for suffix in ("csv", "parquet", "jsonl", "xlsx"):
        path = tmp_path / f"x.{suffix}"
        found = learned(path, validation=path)
        assert found.program.body == body, suffix
        assert found.predict(path).tolist() == LABELS


def test_missing_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(texts(DAYS) + ",3,lo\n ,3,lo\nnever,3,lo\n")
    found = learned(path, na_value="never")
    assert found.predict(path).tolist() == [*LABELS, "lo", "lo", "lo"]
    training = found.program.training
    assert training is not None
    assert [column.missing for column in training.columns] == [0, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (FRAME, {"date": ()}, "'when' holds date values: add date='when'.*ignore"),
        (
            FRAME.astype({"when": str}).assign(when="soon"),
            {},
            "row 1: 'when' is 'soon': expected a date such as 2024-05-31",
        ),
        (FRAME.assign(when_year=1), {}, "makes a column 'when_year', and there is one"),
        (FRAME, {"date": "then"}, "no column 'then': did you mean 'when'"),
        (FRAME.assign(when=OTHER), {}, "row 1: 'when' is 0: expected a date"),
    ],
)
def test_what_is_refused(
    frame: pd.DataFrame, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        treecompile.learn(frame, target="y", **{"date": "when", **options})


def test_dates_need_the_option_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(texts(DAYS))
    with pytest.raises(DataError, match=r"'when' holds dates \('2023-01-01'\): add da"):
        treecompile.learn(path, target="y")
    with pytest.raises(OptionError, match="date='y': this column is the target"):
        treecompile.learn(path, target="y", date="y")


def test_all_columns_of_dates_are_in_one_message(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("from,x,to,y\n" + "2020-01-31,1,2020-02-01,no\n" * 3)
    with pytest.raises(DataError) as caught:
        treecompile.learn(path, target="y")
    assert str(caught.value) == (
        "columns 'from' and 'to' hold dates ('2020-01-31'): add date=['from',"
        " 'to'] to use their year, month, weekday and days, or leave them out with"
        " ignore"
    )
    treecompile.learn(path, target="y", date=["from", "to"])


def test_texts_that_are_dates_are_so_in_every_table() -> None:
    with pytest.raises(DataError, match=r"'when' holds dates \('2023-01-01'\)"):
        treecompile.learn(FRAME.assign(when=[*map(str, DAYS)]), target="y")
    stated = pd.Categorical([f"2023-01-0{day.isoweekday()}" for day in DAYS])
    assert treecompile.learn(FRAME.assign(when=stated), target="y").n_leaves > 1


def test_a_target_of_dates_is_not_advised_to_be_a_feature() -> None:
    with pytest.raises(DataError, match="'when' holds date values: encode it"):
        treecompile.learn(FRAME, target="when")


def test_not_in_a_database(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(OptionError, match="date needs the rows in memory"):
        treecompile.learn(tmp_path, target="y", date="when", algorithm="cart")


# ---------------------------------------------------------------- reading by a model


def test_every_verb_computes_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(texts(DAYS))
    found = model()
    assert found.evaluate(path).unknown == 0
    quality: Any = found.evaluate(path).quality
    assert quality.confusion == ((LABELS.count("hi"), 0), (0, LABELS.count("lo")))
    assert found.prune(path).program.dates == ("when",)
    rules = found.prune(training=path)
    assert rules.predict(path).tolist() == LABELS
    assert treecompile.diff(found, found.rules(), path).differing == 0


def test_the_numbers_may_be_there_instead_of_the_date() -> None:
    days = pd.to_datetime(FRAME["when"])
    numbers = pd.DataFrame(
        {"when_year": days.dt.year, "when_weekday": days.dt.day_of_week + 1}
    )
    assert model().predict(numbers).tolist() == LABELS
    wrong = FRAME.assign(when_year=0, when_weekday=0)  # the date itself decides
    assert model().predict(wrong).tolist() == LABELS
    with pytest.raises(DataError, match="no column 'when_"):
        model().predict(FRAME[["x"]])


def test_the_model_file_has_them() -> None:
    text = dumps(model().program)
    record = json.loads(text)
    assert record["dates"] == ["when"]
    schema = json.loads((ROOT / "docs" / "model.schema.json").read_text())
    jsonschema.validate(record, schema)
    assert loads(text) == model().program
    assert '"dates"' not in dumps(
        treecompile.learn(FRAME[["x", "y"]], target="y").program
    )
    for wrong, words in (
        (["when", "when"], "dates: a column is there twice"),
        ("when", "dates"),
        ([1], "dates"),
    ):
        with pytest.raises(ModelFileError, match=words):
            loads(json.dumps({**record, "dates": wrong}))
    record["features"][1] |= {"kind": "categorical", "type": "int", "categories": [1]}
    with pytest.raises(ModelFileError):
        loads(json.dumps(record))


def test_the_rule_language_has_them(tmp_path: Path) -> None:
    text = model().rules().emit("rules")
    assert "\nDATES {when}\n" in text
    path = tmp_path / "x.rules"
    path.write_text(text)
    assert treecompile.load(path).program.dates == ("when",)
    assert treecompile.load(path).predict(FRAME).tolist() == LABELS
    path.write_text(
        "TARGET y IN {a, b}\nDATES {w}\nFEATURE w_year IN {1, 2}\nOTHERWISE a\n"
    )
    with pytest.raises(
        treecompile.RulesError, match="line 2.*'w_year' of a date is NUM"
    ):
        treecompile.load(path)


# ---------------------------------------------------------------- artefacts


def test_the_functions_of_modules() -> None:
    standard = module_of(model().emit("python"))
    rows = [standard.with_dates({"when": day}) for day in DAYS]
    assert standard.predict_many(rows) == LABELS
    assert standard.predict(standard.with_dates({"when": None})) == "lo"
    assert "when_year is the calendar year of when" in str(standard.__doc__).replace(
        "\n", " "
    )
    plain = treecompile.learn(FRAME[["x", "y"]], target="y").emit("python")
    assert "DATES" not in plain
    assert "date" not in module_of(plain).__dict__


def test_artefacts_are_verified_and_say_what_they_need(tmp_path: Path) -> None:
    data = tmp_path / "x.csv"
    data.write_text(texts(DAYS))
    options = ("--target", "y", "--date", "when", "--out", tmp_path / "out")
    said = good("build", data, *options).stderr
    assert "verified predict.sql on sqlite" in said
    assert "computed from dates: when_year is the calendar year of when" in said
    document = (tmp_path / "out" / "RULES.md").read_text()
    assert "when_days is the days from 1970-01-01 to when" in document
    sql = (tmp_path / "out" / "predict.sql").read_text()
    assert "when_year" in sql
    result = run("learn", data, "--target", "y", "--ignore", "when", "--date", "when")
    assert result.exit_code == 2
    assert "--ignore 'when': --date names this column, too" in result.stderr
