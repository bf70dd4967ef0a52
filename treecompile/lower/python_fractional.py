"""What a Python module carries to divide unknown values: its tree as a flat table.

The guard clauses of `predict` are the fast path, for rows whose values are all known.
Any other row walks the table, from which also its explanation is put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treecompile import words
from treecompile.divide import divisible
from treecompile.ir import (
    Body,
    Branch,
    Category,
    Kind,
    Op,
    Program,
    Rule,
    RuleSet,
    Split,
    Tree,
)
from treecompile.literals import python_literal, python_string
from treecompile.lower import Context
from treecompile.lower.python_code import CONVERTERS
from treecompile.lower.python_layout import collection
from treecompile.membership import membership
from treecompile.semantics import required_features, threshold


def division(program: Program, decided: Mapping[int, Rule]) -> Context:
    """What the template places for a tree that divides; nothing for another body."""
    body = program.body
    if not isinstance(body, Tree) or not divisible(body):
        return {"is_divided": False}
    target = words.name(program.target)
    conclusions = [f"{target} = {words.value(label)}" for label in body.labels]
    required = required_features(body)
    shown = (python_string(words.name(body.features[p].name)) for p in required)
    return {
        "is_divided": True,
        "readers": list(_readers(body)),
        "nodes": list(_nodes(body, decided)),
        "shown_names": collection("NAMES = (", shown, ")"),
        "conclusions": collection(
            "CONCLUSIONS = (", map(python_string, conclusions), ")"
        ),
        "conclusion": python_string(f"{target} = "),
        "estimates": [
            f'    "{rule.id}": ({python_literal(rule.value)},),'
            for rule in decided.values()
            if not body.labels
        ],
    }


def unmerged_sentence(rule: Rule, rules: RuleSet, target: str) -> str:
    """A rule that no row meets as a whole, each of its tests told by itself."""
    tests = [words.phrase([c], rules.features[c.feature]) for c in rule.conditions]
    said = words.conclusion(rule, rules.labels, target)
    return f"{rule.id}: if {' and '.join(tests)} then {said}"


def _readers(body: Body) -> Iterator[str]:
    """For each required feature its converter and its categories, if it has any."""
    for position in required_features(body):
        feature = body.features[position]
        known = "None"
        if feature.kind is not Kind.NUMERIC:
            items = ", ".join(map(python_literal, feature.categories))
            known = f"frozenset({{{items}}})"
        convert = CONVERTERS[feature.type]
        yield f"    {python_string(feature.name)}: ({convert}, {known}),"


def _nodes(tree: Tree, decided: Mapping[int, Rule]) -> Iterator[str]:
    columns = {p: place for place, p in enumerate(required_features(tree))}
    for position, node in enumerate(tree.nodes):
        if not isinstance(node, Split):
            yield f'    "{decided[position].id}",'
            continue
        where = node.branches[0].when.feature
        children = ", ".join(str(branch.then) for branch in node.branches)
        weights = ", ".join(repr(branch.weight) for branch in node.branches)
        choice = _choice(node, tree)
        yield f"    ({columns[where]}, {choice}, ({children}), ({weights})),"


def _choice(split: Split, tree: Tree) -> str:
    """How a known value chooses: a threshold and the place of the low branch, or the
    places of the named categories and the place of all others."""
    feature = tree.features[split.branches[0].when.feature]
    if feature.kind is Kind.NUMERIC:
        low = next(b for b in split.branches if b.when.op is Op.LE)
        limit = repr(threshold(low.when))  # `inf` is imported for as_number
        return f"{limit}, {split.branches.index(low)}"
    named = {
        category: place
        for place, branch in enumerate(split.branches)
        for category in _named(branch, tree)
    }
    items = (f"{python_literal(c)}: {place}" for c, place in named.items())
    (rest,) = set(range(len(split.branches))) - {
        place for place, b in enumerate(split.branches) if _is_named(b, tree)
    }
    return f"{{{', '.join(items)}}}, {rest}"


def _named(branch: Branch, tree: Tree) -> tuple[Category, ...]:
    if not _is_named(branch, tree):
        return ()
    return membership(branch.when, tree.features[branch.when.feature])[1]


def _is_named(branch: Branch, tree: Tree) -> bool:
    """Whether a branch takes the categories that it names, and not all others."""
    return membership(branch.when, tree.features[branch.when.feature])[0]
