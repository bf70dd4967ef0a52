"""Two models over the same features, so that they can be held against each other.

Features are matched by name. A feature that one model lacks is one that it does not
read. Categories that one model does not know are unseen to it, and its conditions say
so of their own accord; ranks of an ordinal feature are turned into sets of categories
where the two orders are not the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treecompile.errors import OptionError
from treecompile.ir import (
    Body,
    Branch,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Op,
    Program,
    Row,
    Split,
    Tree,
)
from treecompile.membership import membership
from treecompile.semantics import required_features


@dataclass(frozen=True, slots=True)
class Pair:
    """The bodies of two programs over common features."""

    features: tuple[Feature, ...]
    old: Body
    new: Body
    columns: tuple[ColumnSummary, ...]
    read: tuple[int, ...]  # the features that a condition of either reads


def pair(old: Program, new: Program) -> Pair:
    """Bring two programs together; an OptionError where they cannot be compared."""
    if old.target != new.target:
        raise OptionError(
            f"the models predict different columns, {old.target!r} and {new.target!r}:"
            " compare models of one target"
        )
    kinds = [_answers(program) for program in (old, new)]
    if kinds[0] != kinds[1]:
        raise OptionError(
            f"the models predict {old.target!r} as {kinds[0]} and as {kinds[1]}:"
            " nothing can be compared"
        )
    olds = {feature.name: feature for feature in old.body.features}
    news = {feature.name: feature for feature in new.body.features}
    names = dict.fromkeys((*olds, *news))
    features = tuple(_common(olds.get(name), news.get(name)) for name in names)
    one, other = _over(old.body, features), _over(new.body, features)
    read = {*required_features(one), *required_features(other)}
    return Pair(
        features,
        one,
        other,
        tuple(_summary(name, new, old) for name in names),
        tuple(sorted(read)),
    )


def _answers(program: Program) -> str:
    labels = program.body.labels
    return f"labels of type {type(labels[0]).__name__}" if labels else "numbers"


def _common(old: Feature | None, new: Feature | None) -> Feature:
    if old is None or new is None:
        known = old or new
        assert known is not None
        return known
    if old.type is not new.type:
        raise OptionError(
            f"the feature {old.name!r} is {old.type.value} in the one model and"
            f" {new.type.value} in the other: nothing can be compared"
        )
    if (old.kind, old.categories) == (new.kind, new.categories):
        return old
    categories = tuple(dict.fromkeys((*old.categories, *new.categories)))
    return Feature(old.name, Kind.CATEGORICAL, old.type, categories)


def _summary(name: str, *programs: Program) -> ColumnSummary:
    for program in programs:
        if program.training is not None:
            names = [feature.name for feature in program.body.features]
            if name in names:
                return program.training.columns[names.index(name)]
    return ColumnSummary(0)


def _over(body: Body, features: tuple[Feature, ...]) -> Body:
    """A body whose conditions speak of the common features."""
    place = {feature.name: position for position, feature in enumerate(features)}
    known: dict[Condition, Condition] = {}

    def translated(test: Condition) -> Condition:
        if test not in known:
            own = body.features[test.feature]
            position = place[own.name]
            if own.kind is Kind.ORDINAL and features[position].kind is not own.kind:
                inside, chosen, missing = membership(test, own)
                op = Op.IN if inside else Op.NOT_IN
                known[test] = Condition(position, op, chosen, missing)
            else:
                known[test] = replace(test, feature=position)
        return known[test]

    if isinstance(body, Tree):
        nodes = (
            (
                replace(node, branches=tuple(map(moved, node.branches)))
                if isinstance(node, Split)
                else node
            )
            for node in body.nodes
            for moved in (lambda b: Branch(translated(b.when), b.then, b.weight),)
        )
        return replace(body, features=features, nodes=tuple(nodes))
    rules = (
        replace(rule, conditions=tuple(map(translated, rule.conditions)))
        for rule in body.rules
    )
    return replace(body, features=features, rules=tuple(rules))


def own_row(body: Body, features: tuple[Feature, ...], row: Row) -> Row:
    """A row of the common features as a body of one program reads it."""
    values = {f.name: value for f, value in zip(features, row, strict=True)}
    return tuple(values[feature.name] for feature in body.features)
