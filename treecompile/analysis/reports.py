"""What `check` and `diff` print: the summary first, then what was found, or JSON.

Witness rows are JSON objects in the text too, so that a row can be pasted into a test
or a table. JSON has no infinities: Python's reader takes them as they are written here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treecompile import words
from treecompile.analysis.check import Check, Fault, Finding
from treecompile.analysis.diff import Diff, Difference
from treecompile.ir import Condition, Feature, RuleSet, Tree

SHOWN = 10

TITLES = {
    Fault.UNREACHABLE: "unreachable: conditions that contradict each other",
    Fault.SHADOWED: "shadowed: earlier rules take every row of these",
    Fault.CONFLICT: "conflicts: both hold for the row and conclude differently",
    Fault.OVERLAP: "overlaps: both hold for the row and conclude the same",
    Fault.INCOMPLETE: "not covered: the default decides rows such as",
}


def row(values: Mapping[str, object]) -> str:
    """A row that can be pasted."""
    return json.dumps(values, ensure_ascii=False)


# ---------------------------------------------------------------- check


def checked(name: str, result: Check, most: int = SHOWN) -> Iterator[str]:
    """The result of `check` for people."""
    if isinstance(result.body, Tree):
        yield from _checked_tree(name, result, most)
        return
    yield f"{name}: {_count(len(result.body.rules), 'rule')} and a default"
    yield from _answers(result, result.body)
    for fault in Fault:
        findings = [f for f in result.findings if f.fault is fault]
        if findings:
            yield ""
            yield TITLES[fault]
            for finding in findings[:most]:
                yield f"  {_finding(finding, result)}"
            yield from _more(result.counts[fault] - len(findings[:most]))
    yield from _undecided(result.undecided, most)


def _answers(result: Check, rules: RuleSet) -> Iterator[str]:
    counts = result.counts
    pairs = counts[Fault.CONFLICT] + counts[Fault.OVERLAP]
    is_open = any("overlap" in question for question in result.undecided)
    exclusive = "undecided" if is_open else "yes"
    if pairs:
        exclusive = (
            f"no, {_count(pairs, 'pair')} of rules hold for one row,"
            f" {counts[Fault.CONFLICT]} with different conclusions"
        )
    yield f"  mutually exclusive: {exclusive}"
    is_open = any("complete" in question for question in result.undecided)
    complete = "undecided" if is_open else "yes"
    if counts[Fault.INCOMPLETE]:
        complete = "no, the default decides some rows"
    yield f"  complete without the default: {complete}"
    is_open = any("decides" in question for question in result.undecided)
    for fault in (Fault.SHADOWED, Fault.UNREACHABLE):
        number = str(counts[fault] or "none")
        if fault is Fault.SHADOWED and is_open:
            number += " known, others undecided"
        yield f"  {fault.value}: {number}"


def _checked_tree(name: str, result: Check, most: int) -> Iterator[str]:
    number = result.counts[Fault.UNREACHABLE]
    yield f"{name}: a tree"
    yield ("  every row reaches exactly one leaf, with missing and unseen values, too")
    yield f"  unreachable leaves: {number or 'none'}"
    if result.only_unknown:
        shown = ", ".join(result.only_unknown[:most])
        rest = len(result.only_unknown) - most
        shown += f" and {rest} more" if rest > 0 else ""
        yield f"  reached only with a missing or unseen value: {shown}"
    if number:
        yield ""
        yield TITLES[Fault.UNREACHABLE]
        for finding in result.findings[:most]:
            yield f"  {_finding(finding, result)}"
        yield from _more(number - most)


def _finding(finding: Finding, result: Check) -> str:
    if finding.row is None:
        feature = result.body.features[finding.tests[0].feature]
        tests = " and ".join(words.phrase([test], feature) for test in finding.tests)
        return f"{finding.rules[0]}: {tests}"
    shown = row(finding.row)
    match finding.fault:
        case Fault.INCOMPLETE:
            return shown
        case Fault.SHADOWED:
            return f"{finding.rules[0]}: {finding.decider} decides {shown}"
    decides = "" if finding.decider == finding.rules[0] else f" ({finding.decider}"
    decides += " decides)" if decides else ""
    assert isinstance(result.body, RuleSet)
    values = {rule.id: rule.value for rule in result.body.rules}
    if finding.fault is Fault.OVERLAP:
        return f"{' and '.join(finding.rules)}: {shown}{decides}"
    said = (f"{name} ({words.value(values[name])})" for name in finding.rules)
    return f"{' and '.join(said)}: {shown}{decides}"


def checked_json(result: Check, most: int) -> str:
    """The result of `check` for machines."""
    left = dict.fromkeys(Fault, most)
    found = []
    for finding in result.findings:
        if left[finding.fault] > 0:
            left[finding.fault] -= 1
            found.append(_finding_object(finding, result.body.features))
    return _dumped(
        {
            "counts": {fault.value: n for fault, n in result.counts.items()},
            "findings": found,
            "undecided": list(result.undecided),
        }
    )


def _finding_object(finding: Finding, features: Sequence[Feature]) -> dict[str, object]:
    shown: dict[str, object] = {
        "kind": finding.fault.value,
        "rules": list(finding.rules),
    }
    if finding.row is None:
        feature = features[finding.tests[0].feature]
        shown["if"] = [words.phrase([test], feature) for test in finding.tests]
    else:
        shown["row"] = finding.row
        shown["decided_by"] = finding.decider
    return shown


# ---------------------------------------------------------------- diff


def differing(result: Diff, source: str = "", most: int = SHOWN) -> Iterator[str]:
    """The result of `diff` for people."""
    if result.same:
        yield "the same everywhere"
    elif not result.regions:
        yield "no difference found within the budget: undecided (see --budget)"
    else:
        yield f"different in {_count(len(result.regions), 'region')}" + (
            "" if result.complete else " at least: the budget ended the search"
        )
    if result.rows is not None:
        yield (
            f"{result.differing} of {_count(result.rows, 'row')} of {source}"
            " get another answer"
        )
    if result.regions:
        yield ""
    for number, region in enumerate(result.regions[:most], start=1):
        counted = "" if region.rows is None else f" ({_count(region.rows, 'row')})"
        change = f"{words.value(region.old)} -> {words.value(region.new)}"
        yield f"{number}. {change}{counted} where {_where(region, result.features)}"
        yield f"   {row(region.row)}"
    yield from _more(len(result.regions) - most)


def _where(region: Difference, features: Sequence[Feature]) -> str:
    return " and ".join(_phrases(region.tests, features)) or "anything holds"


def _phrases(tests: Sequence[Condition], features: Sequence[Feature]) -> list[str]:
    return words.conjunction(tests, features)


def differing_json(result: Diff, most: int) -> str:
    """The result of `diff` for machines."""
    regions: list[dict[str, Any]] = []
    for region in result.regions[:most]:
        shown = {
            "if": _phrases(region.tests, result.features),
            "old": region.old,
            "new": region.new,
            "row": region.row,
        }
        if region.rows is not None:
            shown["rows"] = region.rows
        regions.append(shown)
    summary: dict[str, Any] = {
        "same": result.same,
        "complete": result.complete,
        "count": len(result.regions),
    }
    if result.rows is not None:
        summary |= {"rows": result.rows, "differing": result.differing}
    return _dumped({**summary, "regions": regions})


# ---------------------------------------------------------------- both


def _undecided(questions: Sequence[str], most: int) -> Iterator[str]:
    if questions:
        yield ""
        yield "undecided within the budget (see --budget)"
        yield from (f"  {question}" for question in questions[:most])
        yield from _more(len(questions) - most)


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  and {number} more"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _dumped(result: Mapping[str, object]) -> str:
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"
