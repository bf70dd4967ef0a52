"""IR -> the lines of a decision in a language that a user's target describes.

A target says `lowering = "code"`. The sections of its target.toml say how names, values
and tests are written and how the arms of the decision are laid out; its template places
the lines. In each text of the target.toml, `{...}` is replaced; a literal brace is
doubled. See docs/your-own-target.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from treecompile.emit.literals import DOUBLES, INTEGERS, STRINGS, identifiers
from treecompile.emit.lower import ArmTest
from treecompile.emit.lower import lower as arms_of
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.targets import ByType
from treecompile.emit.toml import build, checked, phrase
from treecompile.model import ir, words
from treecompile.model.semantics import probabilities

# ---------------------------------------------------------------- target.toml


@dataclass(frozen=True, slots=True)
class LanguageNames:
    # How a test refers to a feature: row->{identifier}
    reference: Phrase = phrase("{identifier} {position}", "{identifier}")
    reserved: Sequence[str] = ()  # words that no identifier may be: ["if", "for"]


@dataclass(frozen=True, slots=True)
class LanguageLiterals:
    text: str = checked(choices=STRINGS)  # "c"
    number: str = checked("shortest", choices=DOUBLES)
    true: str = "true"
    false: str = "false"
    integers: str = checked("any", choices=INTEGERS)  # "64 bits"


VALUE = "{x} {name} {value}"


@dataclass(frozen=True, slots=True)
class LanguageTests:
    """`{x}` is the value, `{name}` the reference it comes from, `{value}` a literal.

    Numbers are compared even if they are missing, so the four comparisons must do what
    their names say for them too. `equal` is evaluated for known values only.
    """

    at_most: Phrase = phrase(VALUE)  # {x} <= {value}
    at_most_or_missing: Phrase = phrase(VALUE)  # !({x} > {value})
    above: Phrase = phrase(VALUE)
    above_or_missing: Phrase = phrase(VALUE)
    equal: ByType[Phrase] = phrase(VALUE)  # its `number` is not used
    missing: ByType[Phrase] = phrase(VALUE)  # {name} == NULL
    known: ByType[Phrase] = phrase(VALUE)


@dataclass(frozen=True, slots=True)
class Operators:
    """Operands are parenthesized where precedence matters."""

    all: Phrase = phrase()  # between two tests: " && "
    any: Phrase = phrase()  # " || "
    negated: Phrase = phrase("{test}")  # !{test}
    always: Phrase = phrase("", "true")
    never: Phrase = phrase("", "false")


# A literal; its probability; its position among the labels; the id of the rule, letters
# and digits; the counts, in words.
ANSWER = "{answer} {probability} {label} {rule} {evidence}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a decision.

    A block is a sequence of arms, of which the last has no test.
    """

    # Answers if the tests hold: if ({tests}) return {answer};
    arm: Phrase = phrase("{tests} " + ANSWER)
    # If the tests hold, a nested block decides: if ({tests}) {{
    open: Phrase = phrase("{tests}")
    # Answers if no arm of the block did: return {answer};
    last: Phrase = phrase(ANSWER)
    close: Phrase = phrase("{ends}", "")  # closes a nested block: }}
    end: Phrase = phrase("{ends}", "")  # closes the outermost block: {ends}
    each: Phrase = phrase("", "")  # `{ends}` repeats this for each arm: )
    indent: Phrase = phrase("", "    ")
    nesting: int = checked(50, least=1, most=1000)  # maximum depth of blocks


@dataclass(frozen=True, slots=True)
class Language:
    literals: LanguageLiterals
    tests: LanguageTests
    operators: Operators
    layout: Layout
    types: ByType[str]  # the type of a feature in the language: const char *
    values: ByType[Phrase] = phrase(VALUE)  # the value of a reference: *{name}
    names: LanguageNames = LanguageNames()


# ---------------------------------------------------------------- lowering


@dataclass(frozen=True, slots=True)
class CodeFeature:
    """A column that the decision reads. The examples are those of C."""

    name: str  # a literal: "body mass"
    identifier: str  # body_mass
    reference: str  # row->body_mass_
    kind: str  # numeric, categorical or ordinal
    type: str  # what [types] calls it: double
    value_type: str  # float, str, int or bool
    categories: list[str]  # literals: ["\"no\"", "\"yes\""]; empty for numbers


