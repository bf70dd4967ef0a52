"""`verify` must reject an artefact that is broken in any way.

A mutant that passes must mean the same as the model. That is judged without
`verify`: the mutant runs over a grid of values (over many rows from all cells, if
the model is too large for a grid), with the numbers and texts in columns of every
type.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from functools import partial
from math import ceil, floor, inf, isfinite, nan, nextafter
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.databases import DATABASES, SLOW
from tests.support.kept import many_mutants
from tests.support.mutants import (
    Mutant,
    python_mutants,
    sql_mutants,
)
from tests.support.samples import CODE, FLAG, GRADE, NUMBER, TENNIS, TEXT, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.engines.base import Engine
from treecompile.model.ir import (
    Body,
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    Row,
    Rule,
    RuleSet,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    conditions,
    decider,
    holds,
    negate,
    probabilities,
    required_features,
)
from treecompile.rules.extract import extract
from treecompile.verify.execution import can_hold, run_sql
from treecompile.verify.processes import RefusedError
from treecompile.verify.verification import same, verify

# ---------------------------------------------------------------- models

X, Y, Z = (Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "xyz")
BIG_CODE = Feature(
    "code", Kind.CATEGORICAL, ValueType.INT, (3, 2**53 + 1, 2**60 + 3, 2**63 - 1)
)
Draft = Label | tuple[Any, ...]  # an answer, or (test, draft, test, draft, ...)


def built(
    features: tuple[Feature, ...], labels: tuple[Label, ...], draft: Draft
) -> Program:
    """A tree from nested tuples; its leaves count their answer 3, 4, ... times."""
    nodes: list[Node | None] = [None]
    waiting = [(0, draft)]
    while waiting:
        position, what = waiting.pop(0)
        if not isinstance(what, tuple):
            weight = 3.0 + sum(isinstance(node, Leaf) for node in nodes)
            counts = tuple(weight if label == what else 1.0 for label in labels)
            stats = ClassCounts(counts) if labels else Moments(weight, float(what), 0.0)
            nodes[position] = Leaf(what, stats, weight)
            continue
        branches = []
        for test, below in zip(what[::2], what[1::2], strict=True):
            branches.append(Branch(test, len(nodes), 1.0))
            waiting.append((len(nodes), below))
            nodes.append(None)
        stats = ClassCounts((1.0,) * len(labels)) if labels else Moments(1.0, 0.0, 0.0)
        nodes[position] = Split(tuple(branches), stats, 0.5)
    whole = tuple(node for node in nodes if node is not None)
    return Program("answer", "by hand", Tree(features, labels, whole))


def asked(
    feature: int, op: Op, value: Any, missing: bool, yes: Draft, no: Draft
) -> Draft:
    test = Condition(feature, op, value, missing)
    return (test, yes, negate(test), no)


def tennis() -> Program:
    return treecompile.learn(TENNIS, target="play").program


def numeric() -> Program:
    low = asked(1, Op.LE, 2.5, True, "mid", asked(2, Op.GT, -7.25, True, "low", "high"))
    high = asked(
        2, Op.LE, 1e-3, False, "high", asked(1, Op.LE, 9.0, False, "low", "mid")
    )
    return built(
        (X, Y, Z), ("low", "mid", "high"), asked(0, Op.LE, 0.1, False, low, high)
    )


def mixed() -> Program:
    many = (
        *(Condition(1, Op.IN, ("a",), False), "one"),
        *(Condition(1, Op.IN, ("b", "z"), False),),
        asked(
            4,
            Op.LE,
            "low",
            False,
            "two",
            asked(2, Op.IN, (1, 9), False, "one", "three"),
        ),
        *(Condition(1, Op.NOT_IN, ("a", "b", "z"), True),),
        asked(
            3, Op.IN, (True,), True, "three", asked(4, Op.GT, "mid", True, "one", "two")
        ),
    )
    top = asked(0, Op.LE, 2.5, True, many, asked(2, Op.IN, (2,), True, "two", "three"))
    return built((NUMBER, TEXT, CODE, FLAG, GRADE), ("one", "two", "three"), top)


def regression() -> Program:
    low = asked(1, Op.LE, 0.3, False, 0.1, asked(0, Op.LE, -1.0, True, 0.25, 1 / 3))
    top = asked(0, Op.LE, 7.7, True, low, asked(2, Op.IN, ("a", "b"), False, 2.5, 1e22))
    return built((X, Y, TEXT), (), top)


def large() -> Program:
    low = asked(
        1,
        Op.GT,
        -(2.0**54),
        False,
        "b",
        asked(2, Op.IN, (3, 2**53 + 1), True, "a", "c"),
    )
    high = asked(
        0, Op.LE, 2.0**60, False, "c", asked(2, Op.IN, (2**60 + 3,), False, "b", "a")
    )
    return built(
        (X, Y, BIG_CODE), ("a", "b", "c"), asked(0, Op.LE, 2.0**53, True, low, high)
    )


def rules() -> Program:
    def rule(name: str, value: str, *tests: Condition) -> Rule:
        counts = tuple(5.0 if label == value else 1.0 for label in ("n", "p", "q"))
        return Rule(name, tests, value, ClassCounts(counts), 7.0)

    some = (
        rule(
            "R1",
            "p",
            Condition(0, Op.GT, 2.5, False),
            Condition(1, Op.IN, ("a",), True),
        ),
        rule(
            "R2",
            "q",
            Condition(0, Op.LE, 9.5, True),
            Condition(1, Op.NOT_IN, ("z",), False),
        ),
        rule(
            "R3",
            "p",
            Condition(1, Op.IN, ("a", "z"), False),
            Condition(2, Op.LE, 0.7, False),
        ),
        rule(
            "R4", "n", Condition(2, Op.LE, 4.0, True), Condition(0, Op.GT, -3.5, True)
        ),
        rule("R5", "q", Condition(2, Op.GT, 6.0, False)),
    )
    body = RuleSet((NUMBER, TEXT, Y), ("n", "p", "q"), some, rule("default", "p"))
    return Program("answer", "by hand", body)


def learned() -> Program:
    """About two hundred leaves over nine features, far too many cells for a grid."""
    dice = random.Random(4)
    rows = []
    for _ in range(1500):
        numbers = [round(dice.uniform(0, 100), 2) for _ in range(6)]
        town, size = dice.choice("abcdef"), dice.choice(("S", "M", "L"))
        known = [n if dice.random() > 0.03 else None for n in numbers]
        signal = (numbers[0] > 40) ^ (numbers[1] + numbers[2] > 90) ^ (town in "ace")
        answer = ("no", "yes", "maybe")[signal + (dice.random() < 0.2)]
        rows.append([*known, town, size, dice.randrange(5), answer])
    names = [*(f"n{i}" for i in range(6)), "town", "size", "code", "y"]
    frame = pd.DataFrame(rows, columns=names)
    model = treecompile.learn(
        frame,
        target="y",
        algorithm="cart",
        prune="none",
        categorical=["code"],
        min_leaf=4,
    )
    assert 150 < model.n_leaves < 300, model.n_leaves
    return model.program


MODELS: dict[str, Callable[[], Program]] = {
    f.__name__: f for f in (tennis, numeric, mixed, regression, large, rules, learned)
}
# Where a budget is given, it is too small for a grid, and the cells are walked.
BUDGETS = {"mixed": 1_500, "rules": 1_500, "learned": 4_000}
FEW = 2  # mutants of each kind of change, where there are thousands, or time for few

# ---------------------------------------------------------------- judging


def points(feature: Feature, position: int, body: Body, numbers: str) -> list[Value]:
    """The values of a feature on which everything of its kind can differ."""
    if feature.kind is not Kind.NUMERIC:
        values: list[Value] = [*feature.categories, None]
        if feature.type is ValueType.STR:
            texts = list(map(str, feature.categories))
            values += ["added", f"{texts[0]} ", *map(str.swapcase, texts)]
        if feature.type is ValueType.INT:
            for code in map(int, feature.categories):
                values += [n for n in (code - 1, code + 1) if n < 2**63]
            values += [9007199254740995]
        return list(dict.fromkeys(values))
    tests = (c for c in conditions(body) if c.feature == position)
    cuts = sorted({t.value for t in tests if isinstance(t.value, float)} | {13.5})
    cuts = list(filter(isfinite, cuts))
    near: list[Any] = [n for cut in cuts for n in around(cut, numbers)]
    return [*dict.fromkeys(near), *((-inf, inf, nan) if not numbers else ()), None]


def around(cut: float, numbers: str) -> list[Any]:
    match numbers:
        case "whole":
            step = max(1, int(nextafter(cut, inf) - cut))
            return [
                floor(cut),
                ceil(cut),
                *(int(cut) + n for n in (-1, 1, 2, step // 2)),
            ]
        case "decimal":
            with localcontext(prec=60):
                exact = round(Decimal(cut), 10)
                return [exact + Decimal(n).scaleb(-10) for n in (-1, 0, 1)]
        case "single":
            return [
                float(pd.Series([n], dtype="float32")[0]) for n in (cut, cut * 1.001)
            ]
    return [nextafter(cut, -inf), cut, nextafter(cut, inf)]


MOST = 4_000


def rows_of(body: Body, numbers: str = "") -> list[Row]:
    """A grid of points; where it is too large, rows in and beside every cell."""
    values = [points(f, p, body, numbers) for p, f in enumerate(body.features)]
    size = 1
    for some in values:
        size *= len(some)
    if size <= 60_000:
        return list(itertools.product(*values))
    dice = random.Random(0)
    cells = extract(body).rules if isinstance(body, Tree) else body.rules
    found: list[Row] = []
    while len(found) < MOST:
        for cell in cells:
            fits = [fitting(cell, values[p], p, f) for p, f in enumerate(body.features)]
            for _ in range(MOST // len(cells) // 2 + 1):
                row = [dice.choice(some) for some in fits]
                found.append(tuple(row))
                place = dice.randrange(len(row))
                row[place] = dice.choice(values[place])
                found.append(tuple(row))
    return found


def fitting(
    cell: Rule, values: list[Value], position: int, feature: Feature
) -> list[Value]:
    """The values that a rule lets through; all, if it lets none."""
    tests = [test for test in cell.conditions if test.feature == position]
    return [v for v in values if all(holds(t, feature, v) for t in tests)] or values


class Judge:
    """Says whether a mutant means the same as its model, without `verify`."""

    def __init__(self, program: Program, kind: str, engine: Engine | None) -> None:
        self.program, self.kind, self.engine = program, kind, engine
        self.decided = outcomes(program.body)
        self.known: dict[str, tuple[list[Row], list[Rule]]] = {}

    def sample(self, numbers: str) -> tuple[list[Row], list[Rule]]:
        if numbers not in self.known:
            body = self.program.body
            rows = rows_of(body, numbers)
            self.known[numbers] = rows, [self.decided[decider(body, r)] for r in rows]
        return self.known[numbers]

    def same_meaning(self, text: str) -> bool:
        checks = self.python(text) if self.kind == "python" else self.sql(text)
        return all(checks)

    def python(self, text: str) -> Iterator[bool]:
        module = module_of(text)
        body = self.program.body
        names = [feature.name for feature in body.features]
        read = [names[place] for place in required_features(body)]
        for numbers in ("", "whole"):
            rows, expected = self.sample(numbers)
            mappings = [dict(zip(names, row, strict=True)) for row in rows]
            for mapping, rule in zip(mappings, expected, strict=True):
                yield same(rule.value, module.predict(mapping))
                values = [mapping[name] for name in read]
                value, deciding = module.decide(*values)
                yield same(rule.value, value)
                yield deciding == rule.id
                yield module.explain(mapping).startswith(f"{rule.id}:")
                if isinstance(rule.stats, ClassCounts):
                    shares = tuple(module.predict_proba(mapping).values())
                    yield shares == probabilities(rule.stats)

    def sql(self, text: str) -> Iterator[bool]:
        assert self.engine
        dialect = self.engine.dialect
        types = dialect.number_types
        runs = [("", "", ""), *(("", "", loose) for loose in dialect.text_types.loose)]
        for numbers in ("whole", "decimal", "single"):
            runs.append((numbers, getattr(types, numbers), ""))
        for numbers, number_type, text_type in runs:
            if numbers and not number_type:
                continue
            pairs = zip(*self.sample(numbers), strict=True)
            held = [(row, rule) for row, rule in pairs if can_hold(dialect, row)]
            rows, expected = [row for row, _ in held], [rule for _, rule in held]
            features = self.program.body.features
            found = run_sql(
                text, features, rows, self.engine, None, number_type, text_type
            )
            for rule, answer in zip(expected, found, strict=True):
                yield same(rule.value, answer)


# ---------------------------------------------------------------- running


def artefact(program: Program, kind: str) -> tuple[str, list[Mutant]]:
    if kind == "python":
        text = emit(program, "python").text
        return text, python_mutants(program, text)
    text = emit(program, "sql", EmitOptions(dialect=kind)).text
    return text, sql_mutants(program, text, DATABASES[kind]().dialect)


def some_of_each(mutants: list[Mutant]) -> list[Mutant]:
    dice = random.Random(1)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in dice.sample(mutants, len(mutants)):
        kinds.setdefault(mutant.what, []).append(mutant)
    return [m for kind in kinds.values() for m in kind[:FEW]]


# How many mutants are caught at least, so that none of this can become idle.
LEAST: dict[str, dict[str, int]] = {
    "tennis": {"python": 80, "sqlite": 57, "duckdb": 57, "postgres": 53},
    "numeric": {"python": 104, "sqlite": 69, "duckdb": 70, "postgres": 72},
    "mixed": {
        **{"python": 177},
        **{"sqlite": 124, "duckdb": 125, "postgres": 123},
    },
    "regression": {**{"python": 74, "sqlite": 63, "duckdb": 68, "postgres": 70}},
    "large": {"python": 107, "sqlite": 68, "duckdb": 71, "postgres": 71},
    "rules": {"python": 132, "sqlite": 90, "duckdb": 94, "postgres": 99},
    "learned": {"python": 19, "sqlite": 16, "duckdb": 16, "postgres": 18},
}
# The same for the databases that are not named above.
LEAST_ELSEWHERE = {
    **{"tennis": 50, "numeric": 60, "mixed": 100, "regression": 55, "large": 60},
    **{"rules": 75, "learned": 12},
}
LEAST_SLOW = 10
# Changes after which the module never means the same: a value of a wrong type is not
# refused, or values take each other's places.
NEVER_IDLE = {
    *("check removed", "check turned"),
    *("names exchanged", "parameters exchanged", "values exchanged"),
}
# The others take minutes and are run by `pytest -m large`.
QUICK = {
    **{"python": ("tennis",), "sqlite": ("tennis", "numeric", "rules")},
    "duckdb": ("tennis",),
}
QUICK_ELSEWHERE = ("numeric",)
SLOW_MODEL = "mixed"  # the one for slow databases: it has every type
KINDS = (
    *("python", "sqlite", "duckdb", "postgres"),
    *("mariadb", "clickhouse", "datafusion", "spark"),
)


def cases() -> Iterator[Any]:
    for kind, model in itertools.product(KINDS, MODELS):
        if kind in SLOW:
            if model == SLOW_MODEL:
                yield pytest.param(model, kind, marks=pytest.mark.large)
        elif model in QUICK.get(kind, QUICK_ELSEWHERE):
            yield model, kind
        else:
            yield pytest.param(model, kind, marks=pytest.mark.large)


@pytest.mark.parametrize(("model", "kind"), [*cases()])
def test_every_mutant_is_caught(model: str, kind: str) -> None:
    program = MODELS[model]()
    database = DATABASES[kind]() if kind in DATABASES else None
    budget = BUDGETS.get(model, 100_000)
    text, mutants = artefact(program, kind)
    check = partial(
        verify, program, url=database.url if database else "", budget=budget
    )
    whole = check(text)
    assert whole.passed, whole
    assert whole.complete == (model not in BUDGETS)
    assert (whole.entered, whole.covered) == (
        whole.cells,
        whole.edges,
    ) or whole.complete
    if model == "learned" or kind in SLOW:
        mutants = some_of_each(mutants)
    caught, idle = Counter[str](), Counter[str]()
    with many_mutants(text, database) as kept:
        assert check(text).passed
        judge = Judge(program, kind, kept)
        for mutant in mutants:
            if not check(mutant.text).passed:
                caught[mutant.what] += 1
                continue
            try:
                is_idle = judge.same_meaning(mutant.text)
            except (RefusedError, TypeError, KeyError, IndexError):
                is_idle = False
            assert is_idle, difference(text, mutant)
            idle[mutant.what] += 1
        assert check(text).passed  # so it was the mutants that failed
    assert not idle.keys() & NEVER_IDLE
    least = LEAST[model].get(kind, LEAST_ELSEWHERE[model])
    assert caught.total() >= (LEAST_SLOW if kind in SLOW else least), (caught, idle)


def difference(text: str, mutant: Mutant) -> str:
    before, after = text.splitlines(), mutant.text.splitlines()
    first = next(n for n, line in enumerate(after) if line != before[n])
    return f"{mutant.what}: {before[first]!r} became {after[first]!r}"
