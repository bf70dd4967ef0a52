"""The rows behind each leaf or rule, as people are shown them.

Whole rows, counted as the model predicts them: a row counts for the rule that decides
it. Document, comments, pictures and reports all take their figures from here, and
never from the training weights of a leaf (`stats`), which C4.5 divides if a value is
missing, and which `--weights` multiplies. Where no rows were counted, as for a model of
another library, the training weights are all that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, hypot, isfinite

from treecompile.model import ir
from treecompile.model.paths import outcomes, upwards
from treecompile.model.semantics import answer, leaf_positions

MEASURED = "measured"  # the program option that names the data of all figures


@dataclass(frozen=True, slots=True)
class Evidence:
    """The rows that one leaf or rule decides."""

    rows: float  # a whole number if they were counted
    right: float  # of these, the rows with the answer of the model; 0 for numbers
    answers: tuple[float, ...] = ()  # of these, the rows of each label; (): not known
    mean: float | None = None  # of numbers; None: not known
    deviation: float | None = None
    counted: bool = True  # False: training weights, because no rows were counted

    @property
    def errors(self) -> float:
        return self.rows - self.right


def evidence(program: ir.Program) -> dict[int, Evidence]:
    """The evidence of each leaf or rule, by its position as in `paths.outcomes`."""
    return _of_rules(program, outcomes(program.body))


def by_id(program: ir.Program) -> dict[str, Evidence]:
    """The same by the id of the rule."""
    rules = outcomes(program.body)
    found = _of_rules(program, rules)
    return {rules[position].id: each for position, each in found.items()}


def counted_rows(program: ir.Program) -> tuple[str, Sequence[ir.RuleTally]]:
    """Which rows were counted, "training" or "validation", and the counts, if any.

    Rules that were pruned where the training rows are not known have counts of the
    validation rows only.
    """
    training = program.training
    if training is None or training.rules or not training.validation_rules:
        return "training", training.rules if training else ()
    return "validation", training.validation_rules


def _of_rules(program: ir.Program, rules: Mapping[int, ir.Rule]) -> dict[int, Evidence]:
    labels = program.body.labels
    _, tallies = counted_rows(program)
    if tallies:
        counted = dict(zip(_places(program.body), tallies, strict=True))
        return {place: _counted(counted[place], labels) for place in rules}
    return {place: _weighed(rule, labels) for place, rule in rules.items()}


def _places(body: ir.Body) -> Iterable[int]:
    """The positions that rows are counted for, as in `paths.outcomes`."""
    if isinstance(body, ir.RuleSet):
        return range(len(body.rules) + 1)
    return leaf_positions(body)


def _counted(tally: ir.RuleTally, labels: Sequence[ir.Label]) -> Evidence:
    rows, known = float(tally.decided), tally.actual
    if isinstance(known, ir.Moments):
        return Evidence(rows, 0.0, (), known.mean, known.deviation)
    if not labels:
        return Evidence(rows, 0.0)
    answers = known.weights if known else () if rows else (0.0,) * len(labels)
    return Evidence(rows, rows - tally.errors, answers)


def _weighed(rule: ir.Rule, labels: Sequence[ir.Label]) -> Evidence:
    stats = rule.stats
    if not rule.weight:  # the statistics are those of other cases
        return Evidence(0.0, 0.0, (0.0,) * len(labels), counted=False)
    if isinstance(stats, ir.Moments):
        deviation = stats.deviation
        return Evidence(stats.weight, 0.0, (), stats.mean, deviation, counted=False)
    right = stats.weights[labels.index(rule.value)]
    return Evidence(stats.weight, right, stats.weights, counted=False)


# ---------------------------------------------------------------- sums


NOTHING = Evidence(0.0, 0.0)


def total(program: ir.Program) -> Evidence:
    """All rows together; NOTHING if they are not known.

    Rules that were edited may have lost some of their weights, so weights of rules say
    nothing about all rows.
    """
    body = program.body
    _, tallies = counted_rows(program)
    if tallies:
        return joined(evidence(program).values(), len(body.labels))
    if isinstance(body, ir.Tree):
        return _weighed_node(body.nodes[0], body)
    rows = program.training.rows if program.training else 0
    return Evidence(float(rows), 0.0, counted=False)


def of_nodes(program: ir.Program, tree: ir.Tree) -> list[Evidence]:
    """The evidence of each node of the tree: a split has the rows of its leaves."""
    own, labels = evidence(program), len(tree.labels)
    _, tallies = counted_rows(program)
    found = [NOTHING] * len(tree.nodes)
    for position, node in upwards(tree):
        if isinstance(node, ir.Leaf):
            found[position] = own[position]
            continue
        if tallies:
            found[position] = joined((found[b.then] for b in node.branches), labels)
        else:
            found[position] = _weighed_node(node, tree)
    return found


def _weighed_node(node: ir.Node, tree: ir.Tree) -> Evidence:
    usual = answer(node.stats, tree.labels)
    weight = node.weight if isinstance(node, ir.Leaf) else node.stats.weight
    rule = ir.Rule("", (), usual, node.stats, weight)
    return _weighed(rule, tree.labels)


def joined(parts: Iterable[Evidence], labels: int) -> Evidence:
    """The evidence of several rules together."""
    some = [part for part in parts if part.rows]
    rows = fsum(part.rows for part in some)
    counted = all(part.counted for part in some)
    right = fsum(part.right for part in some)
    if labels:
        known = all(part.answers for part in some)
        columns = zip(*(part.answers for part in some), strict=True) if known else ()
        answers = tuple(map(fsum, columns)) if some else (0.0,) * labels
        return Evidence(rows, right, answers, counted=counted)
    mean, deviation = _joined_moments(some, rows)
    return Evidence(rows, right, (), mean, deviation, counted)


def _joined_moments(
    parts: Sequence[Evidence], rows: float
) -> tuple[float | None, float | None]:
    means = [part.mean for part in parts if part.mean is not None]
    if not parts or len(means) < len(parts):
        return None, None
    shares = [part.rows / rows for part in parts]
    mean = fsum(share * own for share, own in zip(shares, means, strict=True))
    sides = []  # of a right angle in many dimensions: their squares could overflow
    for part, share, own in zip(parts, shares, means, strict=True):
        if part.deviation is None:
            return mean, None
        sides += [share**0.5 * part.deviation, share**0.5 * (own - mean)]
    deviation = hypot(*sides)
    return mean, deviation if isfinite(deviation) else None


# ---------------------------------------------------------------- all rows of a quality


def rows_of(quality: ir.Quality) -> int:
    """The number of rows that a quality is of."""
    if isinstance(quality, ir.ValueQuality):
        return quality.rows
    return sum(label_rows(quality))


def label_rows(quality: ir.ClassQuality) -> tuple[int, ...]:
    """The rows of each label, whatever was predicted."""
    return tuple(map(sum, quality.confusion))


def right_rows(quality: ir.ClassQuality) -> int:
    """The rows whose label was predicted."""
    return sum(row[label] for label, row in enumerate(quality.confusion))
