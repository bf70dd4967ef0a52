"""Lowers a program to a Python module that predicts whole columns with numpy.

The decision is data, not code: a table of splits or of rules, which `runtime.columns`
walks for all rows at once. Categories become codes: their position in the list of
categories, then one code for unseen values and one for missing ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.literals import python_literal, python_string
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import AUTO, EmitOptions
from treecompile.emit.python.decision import CONVERTERS
from treecompile.emit.python.layout import collection, in_docstring, mapping
from treecompile.emit.python.lower import (
    SCRIPT,
    ReadColumns,
    blanks,
    computed,
    script_mode,
)
from treecompile.emit.runtime import columns, rows
from treecompile.emit.runtime.source import copied
from treecompile.emit.steps import nest, note
from treecompile.emit.targets import ByType
from treecompile.model import ir, words
from treecompile.model.errors import OptionError
from treecompile.model.paths import divisible, outcomes, settled
from treecompile.model.semantics import (
    membership,
    probabilities,
    required_features,
    threshold,
    truth_table,
    type_of_labels,
)

# The functions of runtime/columns.py that differ between trees that divide and others.
PLAIN = ("predict", "predict_proba", "rules", "deciders")
DIVIDING = (
    *("divided_predict", "divided_proba", "divided_rules", "unknown_rows"),
    *("is_unknown", "divided", "passed", "mixed"),
)
IMPORTED = {
    "": {"csv", "sys"},
    "collections.abc": {"Iterable", "Iterator", "Mapping"},
    "itertools": {"chain", "islice"},
    "typing": {"Any", "TextIO"},
}
NUMPY_SCRIPT = ["score_columns" if name == "score" else name for name in SCRIPT]
SCRIPT_NAMES = {"score_columns": "score", "predict_all": "predict"}
RENAMED = dict(zip(DIVIDING[:3], PLAIN[:3], strict=True))

DTYPES = ByType("np.float64", "object", "np.int64", "np.bool_")
Places = Mapping[int, int]  # a split's number; ~n for a leaf with the answer n


@dataclass(frozen=True, slots=True)
class NumpyModule:
    """The strings of a numpy module; a list has one line in each entry."""

    target: str  # play
    version: str  # of treecompile: 0.9
    sha256: str  # of the model
    imports: list[str]  # "from typing import Any", "", "import numpy as np"
    columns: list[str]  # COLUMNS = ("sky", "heat", "wind"): all, in order
    features: list[str]  # FEATURES = ("sky", "heat"): those that are read
    classes: list[str]  # CLASSES = ("no", "yes")
    computed: list[str]  # "Computed from dates by with_dates: ..."
    is_classifier: bool  # false for a regression
    is_divided: bool  # true for a tree that divides unknown values
    is_tree: bool  # false for rules that are run one after the other
    runtime: list[str]  # the functions: "def predict(...", "def read(...", ...
    helpers: list[str]  # "def as_number(...", ...
    limits: list[str]  # BLOCK = 2**17  # rows at a time, ...
    converters: list[str]  # '    "heat": numbers,', ...
    table: list[str]  # splits: '    (1, 20.0, True, ~0, ~1),'; or rules
    answer_type: str  # the dtype of the answers: object
    answers: list[str]  # '    "yes",', ...
    shares: list[str]  # of labels, for each answer: '        [0.25, 0.75],', ...
    ids: list[str]  # of the rule of each answer: '        "R1",', ...
    # Placed only for a tree that divides:
    branches: list[str]  # (child, weight) of each branch: '    ((~0, 4.0), (~1, 2.0)),'
    sizes: str  # number of categories of each feature: [2, 0]
    labels: list[str]  # '    "no",', ...
    estimates: list[str]  # of a regression, for each answer: '        [20.0],', ...
    # The script mode:
    parsers: list[str]  # PARSERS = {"heat": parse_number, "sky": parse_text}
    blanks: list[str]  # BLANKS = ("", "NA")
    script: list[str]  # "def main(...", "def usage(...", ...


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    check_layout(options)
    body = settled(source.program.body)
    decided = outcomes(body)
    required = {index: column for column, index in enumerate(required_features(body))}
    read = ReadColumns.of(source.program)
    used, dates, helpers = read.used, read.dates, read.helpers
    tree, places = _tree(body, decided)
    is_tree = tree is not None
    limits = ["BLOCK"]
    flags = {
        "IS_TREE": is_tree,
        "CLASSIFIES": bool(body.labels),
        "HAS_CODES": any(f.kind is not ir.Kind.NUMERIC for f in used),
    }
    has_booleans = any(isinstance(label, bool) for label in body.labels)
    of_script = {"BOOLEANS": has_booleans, "COMPUTES": bool(dates)}
    runtime = _runtime(body, used, is_tree=is_tree)
    if divisible(body):
        limits.append("MOST")
    module = NumpyModule(
        target=in_docstring(words.name(source.program.target)),
        version=source.version,
        sha256=source.sha256,
        imports=[*helpers.imports(IMPORTED), "", "import numpy as np"],
        columns=column_names("COLUMNS", body.features),
        features=[*column_names("FEATURES", used), *dates],
        classes=collection("CLASSES = (", map(python_literal, body.labels), ")"),
        computed=[in_docstring(line) for line in computed(source.program)],
        is_classifier=bool(body.labels),
        is_divided=divisible(body),
        is_tree=is_tree,
        runtime=[
            *copied(columns, runtime, flags, RENAMED),
            *copied(rows, ["row_count"]),
            *copied(columns, ["with_dates"] * bool(dates)),
        ],
        helpers=helpers.texts(),
        limits=copied(columns, limits),
        converters=[f"    {python_string(f.name)}: {converter(f)}," for f in used],
        table=list(_table(body, tree, required, places)),
        answer_type=answer_type(body),
        answers=[f"    {python_literal(rule.value)}," for rule in decided.values()],
        shares=[
            f"        [{', '.join(map(repr, probabilities(rule.stats)))}],"
            for rule in decided.values()
            if isinstance(rule.stats, ir.ClassCounts)
        ],
        ids=[f'        "{rule.id}",' for rule in decided.values()],
        branches=list(_branches(body, places)),
        sizes=str([len(feature.categories) for feature in used]),
        labels=[f"    {python_literal(label)}," for label in body.labels],
        estimates=[
            f"        [{rule.value!r}]," for rule in decided.values() if not body.labels
        ],
        parsers=mapping("PARSERS", read.parsers),
        blanks=blanks(source.program),
        script=script_mode(NUMPY_SCRIPT, of_script, SCRIPT_NAMES),
    )
    return Lowered(module, notes=(note(body),))


def check_layout(options: EmitOptions) -> None:
    if options.layout != AUTO:
        raise OptionError(
            "--layout is for --style standard: a numpy module has its decision as a"
            " table, and not as code"
        )


def _runtime(body: ir.Body, used: Sequence[ir.Feature], *, is_tree: bool) -> list[str]:
    """Return the names of the functions of the module."""
    names = list(DIVIDING if divisible(body) else PLAIN)
    if not body.labels:
        del names[1]  # predict_proba
    names += ["walk", "leaves", "arrays"] if is_tree else ["holds"]
    names += ["read", "values"]
    kinds = {"numbers" if f.kind is ir.Kind.NUMERIC else "codes" for f in used}
    return [*names, *sorted(kinds, reverse=True)]


def column_names(name: str, features: Sequence[ir.Feature]) -> list[str]:
    return collection(f"{name} = (", (python_string(f.name) for f in features), ")")


def converter(feature: ir.Feature) -> str:
    """Return the call that turns a column into numbers or codes."""
    if feature.kind is ir.Kind.NUMERIC:
        return "numbers"
    codes = (f"{python_literal(c)}: {i}" for i, c in enumerate(feature.categories))
    return f"codes({CONVERTERS.of(feature.type)}, {{{', '.join(codes)}}})"


def answer_type(body: ir.AnyBody) -> str:
    """Return the answers' dtype; text and integers beyond 64 bits stay objects."""
    if any(isinstance(label, int) and abs(label) >= 2**63 for label in body.labels):
        return "object"
    return DTYPES.of(type_of_labels(body.labels or (0.0,)))


