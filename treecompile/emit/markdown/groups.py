"""Divides many rules into groups of readable size, with a table of contents.

The rules of a tree are grouped by their position in it: a group is a branch with few
leaves, or neighbouring branches below one split. An ordered list is cut into groups of
equal size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.markdown import md
from treecompile.emit.markdown.rules import RuleText, RuleWriter
from treecompile.emit.markdown.survey import SHOWN, ShownRules
from treecompile.model.ir import Body, Condition, Rule, Split, Tree
from treecompile.model.paths import upwards
from treecompile.model.semantics import leaf_positions
from treecompile.rules.extract import Tests, shared_path

FEW = 25  # rules that need no grouping, and the maximum in a group
SOME = 10  # the maximum in a group if there are not MANY rules
MANY = 200


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Consecutive rules, and the tests that all of them have."""

    rules: tuple[Rule, ...]
    common: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class GroupText:
    title: str  # R26 to R50; "" for rules that share nothing
    where: str  # All require heat > 20. Missing values included: heat.
    table: str  # one row for each rule; or "", and:
    rules: tuple[RuleText, ...] = ()  # a section for each rule


def grouped(
    writer: RuleWriter,
    body: Body,
    shown: ShownRules,
) -> tuple[str, list[GroupText]]:
    """Return the table of contents, with a link to each group, and the groups.

    Few rules have no contents, and a section each. In a summary there is one group.
    """
    rules, tests = shown.rules.rules, shown.tests
    if shown.is_summary:
        return "", [_most_frequent(writer)]
    if len(rules) <= FEW:
        return "", _sections(writer, body, tests)
    if isinstance(body, Tree):
        most = FEW if len(rules) > MANY else SOME
        groups = groups_of_tree(body, tests, rules, most)
    else:
        starts = range(0, len(rules), FEW)
        groups = [RuleGroup(rules[start : start + FEW], ()) for start in starts]
    order = ["Order"] if writer.ordered else []
    texts, links, done = [], [], 0
    for group in groups:
        first, last = done + 1, done + len(group.rules)
        done = last
        start, stop = group.rules[0].id, group.rules[-1].id
        rows = [writer.row(rule, group.common) for rule in group.rules]
        title = f"{start} to {stop}" if last > first else start
        if writer.ordered:
            title = f"Rules {first} to {last}" if last > first else f"Rule {first}"
            rows = [[str(n), *row] for n, row in enumerate(rows, start=first)]
        common, where = _shared(writer, group)
        table = md.table([*order, *writer.heads()], rows)
        texts.append(GroupText(title, where, table))
        link = f"[{title}](#{title.lower().replace(' ', '-')})"
        cases = [] if writer.ordered else [common or "any"]
        links.append([link, *cases, _answers(group.rules)])
    where = "" if writer.ordered else "Cases where"
    heads = filter(None, ["Rules", where, "Answers"])
    return md.table(list(heads), links), texts


def _shared(writer: RuleWriter, group: RuleGroup) -> tuple[str, str]:
    """Return the common tests of a group, and a sentence about them."""
    common, remark = writer.common(group.common)
    who = (
        "This rule requires" if len(group.rules) == 1 else "All of these rules require"
    )
    return common, f"{who} **{common}**.{remark}" if common else ""


def _sections(
    writer: RuleWriter, body: Body, tests: Sequence[Tests | None]
) -> list[GroupText]:
    """Write few rules, each by itself, under the tests that it shares with others."""
    rules = writer.rules.rules
    groups = [RuleGroup(rules, ())]
    most = min(SOME, max(4, (len(rules) + 1) // 2))
    if isinstance(body, Tree) and len(rules) > most:
        groups = groups_of_tree(body, tests, rules, most)
    texts, done = [], 0
    for group in groups:
        is_alone = len(group.rules) == 1
        shared = () if is_alone else group.common
        sections = tuple(
            writer.rule(place, rule, shared)
            for place, rule in enumerate(group.rules, start=done + 1)
        )
        done += len(group.rules)
        title, where = "", ""
        if shared:
            title = f"{group.rules[0].id} to {group.rules[-1].id}"
            _, where = _shared(writer, group)
        texts.append(GroupText(title, where, "", sections))
    return texts


def _most_frequent(writer: RuleWriter) -> GroupText:
    """Write the rules with most cases; rules of a list keep their order."""
    rules = writer.rules.rules
    ranked = sorted(
        range(len(rules)), key=lambda place: -writer.rows[rules[place].id].rows
    )
    shown = [rules[place] for place in sorted(ranked[:SHOWN])]
    if not writer.ordered:
        shown.sort(key=lambda rule: -writer.rows[rule.id].rows)
    rows = [writer.row(rule, ()) for rule in shown]
    count = len(writer.survey.ids)
    where = f"Of {count:,} rules, these {len(shown)} decide most cases:"
    title = f"The {len(shown)} most frequent rules"
    return GroupText(title, where, md.table(writer.heads(), rows))


def _answers(rules: Sequence[Rule]) -> str:
    """Count rules by answer: "no: 3, yes: 2"; or return the range of numbers."""
    values = [rule.value for rule in rules]
    numbers = [value for value in values if type(value) is float]
    if len(numbers) == len(values):
        low, high = (md.answer(end, ()) for end in (min(numbers), max(numbers)))
        return f"{low} to {high}" if low != high else low
    counted = Counter(md.value(value) for value in values)
    return md.listing([f"{value}: {count}" for value, count in counted.most_common()])


# ---------------------------------------------------------------- where to cut


def groups_of_tree(
    tree: Tree, tests: Sequence[Tests | None], rules: Sequence[Rule], most: int
) -> list[RuleGroup]:
    """Return the largest branches of up to `most` leaves; join small neighbours."""
    spans = _spans(tree, tests)
    parents = {
        branch.then: position
        for position, node in enumerate(tree.nodes)
        if isinstance(node, Split)
        for branch in node.branches
    }
    cuts: list[tuple[int, int, int]] = []  # a node, the start and the end of its rules
    stack = [0]
    while stack:
        position = stack.pop()
        node, (start, stop) = tree.nodes[position], spans[position]
        if stop == start:
            continue
        if stop - start > most and isinstance(node, Split):
            stack.extend(branch.then for branch in reversed(node.branches))
            continue
        if cuts and stop - cuts[-1][1] <= most:
            # Join neighbours below one split, unless that is the root, whose rules have
            # nothing in common.
            above = cuts[-1][0]
            if not _within(spans[above], start, stop):
                above = parents.get(above, 0)
            if above and _within(spans[above], start, stop):
                cuts[-1] = (above, cuts[-1][1], stop)
                continue
        cuts.append((position, start, stop))
    return [
        RuleGroup(tuple(rules[start:stop]), shared_path(tests[position] or {}))
        for position, start, stop in cuts
    ]


def _within(span: tuple[int, int], start: int, stop: int) -> bool:
    return span[0] <= start and stop <= span[1]


def _spans(tree: Tree, tests: Sequence[Tests | None]) -> list[tuple[int, int]]:
    """Return the start and end of the rules below each node, without dead rules."""
    spans = [(0, 0)] * len(tree.nodes)
    count = 0
    for leaf in leaf_positions(tree):
        start = count
        count += tests[leaf] is not None
        spans[leaf] = (start, count)
    for position, node in upwards(tree):
        if isinstance(node, Split):
            first, last = node.branches[0], node.branches[-1]
            spans[position] = (spans[first.then][0], spans[last.then][1])
    return spans
