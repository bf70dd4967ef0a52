"""How good a model will be on new rows, if cross-validation takes only seconds."""

from __future__ import annotations

from dataclasses import replace

from treecompile.learning.cross_validation import (
    estimate,
    estimate_folds,
    tree_learner,
)
from treecompile.learning.options import LearnOptions
from treecompile.learning.training import Learned
from treecompile.measure.cases import Cases
from treecompile.model.ir import Body, Program
from treecompile.model.paths import leaf_count
from treecompile.rules.pruning import C45RULES, pruned_rules
from treecompile.tables.dataset import Dataset

MOST_PRUNING = 100_000  # leaves x rows: c4.5rules takes a second for ten folds


def estimated(
    program: Program,
    learned: Learned,
    options: LearnOptions,
    rules: str = "",
) -> Program:
    """The program with the quality to expect on new rows, if that takes seconds.

    Rows that were held out, and have not pruned the model, tell it already. `rules` is
    C45RULES if these were made of the tree.
    """
    training, data, grown = program.training, learned.data, learned.program.body
    if training is None or data is None or training.estimate is not None:
        return program
    if training.validation is not None:
        return program
    folds = estimate_folds(data, options.seed)
    takes_long = leaf_count(grown) * len(data.y) > MOST_PRUNING
    if folds is None or (rules == C45RULES and takes_long):
        return program
    learn_tree = tree_learner(program.algorithm, options)

    def learn(part: Dataset) -> Body:
        body: Body = learn_tree(part)
        return _pruned(body, part, options.cf) if rules == C45RULES else body

    found = estimate(data, folds, learn)
    return replace(program, training=replace(training, estimate=found))


def _pruned(body: Body, data: Dataset, cf: float) -> Body:
    program = Program(data.target, "", body, (("cf", cf),))
    return pruned_rules(program, C45RULES, Cases(data.columns, data.y)).body
