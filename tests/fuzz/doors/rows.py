"""Rows, legal and illegal, given to generated Python modules.

A value comes with what the law makes of it, so that the answer is known without the
functions that convert values: a value of the model, or a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.models import a_program
from tests.fuzz.mutate import TEXTS
from tests.fuzz.oracle import FindingError, Outcome, place_of, require
from tests.support.random_models import random_double, random_value
from tests.support.samples import module_of
from treecompile.emit.compiler import emit
from treecompile.model.file.read import read_program
from treecompile.model.file.write import dumps
from treecompile.model.ir import Body, Feature, Program, Value, ValueType
from treecompile.model.semantics import predict, required_features
from treecompile.verify.verification import same

NAMESPACE = {
    **{"Decimal": Decimal, "Fraction": Fraction, "inf": inf, "nan": nan},
    **{"np": np, "pd": pd, "object": object},
}
MISSING = ("None", "nan", "pd.NA", "pd.NaT", "np.float64('nan')", "Decimal('nan')")
ILLEGAL = ("object()", "[]", "{}", "b'x'", "(1,)", "1j", "np.datetime64('2026-01-01')")
ILLEGAL_FOR = {
    ValueType.FLOAT: ("'1'", "''", "'nan'", "np.timedelta64(1)", "np.str_('1')"),
    ValueType.STR: ("1", "1.5", "True", "np.int64(1)", "Decimal(1)", "inf"),
    ValueType.INT: ("'1'", "1.5", "True", "inf", "-inf", "Decimal('0.1')", "np.True_"),
    ValueType.BOOL: ("'true'", "2", "0.5", "-1", "inf", "Decimal(2)"),
}
Pair = tuple[str, Any]  # an expression, and the value of the model or REFUSED
REFUSED = object()


# ---------------------------------------------------------------- values


def a_pair(random: Random, feature: Feature, value: Value) -> Pair:
    """A spelling of a value of the model, or another value, and what it means."""
    draw = random.random()
    if draw < 0.07:
        return random.choice((*ILLEGAL, *ILLEGAL_FOR[feature.type])), REFUSED
    if draw < 0.12 or value is None or value != value:
        return random.choice(MISSING), None
    if feature.type is ValueType.FLOAT:
        return _number(random, float(value))
    if feature.type is ValueType.INT:
        assert isinstance(value, int)
        return _integer(random, value)
    if feature.type is ValueType.BOOL:
        number = int(bool(value))
        spelled = (f"{bool(value)}", f"{number}", f"np.bool_({number})", f"{number}.0")
        return random.choice(spelled), bool(value)
    text = str(value) if random.random() < 0.8 else random.choice(TEXTS)
    return random.choice((f"{text!r}", f"np.str_({text!r})")), text


def _number(random: Random, value: float) -> Pair:
    match random.randrange(9):
        case 0:
            return f"np.float64({value!r})", value
        case 1:
            return f"Decimal('{value!r}')", value
        case 2:
            single = float(np.float32(value)) if abs(value) < 3e38 else value
            return (
                f"np.float32({single!r})" if abs(value) < 3e38 else f"{value!r}"
            ), single
        case 3 if abs(value) < inf:
            return f"{int(value)}", float(int(value))
        case 4:
            return random.choice((("10**400", inf), ("-10**400", -inf)))
        case 5 if abs(value) < inf:
            fraction = Fraction(value)
            return f"Fraction({fraction.numerator}, {fraction.denominator})", value
        case 6:
            return random.choice((("True", 1.0), ("np.int8(-3)", -3.0), ("-0.0", 0.0)))
        case 7:
            other = random_double(random)
            return repr(other), other
    return repr(value), value


def _integer(random: Random, value: int) -> Pair:
    spelled = [f"{value}", f"Decimal({value})", f"Fraction({value})"]
    if abs(value) < 2**53:
        spelled += [f"{value}.0", f"np.float64({value})"]
    if -(2**63) <= value < 2**63:
        spelled.append(f"np.int64({value})")
    return random.choice(spelled), value


# ---------------------------------------------------------------- cases


def make_case(random: Random) -> Case:
    """A model, and rows as expressions: a dict of pairs, or of fewer columns."""
    program = a_program(random)
    rows = tuple(a_row(random, program.body) for _ in range(30))
    files = {"model.json": dumps(program).encode()}
    return Case("rows", files=files, rows=rows)


def a_row(random: Random, body: Body) -> str:
    """`[({name: value, ...}, (expected, ...))]` as text; `...` for a refused value."""
    given, meant = [], []
    for position, feature in enumerate(body.features):
        text, value = a_pair(random, feature, random_value(random, position, body))
        if random.random() < 0.01:
            meant.append("'absent'")
            continue
        given.append(f"{feature.name!r}: {text}")
        meant.append("..." if value is REFUSED else repr(value))
    if random.random() < 0.2:
        given.append("'a column more': object()")
    return f"({{{', '.join(given)}}}, [{', '.join(meant)}])"


# ---------------------------------------------------------------- the check


def check_rows(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    program = read_program(folder / "model.json")
    text = emit(program, "python").text
    module = module_of(text)
    several = []
    for written in case.rows:
        row, meant = eval(written, dict(NAMESPACE))
        if check_row(module, program, row, meant):
            several.append((row, predict(program.body, tuple(meant))))
    if several:
        rows = [row for row, _ in several]
        found = module.predict_many(rows)
        right = all(same(w, f) for (_, w), f in zip(several, found, strict=True))
        require(right, "predict_many is wrong", found)


def check_row(
    module: Any, program: Program, row: dict[str, Any], meant: list[Any]
) -> bool:
    """Judge one row; whether it was legal."""
    body = program.body
    required = required_features(body)
    absent = [
        body.features[p].name
        for p in required
        if meant[p] == "absent" and body.features[p].name not in row
    ]
    refused = [body.features[p].name for p in required if meant[p] is ...]
    calls = calls_of(module, row)
    if absent or refused:
        for name, call in calls.items():
            _must_refuse(name, call, [*absent, *refused], row)
        return False
    known = tuple(None if place not in required else v for place, v in enumerate(meant))
    wanted = predict(body, known)
    for name, call in calls.items():
        try:
            found = call()
        except Exception as error:
            kind = f"{name} raises {place_of(error)}"
            raise FindingError(kind, f"{row!r}: {error!r}") from None
        if name == "predict":
            require(same(wanted, found), f"{name} is wrong", (row, wanted, found))
    return all(value is not ... and value != "absent" for value in meant)


def calls_of(module: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """What to call, by name; each gives the answer to the row."""
    if not row:  # columns without a name are no rows
        return {}
    calls = {
        "predict": lambda: module.predict(row),
        "explain": lambda: module.explain(row),
    }
    if hasattr(module, "predict_proba"):
        calls["predict_proba"] = lambda: module.predict_proba(row)
    return calls


def _must_refuse(name: str, call: Any, wrong: list[str], row: dict[str, Any]) -> None:
    """One of the features that are absent or have an illegal value must be named."""
    shown = f"{wrong} {row}"[:1500]
    try:
        found = call()
    except (TypeError, KeyError, ValueError) as error:
        names = [each for each in wrong if repr(each) in str(error)]
        kind = f"{name} names no column: {place_of(error)}"
        require(names, kind, f"{error!r}"[:900] + shown)
    except Exception as error:
        kind = f"{name} raises {place_of(error)}"
        raise FindingError(kind, f"{error!r} {shown}") from None
    else:
        raise FindingError(f"{name} takes an illegal row", f"{found} {shown}")


DOORS = (Door("rows", make_case, check_rows, usual=60),)
