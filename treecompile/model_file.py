"""Program <-> JSON: versioned, canonical, and validated before it is believed.

A model file is untrusted input. Reading one either gives a program that satisfies every
invariant of the IR or raises ModelFileError with the place of the first fault; nothing
in it is ever executed. The format is published as `docs/model.schema.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from treecompile import __version__
from treecompile.errors import ModelFileError
from treecompile.ir import (
    Body,
    Branch,
    Category,
    ClassCounts,
    ClassQuality,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Moments,
    Node,
    Op,
    Program,
    Quality,
    Rule,
    RuleSet,
    RuleTally,
    Split,
    Stats,
    Training,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.semantics import is_partition

FORMAT = "treecompile model"
VERSION = 1
MAX_BYTES = 1 << 30

HEAD = (
    *("format", "version", "tool", "target", "algorithm", "options", "na_values"),
    *("training", "labels", "features"),
)
PYTHON_TYPES: dict[ValueType, type] = {
    ValueType.STR: str,
    ValueType.INT: int,
    ValueType.BOOL: bool,
}


# ---------------------------------------------------------------- writing


def dumps(program: Program) -> str:
    """The text of a model file: one line for each node, rule or feature."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "tool": __version__,
        **_program_record(program),
    }
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n".join("  " + _json(item) for item in value)
            lines.append(f' "{key}": [\n{items}\n ]')
        else:
            lines.append(f' "{key}": {_json(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def sha256(program: Program) -> str:
    """The identity of a model: taken over its content, not over the tool's version."""
    record = {"format": FORMAT, "version": VERSION, **_program_record(program)}
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _program_record(program: Program) -> dict[str, Any]:
    body = program.body
    record: dict[str, Any] = {
        "target": program.target,
        "algorithm": program.algorithm,
        "options": dict(program.options),
        "na_values": list(program.na_values),
        "training": _training_record(program.training),
        "labels": list(body.labels),
        "features": [
            {
                "name": f.name,
                "kind": f.kind.value,
                "type": f.type.value,
                "categories": list(f.categories),
            }
            for f in body.features
        ],
    }
    if isinstance(body, Tree):
        record["missing"] = body.missing.value
        record["nodes"] = [_node_record(node) for node in body.nodes]
    else:
        record["rules"] = [_rule_record(rule) for rule in (*body.rules, body.default)]
    return record


def _node_record(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {
            "value": node.value,
            "weight": node.weight,
            "stats": _stats_record(node.stats),
        }
    return {
        "branches": [
            {
                **_condition_record(branch.when),
                "then": branch.then,
                "weight": branch.weight,
            }
            for branch in node.branches
        ],
        "stats": _stats_record(node.stats),
        "gain": node.gain,
    }


def _rule_record(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "if": [_condition_record(condition) for condition in rule.conditions],
        "value": rule.value,
        "weight": rule.weight,
        "stats": _stats_record(rule.stats),
    }


def _condition_record(condition: Condition) -> dict[str, Any]:
    value: Any = condition.value
    if value == inf:
        value = "inf"  # JSON has no infinities
    return {
        "feature": condition.feature,
        "op": condition.op.value,
        "value": list(value) if isinstance(value, tuple) else value,
        "missing": condition.missing,
    }


def _stats_record(stats: Stats) -> Any:
    if isinstance(stats, ClassCounts):
        return list(stats.weights)
    return {"weight": stats.weight, "mean": stats.mean, "sse": stats.sse}


def _training_record(training: Training | None) -> Any:
    if training is None:
        return None
    counted = {
        "rules": [_tally_record(tally) for tally in training.rules],
        "validation_rules": [
            _tally_record(tally) for tally in training.validation_rules
        ],
    }
    return {
        "source": training.source,
        "rows": training.rows,
        "columns": [
            {"missing": c.missing, "low": _bound(c.low), "high": _bound(c.high)}
            for c in training.columns
        ],
        "quality": _quality_record(training.quality),
        "validation": _quality_record(training.validation),
        **{key: records for key, records in counted.items() if records},
    }


def _tally_record(tally: RuleTally) -> list[float]:
    return [tally.matched, tally.matched_errors, tally.decided, tally.errors]


def _bound(number: float | None) -> float | str | None:
    return number if number is None or isfinite(number) else str(number)


def _quality_record(quality: Quality | None) -> Any:
    if quality is None:
        return None
    if isinstance(quality, ClassQuality):
        return {"confusion": [list(row) for row in quality.confusion]}
    return {
        "rows": quality.rows,
        "mean_absolute_error": quality.mean_absolute_error,
        "root_mean_squared_error": quality.root_mean_squared_error,
        "r_squared": quality.r_squared,
    }


# ---------------------------------------------------------------- reading


def read_program(path: str | Path) -> Program:
    """Read and validate a model file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    try:
        return loads(data)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def loads(data: bytes | str) -> Program:
    """Validate the text of a model file and build the program it describes."""
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"a model file has at most {MAX_BYTES} bytes")
    try:
        record = json.loads(
            data, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ModelFileError("not a model file: nested too deeply") from None
    except ValueError as error:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise ModelFileError(f"not a model file: {error}") from None
    return _Reader().program(record)


def _refuse_constant(name: str) -> float:
    raise ModelFileError(f"not a model file: {name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ModelFileError("not a model file: a key stands twice in one object")
    return record


class _Reader:
    """Turns checked JSON into the IR; `where` names the place for the message."""

    features: tuple[Feature, ...]
    labels: tuple[Label, ...]

    def program(self, record: Any) -> Program:
        self.object(record, "the file")
        if record.get("format") != FORMAT:
            raise ModelFileError(f'not a model file: "format" is not "{FORMAT}"')
        if record.get("version") != VERSION or record["version"] is True:
            raise ModelFileError(
                f"version {record.get('version')!r} of the format is not known to"
                f" treecompile {__version__}: a newer release may read it"
            )
        bodies = {"nodes", "rules"} & record.keys()
        if len(bodies) != 1:
            raise ModelFileError('needs either "nodes" or "rules"')
        policy = ["missing"] if "nodes" in record else []
        self.keys(record, [*HEAD, *policy, *bodies], "the file")
        self.text(record["tool"], "tool")
        self.features = tuple(
            self.feature(item, f"features[{i}]")
            for i, item in enumerate(self.list(record["features"], "features"))
        )
        names = [feature.name for feature in self.features]
        if len(set(names)) < len(names):
            raise ModelFileError("features: two have the same name")
        self.labels = self.label_tuple(record["labels"])
        body = (
            self.tree(record["nodes"], self.policy(record["missing"]))
            if "nodes" in record
            else self.rules(record["rules"])
        )
        options = self.object(record["options"], "options")
        for key, value in options.items():
            if not isinstance(value, (str, int, float)) or value in (inf, -inf):
                raise ModelFileError(
                    f"options.{key}: expected text, a number or a boolean"
                )
        return Program(
            target=self.text(record["target"], "target"),
            algorithm=self.text(record["algorithm"], "algorithm"),
            body=body,
            options=tuple(options.items()),
            na_values=tuple(
                self.text(item, "na_values")
                for item in self.list(record["na_values"], "na_values")
            ),
            training=self.training(record["training"], body),
        )

    def feature(self, item: Any, where: str) -> Feature:
        self.keys(item, ["name", "kind", "type", "categories"], where)
        name = self.text(item["name"], f"{where}.name")
        if item["kind"] not in list(Kind) or item["type"] not in list(ValueType):
            raise ModelFileError(f"{where}: unknown kind or type")
        kind, value_type = Kind(item["kind"]), ValueType(item["type"])
        categories = self.list(item["categories"], f"{where}.categories")
        if (kind is Kind.NUMERIC) != (value_type is ValueType.FLOAT):
            raise ModelFileError(f"{where}: kind {kind} cannot have type {value_type}")
        if kind is Kind.NUMERIC:
            if categories:
                raise ModelFileError(f"{where}: a numeric feature has no categories")
        else:
            for category in categories:
                self.typed(category, PYTHON_TYPES[value_type], f"{where}.categories")
            if len(set(categories)) < len(categories):
                raise ModelFileError(f"{where}.categories: one stands there twice")
        return Feature(name, kind, value_type, tuple(categories))

    def label_tuple(self, item: Any) -> tuple[Label, ...]:
        labels = self.list(item, "labels")
        if not all(type(label) in (str, int, bool, float) for label in labels):
            raise ModelFileError("labels: expected text, numbers or booleans")
        if inf in labels or -inf in labels:
            raise ModelFileError("labels: a number must be finite")
        if len({type(label) for label in labels}) > 1:
            raise ModelFileError("labels: all must be of one type")
        if len(set(labels)) < len(labels):
            raise ModelFileError("labels: one stands there twice")
        return tuple(labels)

    def policy(self, item: Any) -> MissingPolicy:
        if item not in list(MissingPolicy):
            raise ModelFileError("missing: unknown policy")
        return MissingPolicy(item)

    def tree(self, item: Any, policy: MissingPolicy) -> Tree:
        items = self.list(item, "nodes")
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
        self.object(item, where)
        if "branches" not in item:
            self.keys(item, ["value", "weight", "stats"], where)
            return Leaf(
                self.answer(item["value"], f"{where}.value"),
                self.stats(item["stats"], f"{where}.stats"),
                self.weight(item["weight"], f"{where}.weight"),
            )
        self.keys(item, ["branches", "stats", "gain"], where)
        branches = []
        for i, branch in enumerate(self.list(item["branches"], f"{where}.branches")):
            place = f"{where}.branches[{i}]"
            keys = ["feature", "op", "value", "missing", "then", "weight"]
            self.keys(branch, keys, place)
            then = self.integer(branch["then"], f"{place}.then")
            if not position < then < count:
                raise ModelFileError(f"{place}.then: a child stands behind its parent")
            weight = self.weight(branch["weight"], f"{place}.weight")
            branches.append(Branch(self.condition(branch, place), then, weight))
        split = Split(
            tuple(branches),
            self.stats(item["stats"], f"{where}.stats"),
            self.number(item["gain"], f"{where}.gain"),
        )
        if not is_partition(split, self.features):
            raise ModelFileError(
                f"{where}.branches: exactly one must hold for each value of a feature"
            )
        return split

    def rules(self, item: Any) -> RuleSet:
        items = self.list(item, "rules")
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
        self.keys(item, ["id", "if", "value", "weight", "stats"], where)
        identity = self.text(item["id"], f"{where}.id")
        if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
            raise ModelFileError(f"{where}.id: expected ASCII letters and digits")
        conditions = []
        for i, part in enumerate(self.list(item["if"], f"{where}.if")):
            self.keys(part, ["feature", "op", "value", "missing"], f"{where}.if[{i}]")
            conditions.append(self.condition(part, f"{where}.if[{i}]"))
        return Rule(
            identity,
            tuple(conditions),
            self.answer(item["value"], f"{where}.value"),
            self.stats(item["stats"], f"{where}.stats"),
            self.weight(item["weight"], f"{where}.weight"),
        )

    def condition(self, item: Any, where: str) -> Condition:
        position = self.integer(item["feature"], f"{where}.feature")
        if not 0 <= position < len(self.features):
            raise ModelFileError(f"{where}.feature: there is no feature {position}")
        feature = self.features[position]
        if item["op"] not in list(Op):
            raise ModelFileError(f"{where}.op: unknown")
        op = Op(item["op"])
        missing = self.typed(item["missing"], bool, f"{where}.missing")
        value = item["value"]
        place = f"{where}.value"
        if (op in (Op.IN, Op.NOT_IN)) != (feature.kind is Kind.CATEGORICAL):
            raise ModelFileError(f"{where}.op: not for a {feature.kind} feature")
        if feature.kind is Kind.NUMERIC:
            number = inf if value == "inf" else self.number(value, place)
            return Condition(position, op, number, missing)
        if feature.kind is Kind.ORDINAL:
            self.known(value, feature, place)
            return Condition(position, op, value, missing)
        values = self.list(value, place)
        for category in values:
            self.known(category, feature, place)
        if len(set(values)) < len(values):
            raise ModelFileError(f"{place}: a category stands there twice")
        return Condition(position, op, tuple(values), missing)

    def known(self, value: Any, feature: Feature, where: str) -> Category:
        category: Category = self.typed(value, PYTHON_TYPES[feature.type], where)
        if category not in feature.categories:
            raise ModelFileError(f"{where}: not a category of {feature.name!r}")
        return category

    def answer(self, value: Any, where: str) -> Label:
        if not self.labels:
            return self.number(value, where)
        if type(value) is not type(self.labels[0]) or value not in self.labels:
            raise ModelFileError(f"{where}: not one of the labels")
        label: Label = value
        return label

    def stats(self, item: Any, where: str) -> Stats:
        if self.labels:
            weights = tuple(self.weight(w, where) for w in self.list(item, where))
            if len(weights) != len(self.labels) or not 0 < sum(weights) < inf:
                raise ModelFileError(f"{where}: expected one weight for each label")
            return ClassCounts(weights)
        self.keys(item, ["weight", "mean", "sse"], where)
        weight = self.weight(item["weight"], where)
        if not weight:
            raise ModelFileError(f"{where}: expected a weight above 0")
        return Moments(
            weight,
            self.number(item["mean"], where),
            None if item["sse"] is None else self.weight(item["sse"], where),
        )

    def training(self, item: Any, body: Body) -> Training | None:
        if item is None:
            return None
        needed = ["source", "rows", "columns", "quality", "validation"]
        counted = ["rules", "validation_rules"]  # which need not be there
        given = [key for key in counted if key in self.object(item, "training")]
        self.keys(item, [*needed, *given], "training")
        deciding = (
            len(body.rules) + 1
            if isinstance(body, RuleSet)
            else sum(isinstance(node, Leaf) for node in body.nodes)
        )
        columns = self.list(item["columns"], "training.columns")
        if len(columns) != len(self.features):
            raise ModelFileError("training.columns: expected one for each feature")
        return Training(
            self.text(item["source"], "training.source"),
            self.integer(item["rows"], "training.rows"),
            tuple(
                self.column(c, f"training.columns[{i}]") for i, c in enumerate(columns)
            ),
            self.quality(item["quality"], "training.quality"),
            self.quality(item["validation"], "training.validation"),
            *(
                (
                    self.tallies(item[key], deciding, f"training.{key}")
                    if key in given
                    else ()
                )
                for key in counted
            ),
        )

    def tallies(self, item: Any, deciding: int, where: str) -> tuple[RuleTally, ...]:
        items = self.list(item, where)
        if len(items) != deciding:
            raise ModelFileError(f"{where}: expected {deciding}, one for each rule")
        return tuple(
            self.tally(entry, f"{where}[{i}]") for i, entry in enumerate(items)
        )

    def tally(self, item: Any, where: str) -> RuleTally:
        if len(self.list(item, where)) != 4:
            raise ModelFileError(f"{where}: expected four numbers")
        return RuleTally(
            self.integer(item[0], where),
            self.weight(item[1], where),
            self.integer(item[2], where),
            self.weight(item[3], where),
        )

    def column(self, item: Any, where: str) -> ColumnSummary:
        self.keys(item, ["missing", "low", "high"], where)
        bounds: list[float | None] = []
        for key in ("low", "high"):
            value = item[key]
            if value in ("inf", "-inf"):
                bounds.append(float(value))
            else:
                bounds.append(None if value is None else self.number(value, where))
        return ColumnSummary(self.integer(item["missing"], where), *bounds)

    def quality(self, item: Any, where: str) -> Quality | None:
        if item is None:
            return None
        if self.labels:
            self.keys(item, ["confusion"], where)
            rows = self.list(item["confusion"], where)
            size = len(self.labels)
            confusion = tuple(
                tuple(self.integer(n, where) for n in self.list(row, where))
                for row in rows
            )
            if len(confusion) != size or any(len(row) != size for row in confusion):
                raise ModelFileError(f"{where}: expected {size} rows of {size} counts")
            return ClassQuality(confusion)
        names = ["rows", "mean_absolute_error", "root_mean_squared_error", "r_squared"]
        self.keys(item, names, where)
        r_squared = item["r_squared"]
        return ValueQuality(
            self.integer(item["rows"], where),
            self.number(item["mean_absolute_error"], where),
            self.number(item["root_mean_squared_error"], where),
            None if r_squared is None else self.number(r_squared, where),
        )

    @staticmethod
    def object(item: Any, where: str) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise ModelFileError(f"{where}: expected an object")
        return item

    def keys(self, item: Any, names: Sequence[str], where: str) -> None:
        self.object(item, where)
        for name in names:
            if name not in item:
                raise ModelFileError(f'{where}: "{name}" is not there')
        for name in item:
            if name not in names:
                raise ModelFileError(f"{where}: {name!r} is not known")

    @staticmethod
    def typed(value: Any, kind: type, where: str) -> Any:
        if type(value) is not kind:
            raise ModelFileError(f"{where}: expected {kind.__name__}")
        return value

    def list(self, value: Any, where: str) -> list[Any]:
        items: list[Any] = self.typed(value, list, where)
        return items

    def text(self, value: Any, where: str) -> str:
        return str(self.typed(value, str, where))

    def integer(self, value: Any, where: str) -> int:
        if self.typed(value, int, where) < 0:
            raise ModelFileError(f"{where}: expected a number of at least 0")
        return int(value)

    @staticmethod
    def number(value: Any, where: str) -> float:
        if type(value) not in (int, float) or abs(value) > 1.7976931348623157e308:
            raise ModelFileError(f"{where}: expected a finite number")
        return float(value)

    def weight(self, value: Any, where: str) -> float:
        number = self.number(value, where)
        if number < 0:
            raise ModelFileError(f"{where}: expected a number of at least 0")
        return number
