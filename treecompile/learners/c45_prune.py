"""Pessimistic pruning: from the leaves up, by the errors to expect on new cases.

A split gives way to a leaf, or to its largest branch raised into its place, where that
is expected to err no more. What is expected is the upper end of a confidence interval
around the errors seen in training.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from math import sqrt

from treecompile.learners.c45_draft import Cases, Draft, Floats, Sample

LEVELS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0)
MARGIN = 0.1  # errors by which a simpler tree may be worse


def deviate(cf: float) -> float:
    """How many standard deviations a confidence level is, by interpolation."""
    place = max(1, bisect_left(LEVELS, cf))
    low, high = LEVELS[place - 1], LEVELS[place]
    share = (cf - low) / (high - low)
    return DEVIATES[place - 1] + share * (DEVIATES[place] - DEVIATES[place - 1])


def added_errors(cases: float, errors: float, cf: float) -> float:
    """The errors to expect beside those that were seen."""
    if errors < 1e-6:
        return float(cases * (1 - cf ** (1 / cases)))
    if errors < 0.9999:
        none = added_errors(cases, 0.0, cf)
        return none + errors * (added_errors(cases, 1.0, cf) - none)
    if errors + 0.5 >= cases:
        return 0.67 * (cases - errors)
    z2 = deviate(cf) ** 2
    seen = errors + 0.5
    spread = sqrt(z2 * (seen * (1 - seen / cases) + z2 / 4))
    return cases * (seen + z2 / 2 + spread) / (cases + z2) - errors


def prune(root: Draft, sample: Sample, cf: float) -> None:
    """Prune a tree in place.

    A node waits on the stack until its branches are done. One that takes the place of
    its parent is entered again with all of the parent's cases.
    """
    stack: list[tuple[Draft, Cases, bool]] = [(root, sample.everything(), False)]
    while stack:
        node, cases, is_done = stack.pop()
        if not is_done:
            recount(node, sample.counts(cases))
            node.errors = leaf_errors(node.counts, node.label, cf)
        if node.test is None:
            continue
        if not is_done:
            parts, node.known = sample.divide(node.test, cases)
            stack.append((node, cases, True))
            stack.extend(
                (child, part, False)
                for child, part in zip(node.branches, parts, strict=True)
            )
        elif simplify(node, cases, sample, cf):
            stack.append((node, cases, False))


def simplify(node: Draft, cases: Cases, sample: Sample, cf: float) -> bool:
    """Decide a node whose branches are pruned; True if its largest branch replaces it.

    Expects the errors of the node as a leaf; leaves those of what it has become.
    """
    as_leaf = node.errors
    as_tree = sum(child.errors for child in node.branches)
    raised = node.branches[largest(node.known)]
    as_branch = estimate(raised, cases, sample, cf)
    if as_leaf <= as_branch + MARGIN and as_leaf <= as_tree + MARGIN:
        node.become_leaf()
        return False
    if as_branch <= as_tree + MARGIN:
        node.label, node.test = raised.label, raised.test
        node.branches, node.known = raised.branches, raised.known
        return True
    node.errors = as_tree
    return False


def largest(known: Floats) -> int:
    """The branch with the most known cases, the last at a tie."""
    return int(len(known) - 1 - known[::-1].argmax())


def recount(node: Draft, counts: Floats) -> None:
    """Take new counts; the class stays where no other has more."""
    node.counts = counts
    node.label = best_label(counts, node.label)


def best_label(counts: Floats, current: int) -> int:
    heaviest = int(counts.argmax())
    return heaviest if counts[heaviest] > counts[current] else current


def leaf_errors(counts: Floats, label: int, cf: float) -> float:
    """The errors to expect of a leaf; none where there are no cases."""
    cases = float(counts.sum())
    if not cases:
        return 0.0
    errors = cases - float(counts[label])
    return errors + added_errors(cases, errors, cf)


def estimate(node: Draft, cases: Cases, sample: Sample, cf: float) -> float:
    """The errors to expect if these cases came to a node, which stays as it is."""
    errors, stack = 0.0, [(node, cases)]
    while stack:
        here, some = stack.pop()
        if here.test is None:
            counts = sample.counts(some)
            errors += leaf_errors(counts, best_label(counts, here.label), cf)
        else:
            parts, _ = sample.divide(here.test, some)
            stack.extend(zip(here.branches, parts, strict=True))
    return errors


def drop_impossible(root: Draft) -> None:
    """Take values that cannot occur on the path out of the last group of a split.

    A group that is left without values goes.
    """
    stack: list[tuple[Draft, dict[int, frozenset[int]]]] = [(root, {})]
    while stack:
        node, possible = stack.pop()
        if node.test is None:
            continue
        test = node.test
        if test.is_grouped and test.feature in possible:
            drop_last(node, possible[test.feature])
        assert node.test is not None
        for place, child in enumerate(node.branches):
            inner = possible
            if test.is_grouped:
                inner = {**possible, test.feature: frozenset(node.test.groups[place])}
            stack.append((child, inner))


def drop_last(node: Draft, possible: frozenset[int]) -> None:
    """Keep only possible values in the last group of a node."""
    assert node.test is not None
    *groups, last = node.test.groups
    kept = tuple(code for code in last if code in possible)
    if kept:
        groups.append(kept)
    else:
        node.branches, node.known = node.branches[:-1], node.known[:-1]
    node.test = replace(node.test, groups=tuple(groups))
