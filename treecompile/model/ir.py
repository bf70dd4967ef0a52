"""The intermediate representation: what a learner makes and what a target prints.

Declarations only. `semantics` says what they mean. The learners make them well formed,
and `model.file` checks those that come from a file.

A tree is a flat tuple of nodes, the root first and every child after its parent. A
branch names its child by position. So a walk from the root is a loop forwards, a walk
from the leaves is a loop backwards, and nothing (comparing, hashing, printing, saving)
recurses with the depth of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import fsum, inf
from typing import NamedTuple

Category = str | int | bool
Label = str | int | bool | float
Value = Category | float | None
Row = tuple[Value, ...]


class Kind(StrEnum):
    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"


class ValueType(StrEnum):
    """Named after the types of Python."""

    FLOAT = "float"
    STR = "str"
    INT = "int"
    BOOL = "bool"


class Op(StrEnum):
    """Closed under negation: LE is the opposite of GT, and IN of NOT_IN."""

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
    categories. IN and NOT_IN look the value up in a tuple of categories.
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
        try:
            return fsum(self.weights)  # the same on every Python, of fractions too
        except OverflowError:
            return inf


@dataclass(frozen=True, slots=True)
class Moments:
    weight: float
    mean: float
    sse: float | None  # sum of squared differences from the mean; None: not known

    @property
    def deviation(self) -> float | None:
        """The standard deviation."""
        return None if self.sse is None else (self.sse / self.weight) ** 0.5


Stats = ClassCounts | Moments


@dataclass(frozen=True, slots=True)
class Leaf:
    value: Label
    stats: Stats  # of the cases behind the prediction
    weight: float  # training weight that reached it; if 0, `stats` are the parent's


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


@dataclass(frozen=True, slots=True)
class Tree:
    features: tuple[Feature, ...]
    labels: tuple[Label, ...]  # in label order; empty for regression
    nodes: tuple[Node, ...]


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
    default: Rule  # decides if none matches; has no conditions


Body = Tree | RuleSet


class Arithmetic(StrEnum):
    """How the sums of a forest are rounded: to 32 bits or to 64."""

    SINGLE = "single"
    DOUBLE = "double"


class Link(StrEnum):
    """How a margin becomes a probability, or the answer of a regression."""

    IDENTITY = "identity"
    NONE = "none"  # only labels follow from the margin, and no probabilities
    LOGISTIC = "logistic"  # 1 / (1 + exp(-slope * margin))
    SOFTMAX = "softmax"  # exp(margin) of each output, over their sum
    EXP = "exp"
    SIGNED_SQUARE = "signed_square"  # margin * |margin|
    SOFTPLUS = "softplus"  # log(1 + exp(margin))


@dataclass(frozen=True, slots=True)
class Member:
    """One tree of a forest, and what it adds to the sums."""

    tree: Tree  # its answer is a place in `values`
    outputs: tuple[int, ...]  # the sums that it adds to
    values: tuple[tuple[float, ...], ...]  # of each leaf, a number for each output


@dataclass(frozen=True, slots=True)
class Forest:
    """A sum of trees for each output (see `forests`).

    With labels, one output decides between two labels, and otherwise there is an output
    for each label. Without labels, there is one output.
    """

    features: tuple[Feature, ...]
    labels: tuple[Label, ...]  # empty for regression
    members: tuple[Member, ...]  # in the order in which they are added
    start: tuple[float, ...]  # of the sum of each output
    arithmetic: Arithmetic = Arithmetic.DOUBLE
    divisor: float = 1.0  # each sum is divided by it: the number of trees for a mean,
    scale: float = 1.0  # then multiplied by it,
    offset: tuple[float, ...] = ()  # and then this is added; empty: nothing is
    link: Link = Link.IDENTITY
    slope: float = 1.0  # of a logistic link
    cut: float | None = None  # of two labels, the second one if the margin is above it
    zero_is_missing: tuple[int, ...] = ()  # features in which 0 means missing


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    missing: int
    low: float | None = None  # least and greatest known number of a numeric column
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ClassQuality:
    """How well labels are predicted."""

    confusion: tuple[tuple[int, ...], ...]  # rows: actual label, columns: predicted


@dataclass(frozen=True, slots=True)
class ValueQuality:
    """How well numbers are predicted."""

    rows: int
    mean_absolute_error: float
    root_mean_squared_error: float
    r_squared: float | None  # None if the target does not vary


Quality = ClassQuality | ValueQuality


@dataclass(frozen=True, slots=True)
class Estimate:
    """The quality to expect on new rows: each was predicted without learning from it.

    With one fold, only a part of the rows was predicted, by one other model.
    """

    folds: int
    quality: Quality


@dataclass(frozen=True, slots=True)
class RuleTally:
    """How well one rule did on a set of rows with known answers.

    Errors are the number of wrong answers; for a regression, the sum of squared
    differences.
    """

    matched: int  # rows that meet its conditions, even if an earlier rule decides them
    matched_errors: float  # errors among these
    decided: int  # rows that the rule decides
    errors: float  # errors among these
    actual: Stats | None = None  # known answers of the decided rows; None if unknown


@dataclass(frozen=True, slots=True)
class Training:
    """Where a model comes from, for the rule document."""

    source: str  # the file's name without its folder, or "" for a table in memory
    rows: int
    columns: tuple[ColumnSummary, ...]  # one for each feature
    quality: Quality | None = None
    validation: Quality | None = None
    # One for each leaf in reading order, or each rule and the default; (): not known.
    rules: tuple[RuleTally, ...] = ()
    validation_rules: tuple[RuleTally, ...] = ()
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The unit of compilation: a tree or rules, and what is known about them."""

    target: str  # name of the predicted column
    algorithm: str
    body: Body
    options: tuple[tuple[str, str | int | float | bool], ...] = ()  # of learning
    na_values: tuple[str, ...] = ()  # texts that mean "missing", like the empty one
    training: Training | None = None


@dataclass(frozen=True, slots=True)
class ForestProgram:
    """A forest, and what is known about it: the fields are those of a program."""

    target: str
    algorithm: str
    body: Forest
    options: tuple[tuple[str, str | int | float | bool], ...] = ()
    na_values: tuple[str, ...] = ()
    training: Training | None = None


# What can be done with every model is typed with these two. What needs a single tree or
# rules is typed with `Body` and `Program`.
AnyBody = Body | Forest
AnyProgram = Program | ForestProgram


class NotedProgram(NamedTuple):
    """A program, and what its user should know about it."""

    program: Program
    notes: tuple[str, ...] = ()


class NotedForest(NamedTuple):
    """The same for a forest."""

    program: ForestProgram
    notes: tuple[str, ...] = ()
