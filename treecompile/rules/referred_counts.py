"""Updates the figures of a model (quality and counts) after it begins to refer rows.

If it refers whole leaves or rules, every new figure follows from the rows that were
counted for them. If it refers missing or unseen values, the rows must be counted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from treecompile.model import ir
from treecompile.model.paths import outcomes


def widened(program: ir.Program, label: ir.Label) -> ir.Program:
    """Return the program with one more label, which it never answers."""
    body, labels = program.body, (*program.body.labels, label)
    made: ir.Body
    if isinstance(body, ir.Tree):
        nodes = tuple(replace(node, stats=_wider(node.stats)) for node in body.nodes)
        made = replace(body, labels=labels, nodes=nodes)
    else:
        rules = tuple(replace(rule, stats=_wider(rule.stats)) for rule in body.rules)
        default = replace(body.default, stats=_wider(body.default.stats))
        made = replace(body, labels=labels, rules=rules, default=default)
    training = program.training
    if training is not None:
        training = replace(
            training,
            quality=_wider_quality(training.quality),
            validation=_wider_quality(training.validation),
            rules=tuple(_wider_tallies(training.rules)),
            validation_rules=tuple(_wider_tallies(training.validation_rules)),
            estimate=None,  # it was of a model that answers every row
        )
    return replace(program, body=made, training=training)


def _wider(stats: ir.Stats) -> ir.Stats:
    assert isinstance(stats, ir.ClassCounts)
    return ir.ClassCounts((*stats.weights, 0.0))


def _wider_quality(quality: ir.Quality | None) -> ir.Quality | None:
    if not isinstance(quality, ir.ClassQuality):
        return quality
    rows = tuple((*row, 0) for row in quality.confusion)
    return ir.ClassQuality((*rows, (0,) * (len(rows) + 1)))


def _wider_tallies(tallies: Iterable[ir.RuleTally]) -> Iterator[ir.RuleTally]:
    for tally in tallies:
        known = tally.actual
        yield tally if known is None else replace(tally, actual=_wider(known))


def uncounted(program: ir.Program) -> ir.Program:
    """Return the program without figures that are no longer true."""
    training = program.training
    if training is None:
        return program
    kept = ir.Training(training.source, training.rows, training.columns)
    return replace(program, training=kept)


def recounted(program: ir.Program, body: ir.Body, weak: Collection[int]) -> ir.Program:
    """Return the program with `body`, and figures that count weak rules as referred."""
    training = program.training
    made = replace(program, body=body)
    if training is None or not weak:
        return made
    former = {
        at: body.labels.index(rule.value)
        for at, (place, rule) in enumerate(outcomes(program.body).items())
        if place in weak
    }
    quality, rules = _moved(training.quality, training.rules, former)
    other, other_rules = _moved(training.validation, training.validation_rules, former)
    training = replace(
        training,
        quality=quality,
        rules=rules,
        validation=other,
        validation_rules=other_rules,
    )
    return replace(made, training=training)


def _moved(
    quality: ir.Quality | None,
    tallies: Sequence[ir.RuleTally],
    former: Mapping[int, int],
) -> tuple[ir.Quality | None, tuple[ir.RuleTally, ...]]:
    """Return the quality and the tallies after some rules began to refer their rows.

    `former` maps each of these rules to the position of the label that it answered
    before. If the actual answers of its rows are not known, neither is the quality.
    """
    if not tallies or not isinstance(quality, ir.ClassQuality):
        return None, ()
    confusion = [list(row) for row in quality.confusion]
    made, is_known = list(tallies), True
    for at, column in former.items():
        tally = tallies[at]
        made[at] = replace(
            tally, matched_errors=float(tally.matched), errors=float(tally.decided)
        )
        if isinstance(tally.actual, ir.ClassCounts):
            for row, weight in zip(confusion, tally.actual.weights, strict=True):
                row[column] -= int(weight)
                row[-1] += int(weight)
        elif tally.decided:
            is_known = False
    counted = ir.ClassQuality(tuple(map(tuple, confusion)))
    return (counted if is_known else None), tuple(made)
