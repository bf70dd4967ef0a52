"""Program -> JSON, in one canonical form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from itertools import islice
from math import inf, isfinite
from typing import Any

from treecompile import __version__
from treecompile.model import ir
from treecompile.model.collector import paused
from treecompile.model.file.limits import check_size, check_text

FORMAT = "treecompile model"
VERSION = 2
PART = 1000  # nodes or rules that are hashed together


def dumps(program: ir.AnyProgram) -> str:
    """The text of a model file: one line for each node, rule, tree or feature."""
    check_size(program.body)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "tool": __version__,
        **_program_record(program),
    }
    lines = []
    for key, value in record.items():
        if isinstance(value, Iterator):
            items = ",\n".join("  " + _json(item) for item in value)
            written = f"[\n{items}\n ]" if items else "[]"
        else:
            written = _json(value)
        lines.append(f' "{key}": {written}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    check_text(text)
    return text


def sha256(program: ir.AnyProgram) -> str:
    """The identity of a model: a hash of its content without the tool's version."""
    record = {"format": FORMAT, "version": VERSION, **_program_record(program)}
    digest = hashlib.sha256()
    with paused():
        for text in _canonical(record):
            digest.update(text.encode("ascii"))
    return digest.hexdigest()


def _canonical(record: Mapping[str, Any]) -> Iterator[str]:
    """The JSON of a record with sorted keys and no blanks, in parts.

    The nodes of a large tree, as one text, would need more memory than the tree.
    """
    encode = json.JSONEncoder(
        sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode
    before = "{"
    for key, value in sorted(record.items()):
        yield f'{before}"{key}":'
        before = ","
        if not isinstance(value, Iterator):
            yield encode(value)
            continue
        comma = "["
        while some := list(islice(value, PART)):
            yield comma + encode(some)[1:-1]
            comma = ","
        yield "]" if comma == "," else "[]"
    yield "}"


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _program_record(program: ir.AnyProgram) -> dict[str, Any]:
    """What makes a model; its many nodes, trees or rules are made one by one."""
    body = program.body
    record: dict[str, Any] = {
        "target": program.target,
        "algorithm": program.algorithm,
        "options": dict(program.options),
        "na_values": list(program.na_values),
        "training": _training_record(program.training),
        "labels": list(body.labels),
        "features": (asdict(feature) for feature in body.features),
    }
    if isinstance(body, ir.Tree):
        record["nodes"] = map(_node_record, body.nodes)
    elif isinstance(body, ir.Forest):
        record["forest"] = _forest_record(body)
        record["trees"] = map(_member_record, body.members)
    else:
        record["rules"] = map(_rule_record, (*body.rules, body.default))
    return record


def _node_record(node: ir.Node) -> dict[str, Any]:
    if isinstance(node, ir.Leaf):
        return {
            "value": node.value,
            "weight": node.weight,
            "stats": _stats_record(node.stats),
        }
    branches = []
    for branch in node.branches:
        record = _condition_record(branch.when)
        record["then"] = branch.then
        record["weight"] = branch.weight
        branches.append(record)
    stats = _stats_record(node.stats)
    return {"branches": branches, "stats": stats, "gain": node.gain}


def _forest_record(forest: ir.Forest) -> dict[str, Any]:
    """How the trees are added up, and what follows from the sums."""
    kept = ("features", "labels", "members")
    names = [field.name for field in fields(forest) if field.name not in kept]
    return {name: getattr(forest, name) for name in names}


def _member_record(member: ir.Member) -> dict[str, Any]:
    nodes = [_member_node(member, node) for node in member.tree.nodes]
    return {"outputs": list(member.outputs), "nodes": nodes}


def _member_node(member: ir.Member, node: ir.Node) -> dict[str, Any]:
    """A leaf with what it adds, or a test with the places of its two children."""
    if isinstance(node, ir.Leaf):
        assert isinstance(node.value, int)
        return {"values": list(member.values[node.value]), "weight": node.weight}
    then, otherwise = node.branches
    return {
        **_condition_record(then.when),
        "then": then.then,
        "else": otherwise.then,
        "weight": node.stats.weight,
        "gain": node.gain,
    }


def _rule_record(rule: ir.Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "if": [_condition_record(condition) for condition in rule.conditions],
        "value": rule.value,
        "weight": rule.weight,
        "stats": _stats_record(rule.stats),
    }


def _condition_record(condition: ir.Condition) -> dict[str, Any]:
    value: Any = condition.value
    if value == inf:
        value = "inf"  # JSON has no infinities
    return {
        "feature": condition.feature,
        "op": condition.op,
        "value": list(value) if isinstance(value, tuple) else value,
        "missing": condition.missing,
    }


def _stats_record(stats: ir.Stats) -> Any:
    if isinstance(stats, ir.ClassCounts):
        return list(stats.weights)
    return {"weight": stats.weight, "mean": stats.mean, "sse": stats.sse}


def _training_record(training: ir.Training | None) -> Any:
    if training is None:
        return None
    more = {
        "rules": list(map(_tally_record, training.rules)),
        "validation_rules": list(map(_tally_record, training.validation_rules)),
        "estimate": training.estimate and asdict(training.estimate),
    }
    return {
        "source": training.source,
        "rows": training.rows,
        "columns": [
            {"missing": c.missing, "low": _bound(c.low), "high": _bound(c.high)}
            for c in training.columns
        ],
        "quality": training.quality and asdict(training.quality),
        "validation": training.validation and asdict(training.validation),
        **{key: record for key, record in more.items() if record},
    }


def _tally_record(tally: ir.RuleTally) -> list[Any]:
    """The four counts; then the rows by label, or mean and squares, if known."""
    counts = [tally.matched, tally.matched_errors, tally.decided, tally.errors]
    if isinstance(tally.actual, ir.ClassCounts):
        return [*counts, list(map(int, tally.actual.weights))]
    if isinstance(tally.actual, ir.Moments):
        return [*counts, [tally.actual.mean, tally.actual.sse]]
    return counts


def _bound(number: float | None) -> float | str | None:
    return number if number is None or isfinite(number) else str(number)
