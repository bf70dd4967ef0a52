"""A model as an ordered list of arms: what every target writes.

At a split, every branch but one becomes an arm: its test answers, or opens a nested
block. The remaining branch goes on behind these arms, where its own test is already
decided. If the branch that nests deepest goes on, a tree nests no deeper than its rank
(the rank of register allocation: at most log2 of the number of leaves, 1 for a chain
of any depth).

    if a:              CASE WHEN a THEN
        if b:              CASE WHEN b THEN 1
            return 1       ELSE 2 END
        return 2       WHEN c THEN 3
    if c:              ELSE 4 END
        return 3
    return 4

In SQL, a comparison with NULL is not true. With `missing_last`, the branch of missing
values goes on if possible, so that no arm needs a test for them. An arm that no missing
value reaches needs none either, as an earlier test on its way rejects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, inf

from treecompile.model import ir
from treecompile.model.paths import outcomes, upwards
from treecompile.model.semantics import membership
from treecompile.rules.passes.merge import merge

SPARE = 2  # for simpler tests, a tree may nest so many levels deeper than it must
MOST_DEEPENED = 50_000  # nodes: beyond, indentation would make the text much longer

Rules = tuple[ir.Rule, ...]


@dataclass(frozen=True, slots=True)
class ArmTest:
    """A test of one feature, by its form.

    A number is compared: at_most, above. A category is looked up: within, without. Each
    has a variant that also holds for a missing value: at_most_or_missing. The other
    forms compare nothing: missing, known, always, never.
    """

    feature: int  # its place in the features of the model
    form: str
    values: tuple[ir.Category | float, ...]  # (40.5,), ("red", "blue"), ()
    known: bool = False  # whether the value is certainly not missing here


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a decision: it answers, or opens a block one level deeper."""

    depth: int
    tests: tuple[ArmTest, ...]  # (): the last arm of its block
    rules: Rules  # that answer, alike; (): a nested block follows


def lower(
    body: ir.Body,
    nesting: int | None = None,
    missing_last: bool = False,
    answer: Callable[[ir.Rule], str] | None = None,
) -> Iterator[Arm]:
    """Yield the arms of a tree, nested at most `nesting` levels deep, or of a list.

    With `answer`, splits behind which all leaves answer the same are left out.
    """
    if isinstance(body, ir.RuleSet):
        return _listed(body)
    leaves = outcomes(body)
    rules: dict[int, Rules] = {place: (rule,) for place, rule in leaves.items()}
    if answer is not None:
        answers = {place: answer(rule) for place, rule in leaves.items()}
        rules = _agreeing(body, answers, rules)
    return _Spine(body, rules, nesting, missing_last).arms()


def lowered_test(
    when: ir.Condition, feature: ir.Feature, known: bool = False
) -> ArmTest:
    """Return the test of a condition. `known`: the value is certainly not missing."""
    values: tuple[ir.Category | float, ...]
    if feature.kind is ir.Kind.NUMERIC:
        assert isinstance(when.value, float)
        inside, missing, values = when.op is ir.Op.GT, when.missing, (when.value,)
        name, is_trivial = ("above" if inside else "at_most"), when.value == inf
    else:
        inside, values, missing = membership(when, feature)
        name, is_trivial = ("within" if inside else "without"), not values
    if not is_trivial:
        is_met = missing and not known
        return ArmTest(when.feature, name + "_or_missing" * is_met, values, known)
    # No number is above inf, and no category is in an empty set.
    if missing == inside:
        name = "missing" if missing else "known"
    else:
        name = "always" if missing else "never"
    return ArmTest(when.feature, name, (), known)


def _listed(rules: ir.RuleSet) -> Iterator[Arm]:
    """Yield an arm for each rule of an ordered list, then for the default.

    The tests of each rule are merged, and rules that match no row are left out.
    """
    written = {rule.id: rule for rule in rules.rules}
    for rule in merge(rules).rules:
        tests = (lowered_test(w, rules.features[w.feature]) for w in rule.conditions)
        yield Arm(0, tuple(tests), (written[rule.id],))
        if not rule.conditions:
            return  # it matches every row, so nothing after it is reached
    yield Arm(0, (), (rules.default,))


# ---------------------------------------------------------------- trees


