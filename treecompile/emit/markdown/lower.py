"""Program -> the strings of the rule document, for readers who do not program.

Each section has its own module. `text` keeps text from the data from becoming markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.glossary import NO_ENTRY, Glossary
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.markdown.groups import (
    FEW,
    GroupText,
    RuleGroup,
    contents,
    group_texts,
    groups_of_list,
    groups_of_tree,
)
from treecompile.emit.markdown.quality import (
    QualityPart,
    StatisticsPart,
    actual_counts,
    pruned_by,
    quality,
    statistics,
    statistics_note,
)
from treecompile.emit.markdown.rules import RuleText, RuleWriter
from treecompile.emit.markdown.sections import (
    features,
    features_note,
    fenced,
    missing,
    picture,
    source_note,
)
from treecompile.emit.markdown.text import (
    cases,
    listing,
    number_of,
    prose,
    shown_name,
    shown_value,
    spread,
)
from treecompile.emit.options import EmitOptions
from treecompile.model import words
from treecompile.model.ir import (
    Body,
    ClassQuality,
    Feature,
    Moments,
    Program,
    RuleSet,
    Split,
    Stats,
    Tree,
)
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import is_fractional, required_features
from treecompile.model.words import Rounding
from treecompile.rules.language.evidence import ALGORITHM
from treecompile.rules.language.printer import print_rule_set
from treecompile.rules.passes.flatten import Tests, flatten, merged_tests
from treecompile.rules.passes.merge import merge

ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}


@dataclass(frozen=True, slots=True)
class RuleDocument:
    """The strings of the rule document, as Markdown; an empty one is left out."""

    target: str  # play
    summary: str  # The model predicts **play**, one of no, yes. It uses ...
    sha256: str  # of the model
    version: str  # of treecompile: 0.9
    data: str  # The model was learned from tennis.csv, 14 rows. Options: ...
    distribution: str  # the table of labels and their cases
    quality: list[QualityPart]  # for training and validation data
    features_note: str  # The SQL type is the type that the column must have ...
    features: str  # the table of columns
    picture: str  # From the top, follow the arrow whose test the case passes.
    diagram: str  # flowchart TD ...
    reading: str  # Exactly one rule applies to every case, so ...
    evidence_note: str  # Coverage is the share of all training cases that ...
    contents: str  # the table of contents of the groups
    groups: list[GroupText]  # many rules, in tables
    rules: list[RuleText]  # otherwise each rule by itself
    statistics_note: str  # Coverage is the share of all rows that ...
    statistics: list[StatisticsPart]  # for training and validation data
    missing: list[str]  # ["A value is missing if its field is empty, NULL or NaN."]
    default: str  # The rules cover every case, so no default is ever used.
    default_evidence: str  # the table of the cases that the default decides
    source_note: str  # The same rules again, for editing: ...
    source: str  # the rules in the rule language, as a block of code


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program = source.program
    body, training = program.body, program.training
    # Without the passes that join or reorder rules: each rule has the same id as in all
    # other artefacts of the model.
    tests = merged_tests(body) if isinstance(body, Tree) else []
    rules = flatten(body, tests) if isinstance(body, Tree) else merge(body)
    base = _base(program)
    # Rules that were pruned on validation rows carry the counts of these.
    validated = training is not None and pruned_by(program) == "validation"
    evidence, total = _evidence(program, base, validated)
    rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
    writer = RuleWriter(
        target=shown_name(program.target),
        rules=rules,
        ordered=isinstance(body, RuleSet),
        fractional=is_fractional(body),
        base=evidence,
        total=total,
        last=_last_tests(body) if isinstance(body, Tree) else {},
        rounding=rounding,
        whose="validation" if validated else "training",
    )
    drawn, diagram = picture(body, rounding) if isinstance(body, Tree) else ("", "")
    default, default_evidence = writer.default()
    is_long = len(rules.rules) > FEW
    groups = _groups(body, tests, rules) if is_long else []
    texts = group_texts(writer, groups)
    kept = {rule.id for rule in rules.rules}
    ids = rule_ids(body).values() if isinstance(body, Tree) else _ids(body)
    document = RuleDocument(
        target=writer.target,
        summary=_summary(program, rules, options.glossary),
        sha256=source.sha256,
        version=source.version,
        data=_data(program, base),
        distribution=writer.distribution(),
        quality=quality(body.labels, training, base, _pruned(program)),
        features_note=features_note(body),
        features=features(body, training, options.glossary),
        picture=drawn,
        diagram=diagram,
        reading=writer.reading([i for i in ids if i not in kept]),
        evidence_note=writer.note(),
        contents=contents(writer, groups, texts) if is_long else "",
        groups=texts,
        rules=[] if is_long else writer.all_rules(),
        statistics_note=statistics_note(body),
        statistics=statistics(program),
        missing=missing(rules, program.na_values, writer.fractional),
        default=default,
        default_evidence=default_evidence,
        source_note=source_note(writer.fractional),
        source=fenced(print_rule_set(program, rules)),
    )
    return Lowered(document, warnings=_warnings(program, options.glossary))


def _ids(rules: RuleSet) -> list[str]:
    return [rule.id for rule in rules.rules]


def _last_tests(tree: Tree) -> dict[str, Feature]:
    """The feature of the split above each leaf, by the id of the leaf's rule."""
    ids = rule_ids(tree)
    return {
        ids[branch.then]: tree.features[branch.when.feature]
        for node in tree.nodes
        if isinstance(node, Split)
        for branch in node.branches
        if branch.then in ids
    }


