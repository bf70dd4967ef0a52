"""`verify` must reject broken artefacts of a tree that divides missing values.

A mutant that passes must mean the same as the original. That is judged without
`verify`: the mutant runs over every combination of values, and its answers are
compared with sums that are written out here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from math import inf, nextafter
from typing import Any

import pytest

from tests.support.databases import DATABASES
from tests.support.fractional import GRID, model, shares
from tests.support.kept import many_mutants
from tests.support.samples import module_of
from treecompile.emit.compiler import emit
from treecompile.emit.literals import DOUBLES
from treecompile.emit.options import EmitOptions
from treecompile.engines.base import Engine
from treecompile.model.ir import (
    Split,
    Tree,
)
from treecompile.verify.execution import run_sql
from treecompile.verify.verification import verify


def body() -> Tree:
    given = model().body
    assert isinstance(given, Tree)
    return given


def weights() -> list[float]:
    splits = [node for node in body().nodes if isinstance(node, Split)]
    return [branch.weight for split in splits for branch in split.branches]


def means_the_same(text: str, kind: str, engine: Engine | None) -> bool:
    tree = body()
    expected = [shares(tree, row, 0, float) for row in GRID]
    names = [feature.name for feature in tree.features]
    if kind == "python":
        module = module_of(text)
        rows = [dict(zip(names, row, strict=True)) for row in GRID]
        found = [list(module.predict_proba(row).values()) for row in rows]
        return found == expected
    assert engine
    answers = run_sql(text, tree.features, GRID, engine)
    return bool(answers == [some[1] for some in expected])


def artefact(kind: str) -> str:
    if kind == "python":
        return emit(model(), "python").text
    options = EmitOptions(dialect=kind, output="probability", label="b")
    return emit(model(), "sql", options).text


def changed(text: str, pattern: str, change: Any) -> Iterator[str]:
    """The text with each match changed by itself."""
    for match in re.finditer(pattern, text):
        yield text[: match.start()] + change(match) + text[match.end() :]


def mutants(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """What is done to the text, and the text then."""
    start = {
        "python": "\nNODES",
        **dict.fromkeys(STAGED, "WITH"),
    }
    table = text.index(start.get(kind, "THEN\n"))
    head, tail = text[:table], text[table:]
    if kind == "python":
        write: Any = repr
    else:
        write = DOUBLES[DATABASES[kind]().dialect.literals.double]
    done: list[tuple[str, str, Any]] = []
    for weight in weights():
        near = write(nextafter(weight, inf))
        written = rf"(?<![\d.]){re.escape(write(weight))}(?![\d.e])"
        done.append(("one ulp", written, lambda m, near=near: near))
    if kind == "python":
        done += [
            ("exchanged", r"\((\d), (\d)(, \d)?\)", r"(\2, \1\3)"),
            ("exchanged", r"\((\d\.\d), (\d\.\d)(, \d\.\d)?\)", r"(\2, \1\3)"),
            ("place", r"(20\.5), 1,", r"\1, 0,"),
            ("category", r'"dark": 2', '"dark": 1'),
            ("unseen", r"^( *)\"sky\": \(as_text, .*$", r'\1"sky": (as_text, ALL),'),
        ]
    elif kind in STAGED:
        done += [
            ("total", r"THEN (\S+) ELSE 1\.0", r"THEN 2 * \1 ELSE 1.0"),
            ("branch", r"x0 = 2 THEN", "x0 = 1 THEN"),
            ("branch", r"x1 > ", "x1 >= "),
            ("branch", r"x2 (NOT )?IN \(", r"x2 IN (1, "),
            ("read", r"THEN 2 END AS x0", "THEN 2 ELSE 1 END AS x0"),
            ("read", r"'grey' THEN 1", "'grey' THEN 2"),
            ("dropped", r"\n +\+ CASE .*\* \S+(?=\n)", ""),
        ]
    else:
        done += [
            ("total", r"(\) / CASE .*?ELSE )(\S+)", r"\1 2 * \2"),
            ("order", r"/ (CASE .*? END) \* (CASE .*? END)", r"* \2 / \1"),
            ("branch", r"THEN 1\.0e0 WHEN", "THEN 2.0e0 WHEN"),
            ("branch", r"THEN 0\.0e0 ELSE", "THEN 1.0e0 ELSE"),
            ("branch", r" > 20", " >= 20"),
            ("read", r"'grey', ", ""),
            ("dropped", r"\n +\+ \d\S* \* CASE .*(?=\n)", ""),
        ]
    for what, pattern, new in done:
        change = new if callable(new) else lambda m, new=new: m.expand(new)
        for broken in changed(tail, f"(?m){pattern}", change):
            if broken != tail:
                yield what, head + broken
    if kind == "python":
        for old, new in (
            ("total += weight", "total += 1.0"),
            ("weight * share", "share * (weight / sum(NODES[node][4]))"),
            ("sky not in SKY_1 or ", ""),
            ("or wind not in", "and wind not in"),
            ("if value is None:", "if value is None and column != 2:"),
            ("sorted(found, reverse=True)", "sorted(found)"),
        ):
            assert old in text, old
            yield "code", text.replace(old, new)


STAGED = ("sqlite", "duckdb", "postgres")
INLINE = ("mariadb", "clickhouse", "spark", "datafusion")
LEAST = {"python": 15, **dict.fromkeys((*STAGED, *INLINE), 10)}
QUICK = (
    "python",
    "sqlite",
    "datafusion",
)  # the others are run by `pytest -m large`


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.large)
        for kind in LEAST
    ],
)
def test_every_mutant_is_caught(kind: str) -> None:
    program, text = model(), artefact(kind)
    database = DATABASES[kind]() if kind in DATABASES else None
    check = partial(verify, program, url=database.url if database else "")
    whole = check(text)
    assert whole.passed
    assert whole.complete
    caught = 0
    kinds = set()
    with many_mutants(text, database) as kept:
        assert check(text).passed
        assert means_the_same(text, kind, kept)
        for what, broken in mutants(text, kind):
            if check(broken).passed:
                assert means_the_same(broken, kind, kept), what
            else:
                caught += 1
                kinds.add(what)
        assert check(text).passed  # so it was the mutants that failed
    assert caught >= LEAST[kind], caught
    assert "one ulp" in kinds


def test_a_sample_catches_a_weight_that_is_off() -> None:
    """Where not all combinations are tried, rows with several unknown values are."""
    text = artefact("python")
    broken = [b for what, b in mutants(text, "python") if what in ("one ulp", "code")]
    caught = 0
    with many_mutants(text, None):
        for mutant in broken:
            report = verify(model(), mutant, budget=60)
            assert not report.complete
            caught += not report.passed
    assert caught >= len(broken) * 3 // 4