@dataclass(frozen=True, slots=True)
class CodeText:
    """The strings of a user's template. The examples are those of C."""

    version: str  # of treecompile: 0.9
    sha256: str  # of the model
    target: str  # a literal: "play"
    labels: list[str]  # literals: ["\"no\"", "\"yes\""]; empty for a regression
    features: list[CodeFeature]  # the required ones
    lines: list[str]  # the decision: ["if (row->heat_ <= 20.0) return \"no\";", ...]


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program = source.program
    body = program.body
    target = source.target
    language = build(Language, target.spelling, f"{target.name}: target.toml")
    writer = CodeWriter(language, body, words.evidence_by_id(program))
    text = CodeText(
        version=source.version,
        sha256=source.sha256,
        target=writer.literal(program.target),
        labels=[writer.literal(label) for label in body.labels],
        features=[writer.feature(index) for index in writer.identifiers],
        lines=list(writer.lines()),
    )
    return Lowered(text)


class CodeWriter:
    """Writes values, tests and arms as the language spells them."""

    def __init__(
        self, language: Language, body: ir.Body, said: Mapping[str, str]
    ) -> None:
        self.language = language
        self.body = body
        self.said = said  # the evidence of each rule
        self.identifiers = identifiers(body, language.names.reserved)
        self.references = {
            index: language.names.reference.fill(identifier=name, position=index)
            for index, name in self.identifiers.items()
        }
        self.values = {
            index: language.values.of(body.features[index].type).fill(
                name=reference, x=reference, value=""
            )
            for index, reference in self.references.items()
        }
        self.test = cache(self._test)

    def feature(self, index: int) -> CodeFeature:
        feature = self.body.features[index]
        return CodeFeature(
            name=self.literal(feature.name),
            identifier=self.identifiers[index],
            reference=self.references[index],
            kind=feature.kind.value,
            type=self.language.types.of(feature.type),
            value_type=feature.type.value,
            categories=[self.literal(category) for category in feature.categories],
        )

    def lines(self) -> Iterator[str]:
        """Yield the lines of the decision, one for each arm."""
        layout, join = self.language.layout, self.language.operators.all.fill().join
        each, one_indent = layout.each.fill(), layout.indent.fill()
        arms = [0]  # of each open block
        for arm in arms_of(self.body, layout.nesting):
            indent = one_indent * arm.depth
            answer = self.answer(arm.rules[0]) if arm.rules else {}
            if arm.tests:
                arms[arm.depth] += 1
                tests = join(map(self.test, arm.tests))
                if not arm.rules:
                    arms.append(0)
                    yield indent + layout.open.fill(tests=tests)
                else:
                    yield indent + layout.arm.fill(tests=tests, **answer)
                continue
            yield indent + layout.last.fill(**answer)
            ends = each * arms.pop()
            close = (layout.close if arm.depth else layout.end).fill(ends=ends)
            if close:
                yield one_indent * max(0, arm.depth - 1) + close

    def literal(self, value: ir.Label | ir.Category) -> str:
        literals = self.language.literals
        if isinstance(value, bool):
            return literals.true if value else literals.false
        if isinstance(value, str):
            return STRINGS[literals.text](value)
        if isinstance(value, int):
            return INTEGERS[literals.integers](value)
        return DOUBLES[literals.number](value + 0.0)  # never -0.0

    def answer(self, rule: ir.Rule) -> dict[str, str | int]:
        """Return the placeholders of an arm that describe its rule."""
        labels = self.body.labels
        probability = ""
        if isinstance(rule.stats, ir.ClassCounts):
            probability = self.literal(
                probabilities(rule.stats)[labels.index(rule.value)]
            )
        return {
            "answer": self.literal(rule.value),
            "probability": probability,
            "label": labels.index(rule.value) if labels else "",
            "rule": rule.id,
            "evidence": self.said[rule.id],
        }

    def _test(self, test: ArmTest) -> str:
        tests, operators, form = self.language.tests, self.language.operators, test.form
        feature = self.body.features[test.feature]
        if form in ("always", "never"):
            return (operators.always if form == "always" else operators.never).fill()
        if form in ("missing", "known"):
            return self._presence(test, feature, form == "missing")
        values = [self.literal(value) for value in test.values]
        if feature.kind is ir.Kind.NUMERIC:
            return self._filled(getattr(tests, form), test, values[0])
        inside, missing = form.startswith("within"), form.endswith("_or_missing")
        equal = tests.equal.of(feature.type)
        members = operators.any.fill().join(
            self._filled(equal, test, value) for value in values
        )
        if len(values) > 1 or not inside:
            members = f"({members})"
        if not inside:
            members = operators.negated.fill(test=members)
        join = (operators.any if missing else operators.all).fill().join
        return f"({join((self._presence(test, feature, missing), members))})"

    def _presence(self, test: ArmTest, feature: ir.Feature, missing: bool) -> str:
        tests = self.language.tests
        asked = tests.missing if missing else tests.known
        return self._filled(asked.of(feature.type), test)

    def _filled(self, form: Phrase, test: ArmTest, value: str = "") -> str:
        index = test.feature
        return form.fill(x=self.values[index], name=self.references[index], value=value)
