"""Program -> the strings of the rule document, for readers who do not program.

One module for each section; `text` keeps what comes from the data from becoming markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile import words
from treecompile.extract import rule_ids
from treecompile.glossary import NO_ENTRY, Glossary
from treecompile.ir import (
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
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.markdown.features import features, features_note
from treecompile.lower.markdown.groups import (
    FEW,
    Part,
    contents,
    grouped,
    parts_of_list,
    parts_of_tree,
)
from treecompile.lower.markdown.missing import missing
from treecompile.lower.markdown.picture import picture
from treecompile.lower.markdown.quality import actual_counts, quality
from treecompile.lower.markdown.rules import Writer
from treecompile.lower.markdown.source import fenced, source_note
from treecompile.lower.markdown.statistics import (
    pruned_by,
    statistics,
    statistics_note,
)
from treecompile.lower.markdown.text import (
    cases,
    listing,
    number_of,
    prose,
    shown_name,
    shown_value,
    spread,
)
from treecompile.passes.flatten import Tests, flatten, merged_tests
from treecompile.passes.merge import merge
from treecompile.rounding import Rounding
from treecompile.rule_language.evidence import ALGORITHM
from treecompile.rule_language.printer import print_rule_set
from treecompile.semantics import is_fractional, required_features

ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}


def lower(source: Source, options: EmitOptions) -> Context:
    program = source.program
    body, training = program.body, program.training
    # Not the passes that join or reorder rules: ids are those that every other
    # artefact of the model gives.
    tests = merged_tests(body) if isinstance(body, Tree) else []
    rules = flatten(body, tests) if isinstance(body, Tree) else merge(body)
    base = _base(program)
    # Rules that were pruned against validation rows rest on these.
    validated = training is not None and pruned_by(program) == "validation"
    evidence, total = _evidence(program, base, validated)
    rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
    writer = Writer(
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
    parts = _parts(body, tests, rules) if is_long else []
    groups = grouped(writer, parts)
    kept = {rule.id for rule in rules.rules}
    every = rule_ids(body).values() if isinstance(body, Tree) else _ids(body)
    return {
        "target": writer.target,
        "summary": _summary(program, rules, options.glossary),
        "sha256": source.sha256,
        "version": source.version,
        "data": _data(program, base),
        "distribution": writer.distribution(),
        "quality": quality(body.labels, training, base, _pruned(program)),
        "features_note": features_note(body),
        "features": features(body, training, options.glossary),
        "picture": drawn,
        "diagram": diagram,
        "reading": writer.reading([i for i in every if i not in kept]),
        "evidence_note": writer.note(),
        "contents": contents(writer, parts, groups) if is_long else "",
        "groups": groups,
        "rules": [] if is_long else writer.all_rules(),
        "missing": missing(rules, program.na_values, writer.fractional),
        "default": default,
        "default_evidence": default_evidence,
        "statistics_note": statistics_note(body),
        "statistics": statistics(program),
        "source_note": source_note(writer.fractional),
        "source": fenced(print_rule_set(program, rules)),
        "warnings": _warnings(program, options.glossary),
    }


def _ids(rules: RuleSet) -> list[str]:
    return [rule.id for rule in rules.rules]


def _last_tests(tree: Tree) -> dict[str, Feature]:
    """What the split above each leaf tests, by the id of the leaf's rule."""
    ids = rule_ids(tree)
    return {
        ids[branch.then]: tree.features[branch.when.feature]
        for node in tree.nodes
        if isinstance(node, Split)
        for branch in node.branches
        if branch.then in ids
    }


def _parts(body: Body, tests: Sequence[Tests | None], rules: RuleSet) -> list[Part]:
    if isinstance(body, Tree):
        return parts_of_tree(body, tests, rules.rules)
    return parts_of_list(rules.rules)


def _warnings(program: Program, glossary: Glossary) -> list[str]:
    known = {program.target, *(feature.name for feature in program.body.features)}
    strange = [words.name(name) for name in glossary if name not in known]
    if not strange:
        return []
    return [f"the glossary explains what the model does not have: {listing(strange)}"]


def _pruned(program: Program) -> bool:
    """Whether the validation cases took part in growing the tree."""
    return dict(program.options).get("prune") == "reduced-error"


def _base(program: Program) -> Stats | None:
    """All training cases: at the root of a tree; else as far as they were counted."""
    if isinstance(program.body, Tree):
        return program.body.nodes[0].stats
    measured = program.training.quality if program.training else None
    return actual_counts(measured) if isinstance(measured, ClassQuality) else None


def _evidence(
    program: Program, base: Stats | None, validated: bool
) -> tuple[Stats | None, float]:
    """All cases that the rules rest on, as far as they were counted, and how many."""
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
        law = "exactly one rule applies to every case whose values are known"
    elif isinstance(body, Tree):
        law = "exactly one rule applies to every case"
    else:
        law = "the first rule whose conditions all hold decides, else the default"
    told = prose(glossary.get(program.target, NO_ENTRY).description)
    said = f" ({told})" if told else ""
    count = number_of(len(rules.rules), "rule")
    origin = f"It was learned with {algorithm} and reads as {count}"
    if program.algorithm == ALGORITHM:
        origin = f"It was compiled from {count} kept as text"
    return (
        f"The model predicts **{shown_name(program.target)}**{said}, {kind}."
        f" It looks at {columns}. {origin}: {law}."
    )


def _data(program: Program, base: Stats | None) -> str:
    training = program.training
    if program.algorithm == ALGORITHM:
        text = "The rules are the source: what data they rest on is not recorded."
    elif training is None:
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
