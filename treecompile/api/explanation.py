"""Why a model gives a row its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treecompile.emit.svg import compact
from treecompile.model.display import Display, Shown
from treecompile.model.ir import Label, Program, RuleSet
from treecompile.pictures.options import DrawOptions
from treecompile.rules.trail import Trail, trail


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """The answer to a row, and the rule that decides it; `str` has both in words."""

    program: Program
    row: Mapping[str, Any]
    trail: Trail

    @property
    def answer(self) -> Label:
        return self.trail.answer

    @property
    def rule(self) -> str:
        """The id of the rule."""
        return self.trail.rule

    @property
    def probabilities(self) -> dict[Label, float]:
        """The probability of each label; empty for a model that predicts a number."""
        labels = self.program.body.labels
        return dict(zip(labels, self.trail.shares, strict=bool(labels)))

    def _display(self) -> Display:
        if isinstance(self.program.body, RuleSet):
            return Display([self.trail.sentence])
        picture = compact(self.program, DrawOptions(row=self.row))
        return Display([], picture=picture)  # which has the sentence

    def __repr__(self) -> str:
        return self.trail.sentence


def explanation(program: Program, row: Mapping[str, Any]) -> Explanation:
    return Explanation(program, dict(row), trail(program, row))
