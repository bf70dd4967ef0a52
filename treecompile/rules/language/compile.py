"""Compiles a parsed Script into a Program, and checks it against its declarations.

Every name must be declared, and every value must fit its feature. A rule that can never
hold is an error, since its author must have meant something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from lark import Token

from treecompile.model import ir
from treecompile.model.file.limits import LEAST_WEIGHT, MOST_SQUARES, MOST_WEIGHT
from treecompile.model.paths import DEFAULT_ID
from treecompile.regions.region import Regions, region_of
from treecompile.rules.language.conditions import (
    ConditionReader,
    common_type,
    name,
    number,
    typed,
    unknown,
)
from treecompile.rules.language.evidence import ALGORITHM, assumed_stats
from treecompile.rules.language.syntax import (
    Declaration,
    Script,
    StatedCounts,
    Statement,
    at,
)

MOST_COUNTS = 10_000_000  # counts of all rules together


def compile_script(script: Script) -> ir.Program:
    if not script.targets:
        raise at(
            script.default.value,
            "the rules do not say what they predict: add a line such as"
            " TARGET play IN {no, yes}, or TARGET price NUMERIC",
        )
    target, *others = script.targets
    if others:
        raise at(others[0].name, "a second TARGET: there can be only one")
    labels = _labels(target)
    features = tuple(map(_feature, script.features))
    _check_distinct(
        zip((d.name for d in script.features), (f.name for f in features), strict=True),
        "the feature",
        "is declared twice",
    )
    _check_size(script, target, len(labels))
    compiler = _RuleCompiler(features, labels)
    rules = compiler.rules(script)
    return ir.Program(
        target=name(target.name),
        algorithm=ALGORITHM,
        body=ir.RuleSet(features, labels, rules[:-1], rules[-1]),
        na_values=_texts(script.absent),
    )


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(typed(token, str)) for token in tokens))


def _labels(target: Declaration) -> tuple[ir.Label, ...]:
    if target.values is None:
        return ()
    if not target.values:
        raise at(target.name, "the target needs at least one label")
    return _values(target, "label")[1]


def _feature(declaration: Declaration) -> ir.Feature:
    text = name(declaration.name)
    if declaration.values is None:
        return ir.Feature(text, ir.Kind.NUMERIC, ir.ValueType.FLOAT)
    kind = ir.Kind.ORDINAL if declaration.ordered else ir.Kind.CATEGORICAL
    value_type, categories = _values(declaration, "category")
    named = ir.ValueType(value_type.__name__)
    return ir.Feature(text, kind, named, categories)  # type: ignore[arg-type]


def _values(declaration: Declaration, what: str) -> tuple[type, tuple[ir.Label, ...]]:
    """Return the type of the declared values, and the values."""
    tokens = declaration.values or ()
    kind = common_type(tokens, declaration.type, declaration.is_target)
    values = tuple(typed(token, kind) for token in tokens)
    found = zip(tokens, values, strict=True)
    _check_distinct(found, f"the {what}", "is declared twice")
    return kind, values


def _check_distinct(
    found: Iterable[tuple[Token, object]], what: str, fault: str
) -> None:
    seen: set[object] = set()
    for token, item in found:
        if item in seen:
            raise at(token, f"{what} {token} {fault}: leave one out")
        seen.add(item)


def _check_size(script: Script, target: Declaration, labels: int) -> None:
    """Refuse more counts than fit in memory: each rule has one for each label."""
    rules = len(script.rules) + 1
    if rules * labels > MOST_COUNTS:
        raise at(
            target.name,
            f"{labels:,} labels in {rules:,} rules are {rules * labels:,} counts, and"
            f" the limit is {MOST_COUNTS:,}: predict fewer labels, or a NUMERIC code",
        )


class _RuleCompiler:
    """Compiles the rules of a script over given features and labels."""

    def __init__(
        self, features: tuple[ir.Feature, ...], labels: tuple[ir.Label, ...]
    ) -> None:
        self.features = features
        self.labels = labels
        self.label_set = frozenset(labels)
        self.reader = ConditionReader(features)

    def rules(self, script: Script) -> tuple[ir.Rule, ...]:
        """Return all rules, the default last."""
        last = script.default
        taken = self._ids((*script.rules, last))
        free = (f"R{i}" for i in count(1 + _highest_number(taken)))
        rules = [
            self._rule(s, name(s.identity) if s.identity is not None else next(free))
            for s in script.rules
        ]
        identity = name(last.identity) if last.identity is not None else DEFAULT_ID
        return (*rules, self._rule(last, identity))

    def _ids(self, statements: Sequence[Statement]) -> set[str]:
        """Return the ids in use, with the default's even if it is not written."""
        taken: dict[str, Token] = {}
        if statements[-1].identity is None:
            taken[DEFAULT_ID] = statements[-1].value
        for token in (s.identity for s in statements):
            if token is None:
                continue
            identity = name(token)
            if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
                raise at(
                    token, f"the id {token}: expected 1 to 40 ASCII letters and digits"
                )
            if identity in taken:
                raise at(
                    token,
                    f"the id {token} is already used in line {taken[identity].line}:"
                    " change it, or leave it out",
                )
            taken[identity] = token
        return set(taken)

    def _rule(self, statement: Statement, identity: str) -> ir.Rule:
        conditions = self._conditions(statement)
        value = self._label(statement.value)
        stats, weight = assumed_stats(value, self.labels), 0.0
        if statement.evidence is not None:
            stats, weight = self._evidence(statement.evidence)
        return ir.Rule(identity, conditions, value, stats, weight)

    def _conditions(self, statement: Statement) -> tuple[ir.Condition, ...]:
        found: list[ir.Condition] = []
        left: Regions = {}  # what the tests so far leave of each feature
        for test in statement.tests:
            token, conditions = self.reader.conditions(test)
            index = conditions[0].feature
            region = region_of(conditions, self.features[index])
            left[index] = region.meet(left.get(index, region))
            if left[index].is_empty:
                raise at(
                    token,
                    f"no value of {token} meets this test and those before it:"
                    " the rule could never hold",
                )
            found.extend(conditions)
        return tuple(found)

    def _label(self, token: Token) -> ir.Label:
        if not self.labels:
            return number(token)
        label = typed(token, type(self.labels[0]))
        if label not in self.label_set:
            raise unknown(token, "there is no label", self.labels)
        return label

    def _evidence(self, evidence: StatedCounts) -> tuple[ir.Stats, float]:
        stats = self._counts(evidence) if self.labels else _moments(evidence)
        first = evidence.counts[0][1]
        if not stats.weight:
            raise at(first, "the counts must add up to more than 0")
        if stats.weight > MOST_WEIGHT:
            raise at(first, f"the counts add up to more than {MOST_WEIGHT:g}")
        if evidence.reached is None:
            return stats, stats.weight
        key, weight = evidence.reached
        if key != "reached":
            raise at(key, f"expected reached, found {key}")
        return stats, _weight(weight)

    def _counts(self, evidence: StatedCounts) -> ir.ClassCounts:
        weights = dict.fromkeys(self.labels, 0.0)
        named = [(key, self._label(key)) for key, _ in evidence.counts]
        _check_distinct(named, "the label", "is counted twice")
        for (_, label), (_, weight) in zip(named, evidence.counts, strict=True):
            weights[label] = _weight(weight)
        return ir.ClassCounts(tuple(weights.values()))


