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

An ordered list of rules is slow to run one after the other. `nest` makes it a tree that
asks only a few questions of each row and finds the same rule for every row, also for
missing and unseen values. The tree is used only if it stays small: a list of n tests
becomes a tree of at most FACTOR x n tests, or stays a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, repeat
from math import ceil

from treecompile.model import ir
from treecompile.model.paths import upwards
from treecompile.model.words import quantity
from treecompile.regions.boxes import Boxes, Subproblem
from treecompile.regions.compact import is_searchable, tested_only
from treecompile.regions.space import Space

FACTOR = 8  # maximum tests of the tree for each test of the rules
MOST = 40_000  # maximum tests of the tree, however many the rules have
HOPELESS = 2  # give up if about so many times the maximum is still to come
MOST_WORK = 100_000_000  # give up after so much `Boxes.work`, about half a minute

SPARE = 2  # for simpler tests, a tree may nest so many levels deeper than it must
MOST_DEEPENED = 50_000  # nodes: beyond, indentation would make the text much longer

Choice = tuple[ir.Condition, int]  # a test, and the number of what follows if it holds
Choices = tuple[Choice, Choice]


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
    """Yield the steps of an ordered rule list: one for each rule, then the default."""
    for position, rule in enumerate(rules.rules):
        yield Step(0, rule.conditions, position)
        if not rule.conditions:
            return  # it matches every row, so nothing after it is reached
    yield Step(0, (), len(rules.rules))


def decision_steps(
    body: ir.Body, budget: int | None = None, missing_last: bool = False
) -> Iterator[Step]:
    """Yield the steps of a tree or a list, nested at most `budget` levels deep."""
    if isinstance(body, ir.Tree):
        yield from tree_steps(body, budget, missing_last)
        return
    nested = nest(body)
    if nested is None:
        yield from rule_steps(body)
        return
    for step in tree_steps(nested.tree, budget, missing_last):
        outcome = None if step.outcome is None else nested.outcomes[step.outcome]
        yield replace(step, outcome=outcome)


def note(body: ir.Body) -> str:
    """Return a sentence about how a list of rules is run; "" for a tree."""
    if isinstance(body, ir.Tree) or not count_tests(body):
        return ""
    nested = nest(body)
    rules = quantity(len(body.rules), "ordered rule")
    verb = "are" if len(body.rules) > 1 else "is"
    size = f"{rules} with {quantity(count_tests(body), 'test')} {verb} run"
    if nested is not None:
        return f"{size} as one nested decision of {quantity(nested.tests, 'test')}"
    bound = (
        f"{FACTOR} times as many" if FACTOR * count_tests(body) < MOST else f"{MOST}"
    )
    instead = f"a nested decision would need over {bound} tests"
    return f"{size} one after the other: {instead}"


# ---------------------------------------------------------------- equal answers


def agreeing(
    body: ir.Body, answers: Mapping[int, str]
) -> tuple[ir.Body, dict[int, list[int]]]:
    """Return the decision without tests behind which all outcomes answer the same.

    Return also, for each outcome that is left, the outcomes of the given body that it
    stands for. A list that cannot be nested stays as it is.
    """
    if isinstance(body, ir.Tree):
        return _without_agreeing_splits(body, answers)
    nested = nest(body)
    if nested is None:
        return body, {position: [position] for position in answers}
    rules = nested.outcomes
    found = {leaf: answers[rule] for leaf, rule in rules.items()}
    tree, leaves = _without_agreeing_splits(nested.tree, found)
    return tree, {
        position: list(dict.fromkeys(rules[leaf] for leaf in below))
        for position, below in leaves.items()
    }


def _without_agreeing_splits(
    tree: ir.Tree, answers: Mapping[int, str]
) -> tuple[ir.Tree, dict[int, list[int]]]:
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


# ---------------------------------------------------------------- rules as a tree


@dataclass(frozen=True, slots=True)
class Nested:
    """A list of rules as a tree."""

    tree: ir.Tree
    outcomes: dict[int, int]  # for each leaf, the number of its rule in the list

    @property
    def tests(self) -> int:
        return sum(isinstance(node, ir.Split) for node in self.tree.nodes)


