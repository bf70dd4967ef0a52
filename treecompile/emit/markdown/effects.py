"""Writes what a forest relies on: importance of features, and partial dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.markdown import md
from treecompile.emit.markdown.sections import data_uri
from treecompile.measure.dependence import (
    MOST_STEPS,
    Dependence,
    dependences,
    knows_weights,
)
from treecompile.measure.forest_importance import SplitShares
from treecompile.model import ir, words
from treecompile.pictures.dependence import (
    MOST_CATEGORIES,
    draw_dependence,
    scale_of,
    shown_outputs,
)

MOST_LISTED = 30  # features in the table of importance
MOST_DRAWN = 6
BAR = 24  # characters of the longest bar

# ---------------------------------------------------------------- importance

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


def importance_note(found: SplitShares) -> str:
    if not found.ranked:
        return NONE_USED
    return (BY_GAIN if found.are_gains else BY_SPLITS) + CAUTION


def importance(forest: ir.Forest, found: SplitShares) -> str:
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


# ---------------------------------------------------------------- partial dependence


@dataclass(frozen=True, slots=True)
class EffectText:
    """The picture of one feature."""

    caption: str  # Partial dependence on age
    reference: str  # dependence-1
    image: str  # data:image/svg+xml;base64,...


@dataclass(frozen=True, slots=True)
class EffectsPart:
    """The section about partial dependence; without pictures it is left out."""

    note: str = ""  # Each picture shows how the margin depends on one feature, ...
    table: str = ""  # where the margin is least and greatest
    effects: tuple[EffectText, ...] = ()


def effects(program: ir.ForestProgram, found: SplitShares) -> EffectsPart:
    forest = program.body
    drawn = dependences(forest, found.ranked[:MOST_DRAWN], program.training)
    if not drawn:
        return EffectsPart()
    outputs = shown_outputs(forest, drawn)
    scale = scale_of(drawn, outputs)
    texts = tuple(
        EffectText(
            f"Partial dependence on {md.name(forest.features[each.feature].name)}",
            f"dependence-{number}",
            data_uri(draw_dependence(forest, each, outputs, scale)),
        )
        for number, each in enumerate(drawn, start=1)
    )
    note = _note(program, drawn, outputs)
    return EffectsPart(note, _table(forest, drawn, outputs), texts)


def _note(
    program: ir.ForestProgram, drawn: Sequence[Dependence], outputs: Sequence[int]
) -> str:
    forest = program.body
    said = [
        "Each picture shows how the margin depends on one feature (partial dependence)."
        f" {_meaning(forest, outputs)}",
        "The other features are averaged: at a test of another feature, both branches"
        f" count, {_weighting(forest)}. So a picture cannot show how features act"
        " together.",
        "All pictures have the same scale. The dot or bar “missing” stands for a"
        " missing value.",
    ]
    if len(outputs) == 1:
        said.append("The dashed line, or where bars begin, is the mean of all.")
    if any(len(each.edges) > MOST_STEPS for each in drawn):
        said.append(f"A curve with many thresholds is drawn in {MOST_STEPS} steps.")
    kinds = (forest.features[each.feature] for each in drawn)
    if any(len(feature.categories) > MOST_CATEGORIES for feature in kinds):
        half = MOST_CATEGORIES // 2
        said.append(
            f"Of many categories, the {half} with the least and the {half} with the"
            " greatest margin are drawn."
        )
    if program.training is None and any(each.edges for each in drawn):
        said.append(
            "The range of the training data is not recorded, so a curve extends from"
            " below the least threshold to above the greatest."
        )
    return " ".join(said)


def _weighting(forest: ir.Forest) -> str:
    if knows_weights(forest):
        return "weighted by the training rows that went down each of them"
    return (
        "weighted by their number of leaves, because the model does not know how many"
        " training rows went down each of them"
    )


def _meaning(forest: ir.Forest, outputs: Sequence[int]) -> str:
    """Say what a greater margin means."""
    if not forest.labels:
        if forest.link is ir.Link.IDENTITY:
            return "The margin is the answer."
        return "The answer is computed from the margin, as described above."
    if len(outputs) == 1:
        label = md.value(forest.labels[-1])
        return f"The greater the margin, the more the model favours {label}."
    shown = md.listing([md.value(forest.labels[output]) for output in outputs])
    which = "" if len(outputs) == len(forest.labels) else f" Drawn are {shown}."
    return f"The label with the greatest margin is the answer.{which}"


def _table(
    forest: ir.Forest, drawn: Sequence[Dependence], outputs: Sequence[int]
) -> str:
    """Write the dependence in figures: where each margin is least and greatest."""
    rows = []
    for each in drawn:
        feature = forest.features[each.feature]
        for output in outputs:
            margins = each.margins[:, output].tolist()
            label = (
                {"Margin of": md.value(forest.labels[output])} if outputs[1:] else {}
            )
            rows.append(
                {
                    "Feature": md.name(feature.name),
                    **label,
                    "Least margin": _extreme(feature, each, margins, min(margins)),
                    "Greatest margin": _extreme(feature, each, margins, max(margins)),
                    "If missing": words.rounded(float(each.missing[output])),
                }
            )
    return md.table_of(rows)


NEAR_ZERO = 1e-12  # share of a curve's width; 1e-35 may stand for "not 0"


def _edge(edge: float, found: Dependence) -> str:
    wide = found.edges[-1] / 2 - found.edges[0] / 2
    return "0" if abs(edge) < NEAR_ZERO * wide else words.rounded(edge)


def _extreme(
    feature: ir.Feature, found: Dependence, margins: Sequence[float], margin: float
) -> str:
    """ "-0.31 for 17 to 23.5", the first of several such values."""
    place = margins.index(margin)
    where = ""
    if feature.kind is not ir.Kind.NUMERIC:
        where = md.value(feature.categories[place])
    elif len(margins) > 1:
        low, high = (_edge(edge, found) for edge in found.edges[place : place + 2])
        where = f"{low} to {high}"
        if place == 0:
            where = f"up to {high}"
        elif place == len(margins) - 1:
            where = f"above {low}"
    return f"{words.rounded(margin)}{f' for {where}' if where else ''}"
