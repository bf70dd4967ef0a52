"""Holds what a document says about the past of its rules.

`api.revising` finds these facts; the document only shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treecompile.model.ir import Condition, Feature, Label, Program, Rule
from treecompile.rules.language.record import Notes


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A region of inputs in which the answer has changed."""

    tests: tuple[Condition, ...]  # empty: every row
    old: Label
    new: Label
    rows: int | None = None  # rows of the data in it; None without data


@dataclass(frozen=True, slots=True)
class Changes:
    """What was edited since a model was made."""

    since: str  # the SHA-256 of that model
    is_edited: bool = False  # whether anything in the block of rules was
    features: tuple[Feature, ...] = ()  # the features of that model's rules
    added: tuple[Rule, ...] = ()
    struck: tuple[Rule, ...] = ()
    changed: tuple[tuple[Rule, Rule], ...] = ()  # before and after
    is_reordered: bool = False
    kept: tuple[str, ...] = ()  # ids of the rules that were not edited
    regions: tuple[AnswerChange, ...] = ()
    common: tuple[Feature, ...] = ()  # the features of the regions
    is_complete: bool = True  # there are no other regions
    obstacle: str = ""  # why the answers cannot be compared
    differing: int | None = None  # rows of the data that get another answer
    rows: int = 0  # how many rows the data has


@dataclass(frozen=True, slots=True)
class History:
    """What people wrote and changed."""

    notes: Notes = field(default_factory=dict)
    former: Program | None = None  # the model before the rules were edited
    changes: Changes | None = None  # None: the rules come from no document


NO_HISTORY = History()
