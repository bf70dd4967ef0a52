"""What `diff` finds: the regions in which two models decide differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.model import ir, words
from treecompile.model.display import Display, DisplayTable, Shown, example


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
