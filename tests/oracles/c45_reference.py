"""The files of the reference program: its data, and what it printed.

They are not part of the repository; tests that need them skip where they are absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tests.samples import ROOT
from treecompile.ir import ClassCounts, Feature, Kind, Leaf, Op, Split, Tree
from treecompile.learners.c45_errors import added_errors
from treecompile.semantics import members

SHARED = ROOT.parent / "shared"
DATA, PRINTED = SHARED / "data", SHARED / "oracles" / "c45"
CF = 0.25


@dataclass(frozen=True)
class Problem:
    """A data set as its .names file declares it."""

    labels: list[str]
    attributes: dict[str, list[str] | None]  # None: continuous
    train: pd.DataFrame
    test: pd.DataFrame | None


def read_problem(name: str) -> Problem:
    labels, *declared = statements((DATA / f"{name}.names").read_text("latin-1"))
    attributes: dict[str, list[str] | None] = {}
    for statement in declared:
        attribute, _, values = statement.partition(":")
        listed = [value.strip() for value in values.split(",")]
        attributes[attribute.strip()] = None if listed == ["continuous"] else listed
    test = DATA / f"{name}.test"
    return Problem(
        [label.strip() for label in labels.split(",")],
        attributes,
        read_rows(DATA / f"{name}.data", attributes),
        read_rows(test, attributes) if test.exists() else None,
    )


def statements(text: str) -> list[str]:
    """Lines without comments, joined where they end in a comma."""
    joined = ""
    for line in text.splitlines():
        bare = line.partition("|")[0].strip()
        joined += bare + ("" if bare.endswith(",") else "\n")
    return [s.strip().rstrip(".") for s in joined.splitlines() if s.strip()]


def read_rows(path: Path, attributes: dict[str, list[str] | None]) -> pd.DataFrame:
    rows = []
    for line in path.read_text("latin-1").splitlines():
        bare = line.partition("|")[0].strip().rstrip(".")
        if bare:
            rows.append([field.strip() for field in bare.split(",")])
    frame: dict[str, object] = {}
    for place, (name, values) in enumerate(attributes.items()):
        column = [None if row[place] == "?" else row[place] for row in rows]
        if values is None:
            frame[name] = [float("nan") if v is None else float(v) for v in column]
        else:
            frame[name] = pd.Categorical(column, categories=values)
    frame["class"] = [row[-1] for row in rows]
    return pd.DataFrame(frame)


# ---------------------------------------------------------------- what it printed


@dataclass(frozen=True)
class Result:
    size: int
    errors: int


@dataclass(frozen=True)
class Reference:
    """Trees as lines, and the figures below them."""

    grown: list[str]
    pruned: list[str] | None  # None: the same structure as before
    training: tuple[Result, Result]
    test: tuple[Result, Result] | None
    estimate: str  # per cent


FIGURES = re.compile(
    r"^\s+(\d+)\s+(\d+)\(\s*[\d.]+%\)\s+(\d+)\s+(\d+)\(\s*[\d.]+%\)\s+\(\s*([\d.]+)%\)",
    re.M,
)


def read_reference(name: str, option: str) -> Reference:
    text = (PRINTED / f"{name}.tree{option}.txt").read_text("latin-1")
    grown, _, simplified = text.partition("Tree saved")[0].partition("Simplified Dec")
    figures = FIGURES.findall(text)
    results = [
        (Result(int(a), int(b)), Result(int(c), int(d))) for a, b, c, d, _ in figures
    ]
    return Reference(
        tree_lines(grown.partition("Decision Tree:")[2]),
        tree_lines(simplified.partition("Tree:")[2]) if simplified else None,
        results[0],
        results[1] if len(results) > 1 else None,
        figures[0][4],
    )


def tree_lines(text: str) -> list[str]:
    """The lines of a tree, with the subtrees put where they belong."""
    main, *subtrees = re.split(r"^Subtree \[(S\d+)\]$", text, flags=re.M)
    parts = dict(zip(subtrees[::2], subtrees[1::2], strict=True))
    lines = [line.rstrip() for line in main.splitlines() if line.strip()]
    while any(line.endswith("]") for line in lines):
        expanded = []
        for line in lines:
            found = re.fullmatch(r"(.*):\[(S\d+)\]", line)
            if not found:
                expanded.append(line)
                continue
            expanded.append(found[1] + ":")
            margin = "|   " * (line.count("|   ") + 1)
            below = [x.rstrip() for x in parts[found[2]].splitlines() if x.strip()]
            expanded += [margin + x for x in below]
        lines = expanded
    return lines


# ---------------------------------------------------------------- ours, as it prints


def printed(tree: Tree, *, is_pruned: bool) -> list[str]:
    """Our tree in the form of the reference: leaves before subtrees."""
    everything = {
        i: frozenset(f.categories) for i, f in enumerate(tree.features) if f.categories
    }
    lines: list[str] = []
    stack: list[tuple[int, str, dict[int, frozenset[object]]]] = []

    def expand(
        split: Split, margin: str, possible: dict[int, frozenset[object]]
    ) -> None:
        entries = []
        for branch in split.branches:
            where = branch.when.feature
            feature = tree.features[where]
            inner = possible
            if feature.kind is Kind.NUMERIC:
                text = f"{feature.name} {branch.when.op} {branch.when.value:g} :"
            else:
                chosen: set[object] = set(members(branch.when))
                if branch.when.op is Op.NOT_IN:
                    chosen = set(possible[where] - chosen)
                inner = {**possible, where: frozenset(chosen)}
                text = f"{feature.name} {membership(feature, chosen)}:"
            entries.append((branch.then, margin, text, inner))
        leaves = [e for e in entries if isinstance(tree.nodes[e[0]], Leaf)]
        rest = [e for e in entries if not isinstance(tree.nodes[e[0]], Leaf)]
        for then, indent, text, inner in reversed(leaves + rest):
            stack.append((then, indent + text, inner))

    root = tree.nodes[0]
    if isinstance(root, Leaf):
        return [shown(root, tree, is_pruned)]
    expand(root, "", dict(everything))
    while stack:
        position, text, possible = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            lines.append(f"{text} {shown(node, tree, is_pruned)}")
        else:
            lines.append(text)
            margin = "|   " * (text.count("|   ") + 1)
            expand(node, margin, possible)
    return lines


def membership(feature: Feature, chosen: set[object]) -> str:
    names = [str(c) for c in feature.categories if c in chosen]
    return f"= {names[0]}" if len(names) == 1 else f"in {{{','.join(names)}}}"


def shown(leaf: Leaf, tree: Tree, is_pruned: bool) -> str:
    """`class (cases)`, or with errors: those seen, or after pruning those expected."""
    errors = expected_errors(leaf, tree) if is_pruned else seen_errors(leaf, tree)
    more = f"/{errors:.1f}" if errors > 1e-6 else ""
    return f"{leaf.value} ({leaf.weight:.1f}{more})"


def seen_errors(leaf: Leaf, tree: Tree) -> float:
    assert isinstance(leaf.stats, ClassCounts)
    right = leaf.stats.weights[tree.labels.index(leaf.value)]
    return leaf.weight - right if leaf.weight else 0.0


def expected_errors(leaf: Leaf, tree: Tree) -> float:
    if not leaf.weight:
        return 0.0
    seen = seen_errors(leaf, tree)
    return seen + float(added_errors(np.array(leaf.weight), np.array(seen), CF))
