"""Program -> the strings of the rule document, for readers who do not program.

One module for each section; `text` keeps what comes from the data from becoming markup.
"""

from __future__ import annotations

from treecompile.extract import extract
from treecompile.ir import ClassQuality, Moments, Program, RuleSet, Stats, Tree
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.markdown.features import features, features_note
from treecompile.lower.markdown.missing import missing
from treecompile.lower.markdown.picture import picture
from treecompile.lower.markdown.quality import actual_counts, quality
from treecompile.lower.markdown.rules import EVIDENCE_NOTES, Writer
from treecompile.lower.markdown.text import (
    cases,
    listing,
    number_of,
    shown_name,
    shown_value,
    spread,
)
from treecompile.passes import apply_rule_passes
from treecompile.semantics import is_fractional, required_features

ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}


def lower(source: Source, options: EmitOptions) -> Context:
    program = source.program
    body, training = program.body, program.training
    extracted = extract(body) if isinstance(body, Tree) else body
    rules = apply_rule_passes(extracted)
    base = _base(program)
    writer = Writer(
        target=shown_name(program.target),
        rules=rules,
        ordered=isinstance(body, RuleSet),
        fractional=is_fractional(body),
        base=base,
        total=base.weight if base else float(training.rows if training else 0),
    )
    drawn, diagram = picture(body) if isinstance(body, Tree) else ("", "")
    default, default_evidence = writer.default()
    return {
        "target": writer.target,
        "summary": _summary(program, rules),
        "sha256": source.sha256,
        "version": source.version,
        "data": _data(program, base),
        "distribution": writer.distribution(),
        "quality": quality(body.labels, training, base),
        "features_note": features_note(body),
        "features": features(body, training),
        "picture": drawn,
        "diagram": diagram,
        "reading": writer.reading(extracted),
        "evidence_note": EVIDENCE_NOTES[bool(body.labels)],
        "rules": writer.all_rules(extracted),
        "missing": missing(rules, program.na_values, writer.fractional),
        "default": default,
        "default_evidence": default_evidence,
    }


def _base(program: Program) -> Stats | None:
    """All training cases: at the root of a tree; else as far as they were counted."""
    if isinstance(program.body, Tree):
        return program.body.nodes[0].stats
    measured = program.training.quality if program.training else None
    return actual_counts(measured) if isinstance(measured, ClassQuality) else None


def _summary(program: Program, rules: RuleSet) -> str:
    body = program.body
    labels = [shown_value(label) for label in body.labels]
    kind = f"one of {listing(labels)}" if labels else "a number"
    tested = [shown_name(body.features[i].name) for i in required_features(body)]
    given = number_of(len(body.features), "column")
    columns = f"{len(tested)} of {given}: {listing(tested)}" if tested else "no column"
    algorithm = ALGORITHMS.get(program.algorithm) or shown_name(program.algorithm)
    if is_fractional(body):
        law = "exactly one rule applies to every case whose values are known"
    elif isinstance(body, Tree):
        law = "exactly one rule applies to every case"
    else:
        law = "the first rule whose conditions all hold decides, else the default"
    return (
        f"The model predicts **{shown_name(program.target)}**, {kind}."
        f" It looks at {columns}."
        f" It was learned with {algorithm} and reads as"
        f" {number_of(len(rules.rules), 'rule')}: {law}."
    )


def _data(program: Program, base: Stats | None) -> str:
    training = program.training
    if training is None:
        text = "Which data the model was learned from is not recorded."
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
