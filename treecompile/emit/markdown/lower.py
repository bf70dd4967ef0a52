"""Lowers a program to the strings of the rule document, for non-programmers.

Each section has its own module. `md` keeps text from the data from becoming markup.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.markdown import quality, sections
from treecompile.emit.markdown.conditions import terms
from treecompile.emit.markdown.groups import GroupText, grouped
from treecompile.emit.markdown.quality import QualityPart, StatisticsPart
from treecompile.emit.markdown.rules import RuleWriter
from treecompile.emit.markdown.survey import shown_rules
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import Tree
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
    contents: str  # the table of contents of the groups
    terms: str  # what the names in the rules mean, from the glossary
    groups: list[GroupText]  # many rules in tables, few with a section each
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
    shown = shown_rules(program, is_full=options.full)
    rules, survey, is_summary = shown.rules, shown.survey, shown.is_summary
    writer = RuleWriter(program, shown, options.glossary)
    drawn, diagram, image = "", "", ""
    if isinstance(body, Tree):
        drawn, diagram = sections.picture(program, body, writer.tests.rounding)
        image = sections.embedded(program, body)
    default, default_evidence = writer.default()
    contents, groups = grouped(writer, body, shown)
    document = RuleDocument(
        target=writer.target,
        summary=sections.summary(program, len(survey.ids), options.glossary),
        sha256=source.sha256,
        version=source.version,
        data=sections.data(program, writer.all),
        distribution=writer.distribution(),
        quality=quality.quality(program),
        features_note=sections.features_note(program),
        features=sections.features(body, program.training, options.glossary),
        picture=drawn,
        image=image,
        diagram=diagram,
        reading=writer.reading(),
        evidence_note=writer.note(),
        contents=contents,
        terms=terms(body, survey, program.target, options.glossary),
        groups=groups,
        statistics_note=quality.statistics_note(body),
        statistics=[] if is_summary else quality.statistics(program),
        missing=sections.missing(body, survey, program.na_values),
        default=default,
        default_evidence=default_evidence,
        source_note=sections.source_note(body, shown),
        source="" if is_summary else sections.fenced(print_rules(program, rules)),
    )
    notes = (
        f"the document shows the most frequent of {len(survey.ids):,} rules: --full"
        " writes them all",
    )
    return Lowered(
        document,
        sections.strange_entries(program, options.glossary),
        notes if is_summary else (),
    )
