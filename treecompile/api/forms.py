"""How good a model will be on new rows, and whether another form of it is shorter.

A form is a way of learning: an algorithm, and for C4.5 whether the tree becomes rules.
Forms are compared on the same folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from treecompile.learning.checks import check_algorithm
from treecompile.learning.cross_validation import (
    estimate,
    estimate_folds,
    tree_learner,
)
from treecompile.learning.options import C45, CART, NONE, LearnOptions, is_given
from treecompile.learning.training import Learned, grow_tree
from treecompile.measure.cases import Cases
from treecompile.measure.quality import accuracy, measured
from treecompile.model.arrays import Positions
from treecompile.model.errors import OptionError
from treecompile.model.ir import Body, ClassQuality, Estimate, Program, Training, Tree
from treecompile.model.paths import leaf_count, size
from treecompile.rules.extract import extract
from treecompile.rules.options import ReferOptions
from treecompile.rules.pruning import C45RULES, pruned_rules
from treecompile.rules.referral import refer
from treecompile.tables.dataset import Dataset

MOST_WORK = 120_000  # rows x features x labels: comparing forms takes a second
MOST_PRUNING = 100_000  # leaves x rows: c4.5rules takes a second for ten folds
ANSWERS_ALL = ReferOptions()  # refers no row
SHORTER = 0.8  # of the tests: a form with more is not worth a line


@dataclass(frozen=True, slots=True)
class Form:
    options: LearnOptions
    algorithm: str
    rules: str = ""  # "" for a tree, or C45RULES
    flag: str = ""  # what a user adds to get it
    refer: ReferOptions = ANSWERS_ALL

    def learn(self, data: Dataset) -> Body:
        tree = tree_learner(self.algorithm, self.options)(data)
        return self.referred(self.pruned(tree, data), data)

    def referred(self, body: Body, data: Dataset) -> Body:
        """The body that refers what the form refers, by the rows that it learned."""
        if not self.refer.refer:
            return body
        known = Training("", len(data.y), data.summaries())
        program = Program(data.target, self.algorithm, body, training=known)
        cases = Cases(data.columns, data.y)
        counted = measured(program, cases, None)
        return refer(
            counted, self.refer, lambda p: measured(p, cases, None)
        ).program.body

    def pruned(self, tree: Tree, data: Dataset) -> Body:
        if self.rules != C45RULES:
            return tree
        cf = (("cf", self.options.cf),)
        program = Program(data.target, self.algorithm, tree, cf, ())
        return pruned_rules(program, C45RULES, Cases(data.columns, data.y)).body

    def takes_long(self, tree: Tree, data: Dataset) -> bool:
        """Whether pruning the rules of such a tree takes more than seconds."""
        is_large = leaf_count(tree) * len(data.y) > MOST_PRUNING
        return self.rules == C45RULES and is_large

    def measured(self, data: Dataset, folds: Positions) -> tuple[Body, Estimate | None]:
        """The body from all rows, and its estimate; None if that takes long."""
        tree, choice = grow_tree(
            data, self.algorithm, self.options, lambda rows: lambda settled: None
        )
        if choice is not None:
            return tree, choice.estimate
        if self.takes_long(tree, data):
            return tree, None
        return self.pruned(tree, data), estimate(data, folds, self.learn)


def estimated(
    program: Program,
    learned: Learned,
    options: LearnOptions,
    rules: str = "",
    refer: ReferOptions = ANSWERS_ALL,
) -> Program:
    """The program with the quality to expect on new rows, if that takes seconds.

    Rows that were held out, and have not pruned the model, tell it already.
    """
    training, data, grown = program.training, learned.data, learned.program.body
    if training is None or data is None or training.estimate is not None:
        return program
    if training.validation is not None:
        return program
    form = Form(options, program.algorithm, rules, refer=refer)
    folds = estimate_folds(data, options.seed)
    assert isinstance(grown, Tree)
    if folds is None or form.takes_long(grown, data):
        return program
    # The learner does not know the label of rows that are referred.
    found = estimate(
        replace(data, labels=program.body.labels),
        folds,
        lambda part: form.learn(replace(part, labels=grown.labels)),
    )
    return replace(program, training=replace(training, estimate=found))


# --- other forms ----------------------------------------------------------------------


def shorter_form(
    program: Program, learned: Learned, options: LearnOptions
) -> Iterator[str]:
    """A line about the shortest form that is at least as accurate, if there is one."""
    training, data = program.training, learned.data
    if training is None or data is None or training.estimate is None:
        return
    work = len(data.y) * len(data.features) * len(data.labels)
    folds = estimate_folds(data, options.seed)
    if not data.labels or work > MOST_WORK or folds is None:
        return
    own, tests = _accuracy(training.estimate), tests_in(program.body)
    found: list[tuple[int, str]] = []
    for form in _others(program.algorithm, options):
        body, other = form.measured(data, folds)
        fewer = tests_in(body)
        if other is None or not 0 < fewer <= SHORTER * tests:
            continue
        if _accuracy(other) >= own:
            share, before = (f"{100 * x:.1f} %" for x in (_accuracy(other), own))
            is_same = share == before
            shares = f"{share} as well" if is_same else f"{share} instead of {before}"
            sizes = f"{fewer} instead of {tests} tests"
            made = f"{form.flag} gives {size(body)}: {sizes}, {shares}"
            found.append((fewer, made))
    if found:
        yield f"shorter and as accurate in cross-validation: {min(found)[1]}"


def _others(algorithm: str, options: LearnOptions) -> Iterator[Form]:
    """The other forms that the options of a user allow."""
    if any(is_given(options, name) for name in ("prune", "alpha", "alpha_folds")):
        return
    if algorithm == C45:
        whole = replace(options, prune=NONE)
        yield Form(whole, C45, C45RULES, "--rules c45rules")
    for other in (C45, CART):
        if other != algorithm and _suits(options, other):
            how = replace(options, algorithm=other)
            yield Form(how, other, "", f"--algorithm {other}")


def _suits(options: LearnOptions, algorithm: str) -> bool:
    try:
        check_algorithm(options, algorithm)
    except OptionError:
        return False
    return True


def tests_in(body: Body) -> int:
    """The number of tests in all rules of a body."""
    return sum(len(rule.conditions) for rule in extract(body).rules)


def _accuracy(found: Estimate) -> float:
    assert isinstance(found.quality, ClassQuality)
    return accuracy(found.quality) or 0.0
