"""IR -> the lines of a decision in a language that a user's target describes.

What is placed where, and around the decision, is the user's template; how each line is
spelt is in the sections of the target.toml (see `languages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from treecompile import words
from treecompile.divide import divisible
from treecompile.errors import TargetError
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Rule,
)
from treecompile.languages import Language, read_language
from treecompile.literals import DOUBLES, INTEGERS, STRINGS
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.identifiers import identifiers
from treecompile.membership import membership
from treecompile.retree import decision_steps, note
from treecompile.semantics import (
    asks_presence,
    probabilities,
    threshold,
)


def lower(source: Source, options: EmitOptions) -> Context:
    """Everything that a user's template can place."""
    program = source.program
    body = program.body
    if divisible(body):
        raise TargetError(
            "a target of one's own cannot divide missing values among the branches of a"
            " tree: learn it with --predict-missing branch, or compile its rules"
            " (treecompile rules)"
        )
    language = read_language(source.target)
    names = identifiers(body, language.names.reserved)
    spelling = Spelling(language, body, names)
    return {
        "version": source.version,
        "sha256": source.sha256,
        "target": spelling.literal(program.target),
        "labels": [spelling.literal(label) for label in body.labels],
        "features": [
            {
                "name": spelling.literal(body.features[position].name),
                "identifier": names[position],
                "reference": spelling.references[position],
                "kind": body.features[position].kind.value,
                "type": language.types.of(body.features[position].type),
                "value_type": body.features[position].type.value,
                "categories": [
                    spelling.literal(category)
                    for category in body.features[position].categories
                ],
            }
            for position in spelling.references
        ],
        "lines": list(lines(body, spelling)),
        "notes": list(filter(None, [note(body)])),
    }


def lines(body: Body, spelling: Spelling) -> Iterator[str]:
    """The decision, an arm on each line."""
    layout = spelling.language.layout
    decided = outcomes(body)
    steps = decision_steps(body, layout.nesting)
    arms = [0]  # of each block that is open
    for step in steps:
        indent = layout.indent * step.depth
        said = {}
        if step.outcome is not None:
            said = spelling.answer(decided[step.outcome])
        if step.tests:
            arms[step.depth] += 1
            tests = spelling.language.operators.all.join(map(spelling.test, step.tests))
            if step.outcome is None:
                arms.append(0)
                yield indent + layout.open.format(tests=tests)
            else:
                yield indent + layout.arm.format(tests=tests, **said)
            continue
        yield indent + layout.last.format(**said)
        ends = layout.each * arms.pop()
        close = (layout.close if step.depth else layout.end).format(ends=ends)
        if close:
            yield layout.indent * max(0, step.depth - 1) + close


class Spelling:
    """Spells values and tests as the language says."""

    def __init__(
        self, language: Language, body: Body, identifiers: Mapping[int, str]
    ) -> None:
        self.language = language
        self.body = body
        self.references = {
            position: language.names.reference.format(
                identifier=name, position=position
            )
            for position, name in identifiers.items()
        }
        self.values = {
            position: language.values.of(body.features[position].type).format(
                name=reference, x=reference, value=""
            )
            for position, reference in self.references.items()
        }
        self.texts: dict[Condition, str] = {}

    def literal(self, value: Label | Category) -> str:
        literals = self.language.literals
        if isinstance(value, bool):
            return literals.true if value else literals.false
        if isinstance(value, str):
            return STRINGS[literals.text](value)
        if isinstance(value, int):
            return INTEGERS[literals.integers](value)
        return DOUBLES[literals.number](value + 0.0)  # never -0.0

    def answer(self, rule: Rule) -> dict[str, str | int]:
        """What an arm can say of the rule that decides."""
        labels = self.body.labels
        probability = ""
        if isinstance(rule.stats, ClassCounts):
            probability = self.literal(
                probabilities(rule.stats)[labels.index(rule.value)]
            )
        return {
            "answer": self.literal(rule.value),
            "probability": probability,
            "label": labels.index(rule.value) if labels else "",
            "rule": rule.id,
            "evidence": words.evidence(rule.stats, rule.weight, rule.value, labels),
        }

    def test(self, test: Condition) -> str:
        if test not in self.texts:
            feature = self.body.features[test.feature]
            numeric = feature.kind is Kind.NUMERIC
            self.texts[test] = (
                self._number_test(test) if numeric else self._set_test(test, feature)
            )
        return self.texts[test]

    def _number_test(self, test: Condition) -> str:
        tests, operators = self.language.tests, self.language.operators
        if asks_presence(test):
            asked = tests.missing if test.missing else tests.known
            return self._filled(asked.number, test)
        if test.value == inf:  # holds for every value or for none
            return operators.always if test.op is Op.LE else operators.never
        if test.op is Op.LE:
            form = tests.at_most_or_missing if test.missing else tests.at_most
        else:
            form = tests.above_or_missing if test.missing else tests.above
        return self._filled(form, test, self.literal(threshold(test)))

    def _set_test(self, test: Condition, feature: Feature) -> str:
        tests, operators = self.language.tests, self.language.operators
        inside, chosen, missing = membership(test, feature)
        asked = (tests.missing if missing else tests.known).of(feature.type)
        presence = self._filled(asked, test)
        if not chosen:
            if missing == inside:
                return presence
            return operators.always if missing else operators.never
        equal = tests.equal.of(feature.type)
        members = operators.any.join(
            self._filled(equal, test, self.literal(category)) for category in chosen
        )
        if len(chosen) > 1 or not inside:
            members = f"({members})"
        if not inside:
            members = operators.negated.format(test=members)
        joined = (operators.any if missing else operators.all).join((presence, members))
        return f"({joined})"

    def _filled(self, form: str, test: Condition, value: str = "") -> str:
        where = test.feature
        return form.format(
            x=self.values[where], name=self.references[where], value=value
        )
