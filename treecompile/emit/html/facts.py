"""Holds facts about a model, in words, for the review page.

`emit` itself does not check or compare models: the caller of the compiler does, and
passes in the facts that are to be shown.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A finding of `check`."""

    text: str  # R1 (yes) and R2 (no)
    row: str = ""  # a row that shows it, as JSON: {"heat": 20.5}


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The findings of one kind."""

    title: str  # Conflicts: both rules match the row, with different answers
    findings: tuple[FoundFact, ...]
    more: int = 0  # how many are not listed


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What `check` found."""

    summary: tuple[str, ...]  # ("Every row is decided by exactly one rule.",)
    groups: tuple[FactGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A region in which the last version answers differently."""

    old: str  # no
    new: str  # yes
    where: str  # heat > 20
    row: str  # an example, as JSON


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """The difference to the last version."""

    summary: tuple[str, ...]  # ("Compared with old.json: 2 regions differ.",)
    regions: tuple[ChangedFact, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    check: CheckFacts
    changes: ChangeFacts | None = None  # None: nothing to compare with


NOT_CHECKED = ReviewFacts(CheckFacts(("The rules were not checked.",)))
