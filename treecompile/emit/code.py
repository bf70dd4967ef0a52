"""IR -> the lines of a decision in a language that a user's target describes.

A target says `lowering = "code"`. The sections of its target.toml say how names, values
and tests are written and how the arms of the decision are laid out; its template places
the lines. In each text of the target.toml, `{...}` is replaced; a literal brace is
doubled. See docs/your-own-target.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING

from treecompile.emit.literals import DOUBLES, INTEGERS, STRINGS, identifiers
from treecompile.emit.lowering import CompilerInput, Lowered, form_of
from treecompile.emit.options import EmitOptions
from treecompile.emit.steps import decision_steps, note
from treecompile.emit.targets import ByType, Target, build
from treecompile.model import ir, words
from treecompile.model.errors import TargetError
from treecompile.model.paths import divisible, outcomes
from treecompile.model.semantics import membership, probabilities, threshold

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# ---------------------------------------------------------------- target.toml


@dataclass(frozen=True, slots=True)
class LanguageNames:
    reference: str = "{identifier}"  # how a test refers to a feature: row->{identifier}
    reserved: Sequence[str] = ()  # words that no identifier may be: ["if", "for"]


@dataclass(frozen=True, slots=True)
class LanguageLiterals:
    text: str  # a key of literals.STRINGS: "c"
    number: str = "shortest"  # a key of literals.DOUBLES
    true: str = "true"
    false: str = "false"
    integers: str = "any"  # a key of literals.INTEGERS: "64 bits"


@dataclass(frozen=True, slots=True)
class LanguageTests:
    """`{x}` is the value, `{name}` the reference it comes from, `{value}` a literal.

    Numbers are compared even if they are missing, so the four comparisons must do what
    their names say for them too. `equal` is evaluated for known values only.
    """

    at_most: str  # {x} <= {value}
    at_most_or_missing: str  # !({x} > {value})
    above: str
    above_or_missing: str
    equal: ByType  # its `number` is not used
    missing: ByType  # {name} == NULL
    known: ByType


@dataclass(frozen=True, slots=True)
class Operators:
    """Operands are parenthesized where precedence matters."""

    all: str  # between two tests: " && "
    any: str  # " || "
    negated: str  # !{test}
    always: str = "true"
    never: str = "false"


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a decision.

    A block is a sequence of arms, of which the last has no test. Available: `{tests}`,
    `{answer}` (a literal), `{probability}` (of the answer), `{label}` (its position),
    `{rule}` (its id, letters and digits), `{evidence}` (counts, in words).
    """

    arm: str  # answers if the tests hold: if ({tests}) return {answer};
    open: str  # if the tests hold, a nested block decides: if ({tests}) {{
    last: str  # answers if no arm of the block did: return {answer};
    close: str = ""  # closes a nested block: }}
    end: str = ""  # closes the outermost block: {ends}
    each: str = ""  # `{ends}` in the two above repeats this for each arm: )
    indent: str = "    "
    nesting: int = 50  # maximum depth of blocks


@dataclass(frozen=True, slots=True)
class Language:
    literals: LanguageLiterals
    tests: LanguageTests
    operators: Operators
    layout: Layout
    types: ByType  # the type of a feature in the language: const char *
    values: ByType  # the value of a reference: *{name}
    names: LanguageNames = LanguageNames()


PLACES = {  # what each section may have in braces
    "names": {"identifier", "position"},
    "tests": {"x", "name", "value"},
    "operators": {"test"},
    "layout": {"tests", "answer", "probability", "label", "rule", "evidence", "ends"},
    "values": {"x", "name", "value"},
}


def read_language(target: Target) -> Language:
    """The language that the sections of a target.toml describe."""
    where = f"{target.name}: target.toml"
    language = build(Language, target.spelling, where)
    for key, name, known in (
        ("text", language.literals.text, STRINGS),
        ("number", language.literals.number, DOUBLES),
        ("integers", language.literals.integers, INTEGERS),
    ):
        if name not in known:
            raise TargetError(
                f"{where} [literals]: {key} = {name!r}: choose from {', '.join(known)}"
            )
    for section, places in PLACES.items():
        _check_places(getattr(language, section), places, f"{where} [{section}]")
    return language


