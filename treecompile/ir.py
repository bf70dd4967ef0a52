"""The intermediate representation: what a learner makes and what a target prints.

Declarations only. What they mean is in `semantics`, whether they are well formed is
checked in `model_file` (for files) and guaranteed by the learners (for the rest).

A tree is a flat tuple of nodes, the root first and every child behind its parent, and
a branch names its child by position. So a walk from the root is a loop forwards, a
walk from the leaves a loop backwards, and nothing (comparing, hashing, printing,
saving) ever recurses with the depth of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import fsum

Category = str | int | bool
Label = str | int | bool | float
Value = Category | float | None
Row = tuple[Value, ...]


class Kind(StrEnum):
    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"


class ValueType(StrEnum):
    FLOAT = "float"
    STR = "str"
    INT = "int"
    BOOL = "bool"


class Op(StrEnum):
    """Closed under negation: LE and GT deny each other, and so do IN and NOT_IN."""

    LE = "<="
    GT = ">"
    IN = "in"
    NOT_IN = "not in"


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    kind: Kind
    type: ValueType
    categories: tuple[Category, ...] = ()  # in order; empty for a numeric feature


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one feature.

    LE and GT compare with a threshold: a double, or for an ordinal feature one of its
    categories. IN and NOT_IN look for membership in a tuple of categories.
    """

    feature: int  # position in the features of the tree or rule set
    op: Op
    value: Category | float | tuple[Category, ...]
    missing: bool  # its truth when the value is missing


@dataclass(frozen=True, slots=True)
class ClassCounts:
    weights: tuple[float, ...]  # training weight of each label, in label order

    @property
    def weight(self) -> float:
        return fsum(self.weights)  # of fractions, too, the same on every Python


@dataclass(frozen=True, slots=True)
class Moments:
    weight: float
    mean: float
    sse: float | None  # sum of squared differences from the mean; None if not known

    @property
    def deviation(self) -> float | None:
        """The standard deviation."""
        return None if self.sse is None else (self.sse / self.weight) ** 0.5


Stats = ClassCounts | Moments


@dataclass(frozen=True, slots=True)
class Leaf:
    value: Label
    stats: Stats  # what the prediction rests on
    weight: float  # training weight that reached it: 0 where a parent's stats stand in


@dataclass(frozen=True, slots=True)
class Branch:
    when: Condition
    then: int  # position of the child in the nodes of the tree
    weight: float  # training weight that went down it, shares of divided cases included


@dataclass(frozen=True, slots=True)
class Split:
    """Exactly one branch holds for every value, missing and unseen ones included."""

    branches: tuple[Branch, ...]
    stats: Stats
    gain: float


Node = Leaf | Split


class MissingPolicy(StrEnum):
    """What a tree does with a missing or unseen value."""

    BRANCH = "branch"  # it takes the branch whose condition says so
    FRACTIONAL = "fractional"  # it takes every branch, in proportion to their weights


@dataclass(frozen=True, slots=True)
class Tree:
    features: tuple[Feature, ...]
    labels: tuple[Label, ...]  # in label order; empty for regression
    nodes: tuple[Node, ...]
    missing: MissingPolicy = MissingPolicy.BRANCH


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    conditions: tuple[Condition, ...]  # all must hold
    value: Label
    stats: Stats
    weight: float


@dataclass(frozen=True, slots=True)
class RuleSet:
    features: tuple[Feature, ...]
    labels: tuple[Label, ...]
    rules: tuple[Rule, ...]  # the first that matches decides
    default: Rule  # decides where none does; has no conditions


Body = Tree | RuleSet


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    missing: int
    low: float | None = None  # least and greatest known number of a numeric column
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ClassQuality:
    confusion: tuple[tuple[int, ...], ...]  # rows: actual label, columns: predicted


@dataclass(frozen=True, slots=True)
class ValueQuality:
    rows: int
    mean_absolute_error: float
    root_mean_squared_error: float
    r_squared: float | None  # None where the target does not vary


Quality = ClassQuality | ValueQuality


@dataclass(frozen=True, slots=True)
class RuleTally:
    """What one rule did on a set of rows with known answers.

    Errors are the wrong answers among its rows; for a regression, the sum of squared
    differences.
    """

    matched: int  # rows that meet its conditions, whatever stands before it
    matched_errors: float
    decided: int  # rows that it answers: those that no rule before it took
    errors: float


@dataclass(frozen=True, slots=True)
class Training:
    """What the rule document says about where a model comes from."""

    source: str  # the file's name without its folder, or "" for a table in memory
    rows: int
    columns: tuple[ColumnSummary, ...]  # one for each feature
    quality: Quality | None = None
    validation: Quality | None = None
    # Of the leaves in reading order, or of the rules and the default; empty: not known.
    rules: tuple[RuleTally, ...] = ()
    validation_rules: tuple[RuleTally, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The unit of compilation: a decision, and what is known about it."""

    target: str  # name of the predicted column
    algorithm: str
    body: Body
    options: tuple[tuple[str, str | int | float | bool], ...] = ()  # as learned
    na_values: tuple[str, ...] = ()  # texts that mean "missing", beside the empty one
    training: Training | None = None
