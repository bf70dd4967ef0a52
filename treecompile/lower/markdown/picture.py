"""A Mermaid picture of a small tree."""

from __future__ import annotations

from collections.abc import Iterator

from treecompile import words
from treecompile.extract import rule_ids
from treecompile.ir import Leaf, Tree
from treecompile.lower.markdown.text import in_mermaid, with_operators
from treecompile.rounding import Rounding

MAX_LEAVES = 32  # in a picture
MAX_PICTURE = 50_000  # characters: Mermaid draws no longer text


def picture(tree: Tree, rounding: Rounding) -> tuple[str, str]:
    """A sentence, and the Mermaid text unless it would be too large to be of use."""
    ids = rule_ids(tree)
    if len(ids) > MAX_LEAVES:
        return (
            f"With {len(ids)} leaves the tree is too large for a picture here:"
            " `treecompile draw` makes one.",
            "",
        )
    diagram = "\n".join(_diagram(tree, ids, rounding))
    if len(diagram) > MAX_PICTURE:
        return "The names in the tree are too long for a picture.", ""
    note = "From the top, follow the arrow whose test the case passes."
    if diagram != "\n".join(_diagram(tree, ids, None)):
        note += " Thresholds are rounded here; the rules below state them exactly."
    return note, diagram


def _diagram(
    tree: Tree, ids: dict[int, str], rounding: Rounding | None
) -> Iterator[str]:
    yield "flowchart TD"
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Leaf):
            rests = words.evidence(node.stats, node.weight, node.value, tree.labels)
            lines = [words.value(node.value), f"{ids[position]}, {rests}"]
            yield f'    n{position}["{"<br>".join(map(in_mermaid, lines))}"]'
            continue
        where = node.branches[0].when.feature
        feature = tree.features[where]
        figure = rounding.figure(where) if rounding else words.number
        yield f'    n{position}("{in_mermaid(words.name(feature.name))}")'
        for branch in node.branches:
            test = words.phrase([branch.when], feature, with_operators, figure)
            test = test.removeprefix(f"{words.name(feature.name)} ")
            yield f'    n{position} -->|"{in_mermaid(test)}"| n{branch.then}'