def _check_places(part: DataclassInstance, known: set[str], where: str) -> None:
    """Refuse a placeholder that nothing fills, before any text is made."""
    for entry in fields(part):
        text = getattr(part, entry.name)
        if isinstance(text, ByType):
            _check_places(text, known, f"{where} [{entry.name}]")
        if not isinstance(text, str):
            continue
        try:
            places = {name for _, name, _, _ in Formatter().parse(text)} - {None}
        except ValueError as error:
            raise TargetError(
                f"{where}: {entry.name} = {text!r}: {error}; write a brace twice"
            ) from None
        for place in places - known:
            shown = ", ".join(f"{{{name}}}" for name in sorted(known))
            raise TargetError(
                f"{where}: {entry.name} = {text!r} has {{{place}}}: choose from {shown}"
            )


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
    if divisible(body):
        raise TargetError(
            "your own target cannot divide missing values among the branches of a tree:"
            " learn it with --predict-missing branch, or compile its rules"
            " (treecompile rules)"
        )
    language = read_language(source.target)
    writer = CodeWriter(language, body)
    text = CodeText(
        version=source.version,
        sha256=source.sha256,
        target=writer.literal(program.target),
        labels=[writer.literal(label) for label in body.labels],
        features=[writer.feature(index) for index in writer.identifiers],
        lines=list(writer.lines()),
    )
    return Lowered(text, notes=(note(body),))


class CodeWriter:
    """Writes values, tests and arms as the language spells them."""

    def __init__(self, language: Language, body: ir.Body) -> None:
        self.language = language
        self.body = body
        self.identifiers = identifiers(body, language.names.reserved)
        self.references = {
            index: language.names.reference.format(identifier=name, position=index)
            for index, name in self.identifiers.items()
        }
        self.values = {
            index: language.values.of(body.features[index].type).format(
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
        """The decision, one arm on each line."""
        layout, join = self.language.layout, self.language.operators.all.join
        decided = outcomes(self.body)
        arms = [0]  # of each open block
        for step in decision_steps(self.body, layout.nesting):
            indent = layout.indent * step.depth
            answer = {}
            if step.outcome is not None:
                answer = self.answer(decided[step.outcome])
            if step.tests:
                arms[step.depth] += 1
                tests = join(map(self.test, step.tests))
                if step.outcome is None:
                    arms.append(0)
                    yield indent + layout.open.format(tests=tests)
                else:
                    yield indent + layout.arm.format(tests=tests, **answer)
                continue
            yield indent + layout.last.format(**answer)
            ends = layout.each * arms.pop()
            close = (layout.close if step.depth else layout.end).format(ends=ends)
            if close:
                yield layout.indent * max(0, step.depth - 1) + close

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
        """The placeholders of an arm that describe its rule."""
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
            "evidence": words.evidence(rule, labels),
        }

    def _test(self, test: ir.Condition) -> str:
        tests, operators = self.language.tests, self.language.operators
        feature = self.body.features[test.feature]
        name, chosen = form_of(test, feature)
        if name in ("always", "never"):
            return operators.always if name == "always" else operators.never
        if name in ("missing", "known"):
            return self._presence(test, feature, name == "missing")
        if feature.kind is ir.Kind.NUMERIC:
            form: str = getattr(tests, name)
            return self._filled(form, test, self.literal(threshold(test)))
        inside, _, missing = membership(test, feature)
        equal = tests.equal.of(feature.type)
        members = operators.any.join(
            self._filled(equal, test, self.literal(category)) for category in chosen
        )
        if len(chosen) > 1 or not inside:
            members = f"({members})"
        if not inside:
            members = operators.negated.format(test=members)
        join = (operators.any if missing else operators.all).join
        return f"({join((self._presence(test, feature, missing), members))})"

    def _presence(self, test: ir.Condition, feature: ir.Feature, missing: bool) -> str:
        tests = self.language.tests
        asked = tests.missing if missing else tests.known
        return self._filled(asked.of(feature.type), test)

    def _filled(self, form: str, test: ir.Condition, value: str = "") -> str:
        index = test.feature
        return form.format(
            x=self.values[index], name=self.references[index], value=value
        )
