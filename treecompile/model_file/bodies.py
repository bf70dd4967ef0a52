"""The tree or the rules of a model file."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from treecompile.errors import ModelFileError
from treecompile.ir import (
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
from treecompile.model_file import checks
from treecompile.semantics import is_partition

PYTHON_TYPES: dict[ValueType, type] = {
    ValueType.STR: str,
    ValueType.INT: int,
    ValueType.BOOL: bool,
}


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Turns JSON into nodes and rules over features and labels that are known."""

    features: tuple[Feature, ...]
    labels: tuple[Label, ...]

    def tree(self, item: Any, policy: MissingPolicy) -> Tree:
        items = checks.as_list(item, "nodes")
        if not items:
            raise ModelFileError("nodes: a tree has at least one")
        nodes = tuple(self.node(n, i, len(items)) for i, n in enumerate(items))
        children = [b.then for n in nodes if isinstance(n, Split) for b in n.branches]
        if sorted(children) != list(range(1, len(nodes))):
            raise ModelFileError("nodes: each but the first must be the child of one")
        if policy is MissingPolicy.FRACTIONAL:
            for position, node in enumerate(nodes):
                self.divisible(node, f"nodes[{position}].branches")
        return Tree(self.features, self.labels, nodes, policy)

    def divisible(self, node: Node, where: str) -> None:
        if not isinstance(node, Split):
            return
        if not 0 < sum(branch.weight for branch in node.branches) < inf:
            raise ModelFileError(f"{where}: there is no weight to divide by")

    def node(self, item: Any, position: int, count: int) -> Node:
        where = f"nodes[{position}]"
        checks.as_object(item, where)
        if "branches" not in item:
            checks.keys(item, ["value", "weight", "stats"], where)
            return Leaf(
                self.answer(item["value"], f"{where}.value"),
                self.stats(item["stats"], f"{where}.stats"),
                checks.weight(item["weight"], f"{where}.weight"),
            )
        checks.keys(item, ["branches", "stats", "gain"], where)
        branches = []
        for i, branch in enumerate(
            checks.as_list(item["branches"], f"{where}.branches")
        ):
            place = f"{where}.branches[{i}]"
            keys = ["feature", "op", "value", "missing", "then", "weight"]
            checks.keys(branch, keys, place)
            then = checks.integer(branch["then"], f"{place}.then")
            if not position < then < count:
                raise ModelFileError(f"{place}.then: a child stands behind its parent")
            weight = checks.weight(branch["weight"], f"{place}.weight")
            branches.append(Branch(self.condition(branch, place), then, weight))
        split = Split(
            tuple(branches),
            self.stats(item["stats"], f"{where}.stats"),
            checks.number(item["gain"], f"{where}.gain"),
        )
        if not is_partition(split, self.features):
            raise ModelFileError(
                f"{where}.branches: exactly one must hold for each value of a feature"
            )
        return split

    def rules(self, item: Any) -> RuleSet:
        items = checks.as_list(item, "rules")
        if not items:
            raise ModelFileError("rules: the last one is the default and must be there")
        rules = [self.rule(rule, f"rules[{i}]") for i, rule in enumerate(items)]
        *ordered, default = rules
        if default.conditions:
            raise ModelFileError("rules: the last one is the default: no conditions")
        if len({rule.id for rule in rules}) < len(rules):
            raise ModelFileError("rules: two have the same id")
        return RuleSet(self.features, self.labels, tuple(ordered), default)

    def rule(self, item: Any, where: str) -> Rule:
        checks.keys(item, ["id", "if", "value", "weight", "stats"], where)
        identity = checks.text(item["id"], f"{where}.id")
        if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
            raise ModelFileError(f"{where}.id: expected ASCII letters and digits")
        conditions = []
        for i, part in enumerate(checks.as_list(item["if"], f"{where}.if")):
            checks.keys(part, ["feature", "op", "value", "missing"], f"{where}.if[{i}]")
            conditions.append(self.condition(part, f"{where}.if[{i}]"))
        return Rule(
            identity,
            tuple(conditions),
            self.answer(item["value"], f"{where}.value"),
            self.stats(item["stats"], f"{where}.stats"),
            checks.weight(item["weight"], f"{where}.weight"),
        )

    def condition(self, item: Any, where: str) -> Condition:
        position = checks.integer(item["feature"], f"{where}.feature")
        if not 0 <= position < len(self.features):
            raise ModelFileError(f"{where}.feature: there is no feature {position}")
        feature = self.features[position]
        if item["op"] not in list(Op):
            raise ModelFileError(f"{where}.op: unknown")
        op = Op(item["op"])
        missing = checks.typed(item["missing"], bool, f"{where}.missing")
        value = item["value"]
        place = f"{where}.value"
        if (op in (Op.IN, Op.NOT_IN)) != (feature.kind is Kind.CATEGORICAL):
            raise ModelFileError(f"{where}.op: not for a {feature.kind} feature")
        if feature.kind is Kind.NUMERIC:
            number = inf if value == "inf" else checks.number(value, place)
            return Condition(position, op, number, missing)
        if feature.kind is Kind.ORDINAL:
            self.known(value, feature, place)
            return Condition(position, op, value, missing)
        values = checks.as_list(value, place)
        for category in values:
            self.known(category, feature, place)
        if len(set(values)) < len(values):
            raise ModelFileError(f"{place}: a category stands there twice")
        return Condition(position, op, tuple(values), missing)

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
        checks.keys(item, ["weight", "mean", "sse"], where)
        weight = checks.weight(item["weight"], where)
        if not weight:
            raise ModelFileError(f"{where}: expected a weight above 0")
        return Moments(
            weight,
            checks.number(item["mean"], where),
            None if item["sse"] is None else checks.weight(item["sse"], where),
        )
