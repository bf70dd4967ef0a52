"""Lowers a model to the strings of RULES.md or MODEL.md, which an expert signs.

The rules stand in RULES.md once, as the block that is read and compiled. All else is
generated from the model and the figures measured with it. No tree of a forest decides
alone, so MODEL.md says how it answers, and what it relies on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile.emit import md
from treecompile.emit.figures import (
    columns_table,
    quality_table,
    share,
    unused_columns,
)
from treecompile.emit.lowering import CompilerInput, ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.measure.forest_importance import SplitShares, split_shares
from treecompile.measure.statistics import wilson
from treecompile.model import ir, words
from treecompile.model.display import DisplayTable
from treecompile.model.evidence import (
    MEASURED,
    NOTHING,
    Evidence,
    by_id,
    counted_rows,
    total,
)
from treecompile.model.forest_words import exactness, steps
from treecompile.model.paths import DEFAULT_ID, leaf_count, outcomes, rule_ids, size
from treecompile.model.semantics import conditions, required_features
from treecompile.model.words import Rounding, rounded
from treecompile.rules.extract import flatten
from treecompile.rules.language.compile import ALGORITHM
from treecompile.rules.language.printer import has_counts, needs_default, print_rules

MAX_LEAVES = 30  # in a picture
MOST_IMPORTANT = 30  # columns in the table of importance
MAX_PICTURE = 50_000  # characters: Mermaid draws no longer text
ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The strings of RULES.md or MODEL.md; an empty one is left out."""

    target: str  # play
    summary: str  # **play** is decided from outlook and wind by 5 rules, learned ...
    quality: str  # the table of right answers
    meaning: str  # An empty field is "missing".
    columns: str  # the table of columns
    unused: str  # temperature
    # Of a tree or rules.
    reading: str = ""  # Exactly one rule applies to a case. ...
    fence: str = ""  # ```
    rules: str = ""  # predict play: no, yes ...
    data: str = ""  # tennis.csv
    diagram: str = ""  # flowchart TD ...
    evidence: str = ""  # the table of the rows behind each rule
    # Of a forest.
    steps: Sequence[str] = ()  # ("The sum starts at 0.5.", ...)
    exactness: Sequence[str] = ()  # ("Exact: the margin and the label. ...", ...)
    share_of: str = ""  # gain, or splits
    importance: str = ""  # the table of columns, with bars


def lower(source: CompilerInput | ForestInput, options: EmitOptions) -> Lowered:
    program = source.program
    if isinstance(program, ir.ForestProgram):
        used, own = required_features(program.body), _of_forest(program.body)
        how = f"a forest of {size(program.body)}"
    else:
        rules = flatten(program.body)
        used, own = required_features(rules), _of_rules(program, rules)
        how = words.quantity(len(rules.rules), "rule")
    target = md.name(program.target)
    names = [md.name(program.body.features[index].name) for index in used]
    columns = f" from {words.enumerated(names, last=' and ')}" if names else ""
    return Lowered(
        DocumentText(
            target=target,
            summary=f"**{target}** is decided{columns} by {how}, {_origin(program)}.",
            quality=md.table(quality_table(program, md.shown)),
            meaning=" ".join(_meaning(program, used)),
            columns=md.table(columns_table(program, used, md.shown)),
            unused=unused_columns(program.body, used, md.shown),
            **own,
        )
    )


def _origin(program: ir.AnyProgram) -> str:
    """Say who made the rules, with which options, and from which rows."""
    options, training = dict(program.options), program.training
    is_measured = options.pop(MEASURED, None) is not None
    chosen = [
        (
            f"{md.name(key)} = {md.shown(words.answer(item, ()))}"
            if isinstance(item, float)
            else f"{md.name(key)} = {md.value(item)}"
        )
        for key, item in options.items()
    ]
    by = ALGORITHMS.get(program.algorithm) or md.name(program.algorithm)
    made = "written as text" if program.algorithm == ALGORITHM else f"learned with {by}"
    if chosen:
        made += f" ({', '.join(chosen)})"
    if training is None:
        return made
    rows = f"the {words.quantity(training.rows, 'row')}"
    if training.source:
        rows += f" of {md.name(training.source)}"
    return f"{made}, measured on {rows}" if is_measured else f"{made} from {rows}"