def _groups(
    body: Body, tests: Sequence[Tests | None], rules: RuleSet
) -> list[RuleGroup]:
    if isinstance(body, Tree):
        return groups_of_tree(body, tests, rules.rules)
    return groups_of_list(rules.rules)


def _warnings(program: Program, glossary: Glossary) -> tuple[str, ...]:
    known = {program.target, *(feature.name for feature in program.body.features)}
    strange = [words.name(name) for name in glossary if name not in known]
    if not strange:
        return ()
    said = "the glossary explains names that the model does not have"
    return (f"{said}: {listing(strange)}",)


def _pruned(program: Program) -> bool:
    """Whether the tree was pruned on the validation cases."""
    return dict(program.options).get("prune") == "reduced-error"


def _base(program: Program) -> Stats | None:
    """The statistics of all training cases; None if they were not counted."""
    if isinstance(program.body, Tree):
        return program.body.nodes[0].stats
    measured = program.training.quality if program.training else None
    return actual_counts(measured) if isinstance(measured, ClassQuality) else None


def _evidence(
    program: Program, base: Stats | None, validated: bool
) -> tuple[Stats | None, float]:
    """The statistics of all cases that the rules rest on, and their number."""
    training = program.training
    if not validated or training is None:
        whole = base.weight if base else float(training.rows if training else 0)
        return base, whole
    measured = training.validation
    if isinstance(measured, ClassQuality):
        counts = actual_counts(measured)
        return counts, counts.weight
    return None, float(measured.rows if measured else 0)


def _summary(program: Program, rules: RuleSet, glossary: Glossary) -> str:
    body = program.body
    labels = [shown_value(label) for label in body.labels]
    kind = f"one of {listing(labels)}" if labels else "a number"
    tested = [shown_name(body.features[i].name) for i in required_features(body)]
    given = number_of(len(body.features), "column")
    columns = f"{len(tested)} of {given}: {listing(tested)}" if tested else "no column"
    algorithm = ALGORITHMS.get(program.algorithm) or shown_name(program.algorithm)
    if is_fractional(body):
        order = "exactly one rule applies to every case whose values are known"
    elif isinstance(body, Tree):
        order = "exactly one rule applies to every case"
    else:
        order = "the first rule whose conditions all hold decides, else the default"
    told = prose(glossary.get(program.target, NO_ENTRY).description)
    said = f" ({told})" if told else ""
    count = number_of(len(rules.rules), "rule")
    origin = f"It was learned with {algorithm} and reads as {count}"
    if program.algorithm == ALGORITHM:
        origin = f"It was compiled from {count} kept as text"
    return (
        f"The model predicts **{shown_name(program.target)}**{said}, {kind}."
        f" It uses {columns}. {origin}: {order}."
    )


def _data(program: Program, base: Stats | None) -> str:
    training = program.training
    if program.algorithm == ALGORITHM:
        text = "The rules are the source; the data behind them is not recorded."
    elif training is None:
        text = "The data that the model was learned from is not recorded."
    else:
        origin = shown_name(training.source) if training.source else "a table in memory"
        rows = number_of(training.rows, "row")
        text = f"The model was learned from {origin}, {rows}."
    if program.options:
        chosen = [
            f"{shown_name(key)} = {shown_value(item)}" for key, item in program.options
        ]
        text += f" Options: {', '.join(chosen)}."
    if isinstance(base, Moments) and base.weight:
        text += f" Over all {cases(base.weight)}, {shown_name(program.target)} has"
        text += f" {spread(base, ())}."
    return text
