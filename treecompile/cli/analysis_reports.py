"""The results of `check` and `diff`: a summary and the findings.

Example rows are JSON objects, so that they can be pasted into a test or a table.
Infinities are written as the texts "inf" and "-inf", which JSON does not have.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping

from treecompile.cli.json_reports import contradiction, first, plain
from treecompile.cli.reports import more
from treecompile.inspect.check import Check, Fault, Finding
from treecompile.inspect.diff import Diff
from treecompile.model import words
from treecompile.model.ir import RuleSet, Tree
from treecompile.tables.raw import counted

SHOWN = 10

TITLES = {
    Fault.UNREACHABLE: "unreachable: conditions that contradict each other",
    Fault.SHADOWED: "shadowed: earlier rules take every row of these",
    Fault.CONFLICT: "conflicts: both rules match the row, with different answers",
    Fault.OVERLAP: "overlaps: both rules match the row, with the same answer",
    Fault.INCOMPLETE: "not covered: the default decides rows such as",
}


def row(values: Mapping[str, object]) -> str:
    return json.dumps(plain(values), ensure_ascii=False)


# ---------------------------------------------------------------- check


def checked(
    name: str, result: Check, most: int = SHOWN, accepted: Container[Fault] = ()
) -> Iterator[str]:
    """The result of `check` as text; accepted findings are counted, but not listed."""
    if isinstance(result.body, Tree):
        yield from _checked_tree(name, result, most)
        return
    yield f"{name}: {counted(len(result.body.rules), 'rule')} and a default"
    yield from _answers(result)
    yield from _findings(result, most, accepted)
    if result.undecided:
        yield ""
        yield "undecided within the budget (see --budget)"
        yield from (f"  {question}" for question in result.undecided[:most])
        yield from more(len(result.undecided) - most)


def _answers(result: Check) -> Iterator[str]:
    counts = result.counts

    def is_open(word: str) -> bool:
        return any(word in question for question in result.undecided)

    pairs = counts[Fault.CONFLICT] + counts[Fault.OVERLAP]
    exclusive = "undecided" if is_open("overlap") else "yes"
    if pairs:
        exclusive = (
            f"no, {counted(pairs, 'pair')} of rules can match the same row,"
            f" {counts[Fault.CONFLICT]} with different answers"
        )
    yield f"  mutually exclusive: {exclusive}"
    complete = "undecided" if is_open("complete") else "yes"
    if counts[Fault.INCOMPLETE]:
        complete = "no, the default decides some rows"
    yield f"  complete without the default: {complete}"
    for fault in (Fault.SHADOWED, Fault.UNREACHABLE):
        number = str(counts[fault] or "none")
        if fault is Fault.SHADOWED and is_open("decides"):
            number += " known, others undecided"
        yield f"  {fault.value}: {number}"


def _checked_tree(name: str, result: Check, most: int) -> Iterator[str]:
    number = result.counts[Fault.UNREACHABLE]
    yield f"{name}: a tree"
    yield "  every row reaches exactly one leaf, even with missing or unseen values"
    yield f"  unreachable leaves: {number or 'none'}"
    if result.only_unknown:
        shown = words.enumerated(result.only_unknown, most)
        yield f"  reached only with a missing or unseen value: {shown}"
    yield from _findings(result, most)


def _findings(
    result: Check, most: int, accepted: Container[Fault] = ()
) -> Iterator[str]:
    for fault in Fault:
        if fault in accepted:
            continue
        if findings := first(result, most, fault):
            yield ""
            yield TITLES[fault]
            yield from (f"  {_finding(finding, result)}" for finding in findings)
            yield from more(result.counts[fault] - len(findings))


def _finding(finding: Finding, result: Check) -> str:
    if finding.row is None:
        return f"{finding.rules[0]}: {' and '.join(contradiction(finding, result))}"
    shown = row(finding.row)
    match finding.fault:
        case Fault.INCOMPLETE:
            return shown
        case Fault.SHADOWED:
            return f"{finding.rules[0]}: {finding.decider} decides {shown}"
    is_first = finding.decider == finding.rules[0]
    decides = "" if is_first else f" ({finding.decider} decides)"
    names = list(finding.rules)
    if finding.fault is Fault.CONFLICT:
        assert isinstance(result.body, RuleSet)
        values = {rule.id: rule.value for rule in result.body.rules}
        names = [f"{name} ({words.value(values[name])})" for name in names]
    return f"{' and '.join(names)}: {shown}{decides}"


# ---------------------------------------------------------------- diff


def differing(result: Diff, source: str = "", most: int = SHOWN) -> Iterator[str]:
    """The result of `diff` as text."""
    if result.same:
        yield "the same everywhere"
    elif not result.regions:
        yield "no difference found within the budget: undecided (see --budget)"
    else:
        yield f"different in {counted(len(result.regions), 'region')}" + (
            "" if result.complete else " at least: the budget ended the search"
        )
    if result.rows is not None:
        yield (
            f"{result.differing} of {counted(result.rows, 'row')} of {source}"
            " get a different answer"
        )
    if result.regions:
        yield ""
    for number, region in enumerate(result.regions[:most], start=1):
        rows = "" if region.rows is None else f" ({counted(region.rows, 'row')})"
        change = f"{words.value(region.old)} -> {words.value(region.new)}"
        where = " and ".join(words.conjunction(region.tests, result.features))
        yield f"{number}. {change}{rows} where {where or 'anything holds'}"
        yield f"   {row(region.row)}"
    yield from more(len(result.regions) - most)