def _meaning(program: ir.AnyProgram, used: Sequence[int]) -> Iterator[str]:
    """Say what the words of the rules mean for values that are not there."""
    kinds = {program.body.features[index].kind for index in used}
    if kinds - {ir.Kind.NUMERIC} and not isinstance(program.body, ir.Forest):
        yield 'A category that its line "from" does not name is "any other".'
    if kinds:
        empty = "an empty field, NULL or NaN"
        if texts := [md.name(text) for text in program.na_values]:
            empty += f", or in a text file {words.enumerated(texts, last=' or ')},"
        yield f'{empty[0].upper()}{empty[1:]} is "missing".'
    if isinstance(program.body, ir.Forest) and program.body.zero_is_missing:
        features = map(program.body.features.__getitem__, program.body.zero_is_missing)
        names = [md.name(feature.name) for feature in features]
        yield f"So is a 0 in {words.enumerated(names, last=' and ')}."


# ---------------------------------------------------------------- the rules


def _of_rules(program: ir.Program, rules: ir.RuleSet) -> dict[str, Any]:
    body, block = program.body, print_rules(program, rules)
    return {
        "reading": " ".join(_reading(program, rules)),
        "fence": "`" * max(3, md.longest_fence(block) + 1),
        "rules": block.rstrip("\n"),
        "data": _file(program.training),
        "diagram": _picture(body) if isinstance(body, ir.Tree) else "",
        "evidence": md.table(_evidence(program, rules)),
    }


def _reading(program: ir.Program, rules: ir.RuleSet) -> Iterator[str]:
    if needs_default(program.body, rules):
        yield "Read from the top: the first rule that applies decides."
    else:
        yield "Exactly one rule applies to a case."
    kept = {rule.id for rule in (*rules.rules, rules.default)}
    dropped = [r.id for r in outcomes(program.body).values() if r.id not in kept]
    if dropped:
        yield f"Left out, because no case can meet them: {words.enumerated(dropped)}."
    counted = [rule for rule in rules.rules if has_counts(rule, rules.labels)]
    if not counted:
        return
    if not rules.labels:
        yield (
            "The figures in brackets: cases of the training data behind a rule, and the"
            " sum of their squared errors (sse)."
        )
    elif all(weight.is_integer() for rule in counted for weight in _weights(rule)):
        yield (
            "The figures in brackets: cases of the training data behind a rule, and how"
            " many of them it gets right."
        )
    else:
        yield (
            "The figures in brackets: training weight behind a rule, by label. There"
            " are fractions because a case whose value is missing is divided among"
            " rules, or because cases have weights."
        )


def _weights(rule: ir.Rule) -> tuple[float, ...]:
    stats = rule.stats
    return stats.weights if isinstance(stats, ir.ClassCounts) else ()


def _file(training: ir.Training | None) -> str:
    """Return the name of the data for a command line, if it can be written there."""
    source = training.source if training else ""
    return source if re.fullmatch(r"[A-Za-z0-9_][\w./-]*", source, re.A) else "FILE"


