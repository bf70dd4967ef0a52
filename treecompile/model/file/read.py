"""JSON -> program: everything is checked before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from treecompile import __version__
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.file.forest import read_forest
from treecompile.model.file.limits import (
    MOST_BYTES,
    MOST_SQUARES,
    check_size,
    check_text,
)
from treecompile.model.file.training import read_training
from treecompile.model.file.write import FORMAT, VERSION
from treecompile.model.files import read_bytes
from treecompile.model.forests import single
from treecompile.model.ir import Kind, Op, ValueType
from treecompile.model.semantics import is_partition

HEAD = (
    *("format", "version", "tool", "target", "algorithm", "options", "na_values"),
    *("training", "labels", "features"),
)
CONDITION = ("feature", "op", "value", "missing")


def read_any_program(path: str | Path) -> ir.AnyProgram:
    """Read and validate a model file."""
    data = read_bytes(path, ModelFileError, most=MOST_BYTES)
    try:
        return loads_any(data)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def read_program(path: str | Path) -> ir.Program:
    """The same for a model that is one tree or rules."""
    return single(read_any_program(path), str(path))


def loads_any(data: bytes | str) -> ir.AnyProgram:
    """Validate the text of a model file and build the program it describes."""
    check_text(data)
    return _program(checks.parsed(data, "a model file"))


def loads(data: bytes | str) -> ir.Program:
    """The same for a model that is one tree or rules."""
    return single(loads_any(data), "this")


def _program(record: Any) -> ir.AnyProgram:
    checks.as_object(record, "the file")
    if record.get("format") != FORMAT:
        raise ModelFileError(f'not a model file: "format" is not "{FORMAT}"')
    if record.get("version") != VERSION or record["version"] is True:
        raise ModelFileError(
            f"treecompile {record.get('tool')} wrote it in version"
            f" {record.get('version')!r} of the format, and this is release"
            f" {__version__}, which reads version {VERSION}: make the model again, or"
            " use it with the release that wrote it"
        )
    bodies = {"nodes", "rules", "trees"} & record.keys()
    if len(bodies) != 1:
        raise ModelFileError('expected either "nodes", "rules" or "trees"')
    adding = ["forest"] if "trees" in bodies else []
    checks.keys(record, [*HEAD, *adding, *bodies], "the file")
    checks.text(record["tool"], "tool")
    features = checks.listed(record["features"], "features", _feature)
    checks.distinct((f.name for f in features), "features", "two have the same name")
    reader = BodyReader.of(features, _labels(record["labels"]))
    body: ir.AnyBody
    if "nodes" in record:
        body = reader.tree(record["nodes"])
    elif "rules" in record:
        body = reader.rules(record["rules"])
    else:
        body = read_forest(record["forest"], record["trees"], reader)
    check_size(body)
    options = checks.as_object(record["options"], "options")
    for key, value in options.items():
        checks.text(key, "options")
        checks.scalar(value, f"options.{key}")

    def training(item: Any, where: str) -> ir.Training:
        return read_training(item, body)

    known = {
        "target": checks.text(record["target"], "target"),
        "algorithm": checks.text(record["algorithm"], "algorithm"),
        "options": tuple(options.items()),
        "na_values": checks.listed(record["na_values"], "na_values", checks.text),
        "training": checks.optional(training)(record["training"], "training"),
    }
    if isinstance(body, ir.Forest):
        return ir.ForestProgram(body=body, **known)
    return ir.Program(body=body, **known)


def _feature(item: Any, where: str) -> ir.Feature:
    checks.keys(item, ["name", "kind", "type", "categories"], where)
    name = checks.text(item["name"], f"{where}.name")
    kind = checks.member(item["kind"], Kind, f"{where}: unknown kind or type")
    type_ = checks.member(item["type"], ValueType, f"{where}: unknown kind or type")
    place = f"{where}.categories"
    categories = checks.as_list(item["categories"], place)
    if (kind is Kind.NUMERIC) != (type_ is ValueType.FLOAT):
        raise ModelFileError(f"{where}: kind {kind} cannot have type {type_}")
    if kind is Kind.NUMERIC and categories:
        raise ModelFileError(f"{where}: a numeric feature has no categories")
    for category in categories:
        checks.scalar(checks.typed(category, type_, place), place)
    checks.distinct(categories, place, "a category is listed twice")
    return ir.Feature(name, kind, type_, tuple(categories))


def _labels(item: Any) -> tuple[ir.Label, ...]:
    labels = checks.listed(item, "labels", checks.scalar)
    if len({type(label) for label in labels}) > 1:
        raise ModelFileError("labels: all must be of one type")
    checks.distinct(labels, "labels", "one is listed twice")
    return labels


def _children(split: ir.Split | None) -> dict[str, int]:
    branches = split.branches if split else ()
    return {f"branches[{i}].then": branch.then for i, branch in enumerate(branches)}


# ---------------------------------------------------------------- tree or rules


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Turns JSON into nodes and rules over known features and labels."""

    features: tuple[ir.Feature, ...]
    labels: tuple[ir.Label, ...]
    known_labels: Mapping[ir.Label, ir.Label]
    categories: tuple[frozenset[ir.Category], ...]  # of each feature

    @classmethod
    def of(
        cls, features: tuple[ir.Feature, ...], labels: tuple[ir.Label, ...]
    ) -> BodyReader:
        known = {label: label for label in labels}
        return cls(
            features, labels, known, tuple(frozenset(f.categories) for f in features)
        )

    def tree(self, item: Any) -> ir.Tree:
        nodes = checks.listed(item, "nodes", self.node)
        splits = [node if isinstance(node, ir.Split) else None for node in nodes]
        checks.family([_children(split) for split in splits], "nodes")
        return ir.Tree(self.features, self.labels, nodes)

    def node(self, item: Any, where: str) -> ir.Node:
        if "branches" not in checks.as_object(item, where):
            readers = {
                "value": self.answer,
                "stats": self.stats,
                "weight": checks.weight,
            }
            return ir.Leaf(*checks.fields(item, where, readers))
        checks.keys(item, ("branches", "stats", "gain"), where)
        split = ir.Split(
            checks.listed(item["branches"], f"{where}.branches", self.branch),
            self.stats(item["stats"], f"{where}.stats"),
            checks.number(item["gain"], f"{where}.gain"),
        )
        if abs(split.stats.weight * split.gain) > MOST_SQUARES:
            raise ModelFileError(
                f"{where}.gain: gain times weight is more than {MOST_SQUARES:g}"
            )
        if not is_partition(split, self.features):
            raise ModelFileError(
                f"{where}.branches: exactly one must hold for each value of a feature"
            )
        return split

    def branch(self, item: Any, where: str) -> ir.Branch:
        return ir.Branch(
            self.condition(item, where, "then", "weight"),
            checks.integer(item["then"], f"{where}.then"),
            checks.weight(item["weight"], f"{where}.weight"),
        )

    def rules(self, item: Any) -> ir.RuleSet:
        rules = checks.listed(item, "rules", self.rule)
        if not rules:
            raise ModelFileError("rules: expected at least one, the default")
        if rules[-1].conditions:
            raise ModelFileError(
                "rules: the last rule is the default and must have no conditions"
            )
        checks.distinct((r.id for r in rules), "rules", "two have the same id")
        return ir.RuleSet(self.features, self.labels, rules[:-1], rules[-1])

    def rule(self, item: Any, where: str) -> ir.Rule:
        readers: dict[str, checks.PartReader] = {
            "id": self.identity,
            "if": self.conditions,
            "value": self.answer,
            "stats": self.stats,
            "weight": checks.weight,
        }
        return ir.Rule(*checks.fields(item, where, readers))

    def identity(self, item: Any, where: str) -> str:
        identity = checks.text(item, where)
        if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
            raise ModelFileError(
                f"{where}: expected at most 40 ASCII letters and digits"
            )
        return identity

    def conditions(self, item: Any, where: str) -> tuple[ir.Condition, ...]:
        return checks.listed(item, where, self.condition)

    def condition(self, item: Any, where: str, *more_keys: str) -> ir.Condition:
        checks.keys(item, (*CONDITION, *more_keys), where)
        index = checks.integer(item["feature"], f"{where}.feature")
        if index >= len(self.features):
            raise ModelFileError(f"{where}.feature: there is no feature {index}")
        feature = self.features[index]
        op = checks.member(item["op"], Op, f"{where}.op: unknown")
        missing = checks.boolean(item["missing"], f"{where}.missing")
        value, place = item["value"], f"{where}.value"
        if (op in (Op.IN, Op.NOT_IN)) != (feature.kind is Kind.CATEGORICAL):
            raise ModelFileError(f"{where}.op: not for a {feature.kind} feature")
        if feature.kind is Kind.NUMERIC:
            number = inf if value == "inf" else checks.number(value, place)
            return ir.Condition(index, op, number, missing)
        if feature.kind is Kind.ORDINAL:
            return ir.Condition(index, op, self.known(value, index, place), missing)
        values = [self.known(c, index, place) for c in checks.as_list(value, place)]
        checks.distinct(values, place, "a category is listed twice")
        return ir.Condition(index, op, tuple(values), missing)

    def known(self, value: Any, index: int, where: str) -> ir.Category:
        feature = self.features[index]
        category: ir.Category = checks.typed(value, feature.type, where)
        if category not in self.categories[index]:
            raise ModelFileError(f"{where}: not a category of {feature.name!r}")
        return category

    def answer(self, value: Any, where: str) -> ir.Label:
        if not self.labels:
            return checks.number(value, where)
        if type(value) is not type(self.labels[0]) or value not in self.known_labels:
            raise ModelFileError(f"{where}: not one of the labels")
        return self.known_labels[value]

    def stats(self, item: Any, where: str) -> ir.Stats:
        if self.labels:
            weights = tuple(
                checks.weight(w, where) for w in checks.as_list(item, where)
            )
            if len(weights) != len(self.labels) or not 0 < sum(weights) < inf:
                raise ModelFileError(f"{where}: expected one weight for each label")
            return ir.ClassCounts(weights)
        sse = checks.optional(checks.squares)
        readers = {"weight": checks.weight, "mean": checks.number, "sse": sse}
        moments = ir.Moments(*checks.fields(item, where, readers))
        if not moments.weight:
            raise ModelFileError(f"{where}: expected a weight above 0")
        if moments.sse is not None and moments.sse / moments.weight > MOST_SQUARES:
            raise ModelFileError(
                f"{where}: sse divided by weight is more than {MOST_SQUARES:g}"
            )
        return moments
