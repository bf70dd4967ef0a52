"""Lowers a forest to a Python module that predicts whole columns with numpy.

The trees are data: tables of splits and of what the leaves add, which
`runtime.forest_columns` goes through for many rows at once.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.literals import python_literal, python_string
from treecompile.emit.lowering import ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.python.columns import (
    IMPORTED,
    NUMPY_SCRIPT,
    SCRIPT_NAMES,
    answer_type,
    check_layout,
    column_names,
    converter,
)
from treecompile.emit.python.forest import (
    VERSIONS,
    classes,
    constants,
    exactness,
    functions,
)
from treecompile.emit.python.layout import (
    WIDTH,
    collection,
    in_docstring,
)
from treecompile.emit.python.lower import (
    ReadColumns,
    blanks,
    computed,
    script_mode,
)
from treecompile.emit.runtime import columns, forest_columns, rows
from treecompile.emit.runtime.source import copied
from treecompile.model import forests, ir, words
from treecompile.model.semantics import required_features, threshold, truth_table


@dataclass(frozen=True, slots=True)
class NumpyForest:
    """The strings of the module; a list has one line in each entry."""

    target: str  # price
    trees: str  # how many: 100 trees
    version: str  # of treecompile: 0.9
    sha256: str  # of the model
    exactness: list[str]  # "The trees are added in their order, ..."
    computed: list[str]  # "Computed from dates by with_dates: ..."
    imports: list[str]  # "from typing import Any", "", "import numpy as np"
    columns: list[str]  # COLUMNS = ("sky", "heat", "wind"): all, in order
    features: list[str]  # FEATURES = ("sky", "heat"): those that are read
    classes: list[str]  # CLASSES = ("no", "yes"); nothing for a regression
    runtime: list[str]  # the functions: "def predict(...", "def margins(...", ...
    helpers: list[str]  # "def as_number(...", ...
    constants: list[str]  # BLOCK = 2**15  # rows at a time, ..., CUT = 0.0
    converters: list[str]  # '    "heat": numbers,', ...
    table: list[str]  # the trees: "    (", "        [0],", "        [", ...
    label_type: str  # the dtype of the labels: object
    labels: list[str]  # '    "no",', ...; nothing for a regression
    parsers: list[str]  # PARSERS = {"heat": parse_number, "sky": parse_text}
    blanks: list[str]  # BLANKS = ("", "NA")
    script: list[str]  # "def main(...", "def usage(...", ...


def lower(source: ForestInput, options: EmitOptions) -> Lowered:
    check_layout(options)
    program, forest = source.program, source.program.body
    required = {place: column for column, place in enumerate(required_features(forest))}
    read = ReadColumns.of(program)
    used, dates, helpers = read.used, read.dates, read.helpers
    of_script = {
        "BOOLEANS": any(isinstance(label, bool) for label in forest.labels),
        "COMPUTES": bool(dates),
    }
    text = NumpyForest(
        target=in_docstring(words.name(program.target)),
        trees=words.quantity(len(forest.members), "tree"),
        version=source.version,
        sha256=source.sha256,
        exactness=textwrap.wrap(exactness(forest), WIDTH),
        computed=[in_docstring(line) for line in computed(program)],
        imports=[*helpers.imports(IMPORTED), "", "import numpy as np"],
        columns=column_names("COLUMNS", forest.features),
        features=[*column_names("FEATURES", used), *dates],
        classes=classes(forest),
        runtime=[
            *_runtime(forest, required, used),
            *copied(rows, ["row_count"]),
            *copied(columns, ["with_dates"] * bool(dates)),
        ],
        helpers=helpers.texts(),
        constants=list(_constants(forest, required)),
        converters=[f"    {python_string(f.name)}: {converter(f)}," for f in used],
        table=[line for each in forest.members for line in _tree(each, required)],
        label_type=answer_type(forest),
        labels=[f"    {python_literal(label)}," for label in forest.labels],
        parsers=read.parsers_by_name(),
        blanks=blanks(program),
        script=script_mode(NUMPY_SCRIPT, of_script, SCRIPT_NAMES),
    )
    return Lowered(text)


def _runtime(
    forest: ir.Forest, required: Mapping[int, int], used: Sequence[ir.Feature]
) -> list[str]:
    """Return the functions of the module."""
    first, others = functions(forest)
    zeros, adjusts = _zeros(forest, required), _adjusts(forest)
    flags = {
        "ONE_SUM": len(forest.start) == 1,
        "ROUNDS": forest.arithmetic is ir.Arithmetic.SINGLE,
        "ADJUSTS": adjusts,
        "SKIPS_ZEROS": bool(zeros),
    }
    names = [*first, "margins", "sums", "byte_leaves", "leaves", "with_arrays", "is_in"]
    names += ["without_zeros"] * bool(zeros) + ["adjusted"] * adjusts
    names += [name for name in others if name not in ("single", "rounded")]
    names += ["rounded"] * (adjusts or "rounded" in others)
    kinds = {"numbers" if f.kind is ir.Kind.NUMERIC else "codes" for f in used}
    reading = ["read", "values", *sorted(kinds, reverse=True)]
    return [
        *copied(forest_columns, names, flags, VERSIONS),
        *copied(columns, reading),
    ]


def _zeros(forest: ir.Forest, required: Mapping[int, int]) -> list[int]:
    """Return the columns in which 0 is a missing value."""
    return [required[place] for place in forest.zero_is_missing if place in required]


def _adjusts(forest: ir.Forest) -> bool:
    return (forest.divisor, forest.scale) != (1, 1) or bool(forest.offset)


def _constants(forest: ir.Forest, required: Mapping[int, int]) -> Iterator[str]:
    yield from copied(forest_columns, ["BLOCK", "BYTES"])
    bits = "32" if forest.arithmetic is ir.Arithmetic.SINGLE else "64"
    yield f"NUMBER = np.float{bits}"
    yield from collection("START = [", map(repr, forest.start), "]")
    if _adjusts(forest):
        yield f"DIVISOR, SCALE = {forest.divisor!r}, {forest.scale!r}"
        offset = forest.offset or (0.0,) * len(forest.start)
        yield from collection("OFFSET = [", map(repr, offset), "]")
    if zeros := _zeros(forest, required):
        yield from collection("ZERO_IS_MISSING = [", map(repr, zeros), "]")
        yield f"ZERO = {forests.ZERO!r}"
    _, others = functions(forest)
    yield from constants(forest, others)


# ---------------------------------------------------------------- tables

IN_A_LINE = 4  # numbers of leaves


def _tree(member: ir.Member, required: Mapping[int, int]) -> Iterator[str]:
    """Yield the lines of a tree: its sums, its splits, and what its leaves add."""
    tree = member.tree
    splits = [at for at, node in enumerate(tree.nodes) if isinstance(node, ir.Split)]
    places = {node: number for number, node in enumerate(splits)}
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            places[position] = ~node.value
    yield f"    ({list(member.outputs)}, ["
    for position in splits:
        yield f"        {_split(tree, position, required, places)},"
    yield "    ], ["
    for place in range(len(member.outputs)):
        added = [repr(values[place]) for values in member.values]
        yield "        ["
        for first in range(0, len(added), IN_A_LINE):
            yield f"            {', '.join(added[first : first + IN_A_LINE])},"
        yield "        ],"
    yield "    ]),"


def _split(
    tree: ir.Tree, position: int, required: Mapping[int, int], places: Mapping[int, int]
) -> str:
    """Write (column, comparison, limit, child if it holds, other child).

    A missing number fails every comparison: if it must hold, its opposite is written.
    """
    split = tree.nodes[position]
    assert isinstance(split, ir.Split)
    first, second = split.branches
    feature = tree.features[first.when.feature]
    column = required[first.when.feature]
    if feature.kind is not ir.Kind.NUMERIC:
        test = f'"in", {truth_table(first.when, feature)}'
    else:
        if first.when.missing:
            first, second = second, first
        test = f'"{first.when.op}", {threshold(first.when)!r}'
    return f"({column}, {test}, {places[first.then]}, {places[second.then]})"
