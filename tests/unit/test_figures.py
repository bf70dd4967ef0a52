"""One set of figures: every place that shows the cases of a rule shows the same ones.

The judge counts whole rows with `semantics`, one by one: a row belongs to the rule that
decides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from random import Random
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.samples import ROOT
from treecompile.api.model import Model
from treecompile.inspect.show import show
from treecompile.model import ir
from treecompile.model.evidence import by_id, of_nodes, total
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider, predict

FORMS: dict[str, dict[str, Any]] = {
    "c45": {"algorithm": "c45"},
    "id3": {"algorithm": "id3", "max_depth": 3},
    "cart": {"algorithm": "cart", "max_depth": 4},
    "weights": {"algorithm": "c45", "weights": "w"},
    "c45rules": {"algorithm": "c45", "rules": "c45rules"},
    "simplified": {"algorithm": "c45", "rules": "simplified"},
}
ID = r"(R\d+|default)"


@dataclass
class Counted:
    """What one rule decides, counted by the judge."""

    rows: list[Any]  # the known answers
    right: int = 0


def frame(random: Random, rows: int = 120) -> pd.DataFrame:
    """A table with missing values everywhere, noise, and weights."""

    def some(value: Any) -> Any:
        return None if random.random() < 0.15 else value

    made = []
    for _ in range(rows):
        x, colour = random.randrange(20) / 2, random.choice(("red", "blue", "it's"))
        size = random.randrange(4)
        y = "yes" if (x > 5) == (colour == "red") or size == 3 else "no"
        y = random.choice(("no", "yes", "maybe")) if random.random() < 0.15 else y
        known = {"x": some(x), "colour": some(colour), "size": some(float(size))}
        made.append({**known, "w": random.choice((0.5, 1.0, 3.0)), "y": y})
    return pd.DataFrame(made)


def learned(table: pd.DataFrame | str, target: str, **options: Any) -> Model:
    how = options.pop("rules", "")
    model = treecompile.learn(table, target=target, **options)
    if how == "simplified":
        return model.rules()
    return model.rules().prune(training=table) if how else model


def rows_of(program: ir.Program, table: pd.DataFrame) -> Iterator[tuple[ir.Row, Any]]:
    features = program.body.features
    kinds: dict[str, Any] = {"float": float, "int": int, "bool": bool, "str": str}
    for record in table.to_dict("records"):
        known = record[program.target]
        if known is None or known != known:
            continue
        values: list[ir.Value] = []
        for feature in features:
            value = record[feature.name]
            is_missing = value is None or value != value
            values.append(None if is_missing else kinds[feature.type](value))
        yield tuple(values), known


def judged(program: ir.Program, table: pd.DataFrame) -> dict[str, Counted]:
    body = program.body
    rules = outcomes(body)
    found = {rule.id: Counted([]) for rule in rules.values()}
    for row, known in rows_of(program, table):
        place = rules[decider(body, row)].id
        found[place].rows.append(known)
        found[place].right += bool(body.labels and predict(body, row) == known)
    return found


# ---------------------------------------------------------------- where they are shown


def in_document(text: str) -> Iterator[tuple[str, str]]:
    """From the table of evidence: "4 of 5 cases", or "5 cases, sd 0.3"."""
    table = text.partition("\n## Evidence\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| (?:R\d|otherwise ).*", table, re.MULTILINE):
        rule, rows, right, more, *_ = line.removeprefix("| ").split(" | ")
        name, rows = rule.split()[0], rows.split()[0]
        said = f"{rows} case{'s' * (rows != '1')}"
        if "%" in right:
            said = f"{right.split()[0]} of {said}"
        elif right:
            said += f", sd {float(more.removesuffix(' |')):.3g}"
        yield name.replace("otherwise", "default"), said if rows != "0" else "no case"


def in_code(text: str) -> Iterator[tuple[str, str]]:
    """From the comments of SQL or Python, and from what `explain` says."""
    for comment in re.findall(r"/\* (.*?) \*/", text):
        # It may name several rules with the same answer.
        named = re.sub(r", and \d+ other rules?$", "", comment)
        parts = re.split(rf"(?:^|, ){ID}: ", named)
        yield from zip(parts[1::2], parts[2::2], strict=True)
    yield from re.findall(rf"return \"{ID}\" if rule else .*?  # (.*)", text)
    for rule, said in re.findall(rf"\"{ID}: .*\[(.*?)\]\",", text):
        yield rule, in_words(said)


def in_words(counts: str) -> str:
    """The counts of the rule language, "3 of 4: 1 no", as "3 of 4 cases"."""
    if "case" in counts:
        return counts
    right = counts.partition(":")[0]
    return f"{right} case{'s' * (right.split()[-1] != '1')}"


def in_terminal(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if of_leaf := re.search(rf"\({ID}: (.*?)\)", line):
            yield of_leaf[1], of_leaf[2]
        elif found := re.match(rf"{ID}: .*\[(.*?)\]$", line):
            yield found[1], in_words(found[2])


def in_drawing(text: str) -> Iterator[tuple[str, str]]:
    titles = re.findall(r"<title>(.*?)</title>", text)
    for title in titles:
        if found := re.search(rf", {ID}: (.*)$", title):
            yield found[1], found[2]


def on_page(text: str) -> Iterator[tuple[str, str]]:
    yield from re.findall(rf'data-id="{ID}"(?:.|\n)*?class="cases">(.*?)<', text)


def shown(model: Model) -> dict[str, list[tuple[str, str]]]:
    program = model.program
    is_tree = isinstance(program.body, ir.Tree)
    return {
        "document": list(in_document(model.emit("markdown"))),
        "python": list(in_code(model.emit("python"))),
        "sql": list(in_code(model.emit("sql", dialect="duckdb"))),
        "query": list(in_code(model.emit("sql", form="select", table="t"))),
        "javascript": list(in_code(model.emit("javascript"))),
        "terminal": list(in_terminal(show(program))),
        "page": list(on_page(model.emit("html"))),
        **({"drawing": list(in_drawing(model.draw()))} if is_tree else {}),
    }


def check(model: Model, table: pd.DataFrame) -> None:
    program = model.program
    labels = program.body.labels
    counted, evidence = judged(program, table), by_id(program)
    said = {}
    for rule in outcomes(program.body).values():
        own, judge = evidence[rule.id], counted[rule.id]
        assert own.counted
        assert own.rows == len(judge.rows)
        if labels:
            assert own.right == judge.right
            assert own.answers == tuple(map(judge.rows.count, labels))
        elif judge.rows:
            series = pd.Series(judge.rows, dtype=float)
            assert own.mean == pytest.approx(series.mean())
            assert own.deviation == pytest.approx(series.std(ddof=0), abs=1e-9)
        said[rule.id] = expected(judge, own.deviation, labels)
    for where, found in shown(model).items():
        assert found, where
        for name, text in found:
            if name in said:
                assert text == said[name], (where, name)
            else:  # of a tree, the default decides nothing
                assert (name, text) == ("default", "no case"), where
    everything = total(program)
    assert everything.rows == sum(len(each.rows) for each in counted.values())
    if isinstance(program.body, ir.Tree):
        assert of_nodes(program, program.body)[0] == everything
    assert by_id(loads(dumps(program))) == evidence


def expected(judge: Counted, deviation: float | None, labels: Any) -> str:
    rows = len(judge.rows)
    plural = "" if rows == 1 else "s"
    if not rows:
        return "no case"
    if labels:
        return f"{judge.right} of {rows} case{plural}"
    return f"{rows} case{plural}, sd {deviation:.3g}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_all_places_show_the_rows_that_a_rule_decides(seed: int, form: str) -> None:
    table = frame(Random(seed))
    options = dict(FORMS[form])
    if options.get("weights") is None:
        table = table.drop(columns="w")
    if form == "id3":  # takes no numbers
        table = table[["colour", "y"]]
    model = learned(table, "y", **options)
    training = model.program.training
    assert training is not None
    if form == "simplified" and not training.rules:  # rules were joined
        assert not any(each.counted for each in by_id(model.program).values())
    else:
        check(model, table)


def test_numbers_have_the_mean_of_the_rows_that_a_rule_decides() -> None:
    table = frame(Random(7)).drop(columns=["w", "y"])
    table["target"] = table["x"].fillna(3.0) * 1.5 + table["size"].fillna(0.0)
    check(treecompile.learn(table, target="target", min_leaf=5), table)


@pytest.mark.parametrize("algorithm", ["c45", "cart"])
def test_real_tables(algorithm: str) -> None:
    table = pd.read_csv(ROOT / "examples/penguins/penguins.csv")
    model = treecompile.learn(table, target="species", algorithm=algorithm, min_leaf=5)
    assert not any(isnan(each.rows) for each in by_id(model.program).values())
    check(model, table)
