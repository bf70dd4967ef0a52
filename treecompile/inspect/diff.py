"""Where two models decide differently: regions, a row for each, and rows of data.

Both models are walked at once over boxes of inputs. A box that one of them has not
decided yet is divided by its next question. Where both have decided and their answers
differ, the box is a difference. Adjacent boxes with the same answers are united.

First the models are brought over the features that one of them reads, matched by name.
A category that one model does not know is an unseen value to it, which its conditions
already handle. Where the two orders of an ordinal feature differ, its tests become sets
of categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treecompile.model import ir, words
from treecompile.model.batch import matching, predictions
from treecompile.model.display import Display, DisplayTable, Shown, example
from treecompile.model.errors import OptionError
from treecompile.model.paths import upwards
from treecompile.model.semantics import predict, required_features
from treecompile.regions.boxes import RULES, STEPS, Boxes, SearchBudget
from treecompile.regions.compact import MOST_REGIONS, is_searchable, over
from treecompile.regions.region import Interval, Region
from treecompile.regions.space import Box, Space
from treecompile.tables.dataset import encode
from treecompile.tables.raw import RawTable

UNDECIDED = object()
Answers = tuple[ir.Label, ir.Label]  # of the old model and of the new one
Bodies = tuple[ir.Body, ir.Body]  # over the same features


@dataclass(frozen=True, slots=True)
class Difference:
    """A region in which the two models give different answers."""

    tests: tuple[ir.Condition, ...]  # conditions on the features; empty: every row
    old: ir.Label
    new: ir.Label
    row: dict[str, ir.Value]  # an example, with every value that a model reads
    rows: int | None = None  # the number of rows of the data in the region

    def cells(self, features: Sequence[ir.Feature]) -> list[str]:
        where = " and ".join(words.conjunction(self.tests, features))
        answers = (words.value(self.old), words.value(self.new))
        rows = "" if self.rows is None else f"{self.rows:,}"
        return [*answers, where or "everywhere", example(self.row), rows]


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Shown):
    """Where two models decide differently."""

    features: tuple[ir.Feature, ...]
    regions: tuple[Difference, ...]
    complete: bool  # the search was finished: there are no other differences
    rows: int | None = None  # the number of rows of the data
    differing: int | None = None  # how many of them get different answers

    @property
    def same(self) -> bool:
        return self.complete and not self.regions

    def _display(self) -> Display:
        line = "no difference found within the budget: undecided"
        if self.regions:
            least = "" if self.complete else "at least "
            count = words.quantity(len(self.regions), "region")
            line = f"the models decide differently in {least}{count}"
        elif self.complete:
            line = "the models decide the same everywhere"
        lines = [line]
        if self.rows is not None:
            rows = words.quantity(self.rows, "row")
            lines.append(f"{self.differing} of {rows} get another answer")
        head = ["old", "new", "where", "example", "rows"]
        found = [region.cells(self.features) for region in self.regions]
        return Display(lines, [DisplayTable("regions", head, found, 4)])


def diff(
    old: ir.Program,
    new: ir.Program,
    table: RawTable | None = None,
    budget: int = STEPS,
    na_values: tuple[str, ...] = (),
) -> Diff:
    """Where two programs answer differently; with a table, for how many of its rows."""
    features, columns = _common(old, new)
    bodies = over(old.body, features), over(new.body, features)
    space, found = Space(features), dict[Box, Answers]()
    is_complete = old.body == new.body
    if not is_complete:
        found, is_complete = _search(bodies, space, SearchBudget(budget))
    regions = []
    for box, values in _merged(found):
        row = space.row(box, columns)
        named = {f.name: value for f, value in zip(features, row, strict=True)}
        for program, value in zip((old, new), values, strict=True):
            whole = tuple(named.get(f.name) for f in program.body.features)
            if predict(program.body, whole) != value:
                raise AssertionError(f"a bug: {named} was to give {value}")
        regions.append(Difference(space.conditions(box), *values, named))
    result = Diff(features, tuple(regions), is_complete)
    if table is None:
        return result
    return _counted(result, bodies, table, (*old.na_values, *new.na_values, *na_values))


def _counted(
    result: Diff, bodies: Bodies, table: RawTable, na_values: tuple[str, ...]
) -> Diff:
    """The differences with the rows of a table in each, those with most rows first."""
    features = result.features
    columns = encode(features, table, range(len(features)), na_values)
    old, new = (predictions(body, columns, table.rows) for body in bodies)
    differing = np.flatnonzero(old != new)
    regions = []
    for region in result.regions:
        inside = matching(region.tests, features, columns, differing)
        regions.append(replace(region, rows=len(inside)))
    regions.sort(key=lambda region: -(region.rows or 0))
    return replace(
        result, regions=tuple(regions), rows=table.rows, differing=len(differing)
    )


# ---------------------------------------------------------------- common features


def _common(
    old: ir.Program, new: ir.Program
) -> tuple[tuple[ir.Feature, ...], list[ir.ColumnSummary]]:
    """The features that a condition of either model reads, and what is known of each.

    Of a column that both were learned from, the figures of the new model count.
    """
    if old.target != new.target:
        raise OptionError(
            f"the models predict different columns, {old.target!r} and {new.target!r}:"
            " compare models of one target"
        )
    kinds = [_answers(program.body) for program in (old, new)]
    if kinds[0] != kinds[1]:
        raise OptionError(
            f"the models predict {old.target!r} as {kinds[0]} and as {kinds[1]}:"
            " compare models of the same kind"
        )
    found: dict[str, ir.Feature] = {}
    columns: dict[str, ir.ColumnSummary] = {}
    read = set()
    for program in (old, new):
        for index, feature in enumerate(program.body.features):
            found[feature.name] = _joined(found.get(feature.name, feature), feature)
            if program.training is not None:
                columns[feature.name] = program.training.columns[index]
        for index in required_features(program.body):
            read.add(program.body.features[index].name)
    kept = [name for name in found if name in read]
    known = [columns.get(name, ir.ColumnSummary(0)) for name in kept]
    return tuple(found[name] for name in kept), known


def _answers(body: ir.Body) -> str:
    labels = body.labels
    return f"labels of type {type(labels[0]).__name__}" if labels else "numbers"


def _joined(old: ir.Feature, new: ir.Feature) -> ir.Feature:
    if old.type is not new.type:
        raise OptionError(
            f"the feature {old.name!r} is {old.type.value} in one model and"
            f" {new.type.value} in the other: learn both from columns of one type"
        )
    if (old.kind, old.categories) == (new.kind, new.categories):
        return old
    categories = tuple(dict.fromkeys((*old.categories, *new.categories)))
    return ir.Feature(old.name, ir.Kind.CATEGORICAL, old.type, categories)


# ---------------------------------------------------------------- the search


def _search(
    bodies: Bodies, space: Space, budget: SearchBudget
) -> tuple[dict[Box, Answers], bool]:
    """Disjoint boxes with different answers, and whether these are all."""
    if not all(isinstance(body, ir.Tree) or is_searchable(body) for body in bodies):
        return {}, False
    one, other = (
        TreeWalk(body, space) if isinstance(body, ir.Tree) else RuleWalk(body, space)
        for body in bodies
    )
    found: dict[Box, Answers] = {}
    waiting = [(space.everything, one.start, other.start)]
    while waiting:
        box, state, rival = waiting.pop()
        mine, yours = one.answer(state), other.answer(rival)
        if mine is not UNDECIDED and yours is not UNDECIDED:
            if mine != yours:
                found[box] = mine, yours  # type: ignore[assignment]
            continue
        steps = 1 + one.steps(state) + other.steps(rival)
        if len(found) * len(box) > MOST_REGIONS or not budget.spend(steps):
            return found, False
        index, regions = (
            one.question(state) if mine is UNDECIDED else other.question(rival)
        )
        for region in reversed(regions):
            inner = space.narrow(box, index, region)
            if inner is not None:
                after = one.onwards(state, inner, index)
                waiting.append((inner, after, other.onwards(rival, inner, index)))
    return found, True


def _merged(found: dict[Box, Answers]) -> list[tuple[Box, Answers]]:
    """Unite boxes that differ in one feature only, until there are none."""
    current, size = list(found.items()), -1
    while size != len(current):
        size = len(current)
        for index in range(len(current[0][0]) if current else 0):
            groups: dict[tuple[Answers, Box, Box], list[Region]] = {}
            for box, values in current:
                key = values, box[:index], box[index + 1 :]
                groups.setdefault(key, []).append(box[index])
            current = [
                ((*before, region, *behind), values)
                for (values, before, behind), several in groups.items()
                for region in _united(several)
            ]
    return current


def _united(regions: list[Region]) -> list[Region]:
    """The fewest regions that hold the same values; intervals in order."""
    result: list[Region] = []
    for region in sorted(regions, key=_ends):
        both = result[-1].unite(region) if result else None
        if both is None:
            result.append(region)
        else:
            result[-1] = both
    return result


def _ends(region: Region) -> tuple[float, ...]:
    """Sorts intervals; sets of categories can be united in any order."""
    if isinstance(region, Interval):
        return region.low, region.high, region.missing
    return ()


# ---------------------------------------------------------------- walks

State = Any  # how far a model has decided the rows of a box


class TreeWalk:
    """Follows the rows of a box through a tree. The state is a position in it."""

    def __init__(self, tree: ir.Tree, space: Space) -> None:
        self.tree, self.space, self.start = tree, space, 0
        # The answer of every leaf below a node, where there is only one.
        self.answers: list[object] = [UNDECIDED] * len(tree.nodes)
        for position, node in upwards(tree):
            if isinstance(node, ir.Leaf):
                self.answers[position] = node.value
            else:
                below = {self.answers[branch.then] for branch in node.branches}
                if len(below) == 1:
                    self.answers[position] = below.pop()

    def onwards(self, state: State, box: Box, index: int) -> State:
        """Down to the first split that has rows of the box in several branches."""
        node = self.tree.nodes[state]
        while isinstance(node, ir.Split):
            region = box[node.branches[0].when.feature]
            met = [
                branch.then
                for branch in node.branches
                if region.overlaps(self.space.where(branch.when))
            ]
            if len(met) > 1:
                break
            (state,) = met
            node = self.tree.nodes[state]
        return state

    def steps(self, state: State) -> int:
        """How many steps of the budget a question takes, besides one."""
        return 0

    def answer(self, state: State) -> object:
        return self.answers[state]

    def question(self, state: State) -> tuple[int, list[Region]]:
        node = self.tree.nodes[state]
        assert isinstance(node, ir.Split)
        tests = [branch.when for branch in node.branches]
        return tests[0].feature, [self.space.where(test) for test in tests]


class RuleWalk:
    """Follows the rows of a box through a list. The state is a Subproblem."""

    def __init__(self, rules: ir.RuleSet, space: Space) -> None:
        self.boxes = Boxes(space, [rule.conditions for rule in rules.rules])
        self.start = self.boxes.start()
        values = [rule.value for rule in (*rules.rules, rules.default)]
        codes: dict[ir.Label, int] = {}
        self.codes = np.array([codes.setdefault(v, len(codes)) for v in values])
        self.values = list(codes)

    def onwards(self, state: State, box: Box, index: int) -> State:
        if index not in self.boxes.columns:
            return state
        return self.boxes.narrow(state, index, box[index])

    def steps(self, state: State) -> int:
        return self.boxes.work(state) // RULES

    def answer(self, state: State) -> object:
        found = np.unique(self.codes[state.rules])
        return self.values[found[0]] if len(found) == 1 else UNDECIDED

    def question(self, state: State) -> tuple[int, list[Region]]:
        yes, no, split = self.boxes.best(state)
        return split.index, [yes.box[split.index], no.box[split.index]]