def _tree(
    body: ir.Body, decided: Mapping[int, ir.Rule]
) -> tuple[ir.Tree | None, Places]:
    """Return the tree to walk, if there is one, and where its table has each node."""
    if isinstance(body, ir.Tree):
        tree, answers = body, {leaf: number for number, leaf in enumerate(decided)}
    else:
        nested = nest(body)
        if nested is None or not nested.tests:  # without a test, a tree has one answer
            return None, {}
        tree, answers = nested.tree, nested.outcomes
    places = {node: ~number for node, number in answers.items()}
    splits = (at for at, node in enumerate(tree.nodes) if isinstance(node, ir.Split))
    return tree, places | {node: number for number, node in enumerate(splits)}


def _table(
    body: ir.Body, tree: ir.Tree | None, required: Mapping[int, int], places: Places
) -> Iterator[str]:
    """Yield the splits of the tree, or the rules."""
    if tree is not None:
        for node in tree.nodes:
            if isinstance(node, ir.Split):
                yield f"    {_split(node, tree, required, places)},"
        return
    assert isinstance(body, ir.RuleSet)
    for rule in body.rules:
        tests = (_rule_test(test, body, required) for test in rule.conditions)
        yield f"    [{', '.join(tests)}],"


def _split(
    split: ir.Split, tree: ir.Tree, required: Mapping[int, int], places: Places
) -> str:
    """Write the row of a split in the table.

    It is (column, threshold, whether missing is low, low child, high child), or
    (column, the child for each code).
    """
    where = split.branches[0].when.feature
    feature = tree.features[where]
    column = required[where]
    if feature.kind is ir.Kind.NUMERIC:
        low, high = sorted(split.branches, key=lambda b: b.when.op is ir.Op.GT)
        children = [places[low.then], places[high.then]]
        items = (column, threshold(low.when), low.when.missing, *children)
        return f"({', '.join(map(repr, items))})"
    return f"({column}, {_children(split, feature, places)})"


