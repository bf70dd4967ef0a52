"""Folds the preprocessing of a pipeline into its tree, or the trees of its forest.

The tree tests transformed columns. The folded tree tests the raw ones, in their own
units, and gives the same answer to every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from treecompile.importers.sklearn.features import categorical, numeric
from treecompile.importers.sklearn.lines import sides
from treecompile.importers.sklearn.probing import Chosen, Line, Probe, Side, Test
from treecompile.importers.sklearn.structure import (
    ENCODERS,
    RawColumn,
    StepColumn,
    Structure,
)
from treecompile.model import ir
from treecompile.model.errors import DataError
from treecompile.model.forests import LeafNode, SplitNode
from treecompile.model.forests import member as rebuilt
from treecompile.model.semantics import is_missing, negate
from treecompile.regions.space import Box, Space

MOST_COPIES = 20  # nodes of the folded tree for each node of the given one
Imported = TypeVar("Imported", ir.Program, ir.ForestProgram)


def fold(
    program: Imported, names: Sequence[str], steps: Sequence[Any], *, named: bool
) -> tuple[Imported, list[str]]:
    """Return the program over raw columns, and notes on what the pipeline refuses.

    `steps` are the fitted transformers before its trees, `named` says that they were
    fitted on a frame.
    """
    if isinstance(program, ir.ForestProgram):
        forest = program.body
        trees, notes = _fold_all([m.tree for m in forest.members], names, steps, named)
        members = tuple(map(_renumbered, forest.members, trees))
        features = trees[0].features if trees else forest.features
        folded = replace(forest, features=features, members=members)
        return replace(program, body=folded), notes
    assert isinstance(program.body, ir.Tree)
    (tree,), notes = _fold_all([program.body], names, steps, named)
    return replace(program, body=tree), notes


def _renumbered(member: ir.Member, tree: ir.Tree) -> ir.Member:
    """Return a member with a folded tree; copies of a leaf become separate leaves."""
    nodes: list[SplitNode | LeafNode] = []
    for node in tree.nodes:
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            nodes.append(LeafNode(member.values[node.value], node.weight))
            continue
        first, second = node.branches
        weight = node.stats.weight
        nodes.append(SplitNode(first.when, first.then, second.then, weight, node.gain))
    return rebuilt(tree.features, member.outputs, nodes)


def _fold_all(
    trees: Sequence[ir.Tree], names: Sequence[str], steps: Sequence[Any], named: bool
) -> tuple[list[ir.Tree], list[str]]:
    """Fold all trees over the same raw columns; search the tests they share once."""
    structure = Structure(names, steps)
    for tree in trees[:1]:
        if len(structure.columns) != len(tree.features):
            raise DataError(
                f"the tree reads {len(tree.features)} columns, and the steps before it"
                f" make {len(structure.columns)}: fit the pipeline as a whole"
            )
    tests = list(dict.fromkeys(test for tree in trees for test in _tests(tree)))
    for test in tests:
        _refuse_two_meanings(structure, structure.columns[test.column], test)
    found = sides(Probe(structure, steps, named=named), tests)
    side_of = dict(zip(tests, found, strict=True))
    features = tuple(_feature(raw) for raw in structure.raw)
    refused: dict[str, None] = {}
    for test, side in side_of.items():
        name = names[structure.columns[test.column].source]
        refused |= dict.fromkeys(_refused(side, name))
    folded = []
    for tree in trees:
        links: dict[int, list[Link]] = {}
        for place, node in enumerate(tree.nodes):
            if isinstance(node, ir.Split):
                source = structure.columns[node.branches[0].when.feature].source
                usual = node.branches[0].weight >= node.branches[1].weight
                side = side_of[_test(node)]
                links[place] = links_of(side, source, features[source], usual)
        nodes = _Folding(tree, features, links).nodes()
        folded.append(replace(tree, features=features, nodes=nodes))
    return folded, list(refused)


def _tests(tree: ir.Tree) -> Iterator[Test]:
    return (_test(node) for node in tree.nodes if isinstance(node, ir.Split))


def _refuse_two_meanings(structure: Structure, column: StepColumn, test: Test) -> None:
    """Refuse a column that is categories to one step and numbers to another."""
    raw = structure.raw[column.source]
    if raw.encoder and not ENCODERS & set(column.through):
        other = column.through[0] if column.through else "tree"
        raise DataError(
            f"cannot fold {raw.name!r}: the {raw.encoder} takes it for categories and"
            f" the {other} for numbers: use two columns"
        )
    if isinstance(test.limit, tuple) and not raw.encoder:
        raise DataError(
            f"cannot fold {raw.name!r}: the trees take it for categories, and the steps"
            " before them for numbers: put an OrdinalEncoder first"
        )


def _refused(side: Side, name: str) -> list[str]:
    """Note what the pipeline would refuse in a raw column, and what the model does."""
    if isinstance(side, Line):
        return []
    found = {"unknown categories": side.unseen, "missing values": side.missing}
    return [
        f"the pipeline refuses {what} in {name!r}; the model sends them down the"
        " heavier branch"
        for what, way in found.items()
        if way is None
    ]


def _test(node: ir.Node) -> Test:
    assert isinstance(node, ir.Split)
    when = node.branches[0].when
    if isinstance(when.value, tuple):  # those of HistGradientBoosting: see `boosting`
        assert when.missing is (when.op is ir.Op.NOT_IN)
        return Test(when.feature, tuple(map(_code, when.value)), when.missing)
    assert when.op is ir.Op.LE
    assert isinstance(when.value, float)
    return Test(when.feature, when.value, when.missing)


def _code(category: ir.Category) -> float:
    if isinstance(category, str):
        raise DataError(
            f"cannot fold a pipeline whose trees read texts such as {category!r}: put"
            " an OrdinalEncoder before them"
        )
    return float(category)


def _feature(raw: RawColumn) -> ir.Feature:
    if not raw.encoder:
        return numeric([raw.name])[0]
    return categorical(raw.name, raw.categories, f"fold the {raw.encoder}")


# A test of a transformed column becomes links, tried in turn: each has a test of the
# raw column, and the way of a value that passes (True: left). The last has no test.
Link = tuple[ir.Condition | None, bool]


def links_of(side: Side, source: int, feature: ir.Feature, usual: bool) -> list[Link]:
    """Return the links for a test; a value that the pipeline refuses goes `usual`."""
    if isinstance(side, Chosen):
        unseen = usual if side.unseen is None else side.unseen
        missing = unseen if side.missing is None else side.missing
        named = tuple(c for c in feature.categories if (c in side.categories) != unseen)
        flag = missing != unseen
        return [
            (ir.Condition(source, ir.Op.IN, named, flag), not unseen),
            (None, unseen),
        ]
    if len(side.lefts) == 1:  # only a missing value may go elsewhere
        return [(is_missing(source, feature), side.missing), (None, side.lefts[0])]
    links: list[Link] = []
    is_settled = False  # where a missing value goes: with the first piece of its side
    for end, left in zip(side.ends[:-1], side.lefts[:-1], strict=True):
        takes_missing = not is_settled and left == side.missing
        is_settled |= takes_missing
        links.append((ir.Condition(source, ir.Op.LE, end, takes_missing), left))
    return [*links, (None, side.lefts[-1])]


@dataclass(frozen=True, slots=True)
class _Todo:
    """A node that is still to be made."""

    where: int  # in the folded tree
    origin: int  # in the given tree
    links: Sequence[Link]  # its tests that remain
    box: Box  # the raw rows that get there


class _Folding:
    """Builds the nodes of the folded tree, each child after its parent."""

    def __init__(
        self,
        tree: ir.Tree,
        features: Sequence[ir.Feature],
        links: dict[int, list[Link]],
    ) -> None:
        self.tree = tree
        self.links = links
        self.space = Space(features)
        self.made: list[ir.Node | None] = []
        self.todo: list[_Todo] = []

    def nodes(self) -> tuple[ir.Node, ...]:
        self._place(0, self.links.get(0, ()), self.space.everything)
        most = MOST_COPIES * len(self.tree.nodes) + 1_000
        while self.todo:
            if len(self.made) > most:
                raise DataError(
                    f"the folded tree would be more than {MOST_COPIES} times as large,"
                    " since one-hot bins need two tests each: use KBinsDiscretizer with"
                    " encode='ordinal'"
                )
            task = self.todo.pop()
            self.made[task.where] = self._node(task)
        return tuple(node for node in self.made if node is not None)

    def _place(self, origin: int, links: Sequence[Link], box: Box) -> int:
        """Reserve a node; tests that all rows of the box answer alike are left out."""
        while links:
            links = self._open(links, box)
            ways = {left for _, left in links}
            if len(ways) > 1:
                break
            origin = self._child(origin, ways.pop())
            links = self.links.get(origin, ())
        self.made.append(None)
        self.todo.append(_Todo(len(self.made) - 1, origin, links, box))
        return len(self.made) - 1

    def _open(self, links: Sequence[Link], box: Box) -> list[Link]:
        """Return the links that some row of the box passes."""
        found: list[Link] = []
        rest: Box | None = box
        for test, left in links:
            if test is None or rest is None:
                break
            inside, outside = self.space.cut(rest, test), self.space.cut(
                rest, negate(test)
            )
            if inside is not None:
                found.append((test, left))
            rest = outside
        if rest is not None:
            found.append((None, links[-1][1]))
        return found

    def _child(self, origin: int, left: bool) -> int:
        node = self.tree.nodes[origin]
        assert isinstance(node, ir.Split)
        return node.branches[0 if left else 1].then

    def _node(self, task: _Todo) -> ir.Node:
        node = self.tree.nodes[task.origin]
        if not isinstance(node, ir.Split):
            return node
        (test, left), *rest = task.links
        assert test is not None
        child = self._child(task.origin, left)
        inside, outside = (self.space.cut(task.box, t) for t in (test, negate(test)))
        assert inside is not None
        assert outside is not None
        weights = [branch.weight for branch in node.branches]
        other = weights[1 if left else 0] if len(rest) == 1 else sum(weights)
        branches = (
            ir.Branch(
                test,
                self._place(child, self.links.get(child, ()), inside),
                weights[0 if left else 1],
            ),
            ir.Branch(negate(test), self._place(task.origin, rest, outside), other),
        )
        return ir.Split(branches, node.stats, node.gain)
