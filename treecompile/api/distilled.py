"""What `distil` made: a model, how often it answers as the forest, and where not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import nan
from typing import NamedTuple

import numpy as np

from treecompile.api.model import Model
from treecompile.measure.quality import accuracy
from treecompile.model import ir, words
from treecompile.model.arrays import Array
from treecompile.model.display import Display, DisplayTable, Shown, example
from treecompile.model.evidence import label_rows, right_rows, rows_of
from treecompile.model.paths import size
from treecompile.model.semantics import required_features

MOST = 5  # witnesses
COLUMNS_SHOWN = 12  # of a witness, in a line


@dataclass(frozen=True, slots=True)
class Witness:
    """A held-out row to which forest and model give different answers."""

    number: int  # the number of the row in the data, from 1
    row: Mapping[str, ir.Value]  # the columns that the forest tests
    forest: ir.Label
    model: ir.Label
    rows: int | None = None  # held-out rows with these two answers; None for numbers


class BothQualities(NamedTuple):
    """The quality of forest and model on the held-out rows with a known target."""

    forest: ir.Quality
    model: ir.Quality


class BothFigures(NamedTuple):
    """The accuracy of forest and model; for numbers, their root mean squared errors."""

    forest: float
    model: float


@dataclass(frozen=True, slots=True, repr=False)
class Distilled(Shown):
    """A model that imitates a forest, and how faithful it is on held-out rows."""

    model: Model  # the tree or the rules
    forest: ir.ForestProgram  # the forest that the model imitates
    agreement: ir.Quality  # on the held-out rows; "actual" is the forest's answer
    against_target: BothQualities | None  # None: no held-out row has a known target
    witnesses: tuple[Witness, ...]  # the most frequent, or largest, differences first

    @property
    def held_out(self) -> int:
        """The number of held-out rows."""
        return rows_of(self.agreement)

    @property
    def fidelity(self) -> float:
        """The share of held-out rows that get the forest's answer.

        For numbers: R squared against the forest's answers; NaN if these are all equal.
        """
        if isinstance(self.agreement, ir.ClassQuality):
            return accuracy(self.agreement) or 0.0
        found = self.agreement.r_squared
        return nan if found is None else found

    @property
    def rmse(self) -> float:
        """For numbers: the root mean squared error against the forest's answers."""
        if isinstance(self.agreement, ir.ValueQuality):
            return self.agreement.root_mean_squared_error
        raise AttributeError("the model predicts labels: use fidelity")

    @property
    def accuracy(self) -> BothFigures | None:
        """The accuracy, or the RMSE, of forest and model against the known target."""
        if self.against_target is None:
            return None
        return BothFigures(*map(_figure, self.against_target))

    def _display(self) -> Display:
        head = ["row", "forest", "model", "rows", "values"]
        rows = [self._cells(each) for each in self.witnesses]
        return Display(
            [*lines(self)], [DisplayTable("where they differ", head, rows, 5)]
        )

    def _cells(self, witness: Witness) -> list[str]:
        labels = self.model.program.body.labels
        answers = (witness.forest, witness.model)
        forest, model = (words.answer(each, labels) for each in answers)
        rows = "" if witness.rows is None else f"{witness.rows:,}"
        return [f"{witness.number:,}", forest, model, rows, self._values(witness)]

    def _values(self, witness: Witness) -> str:
        """The values of a row; of many, first those that the model tests."""
        body = self.model.program.body
        tested = {body.features[index].name for index in required_features(body)}
        order = sorted(witness.row, key=lambda name: name not in tested)
        shown = set(order[:COLUMNS_SHOWN])
        more = len(order) - len(shown)
        kept = {name: each for name, each in witness.row.items() if name in shown}
        return example(kept) + (f" and {more} more columns" if more else "")


def _figure(quality: ir.Quality) -> float:
    if isinstance(quality, ir.ClassQuality):
        return accuracy(quality) or 0.0
    return quality.root_mean_squared_error