def _picture(tree: ir.Tree) -> str:
    """Return a Mermaid diagram; "" if it would be too large to read."""
    if leaf_count(tree) > MAX_LEAVES:
        return ""
    rounding, ids = Rounding(conditions(tree)), rule_ids(tree)

    def node(position: int) -> str:
        found = tree.nodes[position]
        if isinstance(found, ir.Leaf):
            said = f"{words.answer(found.value, tree.labels)}, {ids[position]}"
            return f'n{position}["{md.in_mermaid(said)}"]'
        name = words.name(tree.features[found.branches[0].when.feature].name)
        return f'n{position}("{md.in_mermaid(name)}")'

    lines = ["flowchart TD", *([f"    {node(0)}"] if len(tree.nodes) == 1 else [])]
    for position, split in enumerate(tree.nodes):
        for branch in split.branches if isinstance(split, ir.Split) else ():
            index = branch.when.feature
            figure = rounding.figure(index)
            test = words.branch_test(branch.when, tree.features[index], figure)
            label = md.in_mermaid(test.removeprefix("= "))
            start = f"n{position}" if position or lines[1:] else node(0)
            lines.append(f'    {start} -->|"{label}"| {node(branch.then)}')
    text = "\n".join(lines)
    return text if len(text) <= MAX_PICTURE else ""


# ---------------------------------------------------------------- evidence


def _evidence(program: ir.Program, rules: ir.RuleSet) -> DisplayTable:
    """Return the rows that each rule decides; no line if none are known."""
    found, every, labels = by_id(program), total(program), rules.labels
    heads = ["Rule", "Decides", "Mean", "Standard deviation"]
    if labels:
        heads = ["Rule", "Decides", "Right", "95 % interval", "Lift"]
    if counted_rows(program)[0] == "validation":
        heads[1] += " in validation"
    validation = _tallies(program)
    if validation:
        heads.append("Right in validation" if labels else "RMSE in validation")
    shown = list(rules.rules) if any(own.rows for own in found.values()) else []
    if shown and isinstance(program.body, ir.RuleSet):
        shown.append(rules.default)
    rows = []
    for rule in shown:
        own = found.get(rule.id, NOTHING)
        said = "otherwise" if rule.id == DEFAULT_ID else rule.id
        line = [f"{said} {md.shown(words.answer(rule.value, labels))}"]
        line.append(share(own.rows, every.rows))
        if labels:
            line += _of_labels(rule, own, every, labels)
        else:
            line += [_rounded(own.mean), _rounded(own.deviation)]
        if validation:
            line.append(_validated(validation[rule.id], bool(labels)))
        rows.append(line)
    return DisplayTable("Evidence", heads, rows)


def _rounded(figure: float | None) -> str:
    return "" if figure is None else rounded(figure)


def _of_labels(
    rule: ir.Rule, own: Evidence, every: Evidence, labels: Sequence[ir.Label]
) -> list[str]:
    if not own.rows:
        return ["", "", ""]
    interval, lift = "", ""
    if own.counted:
        low, high = wilson(own.right, own.rows)
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
    usual = every.answers[labels.index(rule.value)] if every.answers else 0.0
    if usual:
        lift = f"{own.right / own.rows * every.rows / usual:.2f}"
    return [share(own.right, own.rows), interval, lift]


def _tallies(program: ir.Program) -> dict[str, ir.RuleTally]:
    """Return what each rule decides of the validation rows, if they were counted."""
    training = program.training
    if training is None or not training.rules or not training.validation_rules:
        return {}
    ids = [rule.id for rule in outcomes(program.body).values()]
    return dict(zip(ids, training.validation_rules, strict=True))


def _validated(tally: ir.RuleTally, has_labels: bool) -> str:
    rows = tally.decided
    if not rows:
        return ""
    if not has_labels:
        return rounded((tally.errors / rows) ** 0.5)
    right = rows - tally.errors
    return f"{words.amount(right)} of {rows} ({100 * right / rows:.1f} %)"


# ---------------------------------------------------------------- forests


def _of_forest(forest: ir.Forest) -> dict[str, Any]:
    shares = split_shares(forest)
    return {
        "steps": steps(forest, md.shown),
        "exactness": exactness(forest),
        "share_of": "gain" if shares.are_gains else "splits",
        "importance": md.table(_importance(forest, shares)),
    }


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
