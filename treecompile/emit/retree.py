"""RuleSet -> a tree whose leaves are the rules that decide: one nested decision.

An ordered list is slow to run: each row is tested against one rule after the other. The
tree asks only a few questions of each row and finds the same rule for every row, also
for missing and unseen values. It is used only if it stays small: a list of n tests
becomes a tree of at most FACTOR x n tests, or stays a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush

from treecompile.emit.shape import (
    Step,
    continuing_branch,
    ranks,
    rule_steps,
    tree_steps,
)
from treecompile.model.ir import Body, Branch, Leaf, Node, Rule, RuleSet, Split, Tree
from treecompile.regions.boxes import Boxes, Subproblem
from treecompile.regions.space import Space

FACTOR = 8  # maximum tests of the tree for each test of the rules
MOST = 40_000  # maximum tests of the tree, however many the rules have
HOPELESS = 2  # give up if about so many times the maximum is still to come


@dataclass(frozen=True, slots=True)
class Nested:
    """A list of rules as a tree."""

    tree: Tree
    outcomes: dict[int, int]  # for each leaf, the number of its rule in the list

    @property
    def tests(self) -> int:
        return sum(isinstance(node, Split) for node in self.tree.nodes)


@lru_cache(maxsize=4)  # `verify` emits the same model several times
def nest(rules: RuleSet) -> Nested | None:
    """The rules as one nested decision; None if it would be too large."""
    most = min(FACTOR * count_tests(rules), MOST)
    space = Space(rules.features)
    boxes = Boxes(space, [rule.conditions for rule in rules.rules])
    deciders: dict[int, int] = {}
    splits: dict[int, tuple[Branch, Branch]] = {}
    present: set[int] = set()  # splits that no missing value reaches
    count = 1
    # Those with most rules come first, to notice early that the tree is too large.
    waiting: list[tuple[int, int, Subproblem]] = []
    to_come = 0  # estimated number of further splits

    def wait(position: int, problem: Subproblem) -> None:
        nonlocal to_come
        if problem.decider is not None:
            deciders[position] = problem.decider
        else:
            to_come += len(problem.rules) - 1
            heappush(waiting, (-len(problem.rules), position, problem))

    wait(0, boxes.start())
    while waiting:
        _, position, problem = heappop(waiting)
        to_come -= len(problem.rules) - 1
        if len(splits) == most or len(splits) + to_come > HOPELESS * most:
            return None
        yes, no, split = boxes.best(problem)
        region = problem.box[split.index]
        when, otherwise = space.tests(split.index, region, split.region)
        if not region.missing:
            present.add(position)
        splits[position] = Branch(when, count, 1.0), Branch(otherwise, count + 1, 1.0)
        wait(count, yes)
        wait(count + 1, no)
        count += 2
    return _without_idle_splits(rules, splits, deciders, present)


def count_tests(rules: RuleSet) -> int:
    """The size of a list: the number of tests written in it."""
    return sum(len(rule.conditions) for rule in rules.rules)


def _without_idle_splits(
    rules: RuleSet,
    splits: dict[int, tuple[Branch, Branch]],
    deciders: dict[int, int],
    present: set[int],
) -> Nested:
    """The tree without the splits whose branches both lead to the same rule."""
    deciders = dict(deciders)
    for position in sorted(splits, reverse=True):  # children come after their parents
        yes, no = (deciders.get(branch.then) for branch in splits[position])
        if yes is not None and yes == no:
            deciders[position] = yes
    known = (*rules.rules, rules.default)
    nodes: list[Node] = []
    outcomes: dict[int, int] = {}
    plain = []  # the new positions of the splits in `present`
    waiting = [0]
    for position in waiting:  # grows during the loop
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
    """Drop "or missing" from the tests of splits that no missing value reaches.

    One branch must accept it all the same: the one whose test is not written.
    """
    rank = ranks(tree)
    nodes = list(tree.nodes)
    for position in positions:
        split = nodes[position]
        assert isinstance(split, Split)
        last = continuing_branch(split, rank)
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
    """A sentence about how a list of rules is run; "" for a tree."""
    if isinstance(body, Tree) or not count_tests(body):
        return ""
    nested = nest(body)
    size = f"{len(body.rules)} ordered rules with {count_tests(body)} tests"
    if nested is not None:
        return f"{size} are run as one nested decision of {nested.tests} tests"
    bound = (
        f"{FACTOR} times as many" if FACTOR * count_tests(body) < MOST else f"{MOST}"
    )
    instead = f"a nested decision would need over {bound} tests"
    return f"{size} are run one after the other: {instead}"