@lru_cache(maxsize=4)  # `verify` emits the same model several times
def nest(rules: ir.RuleSet) -> Nested | None:
    """Return the rules as one nested decision; None if it would be too large."""
    most = min(FACTOR * count_tests(rules), MOST)
    small, kept = tested_only(rules)
    if len(rules.rules) > HOPELESS * MOST or not is_searchable(small):
        return None
    space = Space(small.features)
    boxes = Boxes(space, [rule.conditions for rule in small.rules])
    deciders: dict[int, int] = {}
    splits: dict[int, Choices] = {}
    present: set[int] = set()  # splits that no missing value reaches
    numbers = count()
    # Those with most rules are split first, to notice early that the tree is too large.
    waiting: list[tuple[int, int, Subproblem]] = []
    to_come = 0  # rules of all waiting subproblems: about as many splits follow
    work = 0

    def wait(problem: Subproblem) -> int:
        """Number a subproblem, which is a leaf or waits to be split."""
        nonlocal to_come
        position = next(numbers)
        if problem.decider is not None:
            deciders[position] = problem.decider
        else:
            to_come += len(problem.rules)
            heappush(waiting, (-len(problem.rules), position, problem))
        return position

    root = wait(boxes.start())
    while waiting:
        _, position, problem = heappop(waiting)
        to_come -= len(problem.rules)
        work += boxes.work(problem)
        if len(splits) == most or len(splits) + to_come > HOPELESS * most:
            return None
        if work > MOST_WORK:
            return None
        yes, no, split = boxes.best(problem)
        region = problem.box[split.index]
        when, otherwise = (
            replace(test, feature=kept[split.index])
            for test in space.tests(split.index, region, split.region)
        )
        if not region.missing:
            present.add(position)
        splits[position] = (when, wait(yes)), (otherwise, wait(no))
    return _without_idle_splits(rules, root, splits, deciders, present)


def count_tests(rules: ir.RuleSet) -> int:
    """Return the size of a list: the number of tests written in it."""
    return sum(len(rule.conditions) for rule in rules.rules)


def _without_idle_splits(
    rules: ir.RuleSet,
    root: int,
    splits: dict[int, Choices],
    deciders: dict[int, int],
    present: set[int],
) -> Nested:
    """Build the tree, without splits whose branches both lead to the same rule."""
    deciders = dict(deciders)
    for position in reversed(splits):  # children come after their parents
        yes, no = (deciders.get(then) for _, then in splits[position])
        if yes is not None and yes == no:
            deciders[position] = yes
    known = (*rules.rules, rules.default)
    nodes: list[ir.Node] = []
    outcomes: dict[int, int] = {}
    plain = []  # the new positions of the splits in `present`
    waiting = [root]
    for position in waiting:  # grows during the loop
        if position in deciders:
            outcomes[len(nodes)] = deciders[position]
            rule = known[deciders[position]]
            nodes.append(ir.Leaf(rule.value, rule.stats, rule.weight))
            continue
        if position in present:
            plain.append(len(nodes))
        branches = []
        for when, then in splits[position]:
            branches.append(ir.Branch(when, len(waiting), 1.0))
            waiting.append(then)
        nodes.append(ir.Split(tuple(branches), rules.default.stats, 0.0))
    tree = ir.Tree(rules.features, rules.labels, tuple(nodes))
    return Nested(_with_plain_tests(tree, plain), outcomes)


def _with_plain_tests(tree: ir.Tree, positions: Sequence[int]) -> ir.Tree:
    """Drop "or missing" from the tests of splits that no missing value reaches.

    One branch must accept it all the same: the one whose test is not written.
    """
    rank = ranks(tree)
    nodes = list(tree.nodes)
    for position in positions:
        split = nodes[position]
        assert isinstance(split, ir.Split)
        last = continuing_branch(split, rank)
        nodes[position] = replace(
            split,
            branches=tuple(
                replace(branch, when=replace(branch.when, missing=branch is last))
                for branch in split.branches
            ),
        )
    return replace(tree, nodes=tuple(nodes))
