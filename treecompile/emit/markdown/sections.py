"""Writes the short sections: model, data, columns, missing values, picture, source."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence

from treecompile.emit.markdown import md
from treecompile.emit.markdown.survey import RuleSurvey
from treecompile.emit.svg import compact
from treecompile.emit.targets import ByType
from treecompile.model import ir, words
from treecompile.model.evidence import MEASURED, Evidence
from treecompile.model.paths import leaf_count, rule_ids
from treecompile.model.semantics import required_features
from treecompile.model.words import Rounding, rounded
from treecompile.rules.language.document import INFO
from treecompile.rules.language.evidence import ALGORITHM

# ---------------------------------------------------------------- model and data

ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}


def summary(program: ir.Program, rules: int) -> str:
    body = program.body
    labels = [md.value(label) for label in body.labels]
    listed = f"one of {md.listing(labels)}" if labels[1:] else md.listing(labels)
    kind = listed if labels else "a number"
    tested = [md.name(body.features[i].name) for i in required_features(body)]
    given = words.quantity(len(body.features), "column")
    columns = (
        f"{len(tested)} of {given}: {md.listing(tested)}" if tested else "no column"
    )
    algorithm = ALGORITHMS.get(program.algorithm) or md.name(program.algorithm)
    if isinstance(body, ir.Tree):
        order = "exactly one rule applies to every case"
    else:
        order = "the first rule whose conditions all hold decides, else the default"
    count = words.quantity(rules, "rule")
    origin = f"It was learned with {algorithm} and is shown as {count}"
    if program.algorithm == ALGORITHM:
        origin = f"It was compiled from {count} written as text"
    return (
        f"The model predicts **{md.name(program.target)}**, {kind}."
        f" It uses {columns}. {origin}: {order}."
    )


def data(program: ir.AnyProgram, every: Evidence | None = None) -> str:
    """Say where the model comes from; `every` has all training rows, if known."""
    training = program.training
    options = dict(program.options)
    if training is not None and options.pop(MEASURED, None) is not None:
        origin = md.name(training.source) if training.source else "a table in memory"
        rows = words.quantity(training.rows, "row")
        text = (
            f"All figures in this document were measured on {origin}, {rows}, which"
            " are called the training data below."
        )
    elif program.algorithm == ALGORITHM:
        text = "The rules are the source; the data behind them is not recorded."
    elif training is None:
        text = "The data that the model was learned from is not recorded."
    else:
        origin = md.name(training.source) if training.source else "a table in memory"
        rows = words.quantity(training.rows, "row")
        text = f"The model was learned from {origin}, {rows}."
    if options:
        alpha = options.pop("chosen_alpha", None)
        chosen = [f"{md.name(key)} = {md.value(item)}" for key, item in options.items()]
        text += f" Options: {', '.join(chosen)}." if chosen else ""
        if isinstance(alpha, float):
            text += (
                " Cross-validation chose how far the tree is pruned: each leaf of a"
                f" split saves at least {100 * alpha:.3g} % of the error without tests."
            )
    if every is not None and every.mean is not None:
        text += (
            f" Over all {words.quantity(every.rows)}, {md.name(program.target)} has"
            f" mean {rounded(every.mean)},"
            f" standard deviation {md.figure(every.deviation)}."
        )
    return text


# ---------------------------------------------------------------- columns

SQL_TYPES = ByType("DOUBLE PRECISION", "VARCHAR", "BIGINT", "BOOLEAN")


def features_note(program: ir.AnyProgram) -> str:
    body = program.body
    note = (
        "The SQL type is the type of the column in a database; each database has its"
        " own name for it. For numbers, every numeric type will do."
    )
    if any(feature.categories for feature in body.features):
        note += " Categories are compared exactly: case, accents and spaces count."
    return note


def features(body: ir.AnyBody, training: ir.Training | None) -> str:
    """Return the table of the columns: contents and SQL types."""
    tested = set(required_features(body))
    rows = []
    for index, feature in enumerate(body.features):
        column = training.columns[index] if training else None
        values = md.listing([md.value(category) for category in feature.categories])
        if feature.kind is ir.Kind.NUMERIC:
            values = "not recorded"
            if column and column.low is not None and column.high is not None:
                values = f"{rounded(column.low, 6)} to {rounded(column.high, 6)}"
        rows.append(
            {
                "Name": md.name(feature.name),
                "Kind": feature.kind.value,
                "Values in training" if training else "Values": values,
                "Missing": str(column.missing) if column else "not recorded",
                "SQL type": SQL_TYPES.of(feature.type),
                "Used": "yes" if index in tested else "no",
            }
        )
    if not rows:
        return "There are none."
    return md.table_of(rows)


# ---------------------------------------------------------------- missing values


def what_is_missing(na_values: Sequence[str]) -> list[str]:
    sentences = ["A value is missing if its field is empty, NULL or NaN."]
    if na_values:
        texts = ", ".join(map(md.name, na_values))
        sentences.append(f"In text files, these fields also count as empty: {texts}.")
    return sentences


def missing(body: ir.Body, survey: RuleSurvey, na_values: Sequence[str]) -> list[str]:
    """Say in sentences what the rules do with missing and unseen values."""
    kinds = {body.features[index].kind for index in survey.features}
    if not kinds:
        return ["No column is used, so no value can be missing or unseen."]
    sentences = what_is_missing(na_values)
    if survey.takes_missing:
        sentences.append(
            "A missing value meets a condition on its column only where “Missing values"
            " included” says so."
        )
    else:
        sentences.append("A missing value meets no condition on its column.")
    if ir.Kind.CATEGORICAL in kinds:
        sentences.append(
            "A category that never occurred in training is unseen. It meets a condition"
            " on its column only where “Unseen values included” says so."
        )
    sentences.append(
        "In the rules as source, the marks “or missing” and “or any other” say the"
        " same."
    )
    if ir.Kind.CATEGORICAL in kinds:
        sentences.append("There, “not in” takes unseen categories without a mark.")
    if ir.Kind.ORDINAL in kinds:
        sentences.append(
            "In an ordinal column, a category that never occurred in training has no"
            " place in the order and is treated as missing."
        )
    return sentences


# ---------------------------------------------------------------- picture

MAX_LEAVES = 32  # in a picture
MAX_PICTURE = 50_000  # characters: Mermaid draws no longer text


MAX_DRAWN = 100  # leaves in the SVG


def embedded(program: ir.Program, tree: ir.Tree) -> str:
    """Return the target of the picture's link; "" if it would be too large to read.

    As a data URI the document stays one file. Pandoc, VS Code and browsers show it.
    GitHub shows no data URIs, but it shows Mermaid. GitHub would also strip an `<svg>`
    element, and leave its texts behind. The link is at the end of the document, where
    it does not disturb those who read its source.
    """
    if leaf_count(tree) > MAX_DRAWN:
        return ""
    data = base64.b64encode(compact(program).encode()).decode()
    return f"data:image/svg+xml;base64,{data}"


def picture(program: ir.Program, tree: ir.Tree, rounding: Rounding) -> tuple[str, str]:
    """Return a sentence, and the Mermaid diagram, or "" if it would be too large."""
    leaves = leaf_count(tree)
    if leaves > MAX_LEAVES:
        large = f"With {leaves} leaves the tree is too large for a"
        if leaves <= MAX_DRAWN:
            return f"{large} Mermaid diagram.", ""
        return f"{large} picture here: `treecompile show --svg` makes one.", ""
    said = words.evidence_by_id(program)
    ids = rule_ids(tree)
    diagram = "\n".join(_diagram(tree, ids, said, rounding))
    if len(diagram) > MAX_PICTURE:
        return "The names in the tree are too long for a picture.", ""
    if leaves == 1:
        return "The tree is one leaf: every case gets the same answer.", diagram
    note = "From the top, follow the arrow whose test the case passes."
    if diagram != "\n".join(_diagram(tree, ids, said, None)):
        note += " Long thresholds are rounded."
    return note, diagram


def _diagram(
    tree: ir.Tree,
    ids: Mapping[int, str],
    said: Mapping[str, str],
    rounding: Rounding | None,
) -> Iterator[str]:
    yield "flowchart TD"
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Leaf):
            rule = ids[position]
            lines = [words.answer(node.value, tree.labels), f"{rule}, {said[rule]}"]
            yield f'    n{position}["{"<br>".join(map(md.in_mermaid, lines))}"]'
            continue
        index = node.branches[0].when.feature
        feature = tree.features[index]
        figure = rounding.figure(index) if rounding else words.number
        yield f'    n{position}("{md.in_mermaid(words.name(feature.name))}")'
        for branch in node.branches:
            test = words.branch_test(branch.when, feature, figure)
            yield f'    n{position} -->|"{md.in_mermaid(test)}"| n{branch.then}'


# ---------------------------------------------------------------- source


WEIGHTS = (
    " They are training weights, from which the probabilities are computed. In"
    " training, a case with a missing value may be divided among several rules, and"
    " cases may have weights, so that these counts can be fractions. All other figures"
    " in this document count whole cases, each for the rule that decides it."
)


def source_note(rules: ir.RuleSet, rows: Mapping[str, Evidence]) -> str:
    note = (
        "The same rules again, for editing: change a threshold, delete a rule, add one,"
        " then compile this document with `treecompile build RULES.md --out DIR`."
    )
    return note + WEIGHTS if has_other_weights(rules, rows) else note


def has_other_weights(rules: ir.RuleSet, rows: Mapping[str, Evidence]) -> bool:
    """Whether training weights differ from the rows that were counted."""
    return any(
        found.counted and found.answers != rule.stats.weights
        for rule in rules.rules
        if isinstance(rule.stats, ir.ClassCounts) and rule.weight
        for found in [rows[rule.id]]
    )


def fenced(text: str) -> str:
    """Return the rules as a block of code, whose fence no text in it ends."""
    fence = "`" * max(3, md.longest_fence(text) + 1)
    return f"{fence}{INFO}\n{text}{fence}"
