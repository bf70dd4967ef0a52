"""IR -> the strings of a Python module that predicts whole columns with numpy.

The decision is data here, not code: a table of the splits, or of the rules, that a few
lines of numpy walk for all rows at once. Categories become codes: their place in order,
then one code for unseen values and one for missing ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treecompile import words
from treecompile.divide import divisible, settled
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Rule,
    RuleSet,
    Split,
    Tree,
)
from treecompile.literals import python_literal, python_string
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.python_code import CONVERTERS
from treecompile.lower.python_helpers import Helpers
from treecompile.lower.python_layout import collection, in_docstring
from treecompile.membership import truth_table
from treecompile.retree import nest, note
from treecompile.semantics import probabilities, required_features, threshold


def lower(source: Source, options: EmitOptions) -> Context:
    """Everything that the template of the numpy module places."""
    body = settled(source.program.body)
    decided = outcomes(body)
    required = required_features(body)
    used = [body.features[position] for position in required]
    helpers = Helpers()
    helpers.need(*(CONVERTERS[f.type] for f in used))
    tree, answers = _tree(body, decided)
    names = {"collections.abc": {"Mapping"}, "typing": {"Any"}}
    if divisible(body):
        names["collections.abc"].add("Iterator")
    return {
        "target": in_docstring(words.name(source.program.target)),
        "version": source.version,
        "sha256": source.sha256,
        "imports": [*helpers.imports(set(), names), "", "import numpy as np"],
        "columns": _names("COLUMNS", body.features),
        "features": _names("FEATURES", used),
        "classes": collection("CLASSES = (", map(python_literal, body.labels), ")"),
        "is_classifier": bool(body.labels),
        "converters": [f"    {python_string(f.name)}: {_converter(f)}," for f in used],
        "is_divided": divisible(body),
        "branches": list(_branches(body, answers)),
        "sizes": str([len(feature.categories) for feature in used]),
        "labels": [f"    {python_literal(label)}," for label in body.labels],
        "is_tree": tree is not None,
        "table": (
            list(_rules(body, list(required)))
            if tree is None
            else list(_splits(tree, list(required), answers))
        ),
        "answers": [f"    {python_literal(rule.value)}," for rule in decided.values()],
        "answer_type": _answer_type(body),
        "shares": [
            f"        [{', '.join(map(repr, probabilities(rule.stats)))}],"
            for rule in decided.values()
            if isinstance(rule.stats, ClassCounts)
        ],
        "estimates": [
            f"        [{rule.value!r}]," for rule in decided.values() if not body.labels
        ],
        "ids": [f'        "{rule.id}",' for rule in decided.values()],
        "has_numbers": any(f.kind is Kind.NUMERIC for f in used),
        "has_categories": any(f.kind is not Kind.NUMERIC for f in used),
        "helpers": helpers.sources(),
        "notes": list(filter(None, [note(body)])),
    }


def _names(name: str, features: Sequence[Feature]) -> list[str]:
    return collection(f"{name} = (", (python_string(f.name) for f in features), ")")


def _converter(feature: Feature) -> str:
    """The call that turns a column into numbers or codes."""
    if feature.kind is Kind.NUMERIC:
        return "numbers"
    codes = (f"{python_literal(c)}: {i}" for i, c in enumerate(feature.categories))
    return f"codes({CONVERTERS[feature.type]}, {{{', '.join(codes)}}})"


def _answer_type(body: Body) -> str:
    """The dtype of the answers; text, and integers beyond 64 bits, stay objects."""
    if not body.labels or isinstance(body.labels[0], float):
        return "np.float64"
    if isinstance(body.labels[0], bool):
        return "np.bool_"
    if isinstance(body.labels[0], int) and all(
        abs(int(label)) < 2**63 for label in body.labels
    ):
        return "np.int64"
    return "object"


def _tree(
    body: Body, decided: Mapping[int, Rule]
) -> tuple[Tree | None, Mapping[int, int]]:
    """The tree to walk, if there is one, and the number of each leaf's answer."""
    if isinstance(body, Tree):
        return body, {position: number for number, position in enumerate(decided)}
    nested = nest(body)
    if nested is None or not nested.tests:  # without a test, a tree has one answer
        return None, {}
    return nested.tree, nested.outcomes


def _rules(body: Body, required: list[int]) -> Iterator[str]:
    assert isinstance(body, RuleSet)
    for rule in body.rules:
        tests = (_rule_test(test, body, required) for test in rule.conditions)
        yield f"    [{', '.join(tests)}],"


def _splits(
    tree: Tree, required: list[int], answers: Mapping[int, int]
) -> Iterator[str]:
    """The splits, whose children are splits or, as ~n, answers."""
    place = _places(tree, answers)
    for node in tree.nodes:
        if isinstance(node, Split):
            yield f"    {_split(node, tree, required, place)},"


def _places(tree: Tree, answers: Mapping[int, int]) -> dict[int, int]:
    """Each split by its number, each leaf by ~n for the answer n."""
    place: dict[int, int] = {}
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            place[position] = len(place)
    return place | {position: ~number for position, number in answers.items()}


def _branches(body: Body, answers: Mapping[int, int]) -> Iterator[str]:
    """For a tree that divides: the children of each split, in order, with weights."""
    if not isinstance(body, Tree) or not divisible(body):
        return
    place = _places(body, answers)
    for node in body.nodes:
        if isinstance(node, Split):
            pairs = (f"({place[b.then]}, {b.weight!r})" for b in node.branches)
            yield f"    ({', '.join(pairs)}),"


def _split(
    split: Split, tree: Tree, required: list[int], place: Mapping[int, int]
) -> str:
    """(column, threshold, whether missing is low, low child, high child), or
    (column, the child for each code)."""
    where = split.branches[0].when.feature
    feature = tree.features[where]
    column = required.index(where)
    if feature.kind is Kind.NUMERIC:
        low, high = sorted(split.branches, key=lambda branch: branch.when.op is Op.GT)
        limit = repr(threshold(low.when))
        return (
            f"({column}, {limit}, {low.when.missing},"
            f" {place[low.then]}, {place[high.then]})"
        )
    children = [0] * (len(feature.categories) + 2)
    for branch in split.branches:
        for code, holds in enumerate(truth_table(branch.when, feature)):
            if holds:
                children[code] = place[branch.then]
    return f"({column}, {children})"


def _rule_test(test: Condition, body: Body, required: list[int]) -> str:
    """(column, threshold, whether above it, truth if missing), or (column, truths)."""
    column = required.index(test.feature)
    feature = body.features[test.feature]
    if feature.kind is Kind.NUMERIC:
        return f"({column}, {threshold(test)!r}, {test.op is Op.GT}, {test.missing})"
    return f"({column}, {truth_table(test, feature)})"