def _children(split: ir.Split, feature: ir.Feature, places: Places) -> list[int]:
    """Return the child for each code: of categories, unseen and missing values."""
    children = [0] * (len(feature.categories) + 2)
    codes = {category: code for code, category in enumerate(feature.categories)}
    for branch in split.branches:
        inside, chosen, missing = membership(branch.when, feature)
        child = places[branch.then]
        if inside:
            for category in chosen:
                children[codes[category]] = child
        else:
            for code, holds in enumerate(truth_table(branch.when, feature)):
                if holds:
                    children[code] = child
        if missing:
            children[-1] = child
    return children


def _branches(body: ir.Body, places: Places) -> Iterator[str]:
    """Yield the children of each split, with weights, for a tree that divides."""
    for node in body.nodes if divisible(body) else ():
        if isinstance(node, ir.Split):
            pairs = (f"({places[b.then]}, {b.weight!r})" for b in node.branches)
            yield f"    ({', '.join(pairs)}),"


def _rule_test(test: ir.Condition, body: ir.Body, required: Mapping[int, int]) -> str:
    """Write (column, threshold, if above, truth if missing), or (column, truths)."""
    column = required[test.feature]
    feature = body.features[test.feature]
    if feature.kind is ir.Kind.NUMERIC:
        return f"({column}, {threshold(test)!r}, {test.op is ir.Op.GT}, {test.missing})"
    return f"({column}, {truth_table(test, feature)})"