# ---------------------------------------------------------------- in words


def lines(made: Distilled) -> Iterator[str]:
    """The report, without the witnesses."""
    program, forest = made.model.program, made.forest
    training = program.training
    assert training is not None
    source = f" of {training.source}" if training.source else ""
    trees = words.quantity(len(forest.body.members), "tree")
    yield (
        f"{size(program.body)}, learned from the answers of {forest.algorithm}"
        f" ({trees}) to {words.quantity(training.rows, 'row')}{source}"
    )
    yield _fidelity(program.body.labels, made.agreement)
    if made.against_target is not None:
        yield _against_target(made.against_target, program)


def _fidelity(labels: Sequence[ir.Label], agreement: ir.Quality) -> str:
    if isinstance(agreement, ir.ValueQuality):
        found = agreement.r_squared
        fit = "R squared undefined" if found is None else f"R squared {found:.4f}"
        error = words.rounded(agreement.root_mean_squared_error)
        rows = _held_out(agreement.rows)
        return f"fidelity: {fit}, RMSE {error} against the forest's answers, on {rows}"
    same, total = right_rows(agreement), rows_of(agreement)
    counts = label_rows(agreement)
    common = words.value(labels[counts.index(max(counts))])
    return (
        f"fidelity: {_percent(same / total)}, the forest's answer for {same:,} of"
        f" {_held_out(total)}; {_percent(max(counts) / total)} by always answering"
        f" {common}"
    )


def _against_target(both: BothQualities, program: ir.Program) -> str:
    forest, model = map(_figure, both)
    rows = f"on {_held_out(rows_of(both.forest))}"
    known = f"{rows} with a known {words.name(program.target)}"
    kind = "tree" if isinstance(program.body, ir.Tree) else "rules"
    if program.body.labels:
        return f"accuracy: forest {_percent(forest)}, {kind} {_percent(model)}, {known}"
    forest_said, model_said = words.rounded(forest), words.rounded(model)
    return f"RMSE: forest {forest_said}, {kind} {model_said}, {known}"


def _percent(share: float) -> str:
    """Never 100.0 if something is wrong."""
    shown = f"{100 * share:.1f}"
    return f"{'over 99.9' if shown == '100.0' and share < 1 else shown} %"


def _held_out(count: int) -> str:
    return words.quantity(count, "held-out row")


def witness_lines(made: Distilled) -> Iterator[str]:
    """The witnesses, a line each."""
    program = made.model.program
    kind = "tree" if isinstance(program.body, ir.Tree) else "rules"
    if made.witnesses:
        yield "where they differ, for example:"
    for each in made.witnesses:
        number, forest, model, _, values = made._cells(each)
        alike = (
            "" if each.rows is None else f", as for {words.quantity(each.rows, 'row')}"
        )
        yield f"  row {number}: forest {forest}, {kind} {model}{alike}: {values}"


# ---------------------------------------------------------------- which rows


def telling(labels: Sequence[ir.Label], forest: Array, model: Array) -> list[int]:
    """The places of rows that show how answers differ, at most MOST of them.

    Of labels, a row for each pair of answers, the most frequent pair first, then more
    rows of the same pairs. Of numbers, the rows with the largest differences.
    """
    places = np.flatnonzero(forest != model)
    if not labels:
        apart = np.abs(forest[places] - model[places])
        order = np.argsort(-apart, kind="stable")[:MOST]
        return [int(place) for place in places[order]]
    by_pair: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in places.tolist():
        by_pair[int(forest[place]), int(model[place])].append(place)
    ordered = sorted(by_pair, key=lambda pair: (-len(by_pair[pair]), pair))
    rounds = zip_longest(*(by_pair[pair][:MOST] for pair in ordered))
    return [place for some in rounds for place in some if place is not None][:MOST]


def pair_counts(forest: Array, model: Array) -> Counter[tuple[int, int]]:
    """How many rows have each pair of answers."""
    return Counter(zip(forest.tolist(), model.tolist(), strict=True))
