"""Writes what a forest relies on: the importance of its features."""

from __future__ import annotations

from treecompile.emit.markdown import md
from treecompile.measure.forest_importance import SplitShares
from treecompile.model import ir

MOST_LISTED = 30  # features in the table
BAR = 24  # characters of the longest bar

BY_GAIN = (
    "The importance of a feature is its share of the total gain: of how much all splits"
    " of all trees improved the fit in training, by the measure of the library."
)
BY_SPLITS = (
    "The importance of a feature is its share of the splits in all trees: how often it"
    " is tested. How much each split improved the fit is not recorded."
)
CAUTION = (
    " It says what the model relies on, not what causes what. Features that carry the"
    " same information share their importance."
)
NONE_USED = "No tree tests any feature: every row gets the same answer."


def note(found: SplitShares) -> str:
    if not found.ranked:
        return NONE_USED
    return (BY_GAIN if found.are_gains else BY_SPLITS) + CAUTION


def table(forest: ir.Forest, found: SplitShares) -> str:
    """Return the table of the features that some tree tests, with a bar for each."""
    ranked = found.ranked
    if not ranked:
        return ""
    most = found.shares[ranked[0]]
    rows = []
    for index in ranked[:MOST_LISTED]:
        share = found.shares[index]
        bar = "█" * max(1, round(BAR * share / most))
        rows.append([md.name(forest.features[index].name), _percent(share), bar])
    if rest := ranked[MOST_LISTED:]:
        left = sum(found.shares[index] for index in rest)
        rows.append([f"{len(rest):,} more", _percent(left), ""])
    share_of = "Share of the gain" if found.are_gains else "Share of the splits"
    return md.table(["Feature", share_of, ""], rows)


def _percent(share: float) -> str:
    return "below 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def unused(forest: ir.Forest, found: SplitShares) -> str:
    if not found.ranked:
        return ""
    names = [md.name(forest.features[index].name) for index in found.unused]
    return f"Not used: {md.listing(names)}." if names else ""
