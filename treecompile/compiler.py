"""The whole line, from data to an artefact.

data -> Dataset -> learner -> Tree -> extract -> RuleSet -> passes -> lower -> template
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treecompile import __version__
from treecompile.data import (
    DataOptions,
    Dataset,
    encode,
    encode_target,
    make_dataset,
    take,
)
from treecompile.errors import DataError, OptionError
from treecompile.extract import extract
from treecompile.ir import Program, Training, Tree
from treecompile.learners import default_algorithm, grow_tree
from treecompile.learners.grow import Limits, Progress
from treecompile.learners.prune import cost_complexity
from treecompile.lower import (
    EmitOptions,
    Lowering,
    Source,
    markdown,
    python,
    python_numpy,
    sql,
)
from treecompile.model_file import sha256
from treecompile.passes import apply_rule_passes
from treecompile.quality import Evaluation, evaluate
from treecompile.read import Table, read_table
from treecompile.render import render
from treecompile.semantics import required_features
from treecompile.targets import read_target

if TYPE_CHECKING:
    import pandas as pd

# An explicit table: a target.toml can name these and nothing else.
LOWERINGS: dict[str, Lowering] = {
    "python": python.lower,
    "numpy": python_numpy.lower,
    "sql": sql.lower,
    "markdown": markdown.lower,
}
COST_COMPLEXITY = "cost-complexity"
PRUNINGS = ("none", COST_COMPLEXITY)
STYLES = {"standard": "python", "numpy": "numpy"}


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How to learn; what the columns mean is in `data.DataOptions`."""

    algorithm: str = ""  # "" chooses by the data
    max_depth: int | None = None
    min_split: int = 2
    min_leaf: int = 1
    min_gain: float = 0.0
    max_leaves: int | None = None  # then the best splits are made first
    criterion: str = ""  # "" is the algorithm's own
    prune: str = "none"  # or cost-complexity
    alpha: float | None = None  # of cost-complexity; None: 0.01, as rpart's cp
    validation_fraction: float = 0.0  # rows held out at random to measure the quality
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    program: Program
    notes: tuple[str, ...]  # what was chosen, and what looks odd


@dataclass(frozen=True, slots=True)
class Artefact:
    text: str
    suffix: str
    warnings: tuple[str, ...] = ()


def learn(
    data: str | Path | pd.DataFrame,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    validation: str | Path | pd.DataFrame | None = None,
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
) -> Learned:
    """Read the data, grow a tree, and measure it."""
    _check(options, validation is not None)
    whole = make_dataset(read_table(data), columns)
    training, held_out = _split_off(whole, options)
    algorithm = options.algorithm or default_algorithm(whole)
    limits = Limits(
        options.max_depth,
        options.min_split,
        options.min_leaf,
        options.min_gain,
        options.max_leaves,
    )
    settled = progress(len(training.y))
    tree = grow_tree(training, algorithm, limits, settled, options.criterion)
    if options.prune == COST_COMPLEXITY:
        tree = cost_complexity(tree, 0.01 if options.alpha is None else options.alpha)
    program = Program(
        target=whole.target,
        algorithm=algorithm,
        body=tree,
        options=_given(options),
        na_values=columns.na_values,
    )
    measured = None
    if validation is not None:
        measured = evaluate_on(program, read_table(validation)).quality
    elif held_out is not None:
        measured = evaluate(tree, held_out.columns, held_out.y).quality
    summary = Training(
        source=whole.source,
        rows=len(training.y),
        columns=training.summaries(),
        quality=evaluate(tree, training.columns, training.y).quality,
        validation=measured,
    )
    chosen = () if options.algorithm else (f"algorithm: {algorithm}",)
    return Learned(replace(program, training=summary), (*whole.notes, *chosen))


def _check(options: LearnOptions, has_validation: bool) -> None:
    least = {
        **{"max_depth": 0, "min_split": 1, "min_leaf": 1, "min_gain": 0},
        **{"max_leaves": 1, "alpha": 0},
    }
    for name, bound in least.items():
        value = getattr(options, name)
        if value is not None and not value >= bound:
            option = "--" + name.replace("_", "-")
            raise OptionError(f"{option} {value}: expected {bound} or more")
    if options.prune not in PRUNINGS:
        raise OptionError(f"--prune {options.prune!r}: there are {', '.join(PRUNINGS)}")
    if options.prune != COST_COMPLEXITY and options.alpha is not None:
        raise OptionError("--alpha is for --prune cost-complexity: add it")
    if not 0 <= options.validation_fraction < 1:
        raise OptionError("--validation-fraction: expected a number from 0 to below 1")
    if has_validation and options.validation_fraction:
        raise OptionError("give --validation or --validation-fraction, not both")


def _split_off(data: Dataset, options: LearnOptions) -> tuple[Dataset, Dataset | None]:
    """Hold out a seeded fraction of the rows."""
    count = round(len(data.y) * options.validation_fraction)
    if not count:
        return data, None
    if count == len(data.y):
        raise OptionError("--validation-fraction leaves no row to learn from")
    order = np.random.default_rng(options.seed).permutation(len(data.y))
    return take(data, np.sort(order[count:])), take(data, np.sort(order[:count]))


def _given(options: LearnOptions) -> tuple[tuple[str, str | int | float | bool], ...]:
    """The options that differ from their defaults; the algorithm is told elsewhere."""
    return tuple(
        (entry.name, getattr(options, entry.name))
        for entry in fields(options)
        if entry.name != "algorithm" and getattr(options, entry.name) != entry.default
    )


def flatten(program: Program) -> Program:
    """The same decisions as an ordered list of simplified rules."""
    body = program.body
    rules = extract(body) if isinstance(body, Tree) else body
    return replace(program, body=apply_rule_passes(rules))


def emit(
    program: Program, target: str = "python", options: EmitOptions = EmitOptions()
) -> Artefact:
    """Compile a program for a target."""
    if target == "python":
        target = _style(options.style)
    description = read_target(target)
    source = Source(program, sha256(program), __version__)
    context = LOWERINGS[description.lowering](source, options)
    warnings = context.get("warnings", ())
    assert isinstance(warnings, (list, tuple))
    text = render(target, description, context)
    return Artefact(text, description.suffix, tuple(warnings))


def _style(style: str) -> str:
    """The target folder of a style of Python."""
    if style not in STYLES:
        raise OptionError(f"--style {style!r}: expected one of {', '.join(STYLES)}")
    return STYLES[style]


def evaluate_on(
    program: Program, table: Table, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table that has the target column."""
    blanks = (*program.na_values, *na_values)
    body = program.body
    if not table.rows:
        raise DataError("there is no row to evaluate on")
    columns = encode(body.features, table, required_features(body), blanks)
    actual = encode_target(program.target, body.labels, table, blanks)
    return evaluate(body, columns, actual)
