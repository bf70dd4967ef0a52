"""The reports of commands as JSON.

Infinities are written as the texts "inf" and "-inf", which JSON does not have.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from treecompile.cli import streams
from treecompile.model import ir, words
from treecompile.model.evidence import Evidence, by_id, label_rows, of_nodes, rows_of
from treecompile.model.file.write import sha256
from treecompile.model.paths import depth, kind_of, leaf_count

if TYPE_CHECKING:
    from treecompile.inspect.check import Check, Fault, Finding
    from treecompile.inspect.diff import Diff
    from treecompile.learning.cross_validation import CrossValidation
    from treecompile.learning.pruning import PruningStep
    from treecompile.measure.quality import Evaluation
    from treecompile.verify.verification import Report

Json = dict[str, Any]


def dumped(report: Mapping[str, object]) -> str:
    """Values of other types, which only an engine gives, are written as text."""
    text = json.dumps(
        plain(report), ensure_ascii=False, indent=2, default=str, allow_nan=False
    )
    return text + "\n"


def write(report: Mapping[str, object]) -> None:
    """A report on standard output."""
    streams.write(dumped(report))


def plain(value: Any) -> Any:
    """A value that JSON has: infinities are the texts "inf" and "-inf", NaN is null."""
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


# ---------------------------------------------------------------- models


def model(program: ir.AnyProgram) -> Json:
    """What a model is."""
    body = program.body
    return {
        "kind": kind_of(body),
        "target": program.target,
        "labels": body.labels or None,
        "algorithm": program.algorithm,
        "size": leaf_count(body),
        "depth": depth(body),
        "sha256": sha256(program),
    }


def made(
    program: ir.AnyProgram,
    files: Iterable[str],
    notes: Iterable[str],
    verified: Iterable[Json] = (),
) -> Json:
    """The result of `learn`, `rules` and `build`."""
    training = program.training
    labels = program.body.labels
    expected = training.estimate if training else None
    return {
        "model": model(program),
        "training": training and _quality(labels, training.quality),
        "validation": training and _quality(labels, training.validation),
        "estimate": expected
        and {"folds": expected.folds, "quality": _quality(labels, expected.quality)},
        "files": list(files),
        "notes": list(notes),
        "verified": list(verified),
    }


def shown(
    program: ir.Program,
    importance: Mapping[str, float] | None = None,
    alphas: Sequence[PruningStep] | None = None,
    *,
    stats: bool = False,
) -> Json:
    """The result of `show`."""
    from treecompile.rules.extract import flatten

    rules, rows = flatten(program.body), by_id(program)
    listed = rules.rules
    if isinstance(program.body, ir.RuleSet):
        listed = (*rules.rules, rules.default)
    made = [_rule(rule, rules, rows[rule.id]) for rule in listed]
    report: Json = {"model": model(program), "rules": made}
    if stats:
        report["nodes"] = _nodes(program)
    if importance is not None:
        report["importance"] = importance
    if alphas is not None:
        report["alphas"] = [
            {"alpha": step.alpha, "leaves": step.leaves, "error": step.risk}
            for step in alphas
        ]
    return report


def shown_forest(program: ir.ForestProgram, tree: int | None = None) -> Json:
    """The result of `show` for a forest; with the number of a tree, its nodes."""
    from treecompile.inspect.importance import importances
    from treecompile.measure.forest_importance import split_shares
    from treecompile.model.forest_words import exactness, steps

    forest = program.body
    report: Json = {
        "model": model(program),
        "trees": len(forest.members),
        "steps": steps(forest),
        "exactness": exactness(forest),
        "importance": importances(program),
        "importance_by": "gain" if split_shares(forest).are_gains else "splits",
    }
    if tree is not None:
        report["tree"] = tree
        report["nodes"] = _member_nodes(forest.members[tree - 1])
    return report


def _member_nodes(member: ir.Member) -> list[Json]:
    """The nodes of a tree of a forest, each after its parent."""
    nodes = []
    for place, node in zip(_places(member.tree), member.tree.nodes, strict=True):
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            adds = {"outputs": member.outputs, "adds": member.values[node.value]}
            nodes.append({**place, "weight": node.weight, **adds})
        else:
            nodes.append({**place, "weight": node.stats.weight, "gain": node.gain})
    return nodes


def _places(tree: ir.Tree) -> Iterator[Json]:
    """Where each node hangs: below which other, and by which test."""
    for position, (parent, test) in enumerate(words.tests_above(tree)):
        yield {"parent": parent if position else None, "test": test or None}


def _rule(rule: ir.Rule, rules: ir.RuleSet, rows: Evidence) -> Json:
    tests = words.conjunction(rule.conditions, rules.features)
    cases = _cases(rows, rules.labels)
    return {"id": rule.id, "if": tests, "then": rule.value, **cases}


def _cases(rows: Evidence, labels: Sequence[ir.Label]) -> Json:
    if labels:
        return {"cases": rows.rows, "by_label": rows.answers or None}
    return {"cases": rows.rows, "mean": rows.mean, "deviation": rows.deviation}


def _nodes(program: ir.Program) -> list[Json]:
    """The nodes of a tree, each after its parent."""
    from treecompile.inspect.importance import impurity, measure_of, tree_of
    from treecompile.model.paths import rule_ids

    tree, measure = tree_of(program), measure_of(program)
    ids, rows = rule_ids(tree), of_nodes(program, tree)
    nodes = []
    for position, place in enumerate(_places(tree)):
        node, cases = tree.nodes[position], _cases(rows[position], tree.labels)
        found = impurity(node.stats, measure) if measure else None
        entry = {**place, **cases, "impurity": found}
        if isinstance(node, ir.Leaf):
            nodes.append({**entry, "rule": ids[position]})
        else:
            nodes.append({**entry, "gain": node.gain})
    return nodes


# ---------------------------------------------------------------- quality


def _quality(labels: Sequence[ir.Label], quality: ir.Quality | None) -> Json | None:
    if quality is None:
        return None
    if isinstance(quality, ir.ValueQuality):
        return asdict(quality)
    from treecompile.measure.quality import accuracy

    return {
        "rows": rows_of(quality),
        "accuracy": accuracy(quality),
        "labels": labels,
        "confusion": quality.confusion,
    }


def evaluated(program: ir.AnyProgram, result: Evaluation) -> Json:
    """The result of `evaluate` with a model."""
    from treecompile.measure.statistics import figures

    labels, quality = program.body.labels, result.quality
    actual = label_rows(quality) if isinstance(quality, ir.ClassQuality) else None
    rules = []
    for entry in figures(program.body, result.tallies, actual):
        own: Json = {"id": entry.rule.id, "then": entry.rule.value}
        own |= {"rows": entry.matched, "coverage": entry.coverage}
        own |= {"left": entry.left, "decided": entry.decided}
        if labels:
            own |= {"support": entry.support, "confidence": entry.confidence}
            own |= {"interval": [entry.low, entry.high], "lift": entry.lift}
            own |= {"errors": entry.errors}
        else:
            own |= {"rmse": entry.deviation, "rmse_decided": entry.own_deviation}
        rules.append(own)
    return {
        "model": model(program),
        "quality": _quality(labels, quality),
        "left_out": result.unknown,
        "rules": rules,
    }


def cross_validated(result: CrossValidation) -> Json:
    """The result of `evaluate --cv`."""
    return {
        "target": result.target,
        "algorithm": result.algorithm,
        "seed": result.seed,
        "measure": "accuracy" if result.labels else "root_mean_squared_error",
        "mean": result.mean,
        "deviation": result.deviation,
        "quality": _quality(result.labels, result.quality),
        "folds": [
            {"score": score, "nodes": fold.nodes, "leaves": fold.leaves}
            for score, fold in zip(result.scores, result.folds, strict=True)
        ],
        "notes": result.notes,
    }


# ---------------------------------------------------------------- verify


def verified(name: str, report: Report) -> Json:
    """The result of `verify`, for one artefact."""
    return {
        "artefact": name,
        "as_emitted": report.as_emitted,
        "of_another_model": report.of_another_model,
        "engine": report.engine or None,
        "passed": report.passed,
        "rows": report.rows,
        "complete": report.complete,
        "cells": {"total": report.cells, "entered": report.entered},
        "edges": (
            None
            if report.complete
            else {"total": report.edges, "covered": report.covered}
        ),
        "refused": report.refused or None,
        "mismatches": [
            {"row": each.row, "expected": each.expected, "actual": each.actual}
            for each in report.mismatches
        ],
    }


# ---------------------------------------------------------------- check and diff


def checked(result: Check, most: int, accepted: Container[Fault] = ()) -> Json:
    """The result of `check`, with at most so many findings of each kind."""
    counts = {fault.value: number for fault, number in result.counts.items()}
    listed = (each for each in first(result, most) if each.fault not in accepted)
    findings = [_finding(each, result) for each in listed]
    return {"counts": counts, "findings": findings, "undecided": result.undecided}


def first(result: Check, most: int, *faults: Fault) -> list[Finding]:
    """At most so many findings of each kind, of these kinds or of all."""
    return [
        finding
        for fault in faults or result.counts
        for finding in [f for f in result.findings if f.fault is fault][:most]
    ]


def _finding(finding: Finding, result: Check) -> Json:
    found: Json = {"kind": finding.fault.value, "rules": finding.rules}
    if finding.row is None:
        return {**found, "if": contradiction(finding, result)}
    return {**found, "row": finding.row, "decided_by": finding.decider}


def contradiction(finding: Finding, result: Check) -> list[str]:
    feature = result.body.features[finding.tests[0].feature]
    return [words.phrase([test], feature) for test in finding.tests]


def compared(result: Diff, most: int) -> Json:
    """The result of `diff`, with at most so many regions."""
    report: Json = {"same": result.same, "complete": result.complete}
    report["count"] = len(result.regions)
    if result.rows is not None and result.differing is not None:
        report |= {"rows": result.rows, "differing": result.differing}
    report["regions"] = [
        {
            "if": words.conjunction(region.tests, result.features),
            "old": region.old,
            "new": region.new,
            "row": region.row,
            **({} if region.rows is None else {"rows": region.rows}),
        }
        for region in result.regions[:most]
    ]
    return report
