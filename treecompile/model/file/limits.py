"""The limits of a model file: docs/model-file.md lists them, under "Limits".

They bound the memory and the time that a file can cost, and keep every sum and product
that a report makes of its numbers finite. Models of real data stay far below them.
The sizes are checked when a model is written, too; its numbers only when it is read.
"""

from __future__ import annotations

from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.paths import depths

MOST_BYTES = 1 << 28
MOST_PARTS = 20_000_000  # texts, numbers, lists and objects; each takes up to 100 bytes
MOST_DEPTH = 10_000  # tests from the root to a leaf
MOST_TESTS = 100_000_000  # of the paths to all leaves; of the truth tables of all tests
MOST_ROWS = 2**53  # above this, not every integer is a double
MOST_DIGITS = 1_000  # of an integer that is a category, a label or an option
LEAST_WEIGHT, MOST_WEIGHT = 1e-300, 1e250
MOST_SQUARES = 1e300  # a sum of squared errors; the weight of a node times its gain

SMALLER = "grow a smaller one (max_depth, min_leaf, prune)"


def check_text(data: bytes | str) -> None:
    """Refuse the text of a model file that would take too much memory to read."""
    if len(data) > MOST_BYTES:
        raise ModelFileError(
            f"{len(data):,} bytes: a model file has at most {MOST_BYTES:,}: {SMALLER}"
        )
    # Those inside of texts are counted too: looking closer would take longer.
    if isinstance(data, bytes):
        parts = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    else:
        parts = sum(data.count(mark) for mark in (",", "[", "{"))
    if parts > MOST_PARTS:
        raise ModelFileError(
            f"{parts:,} values: a model file has at most {MOST_PARTS:,}: {SMALLER}"
        )


def check_size(body: ir.AnyBody) -> None:
    """Refuse a model whose paths, or truth tables of tests, are too large in total."""
    if isinstance(body, ir.RuleSet):
        tests = [test for rule in body.rules for test in rule.conditions]
    else:
        trees = (
            [member.tree for member in body.members]
            if isinstance(body, ir.Forest)
            else [body]
        )
        tests = [test for tree in trees for test in _tests(tree)]
        if sum(map(_path_tests, trees)) > MOST_TESTS:
            raise ModelFileError(
                f"nodes: the paths to the leaves have more than {MOST_TESTS:,} tests:"
                f" {SMALLER}"
            )
    sizes = [len(feature.categories) for feature in body.features]
    if sum(sizes[test.feature] for test in tests) > MOST_TESTS:
        raise ModelFileError(
            f"features: the tests decide more than {MOST_TESTS:,} categories in total:"
            " group the categories"
        )


def _tests(tree: ir.Tree) -> list[ir.Condition]:
    """The first test of each split."""
    return [node.branches[0].when for node in tree.nodes if isinstance(node, ir.Split)]


def _path_tests(tree: ir.Tree) -> int:
    """The tests of the paths to all leaves."""
    deep = depths(tree)
    if max(deep) > MOST_DEPTH:
        raise ModelFileError(
            f"nodes: the tree is {max(deep):,} tests deep, and a model file has at"
            f" most {MOST_DEPTH:,}: {SMALLER}"
        )
    ends = zip(deep, tree.nodes, strict=True)
    return sum(depth for depth, node in ends if isinstance(node, ir.Leaf))
