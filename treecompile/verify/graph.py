"""A tree or a rule set as one graph of questions, for searching rows.

A state asks a question, and its arms say where each answer leads; a state without arms
decides. A tree is such a graph as it stands. In a rule set every condition is a
question: where it holds the next condition of the rule follows, where it fails the next
rule. Arms lead forwards only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treecompile.ir import Body, Condition, RuleSet, Split, Tree
from treecompile.semantics import negate
from treecompile.verify.axes import Box, Space

Arms = tuple[tuple[Condition, int], ...]


@dataclass(frozen=True, slots=True)
class Graph:
    arms: list[Arms]
    decider: list[int]  # of a state that decides: as `semantics.decider` says it
    near: list[int]  # how many questions there are at least before a decision


@dataclass(frozen=True, slots=True)
class Place:
    """A state, and the rows that may come to it.

    Each row of the box that walks from `start` and comes to `state` counts; in a tree
    the two are the same, and the box is exact.
    """

    state: int
    start: int
    box: Box


def graph(body: Body) -> Graph:
    arms, decider = _rules(body) if isinstance(body, RuleSet) else _tree(body)
    near = [0] * len(arms)
    for state in range(len(arms) - 1, -1, -1):
        near[state] = min((1 + near[child] for _, child in arms[state]), default=0)
    return Graph(arms, decider, near)


def _tree(tree: Tree) -> tuple[list[Arms], list[int]]:
    arms: list[Arms] = [
        (
            tuple((branch.when, branch.then) for branch in node.branches)
            if isinstance(node, Split)
            else ()
        )
        for node in tree.nodes
    ]
    return arms, list(range(len(arms)))


def _rules(rules: RuleSet) -> tuple[list[Arms], list[int]]:
    """First the conditions of all rules in order, then the decisions."""
    starts = _starts(rules)
    questions = sum(len(rule.conditions) for rule in rules.rules)
    arms: list[Arms] = []
    for number, rule in enumerate(rules.rules):
        for test in rule.conditions[:-1]:
            follows = len(arms) + 1
            arms.append(((test, follows), (negate(test), starts[number + 1])))
        for test in rule.conditions[-1:]:
            decides = questions + number
            arms.append(((test, decides), (negate(test), starts[number + 1])))
    decisions = len(rules.rules) + 1
    return [*arms, *[()] * decisions], [*[-1] * questions, *range(decisions)]


def _starts(rules: RuleSet) -> list[int]:
    """The first state of each rule, and of the default."""
    questions = sum(len(rule.conditions) for rule in rules.rules)
    starts, asked = [], 0
    for number, rule in enumerate(rules.rules):
        starts.append(asked if rule.conditions else questions + number)
        asked += len(rule.conditions)
    return [*starts, questions + len(rules.rules)]


def cells(body: Body, graph: Graph, space: Space) -> Iterator[Place]:
    """Where each leaf or rule decides, the boxes that are empty left out."""
    if isinstance(body, Tree):
        yield from (p for p in _tree_places(graph, space) if not graph.arms[p.state])
        return
    start = _starts(body)[0]
    questions = len(graph.arms) - len(body.rules) - 1
    for number, rule in enumerate((*body.rules, body.default)):
        box = _inside(rule.conditions, space)
        if box is not None:
            yield Place(questions + number, start, box)


def questions(body: Body, graph: Graph, space: Space) -> Iterator[Place]:
    """Where each question is asked and its answer matters to the leaf or rule."""
    if isinstance(body, Tree):
        yield from (p for p in _tree_places(graph, space) if graph.arms[p.state])
        return
    state, start = 0, _starts(body)[0]
    for rule in body.rules:
        for place in range(len(rule.conditions)):
            # A rule that fails elsewhere does not depend on this condition.
            others = (*rule.conditions[:place], *rule.conditions[place + 1 :])
            box = _inside(others, space)
            if box is not None:
                yield Place(state, start, box)
            state += 1


def _tree_places(graph: Graph, space: Space) -> Iterator[Place]:
    """Every node that a row can come to, depth first."""
    stack = [(0, space.everything)]
    while stack:
        state, box = stack.pop()
        yield Place(state, state, box)
        for test, child in graph.arms[state]:
            inner = space.cut(box, test)
            if inner is not None:
                stack.append((child, inner))


def _inside(tests: tuple[Condition, ...], space: Space) -> Box | None:
    box: Box | None = space.everything
    for test in tests:
        if box is not None:
            box = space.cut(box, test)
    return box