def _moments(evidence: StatedCounts) -> ir.Moments:
    keys = ("cases", "mean", "sse")
    found: dict[str, float] = {}
    for key, amount in evidence.counts:
        if key not in keys:
            raise at(key, f"expected {' or '.join(keys)}, found {key}")
        if key in found:
            raise at(key, f"{key} is given twice")
        read = {"mean": number, "sse": _squares}.get(key, _weight)
        found[str(key)] = read(amount)
    for needed in keys[:2]:
        if needed not in found:
            raise at(evidence.counts[0][0], f"the evidence does not give its {needed}")
    return ir.Moments(found["cases"], found["mean"], found.get("sse"))


def _weight(token: Token) -> float:
    """Return a weight, which must be one that a model file can hold."""
    found = number(token)
    if found and not LEAST_WEIGHT <= found <= MOST_WEIGHT:
        most = f"{LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        raise at(token, f"{token}: expected 0, or a number from {most}")
    return found + 0.0  # -0 is 0


def _squares(token: Token) -> float:
    found = number(token)
    if not 0 <= found <= MOST_SQUARES:
        raise at(token, f"{token}: expected a number from 0 to {MOST_SQUARES:g}")
    return found + 0.0


def _highest_number(ids: Iterable[str]) -> int:
    """Return the highest number of the ids R1, R2, ...; absurd ones do not count."""
    numbers = [int(i[1:]) for i in ids if i[:1] == "R" and i[1:].isdigit()]
    return max((n for n in numbers if n < 10**30), default=0)
