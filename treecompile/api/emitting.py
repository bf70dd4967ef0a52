"""Compile a program, and find out what its review page tells about it.

The compiler neither checks nor compares models: what `check` and `diff` find is put
into words here, and handed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from treecompile.emit import compiler
from treecompile.emit.compiler import Artefact
from treecompile.emit.html.facts import (
    ChangedFact,
    ChangeFacts,
    CheckFacts,
    FactGroup,
    FoundFact,
    ReviewFacts,
)
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.inspect.check import Check, Fault, Finding, check
from treecompile.inspect.diff import diff
from treecompile.inspect.differences import Diff
from treecompile.model import words
from treecompile.model.errors import TargetError
from treecompile.model.forests import single
from treecompile.model.ir import AnyProgram, Program, RuleSet, Tree, Value
from treecompile.rules.language.document import read_model

LISTED = 10  # findings of each kind, and regions
STEPS = 2_000  # of a search: a second or two at most

TITLES = {
    Fault.UNREACHABLE: "Unreachable: the conditions contradict each other",
    Fault.SHADOWED: "Shadowed: earlier rules take every row of these",
    Fault.CONFLICT: "Conflicts: both rules match the row, with different answers",
    Fault.OVERLAP: "Overlaps: both rules match the row, with the same answer",
    Fault.INCOMPLETE: "Not covered: the default decides",
}


def emit(
    program: AnyProgram,
    target: str,
    options: EmitOptions,
    identity: str = "",
) -> Artefact:
    """Compile a program for a target; `identity` is its SHA-256, if already known."""
    facts = None
    if read_target(target).lowering == compiler.HTML:
        facts = review_facts(single(program, "a review page"), options.against)
    return compiler.emit(program, target, options, identity, facts)


def review_facts(program: Program, against: str = "") -> ReviewFacts:
    """What `check` finds, and where the model in the file `against` differs."""
    changes = None
    if against:
        changes = _changes(read_model(against), program, against)
    return ReviewFacts(_checked(program), changes)


# ---------------------------------------------------------------- check


def _checked(program: Program) -> CheckFacts:
    try:
        found = check(program, STEPS, LISTED)
    except TargetError as error:
        return CheckFacts((f"Not checked: {error}.",))
    groups = tuple(
        FactGroup(
            TITLES[fault],
            tuple(_fact(each, found) for each in findings),
            found.counts[fault] - len(findings),
        )
        for fault in Fault
        if (findings := [f for f in found.findings if f.fault is fault][:LISTED])
    )
    return CheckFacts(tuple(_summary(found)), groups)


def _summary(found: Check) -> Iterator[str]:
    counts = found.counts
    if isinstance(found.body, Tree):
        yield "Every row is decided, including rows with missing or unseen values."
        if found.only_unknown:
            some = words.enumerated(found.only_unknown, LISTED)
            yield f"Reached only with a missing or unseen value: {some}."
    elif not found.undecided and not any(counts.values()):
        yield "No two rules match the same row, and every rule decides some row."
    if not counts[Fault.UNREACHABLE] and not counts[Fault.SHADOWED]:
        yield "No rule is unreachable."
    pairs = counts[Fault.CONFLICT] + counts[Fault.OVERLAP]
    if pairs:
        yield (
            f"{words.quantity(pairs, 'pair')} of rules can match the same row,"
            f" {counts[Fault.CONFLICT]} with different answers: the rule that comes"
            " first decides."
        )
    for question in found.undecided[:LISTED]:
        yield f"Not settled: {question}."


def _fact(finding: Finding, found: Check) -> FoundFact:
    if finding.row is None:
        feature = found.body.features[finding.tests[0].feature]
        tests = (words.phrase([test], feature) for test in finding.tests)
        return FoundFact(f"{finding.rules[0]}: {' and '.join(tests)}")
    names = list(finding.rules)
    if finding.fault is Fault.CONFLICT and isinstance(found.body, RuleSet):
        values = {rule.id: rule.value for rule in found.body.rules}
        names = [f"{name} ({words.value(values[name])})" for name in names]
    decides = f"; {finding.decider} decides" if finding.decider not in names else ""
    return FoundFact(" and ".join(names) + decides, _row(finding.row))


def _row(values: Mapping[str, Value]) -> str:
    return json.dumps(values, ensure_ascii=False)


# ---------------------------------------------------------------- changes


def _changes(old: Program, new: Program, path: str) -> ChangeFacts:
    try:
        found = diff(old, new, budget=STEPS)
    except TargetError as error:
        return ChangeFacts((f"Not compared with {Path(path).name}: {error}.",))
    regions = tuple(
        ChangedFact(
            words.value(region.old),
            words.value(region.new),
            " and ".join(words.conjunction(region.tests, found.features)) or "always",
            _row(region.row),
        )
        for region in found.regions[:LISTED]
    )
    return ChangeFacts(
        (f"Compared with {Path(path).name}. {_difference(found)}",),
        regions,
        len(found.regions) - len(regions),
    )


def _difference(found: Diff) -> str:
    if found.same:
        return "Both give the same answer to every row."
    if not found.regions:
        return "No difference was found, but not every row could be compared."
    count = words.quantity(len(found.regions), "region")
    rest = "" if found.complete else " at least; not every row could be compared"
    return f"The answers differ in {count}{rest}."
