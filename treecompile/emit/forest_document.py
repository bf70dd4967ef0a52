"""Lowers a forest to the strings of MODEL.md: how it answers, what it relies on."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.emit import md
from treecompile.emit.document import meaning_text, summary_text, tables
from treecompile.emit.lowering import ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.measure.forest_importance import SplitShares, split_shares
from treecompile.model import ir
from treecompile.model.display import DisplayTable
from treecompile.model.forest_words import exactness, steps
from treecompile.model.semantics import required_features

MOST_IMPORTANT = 30  # columns in the table of importance


@dataclass(frozen=True, slots=True)
class ForestDocument:
    """The strings of MODEL.md; an empty one is left out."""

    target: str  # churn
    summary: str  # **churn** is decided from ... by a forest of 100 trees, ...
    quality: str  # the table of right answers
    steps: list[str]  # ["The sum starts at 0.5.", "Each of the 100 trees ...", ...]
    exactness: list[str]  # ["Exact: the margin and the label. They are ...", ...]
    meaning: str  # An empty field, NULL or NaN is "missing".
    columns: str  # the table of columns
    unused: str  # city, zip
    share_of: str  # gain, or splits
    importance: str  # the table of columns, with bars


def lower(source: ForestInput, options: EmitOptions) -> Lowered:
    program, forest = source.program, source.program.body
    used, shares = required_features(forest), split_shares(forest)
    return Lowered(
        ForestDocument(
            target=md.name(program.target),
            summary=summary_text(program, used, 0),
            steps=steps(forest, md.shown),
            exactness=exactness(forest),
            meaning=" ".join(meaning_text(program, used)),
            **tables(program, used),
            share_of="gain" if shares.are_gains else "splits",
            importance=md.table(_importance(forest, shares)),
        )
    )


def _importance(forest: ir.Forest, found: SplitShares) -> DisplayTable:
    """Return the columns that matter most, with a bar for each."""
    ranked = found.ranked
    rows = []
    for index in ranked[:MOST_IMPORTANT]:
        share = found.shares[index]
        bar = "█" * max(1, round(24 * share / found.shares[ranked[0]]))
        rows.append([md.name(forest.features[index].name), _percent(share), bar])
    if rest := ranked[MOST_IMPORTANT:]:
        left = sum(found.shares[index] for index in rest)
        rows.append([f"{len(rest):,} more", _percent(left), ""])
    return DisplayTable("Importance", ["Column", "Share", ""], rows)


def _percent(share: float) -> str:
    return "below 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
