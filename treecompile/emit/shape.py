"""The spine: a tree as guard clauses, nested no deeper than the logarithm of its size.

At a split, every child but one becomes a guard: a test that leads into a nested block.
The remaining child continues after the guards, where its own test is already decided.
Continuing with the child that nests deepest keeps the nesting at the rank of the tree
(the rank of register allocation: at most log2 of the number of leaves, 1 for a chain of
any depth).

    if a:              CASE WHEN a THEN
        if b:              CASE WHEN b THEN 1
            return 1       ELSE 2 END
        return 2       WHEN c THEN 3
    if c:              ELSE 4 END
        return 3
    return 4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treecompile.model.ir import Branch, Condition, Leaf, Op, RuleSet, Split, Tree


@dataclass(frozen=True, slots=True)
class Step:
    """One arm of a decision, in the order of execution.

    With an outcome, it answers if its tests hold. Without one, it opens a nested block,
    whose steps follow one level deeper. A step without tests is the last of its block.
    """

    depth: int
    tests: tuple[Condition, ...]
    outcome: int | None  # position of the deciding leaf or rule


def ranks(tree: Tree) -> list[int]:
    """How deep each node nests: 0 for a leaf, else from its two deepest children."""
    result = [0] * len(tree.nodes)
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if isinstance(node, Split):
            *_, second, first = sorted(result[branch.then] for branch in node.branches)
            result[position] = max(1, first, second + 1)
    return result


def tree_steps(tree: Tree, budget: int | None = None) -> Iterator[Step]:
    """The steps of a tree, nested at most `budget` levels deep.

    If the rank exceeds the budget, neighbouring ranks share a level: a guard whose
    child has the level of its parent is not nested. Instead its test is written before
    each test of the child: `WHEN a AND b ... WHEN a`.
    """
    rank = ranks(tree)
    top = rank[0]

    def level(position: int) -> int:
        if budget is None or top <= budget:
            return rank[position]
        return -(-rank[position] * budget // top)

    # Still to be written: nodes, each with its depth and the tests before it, and
    # steps that open a block.
    stack: list[tuple[int, int, tuple[Condition, ...]] | Step]
    stack = [(0, 0, ())]
    while stack:
        item = stack.pop()
        if isinstance(item, Step):
            yield item
            continue
        position, depth, prefix = item
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            yield Step(depth, prefix, position)
            continue
        last = continuing_branch(node, rank)
        stack.append((last.then, depth, prefix))
        for branch in reversed(node.branches):
            if branch is last:
                continue
            tests = (*prefix, branch.when)
            child = branch.then
            if rank[child] == 0 or level(child) == level(position):
                stack.append((child, depth, tests))
            else:
                stack.append((child, depth + 1, ()))
                stack.append(Step(depth, tests, None))


def continuing_branch(split: Split, rank: list[int]) -> Branch:
    """The branch after the guards: the deepest; at a tie the catch-all or the last."""

    def key(place: int) -> tuple[int, bool, int]:
        branch = split.branches[place]
        return rank[branch.then], branch.when.op is Op.NOT_IN, place

    return split.branches[max(range(len(split.branches)), key=key)]


def rule_steps(rules: RuleSet) -> Iterator[Step]:
    """The steps of an ordered rule list: one for each rule, then the default."""
    for position, rule in enumerate(rules.rules):
        yield Step(0, rule.conditions, position)
        if not rule.conditions:
            return  # it matches every row, so nothing after it is reached
    yield Step(0, (), len(rules.rules))
