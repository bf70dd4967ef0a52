"""Program -> JSON, in one canonical form."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from math import inf, isfinite
from typing import Any

from treecompile import __version__
from treecompile.model import ir
from treecompile.model.file.limits import check_size, check_text

FORMAT = "treecompile model"
VERSION = 1


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
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n".join("  " + _json(item) for item in value)
            lines.append(f' "{key}": [\n{items}\n ]')
        else:
            lines.append(f' "{key}": {_json(value)}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    check_text(text)
    return text


def sha256(program: ir.AnyProgram) -> str:
    """The identity of a model: a hash of its content without the tool's version."""
    record = {"format": FORMAT, "version": VERSION, **_program_record(program)}
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _program_record(program: ir.AnyProgram) -> dict[str, Any]:
    body = program.body
    record: dict[str, Any] = {
        "target": program.target,
        "algorithm": program.algorithm,
        "options": dict(program.options),
        "na_values": list(program.na_values),
        **({"dates": list(program.dates)} if program.dates else {}),
        "training": _training_record(program.training),
        "labels": list(body.labels),
        "features": [asdict(feature) for feature in body.features],
    }
    if isinstance(body, ir.Tree):
        record["missing"] = body.missing.value
        record["nodes"] = [_node_record(node) for node in body.nodes]
    elif isinstance(body, ir.Forest):
        record["forest"] = _forest_record(body)
        record["trees"] = [_member_record(member) for member in body.members]
    else:
        record["rules"] = [_rule_record(rule) for rule in (*body.rules, body.default)]
    return record


def _node_record(node: ir.Node) -> dict[str, Any]:
    if isinstance(node, ir.Leaf):
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
        "op": condition.op.value,
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
