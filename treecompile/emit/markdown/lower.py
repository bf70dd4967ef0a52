"""Lowers a program to the strings of the rule document, for non-programmers.

Each section has its own module. `md` keeps text from the data from becoming markup.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.markdown import quality, sections
from treecompile.emit.markdown.quality import QualityPart, StatisticsPart
from treecompile.emit.markdown.rules import RuleText, RuleWriter
from treecompile.emit.markdown.survey import survey
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import Tree
from treecompile.rules.extract import flatten
from treecompile.rules.language.printer import print_rules


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
    features_note: str  # The SQL type is the type of the column in a database; ...
    features: str  # the table of columns
    picture: str  # From the top, follow the arrow whose test the case passes.
    image: str  # data:image/svg+xml;base64,...
    diagram: str  # flowchart TD ...
    reading: str  # Exactly one rule applies to every case, so ...
    evidence_note: str  # Coverage is the share of all training cases that ...
    rules: list[RuleText]  # a section for each
    statistics_note: str  # Coverage is the share of all rows that ...
    statistics: list[StatisticsPart]  # for training and validation data
    missing: list[str]  # ["A value is missing if its field is empty, NULL or NaN."]
    default: str  # The rules cover every case, so no default is ever used.
    default_evidence: str  # the table of the cases that the default decides
    source_note: str  # The same rules again, for editing: ...
    source: str  # the rules in the rule language, as a block of code


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program = source.program
    body = program.body
    rules = flatten(body)
    found = survey(body, rules)
    writer = RuleWriter(program, rules, found)
    drawn, diagram, image = "", "", ""
    if isinstance(body, Tree):
        drawn, diagram = sections.picture(program, body, writer.tests.rounding)
        image = sections.embedded(program, body)
    default, default_evidence = writer.default()
    document = RuleDocument(
        target=writer.target,
        summary=sections.summary(program, len(rules.rules)),
        sha256=source.sha256,
        version=source.version,
        data=sections.data(program, writer.all),
        distribution=writer.distribution(),
        quality=quality.quality(program),
        features_note=sections.features_note(program),
        features=sections.features(body, program.training),
        picture=drawn,
        image=image,
        diagram=diagram,
        reading=writer.reading(),
        evidence_note=writer.note(),
        rules=writer.all_rules(),
        statistics_note=quality.statistics_note(body),
        statistics=quality.statistics(program),
        missing=sections.missing(body, found, program.na_values),
        default=default,
        default_evidence=default_evidence,
        source_note=sections.source_note(rules, writer.rows),
        source=sections.fenced(print_rules(program, rules)),
    )
    return Lowered(document)
