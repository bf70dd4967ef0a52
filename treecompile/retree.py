"""RuleSet -> a tree whose leaves are the rules that decide: one nested decision.

An ordered list is slow to run, since a row is held against rule after rule. The tree
asks each row a few questions instead, and gives the same rule for every row, missing
and unseen values included. It is built where it stays small: a list of n tests becomes
a tree of at most FACTOR x n, or stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush

from treecompile.boxes import Boxes, Place
from treecompile.ir import Body, Branch, Leaf, Node, Rule, RuleSet, Split, Tree
from treecompile.regions import Space
from treecompile.semantics import conditions
from treecompile.shape import Step, goes_on, ranks, rule_steps, tree_steps

FACTOR = 8  # times as many tests as the rules have, at most
MOST = 40_000  # tests of a nested decision, whatever the rules have
HOPELESS = 2  # times the most: what is still to come is not known that well


@dataclass(frozen=True, slots=True)
class Nested:
    """A list of rules as a tree."""

    tree: Tree
    outcomes: dict[int, int]  # for each leaf, the position of the rule that it means

    @property
    def tests(self) -> int:
        return sum(isinstance(node, Split) for node in self.tree.nodes)


@lru_cache(maxsize=4)  # an artefact is written more than once while it is verified
def nest(rules: RuleSet) -> Nested | None:
    """The rules as one nested decision; None where it would be too large."""
    most = min(FACTOR * count_tests(rules), MOST)
    space = Space(rules.features, conditions(rules))
    boxes = Boxes(space, [rule.conditions for rule in rules.rules])
    deciders: dict[int, int] = {}
    splits: dict[int, tuple[Branch, Branch]] = {}
    present: set[int] = set()  # splits that no missing value comes to
    count = 1
    # The places with most rules first: so it is seen early if the tree grows too large.
    waiting: list[tuple[int, int, Place]] = []
    to_come = 0  # about so many splits

    def wait(position: int, place: Place) -> None:
        nonlocal to_come
        if place.decider is not None:
            deciders[position] = place.decider
        else:
            to_come += len(place.rules) - 1
            heappush(waiting, (-len(place.rules), position, place))

    wait(0, boxes.start())
    while waiting:
        _, position, place = heappop(waiting)
        to_come -= len(place.rules) - 1
        if len(splits) == most or len(splits) + to_come > HOPELESS * most:
            return None
        yes, no, question = boxes.best(place)
        where = question.position
        when, otherwise = space.axes[where].tests(
            where, place.box[where], question.region
        )
        if not space.axes[where].has_missing(place.box[where]):
            present.add(position)
        splits[position] = Branch(when, count, 1.0), Branch(otherwise, count + 1, 1.0)
        wait(count, yes)
        wait(count + 1, no)
        count += 2
    return _without_idle_splits(rules, splits, deciders, present)


def count_tests(rules: RuleSet) -> int:
    """The size of a list: the tests that are written."""
    return sum(len(rule.conditions) for rule in rules.rules)


def _without_idle_splits(
    rules: RuleSet,
    splits: dict[int, tuple[Branch, Branch]],
    deciders: dict[int, int],
    present: set[int],
) -> Nested:
    """The tree, without the questions whose answers lead to the same rule."""
    deciders = dict(deciders)
    for position in sorted(splits, reverse=True):  # children stand behind parents
        yes, no = (deciders.get(branch.then) for branch in splits[position])
        if yes is not None and yes == no:
            deciders[position] = yes
    known = (*rules.rules, rules.default)
    nodes: list[Node] = []
    outcomes: dict[int, int] = {}
    plain = []  # positions of the nodes where the missing value does not matter
    waiting = [0]
    for position in waiting:  # which grows meanwhile
        if position in deciders:
            outcomes[len(nodes)] = deciders[position]
            nodes.append(_leaf(known[deciders[position]]))
            continue
        if position in present:
            plain.append(len(nodes))
        branches = []
        for branch in splits[position]:
            branches.append(Branch(branch.when, len(waiting), 1.0))
            waiting.append(branch.then)
        nodes.append(Split(tuple(branches), rules.default.stats, 0.0))
    tree = Tree(rules.features, rules.labels, tuple(nodes))
    return Nested(_with_plain_tests(tree, plain), outcomes)


def _with_plain_tests(tree: Tree, positions: Sequence[int]) -> Tree:
    """Without a word about the missing value in tests that never see it.

    One branch must take it; it is the one whose test is not written.
    """
    rank = ranks(tree)
    nodes = list(tree.nodes)
    for position in positions:
        split = nodes[position]
        assert isinstance(split, Split)
        last = goes_on(split, rank)
        nodes[position] = replace(
            split,
            branches=tuple(
                replace(branch, when=replace(branch.when, missing=branch is last))
                for branch in split.branches
            ),
        )
    return replace(tree, nodes=tuple(nodes))


def _leaf(rule: Rule) -> Leaf:
    return Leaf(rule.value, rule.stats, rule.weight)


def decision_steps(body: Body, budget: int | None = None) -> Iterator[Step]:
    """The steps of a tree or of a list, nested at most `budget` levels deep."""
    if isinstance(body, Tree):
        yield from tree_steps(body, budget)
        return
    nested = nest(body)
    if nested is None:
        yield from rule_steps(body)
        return
    for step in tree_steps(nested.tree, budget):
        outcome = None if step.outcome is None else nested.outcomes[step.outcome]
        yield Step(step.depth, step.tests, outcome)


def note(body: Body) -> str:
    """How a list of rules is run; nothing for a tree, which is run as it stands."""
    if isinstance(body, Tree) or not count_tests(body):
        return ""
    nested = nest(body)
    size = f"{len(body.rules)} ordered rules with {count_tests(body)} tests"
    if nested is not None:
        return f"{size} are run as one nested decision of {nested.tests} tests"
    bound = (
        f"{FACTOR} times as many" if FACTOR * count_tests(body) < MOST else f"{MOST}"
    )
    return f"{size} are run one after the other: nested they need over {bound} tests"
