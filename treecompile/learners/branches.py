"""The branches of a split: which conditions, and who takes missing values."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.ir import Branch, Category, Condition, Feature, Kind, Op


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible split of one feature: a test and the known cases for each branch."""

    feature: int
    gain: float
    tests: tuple[tuple[Op, Category | float | tuple[Category, ...]], ...]
    weights: tuple[float, ...]


def make_branches(feature: Feature, candidate: Candidate) -> list[Branch]:
    """The branches of a split; the heaviest takes missing and unseen values as well."""
    heaviest = candidate.weights.index(max(candidate.weights))
    categorical = feature.kind is Kind.CATEGORICAL
    branches = []
    for place, (op, value) in enumerate(candidate.tests):
        if categorical and place == heaviest:
            named = [t[1] for i, t in enumerate(candidate.tests) if i != heaviest]
            chosen = {c for part in named for c in part}  # type: ignore[union-attr]
            op, value = Op.NOT_IN, tuple(c for c in feature.categories if c in chosen)
        when = Condition(candidate.feature, op, value, missing=place == heaviest)
        branches.append(Branch(when, 0, candidate.weights[place]))
    return branches
