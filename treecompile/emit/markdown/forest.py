"""Lowers a forest to the strings of its document, for readers who do not program.

A forest has no rules that a person can read. The document says so, and describes the
model as a whole: how an answer is computed, from which columns, and what it relies on.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.emit.lowering import ForestInput, Lowered
from treecompile.emit.markdown import importance, md, quality, sections
from treecompile.emit.markdown.quality import QualityPart
from treecompile.emit.options import EmitOptions
from treecompile.measure.forest_importance import split_shares
from treecompile.model import ir
from treecompile.model.forest_words import exactness, steps
from treecompile.model.paths import size
from treecompile.model.semantics import required_features


@dataclass(frozen=True, slots=True)
class ForestDocument:
    """The strings of the document, as Markdown; an empty one is left out."""

    target: str  # churn
    summary: str  # The model predicts **churn**, one of no, yes. It uses ...
    sha256: str  # of the model
    version: str  # of treecompile: 0.9
    no_rules: str  # The model is a sum of 100 trees. ...
    steps: list[str]  # ["The sum starts at 0.5.", "Each of the 100 trees ...", ...]
    exactness: list[str]  # ["Exact: the margin and the label. They are ...", ...]
    data: str  # The model was learned from churn.csv, 7043 rows. Options: ...
    quality: list[QualityPart]  # for training and validation data
    features_note: str  # The SQL type is the type of the column in a database; ...
    features: str  # the table of columns
    importance_note: str  # The importance of a feature is its share of ...
    importance: str  # the table of features, with bars
    unused: str  # Not used: city, zip.
    missing: list[str]  # ["A value is missing if its field is empty, NULL or NaN."]


def lower(source: ForestInput, options: EmitOptions) -> Lowered:
    program = source.program
    forest = program.body
    shares = split_shares(forest)
    document = ForestDocument(
        target=md.name(program.target),
        summary=_summary(program),
        sha256=source.sha256,
        version=source.version,
        no_rules=_no_rules(forest),
        steps=steps(forest, md.shown),
        exactness=exactness(forest),
        data=sections.data(program),
        quality=quality.quality(program),
        features_note=sections.features_note(program),
        features=sections.features(forest, program.training),
        importance_note=importance.note(shares),
        importance=importance.table(forest, shares),
        unused=importance.unused(forest, shares),
        missing=_missing(program),
    )
    return Lowered(document)


def _summary(program: ir.ForestProgram) -> str:
    forest = program.body
    labels = [md.value(label) for label in forest.labels]
    kind = f"one of {md.listing(labels)}" if labels else "a number"
    tested = [md.name(forest.features[i].name) for i in required_features(forest)]
    given = f"{len(forest.features)} column{'s' * (len(forest.features) != 1)}"
    columns = (
        f"{len(tested)} of {given}: {md.listing(tested)}" if tested else "no column"
    )
    return (
        f"The model predicts **{md.name(program.target)}**, {kind}."
        f" It uses {columns}. It is a forest, made by {md.name(program.algorithm)}:"
        f" {size(forest)}."
    )


def _no_rules(forest: ir.Forest) -> str:
    count = len(forest.members)
    trees = f"{count:,} tree{'s' * (count != 1)}"
    return (
        f"The model is a sum of {trees}. Each tree adds a number, and the answer is"
        " computed from the sum, so no part of the model decides alone. It has no rules"
        " that a person could read and accept one by one. This document says how an"
        " answer is computed, from which columns, and what the model relies on.\n\nIf"
        " people must be able to read the decision, learn one tree from the answers"
        " of this forest. That tree is a different model, with its own rules, document"
        " and quality."
    )


def _missing(program: ir.ForestProgram) -> list[str]:
    """Say in sentences what the trees do with missing and unseen values."""
    forest = program.body
    tested = [forest.features[index] for index in required_features(forest)]
    if not tested:
        return ["No column is used, so no value can be missing or unseen."]
    sentences = sections.what_is_missing(program.na_values)
    if forest.zero_is_missing:
        names = [md.name(forest.features[i].name) for i in forest.zero_is_missing]
        sentences.append(f"In these columns, 0 counts as missing: {md.listing(names)}.")
    sentences.append(
        "Each test of each tree says where a missing value goes. Nothing has to be"
        " filled in beforehand."
    )
    kinds = {feature.kind for feature in tested}
    if ir.Kind.CATEGORICAL in kinds:
        sentences.append(
            "A category that is not listed above is unseen. A test names some"
            " categories; an unseen one goes the same way as those that it does not"
            " name."
        )
    if ir.Kind.ORDINAL in kinds:
        sentences.append(
            "In an ordinal column, a category that is not listed above has no place in"
            " the order and is treated as missing."
        )
    return sentences
