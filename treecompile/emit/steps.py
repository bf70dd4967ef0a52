"""Turns a tree or a list of rules into steps: guard clauses in the order of execution.

At a split, every child but one becomes a guard: a test that leads into a nested block.
The remaining child continues after the guards, where its own test is already decided.
If the child that nests deepest continues, the tree nests no deeper than its rank (the
rank of register allocation: at most log2 of the number of leaves, 1 for a chain of any
depth).

    if a:              CASE WHEN a THEN
        if b:              CASE WHEN b THEN 1
            return 1       ELSE 2 END
        return 2       WHEN c THEN 3
    if c:              ELSE 4 END
        return 3
    return 4

In SQL, a comparison with NULL is not true. With `missing_last`, the child of missing
values continues if possible, so that no guard needs a test for them. A guard that no
missing value reaches needs none either, as an earlier test on its way rejects them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from math import ceil

from treecompile.model import ir
from treecompile.model.paths import outcomes, upwards
from treecompile.rules.passes.merge import merge

SPARE = 2  # for simpler tests, a tree may nest so many levels deeper than it must
MOST_DEEPENED = 50_000  # nodes: beyond, indentation would make the text much longer


@dataclass(frozen=True, slots=True)
class Step:
    """One arm of a decision, in the order of execution.

    With an outcome, it answers if its tests hold. Without one, it opens a nested block,
    whose steps follow one level deeper. A step without tests is the last of its block.
    """

    depth: int
    tests: tuple[ir.Condition, ...]
    outcome: int | None  # position of the deciding leaf or rule
    # For each test, whether its value is certainly not missing; (): nothing is known.
    known: tuple[bool, ...] = ()

    @property
    def asked(self) -> Iterator[tuple[ir.Condition, bool]]:
        """Pair each test with whether its value is certainly not missing."""
        return zip(self.tests, self.known or repeat(False), strict=False)


def ranks(tree: ir.Tree) -> list[int]:
    """Return how deep each node nests: 0 for a leaf, else by its two deepest."""
    result = [0] * len(tree.nodes)
    for position, node in upwards(tree):
        if isinstance(node, ir.Split):
            *_, second, first = sorted(result[branch.then] for branch in node.branches)
            result[position] = max(1, first, second + 1)
    return result


@dataclass(frozen=True, slots=True)
class WaitingNode:
    """A node still to be written."""

    position: int
    depth: int
    tests: tuple[ir.Condition, ...] = ()  # tests to write before those of the node
    known: tuple[bool, ...] = ()  # as in `Step`
    present: int = 0  # has bit f if feature f cannot be missing here


def tree_steps(
    tree: ir.Tree, budget: int | None = None, missing_last: bool = False
) -> Iterator[Step]:
    """Yield the steps of a tree, nested at most `budget` levels deep.

    If the rank exceeds the budget, neighbouring ranks share a level: a guard whose
    child has the level of its parent is not nested. Instead its test is written before
    each test of the child: `WHEN a AND b ... WHEN a`.
    """
    rank = ranks(tree)
    top = rank[0]
    levels = top if budget is None else budget
    missing_last = missing_last and len(tree.nodes) <= MOST_DEEPENED
    most = min(levels, top + SPARE) if missing_last else top

    def is_nested(child: int, position: int) -> bool:
        if rank[child] == 0:
            return False
        if levels >= top:
            return True
        return ceil(rank[child] * levels / top) < ceil(rank[position] * levels / top)

    stack: list[WaitingNode | Step] = [WaitingNode(0, 0)]  # a step here opens a block
    while stack:
        item = stack.pop()
        if isinstance(item, Step):
            yield item
            continue
        node = tree.nodes[item.position]
        if isinstance(node, ir.Leaf):
            yield Step(item.depth, item.tests, item.position, item.known)
            continue
        free = most - item.depth if missing_last and levels >= top else 0
        is_known = bool(item.present >> node.branches[0].when.feature & 1)
        last = continuing_branch(node, rank, 0 if is_known else free)
        present = present_behind(last, item)
        stack.append(
            WaitingNode(last.then, item.depth, item.tests, item.known, present)
        )
        for branch in reversed(node.branches):
            if branch is last:
                continue
            tests, known = (*item.tests, branch.when), (*item.known, is_known)
            present = present_behind(branch, item)
            if is_nested(branch.then, item.position):
                stack.append(WaitingNode(branch.then, item.depth + 1, (), (), present))
                stack.append(Step(item.depth, tests, None, known))
            else:
                stack.append(
                    WaitingNode(branch.then, item.depth, tests, known, present)
                )


def present_behind(branch: ir.Branch, item: WaitingNode) -> int:
    """Return the bits of the features that cannot be missing behind a branch."""
    rejected = 0 if branch.when.missing else 1 << branch.when.feature
    return item.present | rejected


def continuing_branch(
    split: ir.Split, rank: Sequence[int], levels: int = 0
) -> ir.Branch:
    """Return the branch that continues after the guards.

    It is the branch of missing values if the others can nest within `levels` levels.
    Otherwise it is the deepest; at a tie, the catch-all or the last.
    """
    guards = [branch for branch in split.branches if not branch.when.missing]
    if all(rank[branch.then] < levels for branch in guards):
        return next(branch for branch in split.branches if branch.when.missing)

    def key(place: int) -> tuple[int, bool, int]:
        branch = split.branches[place]
        return rank[branch.then], branch.when.op is ir.Op.NOT_IN, place

    return split.branches[max(range(len(split.branches)), key=key)]


def rule_steps(rules: ir.RuleSet) -> Iterator[Step]:
    """Yield the steps of an ordered rule list: one for each rule, then the default.

    The tests of each rule are merged, and rules that match no row are left out.
    """
    places = {rule.id: place for place, rule in outcomes(rules).items()}
    for rule in merge(rules).rules:
        yield Step(0, rule.conditions, places[rule.id])
        if not rule.conditions:
            return  # it matches every row, so nothing after it is reached
    yield Step(0, (), len(rules.rules))


def decision_steps(
    body: ir.Body, budget: int | None = None, missing_last: bool = False
) -> Iterator[Step]:
    """Yield the steps of a tree, nested at most `budget` levels deep, or of a list."""
    if isinstance(body, ir.Tree):
        return tree_steps(body, budget, missing_last)
    return rule_steps(body)


# ---------------------------------------------------------------- equal answers


def agreeing(
    tree: ir.Tree, answers: Mapping[int, str]
) -> tuple[ir.Tree, dict[int, list[int]]]:
    """Return the tree without tests behind which all leaves answer the same.

    Return also, for each leaf that is left, the leaves of the given tree that it stands
    for.
    """
    same = dict(answers)
    leaves = {position: [position] for position in answers}
    for position, node in upwards(tree):
        if isinstance(node, ir.Leaf):
            continue
        below = [branch.then for branch in node.branches]
        found = {same.get(child) for child in below}
        if len(found) == 1 and (answer := found.pop()) is not None:
            same[position] = answer
            leaves[position] = [leaf for child in below for leaf in leaves.pop(child)]
    nodes: list[ir.Node] = []
    kept: dict[int, list[int]] = {}
    waiting = [0]
    for position in waiting:  # grows during the loop
        if position in same:
            kept[len(nodes)] = leaves[position]
            nodes.append(tree.nodes[leaves[position][0]])
            continue
        split = tree.nodes[position]
        assert isinstance(split, ir.Split)
        moved = []
        for branch in split.branches:
            moved.append(ir.Branch(branch.when, len(waiting), branch.weight))
            waiting.append(branch.then)
        nodes.append(ir.Split(tuple(moved), split.stats, split.gain))
    return replace(tree, nodes=tuple(nodes)), kept