def _agreeing(
    tree: ir.Tree, answers: Mapping[int, str], rules: Mapping[int, Rules]
) -> dict[int, Rules]:
    """Return the rules of the highest nodes behind which all answers are the same."""
    same, kept = dict(answers), dict(rules)
    for position, node in upwards(tree):
        if isinstance(node, ir.Leaf):
            continue
        below = [branch.then for branch in node.branches]
        found = {same.get(child) for child in below}
        if len(found) == 1 and (answer := found.pop()) is not None:
            same[position] = answer
            kept[position] = tuple(rule for each in below for rule in kept.pop(each))
    return kept


def ranks(tree: ir.Tree, ends: Mapping[int, Rules]) -> list[int]:
    """Return how deep each node nests: 0 where it ends, else by its two deepest."""
    result = [0] * len(tree.nodes)
    for position, node in upwards(tree):
        if isinstance(node, ir.Split) and position not in ends:
            *_, second, first = sorted(result[branch.then] for branch in node.branches)
            result[position] = max(1, first, second + 1)
    return result


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A node still to be written."""

    position: int
    depth: int
    tests: tuple[ArmTest, ...] = ()  # to write before those of the node
    present: int = 0  # has bit f if feature f cannot be missing here


class _Spine:
    """Writes a tree: light branches first and nested, the heaviest goes on."""

    def __init__(
        self,
        tree: ir.Tree,
        rules: Mapping[int, Rules],
        nesting: int | None,
        missing_last: bool,
    ) -> None:
        self.tree, self.rules = tree, rules
        self.rank = ranks(tree, rules)
        self.top = self.rank[0]
        self.levels = self.top if nesting is None else nesting
        # The levels that the branches of known values may take, for simpler tests.
        self.spare = 0
        is_deepened = missing_last and len(tree.nodes) <= MOST_DEEPENED
        if is_deepened and self.levels >= self.top:
            self.spare = min(self.levels, self.top + SPARE)

    def arms(self) -> Iterator[Arm]:
        waiting: list[_Waiting | Arm] = [_Waiting(0, 0)]  # an arm here opens a block
        while waiting:
            item = waiting.pop()
            if isinstance(item, Arm):
                yield item
            elif item.position in self.rules:
                yield Arm(item.depth, item.tests, self.rules[item.position])
            else:
                waiting += self._written(item)

    def _written(self, item: _Waiting) -> Iterator[_Waiting | Arm]:
        """Yield what follows from a split, the last first."""
        split = self.tree.nodes[item.position]
        assert isinstance(split, ir.Split)
        bit = 1 << split.branches[0].when.feature
        known = bool(item.present & bit)
        last = self._continuing(split, 0 if known else self.spare - item.depth)
        present = item.present | (0 if last.when.missing else bit)
        yield _Waiting(last.then, item.depth, item.tests, present)
        for branch in reversed(split.branches):
            if branch is last:
                continue
            feature = self.tree.features[branch.when.feature]
            tests = (*item.tests, lowered_test(branch.when, feature, known))
            present = item.present | (0 if branch.when.missing else bit)
            if self._is_nested(branch.then, item.position):
                yield _Waiting(branch.then, item.depth + 1, (), present)
                yield Arm(item.depth, tests, ())
            else:
                yield _Waiting(branch.then, item.depth, tests, present)

    def _continuing(self, split: ir.Split, levels: int) -> ir.Branch:
        """Return the branch that goes on behind the others.

        It is the branch of missing values if the others can nest within `levels`
        levels. Otherwise it is the deepest; at a tie, the catch-all or the last.
        """
        others = [branch for branch in split.branches if not branch.when.missing]
        if all(self.rank[branch.then] < levels for branch in others):
            return next(branch for branch in split.branches if branch.when.missing)

        def key(place: int) -> tuple[int, bool, int]:
            branch = split.branches[place]
            return self.rank[branch.then], branch.when.op is ir.Op.NOT_IN, place

        return split.branches[max(range(len(split.branches)), key=key)]

    def _is_nested(self, child: int, parent: int) -> bool:
        """Whether a branch opens a block.

        If the rank exceeds the nesting, neighbouring ranks share a level: a branch of
        the same level is not nested. Instead its test is written before each test of
        its own: `WHEN a AND b ... WHEN a`.
        """
        if self.rank[child] == 0 or self.levels >= self.top:
            return self.rank[child] > 0
        child_level, level = (
            ceil(self.rank[position] * self.levels / self.top)
            for position in (child, parent)
        )
        return child_level < level
