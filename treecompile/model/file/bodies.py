"""The tree or the rules of a model file."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.ir import (
    Branch,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Moments,
    Node,
    Op,
    Rule,
    RuleSet,
    Split,
    Stats,
    Tree,
    ValueType,
)
from treecompile.model.semantics import is_partition

PYTHON_TYPES: dict[ValueType, type] = {
    ValueType.STR: str,
    ValueType.INT: int,
    ValueType.BOOL: bool,
}
CONDITION = ("feature", "op", "value", "missing")


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Turns JSON into nodes and rules over known features and labels."""

    features: tuple[Feature, ...]
    labels: tuple[Label, ...]

    def tree(self, item: Any, policy: MissingPolicy) -> Tree:
        nodes = checks.listed(item, "nodes", self.node)
        if not nodes:
            raise ModelFileError("nodes: a tree has at least one")
        children = []
        for position, node in enumerate(nodes):
            if isinstance(node, Split):
                where = f"nodes[{position}].branches"
                for i, branch in enumerate(node.branches):
                    if not position < branch.then < len(nodes):
                        raise ModelFileError(
                            f"{where}[{i}].then: a child comes after its parent"
                        )
                    children.append(branch.then)
                weights = sum(branch.weight for branch in node.branches)
                if policy is MissingPolicy.FRACTIONAL and not 0 < weights < inf:
                    raise ModelFileError(f"{where}: there is no weight to divide by")
        if sorted(children) != list(range(1, len(nodes))):
            raise ModelFileError(
                "nodes: each but the first must be the child of exactly one"
            )
        return Tree(self.features, self.labels, nodes, policy)

    def node(self, item: Any, where: str) -> Node:
        if "branches" not in checks.as_object(item, where):
            readers = {
                "value": self.answer,
                "stats": self.stats,
                "weight": checks.weight,
            }
            return Leaf(*checks.fields(item, where, readers))
        checks.keys(item, ("branches", "stats", "gain"), where)
        split = Split(
            checks.listed(item["branches"], f"{where}.branches", self.branch),
            self.stats(item["stats"], f"{where}.stats"),
            checks.number(item["gain"], f"{where}.gain"),
        )
        if not is_partition(split, self.features):
            raise ModelFileError(
                f"{where}.branches: exactly one must hold for each value of a feature"
            )
        return split

    def branch(self, item: Any, where: str) -> Branch:
        checks.keys(item, (*CONDITION, "then", "weight"), where)
        return Branch(
            self.condition(item, where),
            checks.integer(item["then"], f"{where}.then"),
            checks.weight(item["weight"], f"{where}.weight"),
        )

    def rules(self, item: Any) -> RuleSet:
        rules = checks.listed(item, "rules", self.rule)
        if not rules:
            raise ModelFileError("rules: the last one is the default and must exist")
        if rules[-1].conditions:
            raise ModelFileError("rules: the last one is the default: no conditions")
        checks.distinct((r.id for r in rules), "rules", "two have the same id")
        return RuleSet(self.features, self.labels, rules[:-1], rules[-1])

    def rule(self, item: Any, where: str) -> Rule:
        readers: dict[str, checks.PartReader] = {
            "id": self.identity,
            "if": self.conditions,
            "value": self.answer,
            "stats": self.stats,
            "weight": checks.weight,
        }
        return Rule(*checks.fields(item, where, readers))

    def identity(self, item: Any, where: str) -> str:
        identity = checks.text(item, where)
        if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
            raise ModelFileError(
                f"{where}: expected at most 40 ASCII letters and digits"
            )
        return identity

    def conditions(self, item: Any, where: str) -> tuple[Condition, ...]:
        def condition(part: Any, place: str) -> Condition:
            checks.keys(part, CONDITION, place)
            return self.condition(part, place)

        return checks.listed(item, where, condition)

    def condition(self, item: dict[str, Any], where: str) -> Condition:
        index = checks.integer(item["feature"], f"{where}.feature")
        if index >= len(self.features):
            raise ModelFileError(f"{where}.feature: there is no feature {index}")
        feature = self.features[index]
        if item["op"] not in list(Op):
            raise ModelFileError(f"{where}.op: unknown")
        op = Op(item["op"])
        missing = checks.boolean(item["missing"], f"{where}.missing")
        value, place = item["value"], f"{where}.value"
        if (op in (Op.IN, Op.NOT_IN)) != (feature.kind is Kind.CATEGORICAL):
            raise ModelFileError(f"{where}.op: not for a {feature.kind} feature")
        if feature.kind is Kind.NUMERIC:
            number = inf if value == "inf" else checks.number(value, place)
            return Condition(index, op, number, missing)
        if feature.kind is Kind.ORDINAL:
            return Condition(index, op, self.known(value, feature, place), missing)
        values = [self.known(c, feature, place) for c in checks.as_list(value, place)]
        checks.distinct(values, place, "a category is listed twice")
        return Condition(index, op, tuple(values), missing)

    def known(self, value: Any, feature: Feature, where: str) -> Category:
        category: Category = checks.typed(value, PYTHON_TYPES[feature.type], where)
        if category not in feature.categories:
            raise ModelFileError(f"{where}: not a category of {feature.name!r}")
        return category

    def answer(self, value: Any, where: str) -> Label:
        if not self.labels:
            return checks.number(value, where)
        if type(value) is not type(self.labels[0]) or value not in self.labels:
            raise ModelFileError(f"{where}: not one of the labels")
        label: Label = value
        return label

    def stats(self, item: Any, where: str) -> Stats:
        if self.labels:
            weights = tuple(
                checks.weight(w, where) for w in checks.as_list(item, where)
            )
            if len(weights) != len(self.labels) or not 0 < sum(weights) < inf:
                raise ModelFileError(f"{where}: expected one weight for each label")
            return ClassCounts(weights)
        sse = checks.optional(checks.weight)
        readers = {"weight": checks.weight, "mean": checks.number, "sse": sse}
        moments = Moments(*checks.fields(item, where, readers))
        if not moments.weight:
            raise ModelFileError(f"{where}: expected a weight above 0")
        return moments
