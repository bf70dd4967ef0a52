"""Two models over the same features, so that they can be compared.

Features are matched by name. A feature that one model lacks is one that it does not
read. A category that one model does not know is an unseen value to it, which its
conditions already handle. Where the two orders of an ordinal feature differ, its tests
become sets of categories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from treecompile.model.errors import OptionError
from treecompile.model.ir import (
    Body,
    Branch,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Leaf,
    Node,
    Op,
    Program,
    Row,
    Tree,
)
from treecompile.model.semantics import membership, required_features


@dataclass(frozen=True, slots=True)
class Pair:
    """The bodies of two programs over common features."""

    features: tuple[Feature, ...]
    old: Body
    new: Body
    columns: tuple[ColumnSummary, ...]
    read: tuple[int, ...]  # the features that a condition of either reads


def pair(old: Program, new: Program) -> Pair:
    """Bring two programs together; an OptionError if they cannot be compared."""
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
    """The same body over the common features."""
    indices = {feature.name: index for index, feature in enumerate(features)}

    @cache
    def translated(test: Condition) -> Condition:
        own = body.features[test.feature]
        index = indices[own.name]
        if own.kind is not Kind.ORDINAL or features[index].kind is own.kind:
            return replace(test, feature=index)
        inside, chosen, missing = membership(test, own)
        return Condition(index, Op.IN if inside else Op.NOT_IN, chosen, missing)

    def moved(node: Node) -> Node:
        if isinstance(node, Leaf):
            return node
        branches = (Branch(translated(b.when), b.then, b.weight) for b in node.branches)
        return replace(node, branches=tuple(branches))

    if isinstance(body, Tree):
        return replace(body, features=features, nodes=tuple(map(moved, body.nodes)))
    rules = (
        replace(rule, conditions=tuple(map(translated, rule.conditions)))
        for rule in body.rules
    )
    return replace(body, features=features, rules=tuple(rules))


def own_row(body: Body, features: tuple[Feature, ...], row: Row) -> Row:
    """A row of the common features as one of the bodies reads it."""
    values = {f.name: value for f, value in zip(features, row, strict=True)}
    return tuple(values[feature.name] for feature in body.features)
